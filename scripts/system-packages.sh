#!/bin/sh
# Installs system packages some tests need, given as COMMAND:PACKAGE, where that is possible without a question.
# Tests that miss one skip and say so; nothing here fails the build. Runs beside one another wait for each other.
missing() {
    for pair in "$@"; do
        command="${pair%%:*}"
        command -v "$command" >/dev/null 2>&1 && continue
        ls /usr/lib/postgresql/*/bin/"$command" >/dev/null 2>&1 && continue
        printf ' %s' "${pair#*:}"
    done
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    # Lists may be missing or old on a new machine; where they cannot be had anew, those there are may do.
    apt-get update -qq || echo "the lists of packages could not be had anew"
    # shellcheck disable=SC2046 # a word per package
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 $(missing "$@")
}

if [ "$1" = --install ]; then
    shift
    [ -z "$(missing "$@")" ] || install "$@"
    exit
fi
[ -z "$(missing "$@")" ] && exit 0
if command -v apt-get >/dev/null 2>&1; then
    as=""
    [ "$(id -u)" = 0 ] || as="sudo -n"
    if [ -z "$as" ] || $as true 2>/dev/null; then
        echo "installing system packages for the tests:$(missing "$@")"
        alone=""
        command -v flock >/dev/null 2>&1 && alone="flock ${TMPDIR:-/tmp}/recrawl-system-packages.lock"
        said=$($as $alone sh "$0" --install "$@" 2>&1) || echo "$said" | tail -n 5
    fi
fi
[ -z "$(missing "$@")" ] || echo "some tests will be skipped: install$(missing "$@") with your system's package manager to run them"
exit 0
