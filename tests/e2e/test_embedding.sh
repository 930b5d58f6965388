#!/bin/sh
# test_embedding.sh -- a category of many levels, embedded: trained, kept, predicted, exported, and loaded by name.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# The one for which numpy is installed, whichever comes first in PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# shellcheck disable=SC2317 # called by expect
cluster() {
    timeout 600 "$vfl" cluster --quiet --seed 5 "$@"
}

# 300 places, each with a worth of its own, and a column that is missing in places; test.csv has places that are new.
python3 - <<'PY'
import csv, random
random.seed(3)
worth = {'place %03d' % i: random.gauss(0, 1.5) for i in range(300)}
def row(places):
    at, age, job = random.choice(places), random.gauss(0, 1), random.choice(['a', 'b', ''])
    y = worth.get(at, 0) + age + (job == 'a') + random.gauss(0, .3) > .3
    return ['%.3f' % age, at, job, '%.3f' % random.gauss(0, 1), 'yes' if y else 'no']
for name, n, places in (('train.csv', 3000, list(worth)), ('test.csv', 300, list(worth) + ['Atlantis', ''])):
    with open(name, 'w', newline='') as f:
        rows = [row(places) for _ in range(n)]
        csv.writer(f, lineterminator='\n').writerows([['age', 'place', 'job', 'x', 'y']] + rows)
PY

value() { # FILE KEY...
    python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2:]:
    v = v[k]
print(v)' "$@" 2>/dev/null
}

columns='age+place,job+x'
cat >schema.yaml <<'YAML'
statistics: fit
columns:
  - {name: "age", kind: number, missing: mean}
  - {name: "place", kind: category, encode: embedding}
  - {name: "job", kind: category, encode: embedding, width: 2, missing: own}
  - {name: "x", kind: number, missing: mean}
YAML

# --- one command ---
run() { # OUT ARGUMENTS...
    out=$1
    shift
    cluster --out "$out" --train train.csv --test test.csv --label y --positive yes --columns "$columns" \
        --schema schema.yaml "$@"
}
expect 0 '' 'a table with a category of 300 levels trains embedded, under masks' run masked
same completed "$(value masked/summary.json status)" 'to its end'
same yes "$(python3 -c 'import json
auc = json.load(open("masked/summary.json"))["test"]["auc"]
print("yes" if auc > 0.85 else auc)')" 'and has learned what places are worth'
"$vfl" models --state masked/party-1 show >shown
same 'layers 2 -> 10 -> 64 -> 16 (tables 300 x 9)' "$(grep '^layers' shown | xargs)" \
    'one number in, nine values for it: at least 2 x 300^(1/4)'
expect 0 '"place", kind: category, levels: .*"place 299".*encode: embedding, width: 9' \
    'the package has its levels' cat shown
"$vfl" models --state masked/party-2 show >shown
expect 0 'tables 3 x 2' 'a missing text of its own is a level, too' cat shown

# --- what is kept of it is enough ---
expect 0 '' 'one command predicts rows with places that are new' \
    timeout 600 "$vfl" predict --quiet --run masked --data test.csv --out scores.csv
