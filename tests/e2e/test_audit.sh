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
asks = [l for l in L if l["kind"] == "ask"]
uploads = [l for l in L if l["kind"] == "upload"]
sums = {l["round"]: l for l in L if l["kind"] == "sum"}
train = [a for a in asks if a["purpose"] == "train"]
rows = sum(1 for _ in open(sys.argv[1] + "/data/labels-train.csv")) - 1
def of(ask):
    return [u for u in uploads if u["round"] == ask["round"]]
def added(ask):
    return [sum(v) for v in zip(*[u["values"] for u in of(ask)])]
assert eval(sys.argv[2]), (len(L), len(asks), len(uploads))' "$1" "$2"
}

expect 0 '' 'a masked run with a transcript' run masked
holds masked 'L[0]["kind"] == "plan" and "protocol.aggregation" in L[0]["text"]' 'the plan comes first'
holds masked 'not uploads' 'under masks no upload is seen'
holds masked 'len(train) == S["rounds"]' 'every training round is asked for'
holds masked 'L.index(asks[0]) < L.index(sums[asks[0]["round"]])' 'before its sum is there'
holds masked 'collections.Counter(i for a in train for i in a["rows"]) == {i: 2 for i in range(rows)}' \
    'with every row in each epoch'
holds masked 'all(len(sums[a["round"]]["sum"]) == 4 * len(a["rows"]) for a in asks)' 'and its sums'
holds masked 'all(len(sums[a["round"]]["gradient"]) == 4 * len(a["rows"]) for a in train)' 'and what went down'
same 600 "$(stat -c %a masked/server/transcript.jsonl)" 'it is its owner'"'"'s alone'
expect 0 '' 'a clear run' run clear --set protocol.aggregation=clear --set protocol.encoding=float32
holds clear 'all(sorted(u["party"] for u in of(a)) == [1, 2, 3] for a in asks)' 'each upload is seen'
holds clear 'all(abs(x - y) < 1e-5 for a in asks for x, y in zip(sums[a["round"]]["sum"], added(a)))' \
    'and adds up to the sum'
expect 0 '' 'an async run' run async --set protocol.aggregation=clear --set protocol.straggler=async
holds async 'all([u["party"] for u in of(a)] == [a["party"]] for a in train)' 'one party is asked, and answers'
holds async 'all([a["place"] for a in train if a["party"] == p] == list(range(sum(a["party"] == p for a in train)))
    for p in (1, 2, 3))' 'for its own steps, one after the other'
holds async 'len({a["round"] for a in asks}) == len(asks) == len(sums)' 'each under a number of its own'
timeout 60 "$VFL_BIN/vfl-server" -c clear/server/resolved.yaml --set state="$dir/full" --set listen=127.0.0.1:0 \
    --transcript /dev/full >said-of 2>&1
same 6 $? 'a full disk ends the run'
cp said-of "$dir/said"
expect 0 '/dev/full: transcript: No space' 'and says so' cat said-of

# --- the auditor ---

# Clopper-Pearson anew, from the counts that were printed for each view; and beside every claim its own view's bound.
# shellcheck disable=SC2317
same_bounds() { # FILE VIEWS
    python3 -c '
import math, re, sys
text = open(sys.argv[1]).read()
delta = float(re.search(r"^claims of .* delta (\S+)$", text, re.M).group(1))
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
views = re.findall(r"^m_eff (\d+) +(\d+) and (\d+) judged, (\d+) taken .*, (\d+) missed: .* (\S+)", text, re.M)
assert len(views) == int(sys.argv[2]), views
said = {}
for m_eff, n, m, f, g, epsilon in views:
    a, b = upper(int(f), int(n)), upper(int(g), int(m))
    best = max([0.0] + [math.log((1 - delta - y) / x) for x, y in ((a, b), (b, a)) if 1 - delta - y > x])
    assert abs(best - float(epsilon)) <= 1e-3 * max(1, best), (best, epsilon)
    said[m_eff] = epsilon
claims = re.findall(r"^(?:server|all)\S* +\S+ +(\d+) +\S+ +(\S+)", text, re.M)
assert len(claims) == 9 and all(epsilon == said[m_eff] for m_eff, epsilon in claims), claims' "$1" "$2"
}

