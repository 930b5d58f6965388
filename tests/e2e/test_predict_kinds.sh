#!/bin/sh
# test_predict_kinds.sh -- models of each encoding and aggregation predict, and models of images do.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv

said() { # LOG WORDS
    grep -q -e "$2" "$1"
}

# kind PARTIES NAME MOST OPTIONS...: MOST is how far from numpy a score may be, in units of 1e-9.
kind() {
    kind_parties=$1 name=$2 most=$3
    shift 3
    train "$kind_parties" "$name" "$@" || not_ok "training $name"
    expect 0 '' "$name predicts" predict "$name" --data new.csv
    within "$name: as numpy does" 0 "$most" "$(apart "$name" 1)"
}

clear=--set\ protocol.aggregation=clear
# shellcheck disable=SC2086 # two words
{
    kind 3 concat 10000 $clear --set protocol.encoding=float32 --set model.fusion=concat --set 'model.head=[8]'
    kind 3 scalar 500000000 $clear --set protocol.encoding=scalar --set protocol.bits=4
    kind 3 lattice 500000000 $clear --set protocol.encoding=lattice --set protocol.bits=4
    kind 3 topk 999999999 $clear --set protocol.encoding=topk
    kind 3 tempered 10000 $clear --set protocol.encoding=float32 --set data.validate=0.3
    kind 1 alone 10000 $clear --set protocol.encoding=float32 --party '1:policy.min_parties=1'
}
expect 0 '^temperature' 'a run with rows to choose by has a temperature' "$vfl" models --state tempered/server show
kind 3 masked-gaussian 999999999 --set protocol.encoding=gaussian
kind 3 coded-pbm 999999999 --set protocol.aggregation=coded --set protocol.pbm.trials=16
# Between two points of the grid, which are 3e-5 apart, float32 and numpy may each take the other one.
kind 3 frozen 100000 --set protocol.encoding=fixed --party '*:model.train=frozen' --set model.task=regression

# Who is absent has a stand-in that the head has learned, and scores are not those without another one.
for fusion in sum mean concat; do
    train 3 "without-$fusion" --set training.party_dropout=0.4 --set training.batch=20 --set "model.fusion=$fusion" \
        --set protocol.aggregation=clear --set protocol.encoding=float32 --set 'model.head=[8]' ||
        not_ok "training without-$fusion"
    expect 0 '' "$fusion, without two" predict "without-$fusion" --data new.csv --absent 1,3
    within "$fusion: as numpy does with stand-ins" 0 10000 "$(apart "without-$fusion" 1 1,3)"
    within "$fusion: not as it does without" 10001 999999999 "$(apart "without-$fusion" 1 2)"
done

# fedvs has dealt its training and test rows in shares; others are predicted in masked sums.
polynomial='--set protocol.fedvs.x_max=3 --set model.embedding=5 --set training.batch=90 --set training.optimizer=sgd'
# shellcheck disable=SC2086 # words
{
    kind 3 fedvs 10000 --set protocol.aggregation=fedvs $polynomial --party '*:model.polynomial.degree=2'
    kind 4 fedvs-mean 10000 --set protocol.aggregation=fedvs --set model.fusion=mean $polynomial \
        --party '*:model.polynomial.degree=1'
    kind 3 polynomial 10000 --set protocol.encoding=fixed $polynomial --party '*:model.polynomial.degree=2'
}
"$VFL_BIN/vfl-party" --ledger -c fedvs/party-2/config.yaml >said
grep -q 'predict *39' said && ok 'rows of fedvs are charged, too' || not_ok 'the ledger says otherwise'
expect 2 'without noise' 'and nobody is left out' predict fedvs --data new.csv --absent 1

# --- drop: party 4 was not in the last round, has its package all the same, and is asked like all others ---
# shellcheck disable=SC2086 # two words
train 4 late $clear --set protocol.encoding=float32 --set protocol.straggler=drop --set protocol.deadline_ms=1500 \
    --set protocol.patience_ms=4000 --set training.epochs=2 --set training.batch=50 \
    --party 4:inject.delay=const:3600 || not_ok 'training late'
said late/server/log.txt 'going on without p4: no answer in phase round' && ok 'it was done without' ||
    not_ok 'it was in time'
same 3 "$(sed -n 's/.*: generation [0-9]*: \([0-9]*\) parties$/\1/p' late/server/log.txt | tail -n 1)" 'at the end, too'
sed -i '/inject.delay/d' late/plan.txt # the trial's own: from now on it is in time
expect 0 '' 'late predicts with all' predict late --data new.csv
within 'as numpy does, by the package of the one that was left out, too' 0 10000 "$(apart late 1)"

# --- images ---
python3 - <<'PY'
import random, struct
random.seed(4)
for name, n in (("train", 120), ("new", 30)):
    with open(name + ".idx", "wb") as f:
        f.write(struct.pack(">IIII", 0x803, n, 6, 4) + bytes(random.randrange(256) for _ in range(24 * n)))
    with open(name + "-labels.idx", "wb") as f:
        f.write(struct.pack(">II", 0x801, n) + bytes(random.randrange(3) for _ in range(n)))
PY
"$vfl" cluster --idx-train train.idx,train-labels.idx --columns grid:2x2 --set training.epochs=1 --seed 5 --quiet \
    --set training.batch=30 --set protocol.encoding=float32 --set protocol.aggregation=clear --out images ||
    not_ok 'training on images'
expect 0 '' 'images are predicted' predict images --data new.idx
within 'as numpy does' 0 10000 "$(apart images 1)"
same 'id,score_0,score_1,score_2' "$(head -n 1 images/predictions/1/scores.csv)" 'a score for each class'
same 30 "$(tail -n +2 images/predictions/1/scores.csv | wc -l)" 'of each image'
expect 0 '' 'with labels beside them' predict images --data new.idx,new-labels.idx
same "$(cat images/predictions/1/scores.csv)" "$(cat images/predictions/2/scores.csv)" 'the same'
expect 2 '' 'a table is no image' predict images --data new.csv
closing
