#!/bin/sh
# test_three_hosts.sh -- docs/operating.md, word for word: its blocks, on a server and two parties on three hosts.
#
# But for two things: a fifth of the epochs, since nobody watches here, and where the hospital's database has its
# socket.
# The hosts have networks, processes, users and homes of their own (tests/lib/hosts.sh), and what the page says is
# copied is all that gets from one to another.  /usr/local is a folder of the test.  Only root can make hosts.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2013,SC2016,SC2154,SC2317 # functions are called by expect; $ is for the shells of hosts
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=../lib/hosts.sh
. "$root/tests/lib/hosts.sh"

trap 'hosts_end; exec 8>&-; wait; rm -rf "$dir"' EXIT
umask 022
chmod 711 "$dir" # all users pass, none looks around

# --- the page: each fenced block to a file page/SECTION-NUMBER, with its hosts (or 'copy') in SECTION-NUMBER.for ---
mkdir page
awk '
    /^##+ [0-9]/ { section = $2; sub(/\.$/, "", section) }
    !inside && /^```/ { inside = 1; first = 1; next }
    inside && /^```/ { inside = 0; close(file); next }
    inside && first {
        file = sprintf("page/%s-%02d", section, ++n)
        where = ($0 ~ /^# (on|copy)/) ? $0 : "nowhere: " $0
        sub(/^# (on )?/, "", where); gsub(/,| and /, " ", where); sub(/ as root/, "-root", where)
        print where >(file ".for"); close(file ".for")
        first = 0
    }
    inside { print >file }' "$root/docs/operating.md"
sed -i 's/^  epochs: 3000$/  epochs: 600/' page/2.4-??
addresses=$(sed -n '/^The hosts are/p' "$root/docs/operating.md" | grep -o '`[a-z]*` ([0-9.]*)' | tr -d '`)' |
    sed 's/ (/=/')
same 'bank bank-root copy hospital server' "$(cat page/*.for | tr ' ' '\n' | sort -u | paste -sd' ')" \
    'each block of the page says where it is run'
same 'server bank hospital' "$(echo "$addresses" | sed 's/=.*//' | paste -sd' ')" 'and each host has an address'
[ $failed -eq 0 ] || closing
no_hosts=$(hosts_impossible)
if [ -n "$no_hosts" ]; then
    printf 'the page is read, not run: %s\n' "$no_hosts"
    closing
fi

# --- the hospital's database, which is there before the page begins: on a socket that others than its owner reach ---
mkfifo hold ready
setsid sh "$root/tests/lib/postgres.sh" <hold >ready &
exec 8>hold
database=
read -r database <ready
if [ -z "$database" ]; then
    echo 'the page is read, not run: no PostgreSQL server here (package postgresql)'
    closing
fi
chmod 711 "$database"
expect 0 '' 'a role and a database of its own for the hospital' env PGSERVICEFILE="$database/service" \
    psql -qX service=trial -c 'CREATE ROLE colonnade LOGIN' -c 'CREATE DATABASE clinic OWNER colonnade'
sed -i "s|^host=/run/postgresql$|host=$database|" page/2.6-??

# The administrator of a host, whose /etc and /usr/local are folders of the test.
as_root() { # HOST COMMAND...
    root_home=$dir/home/$1
    shift
    unshare --mount sh -euc 'for place in etc usr/local var/lib; do mount --bind "$0/system/$place" "/$place"; done
        exec "$@"' \
        "$dir" env -i HOME="$root_home" PATH="/usr/local/bin:$hosts_path" "$@"
}

# run BLOCK HOST: its output in $dir/said
run() {
    case $2 in
    *-root) as_root "${2%-root}" sh -eux "$dir/$1" ;;
    *) host "$2" sh -eux "$dir/$1" ;;
    esac </dev/null >"$dir/said" 2>&1
}

