#!/bin/sh
# test_contribution.sh -- what each party adds to a model's score: the same values as an independent program's in clear,
# nothing for a party of noise, each answer charged, and refused where a party does not take part or sums are exact.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

# Two parties have columns that say something; the third one's are the remainders of a long division.
zcat "$root/tests/data/breast_cancer.csv.gz" | awk -F, -v OFS=, '
    NR == 1 { print $1, $2, $3, $4, $9, $12, $22, $24, $29, "noise_1", "noise_2", "kind", $NF; next }
    { x = (x * 16807 + 11) % 2147483647; y = (y * 48271 + 7) % 2147483647
      print $1, $2, $3, $4, $9, $12, $22, $24, $29, x % 1000 / 100, y % 1000 / 100, substr("abc", y % 3 + 1, 1), $NF }
    ' >all.csv
columns='1-4,5-8,9-11'
trained() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --train all.csv --label label --columns "$columns" --set training.epochs=30 --seed 5 --quiet \
        --out "$out" "$@"
}
head -n 401 all.csv >new.csv

value() { # RUN N PARTY HOW [COLUMN]: of the loss, in units of 1e-4
    awk -F, -v p="$3" -v h="$4" -v c="${5:-}" \
        '$1 == p && $3 == h && $2 == c && $4 == "loss" { printf "%d", 10000 * $5 }' \
        "$1/contributions/$2/contribution.csv"
}

released() { # RUN PARTY
    "$VFL_BIN/vfl-party" --ledger -c "$1/party-$2/config.yaml" |
        sed -n 's/^releases .* contribute  *\([0-9]*\).*/\1/p'
}

# --- in clear: what the packages say ---
trained clear --set protocol.encoding=float32 --set protocol.aggregation=clear || not_ok 'training'
expect 0 'sets *all 8' 'all sets of three parties' "$vfl" contribution --run clear --data new.csv --features 3,1
set --
for i in 1 2 3; do
    set -- "$@" "$(ls clear/party-$i/models/*/model.safetensors)" "clear/contributions/1/data/party-$i-predict.csv"
