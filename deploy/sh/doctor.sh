# shellcheck shell=sh
# doctor.sh -- why does this side not connect?  Goes through what can be wrong, says whose it is and what to do.
#
# Looks from one host; it sends nothing but a TLS handshake.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

doctor_usage() {
    cat <<'USAGE'
usage: vfl doctor -c FILE [--set key.path=value]...
FILE is the configuration of a party or of the server.  Exit code 0: nothing found; 2: this side must act;
3: another side must; 4: the network.
USAGE
}

good() { printf 'ok    %s\n' "$*"; }

hint() { printf 'hint  %s\n' "$*"; }

# bad CODE SIDE WHAT FIX
bad() {
    printf 'BAD   %s\n      side: %s\n      fix:  %s\n' "$3" "$2" "$4"
    # This side's own mistakes come first: they may cause the rest.
    [ "$doctor_code" -eq 2 ] || doctor_code=$1
}

value() { # KEY.PATH
    printf '%s\n' "$doctor_config" | sed -n "s/^$1=//p"
}

# What the daemon itself says about its file, roster, key and data.
doctor_daemon() {
    doctor_said=$("$vfl_bin/vfl-$role" -c "$doctor_file" "$@" -n 2>&1) && {
        good "vfl-$role accepts configuration, roster, key and data: $(printf '%s\n' "$doctor_said" |
            sed -n 's/^# \(.*rows.*\)/\1/p' | head -n 1)"
        doctor_config=$(printf '%s\n' "$doctor_said" | yaml_flat)
        return
    }
    bad 2 'this one' "$(printf '%s\n' "$doctor_said" | tail -n 1 | sed 's/^[^ ]* [^ ]* error: //')" \
        "correct $doctor_file, or the file it names; then run this again"
    return 1
}

doctor_dates() { # WHAT FILE CODE SIDE
    doctor_now=$(date +%s)
    doctor_from=$(date -d "$(openssl x509 -in "$2" -noout -startdate | cut -d= -f2)" +%s)
    doctor_to=$(date -d "$(openssl x509 -in "$2" -noout -enddate | cut -d= -f2)" +%s)
    if [ "$doctor_now" -lt "$doctor_from" ]; then
        doctor_day=$(date -u -d "@$doctor_from" '+%F %T')
        bad "$3" "$4" "$1 is not valid before $doctor_day UTC; it is $(date -u '+%F %T') here" \
            'set the clock that is wrong (timedatectl), or wait'
    elif [ "$doctor_now" -gt "$doctor_to" ]; then
        bad "$3" "$4" "$1 has expired on $(date -u -d "@$doctor_to" '+%F %T') UTC" \
            'have it renewed (vfl pki renew): the key stays, so rosters stay'
    else
        doctor_left=$(((doctor_to - doctor_now) / 86400))
        good "$1 is valid for $doctor_left more days"
        [ "$doctor_left" -ge 30 ] || hint "$1 should be renewed soon (vfl pki renew)"
    fi
}

doctor_certificate() {
    cert=$(value identity.cert) key=$(value identity.key) ca=$(value identity.ca) crl=$(value identity.crl)
    own=$(pki_name_of "$cert")
    if [ "$(pki_fingerprint_of "$cert")" = "$(pki_fingerprint_of "$key")" ]; then
        good "the key belongs to the certificate ($own)"
    else
        bad 2 'this one' "$key is not the key of $cert" 'use the key that made the request, or request again'
    fi
    if openssl verify -x509_strict -no_check_time -CAfile "$ca" "$cert" >/dev/null 2>&1; then
        good "the certificate is signed by $ca"
    else
        bad 2 'this one' "$cert is not signed by $ca" 'ask whoever runs the CA for both files'
    fi
    doctor_dates 'the certificate' "$cert" 2 'this one'
    doctor_dates 'the CA' "$ca" 2 'this one'
    if [ -n "$crl" ]; then
        doctor_to=$(date -d "$(openssl crl -in "$crl" -noout -nextupdate | cut -d= -f2)" +%s)
        if [ "$(date +%s)" -gt "$doctor_to" ]; then
            bad 2 'this one' "$crl has expired" 'ask whoever runs the CA for a fresh one (vfl pki crl), then SIGHUP'
        else
            good "the CRL is valid for $(((doctor_to - $(date +%s)) / 86400)) more days"
        fi
        openssl verify -crl_check -no_check_time -CRLfile "$crl" -CAfile "$ca" "$cert" 2>&1 |
            grep -q 'certificate revoked' &&
            bad 2 'this one' "$cert is revoked" 'make a new key and request (vfl pki csr), then a new roster'
    fi
}

doctor_roster() {
    roster=$(value roster)
    # shellcheck disable=SC2016
    entry=$(grep "{name: $own," "$roster")
    case $role:$entry in
    *:)
        bad 2 'whoever made the roster' "$own is not in $roster" \
            'compare digests with the others; ask for the current roster'
        ;;
    server:server:* | party:\ *) good "the roster has $own as $role" ;;
    *) bad 2 'whoever made the roster' "$own is no $role in $roster" 'ask for a roster with the right roles' ;;
    esac
    case $entry in
    '' | *"key: $(pki_fingerprint_of "$cert"),"*) ;;
    *) bad 2 'whoever made the roster' "the roster has another key of $own" \
        'a new key needs a new roster on every host; a renewed certificate (vfl pki renew) does not' ;;
    esac
    digest=$(pki_digest_of "$roster") || return
    pinned=$(value policy.roster_sha256)
    if [ "$role" = server ] || [ "$pinned" = "$digest" ]; then
        good "roster digest $digest"
    elif [ -z "$pinned" ]; then
        hint "policy.roster_sha256 is not set: no server but one on loopback is accepted. Digest here: $digest"
    else
        bad 2 'this one' "policy.roster_sha256 is $pinned, the roster's digest $digest" \
            'find out with the others which roster is the agreed one'
    fi
}

