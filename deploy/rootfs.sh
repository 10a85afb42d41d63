#!/bin/sh
# Gathers what an environment needs to run, and nothing else, into a folder that becomes the image: the interpreter with
# its library, the shared libraries that both and the environment name, certificates, time zones, and a shell for --exec.
# Run by the Dockerfile:  rootfs.sh ENVIRONMENT FOLDER
set -eu
environment=$1 root=$2
python=$(readlink -f "$environment/bin/python")
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/etc" "$root/var/lib/dpkg" "$root/var/lib/recrawl"
mkdir -m 1777 "$root/tmp"
for each in bin sbin lib lib64; do ln -s "usr/$each" "$root/$each"; done

cp -L --parents "$python" /usr/bin/dash /etc/ssl/certs/ca-certificates.crt /etc/os-release "$root"
ln -s dash "$root/usr/bin/sh"
ln -s "$(basename "$python")" "$root/usr/bin/python3"
cp -a --parents "$library" /usr/share/zoneinfo "$root"
(cd "$root$library" && rm -rf test idlelib tkinter lib2to3 ensurepip pydoc_data turtledemo config-* &&
    rm -f lib-dynload/_test*.so lib-dynload/_ctypes_test*.so lib-dynload/_dbm*.so lib-dynload/_gdbm*.so && find . -name __pycache__ -prune -exec rm -rf {} +)

objects() { find "$environment" "$root$library" -name '*.so' -o -name '*.so.*'; }
# shellcheck disable=SC2046 # paths without spaces
{ objects | xargs ldd 2>/dev/null; ldd "$python" /usr/bin/dash; } | sed -nE 's/^.*(=> |\t)(\/[^ ]+) \(.*$/\2/p' |
    grep -v "^$environment" | sort -u >/tmp/libraries
while read -r each; do
    place=$(readlink -f "$(dirname "$each")")
    mkdir -p "$root$place" && cp -L "$each" "$root$place/"
done </tmp/libraries

printf 'root:x:0:0:root:/:/usr/sbin/nologin\nrecrawl:x:10001:10001::/var/lib/recrawl:/usr/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\nrecrawl:x:10001:\n' >"$root/etc/group"
chown 10001:10001 "$root/var/lib/recrawl"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"

# For programs that look for known vulnerabilities: the packages these files are from.
{ cat /tmp/libraries; printf '%s\n' "$python" "$library/os.py" "$library/lib-dynload" /usr/bin/dash /usr/share/zoneinfo/UTC; } |
    while read -r each; do dpkg-query -S "$(readlink -f "$each")" "$each" 2>/dev/null | sed 's/: .*//; s/, /\n/g' || true; done |
    sort -u | xargs dpkg-query -s >"$root/var/lib/dpkg/status" 2>/dev/null || true
"$python" -m compileall -q "$root$library" || true
