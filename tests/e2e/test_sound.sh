#!/bin/sh
# test_sound.sh -- bottoms for which a claim holds for one record: frozen, loaded, dp; each row released once.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --seed 5 --parties 3 --set training.epochs=4 \
        --set model.embedding=2 --set protocol.pbm.trials=8 --set training.batch=100 --set training.evaluate_every=0 \
        --set protocol.patience_ms=30000 --party '*:model.layers=[6]' "$@"
}

# Checks of one summary, in python: S is the summary, claim(adversary) a record's.
holds() { # OUT EXPRESSION WHAT
    expect 0 '' "$3" python3 -c '
import json, sys
S = json.load(open(sys.argv[1] + "/summary.json"))
lines = lambda name: sum(1 for _ in open(sys.argv[1] + "/data/" + name)) - 1
train, test = lines("labels-train.csv"), lines("labels-test.csv")
def claim(adversary):
    return next(c for c in S["privacy"]["claims"]
                if c["adversary"] == adversary and c["adjacency"].startswith("record_"))
assert eval(sys.argv[2]), S["privacy"]' "$1" "$2"
}

# --- each row once ---

expect 0 '' 'frozen bottoms, each row once' run once --set training.releases=once --party '*:model.train=frozen' \
    --party '*:data.scale=none'
holds once 'S["privacy"]["releases"] == {"train": train, "evaluate": test, "predict": 0}' 'every row is released once'
holds once 'S["privacy"]["participations_max"] == 1' 'no record twice'
holds once 'S["epochs"] == 4 and S["rounds"] == -(-train // 100)' 'for four epochs of the head and one of rounds'
holds once 'S["bytes"]["train"]["payload_down"] == 0' 'nothing goes down'
holds once 'claim("server")["adjacency"] == "record_frozen" and claim("server")["m_eff"] == 3' \
    'the claim is record_frozen'

expect 0 '' 'the same with a scale that the rows made' run fitted --set training.releases=once \
    --party '*:model.train=frozen'
holds fitted 'claim("server")["adjacency"] == "record_raw"' 'which counts every release'
holds fitted 'claim("server")["epsilon"] > 100' 'and says nothing'

expect 0 '' 'every epoch anew' run every --party '*:model.train=frozen' --party '*:data.scale=none'
holds every 'S["privacy"]["participations_max"] == 4' 'a record takes part in each'
expect 5 'model.train: the plan' 'a raw bottom refuses each row once' run raw --set training.releases=once

# The parties are gone, the head has far to go: it stops when it is told to, and goes on when started again.
"$vfl" cluster --quiet --out long --seed 5 --parties 3 --set training.releases=once --set training.epochs=100000 \
    --set model.embedding=2 --party '*:model.train=frozen' --party '*:data.scale=none' >said-of 2>&1 &
long=$!
wait_until [ -s long/server/metrics.jsonl ]
kill -TERM $long
wait $long
same 0 $? 'a head that trains alone stops when told'
holds long 'S["status"] == "stopped" and 0 < S["epochs"] < 100000' 'and says so'

# --- weights from a file ---

cp once/party-1/model.safetensors first.safetensors
expect 0 '' 'weights from a file' run load --set training.releases=once --party '*:model.train=frozen' \
    --party "1:model.load=$PWD/first.safetensors" --seed 6
same "$(sha256sum <first.safetensors)" "$(sha256sum <load/party-1/model.safetensors)" \
    'they are what the party has at the end'
differ "$(sha256sum <once/party-2/model.safetensors)" "$(sha256sum <load/party-2/model.safetensors)" \
    'another drew its own'
expect 2 'model.load' 'of another shape' run shape --party "1:model.load=$PWD/first.safetensors" \
    --party '1:model.layers=[7]'
head -c 100 first.safetensors >cut.safetensors
expect 2 'model.load' 'cut off' run cut --party "1:model.load=$PWD/cut.safetensors"
expect 6 'nowhere.safetensors' 'not there' run gone --party "1:model.load=$PWD/nowhere.safetensors"

# --- dp ---

expect 0 '' 'dp bottoms, one epoch' run dp --set training.epochs=1 --set protocol.local_iterations=3 \
    --party '*:model.train=dp' --party '*:model.noise=8' --party '*:model.clip=0.5' --party '*:data.scale=none'
holds dp 'claim("server")["adjacency"] == "record_dp"' 'the claim is record_dp'
holds dp 'claim("server")["epsilon"] > 0' 'with an epsilon'
expect 0 '' 'each local step costs' run steps --set training.epochs=1 --set protocol.local_iterations=1 \
    --party '*:model.train=dp' --party '*:model.noise=8' --party '*:model.clip=0.5' --party '*:data.scale=none'
expect 0 '' 'three cost more than one' python3 -c '
import json
def epsilon(d):
    return next(c["epsilon"] for c in json.load(open(d + "/summary.json"))["privacy"]["claims"]
                if c["adversary"] == "server" and c["adjacency"] == "record_dp")
assert epsilon("dp") > epsilon("steps") > 0, (epsilon("dp"), epsilon("steps"))'
expect 2 'model.noise' 'dp without noise is refused' run bare --party '*:model.train=dp'
expect 2 'model.noise' 'and noise without dp' run idle --party '*:model.noise=1'

closing
