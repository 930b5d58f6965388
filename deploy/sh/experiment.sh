# shellcheck shell=sh
# experiment.sh -- every run of a grid, some at a time, each one `vfl cluster`.
#
# vfl-grid says what the runs are and writes the tables; this starts them, ends them by their numbers, and keeps what
# became of each: DIR/runs/ID is the run's folder, DIR/logs/ID.log what it said, DIR/logs/ID.code its exit code.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

experiment_usage() {
    cat <<'USAGE'
usage: vfl experiment GRID.yaml [--data FOLDER] [--out DIR] [--jobs N] [--only WORD] [--continue]
                      [-n | --dry-run] [--quiet]

  --data FOLDER    where relative names of data files in the grid begin; default: the grid's own folder
  --out DIR        default: runs/NAME, by the grid's name; runs that are done there are left alone
  --jobs N         how many runs at a time; default: what the grid says, or processors / half a run's processes
  --only WORD      just the runs with WORD in their ids
  --continue       unfinished runs go on from their checkpoints; otherwise they begin anew, since their bytes and
                   seconds would be those of the last process alone, and their cells would stay empty
  -n, --dry-run    check the grid, list its runs and their commands, start nothing

Writes DIR/results.csv (a row for each evaluation), DIR/runs.csv (a row for each run) and DIR/failed.  Runs that fail
do not stop the others; the exit code is then the first of 2, 5, 3, 6, 4 among theirs.  130: interrupted.
USAGE
}

experiment_read_options() {
    grid='' data='' out='' jobs='' only='' dry=no go_on=no
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) experiment_usage && exit 0 ;;
        -n | --dry-run) dry=yes && shift && continue ;;
        --continue) go_on=yes && shift && continue ;;
        --quiet) quiet=yes && shift && continue ;;
        --*) [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl experiment --help)" ;;
        *)
            [ -z "$grid" ] || fail 2 "$1: there is a grid already, $grid"
            grid=$1
            shift
            continue
            ;;
        esac
        case $1 in
        --data) data=$2 ;;
        --out) out=$2 ;;
        --jobs) number --jobs "$2" 1 1024 && jobs=$2 ;;
        --only) only=$2 ;;
        *) fail 2 "unknown option $1 (vfl experiment --help)" ;;
        esac
        shift 2
    done
    [ -n "$grid" ] || fail 2 "which grid? (vfl experiment --help)"
}

# vfl-grid with this experiment's options; its words are good as they stand.
experiment_grid() { # MODE [OPTION...]
    experiment_mode=$1
    shift
    [ -z "$data" ] || set -- "$@" --data "$data"
    [ -z "$out" ] || set -- "$@" --out "$out"
    "$vfl_bin/vfl-grid" "$experiment_mode" "$@" "$grid"
}

# The folder, this experiment's alone, with the list of runs in it.
experiment_open() {
    set --
    [ -z "$only" ] || set -- --only "$only"
    list=$(mktemp) || fail 6 "no temporary file"
    trap 'rm -f "$list"' EXIT
    experiment_grid runs "$@" >"$list" || exit $?
    IFS=$tab read -r out grid_jobs parties <"$list"
    own_folder "$out"
    mkdir -p "$out/runs" "$out/logs" || fail 6 "$out cannot be made"
    out=$(readlink -f "$out")
    exec 8>"$out/lock" || fail 6 "$out cannot be written"
    flock -n 8 || fail 2 "$out: an experiment is running there"
    # What was done before the lock was ours may be done now; and ids are made under the folder's key.
    experiment_grid runs --begin "$@" >"$list" || exit $?
    cp "$grid" "$out/grid.yaml" || fail 6 "$out cannot be written"
    total=$(($(wc -l <"$list") - 1))
    before=$(cut -f 2 "$list" | grep -cx 'done')
    [ -n "$jobs" ] || jobs=$grid_jobs
    # Of a run's server and parties about half compute at a time.
    [ "$jobs" -gt 0 ] || jobs=$(($(nproc) / ((parties + 2) / 2)))
    [ "$jobs" -gt 0 ] || jobs=1
}

# --- one run ---

# An unfinished run's folder goes, once nobody works there any more.
experiment_clear() { # ID
    rm -f "$out/logs/$1.code" "$out/logs/$1.continued"
    [ -e "$out/runs/$1" ] || return 0
    (
        exec 9>"$out/runs/$1/lock" && flock -w 120 9 || exit 1
        find "$out/runs/$1" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
    ) || fail 6 "$out/runs/$1: still at work, or not to be removed"
}

# The run is a group of its own, so that a terminal's Ctrl-C reaches it through this script alone; when this script is
# killed, the run is told to end, or does not begin.
experiment_start() { # LINE
    IFS=$tab
    set -f
    # shellcheck disable=SC2086 # words
    set -- $1
    set +f
    unset IFS
    id=$1
    shift 2
    if [ "$go_on" = no ]; then
        experiment_clear "$id"
    elif [ -e "$out/runs/$id" ]; then
        rm -f "$out/logs/$id.code"
        : >"$out/logs/$id.continued"
    fi
    # shellcheck disable=SC2016 # that shell's
    setsid setpriv --pdeathsig TERM -- sh -c '[ $PPID = "$0" ] && exec "$@"' $$ \
        "$here/vfl" cluster --quiet --out "$out/runs/$id" "$@" >"$out/logs/$id.log" 2>&1 </dev/null 3<&- 8>&- &
    running="$running $!:$id"
    at_work=$((at_work + 1))
}

