# shellcheck shell=sh
# pki.sh -- the certificates and the roster of a federation, with the openssl command line.
#
# Ed25519 everywhere.  A party makes its key on its own host (`csr`), where it stays; whoever runs the CA sees
# only the request.  A CA's signature admits nobody: the roster does, and its digest is compared out of band.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

pki_usage() {
    cat <<'USAGE'
usage: vfl pki COMMAND ...
On the host of whoever runs the CA:
  ca --ca DIR [--name NAME] [--days N]           a new CA in DIR; DIR/ca.key never leaves it
  issue --ca DIR --csr FILE --name NAME --role server|party --out FILE [--days N] [--start DATE]
  renew --ca DIR --name NAME --out FILE [--days N]        the same key for longer: rosters stay as they are
  revoke --ca DIR --name NAME                    all certificates of NAME; writes DIR/ca.crl
  crl --ca DIR [--days N]                        a fresh DIR/ca.crl, before the old one expires
  roster --out FILE --server CERT PARTY-CERT...  [--operator NAME=OPERATOR]...
                                                 writes the roster in this order, prints its digest
On each host:
  csr --name NAME --key FILE --out FILE          makes the key (0600) unless it is there, and a request
  show FILE...                                   names, role, validity of certificates and CRLs
  fingerprint FILE                               SHA-256 of the public key, as in a roster
  digest ROSTER                                  what all organisations compare over the telephone
USAGE
}

pki_config() {
    cat <<'CONFIG'
[ca]
default_ca = this
[this]
database = $ENV::VFL_CA/index.txt
new_certs_dir = $ENV::VFL_CA/issued
certificate = $ENV::VFL_CA/ca.crt
private_key = $ENV::VFL_CA/ca.key
crlnumber = $ENV::VFL_CA/crlnumber
rand_serial = yes
default_md = default
default_crl_days = 90
policy = names
unique_subject = no
# Nothing a request asks for gets into a certificate, but its key.
copy_extensions = none
email_in_dn = no
[names]
commonName = supplied
[req]
distinguished_name = dn
[dn]
[crl]
authorityKeyIdentifier = keyid:always
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
subjectAltName = DNS:$ENV::VFL_NAME
[party]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
subjectAltName = DNS:$ENV::VFL_NAME
CONFIG
}

# openssl with its chatter kept for the case that it fails.
pki_openssl() {
    pki_said=$(VFL_NAME=${pki_name:-none} VFL_CA=${pki_ca:-none} openssl "$@" 2>&1) ||
        fail 6 "openssl $1: $(printf '%s\n' "$pki_said" | tail -n 3)"
}

