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
  --out DIR         where the canaries and the run stay; default: a folder that goes away

Prints a lower bound on epsilon beside each claim.  Exit 5: a claim is broken, or the control found nothing.
USAGE
}

audit_read_options() {
    rows='' parties=5 embedding=1 claims='' out='' control=no runs='' noise='' probes='' seeded=yes
    sets=$(mktemp) || fail 6 "no temporary file"
    trap 'rm -rf "$sets" "$sets.all" $audit_dir' EXIT
    audit_dir=
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

audit_run() { # DIR
    mkdir -p "$1/canaries" || fail 6 "$1: cannot be made"
    "$vfl_bin/vfl-audit" --make "$1/canaries" --rows "$rows" --parties "$parties" --embedding "$embedding" \
        ${noise:+--probes "$probes"} || exit
    [ -z "$noise" ] || audit_step_options | cat - "$sets" >"$sets.all"
    [ -n "$noise" ] || cp "$sets" "$sets.all"
    set -- "$1" --train "$1/canaries/train.csv" --test "$1/canaries/test.csv" --parties "$parties" --transcript \
        --columns "$(audit_columns)" ${seed:+--seed "$seed"} \
        --set "model.embedding=$embedding" --set training.releases=once --set training.epochs=1 \
        --set "training.batch=$((rows < 1000 ? rows : 1000))" --set training.evaluate_every=0 \
        --party '*:model.train=frozen' --party '*:model.layers=[]' --party '*:data.scale=none' \
        --party "*:model.load=$1/canaries/weights.safetensors" --party "1:model.load=$1/canaries/target.safetensors"
    audit_dir_of=$1
    shift
    while IFS= read -r audit_word; do
        set -- "$@" "$audit_word"
    done <"$sets.all"
    "$here/vfl" cluster --quiet --out "$audit_dir_of/run" "$@" || exit
}

audit_main() {
    audit_read_options "$@"
    rows=${rows:-$([ -z "$noise" ] && echo 20000 || echo 400)}
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
    audit_run "$(readlink -f "$out" || printf '%s' "$out")"
    "$vfl_bin/vfl-audit" --transcript "$out/run/server/transcript.jsonl" --canaries "$out/run/data/party-1-train.csv" \
        ${noise:+--probes "$out/run/data/party-1-test.csv"} ${seed:+--seed "$seed"} \
        --summary "$out/run/party-1/summary.json" ${claims:+--claims "$claims"}
    exit
}
