#!/bin/sh
# test_standing.sh -- daemons that stand: jobs of a queue one after another, refused, cancelled and killed ones, a party
# that goes and comes back, a server that dies in a job and in the queue, and strangers at the control socket.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

# Who is started here ends with the test, whatever becomes of it.
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

# Keys, roster, data and configurations of three parties; the model of this run is not used.
"$vfl" cluster --parties 3 --set training.epochs=1 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)

fedvs=
start() { # server | 1 | 2 | 3
    if [ "$1" = server ]; then
        "$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
            --set protocol.patience_ms=20000 >>server.log 2>&1 &
    else
        encodings='[pbm,gaussian]'
        [ "$1" != 3 ] || encodings='[pbm]'
        [ -z "$fedvs" ] || encodings='[pbm,fixed]'
        # shellcheck disable=SC2086 # fedvs: words, or nothing
        "$VFL_BIN/vfl-party" -c run/party-"$1"/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
            --set policy.encodings="$encodings" $fedvs --set data.predict=run/data/party-"$1"-test.csv \
            >>party-"$1".log 2>&1 &
    fi
    echo $! >"$1.pid"
}

kill_9() {
    kill -9 "$(cat "$1.pid")"
    wait "$(cat "$1.pid")" 2>/dev/null
}

job() {
    "$vfl" job --state run/server "$@"
}

plan() { # NAME YAML
    printf '%s\n' "$2" >"$1.yaml"
}

state_of() { # JOB
    job show "$1" | sed -n 's/^ "state": "\(.*\)",$/\1/p'
}

is() { # JOB STATE
    [ "$(state_of "$1")" = "$2" ]
}

run_of() { # JOB
    job show "$1" | sed -n 's/^ "run": "\(.*\)",$/\1/p'
}

trains() { # JOB: it has been through an epoch, so that a kill is in its midst
    is "$1" running && grep -q round "run/server/runs/$(run_of "$1")/metrics.jsonl"
}

has_runs() { # PARTY NUMBER
    [ "$(find "run/party-$1/runs" -mindepth 1 -maxdepth 1 | wc -l)" = "$2" ]
}

said() { # LOG WORDS
    grep -q -e "$2" "$1"
}

ended() { # WHO: it has ended by itself
    ! kill -0 "$(cat "$1.pid")" 2>/dev/null
}

plan first 'training: {epochs: 1}'
plan second 'training: {epochs: 2, learning_rate: 0.1}'
plan refused 'protocol: {encoding: gaussian, gaussian: {match: sigma, sigma: 1}}'
plan long 'training: {epochs: 100000}'
plan wrong 'listen: "0.0.0.0:1"'
plan nonsense 'training: {epochs: -1}'

# --- what is no text, and what there is no memory for, are told apart before a server is asked ---
printf '\377\n' >latin.yaml
head -c 10000000 /dev/zero | tr '\0' '\001' >large.yaml # of which JSON makes six times as much
expect 2 'latin.yaml: no text in UTF-8' 'a plan that is no text' job submit train latin.yaml
expect 2 'model, --absent: no text in UTF-8' 'an option that is none' \
    job submit predict --model "$(printf '\377')" first.yaml
with_little_memory() (
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -v 80000
    exec "$VFL_BIN/vfl-job" --state run/server "$@"
)
# A sanitizer reserves address space by the terabyte, so no limit of it can be set.
if grep -qaE '__(asan|tsan)_init' "$VFL_BIN/vfl-job"; then
    echo 'skip  a plan without memory for it: the program is built with a sanitizer'
else
    expect 6 'large.yaml: out of memory' 'a plan without memory for it' with_little_memory submit train large.yaml
fi
rm latin.yaml large.yaml

# --- the queue takes jobs before anybody is there, and parties come when they like ---
start server
wait_until [ -S run/server/control ] || not_ok 'no control socket'
same 1 "$(job submit train first.yaml)" 'a first job'
same 2 "$(job submit train second.yaml)" 'and a second, while the first waits for parties'
for who in 1 2 3; do start $who; done
expect 0 completed 'the first is played' job wait 1
expect 0 completed 'and then the second' job wait 2
same 2 "$(ls run/server/runs | wc -l)" 'each has a folder at the server'
same "$(ls run/server/runs)" "$(ls run/party-1/runs)" 'of the same name at a party'
same "$(ls run/server/runs)" "$(ls run/server/models | grep -v -e served -e "$(head -n 1 run/server/models/served)")" \
    'which is that of its model'
