# shellcheck shell=sh
# audit.sh -- a federation of canaries, one run of it, and an attack on what its server saw.
#
# The data is made here: each record of the first party, the target, is at one end of the box by a coin, everybody
# else's at the far end.  vfl-audit judges the coins by the transcript, and prints what that proves beside every claim
# that the target's own ledger makes.  The run is seeded, so that what the other parties have put in can be drawn again:
# that is what a server with helpers knows.  Nothing else of the seed is used.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

audit_usage() {
    cat <<'USAGE'
usage: vfl audit [--rows N] [--parties M] [--embedding P] [--dp NOISE [--probes R]] [--unseeded]
                 [--set key.path=value]... [--party I:key.path=value]... [--claims SUMMARY] [--out DIR] [--quiet]
       vfl audit --pairs R [--values A,B] [--rows N] [--parties M] [--set ...]... [--party ...]...
       vfl audit --control [--runs N]

  --rows N          canary records, each a trial; default 20000
  --parties M       default 5
  --embedding P     default 1
  --dp NOISE        the first party's bottom learns with noise (model.train dp): one step on all canaries at once, each
                    in a column of its own, and what it has done shows in the releases of other records
  --probes R        with --dp: so many of these for each canary; default 64, and --rows is 400, at most 10000
  --unseeded        noise as the daemons draw it for themselves: then under masks only the server alone is an adversary
  --set, --party    as for vfl cluster; default: pbm, masked, frozen bottoms, each row released once
  --claims SUMMARY  judge by the claims of the first party in another run: its DIR/run/party-1/summary.json
  --control         no run: raw training of a toy model, where a record shows in the releases of all others; a bound
                    above that of one release shows what the auditor can see
  --pairs R         R runs each on two neighbours, at least 7, which differ in one value of the first party's first
                    record: do they end alike, in messages of the same sizes, at the same times?  No claim is judged;
                    --rows is 20
  --values A,B      that value on either side; default 0,3e38
  --out DIR         where the canaries and the run stay; default: a folder that goes away

Prints a lower bound on epsilon beside each claim, by the law of the released values and by their low bits; then what
passes beside the values, and what it could not look at.  Each test errs once in a thousand.  Exit 5: a claim is broken,
ends or sizes tell, or the control found nothing.
USAGE
}

# The run is told to end, and has ended before its folder goes.
audit_leave() {
    [ -z "$audit_child" ] || kill -TERM "$audit_child" 2>/dev/null
    [ -z "$audit_child" ] || wait "$audit_child"
    rm -rf "$scratch" ${audit_dir:+"$audit_dir"}
}

audit_read_options() {
    rows='' parties=5 embedding=1 claims='' out='' control=no runs='' noise='' probes=''
    seeded=yes pairs='' values=0,3e38
    audit_dir='' audit_child=''
    # In a folder of its own: beside a temporary file, others may put links with names that can be guessed.
    scratch=$(mktemp -d) || fail 6 "no temporary folder"
    trap audit_leave EXIT
    sets=$scratch/sets
    : >"$sets"
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) audit_usage && exit 0 ;;
        --control) control=yes && shift && continue ;;
        --quiet) quiet=yes && shift && continue ;;
        --unseeded) seeded=no && shift && continue ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl audit --help)"
        case $1 in
        --rows) number --rows "$2" 100 1000000 && rows=$2 ;;
        --parties) number --parties "$2" 1 256 && parties=$2 ;;
        --embedding) number --embedding "$2" 1 1024 && embedding=$2 ;;
        --dp) noise=$2 ;;
        --probes) number --probes "$2" 1 1000 && probes=$2 ;;
        --set | --party) printf '%s\n%s\n' "$1" "$2" >>"$sets" ;;
        --claims) claims=$2 ;;
        --pairs) number --pairs "$2" 7 1000 && pairs=$2 ;;
        --values) values=$2 ;;
        --runs) number --runs "$2" 40 10000000 && runs=$2 ;;
        --out) out=$2 ;;
        *) fail 2 "unknown option $1 (vfl audit --help)" ;;
        esac
        shift 2
    done
}

# What a plan needs so that steps of the first party's bottom tell of its canaries (vfl-audit --make).
audit_step_options() {
    printf '%s\n' --set model.task=regression --set training.releases=every_epoch --set "training.batch=$rows" \
        --set "training.learning_rate=$(awk -v n="$rows" 'BEGIN { printf "%.9g", n / 1000 }')" \
        --party 1:model.train=dp --party 1:model.clip=1 --party "1:model.noise=$noise"
}

