#!/bin/sh
# test_validate.sh -- rows kept back to choose by, and the best model on every side: bit for bit what a run leaves that
# ended there, with its packages, its scores and its predictions, whoever was killed meanwhile.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# The third evaluation or so is the best, and three more are not better.
learn='--set training.optimizer=adam --set training.schedule=constant'
learn="$learn --set training.learning_rate=0.2 --set training.best_by=loss"

run() { # OUT OPTIONS...
    out=$1
    shift
    # shellcheck disable=SC2086 # words
    "$vfl" cluster --seed 5 --parties 3 --set data.validate=0.2 --quiet --scores "$out.csv" --out "$out" "$@"
}

field() { # OUT PYTHON-EXPRESSION OF s
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1/summary.json" "$2"
}

models() { # OUT
    field "$1" '[s["model_sha256"]["head"]] + s["model_sha256"]["parties"]'
}

# shellcheck disable=SC2086 # words
patient() { # OUT OPTIONS...
    run "$@" $learn --set training.patience=3 --set training.epochs=60
}

# Ends where the other had its best evaluation: is that what the other has left?
ends_there() { # BEST OPTIONS...
    best=$1
    shift
    epoch=$(field "$best" 's["best_epoch"]')
    # shellcheck disable=SC2086 # words
    expect 0 '' "$best: a run that ends after epoch $epoch" run "$best-ended" --set "training.epochs=$epoch" \
        ${learn%--set training.best_by=loss} "$@"
    same "$(models "$best-ended")" "$(models "$best")" 'leaves the same models'
    same "$(field "$best-ended" '[s[k] for k in ("train", "validate", "test")]')" \
        "$(field "$best" '[s[k] for k in ("train", "validate", "test")]')" 'and has the same scores'
    cmp "$best-ended.csv" "$best.csv" >"$dir/said" 2>&1 && ok 'of each row' || not_ok 'of each row'
}

expect 0 '' 'patience ends a run' patient masked
same "['completed', 3.0]" "$(field masked '[s["status"], s["epochs"] - s["best_epoch"]]')" \
    'three evaluations after its best one'
ends_there masked
differ "$(field masked 's["epochs"]')" "$(field masked 's["best_epoch"]')" 'which was not its last'
epoch=$(field masked '"epochs %g " % s["best_epoch"]')
for side in server party-1 party-3; do
    expect 0 "$epoch" "the package of $side says which epoch it is of" "$vfl" models --state "masked/$side" list
done
expect 0 'validate.loss=' 'and the score that it was chosen by' "$vfl" models --state masked/server show

# Rows that were kept back are neither trained on nor tested by.
python3 - masked >said.rows <<'PY'
import csv, hashlib, sys
rows = lambda f: [r[0] for r in list(csv.reader(open(f)))[1:]]
back = lambda i: int.from_bytes(hashlib.sha256(b"vfl/validate/1\0" + i.encode()).digest()[:8], "little") < 0.2 * 2 ** 64
train, test = rows(sys.argv[1] + "/data/labels-train.csv"), rows(sys.argv[1] + "/data/labels-test.csv")
kept = sum(map(back, train))
print(sorted(rows(sys.argv[1] + ".csv")) == sorted(test), kept, len(train) - kept, len(test))
PY
read -r same kept left tested <said.rows
same True "$same" 'test rows alone have scores'
expect 0 "$left training and $tested test rows, $kept to choose by" '-n counts them by the same hash' \
    "$VFL_BIN/vfl-server" -c masked/server/config.yaml -n --set data.validate=0.2
"$VFL_BIN/vfl-server" -c masked/server/config.yaml -n --set data.validate=0.2 --set training.patience=3 >plan.yaml
expect 0 "policy accepts it" 'a party prices such a plan' \
    "$VFL_BIN/vfl-party" -c masked/party-1/config.yaml -n --plan plan.yaml --set data.validate=0.2
expect 2 'keeps 0.2 of the training rows back, this side.* 0.1' 'and no other share of them' \
    "$VFL_BIN/vfl-party" -c masked/party-1/config.yaml -n --plan plan.yaml --set data.validate=0.1

expect 0 '' 'under shares' patient coded --set protocol.aggregation=coded
ends_there coded --set protocol.aggregation=coded
expect 0 '' 'in clear' patient clear --set protocol.aggregation=clear --set protocol.encoding=float32
ends_there clear --set protocol.aggregation=clear --set protocol.encoding=float32
expect 0 '' 'its packages predict' \
    "$vfl" predict --run clear --data "$root/tests/data/breast_cancer.csv.gz" --out all.csv
cat >agrees.awk <<'AWK'
NR == FNR { if (FNR > 1) p[$1] = $3; next }
FNR > 1 { d = p[$1] - $4; n++; if (d < -1e-5 || d > 1e-5) bad = 1 }
END { print bad || !n ? "no" : "yes" }
AWK
same yes "$(awk -F, -f agrees.awk all.csv clear.csv)" 'what the best evaluation has scored'

