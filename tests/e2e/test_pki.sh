#!/bin/sh
# test_pki.sh -- certificates as the daemons want them, rosters with one digest, and what is refused.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

quietly() {
    "$@" >/dev/null 2>&1
}

# shellcheck disable=SC2317 # called by expect
strict() { # PURPOSE CERT
    openssl verify -x509_strict -crl_check -CRLfile ca/ca.crl -CAfile ca/ca.crt -purpose "$1" "$2"
}

# --- issuing ---
expect 0 'CA in' 'a CA is made' "$vfl" pki ca --ca ca
expect 2 'already' 'a second CA does not overwrite it' "$vfl" pki ca --ca ca
for name in server p1 p2; do
    role=party
    [ $name = server ] && role=server
    expect 0 'stays on this host' "$name makes key and request" \
        "$vfl" pki csr --name $name --key $name.key --out $name.csr
    expect 0 'certificate' "$name gets a certificate" \
        "$vfl" pki issue --ca ca --csr $name.csr --name $name --role $role --out $name.crt
done
same 600 "$(stat -c %a p1.key)" 'a private key is readable by its owner alone'
same 600 "$(stat -c %a ca/ca.key)" 'so is that of the CA'
same '' "$(grep -rl 'PRIVATE KEY' ca | grep -v '^ca/ca.key$')" 'the CA holds no private key but its own'
expect 0 OK 'a party passes strict X.509 as a client' strict sslclient p1.crt
expect 0 OK 'the server passes strict X.509 as a server' strict sslserver server.crt
expect 2 '' 'a party is no server' strict sslserver p1.crt
expect 2 '' 'the server is no client' strict sslclient server.crt
expect 0 'DNS:p1$' 'the name is in the subjectAltName' openssl x509 -in p1.crt -noout -ext subjectAltName
expect 0 'ED25519' 'the signature is Ed25519' openssl x509 -in p1.crt -noout -text
expect 0 'pathlen:0' 'the CA signs no other CA' "$vfl" pki show ca/ca.crt
expect 2 'CA:FALSE\|invalid\|error' 'a certificate of a party signs nothing' \
    openssl verify -CAfile ca/ca.crt -untrusted p1.crt server.csr

# --- what a request may not bring ---
openssl req -new -key p1.key -subj '/CN=server' -addext 'subjectAltName=DNS:server' \
    -addext 'basicConstraints=critical,CA:TRUE' -out sly.csr 2>/dev/null
quietly "$vfl" pki issue --ca ca --csr sly.csr --name p9 --role party --out sly.crt
same p9 "$(openssl x509 -in sly.crt -noout -ext subjectAltName | sed -n 's/^ *DNS://p')" \
    'a request does not choose its name'
same 0 "$(openssl x509 -in sly.crt -noout -text | grep -c CA:TRUE)" 'a request does not become a CA'
sed '2s/./A/20' p1.csr >bent.csr
expect 2 'no request signed' 'a bent request is refused' \
    "$vfl" pki issue --ca ca --csr bent.csr --name p3 --role party --out p3.crt
openssl req -new -newkey rsa:2048 -nodes -keyout rsa.key -subj /CN=p3 -out rsa.csr 2>/dev/null
expect 2 'not Ed25519' 'an RSA key is refused' \
    "$vfl" pki issue --ca ca --csr rsa.csr --name p3 --role party --out p3.crt
expect 2 'role' 'a role must be said' "$vfl" pki issue --ca ca --csr p1.csr --name p1 --out x.crt
for name in '' '../p1' 'p 1' '-p1' 'p1;x' "$(printf 'x%.0s' $(seq 64))"; do
    expect 2 'name' "the name '$name' is refused" "$vfl" pki csr --name "$name" --key k --out r
done
expect 2 'no CA here' 'issuing without a CA is refused' \
    "$vfl" pki issue --ca nowhere --csr p1.csr --name p1 --role party --out x.crt

# --- fingerprints ---
print=$(openssl x509 -in p1.crt -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -c 1-64)
for file in p1.crt p1.csr p1.key; do
    same "$print" "$("$vfl" pki fingerprint $file)" "the fingerprint of $file is that of its public key"
done
differ "$print" "$("$vfl" pki fingerprint p2.crt)" 'another key has another one'
expect 2 'no certificate' 'a text has none' "$vfl" pki fingerprint ca/index.txt

# --- rosters ---
digest=$("$vfl" pki roster --out roster.yaml --server server.crt --operator p2=bank p1.crt p2.crt)
canonical=$(printf 'server server %s server\nparty p1 %s p1\nparty p2 %s bank\n' \
    "$("$vfl" pki fingerprint server.crt)" "$print" "$("$vfl" pki fingerprint p2.crt)" | sha256sum | cut -c 1-64)
