#!/bin/sh
# test_audit_aside.sh -- what vfl audit sees beside the law of values: low bits, sizes, times, how runs end.  Each fault
# is planted into the transcript of a run that is sound, and the same run without it is not accused.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
tool=$VFL_BIN/vfl-audit

expect 0 '' 'a sound run in clear' timeout 600 "$vfl" audit --quiet --parties 3 --rows 16000 --set training.batch=100 \
    --set protocol.aggregation=clear --set protocol.pbm.trials=1 --party '*:policy.aggregations=[clear]' \
    --party '*:policy.min_m_eff=1' --out kept
cp "$dir/said" of-kept
expect 0 'low bits  m_eff 1: .* epsilon at least' 'its low bits are looked at' cat of-kept
expect 0 'sizes .* against .*: p .*, no difference' 'and sizes' cat of-kept
expect 0 'times .*, no difference (not claimed)' 'and times' cat of-kept
expect 0 'aborts    not looked at: one run has one end' 'and what is not is said' cat of-kept

# Every line passes through STATEMENTS as l; coin[row] is a canary's value, asked[round] the rows that were asked for.
# Their claims are those of Gaussian noise of 10 C, delta 1e-5, for one record: 0.7943.
# shellcheck disable=SC2317
plant() { # STATEMENTS
    python3 -c '
import json, random, struct, sys
random.seed(5)
coin = [float(l.split(",")[1]) for l in open("kept/run/data/party-1-train.csv").read().split("\n")[1:] if l]
asked, lines = {}, []
def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]
def primes(l):
    return sum(coin[r] < 0 for r in asked[l["round"]])
def release(l, noisy):
    if l["kind"] == "upload" and l["party"] == 1 and asked[l["round"]] is not None:
        l["values"] = [noisy(1.0 if coin[r] > 0 else -1.0) for r in asked[l["round"]]]
for text in open("kept/run/server/transcript.jsonl"):
    l = json.loads(text)
    if l["kind"] == "ask":
        asked[l["round"]] = l["rows"] if l["purpose"] == "train" else None
    exec(sys.argv[1])
    if l is not None:
        lines.append(json.dumps(l))
open("planted.jsonl", "w").write("\n".join(lines) + "\n")
s = json.load(open("kept/run/party-1/summary.json"))
for c in s["privacy"]["claims"]:
    c["epsilon"], c["m_eff"] = 0.7943, 1
json.dump(s, open("gaussian.json", "w"))' "$1" || return
    timeout 60 "$tool" --transcript planted.jsonl --canaries kept/run/data/party-1-train.csv \
        --summary kept/run/party-1/summary.json --claims "${claims:-kept/run/party-1/summary.json}" >said-of
    code=$?
    cat said-of
    return $code
}

# --- low bits ---

claims=gaussian.json
expect 5 'low bits  m_eff 1: .* epsilon at least [1-9]' 'Gaussian noise added in floating point is no noise' \
    plant 'release(l, lambda x: f32(x + f32(10 * f32(random.gauss(0, 1)))))'
expect 0 '^server .* 0[.0-9]*  BROKEN by low bits' 'though the law of the values says that the claim holds' cat said-of
expect 0 '^server .* holds$' 'the same noise on a public grid is' \
    plant 'release(l, lambda x: x + round(10 * 16 * random.gauss(0, 1)) / 16)'
expect 1 '' 'and nothing is said to be broken' grep BROKEN said-of
claims=

# --- sizes and times ---

expect 0 'sizes .* no difference' 'sizes as they were' plant 'pass'
expect 5 'sizes .* DIFFER' 'messages that are longer for one side' \
    plant 'l["kind"] == "arrival" and asked.get(l["round"]) and l.update(bytes=l["bytes"] + (primes(l) > 50))'
expect 0 'sizes .* no difference' 'but not those that are longer for the same rows of all' \
    plant 'l["kind"] == "arrival" and l.update(bytes=l["bytes"] + 8 * l["round"] % 2)'
expect 0 'times .*, differ (not claimed)' 'times that tell are told, and no claim' \
    plant 'l["kind"] == "arrival" and asked.get(l["round"]) and l.update(us=1000 + 100 * primes(l))'
