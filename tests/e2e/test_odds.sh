#!/bin/sh
# test_odds.sh -- under drop a party that comes back with another list of ids costs itself alone: its neighbour sits
# out for a turn, the next one tells, and everybody else goes on.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

expect 0 completed 'four parties train' \
    timeout 600 "$vfl" cluster --out base --seed 5 --parties 4 --set training.epochs=1 --party '*:model.layers=[8]'

as_party() { # I ARGUMENTS...: in the place of this shell, so that a signal reaches it
    i=$1
    shift
    exec "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --set "server=127.0.0.1:$port" \
        --set 'model.layers=[8]' --set "state=state-$i" "$@"
}

party() (
    as_party "$@"
)

# More epochs than anybody waits for: it ends by order.
"$VFL_BIN/vfl-server" -c base/server/config.yaml --set training.epochs=9000 --set training.evaluate_every=3000 \
    --set protocol.straggler=drop --set protocol.deadline_ms=60000 --set protocol.patience_ms=600000 \
    --set state=state-server >server.log 2>&1 &
server=$!
daemons=$server
wait_until test -s state-server/address
port=$(sed 's/.*://' state-server/address)
for i in 1 2 3 4; do
    as_party $i >party-$i.log 2>&1 &
    daemons="$daemons $!"
    eval "party_$i=$!"
done

wait_until grep -q 'generation 1: 4 parties hold one view' party-1.log
# shellcheck disable=SC2154 # by eval
kill -KILL "$party_4"
wait "$party_4" 2>/dev/null
sed '5s/^[^,]*,/another,/' base/data/party-4-train.csv >other.csv
expect 2 'the ids of p4 are not those of p2, p3, .* it is shut out of this run' 'another list' \
    party 4 --set data.train=other.csv --set state=state-another
expect 0 '' 'its neighbour sat out in turn' grep -q 'going on without p3: it is at odds' server.log
kill -TERM "$server"
wait "$server"
same 0 $? 'the others went on until they were told to stop'
for i in 1 2 3; do
    eval "wait \$party_$i"
    same 0 $? "p$i too"
done
closing