done
far=$(/usr/bin/python3 "$root/tests/golden/contribution.py" 5 \
    clear/contributions/1/answers.csv clear/contributions/1/data/labels-predict.csv \
    clear/contributions/1/contribution.csv clear/server/models/*/model.safetensors "$@") || not_ok 'numpy'
within 'answers are those of the packages' 0 10000 "${far% *}"
within 'and values what all orders make of them' 0 1000 "${far#* }"
within 'a party of noise adds nothing' -150 150 "$(value clear 1 p3 shapley)"
within 'the others do' 500 10000 "$(value clear 1 p1 shapley)"
within 'nor does a column of noise' -150 150 "$(value clear 1 p3 mixed 1)"
grep -q '^p3:3   "kind"$' said && ok 'names are the party'"'"'s to tell' || not_ok 'no names'
same "$((400 * (7 + 3 + 4 + 3))) $((400 * (7 + 3 + 4))) $((400 * (7 + 3 + 4 + 4)))" \
    "$(released clear 3) $(released clear 2) $(released clear 1)" \
    'each answer is charged, and one with a mixed column twice'
same "400 14 0" "$(python3 -c 'import json; s = json.load(open("clear/contributions/1/summary.json"))
print(s["rows"], s["times"], s["contribution"]["permutations"])')" 'the summary says how often'
grep -q 'noise_' clear/contributions/1/server/log.txt clear/contributions/1/party-2/log.txt &&
    not_ok 'a name has left its party' || ok 'and nobody else has heard them'

# --- orders instead of sets ---
expect 0 'orders *1 of the parties' 'of orders' \
    "$vfl" contribution --run clear --data new.csv --permutations 1 --out orders.csv
same 'party,column,how,measure,value,error' "$(head -n 1 orders.csv)" 'to another file'
same "$(grep leave_one_out clear/contributions/1/contribution.csv | cut -d, -f1-5)" \
    "$(grep leave_one_out orders.csv | cut -d, -f1-5)" 'who is left out is left out alike'

# --- with noise ---
trained pbm --set protocol.pbm.trials=256 || not_ok 'training'
expect 0 'sets *all 8' 'under noise' "$vfl" contribution --run pbm --data new.csv
within 'a party of noise adds nothing' -300 300 "$(value pbm 1 p3 shapley)"
same "$((400 * 7))" "$(released pbm 2)" 'each answer is charged'

# --- more than six parties; labels that are texts, and several of a row ---
"$vfl" cluster --parties 7 --set training.epochs=1 --seed 5 --quiet --out seven || not_ok 'training'
expect 0 'orders *16 of the parties' 'of seven parties some orders' \
    "$vfl" contribution --run seven --data "$root/tests/data/breast_cancer.csv.gz" --resamples 2
awk -F, -v OFS=, 'NR == 1 { print; next } { $NF = $NF ? "benign" : "\"malignant, they say\""; print }' all.csv >text.csv
awk -F, -v OFS=, 'NR == 1 { print $0, "large"; next } { print $0, ($2 > 15) }' all.csv >several.csv
clear='--set protocol.encoding=float32 --set protocol.aggregation=clear --set training.epochs=8'
# Of rows that were trained on: noise that was learned by heart adds a little there.
kind() { # FILE LABEL OPTIONS...
    of=$1 label=$2
    shift 2
    # shellcheck disable=SC2086 # clear: words
    "$vfl" cluster --train "$of.csv" --label "$label" --columns "$columns" $clear --seed 5 --quiet --out "$of" "$@" ||
        not_ok "training $of"
    expect 0 'rows  *569' "$of" "$vfl" contribution --run "$of" --data "$of.csv" --resamples 2
    within 'a party of noise adds little' -600 600 "$(value "$of" 1 p3 shapley)"
    within 'another one more' 1200 10000 "$(value "$of" 1 p1 shapley)"
}
kind text label --positive benign
kind several label+large

# --- what is refused ---
trained fixed --set protocol.encoding=fixed || not_ok 'training'
expect 2 'contributions, under an encoding without noise' 'not of exact sums' \
    "$vfl" contribution --run fixed --data new.csv
expect 2 'there are 3 parties' 'no fourth party' "$vfl" contribution --run pbm --data new.csv --features 4
sed 's/,[^,]*$//' new.csv >unlabelled.csv
expect 2 'label' 'without labels' "$vfl" contribution --run pbm --data unlabelled.csv
check() { # SET...
    "$VFL_BIN/vfl-party" -n --predict served -c pbm/party-1/config.yaml \
        --set data.predict="$PWD/pbm/contributions/1/data/party-1-predict.csv" "$@"
}
expect 0 'refuses that: policy.contribute.max_rows 0' 'a party takes part in none by itself' check
expect 0 'accepts that' 'it has a price' check --set policy.contribute.max_rows=400
expect 0 'each row 15 times' 'and another one with columns' check --set policy.contribute.max_rows=400 \
    --set policy.contribute.columns=4
expect 0 'refuses that: policy.max_releases' 'and may be too dear' check --set policy.contribute.max_rows=400 \
    --set policy.max_releases.record=20
sed -i '2s/,[^,]*$/,7/' pbm/contributions/1/data/labels-predict.csv
values() {
    "$vfl" contribution --answers pbm/contributions/1/answers.csv \
        --labels pbm/contributions/1/data/labels-predict.csv "$@"
}
expect 2 'labels-predict.csv:2: its label is none' 'labels that are none' values
sed -i '2d' pbm/contributions/1/data/labels-predict.csv
expect 2 'no label of a row' 'labels that are not all there' values

# --- daemons that stand: the job has ids alone, and labels stay where they were ---
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT
"$VFL_BIN/vfl-server" -c pbm/server/config.yaml --insecure-seed 5 --set stand=true --set listen=127.0.0.1:0 \
    >server.log 2>&1 &
echo $! >server.pid
wait_until [ -s pbm/server/address ] && wait_until [ -S pbm/server/control ] || not_ok 'no server that stands'
for i in 1 2 3; do
    "$VFL_BIN/vfl-party" -c pbm/party-$i/config.yaml --insecure-seed 5 --set stand=true \
        --set server="$(cat pbm/server/address)" \
        --set data.predict="$PWD/pbm/contributions/1/data/party-$i-predict.csv" \
        --set policy.contribute.max_rows=20 --set policy.contribute.columns=1 >party-$i.log 2>&1 &
    echo $! >party-$i.pid
done
job() {
    "$vfl" job --state pbm/server "$@"
}
awk -F, -v OFS=, 'NR == 1 { print "id", "label" } NR > 1 && NR < 22 { print $1, $NF }' new.csv >labels.csv
cut -d, -f1 labels.csv | sed 1d >ids
same 1 "$(job submit contribute --columns p1=1 labels.csv)" 'a job of a queue'
expect 0 completed 'is played' job wait 1
same "$(cat ids)" "$(cat pbm/server/jobs/1.ids)" 'by ids, without their labels'
tr , ';' <labels.csv >other.csv
expect 2 'no table that begins with "id,"' 'nor where the delimiter is another' job submit contribute other.csv
printf 'id,label\n1,"two\nlines"\n' >quoted.csv
expect 2 'a table with quotes' 'nor a label of several lines' job submit contribute quoted.csv
job answers 1 >answers.csv
same $((20 * 9 + 1)) "$(wc -l <answers.csv)" 'an answer for each row and question, and of nobody'
expect 0 'sets *all 8' 'values are made where labels are' \
    "$vfl" contribution --answers answers.csv --labels labels.csv --state pbm/server
expect 1 'policy.contribute.columns' 'no more columns than a party names' \
    job wait "$(job submit contribute --columns p1=2 ids)"
seq 1 21 >many
expect 1 'policy.contribute.max_rows' 'no more rows' job wait "$(job submit contribute many)"
expect 1 'not in the roster' 'no column of nobody' job wait "$(job submit contribute --columns p9=1 ids)"
expect 0 completed 'and predictions all the same' job wait "$(job submit predict ids)"
for p in server party-1 party-2 party-3; do
    kill "$(cat $p.pid)"
    wait "$(cat $p.pid)"
    rm $p.pid
done
same "$((400 * 7 + 20 * 8)) $((400 * 7 + 20 * 9))" "$(released pbm 2) $(released pbm 1)" \
    'each answer was charged, and what was refused was not'
closing