same "$canonical" "$digest" 'a roster digest is SHA-256 of its canonical lines'
same "$digest" "$("$vfl" pki digest roster.yaml)" 'the digest can be computed from the file'
sed 's/^#.*//' roster.yaml >bare.yaml
same "$digest" "$("$vfl" pki digest bare.yaml)" 'comments do not count'
"$vfl" pki roster --quiet --out swapped.yaml --server server.crt --operator p2=bank p2.crt p1.crt
differ "$digest" "$("$vfl" pki digest swapped.yaml)" 'another order is another digest'
sed 's/operator: bank/operator: p2/' roster.yaml >other.yaml
differ "$digest" "$("$vfl" pki digest other.yaml)" 'another operator is another digest'
sed 's/key: ./key: /' roster.yaml >short.yaml
expect 2 'short.yaml:2: key: 64' 'a short key is refused' "$vfl" pki digest short.yaml
(cat roster.yaml && echo 'extra: 1') >short.yaml
expect 2 'unknown key' 'an unknown line is refused' "$vfl" pki digest short.yaml
expect 2 'twice' 'one party twice is refused' "$vfl" pki roster --out x.yaml --server server.crt p1.crt p1.crt
same '' "$(find . -name 'x.yaml*')" 'and nothing is written'

# --- what fails has done nothing ---
mkdir folder
state() {
    find ca -type f -exec sha256sum {} + | sort
}
before=$(state)
expect 2 'folder: a link, or no plain file' 'a folder is no place for a certificate' \
    "$vfl" pki issue --ca ca --csr p1.csr --name p1 --role server --out folder
expect 6 'nowhere' 'nor is a missing one' \
    "$vfl" pki issue --ca ca --csr p1.csr --name p1 --role server --out nowhere/p1.crt
same "$before" "$(state)" 'and the CA has issued nothing'
expect 0 '' 'a renewal' "$vfl" pki renew --ca ca --name p1 --out still.crt
expect 0 'role=party' 'has the role that was given' "$vfl" pki show still.crt
sed 1d ca/requests/p2.csr >old.csr && mv old.csr ca/requests/p2.csr && echo party >ca/requests/p2.role
expect 0 'party p2' 'a request as earlier versions kept it' "$vfl" pki renew --ca ca --name p2 --out still.crt
for file in ca.crt ca.crl; do
    mkdir -p half/$file
    expect 2 "$file: " "a CA that fails at $file" "$vfl" pki ca --ca half
    same '' "$(find half -name ca.key)" 'is none'
    rmdir half/$file
done
expect 0 'CA in half' 'and can still be made' "$vfl" pki ca --ca half

# --- renewing, revoking ---
expect 0 '' 'a certificate is renewed' "$vfl" pki renew --ca ca --name p1 --out p1b.crt --days 700
same "$print" "$("$vfl" pki fingerprint p1b.crt)" 'with the same key'
expect 0 'days left=\(699\|700\)' 'for the days asked for' "$vfl" pki show p1b.crt
expect 2 'no certificate was issued' 'nobody else is renewed' "$vfl" pki renew --ca ca --name p7 --out x.crt
"$vfl" pki issue --quiet --ca ca --csr p2.csr --name p2 --role party --out old.crt --start '3 days ago' --days 1
expect 0 EXPIRED 'an expired certificate is shown as such' "$vfl" pki show old.crt
expect 2 'expired' 'and refused' openssl verify -CAfile ca/ca.crt old.crt
expect 0 'is revoked' 'a name is revoked' "$vfl" pki revoke --ca ca --name p1
expect 2 'certificate revoked' 'its certificate is refused' strict sslclient p1.crt
expect 2 'certificate revoked' 'and the renewed one too' strict sslclient p1b.crt
expect 0 OK 'the others are not' strict sslclient p2.crt
expect 2 'revoked' 'a revoked key is not renewed' "$vfl" pki renew --ca ca --name p1 --out x.crt
expect 2 'revoked' 'nor issued under another name' \
    "$vfl" pki issue --ca ca --csr p1.csr --name p8 --role party --out x.crt
"$vfl" pki csr --quiet --name p1 --key p1new.key --out p1new.csr
expect 0 '' 'a new key of the same name is' \
    "$vfl" pki issue --ca ca --csr p1new.csr --name p1 --role party --out p1new.crt
expect 0 OK 'and passes' strict sslclient p1new.crt
expect 2 'no valid certificate' 'what was never issued is not revoked' "$vfl" pki revoke --ca ca --name p7
expect 0 'revoked=3' 'a CRL is shown' "$vfl" pki show ca/ca.crl
expect 2 'unknown option' 'an unknown option is refused' "$vfl" pki ca --cake x
expect 2 usage 'an unknown command is refused' "$vfl" pki bake
closing
