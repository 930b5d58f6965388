#!/bin/sh
# test_bytes.sh -- what the summary says of bytes, releases and models, against what the plan implies.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --seed 11 --parties 3 --set training.epochs=3 \
        --set training.batch=70 --set model.embedding=9 --party '*:model.layers=[8]' "$@"
}

# Checks of one summary, in python: names S (the summary) and rows (of the training labels).
holds() { # OUT EXPRESSION WHAT
    expect 0 '' "$3" python3 -c '
import json, math, sys
S = json.load(open(sys.argv[1] + "/summary.json"))
rows = sum(1 for _ in open(sys.argv[1] + "/data/labels-train.csv")) - 1
M, B, P, epochs = 3, 70, 9, 3
batches = [min(B, rows - i) for i in range(0, rows, B)] * epochs
train, total = S["bytes"]["train"], S["bytes"]["total"]
up = lambda w: M * sum(math.ceil(b * P * w / 8) for b in batches)
tested = sum(1 for _ in open(sys.argv[1] + "/data/labels-test.csv")) - 1
message = S["bytes"]["by_message"]
# Coded, K = 2, T = 1: the smallest prime above max(b M, M + K + T), and its bits.
p = next(n for n in range(16 * M + 1, 2**16) if all(n % d for d in range(2, n)))
w = math.ceil(math.log2(p))
part = lambda rows: math.ceil(math.ceil(rows * P / 2) * w / 8)
parts = sum(part(b) for b in batches)
assert eval(sys.argv[2]), (train, len(batches))' "$1" "$2"
}

expect 0 '' 'masked' run masked --set protocol.pbm.trials=16
holds masked 'S["rounds"] == len(batches)' 'rounds are the training rounds'
holds masked 'train["payload_up"] == up(6)' 'payload up: rounds, parties, ceil(B P w / 8), w = 6, a shorter last batch'
holds masked 'train["payload_down"] == 4 * M * P * sum(batches)' 'payload down: float32 gradients'
holds masked 'train["frame_up"] - train["payload_up"] <= 80 * M * len(batches)' 'a frame costs at most 80 bytes more'
holds masked 'train["frame_down"] - train["payload_down"] <= 80 * M * (len(batches) + 1)' 'down too'
holds masked 'train["tls_up"] <= 1.05 * train["frame_up"] + 40 * M * len(batches)' \
    'TLS at most 5 % and 40 bytes a record'
holds masked 'train["tls_down"] <= 1.05 * train["frame_down"] + 40 * M * (len(batches) + 1)' 'down too'
holds masked 'all(total[k] == sum(S["bytes"][p][k] for p in ("setup", "train", "evaluate")) for k in total
    if k in S["bytes"]["setup"])' 'the total is the sum of the phases'
holds masked 'sum(m["frame"] for m in S["bytes"]["by_message"].values()) == total["frame_up"] + total["frame_down"]' \
    'and of the messages'
holds masked 'abs(train["formula_up"] - sum(batches) * M * P * math.log2(16 * M) / 8) <= len(batches)' \
    "the paper's formula is beside it"
holds masked 'S["privacy"]["releases"]["train"] == sum(batches)' 'releases of training rows are counted'
holds masked 'S["privacy"]["releases"]["evaluate"] > 0' 'and of test rows'
holds masked 'all(c["vacuous"] for c in S["privacy"]["claims"])' 'claims this large say nothing, and say so'

expect 0 '' 'clear' run clear --set protocol.pbm.trials=16 --set protocol.aggregation=clear
holds clear 'train["payload_up"] == up(5)' 'clear codes have their own width, 5 bits'
holds clear 'S["plaintext"] is True' 'and the summary says plaintext'
expect 0 '' 'masked and clear give the same models' python3 -c '
import json
a, b = (json.load(open(d + "/summary.json"))["model_sha256"] for d in ("masked", "clear"))
assert a == b, (a, b)'

