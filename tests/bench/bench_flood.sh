#!/bin/sh
# bench_flood.sh -- what 100,000 hostile connections do to a training run: its model, the server's memory, its rounds.
#
# Two runs, each beside the same one left alone and each in five waves with quiet seconds between, so that rounds in a
# wave are compared with rounds of the same processes before it.  In the first, with two processors or more, the
# attackers have one for themselves and the daemons another; in the second they take from all what they can get, and
# the figure says also how much of a processor an attacker needs, which he would take at home.
#
# FLOOD_CONNECTIONS: how many in each run.  FLOOD_RATE: at most so many a second (0: as many as they can).
# FLOOD_EPOCHS: the length of training.  VFL_BIN: other programs.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

connections=${FLOOD_CONNECTIONS:-100000}

alone=$(python3 -c 'import os; p = sorted(os.sched_getaffinity(0)); print((p[1:] or p)[0])')
taskset -c "$alone" "$vfl" cluster --quiet --out base --parties 3 --seed 7 --set training.evaluate_every=2 \
    --set training.epochs="${FLOOD_EPOCHS:-40000}" --set protocol.patience_ms=600000 \
    --party '*:model.layers=[8]' || exit

flood() { # WHAT OPTIONS...
    printf '%s\n' "$1"
    shift
    rm -rf flood
    python3 "$root/tests/e2e/flood.py" base flood "$connections" 1 --waves 5 --quiet 5 --hold 0.95 \
        --rate "${FLOOD_RATE:-0}" "$@" >said || failed=1
    sed 's/^/    /' said
}

flood 'a processor each' --apart
flood 'all processors shared'
exit "$failed"
