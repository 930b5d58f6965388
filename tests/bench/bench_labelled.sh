#!/bin/sh
# bench_labelled.sh -- all labelled rows beside those that all have: test AUC where each of three parties lacks one row
# in five.
#
#   tests/bench/bench_labelled.sh TABLE.csv.gz [SEEDS [ROWS]]
#
# TABLE has id, features and a binary label, in this order.  ROWS of it (12000) are trained on, 3000 tested: once
# people whom all parties know, once people of whom each lacks a fifth as well.  Both kinds take the same number of
# steps, as near as epochs go.
# SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
table=$1 seeds=${2:-3} rows=${3:-12000}
bin=${VFL_BIN:-$root/build/bin}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

split() { # SEED
    rm -rf ./*.csv all few whole part
    python3 - "$table" "$1" "$rows" <<'PYTHON'
import csv, gzip, random, sys

name, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows = list(csv.reader(gzip.open(name, "rt")))
head, rows = rows[0], rows[1:]
random.seed(seed)
random.shuffle(rows)
train, test = rows[:n], rows[n:n + 3000]
width = len(head) - 2
cut = [1 + width * p // 3 for p in range(4)]

def write(name, columns, rows):
    with open(name, "w") as f:
        for r in [head] + rows:
            f.write(",".join([r[0]] + [r[c] for c in columns]) + "\n")

for part, some in (("", train), ("-test", test)):
    write("server%s.csv" % part, [width + 1], some)
    for p in range(3):
        columns = range(cut[p], cut[p + 1])
        there = [r for r in some if random.random() >= 0.2]
        write("p%d%s.csv" % (p + 1, "-part" if part else ""), columns, there)
        if part:
            write("p%d-whole.csv" % (p + 1), columns, some)
PYTHON
}

align() { # OUT ROWS SERVER-SUFFIX PARTY-SUFFIX
    "$root/deploy/vfl" align --ids "server$3.csv" --party "p1$4.csv" --party "p2$4.csv" --party "p3$4.csv" --rows "$2" \
        --name "$1" --out "$1" --quiet
    for side in server party-1 party-2 party-3; do
        [ "$1" = all ] || cp "$1/$side/alignments/$1" "all/$side/alignments/"
    done
}

run() { # SEED ALIGNMENT EPOCHS TEST ENCODING AGGREGATION
    rm -f all/server/address
    "$bin/vfl-server" -c all/server/config.yaml --set labels.train=server.csv --set labels.test=server-test.csv \
        --set labels.alignment="$2" --set labels.alignment_test="$4" --set listen=127.0.0.1:0 --insecure-seed "$1" \
        --set training.seed="$1" --set training.epochs="$3" --set protocol.encoding="$5" \
        --set protocol.aggregation="$6" >server.log 2>&1 &
    server=$!
    while [ ! -s all/server/address ]; do kill -0 $server && sleep 0.1; done
    for i in 1 2 3; do
        "$bin/vfl-party" -c all/party-$i/config.yaml --set data.train=p$i.csv --set data.alignment="$2" \
            --set data.test=p$i-"$4".csv --set data.alignment_test="$4" --set server="$(cat all/server/address)" \
            --set 'policy.aggregations=[masked, clear]' --set 'policy.encodings=[pbm, float32]' \
            --insecure-seed "$1" >party-$i.log 2>&1 &
    done
    wait
    python3 -c 'import json; print("%.4f" % json.load(open("all/server/summary.json"))["test"]["auc"], end="  ")'
}

echo 'seed  common rows  encoding  test     common  labelled'
for seed in $(seq "$seeds"); do
    split "$seed"
    align all labelled '' ''
    align few common '' ''
    align whole common -test -whole
    align part labelled -test -part
    n=$(sed '1,/^$/d' all/server/alignments/few | wc -l)
    for kind in 'pbm masked' 'float32 clear'; do
        for test in whole part; do
            printf '%s  %s  %s  %s  ' "$seed" "$n" "${kind% *}" "$test"
            # shellcheck disable=SC2086 # words
            run "$seed" few "$((10 * rows / n))" "$test" $kind
            # shellcheck disable=SC2086 # words
            run "$seed" all 10 "$test" $kind
            echo
        done
    done
done
