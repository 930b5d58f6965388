#!/bin/sh
# postgres.sh -- a PostgreSQL server for one test: on a Unix socket in a folder of its own, no port, as nobody where the
# test is root's, until standard input ends.  Prints the folder once it answers.
#
# In the folder: `service`, whose entry `trial` leads to the server as its owner, without a password.
# Exit code 77: there is no PostgreSQL here.
# SPDX-License-Identifier: Apache-2.0
set -u
umask 077
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
[ -n "$bin" ] || exit 77
folder=$(mktemp -d /tmp/vfl-postgres-XXXXXX) || exit 1
as=
if [ "$(id -u)" = 0 ]; then
    chown nobody "$folder"
    as='setpriv --reuid nobody --regid nogroup --clear-groups --'
fi
cd "$folder" || exit 1
trap '$as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >"$folder/log" 2>&1; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
trap '' PIPE # who has started this may be gone before it answers
# shellcheck disable=SC2086 # words
$as "$bin/initdb" -D "$folder/data" -U trial --auth=trust --encoding=UTF8 --locale=C -N >"$folder/log" 2>&1 &&
    $as "$bin/pg_ctl" -D "$folder/data" -w -l "$folder/data/log" \
        -o "-k $folder -c listen_addresses='' -c fsync=off -c max_connections=20" start >>"$folder/log" 2>&1 ||
    exit 1
printf '[trial]\nhost=%s\nuser=trial\ndbname=postgres\nsslmode=disable\n' "$folder" >"$folder/service"
echo "$folder"
cat >/dev/null
