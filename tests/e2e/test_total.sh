#!/bin/sh
# test_total.sh -- one record that no float can carry through a bottom: the run ends well all the same, for everybody,
# and the party's own log alone says what was cut off.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

expect 0 completed 'three parties train, the first with a frozen bottom of two layers' \
    timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 --set training.epochs=1 --set model.init=he \
    --party '*:model.layers=[8,8]' --party '1:model.train=frozen' --party '*:data.scale=none'

# --- the same again, after one record of the first party has become huge ---
awk -F, -v OFS=, 'NR == 4 { for (i = 2; i <= NF; i++) $i = i % 2 ? "3e38" : "-3e38" } { print }' \
    base/data/party-1-train.csv >huge.csv
timeout 600 "$VFL_BIN/vfl-server" -c base/server/config.yaml --insecure-seed 5 --set state=state-server \
    --set training.epochs=1 --set model.init=he >server.log 2>&1 &
server_pid=$!
daemons=$server_pid
timeout 300 sh -c "until [ -s state-server/address ] || ! kill -0 $server_pid; do :; done" 2>/dev/null
port=$(sed 's/.*://' state-server/address)
for i in 1 2 3; do
    set -- --set "server=127.0.0.1:$port" --set "state=state-$i" --set data.scale=none \
        --set "model.layers=[8,8]"
    [ $i = 1 ] && set -- "$@" --set data.train=huge.csv --set model.train=frozen
    timeout 600 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --insecure-seed 5 "$@" >party-$i.log 2>&1 &
    pid=$!
    daemons="$daemons $pid"
    eval "party_$i=$pid"
done
wait "$server_pid"
same 0 $? 'the server completes with it'
for i in 1 2 3; do
    eval "wait \$party_$i"
    same 0 $? "and so does party $i"
done
expect 0 'feature values were beyond 1e+12 and cut off' 'the party knows of it' cat party-1.log
expect 1 '' 'and nobody else does' grep -l 'beyond 1e+12' server.log party-2.log party-3.log

# --- plans and files that cannot stay finite, before a word is said ---
expect 2 "protocol.proximal=560: times" "the server refuses a pull that overshoots" "$VFL_BIN/vfl-server" -n \
    -c base/server/config.yaml --set protocol.local_iterations=5 --set protocol.proximal=560 \
    --set training.learning_rate=1
printf '%s\n' 'protocol: {local_iterations: 5, proximal: 560}' 'training: {learning_rate: 1}' >pull.yaml
expect 2 'protocol.proximal: times' 'and so does the party' "$VFL_BIN/vfl-party" -n --plan pull.yaml \
    -c base/party-1/config.yaml
python3 -c '
import struct, sys
open("nan.safetensors", "wb").write(struct.pack("<Q", 8) + b"{}      " + struct.pack("<f", float("nan")))'
expect 2 'model.load: .*nan.safetensors: .*not finite' 'first weights that are no numbers' "$VFL_BIN/vfl-party" -n \
    -c base/party-1/config.yaml --set model.load=nan.safetensors

closing
