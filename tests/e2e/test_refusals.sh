#!/bin/sh
# test_refusals.sh -- wrong certificates, bytes, files, plans: one clear line that names the guilty side, the
# documented exit code, and nobody else disturbed.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

# --- a federation to spoil: three parties on the shipped set, which all have run once ---
expect 0 completed 'three parties train' \
    timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 --set training.epochs=3 --party '*:model.layers=[8]'
model=$(sed -n 's/.*"head": "\(.*\)".*/\1/p' base/summary.json)
policies=$(sed -n '/^policy:/,/^[a-z]*:$/p' base/party-1/config.yaml)
differ '' "$policies" 'parties have policies'

server() { # ARGUMENTS...
    timeout 600 "$VFL_BIN/vfl-server" -c base/server/config.yaml --insecure-seed 5 --set training.seed=5 \
        --set training.epochs=3 --set protocol.patience_ms=600000 --set state=state-server "$@"
}

party() { # I PORT ARGUMENTS...
    i=$1 port=$2
    shift 2
    timeout 600 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --insecure-seed 5 --set "server=127.0.0.1:$port" \
        --set 'model.layers=[8]' --set "state=state-$i" "$@"
}

# Starts a server and sets port; its words go to server.log.
start_server() {
    rm -rf state-* server.log
    server "$@" >server.log 2>&1 &
    server_pid=$!
    daemons="$daemons $server_pid"
    timeout 300 sh -c "until [ -s state-server/address ] || ! kill -0 $server_pid; do :; done" 2>/dev/null
    port=$(sed 's/.*://' state-server/address)
}

# The rest of the federation behaves: the run ends as if nobody had disturbed it.
others_complete() { # WHAT
    for i in 1 2 3; do
        party $i "$port" >party-$i.log 2>&1 &
        daemons="$daemons $!"
    done
    wait "$server_pid"
    same "0 $model" "$? $(sed -n 's/.*"head": "\(.*\)".*/\1/p' state-server/summary.json)" "$1"
}

# --- files of this side: exit 2, with file and place ---
sed 's/^roster:.*/&\ncolour: blue/' base/server/config.yaml >base/server/bad.yaml
expect 2 'bad.yaml:[0-9]*: colour: unknown' 'an unknown key' "$VFL_BIN/vfl-server" -c base/server/bad.yaml
expect 2 'protocol.pbm.beta' 'beta over one quarter' server --set protocol.pbm.beta=0.3
printf 'protocol: {pbm: {beta: 0.3}}\n' | cat base/server/config.yaml - >base/server/bad.yaml
expect 2 'bad.yaml:[0-9]*: protocol.pbm.beta: is over 0.25' 'and in a file, with its line' \
    "$VFL_BIN/vfl-server" -c base/server/bad.yaml
expect 2 'float32' 'float32 under masks makes no sense' server --set protocol.encoding=float32
expect 2 'concat' 'nor does concat' server --set model.fusion=concat
expect 2 'drop' 'nor fixed with drop' server --set protocol.encoding=fixed --set protocol.straggler=drop
expect 2 'batch' 'a batch of more rows than there are' server --set training.batch=60000
expect 5 'privacy.max_epsilon' "a plan over the server's own limit" server --set privacy.max_epsilon=10
expect 2 'no-such-file' 'a missing configuration' "$VFL_BIN/vfl-server" -c no-such-file.yaml

spoil() { # SED-SCRIPT FILE: a spoiled copy of a data file as bad.csv
    sed "$1" "base/data/$2" >bad.csv
}
spoil '1s/,[^,]*$//' party-1-train.csv
expect 2 'bad.csv:2' 'a missing column in the header' party 1 1 --set data.train=bad.csv
spoil '3s/,[^,]*,/,inf,/' party-1-train.csv
expect 2 'bad.csv:3: column 2' 'text among numbers, with line and column' party 1 1 --set data.train=bad.csv
spoil '3s/,[^,]*,/,,/' party-1-train.csv
expect 2 'bad.csv:3: column 2.*empty cell' 'an empty cell where no row may decide anything' \
    party 1 1 --set data.train=bad.csv --set model.train=frozen --set data.scale=none
