#!/bin/sh
# test_pki_hostile.sh -- certificates, rosters, plans and folders of somebody who means harm: nothing of theirs is run,
# taken for a name, written into a file or followed.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2016,SC2317 # $ is for nobody to expand; functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

member() { # NAME ROLE [CA [MORE...]]: key, request, certificate
    member_name=$1 member_role=$2 member_ca=${3:-ca}
    shift $(($# > 3 ? 3 : $#))
    "$vfl" pki csr --quiet --name "$member_name" --key "$member_name.key" --out "$member_name.csr"
    "$vfl" pki issue --quiet --ca "$member_ca" --csr "$member_name.csr" --name "$member_name" --role "$member_role" \
        --out "$member_name.crt" "$@"
}

"$vfl" pki ca --quiet --ca ca
"$vfl" pki ca --quiet --ca other
member server server
member server2 server
member hosp.a party
member hospXa party
member p1 party

# Signed by the CA, with whatever subjectAltName: what a CA may have been brought to.
evil() { # FILE SAN-EXTENSION
    {
        echo 'extendedKeyUsage = clientAuth'
        echo 'basicConstraints = critical, CA:FALSE'
        echo 'keyUsage = critical, digitalSignature'
        echo 'subjectKeyIdentifier = hash'
        echo 'authorityKeyIdentifier = keyid:always'
        printf '%s\n' "$2"
    } >"$1.cnf"
    serial=$(od -An -N8 -tu8 /dev/urandom | tr -d ' ')
    openssl x509 -req -in p1.csr -CA ca/ca.crt -CAkey ca/ca.key -set_serial "$serial" -days 3 \
        -extfile "$1.cnf" -out "$1.crt" 2>/dev/null || echo "no certificate for $2" >&2
}

roster() {
    "$vfl" pki roster --out r.yaml --server server.crt "$@"
}

# refused FILE WORDS WHAT: by roster and bundle, in one line that names the file; nothing is written or run
"$vfl" pki roster --quiet --out good.yaml --server server.crt p1.crt
refused() {
    rm -rf r.yaml folders
    expect 2 "$1: .*$2" "roster: $3" roster "$1"
    same '1 0' "$(wc -l <said) $(find . -name 'r.yaml*' | wc -l)" '  one line, and no file'
    expect 2 "$1: .*$2" "bundle: $3" \
        "$vfl" bundle --roster good.yaml --server server.crt --address h:1 --out folders "$1"
    same '1 0' "$(wc -l <said) $(find . -path './folders*' | wc -l)" '  one line, and no folder'
    same '' "$(find . -name '*PWNED*')" '  nothing was run'
}

expect 0 '' 'a good certificate is taken' roster p1.crt

# --- names that are more than names ---
# Each stands in a section of its own, where OpenSSL takes it as it is.
n=0
while IFS= read -r san; do
    n=$((n + 1))
    evil "evil$n" "subjectAltName = @s
[s]
DNS.1 = $san"
    refused "evil$n.crt" 'its name is none' "the name $san"
done <<'SANS'
x//;e touch PWNED \#
x/;w PWNED
\$(touch PWNED)
`touch PWNED`
x;touch PWNED
x\ny: PWNED
x\n  - {name: q, key: 0
{name: x}
x, operator: y
\"x\"
\'x\'
x\\ny
*
*.example
../x
-out
.x
x y
x|touch PWNED
x&touch PWNED
x>PWNED
a/b
hö
SANS
evil nul 'subjectAltName = DER:30:05:82:03:61:00:62'
refused nul.crt 'its name is none' 'a name with a NUL'
evil empty 'subjectAltName = DER:30:02:82:00'
refused empty.crt 'its name is none' 'an empty name'
evil ip 'subjectAltName = IP:10.0.0.1'
refused ip.crt 'no DNS name' 'an address'
evil two 'subjectAltName = DNS:p1, DNS:server'
refused two.crt 'not exactly one name' 'two names'
evil both 'subjectAltName = DNS:p1, IP:10.0.0.1'
refused both.crt 'not exactly one name' 'a name and an address'
evil none 'nsComment = none'
refused none.crt 'not exactly one name' 'no name'
printf '%s\n' 'x//;e touch PWNED #' >text.crt
refused text.crt 'no certificate' 'a text'
expect 0 'no name that a roster takes' 'and shown as what it is' "$vfl" pki show evil1.crt
same '' "$(grep -c '[^ -~]' said | sed 's/^0$//')" 'in printable characters'

# --- whose they are ---
member p9 party other
refused p9.crt 'not signed by this CA' 'another CA'
openssl req -x509 -key p1.key -subj /CN=p1 -addext subjectAltName=DNS:p1 -days 3 -out self.crt 2>/dev/null
refused self.crt 'not signed by this CA\|CA' 'signed by itself'
member old party ca --start '9 days ago' --days 2
refused old.crt expired 'expired'
member young party ca --start '2 days'
refused young.crt 'not yet valid' 'not yet valid'
member gone party
"$vfl" pki revoke --quiet --ca ca --name gone
refused gone.crt revoked 'revoked'
refused server2.crt 'not a certificate for a party' 'a server as party'
expect 2 'p1.crt: not a certificate for a server' 'a party as server' \
    "$vfl" pki roster --out r.yaml --server p1.crt hosp.a.crt
refused p1.key 'private key' 'a private key'
mkdir bad && cp ca/ca.key bad/ca.crt && cp ca/ca.crl bad
expect 2 'bad/ca.crt: holds a private key' 'the key of the CA as its certificate' roster --ca bad p1.crt
expect 2 'server.crt: not signed' 'all are judged by the CA that is named' roster --ca other p1.crt
"$vfl" pki issue --quiet --ca ca --csr p1.csr --name p1b --role party --out p1b.crt
expect 2 'p1b.crt: the key of p1b is twice' 'one key under two names' roster p1.crt p1b.crt
mv ca/ca.crl ca/away
expect 2 'ca.crl' 'without a revocation list nobody is judged' roster p1.crt
mv ca/away ca/ca.crl

# --- operators are compared whole, as bytes ---
operators() {
    sed -n 's/.*name: \([^,]*\),.*operator: \([^}]*\)}/\1=\2/p' r.yaml | paste -sd' '
}
roster --quiet --operator hosp.a=bank hosp.a.crt hospXa.crt
same 'server=server hosp.a=bank hospXa=hospXa' "$(operators)" 'hosp.a is hosp.a'
roster --quiet --operator hospXa=bank hosp.a.crt hospXa.crt
same 'server=server hosp.a=hosp.a hospXa=bank' "$(operators)" 'and hospXa is not'
roster --quiet --operator server=bank --operator p1=bank p1.crt
same 'server=bank p1=bank' "$(operators)" 'the server has one, too'
for operator in 'hosp..=x' 'hosp=x' 'hosp.a.=x' 'HOSP.A=x' '.*=x' 'p2=x'; do
    expect 2 'no certificate here has the name\|NAME=OPERATOR' "an operator of nobody: $operator" \
        roster --operator "$operator" hosp.a.crt hospXa.crt
done
for operator in 'p1=' '=x' 'p1' 'p1=a b' 'p1=a/b' 'p1=x}' 'p1=$(touch PWNED)' 'p1=x
y'; do
    expect 2 'NAME=OPERATOR' "no operator: $(printf '%s' "$operator" | tr '\n' '~')" \
        roster --operator "$operator" p1.crt
done
expect 2 'given before' 'an operator twice' roster --operator p1=a --operator p1=b p1.crt

# --- rosters of others ---
quick() { # SECONDS COMMAND...
    timeout "$@"
}
python3 - <<'NESTS'
for name, unit in (("square", "["), ("curly", "{"), ("keys", "{a: "), ("dashes", "- "), ("marks", "? ")):
    open(name + ".yaml", "w").write(unit * (60000 // len(unit)))
NESTS
for nest in square keys dashes; do
    expect 2 "$nest.yaml:1: .*nested too deeply" "60 KB of $nest" quick 60 "$vfl" pki digest $nest.yaml
done
for nest in curly marks; do
    expect 2 "$nest.yaml:1: a key is a single name" "60 KB of $nest" quick 60 "$vfl" pki digest $nest.yaml
done
for name in '"a\\nb"' "'\$(id)'" '"a b"' 'a/b' '-rf' "'{x'"; do
    sed "s|name: p1|name: $name|" good.yaml >bad.yaml
    expect 2 'bad.yaml:4: ' "a roster with the name $name" "$vfl" pki digest bad.yaml
done

# --- bundles: the address, the plan ---
bundle() {
    "$vfl" bundle --roster good.yaml --server server.crt --out hosts "$@" p1.crt
}
for address in 'h
x: 1:7400' 'h
policy: {min_parties: 1}
x: :7400' 'h"x:1' 'h:0' 'h:65536' 'h:1 ' 'h:+1' ':1' 'h' '[::1]' '[x]:1' '::1:1' \
    'h/../x:1' '-h:1' '1.2.3:1' '300.1.1.1:1' \
    "$(printf 'h\tx:1')" '$(touch PWNED):1' 'h:1x' ''; do
    expect 2 'HOST:PORT' "no address: $(printf '%s' "$address" | tr '\n' '~')" bundle --address "$address"
done
same '' "$(find . -name hosts)" 'and no folder was made'
for address in 'h.example:7400' '10.1.2.3:1' '[::1]:65535'; do
    expect 0 '' "an address: $address" bundle --quiet --address "$address"
    same "server: \"$address\"" "$(grep '^server:' hosts/p1/party.yaml)" 'stands in the file, quoted'
done
printf 'protocol:\n  pbm: {trials: 16}\ntraining: {epochs: 2}\n' >plan.yaml
expect 0 '' 'a plan' bundle --quiet --address h:1 --plan plan.yaml
same 'protocol: pbm: trials: 16 training: epochs: 2' "$(sed -n '/^protocol/,$p' hosts/server/server.yaml | xargs)" \
    'its keys go into the server'\''s file'
for plan in 'listen: "0.0.0.0:1"' 'identity: {key: /etc/shadow}' 'roster: other.yaml' 'training: {epoch: 2}' \
    'training: [' 'training: {epochs: -1}' 'labels: {train: x}' 'protocol: {encoding: float32}'; do
    printf '%s\n' "$plan" >bad-plan.yaml
    expect 2 'bad-plan.yaml' "no plan: $plan" bundle --address h:1 --plan bad-plan.yaml
done
for allow in any 10.0.0.0/33 x '10.1.0.0/16 0.0.0.0/0' '10.1.0.0/16
[Install]' '::1/129' 1.2.3.4/; do
    expect 2 'allow' "no address to allow: $(printf '%s' "$allow" | tr '\n' '~')" bundle --address h:1 --allow "$allow"
done
bundle --quiet --address h:1 --allow 10.1.0.0/16 --allow ::1
same 'IPAddressAllow=localhost 10.1.0.0/16 ::1' "$(grep ^IPAddressAllow hosts/p1/vfl-party.service)" \
    'addresses to allow'

# --- bundles: what else lies in the folder ---
cp p1.key hosts/p1/party.key
echo mine >hosts/p1/notes
chmod 600 hosts/p1/party.key hosts/p1/notes
ln -s ../../ca/ca.key hosts/p1/mine.key
echo precious >precious
bundle --quiet --address h:1
same '600 600 600' "$(stat -c %a hosts/p1/party.key hosts/p1/notes ca/ca.key | paste -sd' ')" \
    'a private key in the folder keeps its mode, and so does all else'
same 644 "$(find hosts -type f ! -name party.key ! -name notes -printf '%m\n' | sort -u)" 'what it writes all may read'
for name in party.yaml ca.crt roster.yaml README.txt party.crt vfl-party.service; do
    mv "hosts/p1/$name" saved
    ln -s "$dir/precious" "hosts/p1/$name"
    expect 2 "$name: a link" "a link as $name is not followed" bundle --address h:1
    same precious "$(cat precious)" '  nor is what it leads to changed'
    mv saved "hosts/p1/$name"
done
cp p1.key hosts/p1/ca.crt
expect 2 'private key' 'a private key is not written over' bundle --address h:1
same "$(cat p1.key)" "$(cat hosts/p1/ca.crt)" '  it is still there'
rm hosts/p1/ca.crt
mv hosts/p1 away
mkdir elsewhere
ln -s "$dir/elsewhere" hosts/p1
expect 2 'a link' 'a link as a folder is not followed' bundle --address h:1
same '' "$(ls elsewhere)" '  nothing is written there'
rm hosts/p1 && mv away hosts/p1
expect 2 'p1.key: .*private key' 'nor does anything else write over a private key' \
    "$vfl" pki roster --out p1.key --server server.crt p1.crt
expect 2 'p1.key: .*private key' 'not even a renewal' "$vfl" pki renew --ca ca --name p1 --out p1.key
expect 0 '' 'the key is still one' openssl pkey -in p1.key -noout
ln -s precious link.yaml
expect 2 'a link' 'a link is not written through' "$vfl" pki roster --out link.yaml --server server.crt p1.crt

# --- pass phrases: nobody is asked for one, with or without a terminal ---
encrypted() { # KIND
    printf -- '-----BEGIN %s-----\nProc-Type: 4,ENCRYPTED\n' "$1"
    printf 'DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n'
    printf -- '%s=\n-----END %s-----\n' AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA "$1"
}
unasked() { # WHAT COMMAND...
    unasked_what=$1
    shift
    expect 2 '' "$unasked_what: refused" quick 60 setsid -w "$@" </dev/null
    same 1 "$(wc -l <"$dir/said")" '  in one line, without a question'
}
encrypted CERTIFICATE >locked.crt
encrypted 'CERTIFICATE REQUEST' >locked.csr
encrypted 'PUBLIC KEY' >locked.pub
encrypted 'X509 CRL' >locked.crl
for file in locked.csr locked.pub locked.crt; do
    unasked "the fingerprint of $file" "$vfl" pki fingerprint $file
done
unasked 'an encrypted request' "$vfl" pki issue --ca ca --csr locked.csr --name p1 --role party --out x.crt
unasked 'an encrypted certificate' "$vfl" pki roster --out x.yaml --server server.crt locked.crt
expect 2 'locked.crl: no revocation list' 'an encrypted list is shown as none' \
    quick 60 setsid -w "$vfl" pki show locked.crl </dev/null
same '' "$(grep -i 'pass phrase' said)" '  without a question'
cp ca/ca.crl away.crl
cp locked.crl ca/ca.crl
unasked 'a bundle with an encrypted list' "$vfl" bundle --roster good.yaml --server server.crt --out hosts \
    --address h:1 p1.crt
mv away.crl ca/ca.crl

# --- words on the command line ---
expect 2 'unknown option' 'an option of another command' "$vfl" pki csr --name x --key k --out r --days 3
expect 2 'given twice' 'an option twice' "$vfl" pki csr --name x --name y --key k --out r
expect 2 'days' 'no number of days' "$vfl" pki crl --ca ca --days 3x
expect 2 'no date' 'no date' "$vfl" pki issue --ca ca --csr p1.csr --name p1 --role party --out x --start 2026-02-30
same '' "$(find . -name '*PWNED*')" 'and nothing was run'
closing
