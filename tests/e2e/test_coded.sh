#!/bin/sh
# test_coded.sh -- coded rounds between real processes: who has shared is not needed any more, who has not is
# waited for; the model is that of masked and of clear; what cannot be is refused before anybody connects.
#
# PHISHING=FILE.csv.gz in the environment: the first part is run on that set too.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --seed 11 --set training.epochs=2 --set model.embedding=4 \
        --set protocol.pbm.trials=16 --party '*:model.layers=[8]' "$@"
}

# shellcheck disable=SC2317 # called by expect
coded() { # OUT K T ARGUMENTS...
    out=$1 segments=$2 privacy=$3
    shift 3
    run "$out" --set protocol.aggregation=coded --set "protocol.coded.segments=$segments" \
        --set "protocol.coded.privacy=$privacy" "$@"
}

# Checks of one summary, in python: names S (the summary), D (its degradations), P (its parties), sent
# (messages by name), other (the summary of another run).
holds() { # OUT EXPRESSION WHAT [OTHER]
    expect 0 '' "$3" python3 -c '
import json, sys
S = json.load(open(sys.argv[1] + "/summary.json"))
D, P = S["degraded"], S["parties"]
sent = {name: m["count"] for name, m in S["bytes"]["by_message"].items()}
other = json.load(open(sys.argv[3] + "/summary.json"))
assert eval(sys.argv[2]), {k: S.get(k) for k in ("status", "error", "rounds", "void_rounds", "degraded", "parties")}
' "$1" "$2" "${4:-$1}"
}

same_models() { # OUT OTHER WHAT
    holds "$1" 'S["model_sha256"] == other["model_sha256"] and len(S["model_sha256"]["parties"]) == len(P)' "$3" "$2"
}

# --party options: the upload of each of these parties never comes (a delay ends with its round).
silent() { # PARTY...
    for i in "$@"; do
        printf '%s\n' --party "$i:inject.delay=const:3600" --party "$i:inject.before=upload"
    done
}

# --- ten parties, K = 2, T = 4: any six uploads decode ---

tolerates() { # NAME ARGUMENTS...: on this data
    name=$1
    shift
    expect 0 '' "$name: nobody is missing" coded "$name" 2 4 --parties 10 "$@"
    # shellcheck disable=SC2046 # words
    expect 0 '' "$name: four uploads never come" coded "$name-4" 2 4 --parties 10 "$@" $(silent 7 8 9 10)
    same_models "$name-4" "$name" "$name: the models are the same, head and parties"
    holds "$name-4" 'S["status"] == "completed" and S["rounds"] == other["rounds"] > 0 and D["void_rounds"] == 0' \
        "$name: no round was void" "$name"
    holds "$name-4" 'D["missing_uploads"] == 4 * S["rounds"]' "$name: four are missing in every round"
    holds "$name-4" '[p["missing_uploads"] for p in P] == 6 * [0] + 4 * [S["rounds"]]' "$name: those four"
    holds "$name-4" 'all(p["wait_s"] == 0 and p["slowest_rounds"] == 0 for p in P[6:])' "$name: no round waits for them"
    holds "$name-4" 'sum(p["slowest_rounds"] for p in P) == sent["share"] // 10' \
        "$name: but for one of the others, each"
    holds "$name-4" '10 * sent["upload"] == 6 * sent["share"]' \
        "$name: and nothing of theirs ever came"
    holds "$name-4" 'D["unverified_decodes"] == sent["share"] // 10' \
        "$name: without a surplus no decode is verified"
    expect 0 'unverified' "$name: the log says so" cat "$name-4/server/log.txt"
    expect 0 '' "$name: the last evaluation has the counts too" python3 -c '
import json, sys
last = [json.loads(line) for line in open(sys.argv[1] + "/server/metrics.jsonl")][-1]
assert last["degraded"] == json.load(open(sys.argv[1] + "/summary.json"))["degraded"], last' "$name-4"

    # shellcheck disable=SC2046 # words
    expect 4 'waiting for p6, p7, p8, p9, p10' "$name: with a fifth missing it waits, says for whom, and ends" \
        coded "$name-5" 2 4 --parties 10 --set protocol.patience_ms=20000 "$@" $(silent 6 7 8 9 10)
    holds "$name-5" '"phase sum after 20000 ms, waiting for p6, p7, p8, p9, p10" in S["error"]' \
        "$name: the summary says it too"
    holds "$name-5" 'S["rounds"] == 0 and D["missing_uploads"] == 0' "$name: no round was closed with too few"
    same "$(printf 'server 4\n' && seq -f 'party-%.0f 4' 10)" "$(cat "$name-5/codes")" "$name: all end in order"
}

tolerates cancer --set training.batch=100
[ -z "${PHISHING:-}" ] || tolerates phishing --train "$PHISHING"
expect 0 'rounds without p7: [0-9]*, p8: [0-9]*, p9: [0-9]*, p10: ' 'the table names the missing' \
    "$VFL_BIN/vfl-merge" --show cancer-4
