#!/bin/sh
# The real Claude Code for tests/claude.rs, into the directory named: one file of 400 MB, with no
# script of its package run. Where it cannot be had the tests skip themselves and say so.
set -eu
package=@anthropic-ai/claude-code-linux-x64
version=2.1.332
there="$1/node_modules/$package"
if [ -x "$there/claude" ] && grep -q "\"version\": \"$version\"" "$there/package.json"; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "claude: no npm" >&2
    exit 0
fi
mkdir -p "$1"
npm i --prefix "$1" --ignore-scripts --no-audit --no-fund --no-save "$package@$version" ||
    echo "claude: cannot be installed" >&2
