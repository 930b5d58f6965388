#!/bin/sh
# test_multilabel.sh -- rows with several labels: which of a digit's seven segments are lit, learned by four parties,
# scored, kept and predicted; and rows to choose by that are kept back by person, or by order.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# The labels are derived from the digits' own: a seven-segment display shows each digit by some of its segments, a to g.
# One in 20 is not known.  The person is made up: 40 of them, ids 40 apart.
python3 - "$root/tests/data/digits.csv.gz" <<'PY'
import csv, gzip, random, sys
random.seed(1)
lit = ["abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg"]
rows = list(csv.reader(gzip.open(sys.argv[1], "rt")))
with open("segments.csv", "w", newline="") as f, open("new.csv", "w", newline="") as g:
    out, new = csv.writer(f), csv.writer(g)
    head = rows[0][:-1]
    out.writerow(head + list("abcdefg") + ["who"])
    new.writerow(head + ["who"])
    for r in rows[1:]:
        labels = [int(s in lit[int(r[-1])]) for s in "abcdefg"]
        out.writerow(r[:-1] + [l if random.random() > 0.05 else "" for l in labels] + ["w%d" % (int(r[0]) % 40)])
        new.writerow(r[:-1] + ["w%d" % (int(r[0]) % 40)])
PY
seven=a+b+c+d+e+f+g

run() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --quiet --seed 5 --train segments.csv --label $seven --group who --out "$out" \
        --scores "$out.csv" --set training.optimizer=adam --set training.learning_rate=0.02 "$@"
}
field() { # OUT PYTHON-EXPRESSION OF s
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1/summary.json" "$2"
}

# The scores of a table of labels and probabilities, each by its definition.
cat >scores.py <<'PY'
import csv, json, math, sys
name, k = sys.argv[1], 7
rows = list(csv.reader(open(name + ".csv")))
assert rows[0] == ["id"] + ["label_%d" % j for j in range(k)] + ["score_%d" % j for j in range(k)], rows[0]
pair = [[(float(r[1 + j]), float(r[1 + k + j])) for r in rows[1:] if r[1 + j]] for j in range(k)]
def auc(of):
    ones, zeros = [p for y, p in of if y], [p for y, p in of if not y]
    return sum((p > q) + (p == q) / 2 for p in ones for q in zeros) / len(ones) / len(zeros)
def auprc(of):
    ones = [p for y, p in of if y]
    return sum(sum(y for y, q in of if q >= p) / sum(q >= p for _, q in of) for p in ones) / len(ones)
def f1(of):
    both, said, ones = sum(y and p > 0.5 for y, p in of), sum(p > 0.5 for _, p in of), sum(y for y, _ in of)
    return 2 * both / (said + ones)
everything = sum(pair, [])
mean = lambda f: sum(map(f, pair)) / k
want = {"auc": mean(auc), "auprc": mean(auprc), "f1": mean(f1), "auc_micro": auc(everything),
        "auprc_micro": auprc(everything), "f1_micro": f1(everything),
        "accuracy": sum((p > 0.5) == y for y, p in everything) / len(everything),
        "loss": -sum(math.log(p if y else 1 - p) for y, p in everything) / k / (len(rows) - 1)}
got = json.load(open(name + "/summary.json"))["test"]
assert sorted(got) == sorted(want), (got, want)
for m in want:
    assert abs(got[m] - want[m]) < 1e-4 * max(1, abs(want[m])), (m, got[m], want[m])
print("agrees", len(rows) - 1)
PY

expect 0 '' 'under masks and noise' run masked --set protocol.pbm.trials=64 --set training.epochs=8 \
    --set training.class_weights=balanced
expect 0 '^agrees' 'its scores are those of the table' python3 scores.py masked
same True "$(field masked 's["test"]["auprc"] > 0.9 and s["test"]["auc_micro"] > 0.9')" 'and are those of a model'
expect 0 'test auprc is 0\.9' 'the verdict is by the mean average precision' cat masked/server/log.txt
expect 0 'label *6 *"*g' 'the package names its labels' "$vfl" models --state masked/server show
expect 0 '' 'in clear' run clear --set protocol.aggregation=clear --set protocol.encoding=float32 \
    --set training.epochs=4 --set model.head='[16]'
expect 0 '^agrees' 'its scores, too' python3 scores.py clear

