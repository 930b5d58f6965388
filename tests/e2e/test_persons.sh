#!/bin/sh
# test_persons.sh -- data.group: claims are for persons with many rows, and nothing that leaves the party is another.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

expect 0 completed 'three parties train' timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 \
    --set training.epochs=2 --party '*:model.layers=[8]' --party '*:data.scale=none' --party '*:model.train=frozen'

# Party 1 knows whose its rows are: every 40 ids apart are one person's.
for set in train test; do
    awk -F, -v OFS=, 'NR == 1 { $1 = "id,who" } NR > 1 { $1 = $1 ",person " $1 % 40 } { print }' \
        base/data/party-1-$set.csv >who-$set.csv
done
party() { # I ARGUMENTS...
    i=$1
    shift
    timeout 600 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --insecure-seed 5 --set 'model.layers=[8]' \
        --set data.scale=none --set model.train=frozen --set "state=state-$i" "$@"
}
grouped='--set data.train=who-train.csv --set data.test=who-test.csv --set data.group=who'

# run WHAT ARGUMENTS...: all four anew, party 1 with these arguments.
run() {
    what=$1
    shift
    rm -rf state-*
    timeout 600 "$VFL_BIN/vfl-server" -c base/server/resolved.yaml --insecure-seed 5 --set training.seed=5 \
        --set protocol.patience_ms=60000 --set state=state-server >server.log 2>&1 &
    daemons=$!
    wait_until test -s state-server/address
    port=$(sed 's/.*://' state-server/address)
    for j in 2 3; do
        party $j --set "server=127.0.0.1:$port" >party-$j.log 2>&1 &
    done
    party 1 --set "server=127.0.0.1:$port" "$@" >party-1.log 2>&1
    same 0 $? "$what: party 1 ends well"
    wait
}
figures() { # what the run has come to, and what went over the wire
    python3 - <<'END'
import json
s, p = (json.load(open(f'state-{who}/summary.json')) for who in ('server', '1'))
total = s['bytes']['total']
print(s['model_sha256'], p['model_sha256'], s['rounds'], total['frame_up'], total['frame_down'])
END
}
claims() { # adjacency epsilon participations, against the server
    python3 - <<'END'
import json
p = json.load(open('state-1/summary.json'))['privacy']
c = [c for c in p['claims'] if c['adversary'] == 'server'][0]
print(c['adjacency'], '%.6g' % c['epsilon'], p['participations_max'])
END
}

run 'without a group'
without=$(figures)
record=$(claims)
# shellcheck disable=SC2086 # the arguments are meant to split
run 'with one' $grouped
same "$without" "$(figures)" 'models, rounds and bytes are those of a run without'
person=$(claims)
same 'record_frozen person_frozen' "${record%% *} ${person%% *}" 'the claims are for persons'
most=$(awk -F, 'FNR > 1 { n[$2]++ } END { for (p in n) if (n[p] > m) m = n[p]; print m }' who-train.csv who-test.csv)
differ 1 "$most" 'a person has many rows'
same yes "$(echo "${person##* } ${record##* } $most" |
    awk '{ print ($1 > $2 * 5 && $1 <= $2 * $3 ? "yes" : $0) }')" 'all releases of a person count'
# shellcheck disable=SC2086
expect 0 'person_frozen' 'so does the ledger' party 1 $grouped --ledger
# shellcheck disable=SC2086
expect 0 '40 persons; one has at most' '-n says how many there are' \
    party 1 $grouped -n --plan base/server/resolved.yaml
# shellcheck disable=SC2086
expect 0 'person_frozen' 'and prices for them' party 1 $grouped -n --plan base/server/resolved.yaml
# shellcheck disable=SC2086
party 1 $grouped -n --plan base/server/resolved.yaml --set state=fresh >priced.log 2>&1
priced=$(awk '$2 == "server" && $3 == "person_frozen" && $4 == "m_eff" { print $3, $7; exit }' priced.log)
same "${person% *}" "$priced" \
    'the price before a run is the claim after it'

# Whose a released row is stays so: another column, other values, or none would count from nothing.
sed 's/,person /,human /' who-train.csv >human-train.csv
# shellcheck disable=SC2086
expect 5 'data.group: a row that it has released' 'other values in the column are refused' \
    party 1 $grouped --set data.train=human-train.csv
expect 5 'data.group: a row that it has released' 'and so is no column' party 1

# A limit that a record holds and a person does not.
epsilon=$(echo "$record" | awk '{ print $2 * 1.01 }')
expect 0 'accepts it' 'a limit for records' party 1 -n --plan base/server/resolved.yaml --set state=fresh \
    --set policy.max_epsilon.server.record="$epsilon"
# shellcheck disable=SC2086
expect 5 'person_frozen' 'is one for persons then' \
    party 1 $grouped -n --plan base/server/resolved.yaml --set state=fresh \
    --set policy.max_epsilon.server.record="$epsilon"

# Under dp, steps are counted by the most rows of one person in a batch.
# shellcheck disable=SC2086
expect 0 'person_dp' 'dp likewise' party 1 $grouped -n --plan base/server/resolved.yaml --set state=fresh \
    --set model.train=dp --set model.noise=15

# --- mistakes ---
expect 2 'who-train.csv:2: column 2 "who": not a number' 'a column that is not named is a feature' \
    party 1 -n --set data.train=who-train.csv --set data.test=who-test.csv
expect 2 'no column "nobody"' 'a column that is not there' \
    party 1 -n --set data.train=who-train.csv --set data.test=who-test.csv --set data.group=nobody
expect 2 'data.group=id: must be the name' 'nor is the id one' party 1 -n --set data.group=id
expect 2 'party-1-test.csv:1: no column "who"' 'a column in one table only' \
    party 1 -n --set data.train=who-train.csv --set data.group=who
# An id that is in both tables is one record's, and of one person.
id=$(awk -F, 'NR == 2 { print $1 }' who-train.csv)
for who in "$(awk -F, 'NR == 2 { print $2 }' who-train.csv)" 'somebody else'; do
    awk -F, -v OFS=, -v id="$id" -v who="$who" '$1 == id { next } { print } NR == 2 { $1 = id; $2 = who; print }' \
        who-test.csv >both.csv
    # shellcheck disable=SC2086
    case $who in
    some*) expect 2 'both.csv: data.group: row [0-9]* by id is in .*/who-train.csv too' 'but not of two' \
        party 1 -n $grouped --set data.test=both.csv ;;
    *) expect 0 '40 persons' 'an id may be in both tables' party 1 -n $grouped --set data.test=both.csv \
        --plan base/server/resolved.yaml ;;
    esac
done

closing