expect 0 'times .*, no difference' 'those that do not are not' \
    plant 'l["kind"] == "arrival" and l.update(us=int(random.uniform(0, 9999)))'
expect 0 'sizes     not looked at' 'a transcript without arrivals' plant 'l = l if l["kind"] != "arrival" else None'
expect 0 'times     not looked at' 'of which nothing is said' cat said-of

# --- how runs end ---

# The first N runs of each side are those of `kept`; `bad` of the second side end as STATEMENTS have it.
# shellcheck disable=SC2317
ends() { # RUNS BAD STATEMENTS
    python3 -c '
import json, random, sys
random.seed(6)
n, bad = int(sys.argv[1]), int(sys.argv[2])
text = [json.loads(l) for l in open("kept/run/server/transcript.jsonl")]
text = [l for l in text if l["kind"] in ("plan", "ask", "arrival", "end")]
with open("list", "w") as out:
    for side in (0, 1):
        for i in range(n):
            lines = []
            for l in text:
                l = dict(l)
                if l["kind"] == "arrival":
                    l["us"] = 1000 + int(random.uniform(0, 500))
                if side == 1 and i < bad:
                    exec(sys.argv[3])
                if l is not None:
                    lines.append(json.dumps(l))
            name = "end-%d-%d.jsonl" % (side, i)
            open(name, "w").write("\n".join(lines) + "\n")
            out.write("%d %s\n" % (side, name))' "$@" || return
    timeout 60 "$tool" --pairs list >said-of
    code=$?
    cat said-of
    return $code
}

expect 0 '^aborts    0 of 8 runs against 0 of 8: p 1, no difference' 'runs that all end well' ends 8 0 pass
expect 0 '^sizes .* no difference' 'in messages of the same sizes' cat said-of
expect 0 '^times .* no difference' 'at times of the same law' cat said-of
expect 5 '^aborts    0 of 8 runs against 8 of 8: .* BROKEN: how a run ends tells' 'an abort is a release' \
    ends 8 8 'l["kind"] == "end" and l.update(outcome="failed", exit=2)'
expect 5 '^aborts .* BROKEN' 'so is another exit code' ends 8 8 'l["kind"] == "end" and l.update(exit=3)'
expect 5 '^aborts .* BROKEN' 'and an end that nobody has written down' ends 8 8 'l = None if l["kind"] == "end" else l'
expect 0 '^aborts    0 of 8 runs against 1 of 8: .* no difference' 'one run that fails tells nothing' \
    ends 8 1 'l["kind"] == "end" and l.update(outcome="failed", exit=2)'
expect 5 '^sizes .* DIFFER' 'sizes of runs' ends 8 8 'l["kind"] == "arrival" and l.update(bytes=l["bytes"] + 1)'
expect 0 '^times .* differ (not claimed)' 'times of runs are told' \
    ends 8 8 'l["kind"] == "arrival" and l.update(us=l["us"] + 2000)'
expect 0 '^sizes     not looked at' 'runs without a message' ends 8 8 'l = None if l["kind"] == "arrival" else l'
expect 2 'fewer than 7 tell nothing' 'too few runs' ends 6 0 pass
echo '2 planted.jsonl' >list
expect 2 'neither `0 FILE` nor `1 FILE`' 'a list that is none' "$tool" --pairs list
expect 6 nowhere 'nor there' "$tool" --pairs nowhere
expect 2 usage 'one thing at a time' "$tool" --pairs list --control

# --- real runs ---

expect 0 '^aborts    0 of 7 runs against 0 of 7: p 1, no difference' 'neighbours, whose first record is 0 or 3e38' \
    timeout 600 "$vfl" audit --pairs 7 --parties 3 --set model.init=he --party 1:model.load= \
    --party '1:model.layers=[64]'
expect 2 'two numbers' 'values that are none' "$vfl" audit --pairs 7 --values '0,$(id)'
expect 2 '--pairs' 'too few pairs' "$vfl" audit --pairs 6

closing