# The claims that were printed are those of this summary, in its order.
# shellcheck disable=SC2317
same_claims() { # FILE SUMMARY
    python3 -c '
import json, re, sys
rows = re.findall(r"^(\w\S*) +(record_\S+|columns|sample) +(\d+) +(\S+)", open(sys.argv[1]).read(), re.M)
want = [(c["adversary"], c["adjacency"], str(c["m_eff"]), "%.4g" % c["epsilon"])
        for c in json.load(open(sys.argv[2]))["privacy"]["claims"]]
assert rows == want, (rows, want)' "$1" "$2"
}

# What is seen of a record when the noise of all other parties is known tells more than their sum does.
# shellcheck disable=SC2317
helpers_help() { # FILE
    awk '/^m_eff 3 / { all = $NF } /^m_eff 1 / { alone = $NF } END { exit !(alone > all + 0.2) }' "$1"
}

audit() { # ARGUMENTS...: "$vfl" audit, its words in `said-of`
    timeout 600 "$vfl" audit --parties 3 "$@" >said-of 2>&1
}

# With 2,000 canaries no outcome proves more than 3.29; the claims are 3.296.
expect 0 '' 'canaries of a frozen run' audit --rows 2000 --set protocol.pbm.trials=3 --out kept
cp said-of "$dir/said"
expect 0 '^claims of p1' 'no claim is broken' cat said-of
expect 1 '' 'none is said to be broken' grep BROKEN said-of
expect 0 '' 'each bound is that of the counts, beside the claims against its own view' same_bounds said-of 3
expect 0 '' 'of the audited party' same_claims said-of kept/run/party-1/summary.json
expect 0 'record_frozen' 'for one record among others' cat said-of
cp said-of plain-of
expect 0 '' 'canaries of a run with a gain' audit --rows 2000 --set protocol.pbm.trials=3 --set protocol.pbm.gain=4
expect 1 '' 'which breaks no claim either' grep BROKEN said-of
expect 0 '' 'and has bounds of its own counts' same_bounds said-of 3
claims() { # FILE
    awk '/ (record_frozen|columns|sample) / { print $1, $2, $3, $4 }' "$1"
}
same "$(claims plain-of)" "$(claims said-of)" 'under the same claims'
expect 0 '' 'no claim is broken by as few canaries as there may be' audit --rows 100
expect 0 ' and .* judged' 'which are judged' cat said-of
# Sixty-four coins where one was claimed.
expect 5 '' 'noise that is not there is found' audit --rows 4000 --set protocol.pbm.trials=64 \
    --claims kept/run/party-1/summary.json
expect 0 'BROKEN' 'and said' cat said-of
expect 5 '' 'so is a record that is released five times' audit --rows 4000 --unseeded --set protocol.pbm.trials=16 \
    --set training.releases=every_epoch --set training.epochs=5 --claims kept/run/party-1/summary.json
expect 0 '^server .* BROKEN' 'by the server alone' cat said-of
expect 0 '^server+1 .* - *not attacked' 'whose helpers are nobody where no noise is known' cat said-of
expect 0 '' 'which its own claim covers' audit --rows 2000 --embedding 2 --set protocol.pbm.trials=6 \
    --set protocol.pbm.beta=0.1 --set training.releases=every_epoch --set training.epochs=3 \
    --set protocol.aggregation=coded
expect 0 '' 'who knows the others'"'"' noise sees more' helpers_help said-of
expect 0 'epsilon at least' 'raw training is seen in others'"'"' releases' "$vfl" audit --control --runs 4000

# --- steps that learn ---

# shellcheck disable=SC2317
steps() { # ARGUMENTS...
    audit --dp 15 --rows 300 --probes 64 --set protocol.pbm.trials=1 "$@"
}

expect 0 '' 'canaries of a run with noisy steps' steps --out steps
cp said-of "$dir/said"
expect 0 'record_dp' 'are judged by what releases and steps cost together' cat said-of
expect 0 '' 'whatever cheaper bottoms the others have' same_claims said-of steps/run/party-1/summary.json
expect 0 ' 100.00 % of the gradients' 'each has its gradient cut' cat steps/run/party-1/log.txt
expect 5 '' 'noise that the step lacks is found' steps --party 1:model.noise=0.001 \
    --claims steps/run/party-1/summary.json
expect 0 '^all_but_one *record_dp .* BROKEN' 'and said' cat said-of
expect 5 '' 'and a gradient that is not cut, under the same noise' steps \
    --party 1:model.noise=0.015 --party 1:model.clip=1000 --claims steps/run/party-1/summary.json
