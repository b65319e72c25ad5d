#!/bin/sh
# Shows what runs: the options of `knell status`.
set -eu
command -v knell >/dev/null || {
    echo "knell is not on PATH: uv tool install knell, or pipx install knell" >&2
    exit 127
}
exec knell status "$@"