# A handshake with the server, as this party.
doctor_reach() {
    address=$(value server)
    host=${address%:*} port=${address##*:}
    host=${host#[} host=${host%]}
    server=$(sed -n 's/^server: {name: \([^,]*\),.*/\1/p' "$roster")
    wanted=$(sed -n 's/^server: {name: [^,]*, key: \([0-9a-f]*\),.*/\1/p' "$roster")
    if ! getent ahosts "$host" >/dev/null; then
        bad 4 'this one, or the name service' "$host has no address" 'correct server: in the configuration, or the DNS'
        return
    fi
    doctor_tls=$(timeout 10 openssl s_client -connect "$address" -tls1_3 -alpn vfl/1 -cert "$cert" -key "$key" \
        -CAfile "$ca" -verify_return_error -servername "$server" </dev/null 2>&1)
    doctor_rc=$?
    if [ $doctor_rc -eq 124 ] || printf '%s' "$doctor_tls" |
        grep -Eqi 'connect:errno|refused|timed out|unreachable|no route'; then
        bad 4 'the server or a firewall' "no answer from $address" \
            "is vfl-server running? is TCP port $port open from here to there?"
        return
    fi
    good "$address answers"
    doctor_peer=$(printf '%s\n' "$doctor_tls" | sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p')
    if [ -z "$doctor_peer" ]; then
        case $doctor_tls in
        *'certificate verify failed'* | *'verify error'*)
            doctor_why=$(printf '%s\n' "$doctor_tls" | grep -m 1 'verify error' | sed 's/verify error://')
            bad 3 'the server' "its certificate does not hold: $doctor_why" \
                'both sides must have certificates of one CA, and right clocks'
            ;;
        *) bad 3 'the server' "$address does not speak TLS 1.3 as vfl-server does" 'is that its address and port?' ;;
        esac
        return
    fi
    printf '%s\n' "$doctor_peer" >"$doctor_tmp"
    if [ "$(pki_fingerprint_of "$doctor_tmp")" = "$wanted" ]; then
        good "the server has the key that the roster names"
    else
        bad 3 'the server, or whoever made the roster' \
            "$(pki_name_of "$doctor_tmp") at $address has another key than the roster's" \
            'compare roster digests; is that address the right server?'
    fi
    [ "$(pki_name_of "$doctor_tmp")" = "$server" ] && good "its certificate carries the name $server" ||
        bad 3 'the server' "its certificate carries $(pki_name_of "$doctor_tmp"), the roster says $server" \
            'the server needs a certificate for its name in the roster'
    case $doctor_tls in
    *'alert bad certificate'* | *'alert unknown ca'* | *'alert certificate'*)
        bad 2 'this one' 'the server refuses this certificate' 'compare CA and CRL of both sides'
        ;;
    esac
    doctor_dates "the server's certificate" "$doctor_tmp" 3 'the server'
}

doctor_listen() {
    address=$(value listen)
    port=${address##*:}
    command -v ss >/dev/null 2>&1 || return 0
    if ss -Hltn "sport = :$port" 2>/dev/null | grep -q .; then
        good "somebody listens on port $port here (vfl-server, if it is running)"
    else
        hint "nobody listens on port $port here now; parties need it open: TCP, inwards"
    fi
}

doctor_clock() {
    command -v timedatectl >/dev/null 2>&1 || return 0
    case $(timedatectl show -p NTPSynchronized --value 2>/dev/null) in
    no) hint 'the clock of this host is not synchronised (timedatectl): certificates may look expired or too new' ;;
    yes) good 'the clock of this host is synchronised' ;;
    esac
}

doctor_main() {
    need openssl sha256sum timeout
    # shellcheck source=/dev/null
    . "$vfl_share/sh/pki.sh"
    # shellcheck source=/dev/null
    . "$vfl_share/sh/yaml.sh"
    case ${1:-} in -h | --help) doctor_usage && return ;; esac
    [ "${1:-}" = -c ] && [ $# -ge 2 ] || fail 2 "-c FILE is needed (--help)"
    doctor_file=$2 doctor_code=0 doctor_config=''
    shift 2
    [ -r "$doctor_file" ] || fail 2 "$doctor_file: cannot be read"
    role=server
    ! grep -Eq '^server:' "$doctor_file" || role=party
    [ -x "$vfl_bin/vfl-$role" ] || fail 6 "$vfl_bin/vfl-$role is missing"
    doctor_tmp=$(mktemp) || fail 6 'no temporary file'
    trap 'rm -f "$doctor_tmp"' EXIT
    doctor_clock
    if doctor_daemon "$@"; then
        doctor_certificate
        doctor_roster
        if [ $role = party ]; then doctor_reach; else doctor_listen; fi
    fi
    [ "$doctor_code" -ne 0 ] || say 'nothing wrong was found from here'
    exit "$doctor_code"
}
