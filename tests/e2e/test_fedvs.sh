#!/bin/sh
# test_fedvs.sh -- fedvs between real processes: it learns what clear learns; whose result never comes is in the sum
# all the same, as long as enough others answer; bytes are those of the formula; what no field can hold, or no member
# can take part in, is refused with the numbers; whoever is killed goes on to the same models.
#
# CHAOS_SEED repeats the choice of processes and moments, CHAOS_KILLS changes their number (16).
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
run() { # OUT AGGREGATION ARGUMENTS...
    out=$1 aggregation=$2
    shift 2
    timeout 600 "$vfl" cluster --quiet --out "$out" --seed 11 --parties 7 --set protocol.aggregation="$aggregation" \
        --set training.epochs=3 --set training.batch=90 --set training.learning_rate=0.05 --set model.embedding=5 \
        --set protocol.fedvs.segments=2 --set protocol.fedvs.x_max=3 \
        --party '*:model.polynomial.degree=2' "$@"
}

# Checks of one summary, in python: names S (the summary), D (its degradations), P (its parties), train (bytes of
# training), message (bytes by message), other (the summary of another run), and what the formulas need.
holds() { # OUT EXPRESSION WHAT [OTHER]
    expect 0 '' "$3" python3 -c '
import json, math, sys
S, other = (json.load(open(run + "/summary.json")) for run in (sys.argv[1], sys.argv[3]))
D, P, train, message = S["degraded"], S["parties"], S["bytes"]["train"], S["bytes"]["by_message"]
M, B, K, T, H, epochs = 7, 90, 2, 1, 5, 3
rows = lambda which: sum(1 for _ in open(sys.argv[1] + "/data/labels-%s.csv" % which)) - 1
coded = lambda n: math.ceil(n / K)
# Coded rows of each training round, and all rows of each; inputs of each member: 30 columns and their squares.
rounds = [min(B // K, coded(rows("train")) - i) for i in range(0, coded(rows("train")), B // K)] * epochs
gradients = 4 * M * H * epochs * rows("train")
inputs = [2 * d for d in (5, 5, 4, 4, 4, 4, 4)]
packed = lambda n, bits: (n * bits + 7) // 8
shares = lambda bits: (M - 1) * sum(packed(d * H, bits) for d in inputs)
keys = sum(math.comb(M - 1 - dealer, T - dealer) for dealer in range(T + 1)) * (M - 1) * 32
def dealt(bits):
    chunk = 2**20 // ((M - 1) * max(inputs) * {31: 4, 61: 8}[bits])
    return sum((M - 1) * sum(packed(min(chunk, n - i) * d, bits) for d in inputs)
               for n in map(coded, (rows("train"), rows("test"))) for i in range(0, n, chunk))
assert eval("(" + sys.argv[2] + ")"), {k: S.get(k) for k in ("status", "error", "rounds", "degraded", "test", "bytes")}
' "$1" "$2" "${4:-$1}"
}

same_models() { # OUT OTHER WHAT
    holds "$1" 'S["model_sha256"] == other["model_sha256"] and len(S["model_sha256"]["parties"]) == M' "$3" "$2"
}

# --party options: the result of each of these parties never comes (a delay ends with its round).
silent() { # PARTY...
    for i in "$@"; do
        printf '%s\n' --party "$i:inject.delay=const:3600" --party "$i:inject.before=upload"
    done
}

# --- it learns what clear learns, on the same batches ---

expect 0 '' 'seven parties, K = 2, T = 1' run fedvs fedvs
holds fedvs 'S["status"] == "completed" and not S["plaintext"] and S["void_rounds"] == D["integrity_failures"] == 0' \
    'complete, and not plaintext'
expect 0 '' 'clear' run clear clear --set protocol.encoding=float32 --set protocol.clip=1000
holds fedvs 'S["test"]["auc"] > 0.93 and S["test"]["accuracy"] > 0.85' 'has learnt'
holds fedvs 'abs(S["test"]["auc"] - other["test"]["auc"]) < 0.002
    and abs(S["test"]["loss"] - other["test"]["loss"]) < 0.01' 'what clear has learnt' clear
holds fedvs 'S["model_sha256"] != other["model_sha256"] and S["rounds"] == other["rounds"] == len(rounds)' \
    'but for rounding, in as many rounds' clear
expect 0 '' 'the same again' run again fedvs
same_models again fedvs 'a seed decides the rounding: the models are the same'
same '' "$(find fedvs/party-* -name shares)" 'shares of the data are gone after a complete run'

# --- who may be missing ---

# shellcheck disable=SC2046 # words
expect 0 '' 'two results never come' run without fedvs $(silent 3 7)
same_models without fedvs 'the models are the same'
holds without '[p["missing_uploads"] for p in P] == [0, 0, S["rounds"], 0, 0, 0, S["rounds"]]' 'without those two'
holds without 'D["void_rounds"] == D["integrity_failures"] == D["faulty_uploads"] == 0' 'and nothing was wrong'
expect 0 'unverified' 'without a surplus no decode is verified, which the log says' cat without/server/log.txt
# shellcheck disable=SC2046 # words
expect 4 'waiting for p3, p5, p7' 'with a third it waits, says for whom, and ends' run three fedvs \
    --set protocol.patience_ms=20000 $(silent 3 5 7)
holds three 'S["rounds"] == 0 and "waiting for p3, p5, p7" in S["error"]' 'the summary says it too'
same "$(printf 'server 4\n' && seq -f 'party-%.0f 4' 7)" "$(cat three/codes)" 'all end in order'
# shellcheck disable=SC2046 # words
expect 0 '' 'K = 1, T = 2: two of seven again' run private fedvs --set protocol.fedvs.segments=1 \
    --set protocol.fedvs.privacy=2 --set training.epochs=1 $(silent 1 2)
expect 0 '' 'K = 1, T = 2: all seven' run private-all fedvs --set protocol.fedvs.segments=1 \
    --set protocol.fedvs.privacy=2 --set training.epochs=1
same_models private private-all 'the models are the same'

# --- bytes: of two that are silent nothing is counted; without them whoever is late may or may not be ---

holds without 'message["share"]["payload"] == message["relay"]["payload"]' 'what goes up goes down'
holds fedvs 'train["payload_up"] <= shares(61) * len(rounds) + M * sum(packed(c * H, 61) for c in rounds)
    and train["payload_up"] >= shares(61) * len(rounds) + 5 * sum(packed(c * H, 61) for c in rounds)' \
    'up: (M - 1) d D P weights of each member, and c P sums of five members or more'
holds without 'train["payload_up"] == shares(61) * len(rounds) + 5 * sum(packed(c * H, 61) for c in rounds)' \
    'to the byte, when two are silent'
holds without 'train["payload_down"] == shares(61) * len(rounds) + gradients' \
    'down: the weights of the others, and the gradient'
holds without 'S["bytes"]["setup"]["payload_up"] == S["bytes"]["setup"]["payload_down"] == keys + dealt(61)' \
    'before: subset keys and data, up and down'
holds without 'train["tls_up"] - train["payload_up"] <= 0.05 * train["payload_up"]
    + (200 + 16 * (M - 1)) * 2 * M * len(rounds)' 'with sealing, frames and TLS within 5 % and 200 bytes a message'
short='--set protocol.fedvs.x_bits=6 --set protocol.fedvs.w_bits=10 --set protocol.fedvs.w_max=2'
# shellcheck disable=SC2046,SC2086 # words
expect 0 '' 'fewer bits' run short fedvs $short $(silent 1 2)
holds short 'train["payload_up"] == shares(31) * len(rounds) + 5 * sum(packed(c * H, 31) for c in rounds)' \
    'fit the smaller field'
holds short 'S["bytes"]["setup"]["payload_up"] == keys + dealt(31)' 'data too'
holds short 'S["test"]["auc"] > 0.93' 'and it learns with them'

# Frames: what the hellos say asks for larger ones than the plan does.
expect 0 '' 'models of megabytes' timeout 600 "$vfl" cluster --quiet --parties 3 --seed 1 --out wide \
    --set protocol.aggregation=fedvs --set protocol.fedvs.x_max=2 --set model.embedding=2048 --set training.epochs=1 \
    --party '*:model.polynomial.degree=8'

# --- what cannot be ---

expect 2 'party-2.*model.polynomial.degree\|p2.*polynomial' 'a layered bottom is refused, and named' run layered fedvs \
    --party 2:model.polynomial.degree=0
expect 2 'segments 3 and privacy 2, 7 parties' 'too few parties are' run few fedvs --set protocol.fedvs.segments=3 \
    --set protocol.fedvs.privacy=2
expect 2 'holds up to 1073741823' 'a field too small is, with its number' run wrap fedvs \
    --set 'protocol.fedvs.prime=2^31-1'
expect 2 'holds up to 1152921504606846975' 'what no field holds is, with both' run huge fedvs \
    --set protocol.fedvs.x_bits=20 --set protocol.fedvs.w_bits=30 --set protocol.fedvs.w_max=1024 \
    --set protocol.fedvs.x_max=32

# --- whoever is killed ---

kills=${CHAOS_KILLS:-16}
seed=${CHAOS_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
printf '      CHAOS_SEED=%s\n' "$seed"
expect 0 '' 'an undisturbed run, long' timeout 600 "$vfl" cluster --quiet --out base --parties 4 --seed 7 \
    --set protocol.aggregation=fedvs --party '*:model.polynomial.degree=1' --set training.epochs=60 \
    --set training.evaluate_every=0.2 --set protocol.patience_ms=20000 --set checkpoint_rounds=16 \
    --party '*:checkpoint_rounds=16'
[ -e base/server/summary.json ] || closing
expect 0 "^kills $kills$" "$kills kills, and the models, scores and ledgers of that run" \
    python3 "$root/tests/e2e/chaos.py" base chaos "$kills" "$seed"
sed 's/^/      /' said
closing
