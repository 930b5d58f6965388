# shellcheck shell=sh
# predict.sh -- scores of new rows by the packages of a finished trial cluster: its daemons once more, for one job; or,
# of a federation whose daemons stand, by one job of its queue.
#
# What the cluster's folder says is used as it stands: certificates, configurations, which columns are whose.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # variables are shared with ../vfl and cluster.sh

predict_usage() {
    cat <<'USAGE'
usage: vfl predict --run DIR --data FILE [--out scores.csv] [--absent I[,J]] [--quiet]
       vfl predict --model RUN --ids FILE --out scores.csv [--state DIR] [--absent NAME,...] [--by NAME]
                   [--min-parties N]
       vfl predict --model RUN --alignment NAME [--ids FILE] --out scores.csv ...

  --run DIR     the folder of a trial cluster that is complete (vfl cluster --out DIR)
  --data FILE   CSV, plain or .gz, with the columns that the cluster was trained on; a last column label may be
                missing, and is not looked at.  Of a cluster trained on images: IMAGES, or IMAGES,LABELS; on
                batches of CIFAR: BATCH, one, whose labels are not asked for
  --out FILE    id,score_0,... in the order of FILE; default: DIR/predictions/N/scores.csv
  --absent I,J  these parties answer with a constant; not where the encoding has no noise

DIR/predictions/N/summary.json has rows, bytes, seconds and what it cost.  Each row is a release that is charged.

With --model, of a federation, on the server's host: one job of the server that stands.
  --model RUN       whose model predicts; served: the one in use
  --ids FILE        of which rows, one id a line
  --alignment NAME  rows are called by their places in that alignment: ids are the server's own, without --ids all
  --state DIR       the server's state directory; default: the working directory
  --absent, --by, --min-parties: as vfl job has them
USAGE
}

predict_read_options() {
    out='' data='' scores='' absent=''
    while [ $# -gt 0 ]; do
        case $1 in
        --quiet) quiet=yes && shift && continue ;;
        -h | --help) predict_usage && exit 0 ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl predict --help)"
        case $1 in
        --run) out=$2 ;;
        --data) data=$2 ;;
        --out) scores=$2 ;;
        --absent)
            case $2 in '' | *[!0-9,]* | 0* | *,0* | *[0-9][0-9][0-9][0-9][0-9]*)
                fail 2 "--absent $2: numbers of parties expected, from 1" ;;
            esac
            absent=$2
            ;;
        *) fail 2 "unknown option $1 (vfl predict --help)" ;;
        esac
        shift 2
    done
    [ -n "$out" ] && [ -n "$data" ] || fail 2 "--run and --data are needed (vfl predict --help)"
    predict_find_run
}

predict_find_run() {
    [ -e "$out/plan.txt" ] && [ -e "$out/server/models/served" ] ||
        fail 2 "--run $out: no trial cluster that has come to its end, with a model in use"
    case $data in
    postgres:* | odbc:*) ;;
    *)
        if [ ! -f "$data" ]; then
            ! grep -q '^cifar-train .' "$out/plan.txt" || fail 2 "$data: no such file: one batch at a time is predicted"
            data=${data%,*} # IMAGES,LABELS
        fi
        [ -f "$data" ] || fail 2 "$data: no such file"
        data=$(readlink -f -- "$data")
        ;;
    esac
    own_folder "$out"
    out=$(readlink -f -- "$out")
    exec 9>"$out/lock" || fail 6 "$out cannot be written"
    flock -n 9 || fail 2 "$out: a cluster is running there"
}

