#!/bin/sh
# Ends the agent of a session: the options of `knell delete`.
set -eu
command -v knell >/dev/null || {
    echo "knell is not on PATH: uv tool install knell, or pipx install knell" >&2
    exit 127
}
exec knell delete "$@"
