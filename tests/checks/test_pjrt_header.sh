#!/bin/sh
# liana's own declarations of PJRT's C interface against the header that comes with the plugin for CPUs.
#   tests/checks/test_pjrt_header.sh [COMPILER]
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer plugin
header=$peers/plugin/xla_plugins/xla_cpu_pjrt/include
"${1:-cc}" -std=c17 -Wall -Werror -fsyntax-only -Isrc -isystem "$header" tests/checks/pjrt_interface.c
# The check can fail: a function in another place.
changed=$(mktemp -d)
trap 'rm -rf "$changed"' EXIT
mkdir -p "$changed/backends/pjrt"
sed 's/X(EVENT_AWAIT, 8,/X(EVENT_AWAIT, 9,/' src/backends/pjrt/interface.h >"$changed/backends/pjrt/interface.h"
if "${1:-cc}" -std=c17 -fsyntax-only -I"$changed" -isystem "$header" tests/checks/pjrt_interface.c 2>/dev/null; then
    echo "test_pjrt_header.sh: a wrong place in the table is not found" >&2
    exit 1
fi
