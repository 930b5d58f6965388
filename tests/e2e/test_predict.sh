#!/bin/sh
# test_predict.sh -- a trial cluster's packages predict new rows: the same scores as an independent program's, each row
# charged; what cannot be answered is refused, and costs no model.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# New rows, not in the order of their ids, with ids that no table has had.
zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv
sed 's/,[^,]*$//' new.csv >unlabelled.csv

train() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --parties 3 --set training.epochs=1 --seed 5 --quiet --out "$out" "$@"
}

predict() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" predict --run "$out" --quiet "$@"
}

# How far scores.csv is from what numpy makes of the packages, in units of 1e-9; "other rows" if it lists others.
apart() { # OUT N
    set -- "$1" "$1/predictions/$2"
    for i in 1 2 3; do
        set -- "$@" "$(ls "$1"/party-$i/models/*/model.safetensors)" "$2/data/party-$i-predict.csv"
    done
    run=$1 folder=$2
    shift 2
    # The one that has the package of numpy, whichever comes first in PATH.
    # The one for which numpy is installed, whichever comes first in PATH.
    /usr/bin/python3 "$root/tests/golden/predict.py" "$run"/server/models/*/model.safetensors \
        "$folder/want.csv" "$@" || return
    python3 - "$folder" <<'PY'
import csv, sys
read = lambda name: list(csv.reader(open(sys.argv[1] + "/" + name)))
got, want = read("scores.csv"), read("want.csv")
if [r[0] for r in got] != [r[0] for r in want] or got[0] != want[0]:
    print("other rows")
else:
    print(max(int(1e9 * abs(float(x) - float(y))) for a, b in zip(got[1:], want[1:]) for x, y in zip(a[1:], b[1:])))
PY
}

within() { # WHAT LEAST MOST NUMBER
    [ "$4" -ge "$2" ] 2>/dev/null && [ "$4" -le "$3" ] && ok "$1" || not_ok "$1: $4"
}

# --- in clear: what the packages say ---
train clear --set protocol.encoding=float32 --set protocol.aggregation=clear || not_ok 'training'
expect 0 '' 'new rows are predicted' predict clear --data new.csv
within 'as numpy does' 0 10000 "$(apart clear 1)"
same 'id,score_0,score_1' "$(head -n 1 clear/predictions/1/scores.csv)" 'a score for each class'
same "$(tail -n +2 new.csv | cut -d, -f1)" "$(tail -n +2 clear/predictions/1/scores.csv | cut -d, -f1)" \
    'in the order of the file'
expect 0 '' 'without labels, to another file' predict clear --data unlabelled.csv --out scores.csv
same "$(cat clear/predictions/1/scores.csv)" "$(cat scores.csv)" 'the same scores'
same '39 39' "$(python3 -c 'import json; s = json.load(open("clear/predictions/1/summary.json"))
print(s["rows"], s["privacy"]["releases"]["predict"])')" 'the summary has rows and releases'
same 78 "$(python3 -c 'import json; s = json.load(open("clear/predictions/2/summary.json"))
print(s["privacy"]["releases"]["predict"])')" \
    'asked again they are charged again'
expect 0 '' 'without a party' predict clear --data new.csv --absent 2
differ "$(cat clear/predictions/1/scores.csv)" "$(cat clear/predictions/3/scores.csv)" 'other scores'

# --- sums alone ---
train fixed --set protocol.encoding=fixed --set model.fusion=mean || not_ok 'training'
expect 0 '' 'masked sums' predict fixed --data new.csv
within 'are exact but for their last bits' 0 100000 "$(apart fixed 1)"
expect 2 'absent parties, under an encoding without noise' 'nobody is left out of exact sums' \
    predict fixed --data new.csv --absent 1
train coded --set protocol.encoding=fixed --set protocol.fixed.bits=12 --set protocol.aggregation=coded ||
    not_ok 'training'
expect 0 '' 'coded sums' predict coded --data new.csv
within 'are exact but for theirs' 0 5000000 "$(apart coded 1)"
train pbm --set model.binary_loss=sigmoid || not_ok 'training'
expect 0 '' 'noisy sums' predict pbm --data new.csv
within 'have noise' 1000000 1000000000 "$(apart pbm 1)"

# --- what a party refuses ---
sed -i 's/^policy:/policy:\n  max_releases: {total: 640}/' pbm/party-2/config.yaml
expect 5 'policy.max_releases.total' 'a party sells no more than its limit' predict pbm --data new.csv
same '' "$(ls pbm/predictions/2/scores.csv 2>/dev/null)" 'and nothing is written'
head -n 3 pbm/predictions/1/data/party-1-predict.csv >few.csv
"$VFL_BIN/vfl-party" --ledger -c pbm/party-2/config.yaml >said
grep -q 'predict *39' said && ok 'what was refused was not charged' || not_ok 'the ledger says otherwise'

# --- what does not fit ---
cut -d, -f1-9 new.csv >narrow.csv
expect 2 '' 'other columns' predict clear --data narrow.csv
expect 2 'no trial cluster that has come to its end' 'no run' predict . --data new.csv
expect 2 'there are 3 parties' 'no such party' predict clear --data new.csv --absent 4
expect 2 'data.predict' 'a party that answers nothing' \
    "$VFL_BIN/vfl-party" -c clear/party-1/config.yaml --predict served
expect 2 'there is no model of run 00' 'no such model' \
    "$VFL_BIN/vfl-party" -c clear/party-1/config.yaml --predict 00 --set data.predict=few.csv
closing