same 2 "$(find run/party-1/runs -name paid | wc -l)" 'which says there that it was paid for'
run=$(run_of 2)
same yes "$([ "run/party-3/models/$run/model.safetensors" -ot "run/party-3/runs/$run/summary.json" ] && echo yes)" \
    'which a party keeps before it hears that the run is over'
expect 0 '"epochs": 2.0' 'with figures of its own' job summary 2
expect 0 'job 2' 'and a log' job log 2

# --- predictions by the model of the last one ---
cut -d, -f1 run/data/party-1-test.csv | sed -n '2,21p' >ids
same 3 "$(job submit predict --by risk-desk ids)" 'predictions'
expect 0 completed 'are played' job wait 3
same 4 "$(grep -l 'for risk-desk' server.log party-?.log | wc -l)" 'for whom is in the log of every side'
job scores 3 >scores.csv
same "$(cat ids)" "$(tail -n +2 scores.csv | cut -d, -f1)" 'a score for each id'

same 3 "$(find run/party-1/runs -name paid | wc -l)" 'which a party paid for, too'

# --- what is wrong costs itself ---
expect 2 'listen: unknown key' 'a plan has no other keys' job submit train wrong.yaml
expect 2 'training.epochs' 'and no values out of range' job submit train nonsense.yaml
same 4 "$(job submit train refused.yaml)" 'a plan that party 3 refuses'
expect 1 'policy.encodings' 'is over for all, by name' job wait 4
wait_until has_runs 1 3 || not_ok 'a job that never began leaves a folder'
same 5 "$(job submit predict --model no-such-run ids)" 'a model that there is not'
expect 1 'no-such-run' 'is over at once' job wait 5
expect 2 'no such job' 'no job' job show 99
expect 2 'is over' 'what is over is not cancelled' job cancel 4
for who in 1 2 3; do
    same 1 "$(grep -c 'error:' party-$who.log)" "party $who: one line of what failed there"
done
same 2 "$(grep -c 'error:' server.log)" 'and one of each at the server'

# --- cancelled, while it waits and while it is played ---
same 6 "$(job submit train long.yaml)" 'a long one'
wait_until trains 6 || not_ok 'it does not train'
same 7 "$(job submit train first.yaml)" 'and one behind it'
expect 0 cancelled 'one that waits is cancelled' job cancel 7
expect 0 '' 'and one that is played' job cancel 6
expect 1 stopped 'is over' job wait 6

# --- a party goes and comes back; the server dies in a job and in the queue ---
rm -rf run/server/runs/*
same 8 "$(job submit train long.yaml)" 'another long one'
wait_until trains 8 || not_ok 'it does not train'
kill_9 2
wait_until said server.log 'p2 lost' || not_ok 'nobody misses it'
: >party-2.log
start 2
wait_until said party-2.log 'hold one view' || not_ok 'it does not come back'
same 9 "$(job submit train second.yaml)" 'one behind it'
kill_9 server
start server
wait_until said server.log 'going on after' || not_ok 'the run does not go on'
same running "$(state_of 8)" 'the job that was played is'
same waiting "$(state_of 9)" 'and the one behind it waits'
job cancel 8 >said
expect 1 stopped 'cancelled' job wait 8
expect 0 completed 'the next is played' job wait 9

# --- a party whose rows to predict cannot be read ---
: >party-1.log
: >server.log # of an earlier job that party 1, too, may have been the first to refuse
cp run/data/party-1-test.csv kept.csv
sed -i '2s/,.*/,x/' run/data/party-1-test.csv
n=$(job submit predict ids)
wait_until said party-1.log 'failed: .*party-1-test.csv:2: ' && ok 'its own log says why' ||
    not_ok 'it does not say why'
wait_until said server.log 'p1 lost in phase agree' && ok 'it is gone, as if it had died' ||
    not_ok 'it stays and is silent'
same 'running' "$(state_of "$n")" 'nobody is told'
grep -q 'party-1-test.csv\|p1 refuses' server.log && not_ok 'the server hears of the file' || ok 'nor what is wrong'
cp kept.csv run/data/party-1-test.csv
job cancel "$n" >said
expect 1 stopped 'the job is cancelled' job wait "$n"
: >server.log
wait_until said server.log 'p1 joined' || not_ok 'it does not come back'
expect 0 completed 'the next one finds all of them' job wait "$(job submit predict ids)"

