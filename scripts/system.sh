#!/usr/bin/env bash
# Installs the Debian packages that the tests need and this machine lacks.
# Each line: a command, or a path, that shows the package is there; the package.
set -euo pipefail

missing=()
need() {
    command -v "$1" >/dev/null 2>&1 || [ -n "$(compgen -G "$1")" ] || missing+=("$2")
}

need strace strace
need wrk wrk
need chromium chromium
need java default-jre-headless
need "/usr/lib/postgresql/*/bin/initdb" postgresql

if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi
echo "make system: installing ${missing[*]}"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "make system: there is no apt-get here; install ${missing[*]} by hand" >&2
    exit 0
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
