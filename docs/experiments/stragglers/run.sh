#!/bin/sh
# run.sh -- slow parties under four policies: every line of settings.txt, seeds 1 to 5 (or SEEDS).
#
#   docs/experiments/stragglers/run.sh default-credit.csv.gz mfeat.csv.gz FOLDER [FIRST]
#
# Appends to FOLDER/runs.csv, one line for each evaluation (collect.py).  With FIRST, only those lines of settings.txt
# run that begin with it ("mfeat wait").  Runs that the file holds already are left alone, so an interrupted
# experiment goes on.  JOBS clusters (4) run side by side: parties that are waited for cost no processor.  The programs
# are those of build/bin, or of VFL_BIN; what the data sets are and where they come from: docs/reproductions.md.
# SPDX-License-Identifier: Apache-2.0
set -eu

here=$(dirname "$(readlink -f "$0")")
faster=20 # the paper's delays, divided by this

# Party I of N: half of the parties have a mean of 0.1 s, the others 2 + 4 i / N s, i = 1 .. N / 2 (FedVS, section 6).
delays_of() { # PARTIES BEFORE
    awk -v n="$1" -v before="$2" -v faster="$faster" 'BEGIN {
        for (i = 1; i <= n; i++) {
            mean = i <= n / 2 ? 0.1 : 2 + 4 * (i - n / 2) / n
            printf "--party %d:inject.delay=exp:%.6g --party %d:inject.before=%s\n", i, mean / faster, i, before
        }
    }'
}

data_of() { # DATA
    case $1 in
    default-credit)
        echo "--train $credit --parties 10 --set training.batch=512 --set training.learning_rate=0.1"
        echo "--set protocol.coded.segments=3 --set protocol.coded.privacy=2"
        ;;
    mfeat) # one party for each view
        echo "--train $mfeat --parties 6 --columns 1-76,77-292,293-356,357-596,597-643,644-649"
        echo "--set training.batch=100 --set training.learning_rate=0.05"
        echo "--set protocol.coded.segments=2 --set protocol.coded.privacy=1"
        ;;
    *) echo "settings.txt: $1" >&2 && exit 2 ;;
    esac
}

arm_of() { # ARM
    case $1 in
    wait) echo "--set protocol.aggregation=masked" ;;
    drop) echo "--set protocol.aggregation=clear --set protocol.straggler=drop --set protocol.deadline_ms=50" ;;
    async) echo "--set protocol.aggregation=clear --set protocol.straggler=async" ;;
    coded) echo "--set protocol.aggregation=coded" ;;
    *) echo "settings.txt: $1" >&2 && exit 2 ;;
    esac
}

one() { # DATA ARM BEFORE EPOCHS SEED
    data=$(data_of "$1") arm=$(arm_of "$2") out=$work/$1-$2-$3-$5
    case $1 in mfeat) parties=6 ;; *) parties=10 ;; esac
    # shellcheck disable=SC2046,SC2086 # lists of words
    "$here/../../../deploy/vfl" cluster --quiet --seed "$5" --out "$out" $data $arm $(delays_of $parties "$3") \
        --set training.epochs="$4" --set training.evaluate_every=0.25 --set model.init=he \
        --set training.optimizer=sgd --set training.schedule=constant --set protocol.pbm.trials=64 \
        --set model.embedding=16 --party '*:data.scale=fit' --party '*:model.layers=[64,64]' </dev/null
    "$here/collect.py" "$out" "$1" "$2" "$3" "$5" "$to"
    rm -rf "$out"
    echo "$1 $2 $3 $5"
}

check_sum() { # FILE SHA-256 of the CSV itself, not of a .gz
    case $1 in *.gz) unpack="gzip -dc" ;; *) unpack="cat" ;; esac
    [ "$($unpack <"$1" | sha256sum)" = "$2  -" ] && return
    echo "run.sh: $1 is not the file of docs/reproductions.md (the SHA-256 differs)" >&2
    exit 2
}

if [ "${1:-}" = --one ]; then # what follows runs this for each line, side by side
    shift
    one "$@"
    exit
fi
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
    echo "usage: run.sh default-credit.csv[.gz] mfeat.csv[.gz] FOLDER [FIRST]" >&2
    exit 2
fi
credit=$1 mfeat=$2 to=$3 only=${4:-}
check_sum "$credit" 0b55bc820afa5da353920c6f0436362666eab08d65ce3ac26f517331333d7507
check_sum "$mfeat" 46be775867bb14d128c6b4d351f112cd6d5b25a5dc8c5f0b447e5fe3c5259518
mkdir -p "$to"
[ -s "$to/runs.csv" ] || "$here/collect.py" --header >"$to/runs.csv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export credit mfeat to work

for seed in ${SEEDS:-1 2 3 4 5}; do
    grep -v '^#' "$here/settings.txt" | tr -s ' ' | grep "^$only" | while read -r data arm before epochs; do
        grep -q "^$data,$arm,$before,$seed," "$to/runs.csv" || echo "$data $arm $before $epochs $seed"
    done
done | xargs -r -P "${JOBS:-4}" -L 1 "$0" --one
