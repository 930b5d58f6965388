#!/bin/sh
# test_labelled.sh -- three parties each of which lacks other people: training on all labelled rows, where who lacks one
# stands in with its absent constant, beside training on the few rows that all have; and predictions of people whom some
# lack.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

# People of whom each party knows four numbers, one of them noise; three in ten are missing at each party, others at
# each, so that one in ten is there at all.  200 more are there everywhere, to test by, and 40 are new.
python3 - <<'PY'
import random
random.seed(11)
people = []
for i in range(840):
    x = [[random.gauss(0, 1) for _ in range(4)] for _ in range(3)]
    y = int(sum(a + b - c for a, b, c, _ in x) + random.gauss(0, 1) > 0)
    people.append((i, x, y))
train, test, new = people[:600], people[600:800], people[800:]
def write(name, rows, line):
    with open(name, "w") as f:
        rows = rows[:]
        random.shuffle(rows)
        for r in rows:
            f.write(line(r) + "\n")
def table(name, head, rows, line):
    write(name, rows, line)
    text = open(name).read()
    open(name, "w").write(head + "\n" + text)
table("server.csv", "id,label", train, lambda r: "P%d,%d" % (r[0], r[2]))
table("server-test.csv", "id,label", test, lambda r: "P%d,%d" % (r[0], r[2]))
for p in range(3):
    line = lambda r: "P%d," % r[0] + ",".join("%.5f" % v for v in r[1][p])
    there = lambda r: r[0] % 10 not in (3 * p, 3 * p + 1, 3 * p + 2)
    strangers = [(9000 + 100 * p + k, [[0.5] * 4] * 3, 0) for k in range(30)]
    table("p%d.csv" % (p + 1), "id,a,b,c,d", [r for r in train if there(r)] + strangers, line)
    table("p%d-test.csv" % (p + 1), "id,a,b,c,d", test, line)
    table("p%d-new.csv" % (p + 1), "id,a,b,c,d", [r for r in new if there(r)], line)
write("new.txt", new, lambda r: "P%d" % r[0])
PY

aligns() { # ROWS TRAIN|TEST TABLE-SUFFIX OUT NAME
    "$vfl" align --ids "server$3.csv" --party "p1$3.csv" --party "p2$3.csv" --party "p3$3.csv" --rows "$1" --name "$4" \
        --out "$2" --quiet
}
expect 0 '' 'all labelled rows' aligns labelled all '' all
expect 0 '' 'the rows that all have' aligns common few '' few
expect 0 '' 'and those to test by' aligns common tested -test tested
same '600 60' "$(sed '1,/^$/d' all/server/alignments/all | wc -l) $(sed '1,/^$/d' few/server/alignments/few | wc -l)" \
    'ten times as many'
for side in server party-1 party-2 party-3; do
    cp few/$side/alignments/few tested/$side/alignments/tested all/$side/alignments/
done

which=''
party() { # I ARGUMENTS...
    party_i=$1
    shift
    "$VFL_BIN/vfl-party" -c all/party-"$party_i"/config.yaml --set data.train="p$party_i$which.csv" \
        --set data.alignment_test=tested --set data.test="p$party_i-test$which.csv" \
        --set data.predict="p$party_i-new$which.csv" \
        --set 'policy.aggregations=[masked, clear, coded]' --set 'policy.encodings=[pbm, float32, fixed]' "$@"
}

# Server and parties, each with arguments of its own after `--`.
all_play() { # SERVER-ARGUMENTS... -- PARTY-ARGUMENTS...
    server_side=''
    while [ "$1" != -- ]; do
        server_side="$server_side $1" && shift
    done
    shift
    rm -f all/server/address
    # shellcheck disable=SC2086 # words
    timeout 100 "$VFL_BIN/vfl-server" -c all/server/config.yaml --set labels.train=server.csv \
        --set labels.test=server-test.csv --set labels.alignment_test=tested --set listen=127.0.0.1:0 $server_side \
        >server.log 2>&1 &
    echo $! >server.pid
    wait_until [ -s all/server/address ] || kill "$(cat server.pid)"
    for i in 1 2 3; do
        party $i --set server="$(cat all/server/address)" "$@" >party-$i.log 2>&1 &
        echo $! >party-$i.pid
    done
    codes=''
    for i in party-1 party-2 party-3 server; do
        wait "$(cat $i.pid)"
        codes="$codes$?"
    done
}
trains() { # ALIGNMENT EPOCHS ENCODING AGGREGATION
    all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment="$1" --set training.epochs="$2" \
        --set protocol.encoding="$3" --set protocol.aggregation="$4" --set training.batch=20 \
        -- --insecure-seed 5 --set data.alignment="$1"
}
auc() {
    python3 -c 'import json; print(json.load(open("all/server/summary.json"))["test"]["auc"])'
}
better() { # A B LEAST
    python3 -c "import sys; sys.exit(not $1 > $2 + $3)"
}

# The common rows as many times as it takes for equal steps.
for kind in 'pbm masked' 'float32 clear'; do
    # shellcheck disable=SC2086 # words
    trains few 60 $kind
    same 0000 "$codes" "$kind: trained on the common rows"
    few=$(auc)
    # shellcheck disable=SC2086 # words
    trains all 6 $kind
    same 0000 "$codes" "$kind: trained on all labelled rows"
    better "$(auc)" "$few" 0.02 && ok "$kind: an AUC of $(auc), and not $few" ||
        not_ok "$kind: an AUC of $(auc), and $few"
done
grep -q '180 of 600 rows are not here' party-2.log && ok 'a party knows how many it lacks' || not_ok 'no count'