# Rows without labels are predicted, as the run has scored them; a row's probabilities sum to whatever they do.
expect 0 'score_6 *"g"' 'new rows' "$vfl" predict --run clear --data new.csv --out new.scores
expect 0 '' 'and labels in the table change nothing' "$vfl" predict --run clear --data segments.csv --out old.scores
same "$(cksum <new.scores)" "$(cksum <old.scores)" 'the same answers'
python3 - >said.same <<'PY'
import csv
new = {r["id"]: r for r in csv.DictReader(open("new.scores"))}
old = list(csv.DictReader(open("clear.csv")))
far = max(abs(float(r["score_%d" % j]) - float(new[r["id"]]["score_%d" % j])) for r in old for j in range(7))
sums = [sum(float(r["score_%d" % j]) for j in range(7)) for r in old]
print(far < 1e-5, min(sums) < 3 and max(sums) > 5, len(new))
PY
same 'True True 1797' "$(cat said.same)" 'as scored at the end of the run'

# What it does not go with.
no() { # WHY WHAT OPTIONS...
    why=$1 what=$2
    shift 2
    expect 2 "$why" "$what" "$vfl" cluster --quiet --seed 5 --train segments.csv --group who --out refused "$@"
    rm -rf refused
}
no 'needs local_view stale' 'labels at the parties' --label $seven --set protocol.local_view=refreshed \
    --set protocol.local_iterations=2
no 'label-map: is for one label' 'a map' --label $seven --label-map evenodd
no 'labels.positive=1: multilabel takes' 'a text for class 1' --label $seven --positive 1
no 'no column "z"' 'a label that is not there' --label a+b+z
no 'one of them twice: "a"' 'one label twice' --label a+b+a
no 'r2, mae and rmse are of regression' 'scores of values' --label $seven --set training.stop.metric=r2 \
    --set training.stop.value=0.5
no 'neither 0 nor 1 nor missing' 'a label that is a number' --label a+p5

# A person's rows are kept back together, by a hash of the person; everybody has the column.
back() { # GROUPS OUT: kept ids that are not, as that hash has it
    python3 - "$@" <<'PY'
import csv, hashlib, sys
u = lambda of: int.from_bytes(hashlib.sha256(b"vfl/validate/group/1\0" + of.encode()).digest()[:8], "little") / 2 ** 64
train = list(csv.DictReader(open(sys.argv[1] + "/data/labels-train.csv")))
kept = [r for r in train if u(r["who"]) < 0.2]
print(len(train) - len(kept), len(kept), len({r["who"] for r in kept}))
PY
}
expect 0 '' 'by person' run persons --set data.validate=0.2 --set data.validate_by=group --set training.epochs=2 \
    --set training.patience=2
read -r left kept people <<END
$(back persons)
END
expect 0 "$left training and .* $kept to choose by" 'the rows are those of whole persons' \
    "$VFL_BIN/vfl-server" -c persons/server/config.yaml -n --set model.task=multilabel --set labels.group=who \
    --set data.validate=0.2 --set data.validate_by=group
differ 0 "$people" 'and there are some'
same True "$(field persons '"auprc" in s["validate"] and s["best"]["metric"] == "auprc"')" 'they choose by AUPRC'
no 'validate_by: the server.s plan keeps training rows back by group, this side by id' 'another way at a party' \
    --label $seven --set data.validate=0.2 --set data.validate_by=group --party 2:data.validate_by=id
expect 2 'group needs labels.group' 'a server that knows of no group' "$vfl" cluster --quiet --parties 3 \
    --set data.validate=0.2 --set data.validate_by=group --out refused
rm -rf refused
expect 2 'group needs data.group' 'a party that knows of none' "$VFL_BIN/vfl-party" -c masked/party-1/config.yaml -n \
    --set data.validate=0.2 --set data.validate_by=group
expect 2 'validate_by=order: has a meaning only with data.validate' 'a way without a share' "$vfl" cluster --quiet \
    --parties 3 --set data.validate_by=order --out refused
rm -rf refused

# The last rows in the order of ids are kept back.
expect 0 '' 'by order' "$vfl" cluster --quiet --seed 5 --parties 3 --out ordered --set data.validate=0.25 \
    --set data.validate_by=order --set training.epochs=2 --set training.patience=2
rows=$(($(wc -l <ordered/data/labels-train.csv) - 1))
expect 0 "$((rows - rows / 4)) training and .* $((rows / 4)) to choose by" 'a quarter' \
    "$VFL_BIN/vfl-server" -c ordered/server/config.yaml -n --set data.validate=0.25 --set data.validate_by=order
# A party whose column puts other persons together has other rows, and the comparison of ids tells.
for set in train test; do
    awk -F, -v OFS=, 'NR > 1 { $NF = "w" $1 % 39 } { print }' persons/data/party-2-$set.csv >other-$set.csv
done
no 'rows do not match' 'a party with other persons' --label $seven --set data.validate=0.2 \
    --set data.validate_by=group --party "2:data.train=$PWD/other-train.csv" \
    --party "2:data.test=$PWD/other-test.csv"
closing