expect 0 '' 'fixed' run fixed --set protocol.encoding=fixed --set protocol.fixed.bits=12
holds fixed 'train["payload_up"] == up(15)' 'fixed under masks: ceil(log2(M 2^bits)) + 1 bits'
holds fixed 'all("epsilon" not in c for c in S["privacy"]["claims"])' 'no noise, no epsilon'

# Lagrange coding sends each party's shares up and down, then sums of a K-th of the size.
expect 0 '' 'coded' run coded --set protocol.pbm.trials=16 --set protocol.aggregation=coded \
    --set protocol.coded.segments=2 --set protocol.coded.privacy=1
holds coded 'train["payload_up"] == (M * (M - 1) + M) * parts' \
    'coded up: M - 1 shares and an upload of each party, ceil(n / K) elements of ceil(log2 p) bits'
holds coded 'train["payload_down"] == M * (M - 1) * parts + 4 * M * P * sum(batches)' \
    'coded down: the same shares and the gradient'
holds coded 'train["formula_up"] == sum(M * M * math.ceil(b * P / 2) * w // 8 for b in batches)' \
    'the formula is beside it'
holds coded '0 <= train["payload_up"] - train["formula_up"] <= (M * M + 1) * len(batches)' \
    'and differs by whole bytes alone'
holds coded '0 <= train["payload_down"] - train["formula_down"] <= (M * M + 1) * len(batches)' 'down too'
holds coded 'all(train["payload_" + d] <= 1.05 * train["formula_" + d] for d in ("up", "down"))' \
    'and within 5 %'
holds coded 'all(message[k]["count"] == M * (len(batches) + epochs) for k in ("share", "relay", "upload"))' \
    'a share, a relay and an upload of each party in each round of training and evaluation'
holds coded 'message["share"]["payload"] == M * (M - 1) * (parts + epochs * part(tested))' \
    'shares weigh what they should'
holds coded 'message["relay"]["payload"] == message["share"]["payload"]' 'what goes up goes down'
holds coded 'message["upload"]["payload"] == M * (parts + epochs * part(tested))' 'uploads are sums of shares'
holds coded 'all(message[k]["frame"] - message[k]["payload"] <= (40 + 16 * (M - 1)) * message[k]["count"]
    for k in ("share", "relay", "upload"))' 'a frame costs at most 40 bytes more, and a tag of 16 for each share'
holds coded 'train["tls_up"] <= 1.05 * train["frame_up"] + 40 * 2 * M * len(batches)' \
    'TLS at most 5 % and 40 bytes a record'
holds coded 'train["tls_down"] <= 1.05 * train["frame_down"] + 40 * M * (2 * len(batches) + 1)' 'down too'
expect 0 '' 'coded and masked give the same models' python3 -c '
import json
a, b = (json.load(open(d + "/summary.json"))["model_sha256"] for d in ("masked", "coded"))
assert a == b, (a, b)'

expect 0 '' 'coded fixed' run coded-fixed --set protocol.encoding=fixed --set protocol.fixed.bits=12 \
    --set protocol.aggregation=coded --set protocol.coded.segments=1 --set protocol.coded.privacy=2
holds coded-fixed 'train["payload_up"] == M * M * sum(math.ceil(b * P * 14 / 8) for b in batches)' \
    'fixed under coded: a prime above M (2^bits - 1)'
holds coded-fixed '0 <= train["payload_up"] - train["formula_up"] <= (M * M + 1) * len(batches)' 'and its formula'

expect 0 '' 'a target ends the run' run target --set protocol.pbm.trials=64 --set training.epochs=60 \
    --set training.stop.metric=accuracy --set training.stop.value=0.8 --set training.stop.split=test
expect 0 '' 'and says when it was reached' python3 -c '
import json
s = json.load(open("target/summary.json"))
r = s["reached"]
assert s["status"] == "target" and r["metric"] == "accuracy" and r["split"] == "test" and r["value"] >= 0.8
assert 0 < r["round"] == s["rounds"] and 0 < r["epoch"] < 60 and r["seconds"] > 0
assert r["payload_bytes"] == s["bytes"]["train"]["payload_up"] + s["bytes"]["train"]["payload_down"]'

closing
