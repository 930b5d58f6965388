#!/bin/sh
# test_scored.sh -- what vfl report says of a run's scores, row by row, beside numpy.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

"$vfl" cluster --parties 3 --set training.epochs=3 --seed 4 --quiet --out run --scores scores.csv ||
    not_ok 'a run with scores'
"$vfl" report --scores scores.csv --plots plots >report.txt || not_ok 'a report'

# The one for which numpy is installed, whichever comes first in PATH.
/usr/bin/python3 - scores.csv report.txt plots run/summary.json >said <<'PY' && ok 'as numpy finds' || not_ok 'others'
import csv, json, sys
import numpy as np

rows = list(csv.DictReader(open(sys.argv[1])))
text = open(sys.argv[2]).read()
said = {line.split()[0]: float(line.split()[1]) for line in text.split("\n\n")[0].splitlines()}
p = np.array([float(r["score_1"]) for r in rows], dtype=np.float32)
y = np.array([int(r["label"]) for r in rows])
auc = np.mean([(a > b) + (a == b) / 2 for a in p[y == 1] for b in p[y == 0]])
bins = np.minimum((p.astype(float) * 10).astype(int), 9)
ece = sum(abs(p[bins == b].sum(dtype=float) - y[bins == b].sum()) for b in range(10)) / len(p)
test = json.load(open(sys.argv[4]))["test"]
brier = np.mean(2 * (p.astype(float) - y) ** 2)
want = {"rows": len(p), "auc": auc, "accuracy": np.mean((p > 0.5) == y), "ece": ece, "brier": brier}
want.update({name: test[name] for name in ("auprc", "f1", "loss")})
for name, value in want.items():
    assert abs(said[name] - value) < 1e-3, (name, said[name], value)
read = lambda name: [[float(x) for x in r[1:]] for r in list(csv.reader(open(sys.argv[3] + "/" + name)))[1:]]
roc = read("roc.csv")
area = sum((b[1] - a[1]) * (a[2] + b[2]) / 2 for a, b in zip(roc, roc[1:]))
assert abs(area - auc) < 1e-6, (area, auc)
pr = read("pr.csv")
assert abs(sum((b[1] - a[1]) * b[2] for a, b in zip([[0, 0, 1]] + pr, pr)) - test["auprc"]) < 1e-6
assert sum(r[1] for r in read("calibration.csv")) == len(p)
table = csv.DictReader(open(sys.argv[3] + "/confusion.csv"))
counts = {(int(r["label"]), int(r["predicted"])): int(r["rows"]) for r in table}
assert all(counts[a, b] == np.sum((y == a) & ((p > 0.5) == b)) for a in (0, 1) for b in (0, 1)), counts
PY
same 600 "$(stat -c %a plots/roc.csv)" 'thresholds are scores of persons: for their owner alone'
if command -v gnuplot >/dev/null; then
    grep -q '<svg' plots/roc.svg plots/pr.svg plots/calibration.svg && ok 'curves are drawn' || not_ok 'no curves'
fi

# Several classes, an empty row, values.
printf 'id,label,score_0,score_1,score_2\na,0,0.5,0.25,0.25\nb,1,0.1,0.8,0.1\nc,2,0.3,0.4,0.3\nd,2,,,\n' >three.csv
"$vfl" report --scores three.csv --plots three >said || not_ok 'three classes'
grep -q '^rows  *3 (1 without scores left out)' said && grep -q '^2  *0  *1  *0$' said && ok 'three classes' ||
    not_ok 'other counts of three classes'
same '0 1 2' "$(cut -d, -f1 three/roc.csv | sed 1d | sort -u | tr '\n' ' ' | sed 's/ $//')" 'a curve for each class'
printf 'id,label,score\na,1,1.5\nb,-2,-2.5\n' >values.csv
"$vfl" report --scores values.csv >said || not_ok 'values'
grep -q '^mae  *0.5000' said && ok 'values have errors' || not_ok 'no errors of values'

expect 2 'values have no curves' 'and no curves' "$vfl" report --scores values.csv --plots none
printf 'id,score_0,score_1\na,0.5,0.5\n' >unlabelled.csv
expect 2 'are not id,label,score' 'predictions have no labels' "$vfl" report --scores unlabelled.csv
printf 'id,label,score_0,score_1\na,0,0.5,0.6\n' >sum.csv
expect 2 'sum.csv:2: its probabilities do not add up to 1' 'no probabilities' "$vfl" report --scores sum.csv
printf 'id,label,score_0,score_1\na,2,0.5,0.5\n' >class.csv
expect 2 'class.csv:2: its label is none' 'another class' "$vfl" report --scores class.csv
expect 2 'goes with --plots' 'with a folder' "$vfl" report --scores scores.csv run
closing
