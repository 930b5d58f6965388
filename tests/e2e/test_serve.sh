#!/bin/sh
# test_serve.sh -- predictions on request at a server that stands: curl and a Python client, answers for some ids where
# others fail, kept answers and persons who are taken out of them, clients who may ask for no more, too many at once, a
# queue beside it, a party that is away, a server that is killed.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6
if ! command -v curl >/dev/null; then
    echo 'skip  there is no curl'
    exit 0
fi

trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

"$vfl" cluster --parties 3 --set training.epochs=1 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)
more='--set serve.client_rows_per_day=12' # options of the server

start() { # server | 1 | 2 | 3
    if [ "$1" = server ]; then
        # shellcheck disable=SC2086 # words, or nothing
        "$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
            --set http=127.0.0.1:0 --set serve.waiting=64 $more >>server.log 2>&1 &
    else
        "$VFL_BIN/vfl-party" -c run/party-"$1"/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
            --set data.predict=run/data/party-"$1"-test.csv --set policy.predict.max_rows="$1"00 >>party-"$1".log 2>&1 &
    fi
    echo $! >"$1.pid"
}

end() { # SIGNAL WHO
    kill "$1" "$(cat "$2.pid")"
    wait "$(cat "$2.pid")" 2>/dev/null
}

said() { # LOG WORDS
    grep -q -e "$2" "$1"
}

ask() { # TOKEN OPTIONS... PATH: the answer is in ./body
    token=$1
    shift
    curl -s -o body -w '%{http_code}' -H "Authorization: Bearer $token" "$@"
}

scores() { # IDS [FIELDS]: of a JSON list
    ask "$client" -d "{\"ids\": $1${2:-}}" "$url/served/predict"
}

stat_of() { # NAME
    ask "$client" "${url%/models}/stats" >/dev/null
    sed -n "s/^ \"$1\": \([0-9a-z\"]*\),\$/\1/p" body
}

waits_for() { # ROWS
    [ "$(stat_of waiting_rows)" = "$1" ]
}

who_serves() {
    url=http://$(cat run/server/http)/v1/models
    client=$(cat run/server/token.predict)
    operator=$(cat run/server/token)
}

job() {
    "$vfl" job --state run/server "$@"
}

# --- what no server begins with ---
expect 2 'http=0.0.0.0:8080: an address of loopback' 'another address than loopback' \
    "$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set http=0.0.0.0:8080
expect 2 'http=127.0.0.1:0: needs stand: true' 'a server that does not stand' \
    "$VFL_BIN/vfl-server" -c run/server/config.yaml --set http=127.0.0.1:0

no_token() { # WORDS WHAT: what is in the file is read from stdin
    (umask 077 && cat >run/server/token.odd)
    expect 2 "$1" "$2" "$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:0 \
        --set http=127.0.0.1:0
    rm run/server/token.odd
}
no_token 'no token of 64 hexadecimal digits' 'a token of other characters' <<EOF
$(printf '%064d' 0 | tr 0 z)
EOF
{ printf 'a' && head -c 63 /dev/zero && echo; } | no_token 'no token of 64' 'nor one of a damaged file'
(umask 077 && openssl rand -hex 32 >run/server/token)
no_token 'the token of operator, too' 'nor a client with what is the operator'"'"'s' <run/server/token

start server
wait_until [ -s run/server/http ] || not_ok 'no port'
for who in 1 2 3; do start $who; done
who_serves
same 600 "$(stat -c %a run/server/token.predict)" 'the token of clients is its owner'"'"'s'
same 413 "$(head -c 200000 /dev/zero | ask "$client" --data-binary @- --unix-socket run/server/control \
    http://localhost/v1/models/served/predict)" 'what is asked is as short over the socket as over the port'
echo nobody >one
mv run/server/jobs jobs.aside
expect 6 'jobs/1.ids' 'a job that cannot be written is refused, and why is said' job submit predict one
mv jobs.aside run/server/jobs
model=$(tail -n 1 run/server/models/served)
mkdir "run/server/models/$model/answers"
case $(scores '["nobody"]' ', "deadline_ms": 2500') in
50[34]) ok 'where kept answers cannot be read nobody is asked' ;;
*) not_ok 'asked, whatever was kept' ;;
esac
lines=$(grep -c 'kept answers: .*Is a directory' server.log)
[ "$lines" -ge 1 ] && [ "$lines" -le 4 ] && ok 'and the log says so once a second' || not_ok "$lines lines in the log"
rmdir "run/server/models/$model/answers"

