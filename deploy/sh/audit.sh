# shellcheck shell=sh
# audit.sh -- a federation of canaries, one run of it, and an attack on what its server saw.
#
# The data is made here: each record of the first party is at one end of the box by a coin, everybody else's at the far
# end.  vfl-audit judges the coins by the transcript, and prints what that proves beside every claim.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

audit_usage() {
    cat <<'USAGE'
usage: vfl audit [--rows N] [--parties M] [--embedding P] [--set key.path=value]... [--party I:key.path=value]...
                 [--claims SUMMARY] [--out DIR] [--quiet]
       vfl audit --control [--runs N]

  --rows N          canary records, each a trial; default 20000
  --parties M       default 5
  --embedding P     default 1
  --set, --party    as for vfl cluster; default: pbm, masked, frozen bottoms, each row released once
  --claims SUMMARY  judge by the claims of another run's summary.json
  --control         no run: raw training of a toy model, where a record shows in the releases of all others; a bound
                    above that of one release shows what the auditor can see
  --out DIR         where the canaries and the run stay; default: a folder that goes away

Prints a lower bound on epsilon beside each claim.  Exit 5: a claim is broken, or the control found nothing.
USAGE
}

audit_read_options() {
    rows=20000 parties=5 embedding=1 claims='' out='' control=no runs=''
    sets=$(mktemp) || fail 6 "no temporary file"
    trap 'rm -rf "$sets" $audit_dir' EXIT
    audit_dir=
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) audit_usage && exit 0 ;;
        --control) control=yes && shift && continue ;;
        --quiet) quiet=yes && shift && continue ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl audit --help)"
        case $1 in
        --rows) number --rows "$2" 100 1000000 && rows=$2 ;;
        --parties) number --parties "$2" 1 256 && parties=$2 ;;
        --embedding) number --embedding "$2" 1 1024 && embedding=$2 ;;
        --set | --party) printf '%s\n%s\n' "$1" "$2" >>"$sets" ;;
        --claims) claims=$2 ;;
        --runs) number --runs "$2" 40 10000000 && runs=$2 ;;
        --out) out=$2 ;;
        *) fail 2 "unknown option $1 (vfl audit --help)" ;;
        esac
        shift 2
    done
}

audit_run() { # DIR
    mkdir -p "$1/canaries" || fail 6 "$1: cannot be made"
    "$vfl_bin/vfl-audit" --make "$1/canaries" --rows "$rows" --parties "$parties" --embedding "$embedding" || exit
    set -- "$1" --train "$1/canaries/train.csv" --test "$1/canaries/test.csv" --parties "$parties" --transcript \
        --set "model.embedding=$embedding" --set training.releases=once --set training.epochs=1 \
        --set training.batch=1000 --set training.evaluate_every=0 \
        --party '*:model.train=frozen' --party '*:model.layers=[]' --party '*:data.scale=none' \
        --party "*:model.load=$1/canaries/weights.safetensors"
    audit_dir_of=$1
    shift
    while IFS= read -r audit_word; do
        set -- "$@" "$audit_word"
    done <"$sets"
    "$here/vfl" cluster --quiet --out "$audit_dir_of/run" "$@" || exit
}

audit_main() {
    audit_read_options "$@"
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
        --claims "${claims:-$out/run/summary.json}"
    exit
}