pki_check_name() {
    case $1 in
    '' | *[!A-Za-z0-9._-]* | [.-]*) fail 2 "name '$1': letters, digits, '.', '_' and '-' expected" ;;
    esac
    [ ${#1} -le 63 ] || fail 2 "name '$1': over 63 characters"
}

pki_open_ca() {
    [ -n "$pki_ca" ] || fail 2 "--ca DIR is missing"
    [ -f "$pki_ca/ca.key" ] || fail 2 "$pki_ca: no CA here (make one with: vfl pki ca --ca $pki_ca)"
    pki_ca=$(readlink -f "$pki_ca")
    exec 8>"$pki_ca/lock"
    flock 8
}

# Certificates begin an hour ago, so that a host whose clock is a little behind takes them.
pki_dates() { # DAYS [START]
    pki_from=$(date -u -d "${2:-1 hour ago}" +%Y%m%d%H%M%SZ 2>/dev/null) || fail 2 "--start $2: no date"
    pki_to=$(date -u -d "@$(($(date -u -d "${2:-now}" +%s) + $1 * 86400))" +%Y%m%d%H%M%SZ)
}

pki_new_ca() {
    [ -n "$pki_ca" ] || fail 2 "--ca DIR is missing"
    [ ! -e "$pki_ca/ca.key" ] || fail 2 "$pki_ca: there is a CA already"
    mkdir -p "$pki_ca/issued" "$pki_ca/requests" || fail 6 "$pki_ca: cannot be made"
    pki_ca=$(readlink -f "$pki_ca")
    pki_config >"$pki_ca/ca.cnf"
    : >"$pki_ca/index.txt"
    : >"$pki_ca/revoked.txt"
    echo 01 >"$pki_ca/crlnumber"
    pki_dates "${pki_days:-3650}" "$pki_start"
    pki_openssl genpkey -algorithm ed25519 -out "$pki_ca/ca.key"
    chmod 0600 "$pki_ca/ca.key"
    pki_openssl req -new -config "$pki_ca/ca.cnf" -key "$pki_ca/ca.key" -subj "/CN=${pki_name:-Colonnade CA}" \
        -out "$pki_ca/ca.csr"
    pki_openssl ca -batch -notext -config "$pki_ca/ca.cnf" -selfsign -keyfile "$pki_ca/ca.key" \
        -in "$pki_ca/ca.csr" -extensions authority -startdate "$pki_from" -enddate "$pki_to" \
        -out "$pki_ca/ca.crt"
    chmod 0644 "$pki_ca/ca.crt"
    pki_days=
    pki_write_crl
    say "CA in $pki_ca: give ca.crt and ca.crl to everybody, ca.key to nobody"
}

pki_write_crl() {
    pki_openssl ca -config "$pki_ca/ca.cnf" -gencrl -crlexts crl -crldays "${pki_days:-90}" -out "$pki_ca/ca.crl.new"
    chmod 0644 "$pki_ca/ca.crl.new"
    mv "$pki_ca/ca.crl.new" "$pki_ca/ca.crl"
}

pki_csr() {
    pki_check_name "$pki_name"
    [ -n "$pki_key" ] && [ -n "$pki_out" ] || fail 2 "--key FILE and --out FILE are needed"
    if [ ! -e "$pki_key" ]; then
        (umask 077 && openssl genpkey -algorithm ed25519 -out "$pki_key") || fail 6 "$pki_key: cannot be made"
        chmod 0600 "$pki_key"
    fi
    printf '[req]\ndistinguished_name = dn\n[dn]\n' |
        openssl req -new -config /dev/stdin -key "$pki_key" -subj "/CN=$pki_name" -out "$pki_out" ||
        fail 6 "$pki_out: cannot be made"
    chmod 0644 "$pki_out"
    say "request $pki_out; the key $pki_key stays on this host"
}

# Signs requests/NAME.csr for requests/NAME.role.
pki_sign() {
    pki_role=$(cat "$pki_ca/requests/$pki_name.role")
    # A revoked key does not come back, under whatever name.
    ! grep -qx "$(pki_fingerprint_of "$pki_ca/requests/$pki_name.csr")" "$pki_ca/revoked.txt" ||
        fail 2 "$pki_name: this key is revoked; a request with a new key is needed"
    pki_dates "${pki_days:-365}" "$pki_start"
    pki_openssl ca -batch -notext -config "$pki_ca/ca.cnf" -in "$pki_ca/requests/$pki_name.csr" \
        -subj "/CN=$pki_name" -extensions "$pki_role" -startdate "$pki_from" -enddate "$pki_to" -out "$pki_out"
    chmod 0644 "$pki_out"
    say "certificate $pki_out: $pki_role $pki_name, ${pki_days:-365} days"
}

pki_issue() {
    pki_check_name "$pki_name"
    case $pki_role in server | party) ;; *) fail 2 "--role: server or party expected" ;; esac
    [ -n "$pki_out" ] || fail 2 "--out FILE is missing"
    openssl req -in "${pki_csr:-/dev/null}" -noout -verify >/dev/null 2>&1 ||
        fail 2 "$pki_csr: no request signed by its own key"
    openssl req -in "$pki_csr" -noout -text 2>/dev/null | grep -q 'Public Key Algorithm: ED25519' ||
        fail 2 "$pki_csr: the key is not Ed25519"
    pki_open_ca
    cp "$pki_csr" "$pki_ca/requests/$pki_name.csr"
    printf '%s\n' "$pki_role" >"$pki_ca/requests/$pki_name.role"
    pki_sign
}

# Serials of the valid certificates of $pki_name.
pki_valid() {
    awk -F '\t' -v want="/CN=$pki_name" '$1 == "V" && $6 == want { print $4 }' "$pki_ca/index.txt"
}

pki_renew() {
    pki_check_name "$pki_name"
    [ -n "$pki_out" ] || fail 2 "--out FILE is missing"
    pki_open_ca
    [ -f "$pki_ca/requests/$pki_name.csr" ] || fail 2 "$pki_name: no certificate was issued to this name here"
    pki_sign
}

