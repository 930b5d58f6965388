#!/bin/sh
# run.sh -- Table 3 of PBM-VFL with the daemons of this project: every line of settings.txt, seeds 1, 2, 3 (or SEEDS).
#
#   docs/experiments/phishing/run.sh phishing.csv.gz FOLDER [FIRST]
#
# Writes FOLDER/ours.csv (scores by epoch) and FOLDER/bytes.csv (one line a run).  With FIRST, only those lines
# of settings.txt run that begin with it.  Runs that the
# files hold already are left alone, so an interrupted experiment goes on.  The programs are those of
# build/bin, or of VFL_BIN; what the data set is and where it comes from: docs/reproductions.md.
# SPDX-License-Identifier: Apache-2.0
set -eu

here=$(dirname "$(readlink -f "$0")")
vfl=$here/../../../deploy/vfl
sum=40a467a4830a2d0c979f3fc6b381f9289a02bcfaed1df4776742af4c912d33ea # of the CSV itself, not of a .gz

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: run.sh phishing.csv[.gz] FOLDER [FIRST]" >&2
    exit 2
fi
data=$1 to=$2 only=${3:-}
case $data in *.gz) unpack="gzip -dc" ;; *) unpack="cat" ;; esac
if [ "$($unpack <"$data" | sha256sum)" != "$sum  -" ]; then
    echo "run.sh: $data is not the file of docs/reproductions.md (the SHA-256 differs)" >&2
    exit 2
fi
mkdir -p "$to"
[ -s "$to/ours.csv" ] || echo encoding,init,seed,epoch,train_mechanism,test_mechanism,payload_bytes >"$to/ours.csv"
[ -s "$to/bytes.csv" ] || "$here/collect.py" --bytes-header >"$to/bytes.csv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# KIND:b:beta as --set arguments.
plan_of() {
    kind=${1%%:*} b=${1#*:} beta=${1##*:}
    b=${b%%:*}
    case $kind in
    float32) echo "--set protocol.encoding=float32 --set protocol.aggregation=clear" ;;
    pbm) echo "--set protocol.pbm.trials=$b --set protocol.pbm.beta=$beta" ;;
    gaussian-*)
        echo "--set protocol.encoding=gaussian --set protocol.aggregation=clear"
        echo "--set protocol.gaussian.match=${kind#gaussian-}"
        echo "--set protocol.pbm.trials=$b --set protocol.pbm.beta=$beta"
        ;;
    *) echo "settings.txt: $1" >&2 && exit 2 ;;
    esac
}

grep -v '^#' "$here/settings.txt" | grep "^$only" | while read -r encoding init epochs; do
    for seed in ${SEEDS:-1 2 3}; do
        ! grep -q "^$encoding,$init,$seed," "$to/bytes.csv" || continue
        plan=$(plan_of "$encoding")
        # shellcheck disable=SC2086 # $plan is a list of words
        "$vfl" cluster --quiet --train "$data" --parties 5 --seed "$seed" --out "$work/run" \
            $plan --set model.init="$init" --set training.epochs="$epochs" --set training.evaluate_train=true \
            --set training.optimizer=sgd --set training.schedule=constant \
            --set training.batch=100 --set training.learning_rate=0.01 --set model.embedding=16 \
            --party '*:data.scale=fit' --party '*:model.layers=[64,64]' </dev/null
        "$here/collect.py" "$work/run" "$encoding" "$init" "$seed" "$to"
        rm -rf "$work/run"
    done
    echo "$encoding $init"
done
