#!/bin/sh
# test_bundle.sh -- folders for three hosts: what is in them, that they run, and what doctor finds wrong.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

# --- an office with a CA, three hosts with keys ---
"$vfl" pki ca --quiet --ca ca
for name in server p1 p2; do
    role=party
    [ $name = server ] && role=server
    "$vfl" pki csr --quiet --name $name --key $name.key --out $name.csr
    "$vfl" pki issue --quiet --ca ca --csr $name.csr --name $name --role $role --out $name.crt
done
"$vfl" pki csr --quiet --name p3 --key p3.key --out p3.csr
"$vfl" pki issue --quiet --ca ca --csr p3.csr --name p3 --role party --out p3.crt
digest=$("$vfl" pki roster --out roster.yaml --server server.crt p1.crt p2.crt)
printf 'training: {epochs: 2}\n' >plan.yaml

# shellcheck disable=SC2317 # called by expect
bundle() {
    "$vfl" bundle --ca ca --roster roster.yaml --server server.crt --out hosts "$@"
}
expect 0 "$digest" 'folders are made' bundle --address 127.0.0.1:7400 --plan plan.yaml p1.crt p2.crt
same '' "$(grep -rl 'PRIVATE KEY' hosts)" 'no private key is in any of them'
same 'README.txt ca.crl ca.crt party.crt party.yaml roster.yaml vfl-party.service' \
    "$(find hosts/p1 -type f -printf '%f\n' | LC_ALL=C sort | paste -sd' ')" 'a party gets its files and no more'
# Two letters stand somewhere in the base64 of many a certificate: those are compared as such.
same '' "$(grep -rl p1 --exclude='*.cr[tl]' --exclude=roster.yaml hosts/p2 hosts/server)" \
    'and nothing of another party but the roster'
same "$(cat server.crt p2.crt)" "$(cat hosts/server/server.crt hosts/p2/party.crt)" \
    'each has its own certificate'
expect 1 '' 'the roster is not pinned for a party: it compares first' grep -q '^ *roster_sha256' hosts/p1/party.yaml
expect 2 'private key' 'a file with a private key is refused' bundle --address h:1 p1.key
expect 2 'not in roster' 'a party outside the roster is refused' bundle --address h:1 p3.crt
expect 2 'HOST:PORT' 'an address without a port is refused' bundle --address h p1.crt
expect 2 'not a certificate for a server' 'a party as server is refused' \
    "$vfl" bundle --ca ca --roster roster.yaml --server p1.crt --address h:1 --out hosts p2.crt
if command -v systemd-analyze >/dev/null 2>&1; then
    for unit in hosts/p1/vfl-party.service hosts/server/vfl-server.service; do
        expect 0 '' "$(basename $unit) is exposed at most 1.5 of 10" \
            systemd-analyze security --offline=true --threshold=15 $unit
    done
fi

# --- each host adds its key and its data ---
"$vfl" split --out data --train "$root/tests/data/breast_cancer.csv.gz" --parties 2 >/dev/null
for i in 1 2; do
    mkdir hosts/p$i/data
    cp p$i.key hosts/p$i/party.key
    cp data/party-$i-train.csv hosts/p$i/data/train.csv
    cp data/party-$i-test.csv hosts/p$i/data/test.csv
    sed -i 's/min_parties: 3/min_parties: 2/; s/min_m_eff: 2/min_m_eff: 1/' hosts/p$i/party.yaml
    printf '  roster_sha256: "%s"\n' "$("$vfl" pki digest hosts/p$i/roster.yaml)" >>hosts/p$i/party.yaml
done
mkdir hosts/server/data
cp server.key hosts/server/server.key
cp data/labels-*.csv hosts/server/data

start() { # ROLE HOST ARGUMENTS...
    role=$1 host=$2
    shift 2
    "$VFL_BIN/vfl-$role" -c "hosts/$host/$role.yaml" "$@" 2>"$host.log" &
    daemons="$daemons $!"
}
# shellcheck disable=SC2317 # called by expect
doctor() {
    "$vfl" doctor -c "$@"
}

