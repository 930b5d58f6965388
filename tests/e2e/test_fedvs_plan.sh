#!/bin/sh
# test_fedvs_plan.sh -- what `-n` says of plans under fedvs: a price for each field, and each refusal with its reason.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

expect 0 '' 'seven parties' timeout 600 "$vfl" cluster --quiet --out run --parties 7 --seed 7 --set training.epochs=0.1

# shellcheck disable=SC2317 # called by expect
plan() { # SETTING...
    for setting; do
        set -- "$@" --set "$setting"
        shift
    done
    "$VFL_BIN/vfl-server" -c run/server/config.yaml -n --set training.batch=90 --set protocol.aggregation=fedvs \
        --set protocol.fedvs.segments=2 --set protocol.fedvs.privacy=1 "$@"
}
refuses() { # WORDS SETTING...
    words=$1
    shift
    expect 2 "$words" "-n refuses: $*" plan "$@"
}

# --- the price ---

# 45 coded rows of 16 values; 16 weights an input; 7 columns of one degree at least.
plan >priced
expect 0 '^  encoding: fixed$' 'the encoding needs no word' cat priced
expect 0 'any 5 results decode: 2 may be late or never come' 'who may be missing' cat priced
expect 0 '2^31-1: result 2790 bytes up, weights 62 bytes an input and other party; sums hold 0 inputs at degree 1' \
    'the smaller field holds nothing of the defaults' cat priced
expect 0 '2^61-1: result 5490 bytes up, weights 122 bytes .*, 932066 inputs at degree 2, 172368 inputs at degree 3' \
    'the larger one does' cat priced
expect 0 '2^31-1: .* sums hold 2047 inputs at degree 1' 'short numbers fit it' plan protocol.fedvs.x_bits=6 \
    protocol.fedvs.w_bits=10 protocol.fedvs.x_max=4 protocol.fedvs.w_max=2

# --- what cannot be ---

refuses 'segments 3 and privacy 2, 7 parties' protocol.fedvs.segments=3 protocol.fedvs.privacy=2
expect 0 'any 7 results decode: 0 may be late' 'as many as there are may be needed' plan protocol.fedvs.segments=3
refuses 'training.batch=91: must be a multiple of protocol.fedvs.segments (batch 91, segments 2)' training.batch=91
refuses 'protocol.encoding=pbm: fedvs multiplies' protocol.encoding=pbm
refuses 'protocol.encoding=float32' protocol.encoding=float32
refuses 'model.fusion=concat' model.fusion=concat
expect 0 '' 'the mean is a sum' plan model.fusion=mean
refuses 'protocol.straggler=drop: the sum of fedvs has the embedding of every party' protocol.straggler=drop
refuses 'protocol.straggler=async' protocol.straggler=async
refuses 'protocol.fedvs.segments=2: rows are cut for aggregation fedvs' protocol.aggregation=masked
expect 0 '' 'in clear too' plan protocol.aggregation=clear
refuses 'over 7 inputs may reach 1924145348608, and the prime 2^31-1 holds up to 1073741823' \
    'protocol.fedvs.prime=2^31-1'
refuses 'protocol.fedvs.x_max=33' protocol.fedvs.x_max=33

# --- parties ---

# shellcheck disable=SC2317 # called by expect
party() { # SETTING...
    for setting; do
        set -- "$@" --set "$setting"
        shift
    done
    "$VFL_BIN/vfl-party" -c run/party-1/config.yaml -n "$@"
}
expect 2 'model.polynomial.degree: is 0, a layered bottom, but fedvs' 'a party for fedvs alone has a polynomial' \
    party 'policy.aggregations=[fedvs]'
expect 0 '' 'then it may be' party 'policy.aggregations=[fedvs]' model.polynomial.degree=2
expect 0 '' 'or other plans' party 'policy.aggregations=[fedvs, masked]'
expect 2 "p2 refuses: model.polynomial.degree: the plan's aggregation is fedvs" 'layers refuse a plan of fedvs' \
    timeout 600 "$vfl" cluster --quiet --out layers --parties 3 --seed 7 --set protocol.aggregation=fedvs \
    --party '*:model.polynomial.degree=2' --party '2:model.polynomial.degree=0' \
    --party '2:policy.aggregations=[masked, fedvs]'
closing
