#!/bin/sh
# test_scores.sh -- a run's test rows with their labels and scores: those that its summary is made of.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

run() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --seed 5 --set training.epochs=1 --quiet --scores "$out.csv" --out "$out" "$@"
}

# What is in OUT.csv against OUT's labels and summary: prints nothing when all is as it should be.
cat >agrees.py <<'PY'
import csv, json, sys
out = sys.argv[1]
rows = list(csv.reader(open(out + ".csv")))
test = json.load(open(out + "/summary.json"))["test"]
labels = dict(list(csv.reader(open(out + "/data/labels-test.csv")))[1:])
head, rows = rows[0], rows[1:]
k = len(head) - 2
assert head == ["id", "label"] + (["score"] if k == 1 else ["score_%d" % i for i in range(k)]), head
assert sorted(r[0] for r in rows) == sorted(labels), "other rows"
numbers = lambda text: float(sys.argv[2:].index(text)) if len(sys.argv) > 2 else float(text)
assert all(numbers(labels[r[0]]) == float(r[1]) for r in rows), "other labels"
if k == 1:
    loss = sum((float(r[2]) - float(r[1])) ** 2 for r in rows) / len(rows)
    assert abs(loss - test["loss"]) < 1e-4 * loss or abs(loss / 2 - test["loss"]) < 1e-4 * loss, (loss, test)
else:
    best = [max(range(k), key=lambda i: float(r[2 + i])) for r in rows]
    assert all(abs(sum(map(float, r[2:])) - 1) < 1e-5 for r in rows), "no probabilities"
    assert abs(sum(b == float(r[1]) for b, r in zip(best, rows)) / len(rows) - test["accuracy"]) < 1e-6, test
if k == 2:
    of = [[float(r[3]) for r in rows if r[1] == c] for c in "01"]
    auc = sum((p > n) + (p == n) / 2 for p in of[1] for n in of[0]) / len(of[0]) / len(of[1])
    assert abs(auc - test["auc"]) < 1e-6, (auc, test)
PY

expect 0 '' 'two classes' run two --parties 3
expect 0 '' 'labels, scores and the summary agree' python3 agrees.py two
same 600 "$(stat -c %a two.csv)" 'for its owner alone'
expect 0 '' 'a sigmoid' run sigmoid --parties 3 --set model.binary_loss=sigmoid
expect 0 '' 'agrees, too' python3 agrees.py sigmoid
expect 0 '' 'ten classes' run ten --data digits --parties 2
expect 0 '' 'agree, too' python3 agrees.py ten
expect 0 '' 'a value' run value --parties 3 --set model.task=regression --set training.learning_rate=0.001
expect 0 '' 'agrees, too' python3 agrees.py value
# Its rows are scored segment by segment.
expect 0 '' 'coded rows' run fedvs --parties 7 --set protocol.aggregation=fedvs --set training.batch=90 \
    --set protocol.fedvs.segments=2 --set protocol.fedvs.x_max=3 --set model.embedding=5 \
    --party '*:model.polynomial.degree=1'
expect 0 '' 'agree, too' python3 agrees.py fedvs
expect 0 '' 'sums released once' run once --parties 3 --set training.releases=once --party '*:model.train=frozen'
expect 0 '' 'agree, too' python3 agrees.py once

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR > 1 { $NF = $NF ? "sick" : "well" } { print }' >named.csv
expect 0 '' 'labels by name' run named --train named.csv --label label --positive sick --parties 3
expect 0 '' 'are the classes of their scores' python3 agrees.py named well sick

expect 6 'nowhere' 'where it cannot be written, no run begins' \
    "$vfl" cluster --parties 3 --set training.epochs=1 --quiet --scores nowhere/s.csv --out unwritten
expect 1 '' 'and nothing is released' test -e unwritten/server/models

expect 0 '^warning   .*far above that of guessing' 'a model that went astray is called one' \
    "$vfl" cluster --parties 2 --seed 5 --set protocol.aggregation=clear --set protocol.encoding=float32 \
    --set training.optimizer=sgd --set training.weight_decay=0 --set training.learning_rate=900 --out astray

closing
