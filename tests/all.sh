#!/bin/sh
# Everything that must hold, in steps; the first that fails ends the run. The last line counts
# tests and steps. Called by ./run test, which has installed what is needed.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
passed=0 failed=0 skipped=0 fixed='' began=$(date +%s)
python=$(command -v /usr/bin/python3 || command -v python3)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

finish()
{
    echo "== all: $(($(date +%s) - began)) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    exit "$((failed > 0))"
}

# step NAME COMMAND [ARGUMENT...]
step()
{
    name=$1 start=$(date +%s)
    shift
    echo "== $name"
    if "$@"; then
        passed=$((passed + 1))
        echo "== $name: passed, $(($(date +%s) - start)) s"
    else
        failed=$((failed + 1))
        echo "== $name: FAILED, $(($(date +%s) - start)) s"
        finish
    fi
}

skip()
{
    skipped=$((skipped + 1))
    echo "== $1: SKIPPED: $2"
}

# tests FOLDER [FLAG...]: runs a build's tests and counts each.
tests()
{
    folder=build/$1 status=0
    shift
    $fixed ctest --test-dir "$folder" -O "$scratch/ctest.log" --output-on-failure \
        --no-tests=error -j 2 "$@" || status=1
    ran=$(grep -c '^ *[0-9]*/[0-9]* Test ' "$scratch/ctest.log" || true)
    good=$(grep -c '^ *[0-9]*/[0-9]* Test .* Passed ' "$scratch/ctest.log" || true)
    left=$(grep -c '^ *[0-9]*/[0-9]* Test .*\*\*\*Skipped ' "$scratch/ctest.log" || true)
    passed=$((passed + good)) skipped=$((skipped + left))
    failed=$((failed + ran - good - left))
    return "$status"
}

lint()
{
    "$python" tests/lint/test_lints.py &&
        "$python" tests/lint/layers.py && "$python" tests/lint/sizes.py &&
        "$python" tests/lint/banned.py && "$python" tests/lint/tree.py &&
        tests/lint/format.sh
}

gcc_build()
{
    ./run build gcc -DCMAKE_C_COMPILER=gcc && tests gcc -LE "netns|lab"
}

clang_build()
{
    ./run build clang -DCMAKE_C_COMPILER=clang
}

sanitized()
{
    ./run build asan -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSONDE_SANITIZE=address,undefined &&
        ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1 \
            LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0" \
            UBSAN_OPTIONS=print_stacktrace=1 tests asan -LE "netns|lab|plain"
}

threads()
{
    ./run build tsan -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSONDE_SANITIZE=thread || return 1
    # ThreadSanitizer's shadow does not fit every randomized address space.
    if setarch -R true 2>/dev/null; then fixed='setarch -R'; fi
    export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp"
    for model in shared split; do
        $fixed build/tsan/sonde loopback --io-model "$model" --io-threads 2 --clients 6 \
            --payload 64,8192 --window 1,16 --repeat 1 --warmup 0.1 --seconds 0.3 \
            --output "$scratch/tsan" >"$scratch/tsan.log" 2>&1 || {
            cat "$scratch/tsan.log"
            return 1
        }
    done
    tests tsan -L unit || return 1
    fixed=
}

tidy()
{
    find proto agent controller -name '*.c' ! -name '*_macos.c' -print0 |
        xargs -0 -n 4 -P 2 clang-tidy --quiet -p build/clang >"$scratch/tidy.log" 2>&1 || {
        grep -v ' warnings* generated\|^Suppressed \|^Use -header' "$scratch/tidy.log"
        return 1
    }
}

macos()
{
    tests/macos/cross.sh >"$scratch/macos.log" 2>&1 || {
        cat "$scratch/macos.log"
        return 1
    }
    tail -n 1 "$scratch/macos.log"
}

documents()
{
    "$python" tests/docs/test_manual.py build/gcc/sonde &&
        "$python" tests/docs/test_manual_agent.py build/gcc/sonde-agent &&
        "$python" tests/docs/test_protocol.py build/gcc/tests/bin/protocol_tables &&
        "$python" tests/docs/test_commands.py && "$python" tests/docs/commands.py build/gcc/sonde
}

namespaces()
{
    tests gcc -L netns && tests gcc -L lab -j 4
}

if [ "$(uname)" = Darwin ]; then
    step 'build and tests' eval './run build cc && tests cc -LE "netns|lab"'
    step 'address and undefined behaviour' eval \
        './run build asan -DSONDE_SANITIZE=address,undefined && tests asan -L unit'
    skip 'lints, gcc, threads, macOS cross-build, documents, namespaces' 'they run on Linux'
    finish
fi
step 'lints' lint
step 'gcc: build, unit and system tests, corpora' gcc_build
step 'clang: build (its tests run with the sanitizers)' clang_build
step 'clang-tidy' tidy
step 'address and undefined behaviour: unit and system tests, corpora' sanitized
step 'threads: unit tests of what has some, loopback' threads
step 'macOS: cross-build' macos
step 'documents: the manual page, the protocol, their commands' documents
if [ "$(id -u)" = 0 ]; then
    step 'network namespaces' namespaces
else
    skip 'network namespaces' 'they need root'
fi
finish
