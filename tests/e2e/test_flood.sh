#!/bin/sh
# test_flood.sh -- hostile connections all the while a run trains: it ends with the same models, and the server's
# memory does not grow.  tests/bench/bench_flood.sh does the same with 100,000.
#
# FLOOD_SEED repeats the choice of what they do (what meets is not repeatable), FLOOD_CONNECTIONS changes their number.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

connections=${FLOOD_CONNECTIONS:-400}
seed=${FLOOD_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
printf '      FLOOD_SEED=%s\n' "$seed"

# MiB; each of the 64 that may wait takes some 60 KiB.  A sanitizer keeps what was freed for a while: 256 MiB.
growth=8
! grep -qaE '__(asan|tsan)_init' "$VFL_BIN/vfl-server" || growth=400

expect 0 '' 'an undisturbed run' timeout 600 "$vfl" cluster --quiet --out base --parties 3 --seed 7 \
    --set training.epochs=40 --set training.evaluate_every=0.2 --set protocol.patience_ms=600000 \
    --party '*:model.layers=[8]'
[ -e base/server/summary.json ] || closing
expect 0 "^connections $connections$" "$connections hostile connections, and models, scores and ledgers of that run" \
    timeout 800 python3 "$root/tests/e2e/flood.py" base flood "$connections" "$seed" --slow 0.01 --growth $growth
sed 's/^/      /' said
closing