# --- rows, and what is none ---
same 200 "$(scores '["0", "4", "no,id", "0"]')" 'some ids of a request are answered'
same 3 "$(grep -c '"id".*"scores": \[' body)" 'by a score for each class'
grep -q '"id": "no,id", "error": "no id"' body && ok 'and what is no id has a word' || not_ok 'nothing of what is none'
same "$(sed -n 2p body | tr -d ,)" "$(sed -n 5p body | sed 's/\]}$//' | tr -d ,)" 'the same id twice is one row'
cp body first
python3 - "$url" "$client" >said <<'PYTHON' && ok 'a client in Python' || not_ok 'a client in Python'
import json, sys, urllib.request
url, token = sys.argv[1:]
request = urllib.request.Request(f"{url}/served/predict", json.dumps({"ids": ["9", "12"]}).encode(),
                                 {"Authorization": f"Bearer {token}"})
with urllib.request.urlopen(request, timeout=60) as f:
    answer = json.load(f)
assert [row["id"] for row in answer["scores"]] == ["9", "12"], answer
assert all(abs(sum(row["scores"]) - 1) < 1e-5 for row in answer["scores"]), answer
PYTHON
same 422 "$(scores '["", "a\nb"]')" 'nothing but what is none'
for bad in '' '{}' '{"ids": []}' '{"ids": "0"}' '{"ids": [0]}' '{"ids": ["0"], "more": 1}' \
    '{"ids": ["0"], "ids": ["4"]}' \
    '{"ids": ["0"], "deadline_ms": -1}' '{"ids": ["0"]'; do
    same 400 "$(ask "$client" -d "$bad" "$url/served/predict")" "no request: $bad"
done
same 404 "$(ask "$client" -d '{"ids": ["0"]}' "$url/no-such-run/predict")" 'a model that there is not'
same 404 "$(ask "$client" -d '{"ids": ["0"]}' --path-as-is "$url/../token/predict")" 'a path'
same 200 "$(ask "$client" "$url")" 'which models there are'
same 200 "$(ask "$client" "$url/served")" 'and what one says'
grep -q '"classes"' body && ok 'its classes' || not_ok 'no classes'

# --- who may ask ---
same 401 "$(ask "${client}0" -d '{"ids": ["0"]}' "$url/served/predict")" 'without a token'
same 403 "$(ask "$client" -H 'Origin: http://localhost' -d '{"ids": ["0"]}' "$url/served/predict")" \
    'a page in a browser'
same 403 "$(ask "$client" -H 'Host: example.org' -d '{"ids": ["0"]}' "$url/served/predict")" 'another name of this host'
same 404 "$(ask "$operator" "${url%/models}/jobs")" 'no job comes in by the port'
same 403 "$(ask "$client" --unix-socket run/server/control http://localhost/v1/jobs)" 'nor by a token of clients'
same 200 "$(ask "$client" --unix-socket run/server/control -d \
    '{"ids": ["0"]}' http://localhost/v1/models/served/predict)" \
    'which asks for rows at the socket, too'

# --- a policy that takes fewer rows than the server would ask for ---
said server.log 'the next open job is of 32 rows at most' && ok 'fewer are offered, until all parties take them' ||
    not_ok 'nothing was offered anew'

# --- clients come and go, and each has its share ---
again() { # LINE: of the log, once more than before
    lines=$(grep -c "$1" server.log)
    kill -HUP "$(cat server.pid)"
    wait_until more_lines "$1" "$lines" || not_ok "no line: $1"
}
more_lines() { # LINE THAN
    [ "$(grep -c "$1" server.log)" -gt "$2" ]
}
(umask 077 && openssl rand -hex 32 >run/server/token.second)
second=$(cat run/server/token.second)
many=$(sed -n '30,42p' run/data/party-1-test.csv | cut -d, -f1 | sed 's/.*/"&"/' | paste -sd,)
same 401 "$(ask "$second" -d "{\"ids\": [$many]}" "$url/served/predict")" 'a client whose token was not read yet'
again 'tokens read again: 2 clients'
same 200 "$(ask "$second" -d "{\"ids\": [$many]}" "$url/served/predict")" 'is one after SIGHUP'
same '12 1' "$(grep -c '"scores": \[[0-9]' body) $(grep -c 'asked for all that it may' body)" \
    'and has so many rows a day'