expect 0 '^all_but_one *record_dp .* BROKEN' 'is said, too' cat said-of

# --- contrasts ---

tool=$VFL_BIN/vfl-audit
expect 0 'from embeddings' 'features from embeddings in clear' "$tool" --transcript clear/server/transcript.jsonl \
    --features clear/data/party-1-train.csv --known 100
expect 0 'labels    from gradients: 100.00 %' 'labels from gradients' "$tool" \
    --transcript clear/server/transcript.jsonl --labels clear/data/labels-train.csv
expect 0 'from sums' 'and from sums' "$tool" --transcript masked/server/transcript.jsonl \
    --features masked/data/party-1-train.csv --known 100

# The plan of the clear run, and uploads that are the features themselves: in rounds that came to nothing, late, and
# between those of others.
python3 -c '
import json
plan = open("clear/server/transcript.jsonl").readline()
x = [line.split(",")[1:5] for line in open("clear/data/party-1-train.csv")][1:]
def ask(round, rows):
    return {"kind": "ask", "round": round, "generation": 1, "purpose": "train", "place": 0, "sweep": 0, "rows": rows}
def upload(round, rows, late=False):
    values = [float(v) for i in rows for v in x[i]]
    return {"kind": "upload", "round": round, "party": 1, "late": late, "values": values}
lines, parts = [], [list(range(i, len(x), 7)) for i in range(7)]
for round, rows in enumerate(parts):
    lines += [ask(round, rows)] + ([upload(round, rows)] if round % 2 == 0 else [])
lines += [upload(round, parts[round], True) for round in (5, 1, 3)]
lines.append(dict(upload(4, [], True), party=2))
open("mixed.jsonl", "w").write(plan + "".join(json.dumps(l) + "\n" for l in lines))'
expect 0 'at best 1.000' 'an upload is of the round with its number' "$tool" --transcript mixed.jsonl \
    --features clear/data/party-1-train.csv --known 100
{ cat mixed.jsonl && echo '{"kind":"upload","round":99,"party":1,"values":[1]}'; } >unasked.jsonl
expect 2 'unasked.jsonl:17: of a round that was not asked for' 'and of no other' "$tool" --transcript unasked.jsonl

# --- refusals ---

expect 2 'usage' 'nothing asked' "$tool"
expect 2 'usage' 'canaries without a summary' "$tool" --transcript mixed.jsonl --canaries mixed.jsonl
expect 2 'usage' 'probes without canaries' "$tool" --transcript mixed.jsonl --probes mixed.jsonl
expect 2 'usage' 'known records without features' "$tool" --transcript mixed.jsonl --known 100
expect 2 'usage' 'or of labels' "$tool" --transcript mixed.jsonl --labels clear/data/labels-train.csv --known 100
expect 6 'nowhere' 'no transcript' "$tool" --transcript nowhere
: >nothing
expect 2 'no transcript' 'another file' "$tool" --transcript nothing
expect 2 '/dev/null: no transcript: not a regular file' 'or none at all' "$tool" --transcript /dev/null

# What it makes for itself goes away, and nothing else: the folder of temporary files has a space in its name.
mkdir 'not mine' not && echo precious >not/mine
expect 2 'nonsense' 'a key that there is not' env TMPDIR="$dir/not mine" "$vfl" audit --rows 100 --set nonsense=1
same precious "$(cat not/mine)" 'another folder stays'
same '' "$(ls 'not mine')" 'and the own one is gone'

no_number() { # ARGUMENTS...: the last two are the option and its value
    for last; do
        option=${value:-} value=$last
    done
    expect 2 "$option $value: a whole number" "$option $value is no number" "$tool" "$@"
    same 1 "$(wc -l <"$dir/said")" 'in one line'
}

for number in abc 0 -5 1e2 010 '' 99999999999999999999; do
    no_number --transcript mixed.jsonl --features clear/data/party-1-train.csv --known "$number"
done
no_number --control --runs 39
no_number --make kept --parties 3 --embedding 1 --rows 12x
no_number --transcript mixed.jsonl --seed 0x10
expect 2 'known ones' 'more known records than there are' "$tool" --transcript mixed.jsonl \
    --features clear/data/party-1-train.csv --known 5000
expect 2 '--rows (not given)' 'canaries without a number' "$tool" --make kept