spoil '3{p}' party-1-train.csv
expect 2 'bad.csv:4: id.*already on line 3' 'a repeated id, with both lines' party 1 1 --set data.train=bad.csv
spoil '4s/,[01]$/,7.5/' labels-train.csv
expect 2 'bad.csv' 'a label that is no class' server --set labels.train=bad.csv
spoil '4s/,[01]$/,9/' labels-train.csv
expect 2 'bad.csv' 'a label out of range' server --set labels.train=bad.csv --set model.task=binary
chmod 644 base/party-1/party.key
expect 2 'party.key.*others' 'a key that others may read' party 1 1
chmod 600 base/party-1/party.key
expect 5 'roster_sha256' 'a roster that is not the pinned one' \
    party 1 1 --set policy.roster_sha256=0000000000000000000000000000000000000000000000000000000000000000

# --- identities ---
"$vfl" pki ca --quiet --ca other-ca
"$vfl" pki csr --quiet --name p1 --key base/party-1/party.key --out p1.csr
"$vfl" pki issue --quiet --ca other-ca --csr p1.csr --name p1 --role party --out wrong-ca.crt
"$vfl" pki issue --quiet --ca base/pki --csr p1.csr --name p9 --role party --out wrong-name.crt
"$vfl" pki issue --quiet --ca base/pki --csr p1.csr --name p1 --role party --out expired.crt \
    --start 2020-01-01 --days 3
"$vfl" pki csr --quiet --name p1 --key stranger.key --out stranger.csr
"$vfl" pki issue --quiet --ca base/pki --csr stranger.csr --name p1 --role party --out stranger.crt

start_server
cat other-ca/ca.crt base/pki/ca.crt >both.crt
expect 2 'identity.cert.*not issued by' 'a certificate of another CA, seen at home' \
    party 1 "$port" --set identity.cert=wrong-ca.crt
expect 2 'refused this side.s certificate' 'and seen by the server' \
    party 1 "$port" --set identity.cert=wrong-ca.crt --set identity.ca=both.crt --set identity.crl=
expect 2 'name' 'a certificate of another name' party 1 "$port" --set identity.cert=wrong-name.crt
expect 2 'expired' 'an expired certificate' party 1 "$port" --set identity.cert=expired.crt
expect 2 'not in the roster' 'a key that is not in the roster' \
    party 1 "$port" --set identity.cert=stranger.crt --set identity.key=stranger.key
expect 3 'certificate' 'a server of another CA' party 1 "$port" --set identity.cert=wrong-ca.crt \
    --set identity.ca=other-ca/ca.crt --set identity.crl=
sed 's/name: p2/name: q2/' base/roster.yaml >other-roster.yaml
expect 2 'roster' 'another roster' party 1 "$port" --set roster=other-roster.yaml --set policy.roster_sha256=

# --- bytes of strangers ---
hold() { # PORT FILE: TCP open, TLS never begun; the file tells that it is
    python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[2], "w").write("held\n")
s.recv(1)' "$1" "$2" &
    daemons="$daemons $!"
    timeout 300 sh -c "until [ -s $2 ]; do :; done"
}
expect 0 '' 'garbage bytes are answered by closing' python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(range(256)) * 64)
s.settimeout(120)
try:
    while s.recv(4096):
        pass
except ConnectionResetError:
    pass' "$port"
expect 0 'protocol version' 'a TLS 1.2 client is refused' sh -c "openssl s_client -connect 127.0.0.1:$port -tls1_2 \
    -cert base/party-1/party.crt -key base/party-1/party.key </dev/null 2>&1 | grep -i 'protocol version'"
expect 0 '' 'a prefix of 2 GiB closes the connection, and no memory is taken' python3 -c '
import socket, ssl, sys
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
c.check_hostname = False
c.load_verify_locations("base/pki/ca.crt")
c.load_cert_chain("base/party-1/party.crt", "base/party-1/party.key")
c.set_alpn_protocols(["vfl/1"])
s = c.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
s.sendall(b"\x80\x00\x00\x00" + b"x" * 100)
s.settimeout(120)
assert s.recv(1) == b""' "$port"
hold "$port" held-1
hold "$port" held-2
others_complete 'strangers disturb nobody: the model is that of a calm run'
expect 0 '' 'each is named in the log' grep -q 'the name p1' server.log
expect 0 '' 'the prefix too' grep -q 'over' server.log
most=40960
# What sanitizers keep beside each word, and of what was freed, counts too.
[ -z "${ASAN_OPTIONS:-}" ] || most=81920
[ -z "${TSAN_OPTIONS:-}" ] || most=163840
same yes "$([ "$(sed -n 's/.*"max_rss_kb": \([0-9]*\).*/\1/p' state-server/summary.json | tail -n 1)" -lt $most ] &&
    echo yes)" 'the server stays under 40 MiB'