# page SECTION [HOST]: what the page says there, or there on this host.  Without it nothing else makes sense.
page() {
    for block in page/"$1"-??; do
        grep -qw "${2:-.*}" "$block.for" || continue
        for where in $(cat "$block.for"); do
            [ "${2:-$where}" = "$where" ] || continue
            echo "$block $where" >>ran
            if [ "$where" = copy ]; then
                while read -r from to; do
                    [ "$from" = '#' ] || host_copy "$from" "$to" || break
                done <"$block" 2>"$dir/said"
            else
                run "$block" "$where"
            fi || { not_ok "section $1 on $where (exit $?)" && closing; }
            mv said "told-$where"
        done
    done
    ok "section $1${2:+ on $2}"
}

# ended HOST CODE STATUS: the daemon that the page started last
ended() {
    code=$(host_code "$1" "$(host "$1" cat colonnade/pid)")
    same "$2 $3" "$code $(sed -n 's/^  *"status": "\(.*\)".*/\1/p' "home/$1/colonnade/state/summary.json")" "$1: $3"
}

logged() { # HOST WORDS [EARLIER-WORDS]: the words, after a line with the earlier ones
    logged_after='/'${3:-^}'/,$p' logged_log=home/$1/colonnade/log.txt
    wait_until sh -c 'sed -n "$0" "$1" | grep -q "$2"' "$logged_after" "$logged_log" "$2"
    expect 0 "$2" "$1 says: $2" sed -n "$logged_after" "$logged_log"
}

listens() { # HOST: addresses and ports, TCP and UDP
    root_on "$1" ss -Hltun | awk '{ print $1, $5 }' | paste -sd' '
}

