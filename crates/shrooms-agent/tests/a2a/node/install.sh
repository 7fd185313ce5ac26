#!/bin/sh
# Installs the official JavaScript SDK of A2A that the tests drive, exactly as the lock file says, into
# the folder $1 (which client.mjs and server.mjs are then given as --packages).
# Without node the tests skip themselves, aloud; so it is no error here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "no node and npm: the tests that need them will skip themselves"
    exit 0
fi
mkdir -p "$1"
if cmp -s "$here/package-lock.json" "$1/installed.json"; then
    echo "installed already"
    exit 0
fi
cp "$here/package.json" "$here/package-lock.json" "$1/"
cd "$1"
# No scripts: none of these packages needs one, and none should run code here.
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed.json
