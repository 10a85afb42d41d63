#!/bin/sh
# Takes out of an environment what a crawler never loads. Run by the Dockerfile; `make test-container` runs what is left.
set -eu
cd "$1"/lib/python3*/site-packages

find . -depth -type d \( -name tests -o -name test -o -name __pycache__ -o -name include \) \
    -not -path './recrawl/*' -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' -o -name '*.c' -o -name '*.cpp' \) \
    -not -path './recrawl/*' -delete
# The crawler takes special functions from SciPy, which stand alone.
for part in cluster constants datasets differentiate fft fftpack integrate interpolate io linalg misc ndimage odr optimize \
    signal sparse spatial stats; do
    rm -rf "scipy/$part"
done
rm -rf numpy/distutils
find pygments/lexers -type f -not -name '__init__.py' -not -name '_mapping.py' -delete
find . -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} + 2>/dev/null || true
