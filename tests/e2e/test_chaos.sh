#!/bin/sh
# test_chaos.sh -- fifty kills in one training run, and the model of an undisturbed one.
#
# CHAOS_SEED repeats the choice of processes and moments (what meets at those moments is not repeatable),
# CHAOS_KILLS changes their number.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

kills=${CHAOS_KILLS:-50}
seed=${CHAOS_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
printf '      CHAOS_SEED=%s\n' "$seed"

# An evaluation after every round shows that there was one.
for how in masked coded; do
    expect 0 '' "$how: an undisturbed run" timeout 600 "$vfl" cluster --quiet --out $how --parties 3 --seed 7 \
        --set protocol.aggregation=$how --set training.epochs=100 --set training.evaluate_every=0.2 \
        --set protocol.patience_ms=20000 --set checkpoint_rounds=16 --party '*:checkpoint_rounds=16' \
        --party '*:model.layers=[8]'
    [ -e $how/server/summary.json ] || closing
    expect 0 "^kills $kills$" "$how: $kills kills, and the models, scores and ledgers of that run" \
        python3 "$root/tests/e2e/chaos.py" $how chaos-$how "$kills" "$seed"
    sed 's/^/      /' said
done
closing