expect 0 'missing uploads, .* unverified decodes' 'and counts' "$VFL_BIN/vfl-merge" --show cancer-4
"$VFL_BIN/vfl-merge" --show cancer-5 >table
same '' "$(grep -e degraded -e 'rounds without' table)" 'and says nothing where nothing is to be said'

# --- the same model as under masks and in clear ---

expect 0 '' 'masked' run masked --parties 5
expect 0 '' 'clear' run clear --parties 5 --set protocol.aggregation=clear
same_models clear masked 'clear is masked'
holds masked 'set(D) == {"replayed_gradients", "void_rounds", "integrity_failures"} and not any(D.values())' \
    'masked has no counts of what it does not do'
for shape in '1 1' '1 4' '4 1' '2 2'; do
    # shellcheck disable=SC2086 # words
    expect 0 '' "coded $shape" coded "coded $shape" $shape --parties 5
    same_models "coded $shape" masked 'is masked'
    holds "coded $shape" 'D["void_rounds"] == D["integrity_failures"] == D["faulty_uploads"] == 0' \
        'and nothing was wrong'
done
fixed='--set protocol.encoding=fixed --set protocol.fixed.bits=12 --parties 5'
# shellcheck disable=SC2086 # words
expect 0 '' 'fixed masked' run fixed-masked $fixed
# shellcheck disable=SC2046,SC2086 # words
expect 0 '' 'fixed coded, two uploads missing' coded fixed-coded 2 1 $fixed $(silent 1 4)
same_models fixed-coded fixed-masked 'is fixed masked'
holds fixed-coded '[p["missing_uploads"] for p in P] == [S["rounds"], 0, 0, S["rounds"], 0]' 'without the two'

# --- drop: an upload is no reason to leave anybody behind, a share is ---

# shellcheck disable=SC2046 # words
expect 0 '' 'drop, an upload never comes' coded drop-upload 1 2 --parties 4 --set protocol.straggler=drop \
    --set protocol.deadline_ms=20000 $(silent 4)
holds drop-upload 'D["void_rounds"] == D["absent_parties"] == 0 and D["missing_uploads"] == S["rounds"]' \
    'every round closes without it, with the same set'
expect 0 '' 'drop, a share never comes' coded drop-share 1 2 --parties 4 --set protocol.straggler=drop \
    --set protocol.deadline_ms=8000 --set training.epochs=4 \
    --party 4:inject.delay=const:3600 --party 4:inject.before=share
holds drop-share 'S["status"] == "completed" and D["void_rounds"] == 3' 'costs a round each time, three times at most'
holds drop-share 'D["absent_parties"] == S["rounds"] == P[3]["absent_rounds"]' 'the rounds that count are without it'
holds drop-share 'all(p["absent_rounds"] == 0 for p in P[:3])' 'and with all others'
same '4 3 4 3 4 3 ' \
    "$(sed -n 's/.*: generation [0-9]*: \([0-9]*\) parties$/\1/p' drop-share/server/log.txt | tr '\n' ' ')" \
    'it is back in the set when an epoch begins'

# --- what cannot be ---

refuses() { # WORDS SETTING...
    words=$1
    shift
    for setting; do
        set -- "$@" --set "$setting"
        shift
    done
    expect 2 "$words" "-n refuses: $*" "$VFL_BIN/vfl-server" -c cancer/server/config.yaml -n \
        --set protocol.aggregation=coded --set protocol.coded.segments=2 --set protocol.coded.privacy=4 "$@"
}

refuses 'segments + privacy parties must answer' protocol.coded.segments=7
refuses 'segments + privacy parties must answer' protocol.coded.privacy=9
refuses 'protocol.coded.segments' protocol.coded.segments=0
refuses 'protocol.coded.privacy' protocol.coded.privacy=0
refuses 'below 65521' protocol.encoding=fixed protocol.fixed.bits=13
refuses 'protocol.encoding' protocol.encoding=float32
refuses 'protocol.gaussian.levels' protocol.encoding=gaussian protocol.gaussian.levels=4096
refuses 'must be 4 to 2^24 steps' protocol.encoding=gaussian protocol.gaussian.match=sigma \
    protocol.gaussian.sigma=1e-300
refuses 'model.fusion' model.fusion=concat
refuses 'protocol.straggler' protocol.straggler=async
refuses 'fixed has no noise' protocol.encoding=fixed protocol.fixed.bits=12 protocol.straggler=drop
# p = 163: 8 bits; 280 values in 2 segments; 9 shares and an upload of 140 bytes up, the shares and 280 floats down.
"$VFL_BIN/vfl-server" -c cancer/server/config.yaml -n --set protocol.aggregation=coded --set protocol.coded.segments=2 \
    --set protocol.coded.privacy=4 --set protocol.pbm.trials=16 --set model.embedding=4 --set training.batch=70 >priced
expect 0 '1400 payload bytes up from each party, 2380 down to each' '-n prices what can be, to the byte' cat priced
expect 0 'for the 9 others: 1260 of them each way, 8 bits an element; the upload: 140' \
    'and what of it are shares' cat priced
expect 0 'any 6 uploads decode: 4 may be late or lost' 'and who may be missing' cat priced
closing
