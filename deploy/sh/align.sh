# shellcheck shell=sh
# align.sh -- the ids that all of some tables have in common, by one job of alignment among daemons of this machine.
#
# A trial: here one hand holds all tables and keys.  Between organisations the same job is `vfl job submit align`, or
# vfl-server --align and vfl-party --align on hosts of their own (docs/aligning.md).
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # variables are shared with ../vfl and cluster.sh

align_usage() {
    cat <<'USAGE'
usage: vfl align --ids FILE --party A.csv --party B.csv ... [--key COLUMN[,COLUMN]]... [--duplicates refuse|first|all]
                 [--fold] [--no-trim] [--unicode nfc|nfkc|none] [--rows common|labelled] [--min N] [--name NAME]
                 [--extends DIR] --out DIR [--quiet]

  --ids FILE       the server's table; --party FILE: one party's; as docs/tables.md has them, rows in any order
  --key            the columns that make an id together; default: id.  Again: what to try on the rows that the keys
                   before have not matched
  --duplicates     an id that is there twice: refuse the table (default), take the first row, or all of them
  --fold           capital and small letters are the same; --no-trim: spaces around a cell count
  --unicode        the form in which cells are compared; default: nfc
  --rows           labelled: all of the server's, with an empty line where a party has none; default: common
  --min N          fewest rows in common that any side goes on with; default: 0
  --extends DIR    of an earlier alignment of as many parties: its rows stay, in their order, and behind them come
                   those of the new ones that all have
  --out DIR        a new folder: server.ids and party-I.ids with the common ids in one order, in each side's own
                   spelling, summary.json, and name: what it is called there
USAGE
}

align_read_options() {
    out='' ids='' key='' keys=0 duplicates=refuse fold=false trim=true unicode=nfc rows=common least=0 m=0
    name='' extends='' tables=''
    while [ $# -gt 0 ]; do
        case $1 in
        --quiet) quiet=yes && shift && continue ;;
        --fold) fold=true && shift && continue ;;
        --no-trim) trim=false && shift && continue ;;
        -h | --help) align_usage && exit 0 ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl align --help)"
        case $2 in *'
'*) fail 2 "$1: a value of several lines" ;; esac
        case $1 in
        --ids) ids=$2 ;;
        --party)
            align_table=$(cluster_source "$2") || exit $?
            m=$((m + 1))
            tables="$tables$align_table
"
            ;;
        --key)
            keys=$((keys + 1))
            [ $keys -ne 2 ] || key="key-1: $key"
            [ $keys -lt 2 ] && key=$2 || key="$key; key-$keys: $2"
            ;;
        --extends) extends=$2 ;;
        --duplicates) duplicates=$2 ;;
        --unicode) unicode=$2 ;;
        --rows) rows=$2 ;;
        --min) number --min "$2" 0 16777216 && least=$2 ;;
        --name) name=$2 ;;
        --out) out=$2 ;;
        *) fail 2 "unknown option $1 (vfl align --help)" ;;
        esac
        shift 2
    done
    [ -n "$ids" ] && [ $m -gt 0 ] && [ -n "$out" ] || fail 2 "--ids, --party and --out are needed (vfl align --help)"
    ids=$(cluster_source "$ids") || exit $?
    [ ! -e "$out" ] || [ -z "$(find "$out" -mindepth 1 -maxdepth 1 | head -n 1)" ] || fail 2 "$out is not empty"
    align_read_extended
    own_folder "$out"
    out=$(readlink -f "$out")
    exec 9>"$out/lock" || fail 6 "$out cannot be written"
    flock -n 9 || fail 2 "$out: an alignment is running there"
}

# What is extended: its name there, and another one for what comes of it.
align_read_extended() {
    old=''
    [ -n "$extends" ] || { name=${name:-common} && return; }
    old=$(cat "$extends/name" 2>/dev/null)
    case $old in '' | *[!a-z0-9-]*) fail 2 "$extends: no alignment of vfl align" ;; esac
    for side in server $(seq -f 'party-%.0f' "$m"); do
        [ -f "$extends/$side/alignments/$old" ] || fail 2 "$extends: $side has no part in $old"
    done
    name=${name:-$(align_next "$old")}
}

# NAME, NAME-2, NAME-3
align_next() { # NAME
    align_number=$(expr "x$1" : 'x.*-\([1-9][0-9]\{0,5\}\)$')
    [ -n "$align_number" ] && printf '%s-%d' "${1%-*}" "$((align_number + 1))" || printf '%s-2' "$1"
}

align_bring_extended() {
    for side in server $(seq -f 'party-%.0f' "$m"); do
        (umask 077 && mkdir -p "$out/$side/alignments" &&
            cp "$extends/$side/alignments/$old" "$out/$side/alignments/$old") ||
            fail 6 "$out/$side/alignments cannot be written"
    done
}