same 300 "$(grep -c ',[01]' scores.csv)" 'every row'
expect 0 '' 'in clear' run clear --set protocol.aggregation=clear --set protocol.encoding=float32
expect 0 '' 'and by a model in clear' timeout 600 "$vfl" predict --quiet --run clear --data test.csv --out clear.csv
package() { # SIDE
    echo clear/"$1"/models/*/model.safetensors
}
# shellcheck disable=SC2046 # one package each
"$python" "$root/tests/golden/predict.py" $(package server) numpy.csv $(package party-1) clear/data/party-1-test.csv \
    $(package party-2) clear/data/party-2-test.csv
for i in 1 2; do
    "$vfl" models --state "clear/party-$i" export --onnx "bottom-$i.onnx" >/dev/null
done
"$vfl" models --state clear/server export --onnx head.onnx >/dev/null
# shellcheck disable=SC2046
"$python" "$root/tests/lib/onnx_run.py" scores head.onnx onnx.csv bottom-1.onnx $(package party-1) \
    clear/data/party-1-test.csv bottom-2.onnx $(package party-2) clear/data/party-2-test.csv
"$python" "$root/tests/lib/onnx_run.py" check head.onnx bottom-1.onnx bottom-2.onnx >/dev/null
same yes "$(python3 - <<'PY'
import csv
rows = lambda name: [[float(v) for v in r[1:]] for r in list(csv.reader(open(name)))[1:]]
daemons, numpy, onnx = rows('clear.csv'), rows('numpy.csv'), rows('onnx.csv')
worst = max(abs(a - b) for other in (numpy, onnx) for r, s in zip(daemons, other) for a, b in zip(r, s))
print('yes' if len(daemons) == len(numpy) == len(onnx) == 300 and worst < 1e-5 else worst)
PY
)" 'which numpy and the exported graphs say, too'

# --- weights by name ---
"$vfl" models --state clear/party-1 show | sed '1,/^schema$/d; s/^statistics: fit/statistics: given/' >given.yaml
cp clear/party-1/models/*/model.safetensors own.safetensors
expect 0 '' 'a bottom starts from a package of the same levels' \
    run loaded --set training.epochs=1 --party "1:model.load=$PWD/own.safetensors" \
    --party "1:data.schema=$PWD/given.yaml"
first=$(basename "$(dirname clear/party-1/models/*/model.safetensors)")
second=$(basename "$(dirname loaded/party-1/models/*/model.safetensors)")
cp -r "loaded/party-1/models/$second" clear/party-1/models/
expect 0 '^columns *the same' 'and is compared with it' \
    "$vfl" models --state clear/party-1 compare "$first" "$second"
rm -r "clear/party-1/models/$second"
sed 's/"place 000", "place 001"/"place 001", "place 000"/' given.yaml >swapped.yaml
expect 2 'it embeds other columns or levels' 'and is for no other levels, or an order of them' \
    "$VFL_BIN/vfl-party" -n -c clear/party-1/config.yaml --set "model.load=$PWD/own.safetensors" \
    --set "data.schema=$PWD/swapped.yaml"

expect 0 '' 'what columns contribute is asked for' \
    timeout 600 "$vfl" contribution --run clear --data test.csv --features 1 --permutations 1 --out c.csv
same yes "$(awk '$1 == "p1:2" && $2 > 0.05 { print "yes" }' "$dir/said")" 'and a level is mixed up as one number'

# --- local steps, and noise on each of them ---
expect 0 '' 'local steps' run steps --set protocol.local_iterations=3
expect 0 '' 'noise on every step' run noisy --set training.epochs=2 --party '1:model.train=dp' \
    --party '1:model.noise=4' --party '1:data.scale=none' --party "1:data.schema=$PWD/given.yaml"
expect 0 'train *dp, noise 4' 'is what its package says' "$vfl" models --state noisy/party-1 show

# --- trained on with levels swapped: as many, of another order ---
cp given.yaml mine.yaml
on() { # EPOCHS
    run on --set training.epochs="$1" --set protocol.patience_ms=2000 --party "1:data.schema=$PWD/mine.yaml"
}
expect 0 '' 'a run by levels that a file says' on 1
expect 0 '' 'is trained on' on 2
cp swapped.yaml mine.yaml
expect 6 "party-1: training.from: not the columns of this party's model" 'and not with two levels swapped' on 3
expect 0 'it embeds other columns or levels' 'which its own log says' grep 'it embeds' on/party-1/log.txt
expect 1 '' 'and nobody else hears' grep -r 'embeds other' on/server/log.txt on/party-2/log.txt
expect 1 '' 'nor which they are' grep 'place 00[01]' on/party-1/log.txt

# --- what is refused, before anything is said to others ---
# shellcheck disable=SC2317 # called by expect
party() {
    "$VFL_BIN/vfl-party" -n -c clear/party-1/config.yaml "$@"
}
expect 2 'encode: embedding, of a polynomial bottom' 'a polynomial bottom has no tables, and FedVS shares no levels' \
    party --set model.polynomial.degree=2 --set "data.schema=$PWD/given.yaml"
printf 'name,mean,sd\nage,0,1\nplace,1,2\n' >scale.csv
expect 2 'needs mean 0 and sd 1' 'a scale of levels' party --set "data.scale=$PWD/scale.csv"

# --- a scale of others, by its owner's word: levels are spared in what fit would make, too ---
python3 - clear/data/party-1-train.csv <<'PY'
import csv, struct, sys
f32 = lambda x: struct.unpack('f', struct.pack('f', x))[0]
ages = [f32(float(r['age'])) for r in csv.DictReader(open(sys.argv[1]))]
mean = sum(ages) / len(ages)
sd = (sum((x - mean) ** 2 for x in ages) / len(ages)) ** 0.5
for name, m, s in ('fitted', mean, sd), ('other', mean + 0.01, sd):
    print('name,mean,sd\nage,%.9g,%.9g\nplace,0,1' % (f32(m), f32(s)), file=open(name + '.csv', 'w'))
print('name,mean,sd\nplace,0,1', file=open('levels.csv', 'w'))
PY
says_given() { # SCALE ARGUMENTS...
    given=$1
    shift
    party --set "data.scale=$PWD/$given.csv" --set data.scale_given=true "$@"
}
expect 2 'holds just what fit makes' "these records' own figures are no others', where a column is embedded" \
    says_given fitted
expect 0 '^# 3000 training and .* rows of 2 columns' 'other figures may be' says_given other
cut -d, -f 1,3 clear/data/party-1-train.csv >places.csv
printf 'statistics: fit\ncolumns:\n  - {name: "place", kind: category, encode: embedding}\n' >places.yaml
expect 0 '^# 3000 training and 0 test rows of 1 columns' 'a scale of levels alone says nothing of anybody' \
    says_given levels --set data.train=places.csv --set data.test= --set "data.schema=$PWD/places.yaml"
closing
