#!/bin/sh
# start.sh -- the initial weights of run.sh's runs, for the --start of tests/golden/model_pbm_vfl.py.
#
#   docs/experiments/phishing/start.sh phishing.csv.gz FOLDER
#
# One round of each init and seed (1, 2, 3, or SEEDS) at a learning rate that moves no weight; the models go to
# FOLDER/start/INIT-SEED.  Initial weights depend on the seed and on model.init, not on the encoding.
# SPDX-License-Identifier: Apache-2.0
set -eu

here=$(dirname "$(readlink -f "$0")")
if [ $# -ne 2 ]; then
    echo "usage: start.sh phishing.csv[.gz] FOLDER" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for init in glorot he torch; do
    for seed in ${SEEDS:-1 2 3}; do
        "$here/../../../deploy/vfl" cluster --quiet --train "$1" --parties 5 --seed "$seed" --out "$work/run" \
            --set model.init="$init" --set training.epochs=0.01 --set training.evaluate_every=0 \
            --set training.learning_rate=1e-30 --set training.optimizer=sgd --set training.schedule=constant \
            --set protocol.pbm.trials=64 --set model.embedding=16 \
            --party '*:data.scale=fit' --party '*:model.layers=[64,64]' </dev/null
        for who in server party-1 party-2 party-3 party-4 party-5; do
            mkdir -p "$2/start/$init-$seed/$who"
            cp "$work/run/$who/model.safetensors" "$2/start/$init-$seed/$who/"
        done
        rm -rf "$work/run"
    done
done
