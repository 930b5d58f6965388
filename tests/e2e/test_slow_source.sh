#!/bin/sh
# test_slow_source.sh -- a party whose data.predict is in a database that answers nothing for long: meanwhile it hears
# its operator, and its connection stays; nobody is told what was wrong with its rows.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

"$vfl" cluster --parties 3 --set training.epochs=1 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)

# Takes whoever comes, and says nothing until it is told to end.
cat >database.py <<'PYTHON'
import os, signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + "/.s.PGSQL.5432")
s.listen()
open("listens", "w").close()
c = s.accept()[0]
open("asked", "w").close()
signal.pause()
PYTHON
python3 database.py "$PWD" &
echo $! >database.pid
printf '[slow]\nhost=%s\nuser=nobody\ndbname=rows\nsslmode=disable\n' "$PWD" >service
wait_until [ -e listens ] || not_ok 'no database'

"$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" >>server.log 2>&1 &
echo $! >server.pid
for who in 1 2 3; do
    rows=run/data/party-$who-test.csv
    [ $who != 2 ] || rows=postgres:slow/rows
    PGSERVICEFILE="$PWD/service" "$VFL_BIN/vfl-party" -c run/party-$who/config.yaml --set stand=true \
        --set server=127.0.0.1:"$port" --set data.predict="$rows" >>party-$who.log 2>&1 &
    echo $! >$who.pid
done
wait_until [ -S run/server/control ] || not_ok 'no control socket'
for who in 1 2 3; do
    wait_until grep -q "p$who joined" server.log || not_ok "p$who does not come"
done
sed -n '2,4p' run/data/party-1-test.csv | cut -d, -f1 >ids
job=$("$vfl" job --state run/server submit predict ids)
wait_until [ -e asked ] || not_ok 'the database is asked nothing'
kill -HUP "$(cat 2.pid)"
wait_until grep -q 'certificates and CRL read again' party-2.log && ok 'who waits for a database hears its operator' ||
    not_ok 'it hears nothing'
grep -q 'p2.*\(lost\|closed\|left\|gone\)' server.log && not_ok 'its connection is gone' ||
    ok 'and its connection stays'
kill "$(cat database.pid)"
wait "$(cat database.pid)" 2>/dev/null
wait_until grep -q 'away from the server' party-2.log && ok 'rows that could not be read make it one who is away' ||
    not_ok 'it is not away'
grep -q 'p2 refuses' server.log && not_ok 'the server is told of its rows' || ok 'and nobody is told why'
"$vfl" job --state run/server cancel "$job" >/dev/null
for who in 2 1 3 server; do
    kill -TERM "$(cat $who.pid)"
    code=0
    wait "$(cat $who.pid)" || code=$?
    same 0 $code "$who stops in order"
done
rm -f ./*.pid
closing
