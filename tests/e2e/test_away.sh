#!/bin/sh
# test_away.sh -- standing daemons of four parties on the breast cancer set, one of which is killed: predictions go on
# without it, named and charged; with it again, and never where sums are exact.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# Who is started here ends with the test, whatever becomes of it.
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

"$vfl" cluster --parties 4 --set training.party_dropout=0.2 --set protocol.pbm.trials=64 --set model.embedding=4 \
    --set training.epochs=8 --set protocol.patience_ms=20000 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)

start() { # server [ARGUMENTS...] | 1 | 2 | 3 | 4
    who=$1
    shift
    if [ "$who" = server ]; then
        "$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
            --set predict.wait_ms=1500 "$@" >>server.log 2>&1 &
    else
        "$VFL_BIN/vfl-party" -c run/party-"$who"/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
            --set data.predict=run/data/party-"$who"-test.csv --set 'policy.encodings=[pbm,fixed]' "$@" \
            >>party-"$who".log 2>&1 &
    fi
    echo $! >"$who.pid"
}

stops() { # WHO [SIGNAL]
    kill "${2:--TERM}" "$(cat "$1.pid")"
    wait "$(cat "$1.pid")" 2>/dev/null
    rm "$1.pid"
}

job() {
    "$vfl" job --state run/server "$@"
}

said() { # LOG WORDS
    grep -q -e "$2" "$1"
}

released() { # PARTY
    "$VFL_BIN/vfl-party" --ledger -c run/party-"$1"/config.yaml | sed -n 's/^releases .* predict  *\([0-9]*\).*/\1/p'
}

field() { # JOB NAME
    job show "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["'"$2"'"])'
}

auc() { # SCORES
    /usr/bin/python3 - "$1" <<'PY'
import csv, sys
label = {r[0]: float(r[-1]) for r in list(csv.reader(open("run/data/labels-test.csv")))[1:]}
rows = [(float(s[2]), label[s[0]]) for s in list(csv.reader(open(sys.argv[1])))[1:]]
pos, neg = [s for s, y in rows if y], [s for s, y in rows if not y]
print(sum((p > n) + 0.5 * (p == n) for p in pos for n in neg) / len(pos) / len(neg))
PY
}

within() { # WHAT LEAST GOT
    awk "BEGIN { exit !($3 >= $2) }" && ok "$1" || not_ok "$1: $3"
}

# --- what it would cost ---
expect 0 'accepts all of them among so few' 'the price among the fewest' "$VFL_BIN/vfl-party" -n --predict served \
    -c run/party-1/config.yaml --set data.predict=run/data/party-1-test.csv --set policy.min_parties=3
said said 'among 3 of 4, the fewest' && ok 'is that of policy.min_parties' || not_ok 'of another set'
same '4 3' "$(sed -n 's/^# *server *record_raw.*m_eff \([0-9]*\).*/\1/p' said | head -n 2 | paste -sd' ')" \
    'at the noise of three'

# --- exact sums are of everybody ---
cut -d, -f1 run/data/party-1-test.csv | tail -n +2 >ids
rows=$(wc -l <ids)
noisy=$(head -n 1 run/server/models/served)
echo '{protocol: {encoding: fixed}, training: {epochs: 1, party_dropout: 0}}' >fixed.yaml
start server
wait_until [ -S run/server/control ] || not_ok 'no control socket'
for i in 1 2 3 4; do start $i; done
expect 0 completed 'a model without noise' job wait "$(job submit train fixed.yaml)"
expect 1 'sums are without noise' 'predicts with all alone' job wait "$(job submit predict --min-parties 3 ids)"
expect 1 'the roster has 4 parties' 'nobody is asked for more than there are' \
    job wait "$(job submit predict --model "$noisy" --min-parties 5 ids)"
expect 2 'a number of parties expected' 'or for no number' job submit predict --min-parties x ids

# --- all are there, then one is killed ---
predict() { # ARGUMENTS...: prints the job's number
    job submit predict --model "$noisy" "$@"
}
n=$(predict --min-parties 3 ids)
expect 0 completed 'while all are there' job wait "$n"
same '' "$(field "$n" without)" 'nobody is missing'
job scores "$n" >all.csv
expect 2 'no such file' 'and no row names anybody' job without "$n"
stops 4 -9
rm run/server/models/"$noisy"/answers # so that they are asked for again
n=$(predict --min-parties 3 ids)
expect 0 completed 'one is killed: the others answer' job wait "$n"
same p4 "$(field "$n" without)" 'the job names who is missing'
same "['p4']" "$(job summary "$n" | python3 -c 'import json, sys; print(json.load(sys.stdin)["without"])')" \
    'so does the summary'
job without "$n" >without.csv
same "id,without
$(sed 's/$/,p4/' ids)" "$(cat without.csv)" 'and a line for each row'
said server.log 'going on without p4: not here' && ok 'the log does' || not_ok 'not in the log'
said party-1.log 'predictions among 3 of 4 parties' && ok 'also at the parties' || not_ok 'not in their logs'
job scores "$n" >fewer.csv
differ "$(cat all.csv)" "$(cat fewer.csv)" 'these are other scores'
within 'of all: AUC' 0.9 "$(auc all.csv)"
within 'without one, whose place the head has learned to fill: AUC' 0.85 "$(auc fewer.csv)"
same "$rows" "$(grep -c '^0,3,' run/server/models/"$noisy"/answers)" 'answers are kept by set'
n=$(predict --absent p4 ids)
expect 0 completed 'and given again to who asks for that set' job wait "$n"
same "$(cat fewer.csv)" "$(job scores "$n")" 'as they were'

# --- it comes back ---
start 4
wait_until said server.log 'p4 joined' || not_ok 'it does not come back'
n=$(predict --min-parties 3 ids)
expect 0 completed 'it is there again' job wait "$n"
same '' "$(field "$n" without)" 'nobody is missing'
for i in 1 2 3 4; do stops $i; done
same "$((3 * rows)) $((3 * rows)) $((3 * rows)) $((2 * rows))" \
    "$(released 1) $(released 2) $(released 3) $(released 4)" 'each row was charged once for each time and set'
closing
