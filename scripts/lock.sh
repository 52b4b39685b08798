#!/usr/bin/env bash
# Writes constraints.txt from a fresh environment: versions only, no host, no hash.
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