all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment=all --set training.epochs=1 \
    --set labels.test= --set labels.alignment_test= --set data.validate=0.2 -- --insecure-seed 5 \
    --set data.alignment=all --set data.test= --set data.alignment_test= --set data.validate=0.2
same 0000 "$codes" 'rows to choose by are the same ones, whoever has them'

# --- limits of one record, and a party without any of the rows: neither is refused, since that would tell ---
all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment=all --set training.epochs=1 -- \
    --insecure-seed 5 --set data.alignment=all --set policy.max_releases.record=6
same 0000 "$codes" 'records that have spent their limit in other runs end none'
grep -q '420 of 600 training rows have no room for what this job may release of them' party-2.log &&
    ok 'they have no part in it, and their party alone is told' || not_ok 'who has no part'
expect 0 '# WARNING: 620 rows of this party have no room for all this' '-n says it before' party 2 \
    --set server=127.0.0.1:1 --set data.alignment=all --set policy.max_releases.record=30 -n
all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment=all --set training.epochs=1 -- \
    --insecure-seed 5 --set data.alignment=all --set policy.max_releases.record=5
same 5555 "$codes" 'what the plan itself would pass is refused, whoever has which rows'
# With texts, which are read by the levels that training rows have: those of none, and of three.
for i in 1 2 3; do
    awk -v OFS=, 'NR == 1 { print $0, "city" } NR > 1 { print $0, NR % 7 ? "Ulm" NR % 5 : "" }' p$i.csv >p$i-text.csv
    awk -v OFS=, 'NR == 1 { print $0, "city" } NR > 1 { print $0, "Ulm" NR % 9 }' p$i-test.csv >p$i-test-none.csv
    awk -v OFS=, 'NR == 1 { print $0, "city" } NR > 1 { print $0, "Bonn" }' p$i-new.csv >p$i-new-none.csv
    cp p$i-test-none.csv p$i-test-few.csv
    cp p$i-new-none.csv p$i-new-few.csv
    sed 's/^P/Q/' p$i-text.csv >p$i-none.csv
    awk '/^P/ && ++n > 3 { sub(/^P/, "Q") } { print }' p$i-text.csv >p$i-few.csv
done
for which in -none -few; do
    all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment=all --set training.epochs=1 -- \
        --insecure-seed 5 --set data.alignment=all
    same 0000 "$codes" "parties with$which of the rows take part"
    all_play --insecure-seed 5 --set training.seed=5 --set labels.alignment=all --set training.epochs=1 \
        --set labels.test= --set labels.alignment_test= --set data.validate=0.1 -- --insecure-seed 5 \
        --set data.alignment=all --set data.test= --set data.alignment_test= --set data.validate=0.1
    same 0000 "$codes" 'and so where rows to choose by are kept back'
    all_play --predict served --ids new.txt --scores scores.csv -- --predict served
    same 0000 "$codes" 'and answer for new rows'
done
which=''

# --- people whom a party lacks are predicted as they were trained on ---
trains all 6 float32 clear
all_play --predict served --ids new.txt --scores scores.csv -- --predict served
same 0000 "$codes" 'new rows are predicted'
same 41 "$(wc -l <scores.csv)" 'each of them'
python3 - <<'PY' && ok 'mostly right' || not_ok 'not by what they are'
import csv, random
random.seed(11)
y = {}
for i in range(840):
    x = [[random.gauss(0, 1) for _ in range(4)] for _ in range(3)]
    y["P%d" % i] = int(sum(a + b - c for a, b, c, _ in x) + random.gauss(0, 1) > 0)
rows = list(csv.DictReader(open("scores.csv")))
right = sum((float(r["score_1"]) > 0.5) == y[r["id"]] for r in rows)
raise SystemExit(right < 26)
PY

# --- what an alignment of labelled rows does not go with ---
refused() { # WORDS WHAT ARGUMENTS...
    refused_words=$1 refused_what=$2
    shift 2
    expect 2 "$refused_words" "$refused_what" party 2 --set server=127.0.0.1:1 --set data.alignment=all "$@" -n
}
refused 'data.group: of an alignment of labelled rows' 'rows of persons' --set data.group=a
refused 'data.validate_by: of an alignment of labelled rows' 'rows to choose by by time' --set data.validate=0.2 \
    --set data.validate_by=time --set data.time=a
refused 'data.labels.train: of an alignment of labelled rows' 'labels here' --set data.labels.train=server.csv
sed 's/^P1[0-9]*/&x/' p2.csv >fewer.csv
refused 'data.validate: beside data.test' 'rows to choose by, and test rows' --set data.validate=0.2
expect 0 'it lacks [0-9]* of the rows' 'a table that has lost rows lacks them' party 2 --set server=127.0.0.1:1 \
    --set data.alignment=all --set data.train=fewer.csv -n
expect 0 '# 180 of the 600 training rows are not here' '-n says how many rows are not here' party 2 \
    --set server=127.0.0.1:1 --set data.alignment=all -n
most() { # ALIGNMENT: how often the server prices a record of it
    "$VFL_BIN/vfl-server" -c all/server/config.yaml --set listen=127.0.0.1:0 --set labels.train=server.csv \
        --set labels.test=server-test.csv --set labels.alignment_test=tested --set labels.alignment="$1" \
        --set training.epochs=1 -n 2>&1 | sed -n 's/.*one record at most \([0-9]*\) times.*/\1/p'
}
same '1 2' "$(most few) $(most all)" 'the server prices what may be in both tables as if it were'
closing
