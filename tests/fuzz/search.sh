#!/bin/sh
# search.sh NAME [SECONDS]: looks for inputs that break the target, starting from its corpus. What
# is found stays in build/fuzz/found/NAME; a crash worth keeping goes to corpus/NAME by hand.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$here/../../build/fuzz
found=$build/found/$1
mkdir -p "$found"
set -- "$1" "${2:-60}" "$found"
[ ! -d "$here/corpus/$1" ] || set -- "$@" "$here/corpus/$1"
name=$1 seconds=$2
shift 2
exec "$build/tests/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$found/" "$@"