same 429 "$(ask "$second" -D head -d '{"ids": ["nobody-else"]}' "$url/served/predict")" 'then it is told to come again'
grep -qi '^Retry-After: [0-9][0-9][0-9]' head && ok 'another day' || not_ok 'no word of when'
same 200 "$(scores '["55"]')" 'while others are answered'
echo no token >run/server/token.second
again 'tokens stay as they were: .*token.second'
same 200 "$(scores '["0"]')" 'a file that is no token changes nothing'
same 429 "$(ask "$second" -d '{"ids": ["nobody-else"]}' "$url/served/predict")" 'for anybody'
rm run/server/token.second
again 'tokens read again: 1 clients'
same 401 "$(ask "$second" -d '{"ids": ["0"]}' "$url/served/predict")" 'who is taken out is nobody'
more=

# --- what was answered is asked of nobody ---
run=$(cat run/server/models/served)
kept=run/server/models/$run/answers
wait_until grep -q '^0,,0,' "$kept" && ok 'answers are kept' || not_ok 'nothing is kept'
before=$(stat_of jobs)
same 200 "$(scores '["0", "4", "no,id", "0"]')" 'the same rows again'
cmp -s body first && ok 'have the same scores' || not_ok 'they have others'
end -9 server
for who in 1 2 3; do end -TERM $who; done
: >server.log
rm run/server/http
start server
wait_until [ -s run/server/http ] || not_ok 'no port after a kill'
who_serves
same 200 "$(scores '["0", "4", "no,id", "0"]')" 'a server that was killed still has them'
cmp -s body first && ok 'as they were, and no party is there' || not_ok 'it has others'
same 0 "$(stat_of jobs)" 'no job was opened'
same 200 "$(scores '["0", "16"]' ', "deadline_ms": 300')" 'what is kept is answered while parties are away'
grep -q '"id": "16", "error": "the parties are not together"' body && ok 'and of the rest it says so' ||
    not_ok 'no word of it'
same 503 "$(scores '["16"]' ', "deadline_ms": 300')" 'as it does where nothing is kept'
for who in 1 2 3; do start $who; done
expect 2 '^1 kept answers are forgotten' 'a person is taken out; other lists wait for the end of the server' \
    "$vfl" models --state run/server forget --id 0
same 200 "$(scores '["0"]')" 'and asked for again'
cmp -s body first && not_ok 'out of memory' || ok 'of all parties'
differ 0 "$(stat_of jobs)" 'in a job'

# --- jobs of the queue and requests take turns ---
printf 'training: {epochs: 1}\n' >plan.yaml
n=$(job submit train plan.yaml)
same 200 "$(scores '["23"]' ', "deadline_ms": 60000')" 'rows are answered beside a job'
expect 0 completed 'which is played as well' job wait "$n"
sed -n '2,21p' run/data/party-1-test.csv | cut -d, -f1 >ids
n=$(job submit predict --model "$run" ids)
expect 0 completed 'and so is one of predictions' job wait "$n"
job scores "$n" >table.csv
same 200 "$(ask "$client" -d "{\"ids\": [\"$(sed -n 20p ids)\"]}" "$url/$run/predict")" \
    'whose answers are kept for requests'
row=$(sed -n 's/.*"scores": \[\(.*\)\]}.*/\1/p' body | cut -c1-6)
same "$(tail -n 1 table.csv | cut -d, -f2 | cut -c1-6)" "$row" 'as they are'

# --- more than may wait ---
end -TERM 3
ids=$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%s\"x%d\"", i ? ", " : "", i }')
scores "[$ids]" ', "deadline_ms": 60000' >first.code 2>/dev/null &
waits=$!
wait_until waits_for 40 || not_ok 'nothing waits'
same 429 "$(ask "$client" -D head -d "{\"ids\": [$ids]}" "$url/served/predict")" 'more rows than may wait'
grep -qi '^Retry-After: [0-9]' head && ok 'are told when to come again' || not_ok 'no word of when'

# --- an order to stop ---
end -TERM server
wait $waits
same 503 "$(cat first.code)" 'who waits is told when the server stops'
said server.log 'client predict has asked for .* rows in .* requests' && ok 'who asked is in the log' ||
    not_ok 'nobody says who asked'
grep -q '"latency"' run/server/runs/serve/prediction.json && ok 'how long it took is in the summary' ||
    not_ok 'no latency'
for who in 1 2; do end -TERM $who; done
rm -f ./*.pid
closing
