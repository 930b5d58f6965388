#!/bin/sh
# test_statistics.sh -- statistics with noise: drawn once, charged once, in the claims, and nothing that others see.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317,SC2086 # functions are called by expect; words
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

expect 0 completed 'three parties train' timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 \
    --set training.epochs=2 --set model.embedding=4 --party '*:model.layers=[8]' --party '*:data.scale=none' \
    --party '*:model.train=frozen'
# What the columns mean is known without these rows: nothing of a cell is over 5000.
{
    echo 'statistics: dp'
    echo 'budget: {epsilon: 1, delta: 1e-6}'
    echo 'columns:'
    head -n 1 base/data/party-1-train.csv | tr , '\n' |
        sed 's/.*/  - {name: "&", kind: number, missing: mean, clip: [0, 5000]}/
        s/"id", .*/"id", kind: id}/'
} >dp.yaml
party() { # I ARGUMENTS...
    i=$1
    shift
    timeout 600 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --insecure-seed 5 --set 'model.layers=[8]' \
        --set data.scale=none --set model.train=frozen --set "state=state-$i" "$@"
}
drawn='--set data.schema=dp.yaml --set data.scale=dp'
price() { # ARGUMENTS...
    party 1 -n --plan base/server/resolved.yaml "$@"
}

# run WHAT CODE WORDS ARGUMENTS...: the daemons by their states, party 1 with these arguments.
run() {
    what=$1 code=$2 words=$3
    shift 3
    rm -rf state-server
    timeout 600 "$VFL_BIN/vfl-server" -c base/server/resolved.yaml --insecure-seed 5 --set training.seed=5 \
        --set protocol.patience_ms=20000 --set state=state-server >server.log 2>&1 &
    daemons=$!
    wait_until test -s state-server/address
    port=$(sed 's/.*://' state-server/address)
    for j in 2 3; do
        party $j --set "server=127.0.0.1:$port" >party-$j.log 2>&1 &
        daemons="$daemons $!"
    done
    expect "$code" "$words" "$what" party 1 --set "server=127.0.0.1:$port" "$@"
    for j in $daemons; do
        wait "$j"
    done
    daemons=
}
number() {
    party 1 --ledger | sed -n 's/.*the last one is number //p'
}
charges() {
    party 1 --ledger | awk '$3 == "statistics" { print $4, $5, $6 }'
}
scale() {
    "$vfl" models --state state-1 show | grep '^column'
}

# --- what it would cost ---
price >without.txt
price $drawn >with.txt
expect 0 'statistics: dp, 10 of columns with noise, rho 0.02435[0-9]* for each record: charged with the first release' \
    'the price says what is drawn' cat with.txt
expect 0 record_frozen 'and the claim for records holds' cat with.txt
same '' "$(ls -d state-1 2>/dev/null)" 'though nothing was drawn or written'
python3 - >added.txt <<'PY'
def curves(name):
    lines = open(name).read().split('divergence by order')[1].splitlines()[1:]
    return {tuple(w[1:3]): list(map(float, w[3:])) for w in map(str.split, lines)
            if len(w) == 11 and w[2] in ('record_frozen', 'columns', 'sample')}
a, b = curves('without.txt'), curves('with.txt')
orders = [1.25, 1.5, 2, 4, 8, 16, 32, 64]
# Printed to four digits: a record's is alpha rho more, the others' are the same.
print(len(a), all(abs(y - x - (o * 0.0243559703595384 if k[1] == 'record_frozen' else 0)) <= 6e-4 * y
                  for k in a for x, y, o in zip(a[k], b[k], orders)))
PY
same '12 True' "$(cat added.txt)" 'a record costs rho alpha more at each order, columns and samples nothing'
claim() { # FILE
    sed -n 's/^#   server  *record_frozen .* epsilon \([^ ]*\).*/\1/p' "$1" | head -n 1
}
limit=$(echo "$(claim without.txt) $(claim with.txt)" | awk '{ print ($1 + $2) / 2 }')
limited="--set policy.max_epsilon.adversary=server --set policy.max_epsilon.adjacency=record_frozen
    --set policy.max_epsilon.value=$limit"
