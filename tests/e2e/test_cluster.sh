#!/bin/sh
# test_cluster.sh -- the contract of `vfl cluster`: what DIR holds, what is continued, what is refused.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
cluster() {
    timeout 600 "$vfl" cluster "$@"
}

# A number or text of a summary: value FILE KEY...
value() {
    file=$1
    shift
    python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2:]:
    v = v[int(k) if k.isdigit() else k]
print(v if not isinstance(v, float) else "%.12g" % v)' "$file" "$@" 2>/dev/null
}

# --- a party that has trained to the end but cannot write its model; its second half is at the end ---
timeout 600 "$vfl" cluster --quiet --out part --seed 7 --parties 2 --set training.epochs=2 \
    --set protocol.patience_ms=20000 2>part-said &
part=$!
wait_until [ -d part/party-2 ] && mkdir part/party-2/model.safetensors.tmp

# --- a run ---
expect 0 'status    completed' 'one command trains on the shipped set' \
    cluster --out run --seed 7 --set training.epochs=2 --party '*:model.layers=[8]' --party 2:data.scale=none
for file in summary.json plan.txt server/log.txt server/metrics.jsonl server/summary.json server/resolved.yaml \
    party-4/log.txt party-4/metrics.jsonl party-4/summary.json party-4/resolved.yaml; do
    same "run/$file" "$(ls "run/$file" 2>&1)" "there is $file"
done
same completed "$(value run/summary.json status)" 'the merged summary has the status'
same True "$(value run/summary.json insecure_seed)" '--seed shows'
same False "$(value run/summary.json plaintext)" 'masked is not plaintext'
same 4 "$(value run/summary.json parties_n)" 'four parties are the default'
same p4 "$(value run/summary.json parties 3 name)" 'in their order'
differ '' "$(value run/summary.json parties 3 max_rss_kb)" 'with what only they know'
for i in 1 2 3 4; do
    same "$(value run/party-$i/summary.json model_sha256 parties 0)" \
        "$(value run/summary.json model_sha256 parties $((i - 1)))" "party $i's model is in the merged summary"
done
differ '' "$(value run/summary.json privacy claims 0 m_eff)" 'claims come from the parties'
same 'training.seed 7' "training.$(sed -n 's/^  seed: /seed /p' run/server/resolved.yaml)" '--seed sets training.seed'
same '[8] [8]' "$(for i in 1 2; do sed -n 's/^  layers: //p' run/party-$i/resolved.yaml; done | paste -sd' ')" \
    "--party '*:' reaches all"
same '"fit" "none"' "$(for i in 1 2; do sed -n 's/^  scale: //p' run/party-$i/resolved.yaml; done | paste -sd' ')" \
    '--party I: reaches one'
same 3 "$(sed -n 's/^  min_parties: //p' run/party-1/resolved.yaml)" 'policies admit the plan'
same "$("$vfl" pki digest run/roster.yaml)" "$(sed -n 's/.*roster_sha256: "\(.*\)"/\1/p' run/party-1/resolved.yaml)" \
    'and pin the roster'
same '' "$(find run -name '*.key' -perm /077)" 'no key is readable by others'

# --- a summary of somebody else ---
# Words of a summary are words, and no orders to a terminal.
mkdir foreign
order='\u001b]0;x\u0007\u009b2J\r'
printf '{"status": "s%s", "error": "e%s", "degraded": {"d%s": 1}, "privacy": {"mechanism": "m%s", "claims": [%s]},' \
    "$order" "$order" "$order" "$order" \
    "{\"adversary\": \"server\", \"adjacency\": \"record_$order\"}, {\"adversary\": \"v$order\", \"epsilon\": 1}" \
    >foreign/summary.json
printf '"parties": [{"name": "p%s", "missing_uploads": 2}]}' "$order" >>foreign/summary.json
expect 0 '^status    s?\]0;x?' 'a summary of anybody is shown' "$VFL_BIN/vfl-merge" --show foreign
same '' "$(LC_ALL=C tr -d '\n -~' <said | od -An -tx1)" 'without control characters'
same 6 "$(grep -o '?\]0;x???2J?' said | wc -l)" 'each of its words is there'

