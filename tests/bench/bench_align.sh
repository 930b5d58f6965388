#!/bin/sh
# bench_align.sh -- seconds, bytes and memory of an alignment on this machine, beside the exponentiations alone.
#
#   tests/bench/bench_align.sh [PARTIES [IDS...]]
#
# All daemons share the processors: what is divided is the processor time of all of them.
# SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
parties=${1:-3}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 1000 10000
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
alone=$("$root/build/tests/bench/bench_raise")
echo "one exponentiation takes $alone us of a processor; $parties parties, one in eleven ids of each missing"
echo 'ids  seconds  processor_s  exponentiations_s  ratio  bytes_each_party  party_max_kb  server_max_kb  common'
for n in "$@"; do
    tables=
    for who in $(seq 0 "$parties"); do
        {
            echo id
            awk -v n="$n" -v who="$who" 'BEGIN {
                srand(who + 1)
                for (i = 0; i < n * 1.1; i++)
                    if (i % 11 != who % 11)
                        printf "%f,person-%09d\n", rand(), i
            }' | sort | sed 's/.*,//'
        } >"$dir/$who.csv"
        [ "$who" -eq 0 ] || tables="$tables --party $dir/$who.csv"
    done
    rm -rf "$dir/out"
    # shellcheck disable=SC2086 # words
    "$root/deploy/vfl" align --ids "$dir/0.csv" $tables --out "$dir/out" --quiet
    python3 - "$dir/out/summary.json" "$n" "$alone" "$parties" <<'PYTHON'
import json
import sys

s = json.load(open(sys.argv[1]))
n, alone, m = int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
cpu = sum(p["cpu_s"] for p in s["parties"]) + s["server"]["cpu_s"]
raised = (m + 1) ** 2 * s["ids"] * alone / 1e6
total = s["bytes"]["total"]
print("%d  %.2f  %.2f  %.2f  %.2f  %d  %d  %d  %d" % (
    s["ids"], s["time"]["total_s"], cpu, raised, cpu / raised, (total["frame_up"] + total["frame_down"]) // m,
    max(p["max_rss_kb"] for p in s["parties"]), s["server"]["max_rss_kb"], s["common"]))
PYTHON
done
