#!/bin/sh
# test_ledger.sh -- the ledger over runs: what it says, what a changed file inherits, and that it cannot be put back.
#
# Three parties keep their state folders from run to run, the server has a new one each time.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT
expect 0 completed 'three parties train' \
    timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 --set training.epochs=1 --party '*:model.layers=[4]'
for i in 1 2 3; do rm -rf "base/party-$i/state"; done

party() { # I ARGUMENTS...
    i=$1
    shift
    timeout 600 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --set "state=state-$i" --set 'model.layers=[4]' \
        --set "state_key=${key:+state-$i/ledger.key}" "$@"
}

# run SEED [ARGUMENTS OF THE SERVER...]: a whole run; exit codes in $codes, server first.
run() {
    seed=$1
    shift
    [ -n "$again" ] || rm -rf state-server
    rm -f state-server/address
    timeout 600 "$VFL_BIN/vfl-server" -c base/server/config.yaml --set state=state-server --set "training.seed=$seed" \
        --set "state_key=$key" --set protocol.patience_ms=600000 --set training.epochs=2 --set training.batch=100 \
        --set protocol.pbm.trials=64 "$@" >server.log 2>&1 &
    server_pid=$!
    daemons="$daemons $server_pid"
    wait_until [ -s state-server/address ]
    pids=
    for i in 1 2 3; do
        # shellcheck disable=SC2086 # words
        party $i --set "server=$(cat state-server/address)" $extra >"party-$i.log" 2>&1 &
        pids="$pids $!"
    done
    daemons="$daemons $pids"
    [ -z "$meanwhile" ] || $meanwhile
    wait "$server_pid"
    codes=$?
    for pid in $pids; do
        wait "$pid"
        codes="$codes $?"
    done
}
extra='' meanwhile='' again='' key=''

number() { # I: of the last entry
    party "$1" --ledger | sed -n 's/^entries .*number \([0-9]*\)$/\1/p'
}

# --- what it says ---
expect 0 'nothing has been released yet' 'at first there is nothing' party 1 --ledger
run 1
same '0 0 0 0' "$codes" 'a run of two epochs completes'
# 453 rows in rounds of 100: five a training epoch; the 116 test rows are one round an evaluation.
same 12 "$(number 1)" 'it takes a number for each of its twelve rounds'
expect 0 'train *2 *10 *906 ' 'ten rounds of training, which released each of 453 rows twice' party 1 --ledger
expect 0 'evaluate *2 *2 *232 ' 'and two evaluations, which are charged alike' party 1 --ledger
expect 0 'p2  *12$' 'the ledgers of the others have been seen as far' party 1 --ledger
expect 0 'p3  *12$' 'of both others' party 1 --ledger

# Another program, which works from the headers alone, proves the same seals and counts the same releases.
cat >other.py <<'PY'
import csv, sys
sys.path.insert(0, sys.argv[1])
from ledger_file import digests, releases
total, spent, slots = releases('state-1', 'state-1/ledger.key')
for split in ('train', 'test'):
    with open('base/data/party-1-%s.csv' % split, newline='') as file:
        ids = [row[0] for row in list(csv.reader(file))[1:]]
    found = [slots[d] for d in digests('state-1', 'state-1/ledger.key', ids)]
    print(split, len(set(found)), sum(spent[slot] for slot in found), end=' ')
print(total)
PY
expect 0 "^train 453 906 test 116 232 {'train': 906, 'evaluate': 232}$" 'another program reads the same' \
    python3 other.py "$root/tests/lib"

# --- put back ---
cp -r state-2 older
run 2
same '0 0 0 0' "$codes" 'another run'
same 24 "$(number 1)" 'which takes twelve more'
cp -r state-2 newer

refused() { # NUMBER WHAT
    run 3
    same '5 5' "${codes%% *} $(echo "$codes" | cut -d' ' -f3)" "$2: the server and that party exit with 5"
    expect 0 '' 'and it says why, once' \
        grep "ledger: p[13] has seen number 24 of this ledger, which ends at $1: it was put back" party-2.log
    expect 0 'p2' 'the others are told who' grep 'put back or replaced' party-1.log
    expect 0 'p2' 'all of them' grep 'put back or replaced' party-3.log
    expect 1 '' 'and it had sent nothing' grep '"upload"' state-2/summary.json
    same 24 "$(number 1)" 'nor had anybody else'
}
rm -rf state-2
cp -r older state-2
refused 12 'the whole folder was put back'
refused 12 'and again, by the same process twice'
rm -rf state-2
cp -r newer state-2
cp older/ledger.db state-2/ledger.db
refused 12 'the ledger alone was put back'
rm -f state-2/ledger.db*
expect 6 'ledger .*/state-2/ledger.db: was lost or emptied: .* remove .*/state-2/ledger.begun' \
    'a ledger that is gone is not begun again by itself' party 2 --ledger