expect 0 'policy accepts' 'a limit between the two takes the plan without' price $limited
expect 5 'policy.max_epsilon: against server (record_frozen)' 'and not with statistics' price $drawn $limited

# --- one draw, one charge ---
run 'a run without statistics' 0 ''
plain=$(number)
rm -rf state-1 state-2 state-3
run 'a plan over the limit is refused' 5 'policy.max_epsilon' $drawn $limited
expect 0 'p1 refuses: policy.max_epsilon: over its limit$' 'in the words of any such refusal' cat server.log
same '' "$(charges)" 'and nothing was charged'
run 'a run with statistics goes to its end' 0 '' $drawn
same '1 0 453' "$(charges)" 'they are charged once for each training row, in no round'
same "$plain" "$(number)" 'and the number that others are told is that of a run without'
scale >first
rm -rf state-[123]/checkpoint* state-[123]/models state-1/served
run 'and another one' 0 '' $drawn
same '1 0 453' "$(charges)" 'charges nothing more for them'
same "$(cat first)" "$(scale)" 'since it has the same ones'
expect 0 'the ledger has them' 'as the price says' price $drawn
expect 0 'statistics: dp' 'the model says how they came about' "$vfl" models --state state-1 show
rm -r state-1/statistics
run 'a third one, whose draw was removed' 0 '' $drawn
same '1 0 453
1 0 453' "$(charges)" 'draws and pays anew'
differ "$(cat first)" "$(scale)" 'and has others'

# --- one command, and predictions by its model ---
expect 0 completed 'cluster takes them' timeout 600 "$vfl" cluster --out c --seed 5 --parties 3 \
    --set training.epochs=2 --set data.validate=0.2 \
    --party "1:data.schema=$PWD/dp.yaml" --party 1:data.scale=dp --party 1:model.train=frozen
left=$(python3 - <<'PY'
import csv, hashlib
ids = [row['id'] for row in csv.DictReader(open('c/data/party-1-train.csv'))]
place = lambda i: int.from_bytes(hashlib.sha256(b'vfl/validate/1\0' + i.encode()).digest()[:8], 'little') >> 11
print(sum(place(i) >= 0.2 * 2 ** 53 for i in ids))
PY
)
"$VFL_BIN/vfl-party" -c c/party-1/config.yaml --ledger >ledger.txt
same "1 0 $left" "$(awk '$3 == "statistics" { print $4, $5, $6 }' ledger.txt)" \
    'rows that are kept back are in no statistic'
expect 0 '' 'and its model predicts' timeout 600 "$vfl" predict --quiet --run c \
    --data "$root/tests/data/breast_cancer.csv.gz" --out scores.csv

# --- what is refused ---
refuse() { # WORDS WHAT ARGUMENTS...
    words=$1 what=$2
    shift 2
    expect 2 "$words" "$what" party 1 -n "$@"
}
sed '4,$s/, clip: .*/}/' dp.yaml >bare.yaml
refuse 'data.schema: .*bare.yaml: column ".*": statistics: dp, but no clip' 'a column without a range, by name' \
    --set data.schema=bare.yaml
refuse 'data.scale: dp, but no data.schema' 'a scale of no statistics' --set data.scale=dp
sed '$s/number.*/category}/' dp.yaml >texts.yaml
refuse 'column ".*": statistics: dp, but its levels are not given' 'levels that the rows would decide' \
    --set data.schema=texts.yaml
sed 's/epsilon: 1,/epsilon: 1e-9,/' dp.yaml >little.yaml
refuse 'little.yaml: budget: too small for 10 statistics' 'a budget that no noise keeps' $drawn \
    --set data.schema=little.yaml
closing