align_config() { # ROLE POLICY MORE-OF-ALIGN
    printf '# Written by vfl align.\n'
    printf 'identity: {cert: %s.crt, key: %s.key, ca: ../pki/ca.crt, crl: ../pki/ca.crl}\n' "$1" "$1"
    printf 'roster: ../roster.yaml\nstate: .\nstate_key: state.key\n'
    printf 'align: {trim: %s, fold: %s}\n' "$trim" "$fold"
    printf 'policy: {%salign: {max_ids: 16777216, max_ids_of_all: 4294967295, min_result: %s%s}}\n' "$2" "$least" "$3"
}

# Names of files and columns are the user's: they go to the daemons as arguments, past YAML and the shell.
align_daemon() { # server|I TABLE ARGUMENTS...
    align_who=$1 align_table=$2
    shift 2
    set -- "$@" --set "align.table=$align_table" --set "align.duplicates=$duplicates" --set "align.unicode=$unicode"
    [ -z "$key" ] || set -- "$@" --set "align.key=$key"
    if [ "$align_who" = server ]; then
        set -- "$vfl_bin/vfl-server" -c "$out/server/config.yaml" --align "$name" --set "labels.train=$align_table" \
            --set "align.rows=$rows" --set listen=127.0.0.1:0 ${old:+--extends "$old"} \
            --set "limits.connections_per_address=$((2 * m + 8))" "$@"
    else
        set -- "$vfl_bin/vfl-party" -c "$out/party-$align_who/config.yaml" --align --set "data.train=$align_table" "$@"
    fi
    # shellcheck disable=SC2086 # words
    exec $cluster_under "$@"
}

# What one side cannot read is refused here, in its words, before anybody waits for the others.
align_checked() { # FOLDER WHO TABLE ARGUMENTS...
    align_folder=$1
    shift
    (align_daemon "$@" -n) >"$out/$align_folder/checked.txt" 2>"$out/$align_folder/log.txt" && return
    code=$?
    fail "$code" "$align_folder: $(cluster_words "$align_folder")"
}

# TABLE of party I.
align_table() { # I
    printf '%s' "$tables" | sed -n "$1p"
}

align_start() {
    server_pid='' pids='' whose='' stopped=no interrupted=no cluster_under=$cluster_alone
    trap cluster_interrupted INT TERM HUP
    align_daemon server "$ids" 2>"$out/server/log.txt" &
    server_pid=$!
    cluster_listens || return
    cluster_read_address
    for i in $(seq "$m"); do
        align_daemon "$i" "$(align_table "$i")" --set "server=$address" >"$out/party-$i/log.txt" 2>&1 &
        pids="$pids $!" whose="$whose $i"
    done
    [ "$stopped" = no ] || cluster_signal TERM
}

# What a side keeps begins behind an empty line, each id of `all` behind the number of its row.
align_write() {
    for side in server $(seq -f 'party-%.0f' "$m"); do
        align_number=
        [ "$duplicates" != all ] || align_number='s/^[0-9]*\t//'
        sed "1,/^\$/d; $align_number" "$out/$side/alignments/$name" >"$out/$side.ids" ||
            fail 6 "$out/$side.ids cannot be written"
    done
    printf '%s\n' "$name" >"$out/name" || fail 6 "$out/name cannot be written"
}

align_main() {
    need flock awk nproc seq setsid setpriv
    # shellcheck source=/dev/null
    . "$vfl_share/sh/cluster.sh"
    # shellcheck source=/dev/null
    . "$vfl_share/sh/data.sh"
    align_read_options "$@"
    for program in vfl-server vfl-party vfl-merge vfl-pki; do
        [ -x "$vfl_bin/$program" ] || fail 6 "$vfl_bin/$program is missing (make all)"
    done
    "$vfl_bin/vfl-pki" local --out "$out" --parties "$m" || exit $?
    [ -z "$old" ] || align_bring_extended
    cluster_under='' cluster_why='' started=yes
    align_config server '' '' >"$out/server/config.yaml"
    align_checked server server "$ids"
    for i in $(seq "$m"); do
        align_config party "min_parties: 1, min_m_eff: 1, " ', rows: [common, labelled]' >"$out/party-$i/config.yaml"
        align_checked "party-$i" "$i" "$(align_table "$i")" --set server=127.0.0.1:1
    done
    align_start
    cluster_end "$out/codes"
    orderly
    for side in server $(seq -f 'party-%.0f' "$m"); do
        [ ! -e "$out/$side/alignment.json" ] || cp "$out/$side/alignment.json" "$out/$side/summary.json"
    done
    cluster_show
    align_write
    say "result    $out/summary.json"
}