# Killed in its midst, again and again: an evaluation after every round is what chaos.py goes by.
expect 0 '' 'an undisturbed run' "$vfl" cluster --quiet --out long --parties 3 --seed 7 --set data.validate=0.2 \
    --set training.patience=60 --set training.epochs=100 --set training.evaluate_every=0.2 \
    --set protocol.patience_ms=20000 --set checkpoint_rounds=16 --party '*:checkpoint_rounds=16'
expect 0 '^kills 8$' '8 kills, and the models, scores and ledgers of that run' \
    python3 "$root/tests/e2e/chaos.py" long killed 8 "${CHAOS_SEED:-11}"

# Of text and gaps: what a column is is found out from rows that are trained on.  The same comes of a training file
# without the rows kept back, as test rows, though these have texts, gaps and numbers that no other row has.
python3 - <<'PY'
import csv, hashlib, random
random.seed(3)
back = lambda i: int.from_bytes(hashlib.sha256(b"vfl/validate/1\0" + i.encode()).digest()[:8], "little") < 0.2 * 2 ** 64
def row(i, odd):
    age, job, hours = random.randint(17, 90), random.choice(["a", "b", "c"]), random.randint(1, 99)
    y = int(age / 60 + (job == "a") + random.gauss(0, .2) > 1.2)
    if odd:
        return [i, random.choice(["", 900 + age]), random.choice(["x", "y", "", job]), hours, "v", y]
    return [i, age, job, random.choice([hours] * 9 + [""]), random.choice(["u", "v", "w"]), y]
train = [row("p%d" % i, back("p%d" % i)) for i in range(400)]
test = [row("t%d" % i, False) for i in range(60)]
for name, rows in ("all", train), ("left", [r for r in train if not back(r[0])]), ("test", test), (
        "rest", test + [r for r in train if back(r[0])]):
    with open(name + ".csv", "w", newline="") as f:
        csv.writer(f).writerows([["id", "age", "job", "hours", "home", "y"]] + rows)
PY
raw() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --quiet --seed 5 --id id --label y --columns age+job,hours+home --set training.batch=40 \
        --set training.epochs=2 --set training.learning_rate=0.1 --out "$out" "$@"
}
expect 0 '' 'text and gaps' raw raw --train all.csv --test test.csv --set data.validate=0.2
expect 0 '' 'and without the rows that were kept back' raw left --train left.csv --test rest.csv
same "$(models left)" "$(models raw)" 'make the same models'
expect 0 'texts that no training row has' 'what only rows kept back have is counted' cat raw/party-1/log.txt
same '' "$("$vfl" models --state raw/party-1 show | grep -E '"(x|y)"')" 'and is in no package'

