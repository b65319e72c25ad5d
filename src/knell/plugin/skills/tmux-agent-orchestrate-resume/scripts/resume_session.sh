#!/bin/sh
# Continues a session: --session NAME, and the other options of `knell resume`.
set -eu
command -v knell >/dev/null || {
    echo "knell is not on PATH: uv tool install knell, or pipx install knell" >&2
    exit 127
}
name="" count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
        --session)
            [ "$count" -gt 0 ] || break
            name=$1 count=$((count - 1))
            shift
            ;;
        --session=*) name=${word#*=} ;;
        *) set -- "$@" "$word" ;;
    esac
done
[ -n "$name" ] || {
    echo "name the session: --session NAME" >&2
    exit 2
}
exec knell resume "$name" "$@"
