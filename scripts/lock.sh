#!/usr/bin/env bash
# Writes constraints.txt from a fresh environment: versions only, no host, no hash.
# PYTHON is the oldest that users may have: packages that need 3.11.5 do not install on Debian 12.
set -euo pipefail
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"${PYTHON:-python3}" -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --upgrade pip
"$fresh/venv/bin/pip" install --quiet --editable ".[all]" hatchling editables
{
    echo "# Versions seen to work together. Written by make lock."
    "$fresh/venv/bin/pip" freeze --all --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' | sort -f
} > constraints.txt