# Of the target and of everybody else, as --columns has it.
audit_columns() {
    audit_first=$([ -z "$noise" ] && echo 1 || echo "1-$rows")
    seq -s , "$((${audit_first#1-} + 1))" "$((${audit_first#1-} + parties - 1))" | sed "s/^/$audit_first,/; s/,\$//"
}

audit_canaries() { # DIR
    mkdir -p "$1/canaries" || fail 6 "$1: cannot be made"
    "$vfl_bin/vfl-audit" --make "$1/canaries" --rows "$rows" --parties "$parties" --embedding "$embedding" \
        ${noise:+--probes "$probes"} || exit
}

audit_run() { # DIR TRAIN RUN: a run on this table, into this folder
    [ -z "$noise" ] || audit_step_options | cat - "$sets" >"$scratch/all"
    [ -n "$noise" ] || cp "$sets" "$scratch/all"
    audit_dir_of=$1 audit_out=$3
    set -- --train "$2" --test "$1/canaries/test.csv" --parties "$parties" --transcript \
        --columns "$(audit_columns)" ${seed:+--seed "$seed"} \
        --set "model.embedding=$embedding" --set training.releases=once --set training.epochs=1 \
        --set "training.batch=$((rows < 1000 ? rows : 1000))" --set training.evaluate_every=0 \
        --party '*:model.train=frozen' --party '*:model.layers=[]' --party '*:data.scale=none' \
        --party "*:model.load=$1/canaries/weights.safetensors" --party "1:model.load=$1/canaries/target.safetensors"
    while IFS= read -r audit_word; do
        set -- "$@" "$audit_word"
    done <"$scratch/all"
    # A signal to this script ends a wait, but would only be looked at after a command in the foreground.
    "$here/vfl" cluster --quiet --out "$audit_out" "$@" &
    audit_child=$!
    wait "$audit_child"
    audit_code=$?
    audit_child=
    return $audit_code
}

# The first value of the first record becomes one of the two, and is nothing but a number.
audit_neighbours() { # DIR
    for audit_side in 0 1; do
        audit_value=${values%%,*}
        [ "$audit_side" = 0 ] || audit_value=${values#*,}
        case $audit_value in '' | *[!0-9.e+-]*) fail 2 "--values $values: two numbers expected" ;; esac
        awk -F , -v OFS=, -v value="$audit_value" 'NR == 2 { $2 = value } { print }' \
            "$1/canaries/train.csv" >"$1/canaries/train-$audit_side.csv" || fail 6 "$1: cannot be written"
    done
}

# Seeds differ from run to run, and are the same on both sides.
audit_pairs() { # DIR
    rows=${rows:-20}
    audit_canaries "$1" && audit_neighbours "$1"
    : >"$1/runs" || fail 6 "$1: cannot be written"
    audit_i=0
    while [ $((audit_i += 1)) -le "$pairs" ]; do
        seed=$audit_i
        for audit_side in 0 1; do
            # How it ends is what is looked at.
            audit_run "$1" "$1/canaries/train-$audit_side.csv" "$1/$audit_side-$audit_i" >"$1/said" 2>&1
            audit_file=$1/$audit_side-$audit_i/server/transcript.jsonl
            [ -s "$audit_file" ] || { cat "$1/said" >&2 && fail 6 "a run without a transcript: $audit_file"; }
            printf '%s %s\n' "$audit_side" "$audit_file" >>"$1/runs"
        done
    done
    "$vfl_bin/vfl-audit" --pairs "$1/runs"
}

audit_main() {
    audit_read_options "$@"
    [ -n "$pairs" ] || rows=${rows:-$([ -z "$noise" ] && echo 20000 || echo 400)}
    probes=${probes:-64}
    seed=
    [ "$seeded" = no ] || seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
    if [ "$control" = yes ]; then
        "$vfl_bin/vfl-audit" --control ${runs:+--runs "$runs"}
        exit
    fi
    if [ -z "$out" ]; then
        audit_dir=$(mktemp -d) || fail 6 "no temporary folder"
        out=$audit_dir
    fi
    own_folder "$out"
    out=$(readlink -f "$out" || printf '%s' "$out")
    if [ -n "$pairs" ]; then
        audit_pairs "$out"
        exit
    fi
    audit_canaries "$out"
    audit_run "$out" "$out/canaries/train.csv" "$out/run" || exit
    "$vfl_bin/vfl-audit" --transcript "$out/run/server/transcript.jsonl" --canaries "$out/run/data/party-1-train.csv" \
        ${noise:+--probes "$out/run/data/party-1-test.csv"} ${seed:+--seed "$seed"} \
        --summary "$out/run/party-1/summary.json" ${claims:+--claims "$claims"}
    exit
}
