#!/bin/sh
# run.sh -- FedVS beside what others do about slow parties: every line of settings.txt, seeds 1 to 3 (or SEEDS).
#
#   docs/experiments/fedvs/run.sh DATA FOLDER [FIRST]
#
# DATA holds, at any depth, default-credit.csv, mfeat.csv (or .csv.gz) and the four .gz files of Fashion-MNIST; what
# they are and where they come from: docs/reproductions.md.  Appends to FOLDER/runs.csv a line for each evaluation and
# to FOLDER/ends.csv one for each run (collect.py).  With FIRST, only those lines of settings.txt run that begin with it
# ("race mfeat").  Runs that the files hold already are left alone, so an interrupted experiment goes on.  JOBS clusters
# (1) run side by side: parties that are waited for cost no processor, those of fedvs do.  A run that takes longer than
# LIMIT seconds (3600) is ended and counts for nothing.  The programs are those of build/bin, or of VFL_BIN.
# SPDX-License-Identifier: Apache-2.0
set -eu

here=$(dirname "$(readlink -f "$0")")
root=${ROOT:-$here/../../..}

# What every arm on this data has in common.  Learning rate, batch, degree and parties are the paper's.  The bits are as
# many as 2^31 - 1 holds with a proof; only fedvs reads them and w_max.
f="--set protocol.fedvs"
data_of() { # DATA
    echo "--set training.optimizer=sgd --set training.schedule=constant"
    case $1 in
    default-credit)
        echo "--train $credit --parties 11 --party *:model.polynomial.degree=2"
        echo "--set training.batch=32 --set training.learning_rate=0.01 --set training.evaluate_every=0.25"
        echo "--set model.embedding=32 $f.x_max=2 $f.w_max=4 $f.x_bits=8 $f.w_bits=12"
        ;;
    mfeat) # one party for each view
        echo "--train $work/mfeat-train.csv --test $work/mfeat-test.csv --parties 6"
        echo "--columns 1-76,77-292,293-356,357-596,597-643,644-649 --party *:model.polynomial.degree=2"
        echo "--set training.batch=32 --set training.learning_rate=0.02 --set training.evaluate_every=1"
        echo "--set model.embedding=32 $f.x_max=3 $f.w_max=2 $f.x_bits=6 $f.w_bits=10"
        ;;
    fashion-mnist | fashion-plain) # one party for each row of the image
        echo "--idx-train $fashion/train-images-idx3-ubyte.gz,$fashion/train-labels-idx1-ubyte.gz"
        echo "--idx-test $fashion/t10k-images-idx3-ubyte.gz,$fashion/t10k-labels-idx1-ubyte.gz"
        echo "--parties 28 --columns grid:28x1 --party *:model.polynomial.degree=1"
        echo "--set training.batch=256 --set training.learning_rate=0.05 --set training.evaluate_every=0.25"
        [ "$1" = fashion-plain ] || echo "--set training.optimizer=momentum"
        echo "--set model.embedding=16 $f.x_max=2 $f.w_max=2 $f.x_bits=7 $f.w_bits=11"
        ;;
    *) echo "settings.txt: $1" >&2 && exit 2 ;;
    esac
    echo "--set model.fusion=mean --set model.head=[64,64] --set model.init=he"
}

clear="--set protocol.aggregation=clear"
arm_of() { # ARM DEADLINE_MS
    case $1 in
    fedvs) echo "--set protocol.aggregation=fedvs" ;;
    clear | wait) echo "$clear --set protocol.encoding=float32 --set protocol.clip=1000" ;;
    drop)
        echo "$clear --set protocol.encoding=float32 --set protocol.clip=1000"
        echo "--set protocol.straggler=drop --set protocol.deadline_ms=$2"
        ;;
    async) echo "$clear --set protocol.encoding=float32 --set protocol.clip=1000 --set protocol.straggler=async" ;;
    gaussian)
        echo "$clear --set protocol.encoding=gaussian --set protocol.gaussian.match=epsilon --set privacy.delta=1e-5"
        echo "--set protocol.gaussian.epsilon=5 --set protocol.clip=0.25"
        ;;
    *) echo "settings.txt: $1" >&2 && exit 2 ;;
    esac
}