# --- data that was dealt: its shares go with the job, and nobody reads them any more ---
for who in 1 2 3; do
    kill "$(cat $who.pid)"
    wait "$(cat $who.pid)"
done
plan fedvs 'protocol: {aggregation: fedvs, encoding: fixed}
training: {epochs: 2}
model: {fusion: mean}'
fedvs='--set model.layers=[] --set model.polynomial.degree=1 --set policy.aggregations=[masked,fedvs]'
for who in 1 2 3; do start $who; done
expect 0 completed 'a job whose data is dealt' job wait "$(job submit train fedvs.yaml)"
kill_9 server
: >server.log
start server
for who in 1 2 3; do
    wait_until said server.log "p$who joined" || not_ok "p$who does not come back"
done
expect 0 completed 'a party comes back to a server that is started again after it' \
    job wait "$(job submit train first.yaml)"

# --- a run of the federation's goes on from another, whose package a party has or has not ---
from=$(tail -n 1 run/server/models/served)
plan onward "training: {epochs: 2, from: $from}"
onward=$(job submit train onward.yaml)
expect 0 completed 'a run goes on from the model of another' job wait "$onward"
expect 0 "^from        $from" 'as the package of a party says' \
    "$vfl" models --state run/party-2 show "$(run_of "$onward")"
mv "run/party-2/models/$from" lost
expect 1 'p2 refuses: training.from: no model of run' 'not where a party has lost its part' \
    job wait "$(job submit train onward.yaml)"
mv lost "run/party-2/models/$from"
expect 0 completed 'who has it again takes part again' job wait "$(job submit train onward.yaml)"

# --- what an unfinished run goes on from stays, and a killed one finds it ---
plan longer "training: {epochs: 60, from: $from}"
longer=$(job submit train longer.yaml)
wait_until trains "$longer" || not_ok 'it does not begin'
kill_9 server
kill_9 2
for side in server party-2; do
    expect 2 "a run that is not complete goes on from $from" "what a killed run goes on from stays at $side" \
        "$vfl" models --state "run/$side" remove "$from"
done
start server
wait_until job list >/dev/null 2>&1 || not_ok 'no server'
start 2
expect 0 completed 'so it goes on to its end' job wait "$longer"
expect 0 '' 'and what it went on from may go' "$vfl" models --state run/server remove "$from"

# --- predictions of which a party refuses the first round ---
seq -f 'nobody-%.0f' 1200 >nobody
kept=$(ls run/party-1/runs)
expect 1 'policy.predict.max_unknown' 'more ids that nobody has than a party answers for' \
    job wait "$(job submit predict nobody)"
same "$kept" "$(ls run/party-1/runs)" 'leave no folder'

# --- who is at the socket without the token ---
control=run/server/control
ask() { # TOKEN OPTIONS... PATH
    curl -s -o body -w '%{http_code}' --unix-socket "$control" -H "Authorization: Bearer $1" "$@"
}
if command -v curl >/dev/null; then
    token=$(cat run/server/token)
    url=http://localhost/v1/jobs
    same 200 "$(ask "$token" "$url" | tail -c 3)" 'with the token'
    same 401 "$(ask "${token}0" "$url" | tail -c 3)" 'without it'
    same 400 "$(ask "$token" -d '{"kind": "train"' "$url" | tail -c 3)" 'half a job'
    same 400 "$(ask "$token" -d '{"kind": "align", "plan": ""}' "$url" | tail -c 3)" 'a kind that there is not'
    same 400 "$(ask "$token" -d '{"kind": "predict", "ids": "1", "model": "../../etc"}' "$url" | tail -c 3)" 'a path'
    same 404 "$(ask "$token" "$url/9/../../../server.key" --path-as-is | tail -c 3)" 'a file'
    same 404 "$(ask "$token" -X PATCH "$url/9" | tail -c 3)" 'a method'
fi
same 600 "$(stat -c %a run/server/control)" 'the socket is its owner'"'"'s'
same 600 "$(stat -c %a run/server/token)" 'and so is the token'

# --- an order to stop ends them in order, and nothing else has ---
for who in server 1 2 3; do
    ended $who && not_ok "$who has ended by itself" || ok "$who stands"
    kill "$(cat $who.pid)"
    wait "$(cat $who.pid)"
    same 0 $? 'and stops in order'
    rm $who.pid
done
expect 4 'stand: true' 'nobody answers then' job list
closing
