#!/bin/sh
# Takes out of an environment what a crawler never loads. Run by the Dockerfile; `make test-container` runs what is left.
set -eu
cd "$1"/lib/python3*/site-packages

find . -depth -type d \( -name tests -o -name test -o -name __pycache__ -o -name include \) \
    -not -path './recrawl/*' -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' -o -name '*.c' -o -name '*.cpp' \) \
    -not -path './recrawl/*' -delete
# The crawler takes special functions from SciPy; they need its linear algebra.
for part in cluster datasets differentiate fftpack integrate interpolate io misc ndimage odr signal stats; do
    rm -rf "scipy/$part"
done
rm -rf numpy/f2py numpy/distutils numba/cuda/tests
find . -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} + 2>/dev/null || true
