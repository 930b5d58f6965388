# shellcheck shell=sh
# contribution.sh -- what each party adds to the score of a model: of a trial cluster by one more job of its daemons, of
# a federation's own job by the answers that it has left (vfl-contribution).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # variables are shared with ../vfl, cluster.sh and predict.sh

# shellcheck source=/dev/null
. "$vfl_share/sh/predict.sh"

contribution_usage() {
    cat <<'USAGE'
usage: vfl contribution --run DIR --data FILE [--permutations N] [--features I[,J]] [--resamples N] [--out FILE]
                        [--quiet]
       vfl contribution --answers FILE --labels FILE [--state DIR [--model RUN]] [--resamples N] [--out FILE]

  --run DIR         the folder of a trial cluster that is complete (vfl cluster --out DIR)
  --data FILE       CSV, plain or .gz, with the columns that the cluster was trained on, labels among them
  --permutations N  of N orders of the parties instead of all sets of them (more than six parties: 16)
  --features I,J    and of each column of these parties, mixed up among the rows
  --resamples N     rows are drawn anew N times for the standard errors (200)
  --out FILE        the table as CSV; default: DIR/contributions/N/contribution.csv
  --answers FILE    or what a job of a standing server has left (vfl job answers N), and with --labels the labels
                    of its rows; `vfl-contribution --help` has the rest

DIR/contributions/N/summary.json has values, rows, bytes, seconds and the price.  Each answer is a release of its row.
USAGE
}

contribution_read_options() {
    out='' data='' scores='' absent='' orders='' features='' resamples=200
    while [ $# -gt 0 ]; do
        case $1 in
        --quiet) quiet=yes && shift && continue ;;
        -h | --help) contribution_usage && exit 0 ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl contribution --help)"
        case $1 in
        --run) out=$2 ;;
        --data) data=$2 ;;
        --out) scores=$2 ;;
        --permutations) number "$1" "$2" 1 1024 && orders=$2 ;;
        --resamples) number "$1" "$2" 2 100000 && resamples=$2 ;;
        --features)
            case $2 in '' | *[!0-9,]* | 0* | *,0* | *[0-9][0-9][0-9][0-9][0-9]*)
                fail 2 "--features $2: numbers of parties expected, from 1" ;;
            esac
            features=$2
            ;;
        *) fail 2 "unknown option $1 (vfl contribution --help)" ;;
        esac
        shift 2
    done
    [ -n "$out" ] && [ -n "$data" ] || fail 2 "--run and --data are needed (vfl contribution --help)"
    predict_find_run
    [ -z "$(sed -n 's/^\(idx\|npy\|cifar\)-train //p' "$out/plan.txt")" ] ||
        fail 2 "--run $out: a cluster of images or arrays, of which there are no contributions"
}

# Instead of predict.sh's, which is read first: what is asked, and of parties that are all the caller's and take part.
predict_server() { # ARGUMENTS...
    [ -z "$orders" ] || set -- "$@" --permutations "$orders"
    [ -z "$mixed" ] || set -- "$@" --columns "$mixed"
    set -- --ids "$folder/data/ids-predict.txt" --set listen=127.0.0.1:0 "$@"
    cluster_daemon server --contribute "$model" "$@"
}

predict_party() { # I ARGUMENTS...
    predict_who=$1
    shift
    cluster_daemon "$predict_who" --predict "$model" \
        --set "data.predict=$folder/data/party-$predict_who-predict.csv" \
        --set "policy.contribute.max_rows=$rows" --set policy.contribute.columns=1024 "$@"
}

# How many columns they have, by their own word, becomes p1=3,p2=4.
contribution_find_columns() {
    mixed=
    for i in $(printf '%s' "$features" | tr ',' ' '); do
        [ "$i" -ge 1 ] && [ "$i" -le "$m" ] || fail 2 "--features $i: there are $m parties"
        predict_checked "party-$i" predict_party "$i"
        columns=$(sed -n 's/^# the model has \([0-9]*\) columns here.*/\1/p' "$folder/party-$i/checked.txt")
        [ -n "$columns" ] || fail 2 "--features $i: sums without noise"
        mixed=$mixed${mixed:+,}p$i=$columns
    done
}

contribution_cut() {
    value=$(sed -n 's/^label-map //p' "$out/plan.txt")
    set --
    case $value in '' | none) ;; *) set -- --label-map "$value" ;; esac
    predict_split --predict "$data" --with-labels "$@"
    tail -n +2 "$folder/data/labels-predict.csv" | cut -d, -f1 >"$folder/data/ids-predict.txt"
    rows=$(wc -l <"$folder/data/ids-predict.txt")
}

# Names are each party's own; here all parties are the caller's.
contribution_say_columns() {
    [ -z "$mixed" ] || [ "${quiet:-no}" = yes ] || for i in $(seq "$m"); do
        sed -n "s/.*contributions: column \([0-9]*\) is \(\".*\"\)\$/p$i:\1   \2/p" "$folder/party-$i/log.txt"
    done
}

contribution_main() {
    case " $* " in *' --answers '*) exec "$vfl_bin/vfl-contribution" "$@" ;; esac
    need flock awk nproc seq setsid setpriv
    # shellcheck source=/dev/null
    . "$vfl_share/sh/cluster.sh"
    contribution_read_options "$@"
    for program in vfl-server vfl-party vfl-split vfl-merge vfl-pki vfl-contribution; do
        [ -x "$vfl_bin/$program" ] || fail 6 "$vfl_bin/$program is missing (make all)"
    done
    predict_read_plan
    predict_open_folder contributions contribution.csv
    contribution_cut
    csv=$scores scores=$folder/answers.csv state=$out/server
    contribution_find_columns
    predict_check_all
    predict_start
    predict_end
    cluster_why='' started=yes
    out=$folder # of what follows
    cluster_show
    "$vfl_bin/vfl-contribution" --answers "$scores" --labels "$folder/data/labels-predict.csv" --state "$state" \
        --model "$model" --resamples "$resamples" --out "$csv" --summary "$folder/summary.json" \
        >"$folder/table.txt" || exit $?
    [ "${quiet:-no}" = yes ] || cat "$folder/table.txt"
    contribution_say_columns
    say "result    $csv"
}