# --- the same again ---
stamp=$(stat -c %Y.%i run/server/summary.json)
expect 0 'complete already' 'a complete run is shown, not run' \
    cluster --out run --seed 7 --set training.epochs=2 --party '*:model.layers=[8]' --party 2:data.scale=none
same "$stamp" "$(stat -c %Y.%i run/server/summary.json)" 'and nothing was started'
expect 2 'another plan' 'another plan in the same folder is refused' cluster --out run --seed 7 --set training.epochs=3
mkdir full && : >full/mine
expect 2 'is not empty' 'a folder of something else is refused' cluster --out full
same mine "$(cd full && find . -name mine | sed 's/..//')" 'and left alone'
expect 0 '' 'a second run with the seed' \
    cluster --quiet --out again --seed 7 --set training.epochs=2 --party '*:model.layers=[8]' --party 2:data.scale=none
same '' "$(cat said)" '--quiet says nothing'
same "$(value run/summary.json model_sha256 head) $(value run/summary.json model_sha256 parties 2)" \
    "$(value again/summary.json model_sha256 head) $(value again/summary.json model_sha256 parties 2)" \
    'gives the same models'
expect 0 '' 'a run with another seed' \
    cluster --quiet --out third --seed 8 --set training.epochs=2 --party '*:model.layers=[8]' --party 2:data.scale=none
differ "$(value run/summary.json model_sha256 head)" "$(value third/summary.json model_sha256 head)" 'does not'

# --- without a seed, nobody can try records on what is said of a party's model ---
expect 0 '' 'a run without a seed' \
    cluster --quiet --out drawn --parties 2 --set training.epochs=1 --party '*:model.layers=[4]'
differ '' "$(value drawn/summary.json model_sha256 head)" 'says which head it has made'
same '' "$(value drawn/summary.json model_sha256 parties)$(grep -l model_sha256 drawn/party-*/summary.json)" \
    'and of no party which bottom'
same 2 "$(find drawn -path '*party-?/model.safetensors' | wc -l)" 'though they are there'

# --- a start after the end is another run; while that has done nothing, the model is the one there was ---
stamp=$(sha256sum third/server/model.safetensors)
"$VFL_BIN/vfl-server" -c third/server/config.yaml --set listen=127.0.0.1:0 2>third-said &
server=$!
wait_until grep -q listening third-said
kill -TERM $server
wait $server
same 0 $? 'a server with nobody to serve is stopped'
same stopped "$(value third/server/summary.json status)" 'and says so'
same "$stamp" "$(sha256sum third/server/model.safetensors)" 'the model of the run before is still there'

# --- policies ---
expect 0 PLAINTEXT 'policies admit clear' cluster --out clear --parties 2 --set training.epochs=1 \
    --set protocol.aggregation=clear --set protocol.encoding=float32
same True "$(value clear/summary.json plaintext)" 'and the summary says plaintext'
expect 5 'policy.aggregations' '--strict-policy leaves the defaults, which refuse it' cluster --out strict \
    --strict-policy --set protocol.aggregation=clear --set protocol.encoding=float32
same failed "$(value strict/summary.json status)" 'and the summary says failed'
expect 5 'policy' "one party's own policy wins" cluster --out own --party 3:policy.min_parties=9 \
    --party 1-2,4:data.scale=none --party '*,1:model.layers=[8]'
same '"none" "none" "fit" "none"' \
    "$(for i in 1 2 3 4; do sed -n 's/^  scale: //p' own/party-$i/resolved.yaml; done | paste -sd' ')" \
    '--party I-J,K: reaches those and no other'
same 4 "$(grep -l '^  layers: .8.$' own/party-?/resolved.yaml | wc -l)" '--party *,I: reaches all'

