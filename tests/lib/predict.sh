# shellcheck shell=sh
# predict.sh -- what the scripts that predict share: a small run, its predictions, and how far they are from numpy's.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # vfl, root: e2e.sh

train() { # PARTIES OUT OPTIONS...
    parties=$1 out=$2
    shift 2
    "$vfl" cluster --parties "$parties" --set training.epochs=1 --seed 5 --quiet --out "$out" "$@"
}

predict() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" predict --run "$out" --quiet "$@"
}

# How far scores.csv is from what numpy makes of the packages, in units of 1e-9; "other rows" if it lists others.
apart() { # OUT N [ABSENT]
    absent=${3:-}
    set -- "$1" "$1/predictions/$2"
    for i in $(seq "$(ls -d "$1"/party-*/ | wc -l)"); do
        set -- "$@" "$(ls "$1"/party-"$i"/models/*/model.safetensors)" "$(ls "$2"/data/party-"$i"-predict.*)"
    done
    run=$1 folder=$2
    shift 2
    # The one for which numpy is installed, whichever comes first in PATH.
    /usr/bin/python3 "$root/tests/golden/predict.py" ${absent:+--absent "$absent"} \
        "$run"/server/models/*/model.safetensors "$folder/want.csv" "$@" || return
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
