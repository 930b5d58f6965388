#!/bin/sh
# test_new_rows.sh -- a run, its end, standing daemons, and ROWS new rows (10,000 unless the environment has others):
# scores are those of an independent program, exactly where sums are exact, and off by the law of the noise else.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT
rows=${ROWS:-10000}

# The known rows over and over, each value moved a little, under ids of their own.
zcat "$root/tests/data/breast_cancer.csv.gz" >known.csv
awk -F, -v OFS=, -v rows="$rows" 'NR == 1 { print; next } { line[NR - 2] = $0; n = NR - 1 }
    END { srand(7); for (i = 0; i < rows; i++) { fields = split(line[i % n], cell, ","); out = 100000 + i
        for (k = 2; k < fields; k++) out = out "," cell[k] * (0.9 + 0.2 * rand())
        print out, cell[fields] } }' known.csv >new.csv
"$VFL_BIN/vfl-split" --out data --predict new.csv --parties 3 >split.txt || not_ok 'splitting'

start() { # RUN: all its daemons, to stand
    run=$1
    rm -f "$run/server/address"
    "$VFL_BIN/vfl-server" -c "$run/server/config.yaml" --set stand=true --set listen=127.0.0.1:0 >server.log 2>&1 &
    echo $! >server.pid
    wait_until [ -s "$run/server/address" ] || not_ok 'no server'
    for i in 1 2 3; do
        "$VFL_BIN/vfl-party" -c "$run/party-$i/config.yaml" --set stand=true \
            --set server="$(cat "$run/server/address")" --set data.predict="data/party-$i-predict.csv" \
            >"party-$i.log" 2>&1 &
        echo $! >"$i.pid"
    done
}

stop() {
    for p in *.pid; do
        kill "$(cat "$p")" && wait "$(cat "$p")"
        same 0 $? 'a daemon ends in order'
        rm "$p"
    done
}

sides() { # RUN: its packages and tables, for numpy
    for i in 1 2 3; do
        echo "$1/party-$i/models/$model/model.safetensors" "data/party-$i-predict.csv"
    done
}

# kind NAME PROGRAM OPTIONS...
kind() {
    name=$1 program=$2
    shift 2
    train 3 "$name" "$@" || not_ok "training $name"
    model=$(tail -n 1 "$name/server/models/served")
    start "$name"
    wait_until [ -S "$name/server/control" ] || not_ok 'no control socket'
    "$vfl" job --state "$name/server" submit predict data/ids-predict.txt >job
    expect 0 completed "$name: $rows rows are predicted by daemons that stand" \
        "$vfl" job --state "$name/server" wait "$(cat job)"
    "$vfl" job --state "$name/server" scores "$(cat job)" >scores.csv
    stop
    same "$rows" "$("$VFL_BIN/vfl-party" --ledger -c "$name/party-2/config.yaml" |
        sed -n 's/^releases .* predict  *\([0-9]*\).*/\1/p')" "$name: each is charged once"
    # shellcheck disable=SC2046 # words
    "$program" $(sides "$name")
}

exact() { # PACKAGES AND TABLES...
    /usr/bin/python3 "$root/tests/golden/predict.py" "$name/server/models/$model/model.safetensors" want.csv "$@"
    within "$name: as numpy does, to 1e-5" 0 10000 "$(differ_most)"
}

differ_most() {
    python3 -c '
import csv
got, want = (list(csv.reader(open(n))) for n in ("scores.csv", "want.csv"))
assert [r[0] for r in got] == [r[0] for r in want] and got[0] == want[0]
print(max(int(1e9 * abs(float(x) - float(y))) for a, b in zip(got[1:], want[1:]) for x, y in zip(a[1:], b[1:])))'
}

law() { # PACKAGES AND TABLES...
    expect 0 'deviations off' "$name: off by the law of the noise" /usr/bin/python3 "$root/tests/golden/noise.py" \
        "$name/server/models/$model/model.safetensors" scores.csv "$@"
}

kind clear exact --set protocol.aggregation=clear --set protocol.encoding=float32
# Between two points of the grid float32 and numpy may each take the other one: they are near each other.
kind fixed exact --set protocol.encoding=fixed --set protocol.fixed.bits=22
kind pbm law --set model.task=regression --set model.output=identity --set model.embedding=1 \
    --set training.scale_targets=false

closing
