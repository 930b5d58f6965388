#!/bin/sh
# run.sh -- runs test programs and scripts from the project's root: one line for each, the output
# of those that fail, and one closing line for all: 'N passed, N failed'.
#
# Programs and scripts are two queues side by side, each in the order given: of programs several at a
# time (JOBS, default: one per processor), of scripts, which wait half of the time, twice as many.  A
# program says how many tests it ran in cmocka's words or by a closing line like ours; one that dies,
# runs out of time (LIMIT seconds) or runs no test at all has failed; one that skips all of its tests,
# since the machine lacks what they are about, has a line that says so.
# SPDX-License-Identifier: Apache-2.0
set -u
# Debian's Python, which the packages bring numpy to; a manager of several starts it through a script
# that takes ten times as long.
PATH=/usr/bin:/bin:$PATH
# Files of tests are synced to the disk all the time, and are nobody's afterwards: in memory, where there
# is a folder for them with room, and programs in it may be started, that takes no time.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w $memory ] &&
    [ "$(df -Pk $memory 2>/dev/null | awk 'NR == 2 { print $4 + 0 }')" -gt 4000000 ]; then
    trial=$(mktemp $memory/colonnade-XXXXXX) && echo 'exit 0' >"$trial" && chmod +x "$trial" && "$trial" 2>/dev/null &&
        export TMPDIR=$memory
    rm -f "$trial"
fi

# one PROGRAM: its line on the terminal, its counts in a file of $RUN_DIR
one() {
    name=${1#"$PWD"/} skipped=0
    out=$RUN_DIR/$(printf '%s' "$name" | tr / -)
    case $1 in /*) program=$1 ;; *) program=./$1 ;; esac
    began=$(date +%s)
    # shellcheck disable=SC2086 # UNDER: a program with its options, for instance valgrind
    timeout -k 10 "${LIMIT:-900}" ${UNDER:-} "$program" >"$out" 2>&1 </dev/null
    code=$?
    if grep -q '^\[ RUN ' "$out"; then
        ran=$(grep -c '^\[ RUN ' "$out")
        passed=$(grep -c '^\[       OK ' "$out")
        skipped=$(grep '^\[  SKIPPED \] [^ ]*$' "$out" | sort -u | wc -l) # said twice
        failed=$((ran - passed - skipped))
    else
        passed=$(sed -n '$s/^\([0-9]*\) passed, [0-9]* failed$/\1/p' "$out")
        failed=$(sed -n '$s/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$out")
    fi
    passed=${passed:-0} failed=${failed:-0} skipped=${skipped:-0}
    [ "$code" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    [ $((passed + failed + skipped)) -gt 0 ] || failed=1
    echo "$passed $failed $(($(date +%s) - began)) $name" >"$out.count"
    if [ "$failed" -eq 0 ] && [ "$passed" -eq 0 ]; then
        printf 'skip  %s (%d)\n' "$name" "$skipped"
    elif [ "$failed" -eq 0 ]; then
        printf 'ok    %s (%d)\n' "$name" "$passed"
    else
        {
            printf 'FAIL  %s (exit %d)\n' "$name" "$code"
            if [ "$(wc -l <"$out")" -le 120 ]; then
                cat "$out"
            else
                head -n 60 "$out" && echo ... && tail -n 60 "$out"
            fi | sed 's/^/      /'
        } >"$out.said"
        cat "$out.said"
    fi
}

if [ "${1:-}" = --one ]; then
    one "$2"
    exit 0
fi

RUN_DIR=$(mktemp -d) || exit 6
export RUN_DIR
trap 'rm -rf "$RUN_DIR"' EXIT
trap 'exit 130' INT TERM
: >"$RUN_DIR/programs"
: >"$RUN_DIR/scripts"
for t in "$@"; do
    case $t in
    *.sh | *.py) printf '%s\n' "$t" >>"$RUN_DIR/scripts" ;;
    *) printf '%s\n' "$t" >>"$RUN_DIR/programs" ;;
    esac
done
jobs=${JOBS:-$(nproc)}
queue() { # FILE JOBS
    xargs -r -P "$2" -n 1 "$0" --one <"$1" >&3 3>&-
}
# A pipe, through which nothing goes, has both queues in the foreground, where ^C is heard.
{ queue "$RUN_DIR/scripts" $((2 * jobs)) | queue "$RUN_DIR/programs" "$jobs"; } 3>&1
sort -k 3nr "$RUN_DIR"/*.count | awk '$3 >= 10 && NR <= 5 { out = out ", " $4 " " $3 " s" }
    END { if (out != "") print "longest: " substr(out, 3) }'
cat "$RUN_DIR"/*.count | awk -v n=$# '
    { passed += $1; failed += $2 }
    END {
        if (NR != n) failed += n - NR # what left no count did not run
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }'
