#!/bin/sh
# test_heads.sh -- heads of listed layers, the largest of the parties' coordinates, and zeros for who is absent,
# between real daemons.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv

scored() { # RUN LEAST: the test AUC, in thousandths
    within "$1: a test AUC above $2" "$2" 1000 "$(python3 -c '
import json, sys; print(int(1000 * json.load(open(sys.argv[1] + "/summary.json"))["test"]["auc"]))' "$1")"
}

clear='--set protocol.aggregation=clear --set protocol.encoding=float32'
norm='--set model.head_activation=none'

# --- batch normalisation in the head, under masks and noise ---
# shellcheck disable=SC2086 # words
train 3 masked $norm --set 'model.head=[16, batchnorm, relu, {groupnorm: {groups: 2}}]' --set training.epochs=4 ||
    not_ok 'training masked'
scored masked 950
"$vfl" models --state masked/server show >said
grep -q '^layers .*16 -> 16 (dense) -> 16 (batch_norm) -> 16 (group_norm) -> 2 (dense)' said &&
    ok 'the head is what was listed' || not_ok "the head is $(grep ^layers said)"

# Predictions go by running moments: numpy has them from the package.
# shellcheck disable=SC2086 # words
train 3 norm $clear $norm --set 'model.head=[8, batchnorm, relu, {groupnorm: {groups: 2}}, tanh]' \
    --set protocol.local_iterations=2 || not_ok 'training norm'
expect 0 '' 'norm predicts' predict norm --data new.csv
within 'norm: as numpy does' 0 10000 "$(apart norm 1)"

# A head is begun with, and its moments with it.
head=$(ls "$PWD"/norm/server/models/*/model.safetensors)
# shellcheck disable=SC2086 # words
train 3 loaded $clear $norm --set 'model.head=[8, batchnorm, relu, {groupnorm: {groups: 2}}, tanh]' \
    --set model.load="$head" --set training.learning_rate=1e-9 --set training.optimizer=sgd \
    --set training.epochs=0.1 || not_ok 'training loaded'
cat >moments.py <<'PY'
import glob, sys
sys.path.insert(0, sys.argv[1])
from predict import read_package
was, now = (read_package(glob.glob(d + "/server/models/*/model.safetensors")[0])[1] for d in ("norm", "loaded"))
same = all(abs(was[k] - now[k]).max() < 1e-6 for k in was if "running" not in k)
moved = abs(was["layer.1.running_mean"] - now["layer.1.running_mean"]).max()
print(same, 0 < moved < 0.5)
PY
same 'True True' "$(/usr/bin/python3 moments.py "$root/tests/golden")" 'weights are what was loaded, and moments go on'

# --- the largest ---
# shellcheck disable=SC2086 # words
{
    train 4 most $clear $norm --set model.fusion=max --set 'model.head=[batchnorm]' --set training.epochs=4 ||
        not_ok 'training most'
    train 3 stood $clear --set model.fusion=max --set training.party_dropout=0.4 --set training.batch=20 ||
        not_ok 'training stood'
}
scored most 950
expect 0 '' 'max predicts' predict most --data new.csv
within 'max: as numpy does' 0 10000 "$(apart most 1)"
expect 0 '' 'max predicts without two' predict most --data new.csv --absent 1,3
within 'max: of the others alone' 0 10000 "$(apart most 2 1,3)"
expect 0 '' 'max predicts with stand-ins' predict stood --data new.csv --absent 2
within 'max: as numpy does with stand-ins' 0 10000 "$(apart stood 1 2)"

# --- concat, and party 3 late in every round ---
late='--set protocol.straggler=drop --set protocol.deadline_ms=60 --set training.batch=100'
late="$late --party 3:inject.delay=const:0.2"
# shellcheck disable=SC2086 # words
{
    train 3 zeros $clear --set model.fusion=concat --set protocol.absent=zero $late || not_ok 'training zeros'
    expect 2 'protocol.straggler=drop: with concat .* or protocol.absent zero' 'concat under drop says what is absent' \
        train 3 no-1 $clear --set model.fusion=concat $late
}
within 'party 3 is in fewer sums than there are' 1 100 "$(python3 -c '
import json; print(json.load(open("zeros/summary.json"))["degraded"]["missing_uploads"])')"

# --- what is refused, before anything runs ---
expect 2 'item 1, conv2d: it takes an image or a series, and 16 values come to it' 'an image in a head' \
    train 3 no-2 --set 'model.head=[{conv2d: {out: 2, kernel: 3}}]'
expect 2 'item 2, groupnorm: .* of which 3 groups of two or more can be made, and 8 values come to it' 'groups' \
    train 3 no-3 --set 'model.head=[8, {groupnorm: {groups: 3}}]'
expect 2 'model.head=.*a party that computes the loss itself would have batchnorm tie' 'refreshed' \
    train 3 no-4 --set 'model.head=[8, batchnorm]' --set protocol.local_view=refreshed
closing
