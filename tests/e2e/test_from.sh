#!/bin/sh
# test_from.sh -- a complete run trained on: two halves and one whole, and what does not go with it.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# All rows in one batch and a constant rate: where a step is cannot matter, nor in which epoch.
whole='--parties 3 --seed 4 --set protocol.aggregation=clear --set protocol.encoding=float32 --set training.batch=453'
whole="$whole --set training.optimizer=sgd --set training.schedule=constant"
run() { # EPOCHS OUT OPTIONS...
    epochs=$1 out=$2
    shift 2
    # shellcheck disable=SC2086 # words
    "$vfl" cluster $whole --set training.learning_rate=0.5 --set training.epochs="$epochs" --out "$out" "$@"
}

cat >apart.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from predict import read_package
most = 0
for side in "server", "party-1", "party-2", "party-3":
    last = lambda out: open(out + "/server/models/served").read().split()[-1]
    a, b = (read_package("%s/%s/models/%s/model.safetensors" % (o, side, last(o))) for o in ("half", "whole"))
    assert a[1].keys() == b[1].keys() and a[1]
    most = max(most, max(abs(a[1][k] - b[1][k]).max() for k in a[1]))
print("%.1e apart" % most)
assert most < 1e-5, most
PY

expect 0 'run       4 epochs' 'a run' run 4 half
first=$(tail -n 1 half/server/models/served)
expect 0 "trains on: 5 epochs more, from the model of run $first" 'with more epochs the same command trains it on' \
    run 9 half
expect 0 'this run is complete already' 'once' run 9 half
expect 2 'holds a run with another plan' 'not with fewer' run 5 half
expect 2 'holds a run with another plan' 'and not with another rate' run 10 half --set training.learning_rate=0.25
expect 0 '' 'one that is as long' run 9 whole --quiet
expect 0 ' apart' 'two halves are one whole' /usr/bin/python3 apart.py "$root/tests/golden"
expect 0 "^from        $first" 'a package names the one it came from' "$vfl" models --state half/party-1 show
expect 0 'epoch' 'figures of the first half are kept' cat "half/before/$first/server/metrics.jsonl"
expect 0 "$((9 * 569)) vectors released" 'what both have cost is one figure' run 9 half

# --- what a plan has to keep of it, and who has to have it ---
on() { # FOLDER OPTIONS...: the daemons of `half` once more
    "$VFL_BIN/vfl-server" -c half/server/config.yaml --set protocol.aggregation=clear --set protocol.encoding=float32 \
        --set training.from="$first" --set listen=127.0.0.1:0 -n "$@"
}
expect 0 'from_trail: "[0-9a-f]' 'the server says which playing it is' on
expect 2 'training.from: model.embedding is not that of run' 'another width of embeddings' on --set model.embedding=3
expect 2 'training.from: protocol.clip is not' 'another bound on them' on --set protocol.clip=2
expect 2 'no such file\|no model' 'a run that there is not' on --set training.from=0123456789abcdef
expect 2 'no name of a run' 'what is no name of one' on --set training.from=../served
expect 2 'model.load: training.from says' 'other weights besides' \
    on --set "model.load=$PWD/half/server/models/$first/model.safetensors"
last=$(tail -n 1 half/server/models/served)
mv "half/party-2/models/$last" aside
expect 2 'p2 refuses: training.from: no model of run' 'a party that has no part in it' run 12 half
mv aside "half/party-2/models/$last"
expect 0 'run       3 epochs' 'once it has, the same command goes on' run 12 half

# --- other columns of a party are its own affair: its log says so, and to the others it is gone ---
last=$(tail -n 1 half/server/models/served)
sed '1s/,[a-z0-9_]*$/,another/' half/data/party-3-train.csv >renamed && mv renamed half/data/party-3-train.csv
sed '1s/,[a-z0-9_]*$/,another/' half/data/party-3-test.csv >renamed && mv renamed half/data/party-3-test.csv
echo "set protocol.patience_ms=2000" >>half/plan.txt
expect 6 "party-3: training.from: not the columns of this party's model" 'a party whose columns are others' \
    run 14 half --set protocol.patience_ms=2000
expect 0 'in the data it is "another"' 'says so in its own log' grep another half/party-3/log.txt
expect 1 '' 'and to nobody else' grep -r '"another"' half/server half/party-1/log.txt
expect 1 '' 'who are told no reason' grep 'p3 refuses' half/server/log.txt

closing
