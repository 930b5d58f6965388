#!/bin/sh
# test_durability.sh -- a process killed in a durable call, or a disk that fails it: recovered or refused in order.
#
# DURABILITY_EVERY=1 (make durability) tries every durable call of a run in every mode; otherwise a sample.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

shim=${DISK_FAULTS_SO:-$root/build/tests/lib/disk_faults.so}

expect 0 '' 'an undisturbed run' timeout 600 "$vfl" cluster --quiet --out base --parties 2 --seed 7 \
    --set training.epochs=4 --set training.batch=100 --set protocol.patience_ms=15000 --set checkpoint_rounds=4 \
    --party '*:checkpoint_rounds=4' --party '*:model.layers=[8]'
[ -e base/server/summary.json ] || closing
same ' "rounds": 20,' "$(grep '"rounds"' base/server/summary.json)" 'has 20 rounds'

python3 "$root/tests/e2e/durability.py" base "$shim" cases "${DURABILITY_EVERY:-37}" >results 2>trouble
while IFS= read -r line; do
    case $line in
    'ok '*) ok "${line#ok    }" ;;
    'FAIL '*) : >said && not_ok "${line#FAIL  }" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <results
cp trouble said
same '' "$(cat trouble)" 'the sweep itself had no trouble'
same 36 "$(grep -c '^ok\|^FAIL' results)" 'two sides, and two started again, were tried in nine modes'
closing