rm -f state-2/ledger.db* state-2/ledger.begun
refused 0 'the ledger was deleted'
same 0 "$(number 2)" 'trying takes no number'
rm -rf state-2
cp -r newer state-2
run 3
same '0 0 0 0' "$codes" 'with the right file it goes on'

# --- put back while it works: the copy is of a process that goes on ---
copy_live() {
    wait_until grep -q '"epoch"' state-server/metrics.jsonl
    two=$(echo "$pids" | awk '{ print $2 }')
    worker=$(pgrep -P "$two" || echo "$two")
    kill -STOP "$worker"
    rm -rf live
    cp -r state-2 live
    kill -CONT "$worker"
}
meanwhile=copy_live
run 4 --set training.epochs=400 --set training.evaluate_every=1
meanwhile=
same '0 0 0 0' "$codes" 'a longer run, of which a copy is made'
last=$(number 2)
rm -rf state-2
cp -r live state-2
live=$(number 2)
differ "$last" "$live" 'which knows less than there was in the end'
run 5
same 5 "$(echo "$codes" | cut -d' ' -f3)" 'and is refused'
expect 0 "number $last of this ledger, which ends at $live" 'with what is lacking' cat party-2.log

# --- lost for good ---
expect 2 'no party named p9' 'nobody forgets a stranger' party 1 --ledger-forget p9
expect 0 'no checkpoint here' 'or itself, without a checkpoint' party 1 --ledger-forget p1
expect 0 "forgotten: the ledger of p2 had been seen up to number $last" 'an operator lets one go' \
    party 1 --ledger-forget p2
expect 0 'nothing is known here' 'which is then not known' party 1 --ledger-forget p2
run 5
expect 0 'ledger: p3 has seen' 'the other one still remembers' grep 'ledger: p' party-2.log
expect 0 forgotten 'until it forgets, too' party 3 --ledger-forget p2
run 5
same '0 0 0 0' "$codes" 'then the run is made'

# --- by record id: a changed file inherits ---
most=$(party 1 --ledger | sed -n 's/^participations *at most \([0-9]*\) .*/\1/p')
cp -r base/data original
# A value of the first row, the order of all rows, and a new row for everybody.
python3 - <<'PY'
import random
for name in ('labels', 'party-1', 'party-2', 'party-3'):
    path = 'base/data/%s-train.csv' % name
    head, *rows = open(path).read().split()
    rows = [row.split(',') for row in rows]
    if name == 'party-1':
        rows[0][1] = '17.25'
    rows.append(['999999'] + rows[0][1:])
    random.Random(name).shuffle(rows)
    open(path, 'w').write('\n'.join([head] + [','.join(row) for row in rows]) + '\n')
PY
extra="--set policy.max_releases.record=$((most + 1))"
run 6
same 5 "$(echo "$codes" | cut -d' ' -f2)" 'the changed file has spent what the old one had'
expect 0 "policy.max_releases.record: a record would .* $((most + 2)) times, $((most + 1)) is the most" \
    'to the record' cat party-1.log
extra=
run 6
same '0 0 0 0' "$codes" 'without that limit it goes on'
expect 0 '^records *570$' 'there is a record more' party 1 --ledger
expect 0 "at most $((most + 2)) of one record" 'the old ones have spent both' party 1 --ledger
same 2 "$(party 1 --ledger | awk '$3 == "train" && length($1) == 12 { print $2 }' | sort -u | wc -l)" \
    'and there are two data sets of that party'

# --- all ledgers deleted in the middle of a run ---
leaf() { # PID: of the process that timeout runs, and perhaps a shell before it
    leaf_next=$(pgrep -P "$1") && leaf "$leaf_next" || echo "$1"
}
kill_all() {
    wait_until grep -q '"epoch"' state-server/metrics.jsonl
    for pid in $server_pid $pids; do
        kill -9 "$(leaf "$pid")"
    done
}
(umask 077 && openssl rand -hex 32 >state.key)
expect 2 'state_key: the ledger was begun under .*ledger.key: name that file as state_key' \
    'a state_key that is not the key of the ledger is refused' party 1 --ledger --set state_key=state.key
