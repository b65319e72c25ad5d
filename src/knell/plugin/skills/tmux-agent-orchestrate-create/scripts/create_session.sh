#!/bin/sh
# Starts an agent in a session of its own: the options of `knell create`, and --submit-job PROMPT.
set -eu
command -v knell >/dev/null || {
    echo "knell is not on PATH: uv tool install knell, or pipx install knell" >&2
    exit 127
}
prompt="" job=no count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
        --submit-job)
            [ "$count" -gt 0 ] || {
                echo "--submit-job needs a prompt" >&2
                exit 2
            }
            prompt=$1 job=yes count=$((count - 1))
            shift
            ;;
        --submit-job=*) prompt=${word#*=} job=yes ;;
        *) set -- "$@" "$word" ;;
    esac
done
[ "$job" = no ] || set -- "$@" -- "$prompt"
exec knell create "$@"