# --- mistakes of this side: exit 2, one line, the guilty one named ---
expect 2 'server: .*beta' 'a plan out of range' cluster --out e1 --set protocol.pbm.beta=0.3
same 1 "$(wc -l <said)" 'is one line'
differ '' "$(value e1/summary.json error)" 'that the summary has too'
expect 2 'unknown key' 'an unknown key' cluster --out e2 --set protocol.trials=3
expect 2 'party-2: ' 'a broken file of one party' cluster --out e3 --party 2:data.train=/nonexistent.csv
expect 2 'there are 4 parties' 'a party that is none' cluster --out e4 --party 5:data.scale=none
expect 2 'there are 4 parties' 'a range that ends beyond the last party' cluster --out e7 --party 3-5:data.scale=none
expect 2 'there are 4 parties' 'a list with one that is none' cluster --out e8 --party '1,9,*:data.scale=none'
expect 2 'given twice' 'a column for two' cluster --out e5 --columns 1-3,3
expect 2 'known are breast_cancer digits' 'an unknown set' cluster --data iris
expect 2 'exclude each other' 'data of two kinds' cluster --data digits --train x
expect 2 'key.path=value' 'a setting without a value' cluster --set protocol
expect 2 'WHO:key' 'a party setting without a party' cluster --party data.scale=none
# shellcheck disable=SC2016 # as it stands
for who in 0 1- -1 1-2-3 3-1 '1,' ',1' 1,,2 257 1-257 01 x 1x '1;2' '1 2' '**' '*-2' ' 1' '$(id)'; do
    expect 2 'WHO being I, I-J, I,J-K or' "parties '$who'" cluster --out e6 --party "$who:data.scale=none"
done
# DIR is written to by name: what is in it leads nowhere else, and nobody waits.
for what in link pipe hidden; do
    mkdir "led-$what"
    printf 'as it was' >precious
    case $what in
    link) ln -s ../precious led-link/lock ;;
    pipe) mkfifo led-pipe/lock ;;
    hidden) mkdir led-hidden/server && ln -s ../../precious led-hidden/server/config.yaml ;;
    esac
    expect 2 'a link, or neither a file nor a folder' "a folder with a $what" \
        timeout 60 "$vfl" cluster --quiet --parties 3 --out "led-$what"
    same 'as it was' "$(cat precious)" 'nothing was written through it'
done
mkdir -m 777 led-open
chmod 777 led-open
expect 2 'writable by others' 'a folder that others may write to' cluster --out led-open
if [ "$(id -u)" = 0 ]; then
    mkdir led-owned
    ln -s ../precious led-owned/lock
    chown -h 65534 led-owned led-owned/lock
    expect 2 'belongs to user 65534' "root in another user's folder" cluster --out led-owned
    same 'as it was' "$(cat precious)" 'nothing was written there'
fi
expect 2 'needs --netns' 'a link of no namespace' cluster --link rate=1mbit
expect 2 'unknown' 'an unknown option' cluster --cake yes
same '' "$(find . -maxdepth 1 -name runs)" 'and none of them left a folder'

# --- the party that could not write its model ---
wait $part
same 6 $? 'a party without its model is a failure'
same completed "$(value part/summary.json status)" 'of a run that is complete'
same 1 "$(grep -c 'party-2: .*model.safetensors' part-said)" 'and is named'
rmdir part/party-2/model.safetensors.tmp
stamp=$(stat -c %Y.%i part/server/model.safetensors part/party-1/model.safetensors)
expect 0 'the server has ended its run already' 'the same command lets it come to its end' \
    cluster --out part --seed 7 --parties 2 --set training.epochs=2 --set protocol.patience_ms=20000
same "$stamp" "$(stat -c %Y.%i part/server/model.safetensors part/party-1/model.safetensors)" \
    'and starts nobody who had'
same "$(sha256sum <part/party-2/model.safetensors)" "$(value part/summary.json model_sha256 parties 1)  -" \
    'its model is in the merged summary'
expect 0 'complete already' 'then all is done' \
    cluster --out part --seed 7 --parties 2 --set training.epochs=2 --set protocol.patience_ms=20000

# --- signals: a run that would not end ---
timeout 600 "$vfl" cluster --quiet --out long --set training.epochs=100000 --set training.evaluate_every=20 &
script=$!
wait_until [ -s long/server/metrics.jsonl ] # an evaluation: the run is under way
kill -TERM $script
wait $script
same 0 $? 'a signal ends the script'
same stopped "$(value long/summary.json status)" 'the run is stopped in order'
same '' "$(pgrep -f "$dir/long/" || :)" 'and no daemon is left'
closing
