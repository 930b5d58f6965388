#!/bin/sh
# test_audit.sh -- what the server sees as --transcript tells it, and what vfl audit makes of it.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# --- the transcript ---

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --seed 3 --parties 3 --set training.epochs=2 --transcript \
        --set model.embedding=4 --party '*:model.layers=[6]' "$@"
}

holds() { # OUT EXPRESSION WHAT
    expect 0 '' "$3" python3 -c '
import collections, json, sys
L = [json.loads(line) for line in open(sys.argv[1] + "/server/transcript.jsonl")]
S = json.load(open(sys.argv[1] + "/summary.json"))
rounds = [l for l in L if l["kind"] == "round"]
uploads = [l for l in L if l["kind"] == "upload"]
train = [r for r in rounds if r["purpose"] == "train"]
rows = sum(1 for _ in open(sys.argv[1] + "/data/labels-train.csv")) - 1
def added(r):
    mine = [u["values"] for u in uploads if u["round"] == r["round"]]
    return [sum(v) for v in zip(*mine)]
assert eval(sys.argv[2]), (len(L), len(rounds), len(uploads))' "$1" "$2"
}

expect 0 '' 'a masked run with a transcript' run masked
holds masked 'L[0]["kind"] == "plan" and "protocol.aggregation" in L[0]["text"]' 'the plan comes first'
holds masked 'not uploads' 'under masks no upload is seen'
holds masked 'len(train) == S["rounds"]' 'every training round is there'
holds masked 'collections.Counter(i for r in train for i in r["rows"]) == {i: 2 for i in range(rows)}' \
    'with every row in each epoch'
holds masked 'all(len(r["sum"]) == 4 * len(r["rows"]) for r in rounds)' 'and its sums'
holds masked 'all(len(r["gradient"]) == 4 * len(r["rows"]) for r in train)' 'and what went down'
same 600 "$(stat -c %a masked/server/transcript.jsonl)" 'it is its owner'"'"'s alone'
expect 0 '' 'a clear run' run clear --set protocol.aggregation=clear --set protocol.encoding=float32
holds clear 'all(len([u for u in uploads if u["round"] == r["round"]]) == 3 for r in rounds)' 'each upload is seen'
holds clear 'all(abs(a - b) < 1e-5 for r in rounds for a, b in zip(r["sum"], added(r)))' 'and adds up to the sum'
timeout 60 "$VFL_BIN/vfl-server" -c clear/server/resolved.yaml --set state="$dir/full" --set listen=127.0.0.1:0 \
    --transcript /dev/full >said-of 2>&1
same 6 $? 'a full disk ends the run'
cp said-of "$dir/said"
expect 0 '/dev/full: transcript: No space' 'and says so' cat said-of

# --- the auditor ---

# Clopper-Pearson anew, from the counts that were printed.
# shellcheck disable=SC2317
same_bound() { # FILE
    python3 -c '
import math, re, sys
text = open(sys.argv[1]).read()
n, m, f, g = map(int, re.search(r"(\d+) and (\d+) judged, (\d+) taken .*, (\d+) missed", text).groups())
said = float(re.search(r"^server +\S+ +\d+ +\S+ +(\S+)", text, re.M).group(1))
def upper(k, n, error=5e-4):
    if k >= n:
        return 1.0
    def tail(p):
        return sum(math.exp(math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
                            + i * math.log(p) + (n - i) * math.log1p(-p)) for i in range(k + 1))
    low, high = max(k / n, 1e-12), 1 - 1e-12
    for _ in range(60):
        p = (low + high) / 2
        low, high = (p, high) if tail(p) > error else (low, p)
    return high
a, b = upper(f, n), upper(g, m)
best = max([0.0] + [math.log((1 - 1e-5 - y) / x) for x, y in ((a, b), (b, a)) if 1 - 1e-5 - y > x])
assert abs(best - said) <= 1e-3 * max(1, best), (best, said)' "$1"
}

audit() { # ARGUMENTS...: "$vfl" audit, its words in `said-of`
    timeout 600 "$vfl" audit "$@" >said-of 2>&1
}

expect 0 '' 'canaries of a frozen run' audit --rows 4000 --set protocol.pbm.trials=1 --out kept
cp said-of "$dir/said"
expect 0 'holds' 'no claim is broken' cat said-of
expect 0 '' 'the bound is that of the counts' same_bound said-of
expect 0 'record_frozen' 'against the claim for one record' cat said-of
expect 1 '' 'none is said to be broken' grep BROKEN said-of
# Sixty-four coins where one was claimed.
expect 5 '' 'noise that is not there is found' audit --rows 4000 --set protocol.pbm.trials=64 \
    --claims kept/run/summary.json
expect 0 'BROKEN' 'and said' cat said-of
expect 5 '' 'so is a record that is released five times' audit --rows 4000 --set protocol.pbm.trials=16 \
    --set training.releases=every_epoch --set training.epochs=5 --claims kept/run/summary.json
expect 0 'holds' 'which its own claim covers' env VFL_BIN="$VFL_BIN" "$vfl" audit --rows 2000 \
    --set protocol.pbm.trials=4 --set training.releases=every_epoch --set training.epochs=3
expect 0 'epsilon at least' 'raw training is seen in others'"'"' releases' "$vfl" audit --control --runs 4000

# --- contrasts ---

tool=$VFL_BIN/vfl-audit
expect 0 'from embeddings' 'features from embeddings in clear' "$tool" --transcript clear/server/transcript.jsonl \
    --features clear/data/party-1-train.csv --known 100
expect 0 'labels    from gradients: 100.00 %' 'labels from gradients' "$tool" \
    --transcript clear/server/transcript.jsonl --labels clear/data/labels-train.csv
expect 0 'from sums' 'and from sums' "$tool" --transcript masked/server/transcript.jsonl \
    --features masked/data/party-1-train.csv --known 100

expect 2 'usage' 'nothing asked' "$tool"
expect 2 'needs --rows' 'canaries without a number' "$tool" --make kept
expect 6 'nowhere' 'no transcript' "$tool" --transcript nowhere
expect 2 'no transcript' 'another file' "$tool" --transcript /dev/null
expect 2 'canaries, and the plan' 'canaries of another run' "$tool" --transcript masked/server/transcript.jsonl \
    --canaries kept/run/data/party-1-train.csv --claims kept/run/summary.json

closing
