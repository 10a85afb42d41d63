#!/bin/sh
# Installs system packages some tests need, given as COMMAND:PACKAGE, where that is possible without a question.
# Tests that miss one skip and say so; nothing here fails the build.
missing=""
for pair in "$@"; do
    command="${pair%%:*}"
    package="${pair#*:}"
    command -v "$command" >/dev/null 2>&1 && continue
    ls /usr/lib/postgresql/*/bin/"$command" >/dev/null 2>&1 && continue
    missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing system packages for the tests:$missing"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null 2>&1 && exit 0
fi
echo "some tests will be skipped: install$missing with your system's package manager to run them"
exit 0