# --- a roster that changes in mid-run ---
logged() { # FILE WORDS
    wait_until grep -q "$2" "$1"
}
begin_party() { # a party that waits for the others, with a roster of its own; sets pid
    cp base/roster.yaml mine.yaml
    rm -f party-1.log # the one before it was connected too
    "$VFL_BIN/vfl-party" -c base/party-1/config.yaml --insecure-seed 5 --set "server=127.0.0.1:$port" \
        --set 'model.layers=[8]' --set state=state-1 --set roster="$dir/mine.yaml" >party-1.log 2>&1 &
    pid=$!
    daemons="$daemons $pid"
    logged party-1.log 'connected to'
}
start_server
begin_party
sed -n '/name: p2/p' base/roster.yaml | sed "s/p2/p4/; s/key: [0-9a-f]*/key: $(printf '%064d' 7)/" >>mine.yaml
kill -HUP "$pid"
logged party-1.log 'the roster is another one' && ok 'one party more: it is said' || not_ok 'nothing is said'
kill -0 "$pid" && ok 'and the run goes on' || not_ok 'the run has ended'
echo 'parties: nonsense' >mine.yaml
kill -HUP "$pid"
logged party-1.log 'reload: .*mine.yaml' && ok 'a file that is wrong changes nothing' || not_ok 'nothing is said'
grep -v 'name: p2' base/roster.yaml >mine.yaml
kill -HUP "$pid"
wait "$pid"
same 5 "$?" 'a member less: the run ends with 5'
expect 0 'p2 is no longer in it' 'and says who is gone' cat party-1.log
begin_party
sed "s/key: $(sed -n '/^server:/s/.*key: \([0-9a-f]*\).*/\1/p' base/roster.yaml)/key: $(printf '%064d' 7)/" \
    base/roster.yaml >mine.yaml
kill -HUP "$pid"
wait "$pid"
same 5 "$?" 'another key of the server: the run ends with 5'
# Its child is the one that runs the server; a number.
# shellcheck disable=SC2046
kill $(ps -o pid= --ppid "$server_pid")
wait "$server_pid"

# --- plans and data that do not fit together ---
refused_by() { # CODE WORDS WHAT PARTY-ARGUMENTS...: party 1 differs, 2 and 3 do not
    want=$1 words=$2 what=$3
    shift 3
    start_server
    for i in 2 3; do
        party $i "$port" >party-$i.log 2>&1 &
        daemons="$daemons $!"
    done
    expect "$want" "$words" "$what" party 1 "$port" "$@"
    wait "$server_pid"
    same "$want" "$?" "$what: the server's exit code"
    expect 0 p1 "$what: the server names p1" grep ' error: ' server.log
}
sed 2d base/data/party-1-train.csv >fewer.csv
refused_by 2 'rows do not match: this side has' 'one row less' --set data.train=fewer.csv
awk -F, -v OFS=, 'NR == 2 { $1 = "x" $1 } { print }' base/data/party-1-train.csv >other-id.csv
refused_by 2 'ids of p[0-9] are not' 'the same number of other ids' --set data.train=other-id.csv
refused_by 5 'policy.max_epsilon' 'a plan over the budget' --set policy.max_epsilon.value=3
refused_by 5 'policy.max_releases.record' 'too many releases of a record' --set policy.max_releases.record=2
refused_by 5 'policy.encodings' 'an encoding that the policy does not admit' --set 'policy.encodings=[fixed]'
expect 2 'another plan' 'a folder that holds another plan' \
    "$vfl" cluster --out base --seed 5 --parties 3 --set training.epochs=2 --party '*:model.layers=[8]'

closing