pki_revoke() {
    pki_check_name "$pki_name"
    pki_open_ca
    pki_serials=$(pki_valid)
    [ -n "$pki_serials" ] || fail 2 "$pki_name: no valid certificate of this name was issued here"
    for serial in $pki_serials; do
        pki_fingerprint_of "$pki_ca/issued/$serial.pem" >>"$pki_ca/revoked.txt"
        pki_openssl ca -config "$pki_ca/ca.cnf" -revoke "$pki_ca/issued/$serial.pem"
    done
    pki_write_crl
    say "$pki_name is revoked: give $pki_ca/ca.crl to every host and send its daemon SIGHUP"
}

# The public key of a certificate, request, public or private key, as PEM.
pki_public() {
    case $(grep -m 1 -e '-----BEGIN' "$1" 2>/dev/null) in
    *'BEGIN CERTIFICATE-----'*) openssl x509 -in "$1" -noout -pubkey 2>/dev/null ;;
    *'CERTIFICATE REQUEST'*) openssl req -in "$1" -noout -pubkey 2>/dev/null ;;
    *'BEGIN PUBLIC KEY'*) cat "$1" ;;
    *'PRIVATE KEY'*) openssl pkey -in "$1" -pubout 2>/dev/null ;;
    esac
}

pki_fingerprint_of() {
    pki_pem=$(pki_public "$1")
    [ -n "$pki_pem" ] || fail 2 "$1: no certificate, request or key"
    printf '%s\n' "$pki_pem" | openssl pkey -pubin -outform DER 2>/dev/null | sha256sum | cut -c 1-64
}

# The name a certificate carries: the first DNS name of its subjectAltName.
pki_name_of() {
    openssl x509 -in "$1" -noout -ext subjectAltName 2>/dev/null | sed -n 's/^ *DNS:\([^,]*\).*/\1/p'
}

pki_show() {
    for pki_file in "$@"; do
        [ -r "$pki_file" ] || fail 2 "$pki_file: cannot be read"
        echo "$pki_file"
        if grep -q 'BEGIN X509 CRL' "$pki_file"; then
            openssl crl -in "$pki_file" -noout -issuer -lastupdate -nextupdate | sed 's/^/  /'
            echo "  revoked=$(openssl crl -in "$pki_file" -noout -text | grep -c 'Serial Number:')"
            continue
        fi
        openssl x509 -in "$pki_file" -noout -subject -issuer -startdate -enddate \
            -ext subjectAltName,extendedKeyUsage,basicConstraints 2>/dev/null | sed 's/^/  /' || :
        pki_end=$(openssl x509 -in "$pki_file" -noout -enddate 2>/dev/null) || fail 2 "$pki_file: no certificate or CRL"
        pki_left=$((($(date -d "${pki_end#notAfter=}" +%s) - $(date +%s)) / 86400))
        if [ "$pki_left" -lt 0 ]; then echo "  EXPIRED"; else echo "  days left=$pki_left"; fi
        echo "  fingerprint=$(pki_fingerprint_of "$pki_file")"
    done
}

# "name|operator" for a certificate; the operator is the name unless --operator said otherwise.
pki_entry() { # CERT
    pki_who=$(pki_name_of "$1")
    [ -n "$pki_who" ] || fail 2 "$1: no certificate with a DNS name"
    pki_hash=$(pki_fingerprint_of "$1") || exit $?
    pki_op=$(printf '%s\n' "$pki_operators" | sed -n "s/^$pki_who=//p" | tail -n 1)
    printf '{name: %s, key: %s, operator: %s}\n' "$pki_who" "$pki_hash" "${pki_op:-$pki_who}"
}