delays_of() { # DELAY PARTIES
    case $1 in
    none) ;;
    silent:*) # the results of the last so many parties never come: a delay ends with its round
        for i in $(seq $(($2 - ${1#*:} + 1)) "$2"); do
            echo "--party $i:inject.delay=const:3600 --party $i:inject.before=upload"
        done
        ;;
    *) echo "--party *:inject.delay=$1 --party *:inject.link.rate_mbit=300" ;;
    esac
}

one() { # TABLE DATA ARM K T DELAY EPOCHS SEED
    set -f # a * is the name of all parties
    options=$(data_of "$2")
    parties=${options#*--parties } && parties=${parties%%[!0-9]*}
    # Under drop a round in which nobody answers is void: 28 parties on one machine need longer than 11.
    deadline_ms=$((parties > 20 ? 100 : 50))
    options="$options $(arm_of "$3" $deadline_ms) $(delays_of "$6" "$parties")"
    out=$work/$1-$2-$3-$4-$5-$8
    # shellcheck disable=SC2086 # a list of words
    timeout "${LIMIT:-3600}" "$root/deploy/vfl" cluster --quiet --seed "$8" --out "$out" $options \
        --set protocol.fedvs.segments="$4" --set protocol.fedvs.privacy="$5" --set training.epochs="$7" </dev/null &&
        "$here/collect.py" "$out" "$to" "$1,$2,$3,$4,$5,$6,$8" && echo "$*" || echo "failed: $*" >&2
    rm -rf "$out"
}

check_sum() { # FILE SHA-256 of what is in it, not of a .gz
    case $1 in *.gz) unpack="gzip -dc" ;; *) unpack="cat" ;; esac
    [ "$($unpack <"$1" | sha256sum)" = "$2  -" ] && return
    echo "run.sh: $1 is not the file of docs/reproductions.md (the SHA-256 differs)" >&2
    exit 2
}

found() { # NAME...: the first file of one of these names
    for name; do
        file=$(find -L "$data" -name "$name" -type f | sort | head -n 1)
        [ -z "$file" ] || break
    done
    [ -n "$file" ] || { echo "run.sh: no $1 in $data" >&2 && exit 2; }
    readlink -f "$file"
}

if [ "${1:-}" = --one ]; then # what follows runs this for each line, side by side
    shift
    one "$@"
    exit
fi
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: run.sh DATA FOLDER [FIRST]" >&2
    exit 2
fi
data=$1 to=$2 only=${3:-}
credit=$(found default-credit.csv.gz default-credit.csv)
mfeat=$(found mfeat.csv.gz mfeat.csv)
fashion=$(dirname "$(found t10k-images-idx3-ubyte.gz)")
check_sum "$credit" 0b55bc820afa5da353920c6f0436362666eab08d65ce3ac26f517331333d7507
check_sum "$mfeat" 46be775867bb14d128c6b4d351f112cd6d5b25a5dc8c5f0b447e5fe3c5259518
check_sum "$fashion/train-images-idx3-ubyte.gz" c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
check_sum "$fashion/t10k-images-idx3-ubyte.gz" 5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
mkdir -p "$to"
to=$(readlink -f "$to")
[ -s "$to/runs.csv" ] || "$here/collect.py" --headers "$to"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# 60/40 as in the paper: of each class 80 rows, those whose id mod 5 is 0 or 1, are tested.
case $mfeat in *.gz) gzip -dc "$mfeat" ;; *) cat "$mfeat" ;; esac |
    awk -F, -v train="$work/mfeat-train.csv" -v test="$work/mfeat-test.csv" '
        NR == 1 { print >train; print >test; next }
        { print >($1 % 5 < 2 ? test : train) }'
export credit fashion to work

for seed in ${SEEDS:-1 2 3}; do
    grep -v '^#' "$here/settings.txt" | tr -s ' ' | grep "^$only" |
        while read -r table data arm segments privacy delay epochs; do
            grep -q "^$table,$data,$arm,$segments,$privacy,$delay,$seed," "$to/ends.csv" ||
                echo "$table $data $arm $segments $privacy $delay $epochs $seed"
        done
done | xargs -r -P "${JOBS:-1}" -L 1 "$0" --one
