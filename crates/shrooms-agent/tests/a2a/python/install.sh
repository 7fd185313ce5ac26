#!/bin/sh
# Installs the official Python SDK of A2A that the tests drive, exactly as requirements.txt says, into
# the folder $1 (then $1/venv/bin/python runs client.py and server.py).
# Without python3 and its venv the tests skip themselves, aloud; so it is no error here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# A venv without ensurepip has no pip: Debian keeps that in a package of its own.
if ! python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "no python3 (3.10 or newer) with venv: the tests that need it will skip themselves"
    exit 0
fi
mkdir -p "$1"
# The venv points at the system's python3, which may be another one by now.
if cmp -s "$here/requirements.txt" "$1/installed.txt" && "$1/venv/bin/python" -c 'import a2a' 2>/dev/null; then
    echo "installed already"
    exit 0
fi
rm -rf "$1/venv" "$1/installed.txt"
python3 -m venv "$1/venv"
# Wheels only: none of these packages should run code of its own here.
"$1/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
    -r "$here/requirements.txt"
cp "$here/requirements.txt" "$1/installed.txt"