# --- 2.1: install, once for all, where only files of the system are ---
expect 0 '' 'make install' make -C "$root" -o all BUILD="$(dirname "${VFL_BIN#"$root"/}")" DESTDIR="$dir/system" \
    PREFIX=/usr/local install
hosts_path=$dir/system/usr/local/bin:$hosts_path
unset VFL_BIN
for name in server bank hospital; do
    expect 0 '' "a host: $name" host_new $name
done
# shellcheck disable=SC2086 # words
expect 0 '' 'a network' hosts_connect $addresses

# --- keys, certificates, roster, folders ---
page 2.2
page 2.3
page 2.4
same "bank-to-server-bank.csr hospital-to-server-hospital.csr" "$(cd parcels && echo *-to-server-*)" \
    'all the server gets are two requests'
for name in bank hospital; do
    same 'README.txt ca.crl ca.crt party.crt party.yaml roster.yaml vfl-party.service' \
        "$(find parcels -name "server-to-$name-*" | sed "s/.*-to-$name-//" | LC_ALL=C sort | paste -sd' ')" \
        "all $name gets is its folder"
    expect 1 'Permission denied' "$name does not read what is the server's" \
        host $name cat "$dir/home/server/colonnade/server.key"
done
page 2.5
page 2.6
digest=$(host server vfl pki digest colonnade/roster.yaml)
for name in bank hospital; do
    same "$digest" "$(host $name vfl pki digest colonnade/roster.yaml)" "$name has the server's roster"
    expect 0 "$digest" 'and its daemon the same digest' host $name vfl-party -c colonnade/party.yaml --fingerprint
done

# --- which rows all have: each side has lost others, and the bank has three people twice ---
same 3 "$(cut -d, -f1 home/bank/colonnade/data/people.csv | sort | uniq -d | wc -l)" \
    'three people of the bank are there twice'
page 2.7
host hospital psql -AtqX service=clinic -c 'SELECT id FROM people' | sort >hospital.ids
tail -n +2 home/bank/colonnade/data/people.csv | cut -d, -f1 | sort >bank.all
cp hospital.ids hospital.all
sort -u bank.all >bank.ids
tail -n +2 home/server/colonnade/data/labels.csv | cut -d, -f1 | sort >server.ids
sort bank.ids hospital.ids server.ids | uniq -c | awk '$1 == 3 { print $2 }' | sort >common.ids
for name in server bank hospital; do
    same 0 "$(host_code "$name" "$(host "$name" cat colonnade/pid)")" "$name: the alignment is done"
    sed '1,/^$/d' home/$name/colonnade/state/alignments/people | sort >$name.found
    same "$(cat common.ids)" "$(cat $name.found)" "$name has found whom all have"
    differ "$(cat common.ids)" "$(cat $name.ids)" 'and had others as well'
    same "$(grep '^transcript' told-server)" "$(grep '^transcript' "told-$name")" "and has the server's digest"
done

# --- who is refused; the server waits for the others meanwhile ---
page 2.8 server
same 'tcp 0.0.0.0:7400' "$(listens server)" 'the server listens on one port'
try() { # HOST SED: a run with another configuration and a state of its own
    host "$1" sh -euc 'cd colonnade; sed "$0" party.yaml >try.yaml; mkdir -m 700 try; cp -r state/alignments try
        vfl-party -c try.yaml --set state=try || code=$?; rm -rf try; exit ${code:-0}' "$2"
}
expect 5 'roster_sha256 is not set' 'a party without a pinned roster speaks with no server elsewhere' \
    try hospital '/roster_sha256/d'
host hospital sh -euc 'cd colonnade; sed "s/operator: bank/operator: hospital/" roster.yaml >other.yaml'
expect 5 'roster' 'nor with another roster than the pinned one' try hospital 's/roster.yaml/other.yaml/'
other=$(host hospital vfl pki digest colonnade/other.yaml)
differ "$digest" "$other" 'another roster has another digest'
expect 2 'roster' 'whose roster differs from the server'\''s is refused' \
    try hospital "s/roster.yaml/other.yaml/; s/$digest/$other/"

# --- the run: watched, stopped, continued; certificates are renewed while it waits for a party.  Until it is stopped
# the hospital is so slow that no machine comes to the end of the run before. ---
cp home/hospital/colonnade/party.yaml quick.yaml
echo 'inject: {delay: 0.05}' >>home/hospital/colonnade/party.yaml
page 2.8 bank
page 2.8 hospital
expect 0 'nothing wrong was found' 'doctor finds nothing wrong' cat told-hospital
for name in bank hospital; do
    left=$(($(wc -l <$name.all) - $(wc -l <common.ids)))
    expect 0 "alignment people (data.alignment): $left rows of .* are left out" \
        "$name is told what it has alone" \
        cat "told-$name"
    expect 0 '' "$name runs" host $name sh -c 'kill -0 "$(cat colonnade/pid)"'
    same '' "$(listens $name)" 'and listens on nothing'
done
page 2.10 server
expect 0 '"status": "stopped"' 'SIGTERM stops the server' cat told-server
page 2.10 bank
expect 0 '"status": "stopped"' 'and with it the bank' cat told-bank
logged server 'going on after [0-9]* training steps'
logged server 'bank joined' 'going on after' # so it knows what SIGHUP is
before=$(openssl x509 -in home/bank/colonnade/party.crt -noout -serial)
page 5.1
differ "$before" "$(openssl x509 -in home/bank/colonnade/party.crt -noout -serial)" 'the bank has a new certificate'
logged bank 'certificates and CRL read again'
page 5.2
expect 0 '' 'SIGHUP for the server' host server sh -c 'kill -HUP "$(cat colonnade/pid)"'
logged server 'certificates, CRL and roster read again'
cat quick.yaml >home/hospital/colonnade/party.yaml
page 2.10 hospital
expect 0 '"status": "stopped"' 'the hospital was stopped too' cat told-hospital
page 2.11
for name in server bank hospital; do
    ended $name 0 completed
    same 3 "$(grep -c ' 0$' "$name.ends")" 'after three processes that exited 0'
    same '' "$(find "home/$name" -name checkpoint.sealed)" 'no checkpoint is left'
    expect 1 '' 'and no error was logged' grep ' error: ' "home/$name/colonnade/log.txt"
done
expect 0 '"epochs": 600' 'no step was lost or made twice' grep -w '"epochs"' home/server/colonnade/state/summary.json
expect 0 releases 'the bank reads in its ledger what was spent' cat told-bank

# --- predictions with what the run has left behind ---
page 2.12 server
page 2.12 bank
page 2.12 hospital
expect 0 'predict' 'a party is told what its answers cost' cat told-hospital
page 2.13
for name in server bank hospital; do
    ended $name 0 completed
    expect 1 '' 'and no error was logged' grep ' error: ' "home/$name/colonnade/log.txt"
done
same "$(cut -d, -f1 home/server/colonnade/data/labels-new.csv)" "$(cut -d, -f1 home/server/colonnade/scores.csv)" \
    'each id that was asked for has its scores'
expect 0 '' 'nine in ten of them say what the labels say' sh -c 'paste -d, "$1/data/labels-new.csv" "$1/scores.csv" |
    awk -F, "NR > 1 { n++; right += (\$5 > 0.5) == \$2 } END { exit right < 0.9 * n }"' - home/server/colonnade
expect 0 predict 'the bank reads in its ledger what was answered' cat told-bank

# --- no private key has left its host ---
leaks() { # WHOSE-KEYS PLACE...
    keys=$(find "home/$1" -name '*.key')
    shift
    # shellcheck disable=SC2086 # words
    "$root/tests/lib/leaks.py" $keys -- "$@"
}
same '2 2 3' "$(for name in bank hospital server; do find home/$name -name '*.key' | wc -l; done | paste -sd' ')" \
    'each has its key and that of its checkpoint, the office that of the CA'
expect 1 '' "the server's keys are on no other host and were not on the way" \
    leaks server home/bank home/hospital parcels
expect 1 '' "nor are the bank's" leaks bank home/server home/hospital parcels
expect 1 '' "nor are the hospital's" leaks hospital home/server home/bank parcels
host server sh -c 'openssl pkey -in colonnade/server.key -outform DER' >parcels/slip
expect 0 parcels/slip 'one that is there is found' leaks server home/bank home/hospital parcels
rm parcels/slip

# --- revoked ---
page 5.3
page 2.8 server
expect 2 'revoked' 'a party whose certificate is revoked is refused' host bank vfl-party -c colonnade/party.yaml
host server sh -c 'kill -TERM "$(cat colonnade/pid)"'
ended server 0 stopped

# --- 4: the service.  The unit is judged and its command run; systemd itself is not here. ---
mkdir -p system/etc/systemd/system system/var/lib
for file in alternatives ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf passwd group login.defs; do
    [ ! -e /etc/$file ] || cp -a /etc/$file system/etc/
done
echo "bank:x:$(cat bank.uid):$(cat bank.uid)::$dir/home/bank:/bin/sh" >>system/etc/passwd
if unshare --mount true 2>/dev/null; then
    page 4
    expect 0 '' 'root checks what the service reads' as_root bank vfl-party -c /etc/colonnade/party.yaml \
        --set state=/var/lib/colonnade-party -n
    # The command of the unit, as a user that has nothing but the group and the credentials.
    service=$(hosts_user)
    install -d -m 700 -o "$service" credentials
    sed -n 's/^LoadCredential=\(.*\):\(.*\)/\1 \2/p' system/etc/systemd/system/vfl-party.service >list
    while read -r credential file; do
        install -m 400 -o "$service" "system$file" "credentials/$credential"
    done <list
    command=$(sed -n "s|%d|$dir/credentials|g; s|%S|/var/lib|g; s/^ExecStart=//p" \
        system/etc/systemd/system/vfl-party.service)
    colonnade=$(sed -n 's/^colonnade:x:\([0-9]*\):.*/\1/p' system/etc/group)
    chown -R "$service" system/var/lib/colonnade-party # as systemd does
    # shellcheck disable=SC2086 # words
    expect 0 credentials/state.key "the unit's command finds all it needs" \
        as_root bank setpriv --reuid="$service" --regid="$service" --groups="$colonnade" $command -n
    if command -v systemd-analyze >/dev/null; then
        expect 0 '' 'systemd understands the unit' \
            as_root bank systemd-analyze verify --man=no /etc/systemd/system/vfl-party.service
        expect 0 '' 'and finds it exposed at most 1.5 of 10' \
            as_root bank systemd-analyze security --offline=true --threshold=15 /etc/systemd/system/vfl-party.service
    else
        echo 'no systemd-analyze: the unit is not judged'
    fi
    same "$(cat page/*.for | wc -w)" "$(sort -u ran | wc -l)" 'all blocks of the page have been run'
else
    echo 'no mount namespaces: the service is not tried'
fi
closing
