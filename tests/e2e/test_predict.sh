#!/bin/sh
# test_predict.sh -- a trial cluster's packages predict new rows: the same scores as an independent program's, each row
# charged; what cannot be answered is refused, and costs no model.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

# New rows, not in the order of their ids, with ids that no table has had.
zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv
sed 's/,[^,]*$//' new.csv >unlabelled.csv

# --- in clear: what the packages say ---
train 3 clear --set protocol.encoding=float32 --set protocol.aggregation=clear || not_ok 'training'
expect 0 '' 'new rows are predicted' predict clear --data new.csv
within 'as numpy does' 0 10000 "$(apart clear 1)"
same 'id,score_0,score_1' "$(head -n 1 clear/predictions/1/scores.csv)" 'a score for each class'
same "$(tail -n +2 new.csv | cut -d, -f1)" "$(tail -n +2 clear/predictions/1/scores.csv | cut -d, -f1)" \
    'in the order of the file'
expect 0 '' 'without labels, to another file' predict clear --data unlabelled.csv --out scores.csv
same "$(cat clear/predictions/1/scores.csv)" "$(cat scores.csv)" 'the same scores'
same '39 39' "$(python3 -c 'import json; s = json.load(open("clear/predictions/1/summary.json"))
print(s["rows"], s["privacy"]["releases"]["predict"])')" 'the summary has rows and releases'
same '39 39' "$(python3 -c 'import json; s = json.load(open("clear/predictions/2/summary.json"))
print(s["rows"], s["kept"])')" 'asked again they are answered from what is kept'
released() { # of party 1, so far
    "$VFL_BIN/vfl-party" --ledger -c clear/party-1/config.yaml | sed -n 's/^releases .* predict  *\([0-9]*\).*/\1/p'
}
same 39 "$(released)" 'and nobody is charged'
# Half of them with others: those alone are asked for.
{ head -n 20 new.csv && sed 1d new.csv | head -n 30 | sed 's/^/9/'; } >mixed.csv
expect 0 '^kept      19 of 49 answers are of their ids' 'known rows and new ones' \
    "$vfl" predict --run clear --data mixed.csv
same 69 "$(released)" 'the new ones are charged'
same "$(sed -n 2,20p clear/predictions/1/scores.csv)" "$(sed -n 2,20p clear/predictions/3/scores.csv)" \
    'the known are as they were'
within 'all as numpy does' 0 10000 "$(apart clear 3)"
"$vfl" models --state clear/server show | grep -q '^kept        69 answers$' && ok 'it is seen how many are kept' ||
    not_ok 'no count'
