#!/bin/sh
# run.sh -- runs fuzz targets, each for SECONDS: one line for each, what broke one in hex, and one
# closing line for all: 'N passed, N failed'.
#
# usage: run.sh DIR SECONDS PROGRAM...   DIR takes what comes of it: new inputs in corpus/TARGET,
# which the next run begins with, the log, and what broke a target: that is tried first, is gone
# when it breaks nothing any more, and as long as it does nothing new is looked for.  The committed
# inputs are read only.  JOBS targets run at a time (default: one per processor).
# SPDX-License-Identifier: Apache-2.0
set -u

# broken TARGET: what there is to say of a target that failed, an input of it first
broken() {
    for input in "$DIR/$1"-*; do
        [ -f "$input" ] || continue
        echo "$input, $(wc -c <"$input") bytes, in hex:"
        od -An -v -tx1 "$input" | tr -d ' \n'
        echo
    done
    tail -n 60 "$DIR/$1.log"
}

# still_broken PROGRAM TARGET: by what broke it before; what no longer does is removed
still_broken() {
    still=1
    : >"$DIR/$2.log"
    for input in "$DIR/$2"-*; do
        [ -f "$input" ] || continue
        if "$1" -timeout=20 "$input" >>"$DIR/$2.log" 2>&1 </dev/null; then
            rm -f "$input"
        else
            still=0
        fi
    done
    return $still
}

# seek PROGRAM TARGET: new inputs, its log and its exit code
seek() {
    "$1" -max_total_time="$SECONDS_EACH" -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$DIR/$2-" "$DIR/corpus/$2" "tests/fuzz/corpus/$2" \
        >"$DIR/$2.log" 2>&1 </dev/null
}

# one PROGRAM: its line on the terminal, its result in a file of $RUN_DIR
one() {
    target=${1##*/fuzz_}
    mkdir -p "$DIR/corpus/$target"
    began=$(date +%s)
    if still_broken "$1" "$target"; then
        code=1
    else
        seek "$1" "$target"
        code=$?
    fi
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$DIR/$target.log")
    edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$DIR/$target.log" | tail -n 1)
    [ "${n:-0}" -gt 0 ] || [ "$code" -ne 0 ] || code=1
    echo "$code ${n:-0}" >"$RUN_DIR/results/$target"
    if [ "$code" -eq 0 ]; then
        printf 'ok    %s: %d executions, %d s, %d edges\n' "$target" "$n" \
            $(($(date +%s) - began)) "${edges:-0}"
    else
        {
            printf 'FAIL  %s (exit %d)\n' "$target" "$code"
            broken "$target" | sed 's/^/      /'
        } >"$RUN_DIR/said.$target"
        cat "$RUN_DIR/said.$target"
    fi
}

if [ "${1:-}" = --one ]; then
    one "$2"
    exit 0
fi

DIR=$1 SECONDS_EACH=$2
shift 2
# What a target writes need not outlive it, and is not what takes its time.
RUN_DIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 6
TMPDIR=$RUN_DIR/files
export DIR SECONDS_EACH RUN_DIR TMPDIR
trap 'rm -rf "$RUN_DIR"' EXIT
trap 'exit 130' INT TERM
mkdir "$RUN_DIR/files" "$RUN_DIR/results"
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one
cat "$RUN_DIR"/results/* | awk -v n=$# '
    $1 == 0 { passed++ }
    { executions += $2 }
    END {
        printf "%d executions\n", executions
        printf "%d passed, %d failed\n", passed, n - passed # what left no result did not run
        exit passed < n || n == 0
    }'
