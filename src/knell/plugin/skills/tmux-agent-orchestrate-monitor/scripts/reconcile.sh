#!/bin/sh
# Compares the registry file with tmux: the options of `knell monitor`; --emit-diff prints JSON.
set -eu
command -v knell >/dev/null || {
    echo "knell is not on PATH: uv tool install knell, or pipx install knell" >&2
    exit 127
}
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    [ "$word" != --emit-diff ] || word=--json
    set -- "$@" "$word"
done
exec knell monitor "$@"