expect 0 '^1 kept' 'a person is forgotten' "$vfl" models --state clear/server forget --id 1699
expect 0 '^0 kept' 'once' "$vfl" models --state clear/server forget --id 1699
expect 0 '' 'and asked for again' predict clear --data new.csv
same 70 "$(released)" 'alone'
sed -i 's/^listen:/predict: {epoch: 7}\nlisten:/' clear/server/config.yaml
expect 0 '' 'in another epoch' predict clear --data new.csv
same 109 "$(released)" 'all are'
for file in clear/server/models/*/answers; do printf '7,,1699,0.5' >>"$file"; done # as a crash may leave one behind
expect 0 '' 'an answer that was cut short' predict clear --data new.csv
same 109 "$(released)" 'is none'
expect 0 '' 'without a party' predict clear --data new.csv --absent 2
differ "$(cat clear/predictions/1/scores.csv)" "$(cat clear/predictions/7/scores.csv)" 'other scores'
same 148 "$(released)" 'rows that all have answered are another release without one'
without() { # N
    python3 -c 'import json; print(json.load(open("clear/predictions/'"$1"'/summary.json")).get("without"))'
}
same "['p2']" "$(without 7)" 'and the answer names it'
same None "$(without 6)" 'others name nobody'
expect 0 '^without   p2$' 'from what is kept' "$vfl" predict --run clear --data new.csv --absent 2
same "148 ['p2']" "$(released) $(without 8)" 'the same'

# --- text, dates, gaps, by each party's own schema ---
cat >raw.py <<'PY'
import random, sys
random.seed(int(sys.argv[1]))
pick = random.choice
print("age;job;since;balance;grade;day;y")
for i in range(int(sys.argv[2])):
    job = pick(["Craft", "Sales", '"a ""b""; c"', "\u00dcber", "", "NA"] + sys.argv[3:])
    grade = pick(["low", "middle", "high"])
    since = "20%02d-%02d-%02dT%02d:30:00+01:00" % tuple(random.randint(1, n) for n in (23, 12, 28, 23))
    age = pick([str(random.randint(18, 90))] * 9 + ["?"])
    print(age, job, since, "%.2f" % random.gauss(0, 900), grade, random.randint(1, 31),
          pick(["yes", "yes" if job == "Sales" else "no"]), sep=";")
PY
python3 raw.py 1 400 >raw.csv
python3 raw.py 2 60 Astronaut >later.csv
cat >third.yaml <<'YAML'
statistics: fit
columns:
  - {name: "grade", kind: ordered, levels: ["low", "middle", "high"], missing: median}
  - {name: "day", kind: number, missing: refused, clip: [3, 20], log: true}
YAML
train 3 texts --train raw.csv --label y --positive yes --columns 'age+job,since+balance,grade+day' \
    --party "3:data.schema=$PWD/third.yaml" --set protocol.encoding=float32 --set protocol.aggregation=clear ||
    not_ok 'training on text'
expect 0 '' 'a table with text is predicted' predict texts --data later.csv
within 'as numpy does with what the packages say of columns' 0 10000 "$(apart texts 1)"
"$vfl" models --state texts/party-1 show >said
grep -q 'kind: category, levels: \["Craft", "Sales", "a \\"b\\"; c"' said && ok 'a package shows its schema' ||
    not_ok 'no schema'
"$vfl" models --state texts/server show | grep -q '^class       1 yes$' && ok 'and its classes' || not_ok 'no classes'
"$vfl" predict --run texts --data later.csv | grep -qx 'score_1   "yes"' &&
    ok 'which score is of which class' || not_ok 'it is not said'
sed '5s/^[^;]*/x/' later.csv >wrong.csv
expect 2 'party-1: .*party-1-predict.csv:5: column 2 "age": not a number' 'a cell that is none of its column' \
    predict texts --data wrong.csv
same '' "$(ls texts/predictions/3/codes 2>/dev/null)" 'is refused before anybody starts'
sed '5s/;[0-9]*;\([a-z]*\)$/;;\1/' later.csv >gap.csv
expect 2 'party-3: .*party-3-predict.csv:5: column 3 "day": empty cell' 'so is a gap, where the schema refuses it' \
    predict texts --data gap.csv

# --- sums alone ---
train 3 fixed --set protocol.encoding=fixed --set model.fusion=mean || not_ok 'training'
expect 0 '' 'masked sums' predict fixed --data new.csv
within 'are exact but for what is rounded' 0 10000 "$(apart fixed 1)"
expect 2 'absent parties, under an encoding without noise' 'nobody is left out of exact sums' \
    predict fixed --data new.csv --absent 1
train 3 coded --set protocol.encoding=fixed --set protocol.fixed.bits=12 --set protocol.aggregation=coded ||
    not_ok 'training'
expect 0 '' 'coded sums' predict coded --data new.csv
within 'are exact but for what is rounded' 0 100000 "$(apart coded 1)"
train 3 pbm --set model.binary_loss=sigmoid || not_ok 'training'
expect 0 '' 'noisy sums' predict pbm --data new.csv
within 'have noise' 1000000 1000000000 "$(apart pbm 1)"

# --- what a party refuses ---
sed '2,$s/^/9/' new.csv >later-ids.csv
sed -i 's/^policy:/policy:\n  max_releases: {total: 640}/' pbm/party-2/config.yaml
expect 5 'policy.max_releases.total' 'a party sells no more than its limit' predict pbm --data later-ids.csv
same '' "$(ls pbm/predictions/2/scores.csv 2>/dev/null)" 'and nothing is written'
head -n 3 pbm/predictions/1/data/party-1-predict.csv >few.csv
"$VFL_BIN/vfl-party" --ledger -c pbm/party-2/config.yaml >said
grep -q 'predict *39' said && ok 'what was refused was not charged' || not_ok 'the ledger says otherwise'