key=state.key extra='--set checkpoint_rounds=4' meanwhile=kill_all
run 7 --set training.epochs=100 --set training.evaluate_every=1
same '137 137 137 137' "$codes" 'a run with checkpoints is killed'
rm -f state-?/ledger.db* state-?/ledger.begun
for i in 1 2 3; do
    expect 5 "error: ledger: .*/state-$i/ledger.db ends at 0, and by the checkpoint it had come to [1-9][0-9]*: " \
        'nobody remembers the ledger, but the checkpoint does' party $i --set server=127.0.0.1:1
    same 1 "$(grep -c error: said)" 'which is said in a line'
done
mkdir -p state-1/runs/0123456789abcdef # one that stands has it there
cp state-1/checkpoint* state-1/runs/0123456789abcdef
mkdir aside && mv state-1/checkpoint* aside
mkdir state-1/runs/broken && echo broken >state-1/runs/broken/checkpoint.sealed
echo 'kept by hand' >state-1/runs/README
expect 2 'run broken: ' 'a run that cannot be read is named' party 1 --ledger-forget p1
rm -r state-1/runs/broken
expect 0 'this ledger had come to number 0 when' 'and kept it from none of the others' party 1 --ledger-forget p1
rm -r state-1/runs && mkdir -p state-1/runs/0123456789abcdef
cp aside/checkpoint* state-1/runs/0123456789abcdef
expect 0 'forgotten: this ledger had come' 'in the folder of a run, too' party 1 --ledger-forget p1
expect 0 'this ledger had come to number 0 when' 'once' party 1 --ledger-forget p1
rm -r state-1/runs && mv aside/checkpoint* state-1
for i in 1 2 3; do
    expect 0 'forgotten: this ledger had come to number [1-9][0-9]* when' 'an operator lets the own one go' \
        party $i --ledger-forget "p$i"
done
meanwhile='' again=1
run 7 --set training.epochs=100 --set training.evaluate_every=1
same '0 0 0 0' "$codes" 'then the run goes on to its end'
extra='' again='' key=''

# --- edited by somebody who has not the key ---
edit() { # SQL: in a copy of the first party's folder
    rm -rf edited
    cp -r state-1 edited
    python3 - "$1" <<'PY'
import sqlite3, sys
db = sqlite3.connect('edited/ledger.db')
db.executescript(sys.argv[1])
db.close()
PY
}
edited() { party 1 --ledger --set state=edited; }
edit 'SELECT 1'
expect 0 '^records *570$' 'a copy of the folder is as good' edited
edit 'CREATE TRIGGER zero AFTER INSERT ON log BEGIN DELETE FROM log WHERE serial > 9; END'
expect 6 "damaged: it holds something else than a ledger's two tables" 'a trigger is refused' edited
edit "UPDATE log SET text = replace(text, ' 454 ', ' 0 ') WHERE text LIKE 'pay %'; UPDATE head SET number = 0"
expect 6 'damaged: a record is not what was written' 'so are entries that were made to release nothing' edited
edit 'DELETE FROM log WHERE serial = (SELECT max(serial) FROM log)'
expect 6 'damaged: its head is not that of its last record' 'and a last one that is gone' edited
edit 'SELECT 1'
chmod 666 edited/ledger.db
expect 6 'others than its owner may use it .mode 666' 'and a file that anybody may write' edited
mv edited/ledger.db elsewhere.db
chmod 600 elsewhere.db
ln -s ../elsewhere.db edited/ledger.db
expect 6 'a link, which is not followed' 'and one that is a link' edited
edit 'SELECT 1'
rm edited/ledger.key
expect 2 'its key is missing' 'a key that is lost' edited
expect 1 '' 'is not made anew' test -e edited/ledger.key
edit 'PRAGMA user_version = 2'
expect 6 'written by an earlier version of this program, which alone reads it: move it away' \
    'an earlier layout is refused' edited

# --- a file of later years ---
python3 -c 'import sqlite3; d = sqlite3.connect("state-1/ledger.db"); d.execute("PRAGMA user_version = 9")'
expect 6 'ledger.db: written by a later version of this program' 'a later layout is refused in a line' party 1 --ledger

closing