judge() { # TRANSCRIPT ARGUMENTS...
    transcript=$1
    shift
    timeout 60 "$tool" --transcript "$transcript" --canaries kept/run/data/party-1-train.csv "$@"
}

seen=kept/run/server/transcript.jsonl
expect 0 'holds' 'the same again, by hand' judge $seen --summary kept/run/party-1/summary.json
expect 2 'canaries, and the plan' 'canaries of another run' judge masked/server/transcript.jsonl \
    --summary kept/run/party-1/summary.json
expect 2 'several parties' 'claims of the whole federation' judge $seen --summary kept/run/summary.json
expect 2 'several parties' 'or of another one' judge $seen --summary kept/run/party-1/summary.json \
    --claims steps/run/summary.json
sed 's/record_frozen/record_raw/' kept/run/party-1/summary.json >raw.json
expect 2 'record_raw.*nothing is judged' 'a bottom that learns from raw records' judge $seen --summary raw.json
expect 2 'record_raw.*nothing is judged' 'whose claims are never another one'"'"'s' judge $seen --summary raw.json \
    --claims kept/run/party-1/summary.json
expect 0 'holds' 'claims of such a bottom may be asked of one that is sound' judge $seen \
    --summary kept/run/party-1/summary.json --claims raw.json

# --- claims that cannot be judged ---

# shellcheck disable=SC2317
claim() { # STATEMENT: about p, the privacy of that summary, and c, its claim about a server with a helper
    python3 -c '
import json, sys
summary = json.load(open("kept/run/party-1/summary.json"))
p = summary["privacy"]
c = next(c for c in p["claims"] if c["adversary"] == "server+1")
exec(sys.argv[1])
json.dump(summary, open("changed.json", "w"))' "$1"
    judge $seen --summary kept/run/party-1/summary.json --claims changed.json
}

unjudged() { # WORDS WHAT STATEMENT
    expect 2 "$1" "$2" claim "$3"
    same 1 "$(wc -l <"$dir/said")" 'in one line'
}

expect 5 '^server+1 .* 0.001 .* BROKEN' 'a claim is broken' claim 'c["epsilon"] = 1e-3; c["m_eff"] = 3'
for m_eff in 0 4 -1 1.5 4294967297 '"1"' None; do
    unjudged 'm_eff: 1 to 3' "not judged: one of m_eff $m_eff" "c['epsilon'] = 1e-3; c['m_eff'] = $m_eff"
done
unjudged 'm_eff: 1 to 3' 'nor without any' 'del c["m_eff"]'
unjudged 'no adversary' 'nor of somebody unheard of' 'c["adversary"] = "server+9"; del c["epsilon"]'
unjudged 'no adversary' 'or of nobody' 'del c["adversary"]'
unjudged 'no adjacency' 'nor about what is unheard of' 'c["adjacency"] = "record"'
for epsilon in None '"3"' -1; do
    unjudged 'epsilon: a number' "nor one of epsilon $epsilon" "c['epsilon'] = $epsilon"
done
unjudged 'delta is 0.1' 'nor at a delta above the plan' 'p["delta"] = 0.1'
unjudged 'delta is 0:' 'or at none' 'del p["delta"]'
expect 0 '^server+1 .* inf .* holds' 'infinity is no number at all' claim 'c["m_eff"] = 3; del c["epsilon"]'
expect 5 '^server+t .* 0.001 .* BROKEN' 'a server with several helpers is known' \
    claim 'c["adversary"] = "server+t"; c["epsilon"] = 1e-3; c["m_eff"] = 3'
expect 0 'delta 1e-09' 'a delta below the plan'"'"'s is what is judged at' claim 'p["delta"] = 1e-9'
expect 2 'noise is not that of the seed' 'another seed' judge $seen --summary kept/run/party-1/summary.json --seed 1

# --- what is too long, and what goes away ---

head -c 68000000 /dev/zero | tr '\0' ' ' >long.jsonl
expect 2 'a line above 64 MiB' 'a line that no server writes' "$tool" --transcript long.jsonl --labels long.jsonl
mkdir leaving
TMPDIR=$dir/leaving timeout 120 "$vfl" audit --rows 100 --parties 3 --quiet >said 2>&1 &
audit=$!
has_keys() {
    find leaving -name '*.key' | grep -q .
}
wait_until has_keys
kill -TERM $audit
wait $audit
same '' "$(find leaving -mindepth 1)" 'trial keys do not outlive an audit that is told to end'

closing