"$VFL_BIN/vfl-party" -n --predict served -c pbm/party-1/config.yaml \
    --set data.predict="$PWD/pbm/predictions/1/data/party-1-predict.csv" >said
grep -q '^# 39 rows can be predicted' said && grep -q '^#   server .* epsilon [0-9]' said &&
    grep -q 'policy accepts all' said && ok 'predictions have a price' || not_ok 'no price'
"$VFL_BIN/vfl-party" -n --predict served -c pbm/party-2/config.yaml \
    --set data.predict="$PWD/pbm/predictions/1/data/party-2-predict.csv" >said
grep -q 'refuses all of them together: policy.max_releases' said && ok 'and may be too dear' || not_ok 'not refused'
grep -q 'server asks for 39 rows by the model of run' pbm/predictions/1/party-3/log.txt &&
    grep -q 'asking 3 parties for rows 1 to 39 of 39' pbm/predictions/1/server/log.txt &&
    ok 'who asks what is in the logs' || not_ok 'it is not in the logs'

# --- what does not fit ---
mv clear/party-2/models kept
expect 2 'party-2: .*there is no model of run' 'a side that has no model, at once' predict clear --data new.csv
mv kept clear/party-2/models
cut -d, -f1-9 new.csv >narrow.csv
expect 2 '' 'other columns' predict clear --data narrow.csv
expect 2 'no trial cluster that has come to its end' 'no run' predict . --data new.csv
expect 2 'there are 3 parties' 'no such party' predict clear --data new.csv --absent 4
expect 2 'data.predict' 'a party that answers nothing' \
    "$VFL_BIN/vfl-party" -c clear/party-1/config.yaml --predict served
expect 2 'there is no model of run 00' 'no such model' \
    "$VFL_BIN/vfl-party" -c clear/party-1/config.yaml --predict 00 --set data.predict=few.csv
# --- names that a shell could take for words ---
mkdir "$dir/elsewhere"
name="a \$(touch made) \"b\" 'c'%s"
cp -R clear "$dir/elsewhere/$name"
cp new.csv "$dir/elsewhere/-$name.csv"
cd "$dir/elsewhere" || exit 6
expect 0 '' 'a folder and a file of any name' \
    "$vfl" predict --quiet --run "$name" --data "-$name.csv" --absent 1 --out "$name.scores"
same "$(wc -l <"-$name.csv")" "$(wc -l <"./$name.scores")" 'are predicted'
same 3 "$(find . -maxdepth 1 ! -name . | wc -l)" 'and nothing is made beside them'
expect 2 'numbers of parties expected' 'a number with a zero before it' \
    "$vfl" predict --run "$name" --data "-$name.csv" --absent 01
cd "$dir" || exit 6

# --- what would be passed over in silence ---
party() {
    "$VFL_BIN/vfl-party" -c clear/party-1/config.yaml "$@"
}
for order in --ledger --fingerprint '--ledger-forget party-2' '--ids-forget all'; do
    for beside in '--predict served' -n '-n --predict served' '--export out'; do
        # shellcheck disable=SC2086 # words
        expect 2 'go alone, without -n, --predict and --export' "$order and $beside" party $order $beside
    done
done
expect 2 'go alone' 'two orders at once' party --ledger --fingerprint
for beside in '-n --plan clear/server/config.yaml' '-n --verify-accountant' '--export out'; do
    # shellcheck disable=SC2086 # words
    expect 2 '--predict goes without --plan' "--predict and $beside" party --predict served $beside
done
expect 0 '^releases' 'one order alone' party --ledger
for beside in '--export out' '--ids-forget all' '--transcript out'; do
    # shellcheck disable=SC2086 # words
    expect 2 '--predict goes without --transcript' "the server: $beside" \
        "$VFL_BIN/vfl-server" -c clear/server/config.yaml --predict served --ids few.csv $beside
done
closing