# By time: the same comes of a training file without the latest rows, of equal times without those of the last ids.  All
# sides have the column, and none makes a feature of it.
python3 - <<'PY'
import csv, random
random.seed(9)
read = lambda f: list(csv.reader(open(f)))
head, *rows = read("all.csv")
tested = read("test.csv")[1:]
day = {r[0]: random.randrange(56) for r in rows + tested} # of two months
clock = lambda: random.choice(["", " 00:00", "T01:30+01:30", " 00:00:00.0Z"])
when = {i: "2023-%02d-%02d%s" % (1 + d // 28, 1 + d % 28, clock()) for i, d in day.items()}
order = sorted(rows, key=lambda r: (day[r[0]], len(r[0]), r[0]))
kept = {r[0] for r in order[-int(0.2 * len(rows)):]}
assert day[order[-81][0]] == day[order[-80][0]], "the last day kept back is not whole"
left = [r for r in rows if r[0] not in kept]
for name, some in ("dated", rows), ("dated-left", left), ("dated-test", tested), (
        "dated-rest", tested + [r for r in rows if r[0] in kept]):
    with open(name + ".csv", "w", newline="") as f:
        csv.writer(f).writerows([head + ["seen"]] + [r + [when[r[0]]] for r in some])
PY
dated() { # OUT OPTIONS...
    out=$1
    shift
    raw "$out" --time seen --train dated.csv --test dated-test.csv --set data.validate=0.2 \
        --set data.validate_by=time "$@"
}
asks() { # server|party-I OPTIONS...
    side=$1
    shift
    "$VFL_BIN/vfl-${side%-*}" -c "late/$side/config.yaml" -n --set data.validate=0.2 --set data.validate_by=time "$@"
}
expect 0 '' 'by time' dated late
expect 0 '' 'and without the latest rows' raw early --time seen --train dated-left.csv --test dated-rest.csv
same "$(models early)" "$(models late)" 'make the same models'
same '' "$("$vfl" models --state late/party-1 show | grep seen)" 'which know of no time'
expect 0 '320 training and 60 test rows, 80 to choose by' 'it is the share of all' asks server --set labels.time=seen
sed '2,$s/T01:30+01:30/ 00:00/' late/data/party-2-train.csv >spelled.csv
expect 0 '' 'a party that spells times otherwise keeps the same rows back' dated spelled \
    --party "2:data.train=$PWD/spelled.csv"
same "$(models late)" "$(models spelled)" 'for the same models'
sed '2,$s/2023-01/2023-03/' late/data/party-2-train.csv >moved.csv
expect 2 'the ids of p2 are not those of' 'one with other times has other rows' dated moved \
    --party "2:data.train=$PWD/moved.csv"
sed '7s/[^,]*$//' late/data/party-2-train.csv >gap.csv
expect 2 'gap.csv:7: column 4 "seen": not a time' 'a time that is missing is one line' \
    asks party-2 --set data.time=seen --set "data.train=$PWD/gap.csv"
expect 2 'gap.csv:7' 'before a word is said to anybody' "$VFL_BIN/vfl-party" -c late/party-2/config.yaml \
    --set data.validate=0.2 --set data.validate_by=time --set data.time=seen --set "data.train=$PWD/gap.csv"
expect 2 'labels-train.csv:1: no column "nowhen"' 'and so is a column' asks server --set labels.time=nowhen
expect 2 'time needs labels.time' 'a server that knows of no time' asks server
expect 2 'time needs data.time' 'a party that knows of none' asks party-2
expect 2 'keeps training rows back by time, this side by id' 'another way at a party' \
    dated other-way --party 2:data.validate_by=id
expect 0 '' 'new rows have the column, too' "$vfl" predict --run late --data dated-rest.csv --out late.scores

# Images have no ids: those of the test file are other rows than those of the training file.
python3 - <<'PY'
import random, struct
random.seed(4)
for name, n in (("train", 120), ("test", 30)):
    with open(name + ".idx", "wb") as f:
        f.write(struct.pack(">IIII", 0x803, n, 6, 4) + bytes(random.randrange(256) for _ in range(24 * n)))
    with open(name + "-labels.idx", "wb") as f:
        f.write(struct.pack(">II", 0x801, n) + bytes(random.randrange(3) for _ in range(n)))
PY
images() { # LIMIT OUT OPTIONS...
    limit=$1 out=$2
    shift 2
    "$vfl" cluster --quiet --seed 5 --columns grid:2x2 --idx-train train.idx,train-labels.idx \
        --idx-test test.idx,test-labels.idx --set data.validate=0.2 --set training.patience=2 --set training.batch=30 \
        --set training.epochs=4 --party "*:policy.max_releases.record=$limit" --out "$out" "$@"
}
expect 0 '' 'images' images 9 images --scores images.csv
same 'True True' "$(field images '"loss" in s["validate"], "loss" in s["test"]' | tr -d '(),')" \
    'are chosen by and tested by'
same "$(seq -f 'test-%.0f' 0 29 | sort)" "$(tail -n +2 images.csv | cut -d, -f1 | sort)" \
    'and a test image has its number in its own file'
# What is charged has one name all the same, by which it may be asked for again, too.
charged() { # RUN
    (cd "$1/party-1" && "$VFL_BIN/vfl-party" -c config.yaml --ledger | grep -E '^(records|participations  at)')
}
same "$(printf '%-16s%s\n' records 120 participations 'at most 8 of one record')" "$(charged images)" \
    'a number is one record'
expect 5 'policy.max_releases.record: over its limit' 'which is what a plan costs before it begins' images 7 dear
same 'participations  at most 0 of one record' "$(charged dear | tail -n 1)" 'of which nothing was charged'
expect 0 '' 'test images are predicted' "$vfl" predict --run images --data test.idx --out predicted.csv
same "$(printf '%-16s%s\n' records 120 participations 'at most 9 of one record')" "$(charged images)" 'that of the test'
# Where a table names its rows so, they are the same rows, whatever the labels look like.
{ echo 'id,a,b,y' && seq -f '%.0f,1,2,1' 0 98 && echo '99,3,4,0'; } >counted.csv
expect 2 'party-1.*data.validate: an id of the test rows' 'rows of tables have their names' \
    run counted --id id --label y --parties 2 --set training.batch=20 --train counted.csv --test counted.csv

# What does not fit together is refused before anything is trained.
expect 2 'data.validate' 'another share at a party' run other --party 2:data.validate=0.1
expect 2 'training.patience.*data.validate' 'patience without rows to choose by' \
    "$vfl" cluster --parties 3 --quiet --set training.patience=3 --out blind
oneclass() { # OPTIONS...: the share is of a single row
    "$VFL_BIN/vfl-server" -c masked/server/config.yaml -n --set data.validate=0.01 --set training.evaluate_every=1 "$@"
}
expect 2 'training.best_by: auc needs rows of two labels' 'a score that such rows cannot have' \
    oneclass --set training.patience=3
expect 0 ' 1 to choose by' 'but a loss they have' oneclass --set training.patience=3 --set training.best_by=loss
expect 2 'training.stop.metric: f1 needs rows of two labels' 'nor may a target be asked of it' \
    oneclass --set training.stop.split=validate --set training.stop.metric=f1 --set training.stop.value=0.9
zcat "$root/tests/data/breast_cancer.csv.gz" >both.csv
expect 2 'data.validate: an id of the test rows' 'rows to test by that are chosen by, too' \
    run twice --train both.csv --test both.csv
closing
