#!/bin/sh
# A controller and three agents on this machine with fresh certificates in a temporary folder, and
# one measurement between two of them. Everything ends, and is removed, with this program: by
# Ctrl-C, or at once with --once. Called by ./run demo. Usage: demo.sh FOLDER-OF-PROGRAMS [--once]
set -eu

programs=$1
once=${2:-}
case $#$once in 1 | 2--once) ;; *) echo 'usage: ./run demo [--once]' >&2 && exit 2 ;; esac
certs=$(CDPATH='' cd -- "$(dirname -- "$0")/../certs" && pwd)/sonde-certs
folder=$(mktemp -d "${TMPDIR:-/tmp}/sonde-demo.XXXXXX")
daemons=

clean()
{
    trap '' INT TERM HUP
    # shellcheck disable=SC2086 # a list of process ids
    [ -z "$daemons" ] || kill $daemons 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

say()
{
    echo "demo: $*" >&2
}

fail()
{
    say "$*"
    for log in "$folder"/*.log; do
        [ -f "$log" ] && sed "s|^|demo: ${log##*/}: |" "$log" >&2
    done
    exit 1
}

# issue ROLE NAME [FLAG...]: a certificate into $folder/ROLE or, for agents, $folder/NAME.
issue()
{
    out=$1
    [ "$1" != agent ] || out=$2
    "$certs" "$@" --dir "$folder/ca" --out "$folder/$out" >>"$folder/certs.log" 2>&1 ||
        fail "no certificate for $2"
}

files()
{
    printf 'tls:\n  ca: %s/ca.pem\n  certificate: %s/%s.pem\n  key: %s/%s-key.pem\n' \
        "$folder/$1" "$folder/$1" "$2" "$folder/$1" "$2"
}

pause()
{
    perl -e 'select(undef, undef, undef, 0.1)' 2>/dev/null || sleep 1
}

start()
{
    log=$1
    shift
    "$@" >"$folder/$log.log" 2>&1 &
    daemons="$daemons $!"
}

# start_controller: on $port; false when it ended instead of listening.
start_controller()
{
    {
        echo "listen: 127.0.0.1:$port"
        files controller controller
        printf 'store:\n  path: %s/sonde.sqlite\n' "$folder"
    } >"$folder/controller.yaml"
    start controller "$programs/sonde" serve --config "$folder/controller.yaml"
    until grep -q listen "$folder/controller.log"; do
        kill -0 $! 2>/dev/null || return 1
        pause
    done
    kill -0 $! 2>/dev/null
}

# Macs have 127.0.0.1 alone, unless somebody gave lo0 more.
address()
{
    if [ "$(uname)" = Linux ]; then echo "127.0.0.$1"; else echo 127.0.0.1; fi
}

sonde()
{
    "$programs/sonde" "$@" --controller "127.0.0.1:$port" --identity "$folder/operator"
}

say "certificates, in $folder"
"$certs" init --domain demo.sonde --dir "$folder/ca" >>"$folder/certs.log" 2>&1 ||
    fail 'the authority could not be made'
issue controller controller --ip 127.0.0.1
issue operator demo
for name in paris oslo rome; do issue agent "$name"; done

# Another controller may have the usual port.
port=7862
until start_controller; do
    port=$((port + 1))
    [ $port -lt 7882 ] || fail 'the controller did not start'
done

host=1
for name in paris oslo rome; do
    {
        printf 'controller:\n  address: 127.0.0.1:%s\n' "$port"
        files "$name" agent
        printf 'echo:\n  bind_ipv4: %s\n' "$(address $host)"
        printf 'spool:\n  path: %s/%s.sqlite\n' "$folder" "$name"
    } >"$folder/$name.yaml"
    start "$name" "$programs/sonde-agent" --config "$folder/$name.yaml"
    host=$((host + 1))
done

say "a controller on 127.0.0.1:$port, and three agents: paris, oslo, rome"
tries=0
until [ "$(sonde agents 2>/dev/null | grep -c ' connected ')" = 3 ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || fail 'the agents did not connect'
    pause
done
sonde agents

say 'bursts from paris to oslo, whose socket asks for a small receive buffer'
sonde run --from paris --to oslo --address "$(address 2)" --payload 1200,8192 --window 1,64 \
    --clients 16 --rcvbuf 212992 --seconds 0.5 --output "$folder/runs" ||
    fail 'the measurement failed'

[ "$once" != --once ] || exit 0
say 'everything still runs; in another terminal, for example:'
cat >&2 <<EOF

  export SONDE_CONTROLLER=127.0.0.1:$port SONDE_IDENTITY=$folder/operator
  $programs/sonde agents
  $programs/sonde run --from rome --to paris --address $(address 1) --window 16
  $programs/sonde results

EOF
say 'Ctrl-C ends and removes all of it'
wait
