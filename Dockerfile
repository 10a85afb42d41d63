# One node of recrawl: the crawler with its web page, over a store in a volume, or in PostgreSQL.
#
#     docker build --tag recrawl .
#     docker run --rm --publish 127.0.0.1:8080:8080 --volume recrawl:/var/lib/recrawl recrawl
#
# It is built in Debian's slim image, whose interpreter and libraries it takes, so that security updates come with the
# next build. Of the rest of Debian nothing is left in it. docs/containers.md says what else can be set.
ARG BASE=docker.io/library/debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv binutils ca-certificates tzdata
# EXTRAS=web,postgres,cluster for a fleet
ARG EXTRAS=web,postgres
COPY pyproject.toml constraints.txt README.md LICENSE /source/
COPY src /source/src
RUN python3 -m venv /tools && /tools/bin/pip install --quiet --constraint /source/constraints.txt hatchling \
 && python3 -m venv --without-pip /opt/recrawl \
 && /tools/bin/pip --python /opt/recrawl install --quiet --no-compile --constraint /source/constraints.txt "/source[${EXTRAS}]"
# What it never runs: tests, headers, symbols, and what SciPy has beyond the special functions.
COPY deploy/slim.sh deploy/compile_all.py /source/
RUN sh /source/slim.sh /opt/recrawl
# Compiled for any processor of its kind: what is compiled for this one might not run on the next.
ENV NUMBA_CACHE_DIR=/opt/recrawl/compiled NUMBA_CPU_NAME=generic
RUN /opt/recrawl/bin/python -m compileall -q -j 0 /opt/recrawl/lib \
 && /opt/recrawl/bin/python /source/compile_all.py

COPY deploy/rootfs.sh /source/
RUN sh /source/rootfs.sh /opt/recrawl /rootfs

FROM scratch
COPY --from=build /rootfs /
COPY --from=build /opt/recrawl /opt/recrawl
COPY deploy/healthcheck.py /opt/recrawl/bin/healthcheck
ENV PATH=/opt/recrawl/bin:/usr/bin \
    NUMBA_CACHE_DIR=/opt/recrawl/compiled NUMBA_CPU_NAME=generic \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=262144 \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /var/lib/recrawl
VOLUME /var/lib/recrawl
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["healthcheck"]
ENTRYPOINT ["recrawl"]
CMD ["run", "--serve", "8080", "--host", "0.0.0.0"]