expect 0 'nothing wrong' "doctor finds nothing on the server's host" doctor hosts/server/server.yaml
mkdir tools && cat >tools/timedatectl <<'QUIET'
#!/bin/sh
exec sleep 3600 >/dev/null 2>&1
QUIET
chmod 755 tools/timedatectl
expect 0 'nothing wrong' 'nor does it wait for a program that has nothing more to say' \
    env PATH="$dir/tools:$PATH" timeout 60 "$vfl" doctor -c hosts/server/server.yaml
start server server --set 'listen=127.0.0.1:0' --set protocol.patience_ms=600000
wait_until [ -s hosts/server/state/address ]
address=$(cat hosts/server/state/address)
sed -i "s/^server: .*/server: \"$address\"/" hosts/p?/party.yaml
expect 0 'nothing wrong' 'doctor finds nothing on a party with a server' doctor hosts/p1/party.yaml
expect 0 'has the key that the roster names' 'and has looked at its key' doctor hosts/p1/party.yaml

# --- what doctor finds; each time this side, the other side or the network is named ---
cp -r hosts/p1 sick
sick() { # CODE WORDS WHAT: then the host is well again
    expect "$1" "$2" "doctor: $3" doctor sick/party.yaml
    rm -rf sick && cp -r hosts/p1 sick
}
cp p2.key sick/party.key
sick 2 'not the key of identity.cert' 'a key of somebody else'
"$vfl" pki issue --quiet --ca ca --csr p1.csr --name p1 --role party --out sick/party.crt --start '9 days ago' --days 2
sick 2 'expired' 'an expired certificate'
"$vfl" pki issue --quiet --ca ca --csr p1.csr --name p1 --role party --out sick/party.crt --start '2 days' --days 9
sick 2 'not valid before\|not yet valid' 'a certificate of the future, or a late clock'
"$vfl" pki ca --quiet --ca other
cp other/ca.crt other/ca.crl sick/
sick 2 'not signed by\|CA' 'another CA'
sed -i 's/operator: p2/operator: p1/' sick/roster.yaml
sick 2 'roster' 'a roster that is not the pinned one'
sed -i 's/name: p1/name: p7/' sick/roster.yaml
sick 2 'roster' 'a roster without this party'
echo 'trails: 1' >>sick/party.yaml
sick 2 'party.yaml:[0-9]*: ' 'an unknown key, with its line'
echo '1,x' >>sick/data/train.csv
sick 2 'train.csv:[0-9]*: ' 'a broken data file, with its line'
rm sick/data/train.csv
sick 2 'train.csv' 'a missing data file'
sed -i "s/^server: .*/server: \"127.0.0.1:1\"/" sick/party.yaml
sick 4 'the server or a firewall' 'nobody at the address'
sed -i "s/^server: .*/server: \"no-such-host.invalid:7400\"/" sick/party.yaml
sick 4 'has no address' 'a name without address'
# Somebody else at the address, with a certificate of the same CA.
openssl s_server -accept 127.0.0.1:0 -cert p2.crt -key p2.key -tls1_3 -alpn vfl/1 >port 2>&1 &
daemons="$daemons $!"
wait_until grep '^ACCEPT' port
sed -i "s/^server: .*/server: \"127.0.0.1:$(sed -n 's/^ACCEPT.*://p' port | head -n 1)\"/" sick/party.yaml
sick 3 'side: the server' 'another server than the one of the roster'

# --- and they run ---
start party p1
first=$!
start party p2
wait $first
same 0 $? 'a party on its own folder ends well'
# shellcheck disable=SC2086 # words
set -- $daemons
wait "$1"
same 0 $? 'and so does the server'
expect 0 '"status": "completed"' 'with a complete run' cat hosts/server/state/summary.json
closing
