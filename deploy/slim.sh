#!/bin/sh
# Takes out of an environment what a crawler never loads. Run by the Dockerfile; `make test-container` runs what is left.
set -eu
cd "$1"/lib/python3*/site-packages

find . -depth -type d \( -name tests -o -name test -o -name __pycache__ -o -name include \) \
    -not -path './recrawl/*' -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' -o -name '*.c' -o -name '*.cpp' \) \
    -not -path './recrawl/*' -delete
rm -rf numba/cuda numpy/f2py numpy/_core/_simd.*.so lxml/objectify.*.so lxml/html/_difflib.*.so lxml/isoschematron
find pygments/lexers -type f -not -name '__init__.py' -not -name '_mapping.py' -delete
# OpenSSL is there once, and Debian's: its security updates come with the next build.
for each in psycopg_binary.libs/libssl-*.so.* psycopg_binary.libs/libcrypto-*.so.*; do
    debians=$(ldconfig -p | sed -nE "s/^\s*$(basename "$each" | sed -E 's/-[0-9a-f]+//') .* => //p" | head -n 1)
    [ ! -e "$each" ] || [ -z "$debians" ] || ln -sf "$debians" "$each"
done
find . -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} + 2>/dev/null || true