# What the cluster was made of; its other words are for its daemons (cluster_daemon).
predict_read_plan() {
    # By name: a party that was left out at the end has its model, but not in use.
    model=$(tail -n 1 "$out/server/models/served")
    m=$(sed -n 's/^parties //p' "$out/data.txt")
    seed=$(sed -n 's/^seed //p' "$out/plan.txt")
    netns=no positive='' ending=csv kind=''
    group=$(sed -n 's/^group //p' "$out/plan.txt")
    time=$(sed -n 's/^time //p' "$out/plan.txt")
    for word in idx npy cifar; do
        [ -z "$(sed -n "s/^$word-train ..*/x/p" "$out/plan.txt")" ] || kind=$word ending=$word
    done
    [ "$ending" != cifar ] || ending=idx
    names=
    for i in $(printf '%s' "$absent" | tr ',' ' '); do
        [ "$i" -ge 1 ] && [ "$i" -le "$m" ] || fail 2 "--absent $i: there are $m parties"
        names=$names${names:+,}p$i
    done
}

# One more folder of a shelf of the cluster's; what the command writes goes there, where nobody says where.
predict_open_folder() { # SHELF NAME
    mkdir -p "$out/$1" || fail 6 "$out/$1 cannot be made"
    number=1
    while ! mkdir "$out/$1/$number" 2>/dev/null; do
        number=$((number + 1))
        [ $number -lt 100000 ] || fail 6 "$out/$1 cannot be written"
    done
    folder=$out/$1/$number
    [ -n "$scores" ] || scores=$folder/$2
    case $scores in /*) ;; *) scores=$PWD/$scores ;; esac
    case $scores in *'
'*) fail 2 "--out: a name of several lines" ;; esac
    for side in server $(seq -f 'party-%.0f' "$m"); do
        mkdir "$folder/$side" || fail 6 "$folder cannot be written"
    done
}

# FILE as the cluster's own was cut.
predict_split() { # ARGUMENTS...
    set -- --out "$folder/data" --parties "$m" "$@"
    for word in columns label id group time delimiter; do
        value=$(sed -n "s/^$word //p" "$out/plan.txt")
        [ -z "$value" ] || set -- "$@" "--$word" "$value"
    done
    "$vfl_bin/vfl-split" "$@" >"$folder/data.txt" || exit $?
}

# The server with what is asked of it, and ARGUMENTS.  Images have no ids of their own: another file of them is
# another epoch, so that no two share an answer.
predict_server() { # ARGUMENTS...
    [ -z "$names" ] || set -- "$@" --absent "$names"
    [ $ending = csv ] || set -- "$@" --set "predict.epoch=$((0x$(sha256sum <"$data" | cut -c 1-12)))"
    cluster_daemon server --predict "$model" --ids "$folder/data/ids-predict.txt" --set listen=127.0.0.1:0 "$@"
}

predict_party() { # I ARGUMENTS...
    predict_who=$1
    shift
    cluster_daemon "$predict_who" --predict "$model" \
        --set "data.predict=$folder/data/party-$predict_who-predict.$ending" "$@"
}

# What one side cannot predict is refused here, in its words, before anybody waits for the others.
predict_checked() { # FOLDER COMMAND...
    predict_folder=$1
    shift
    ("$@" -n) >"$folder/$predict_folder/checked.txt" 2>"$folder/$predict_folder/log.txt" && return
    code=$?
    fail "$code" "$predict_folder: $(predict_words "$predict_folder")"
}

predict_words() { # FOLDER
    sed -n 's/.* error: //p' "$folder/$1/log.txt" | tail -n 1
}

predict_check_all() {
    predict_checked server predict_server
    for i in $(seq "$m"); do
        predict_checked "party-$i" predict_party "$i"
    done
}

predict_start() {
    server_pid='' pids='' whose='' stopped=no cluster_under=$cluster_alone
    trap 'stopped=yes; cluster_signal TERM' INT TERM HUP
    rm -f "$out/server/address" "$out/server/prediction.json"
    predict_server --scores "$scores" 2>"$folder/server/log.txt" &
    server_pid=$!
    cluster_listens || return
    cluster_read_address
    for i in $(seq "$m"); do
        rm -f "$out/party-$i/prediction.json"
        predict_party "$i" --set "server=$address" >"$folder/party-$i/log.txt" 2>&1 &
        pids="$pids $!" whose="$whose $i"
    done
    [ "$stopped" = no ] || cluster_signal TERM
}

# Nobody is asked for what was answered before.
predict_kept() {
    (predict_server --scores "$scores") 2>"$folder/server/log.txt"
    code=$?
    [ "$code" -eq 0 ] || fail "$code" "server: $(predict_words server)"
    mv "$out/server/prediction.json" "$folder/server/summary.json"
    for i in $(seq "$m"); do
        echo "party-$i 0" >>"$folder/codes"
    done
    echo "server 0" >>"$folder/codes"
}

predict_end() {
    cluster_end "$folder/codes"
    orderly
    for side in server $(seq -f 'party-%.0f' "$m"); do
        [ ! -e "$out/$side/prediction.json" ] || mv "$out/$side/prediction.json" "$folder/$side/summary.json"
    done
}

# An answer is of an id: who has changed a row's cells has to be told that it was not looked at.
predict_say_kept() {
    sed -n 's/^# \([0-9]*\) rows, by .* \([0-9]*\) to be asked for$/\1 \2/p' "$folder/server/checked.txt" \
        >"$folder/kept.txt"
    read -r wanted asked <"$folder/kept.txt"
    rm "$folder/kept.txt"
    [ "$wanted" -eq "$asked" ] || say "kept      $((wanted - asked)) of $wanted answers are of their ids:" \
        'where cells have changed, move predict.epoch'
}

# One job of a queue: submitted, waited for, and its scores for their owner alone.
predict_job() {
    state=. ids='' alignment=''
    set -- "$@" --end
    while [ "$1" != --end ]; do
        [ "$2" != --end ] || fail 2 "$1: unknown, or its value is missing (vfl predict --help)"
        case $1 in
        --state) state=$2 ;;
        --ids) ids=$2 ;;
        --out) scores=$2 ;;
        --model | --alignment | --absent | --by | --min-parties)
            [ "$1" != --alignment ] || alignment=$2
            set -- "$@" "$1" "$2"
            ;;
        *) fail 2 "unknown option $1 beside --model (vfl predict --help)" ;;
        esac
        shift 2
    done
    shift
    [ -n "${scores:-}" ] && [ -n "$ids$alignment" ] ||
        fail 2 "--model goes with --out, and --ids or --alignment (vfl predict --help)"
    [ -z "$ids" ] || set -- "$@" "$ids"
    number=$("$vfl_bin/vfl-job" --state "$state" submit predict "$@") || exit $?
    "$vfl_bin/vfl-job" --state "$state" wait "$number" >&2 || exit $?
    if ! (umask 077 && "$vfl_bin/vfl-job" --state "$state" scores "$number" >"$scores.part") ||
        ! mv "$scores.part" "$scores"; then
        rm -f "$scores.part"
        fail 6 "$scores cannot be written"
    fi
}

predict_main() {
    case " $* " in *' --model '*)
        predict_job "$@"
        return
        ;;
    esac
    need flock awk nproc seq setsid setpriv
    # shellcheck source=/dev/null
    . "$vfl_share/sh/cluster.sh"
    predict_read_options "$@"
    for program in vfl-server vfl-party vfl-split vfl-merge vfl-pki; do
        [ -x "$vfl_bin/$program" ] || fail 6 "$vfl_bin/$program is missing (make all)"
    done
    predict_read_plan
    predict_open_folder predictions scores.csv
    predict_split "--${kind:+$kind-}predict" "$data"
    predict_check_all
    if grep -q '^# .* 0 to be asked for$' "$folder/server/checked.txt"; then
        predict_kept
    else
        predict_start
        predict_end
    fi
    cluster_why='' started=yes
    out=$folder # of what follows
    cluster_show
    say "scores    $scores"
    predict_say_kept
    [ "${quiet:-no}" = yes ] ||
        sed -n 's/^# [cl][a-z]* \([0-9]*\) is \(".*\)/score_\1   \2/p' "$folder/server/checked.txt"
}