# Sets code to the exit code of a run that has ended; a signal to this script does not end the wait.
experiment_ended() { # PID ID
    wait "$1"
    code=$?
    at_work=$((at_work - 1))
    ended=$((ended + 1))
    rm -f "$out/logs/$2.code"
    if experiment_is_done "$2"; then
        # The split columns can be made again from the set, and would be there for every run.
        rm -rf "$out/runs/$2/data"
    elif [ $code -ne 0 ] && [ "$stopped" = yes ]; then
        return # the end that our own signal made
    elif [ $code -ne 0 ]; then
        failures=$((failures + 1))
        codes="$codes $code"
        experiment_complain "$2"
    fi
    echo $code >"$out/logs/$2.code"
}

# A privacy budget ends a run with an error, and is a result.
experiment_is_done() { # ID
    grep -qs '^ "status": "budget"' "$out/runs/$1/summary.json" ||
        { [ "$code" -eq 0 ] && grep -Eqs '^ "status": "(completed|target)"' "$out/runs/$1/summary.json"; }
}

experiment_complain() { # ID
    [ "$shown" = no ] || printf '\r\033[K' >&2
    printf 'vfl experiment: %s: exit %s: %s\n' "$1" "$code" "$(tail -n 1 "$out/logs/$1.log")" >&2
}

# --- all of them ---

# Each run is told once: a second signal may come when a daemon is past taking the first one well.
experiment_tell() {
    for experiment_run in $running; do
        case " $told " in *" $experiment_run "*) continue ;; esac
        kill -TERM "${experiment_run%%:*}" 2>/dev/null
        told="$told $experiment_run"
    done
}

# Waits until at least one of the runs at work has ended.
experiment_reap() {
    experiment_before=$ended
    while :; do
        [ "$stopped" = no ] || experiment_tell
        left=
        for experiment_run in $running; do
            if cluster_alive "${experiment_run%%:*}"; then
                left="$left $experiment_run"
            else
                experiment_ended "${experiment_run%%:*}" "${experiment_run#*:}"
            fi
        done
        running=$left
        [ "$ended" -eq "$experiment_before" ] || return 0
        sleep 0.1
    done
}

# One line: done, at work, failed, and how long the rest will take if it takes as long as these did.
experiment_progress() {
    [ "${quiet:-no}" = no ] || return 0
    experiment_line="$((before + ended)) of $total runs, $at_work at work"
    [ "$failures" -eq 0 ] || experiment_line="$experiment_line, $failures failed"
    if [ "$ended" -gt 0 ] && [ $((before + ended)) -lt "$total" ] && [ "$stopped" = no ]; then
        passed=$(($(date +%s) - began))
        experiment_line="$experiment_line, about $(experiment_time $((passed * (total - before - ended) / ended))) left"
    fi
    if [ -t 1 ]; then
        printf '\r%s\033[K' "$experiment_line"
        shown=yes
    else
        printf '%s\n' "$experiment_line"
    fi
}

experiment_time() { # SECONDS
    if [ "$1" -lt 120 ]; then
        echo "$1 s"
    elif [ "$1" -lt 7200 ]; then
        echo "$(($1 / 60)) min"
    else
        echo "$(($1 / 3600)) h"
    fi
}

experiment_tables() {
    experiment_grid tables || exit $?
}

experiment_run_all() {
    running='' told='' at_work=0 ended=0 failures=0 codes='' stopped=no shown=no more=yes
    began=$(date +%s)
    tables=$began
    trap 'stopped=yes' INT TERM HUP
    exec 3<"$list"
    IFS= read -r experiment_head <&3
    while :; do
        while [ $more = yes ] && [ $stopped = no ] && [ $at_work -lt "$jobs" ]; do
            IFS= read -r experiment_next <&3 || more=no
            case $experiment_next in
            *"${tab}todo$tab"*) [ $more = no ] || experiment_start "$experiment_next" ;;
            esac
        done
        [ $at_work -gt 0 ] || break
        [ -t 1 ] && experiment_progress
        experiment_reap
        [ -t 1 ] || experiment_progress
        # For those who watch.
        [ $(($(date +%s) - tables)) -lt 30 ] || {
            experiment_tables
            tables=$(date +%s)
        }
    done
    exec 3<&-
    orderly
    [ $shown = no ] || printf '\n'
}

# The documented order of causes; whatever else a code was (a signal), it was a local failure.
experiment_verdict() {
    [ -n "$codes" ] || return 0
    for want in 2 5 3 6 4; do
        case " $codes " in *" $want "*) return $want ;; esac
    done
    return 6
}

experiment_main() {
    need flock setsid setpriv nproc
    # shellcheck source=/dev/null
    . "$vfl_share/sh/cluster.sh"
    tab=$(printf '\t')
    experiment_read_options "$@"
    [ -x "$vfl_bin/vfl-grid" ] || fail 6 "$vfl_bin/vfl-grid is missing (make all)"
    if [ $dry = yes ]; then
        set --
        [ -z "$only" ] || set -- --only "$only"
        experiment_grid list "$@"
        exit
    fi
    experiment_open
    say "experiment in $out: $total runs, $before of them done, $jobs at a time"
    experiment_run_all
    experiment_tables
    if [ $stopped = yes ]; then
        say "interrupted: the same command goes on"
        exit 130
    fi
    say "results   $out/results.csv, $out/runs.csv"
    experiment_verdict || {
        code=$?
        say "failed    $failures of $((ended)) runs: $out/failed; the same command tries them again"
        exit $code
    }
}