pki_roster() {
    [ -n "$pki_out" ] && [ -n "$pki_server" ] && [ $# -gt 0 ] ||
        fail 2 "--out, --server and party certificates are needed"
    [ $# -le 256 ] || fail 2 "more than 256 parties"
    {
        pki_line=$(pki_entry "$pki_server") || exit $?
        echo '# The roster: who takes part, in this order.  Digest: vfl pki digest FILE'
        printf 'server: %s\nparties:\n' "$pki_line"
        for pki_cert in "$@"; do
            pki_line=$(pki_entry "$pki_cert") || exit $?
            printf '  - %s\n' "$pki_line"
        done
    } >"$pki_out.new" || exit $?
    pki_twice=$(sed -n 's/.*{name: \([^,]*\), key: \([^,]*\),.*/\1\n\2/p' "$pki_out.new" | sort | uniq -d)
    if [ -n "$pki_twice" ]; then
        rm -f "$pki_out.new"
        fail 2 "twice in the roster: $(printf '%s' "$pki_twice" | tr '\n' ' ')"
    fi
    chmod 0644 "$pki_out.new"
    mv "$pki_out.new" "$pki_out"
    say "$(pki_digest_of "$pki_out")"
}

# SHA-256 over "server NAME KEY OPERATOR\n" and "party NAME KEY OPERATOR\n": what vfl-party --fingerprint
# prints too.  Reads rosters in the form in which pki_roster writes them.
pki_digest_of() {
    pki_lines=$(awk '
        function entry(role, line,   f, n) {
            if (line !~ /^\{name: [^ ,{}"]+, key: [0-9a-f]+, operator: [^ ,{}"]+\}$/) exit 1
            gsub(/[{},]/, "", line)
            n = split(line, f, " ")
            if (n != 6 || length(f[4]) != 64) exit 1
            print role, f[2], f[4], f[6]
            seen[role]++
        }
        /^[ ]*(#.*)?$/ || /^parties:$/ { next }
        /^server: / { entry("server", substr($0, 9)); next }
        /^  - / { if (!seen["server"]) exit 1; entry("party", substr($0, 5)); next }
        { exit 1 }
    ' "$1" 2>/dev/null) && [ -n "$pki_lines" ] ||
        fail 2 "$1: not in the form that \`vfl pki roster\` writes; ask vfl-party --fingerprint"
    printf '%s\n' "$pki_lines" | sha256sum | cut -c 1-64
}

pki_main() {
    need openssl flock sha256sum
    pki_command=${1:-}
    [ $# -eq 0 ] || shift
    pki_ca='' pki_name='' pki_days='' pki_start='' pki_key='' pki_csr='' pki_role='' pki_out='' pki_server=''
    pki_operators=
    while [ $# -gt 0 ]; do
        case $1 in
        --ca | --name | --days | --start | --key | --csr | --role | --out | --server | --operator)
            [ $# -ge 2 ] || fail 2 "$1 needs a value"
            ;;
        esac
        case $1 in
        --ca) pki_ca=$2 ;;
        --name) pki_name=$2 ;;
        --days) number --days "$2" 1 36500 && pki_days=$2 ;;
        --start) pki_start=$2 ;;
        --key) pki_key=$2 ;;
        --csr) pki_csr=$2 ;;
        --role) pki_role=$2 ;;
        --out) pki_out=$2 ;;
        --server) pki_server=$2 ;;
        --operator)
            case $2 in ?*=?*) ;; *) fail 2 "--operator $2: NAME=OPERATOR expected" ;; esac
            pki_check_name "${2%%=*}"
            pki_check_name "${2#*=}"
            pki_operators="$pki_operators
$2"
            ;;
        --quiet) quiet=yes && shift && continue ;;
        -h | --help) pki_usage && return ;;
        -*) fail 2 "unknown option $1" ;;
        *) break ;;
        esac
        shift 2
    done
    case $pki_command in
    ca | csr | issue | renew | revoke | crl) [ $# -eq 0 ] || fail 2 "unexpected argument $1" ;;
    esac
    case $pki_command in
    ca) pki_new_ca ;;
    csr) pki_csr ;;
    issue) pki_issue ;;
    renew) pki_renew ;;
    revoke) pki_revoke ;;
    crl) pki_open_ca && pki_write_crl ;;
    show) [ $# -gt 0 ] || fail 2 "a file is needed" && pki_show "$@" ;;
    fingerprint) [ $# -eq 1 ] || fail 2 "one file is needed" && pki_fingerprint_of "$1" ;;
    roster) pki_roster "$@" ;;
    digest) [ $# -eq 1 ] || fail 2 "one file is needed" && pki_digest_of "$1" ;;
    -h | --help) pki_usage ;;
    *)
        pki_usage >&2
        exit 2
        ;;
    esac
}
