#!/bin/sh
# Every C file is as clang-format lays it out, and shellcheck has nothing to say about scripts.
set -eu
cd "$(dirname "$0")/../.."
find proto agent controller tests -name '*.[ch]' -type f -exec clang-format --dry-run -Werror {} +
# SC2317: functions that are called by name, as steps, look unreachable to it.
find run .ci tests certs deploy \( -name '*.sh' -o -name run -o -name sonde-certs \) -type f \
    -exec shellcheck -e SC2317 {} +
