#!/bin/sh
# Every C file is as clang-format lays it out.
set -eu
cd "$(dirname "$0")/../.."
find proto agent controller tests -name '*.[ch]' -type f -exec clang-format --dry-run -Werror {} +
