#!/bin/sh
# test_polynomial.sh -- polynomial bottoms between real processes: they learn, masked and in clear; the model is one
# under every aggregation; its file has a matrix for each power.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --parties 3 --seed 7 --party '*:model.polynomial.degree=2' "$@"
}

# An expression of python over a summary, S, and that of another run, other.
holds() { # OUT EXPRESSION WHAT [OTHER]
    expect 0 '' "$3" python3 -c '
import json, sys
S, other = (json.load(open(run + "/summary.json")) for run in (sys.argv[1], sys.argv[3]))
assert eval(sys.argv[2]), {k: S.get(k) for k in ("status", "error", "rounds", "test", "model_sha256")}
' "$1" "$2" "${4:-$1}"
}

# --- they learn ---

expect 0 '' 'masked' run masked --set training.epochs=20
holds masked 'S["status"] == "completed" and not S["plaintext"]' 'completes'
holds masked 'S["test"]["accuracy"] > 0.85 and S["test"]["auc"] > 0.93' 'and has learnt'
expect 0 '% of the embedding values of training batches were beyond protocol.clip' 'a party says what was cut off' \
    cat masked/party-1/log.txt
clear='--set protocol.aggregation=clear --set protocol.encoding=float32 --set protocol.clip=1000'
# shellcheck disable=SC2086 # words
expect 0 '' 'clear float32 with room' run clear --set training.epochs=20 $clear
holds clear 'S["status"] == "completed" and S["plaintext"]' 'completes'
holds clear 'S["test"]["accuracy"] > 0.88 and S["test"]["auc"] > 0.95' 'and has learnt'
same '' "$(grep 'beyond protocol.clip' clear/party-*/log.txt)" 'nothing was cut off'

# --- one model ---

short='--set training.epochs=3 --set training.optimizer=adam --set protocol.local_iterations=2'
same_model() { # OUT WHAT ARGUMENTS...
    out=$1 what=$2
    shift 2
    # shellcheck disable=SC2086 # words
    expect 0 '' "$what" run "$out" $short "$@"
    holds "$out" 'S["model_sha256"] == other["model_sha256"] and len(S["model_sha256"]["parties"]) == 3' \
        'gives the same models' base
}
# shellcheck disable=SC2086 # words
expect 0 '' 'adam, two local steps' run base $short
same_model coded 'coded' --set protocol.aggregation=coded
same_model bare 'clear' --set protocol.aggregation=clear
same_model layers 'layers: [] said beside the degree' --party '*:model.layers=[]'
# shellcheck disable=SC2086 # words
expect 0 '' 'another degree' run other $short --party '2:model.polynomial.degree=3'
holds other 'S["model_sha256"]["parties"][1] != other["model_sha256"]["parties"][1]' 'gives another model' base

# --- its inputs ---

# shellcheck disable=SC2086 # words
expect 0 '' 'inputs cut off at 1' run cut $short --set protocol.fedvs.x_max=1
holds cut 'S["model_sha256"]["head"] != other["model_sha256"]["head"]' 'give another model' base
expect 0 '% of the input values of training batches were beyond protocol.fedvs.x_max' 'a party says how many' \
    cat cut/party-1/log.txt

# --- the batches of fedvs ---

# shellcheck disable=SC2086 # words
expect 0 '' 'coded rows in clear' run coded-rows --set training.epochs=20 --set training.batch=100 \
    --set protocol.fedvs.segments=5 $clear
holds coded-rows 'S["rounds"] == 100 and S["epochs"] == 20' 'are 5 rounds of 20 each an epoch'
holds coded-rows 'S["test"]["accuracy"] > 0.88 and S["test"]["auc"] > 0.95' 'and teach as well'
holds coded-rows 'S["model_sha256"]["head"] != other["model_sha256"]["head"]' 'by other batches' clear

# --- its file ---

shapes() { # FILE
    python3 "$root/tests/golden/read_safetensors.py" "$1" | cut -d' ' -f1,2 | paste -sd' '
}
same 'w1 10x16 w2 10x16' "$(shapes base/party-2/model.safetensors)" 'a matrix for each power'
same 'w1 10x16 w2 10x16 w3 10x16' "$(shapes other/party-2/model.safetensors)" 'three for degree 3'
same "$(sha256sum <base/party-2/model.safetensors | cut -d' ' -f1)" \
    "$(python3 -c 'import json; print(json.load(open("base/summary.json"))["model_sha256"]["parties"][1])')" \
    'whose digest is in the summary'

# --- what makes no sense ---

expect 2 'party-1: --set model.layers=.8.: a polynomial bottom .* has no layers' 'layers beside a degree are refused' \
    run both --party '*:model.layers=[8]'
closing
