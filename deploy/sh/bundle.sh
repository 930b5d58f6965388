# shellcheck shell=sh
# bundle.sh -- one folder per host, to be handed over: everything but the private key, which is there already.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

bundle_usage() {
    cat <<'USAGE'
usage: vfl bundle --ca DIR --roster FILE --server CERT --address HOST:PORT --out DIR
                  [--plan FILE] [--allow ADDRESS]... PARTY-CERT...

Writes DIR/NAME for the server and each party of the roster: configuration, certificate, CA, CRL, roster, unit
file and a README.txt that says where they go.  No private key is read or written.
  --address  where parties find the server
  --plan     YAML with model, protocol, training, privacy: goes into the server's configuration
  --allow    addresses (10.1.0.0/16) the unit files let daemons speak with; otherwise a party may reach a numeric
             --address alone, and everything else is open (any)
USAGE
}

bundle_key_of() { # NAME: the key that the roster has for it
    sed -n "s/.*{name: $1, key: \([0-9a-f]*\), operator.*/\1/p" "$bundle_roster"
}

# A certificate of the roster, under its role.
bundle_check() { # CERT
    ! grep -q 'PRIVATE KEY' "$1" || fail 2 "$1 holds a private key: it does not leave its host"
    bundle_name=$(pki_name_of "$1")
    [ -n "$bundle_name" ] || fail 2 "$1: no certificate with a DNS name"
    [ "$(bundle_key_of "$bundle_name")" = "$(pki_fingerprint_of "$1")" ] ||
        fail 2 "$1: $bundle_name is not in $bundle_roster with this key"
    openssl verify -x509_strict -CAfile "$bundle_ca/ca.crt" "$1" >/dev/null 2>&1 ||
        fail 2 "$1: not signed by $bundle_ca/ca.crt, or expired"
}

bundle_common() { # ROLE CERT
    bundle_dir=$bundle_out/$bundle_name
    mkdir -p "$bundle_dir" || fail 6 "$bundle_dir cannot be made"
    cp "$2" "$bundle_dir/$1.crt"
    cp "$bundle_ca/ca.crt" "$bundle_ca/ca.crl" "$bundle_dir/"
    cp "$bundle_roster" "$bundle_dir/roster.yaml"
    [ -r "$vfl_share/systemd/vfl-$1.service" ] || fail 6 "$vfl_share/systemd/vfl-$1.service is missing"
    sed "s|^IPAddressAllow=.*|IPAddressAllow=localhost $3|" "$vfl_share/systemd/vfl-$1.service" \
        >"$bundle_dir/vfl-$1.service"
}

bundle_identity() { # ROLE
    printf 'identity: {cert: %s.crt, key: %s.key, ca: ca.crt, crl: ca.crl}\n' "$1" "$1"
    printf 'roster: roster.yaml\nstate: state\n'
    printf '# Seals an interrupted run, to go on later: (umask 077; openssl rand -hex 32 >state.key)\n'
    printf '# state_key: state.key\n'
}

bundle_readme() { # ROLE
    cat <<README
$bundle_name ($1)

1. Install Colonnade. As root: groupadd --system colonnade; mkdir -p /etc/colonnade/data
2. Copy this folder's files to /etc/colonnade, vfl-$1.service to /etc/systemd/system.
3. Your private key is on this host already (you made it with "vfl pki csr"): put it to
   /etc/colonnade/$1.key, owner root, mode 0600. Nobody else ever has it.
README
    if [ "$1" = party ]; then
        cat <<README
4. Compute the roster's digest HERE with "vfl pki digest /etc/colonnade/roster.yaml" and compare it with the
   other organisations by a way that does not lead through whoever sent this folder. Only then write it
   into policy.roster_sha256 in party.yaml; without it vfl-party speaks with no server but one on loopback.
5. Read the policy in party.yaml. It is yours, no plan of the server overrides it.
6. Put your columns to /etc/colonnade/data/train.csv and test.csv (first column id), then
   chgrp -R colonnade /etc/colonnade/data; chmod -R o= /etc/colonnade/data
7. Check:  vfl-party -c /etc/colonnade/party.yaml -n   and   vfl doctor -c /etc/colonnade/party.yaml
8. Start:  systemctl daemon-reload; systemctl start vfl-party;  watch: journalctl -fu vfl-party
README
    else
        cat <<README
4. Put the labels to /etc/colonnade/data/labels-train.csv and labels-test.csv (columns id,label), then
   chgrp -R colonnade /etc/colonnade/data; chmod -R o= /etc/colonnade/data
5. Let TCP port $bundle_port in; nothing else.
6. Check:  vfl-server -c /etc/colonnade/server.yaml -n
7. Start:  systemctl daemon-reload; systemctl start vfl-server;  watch: journalctl -fu vfl-server
README
    fi
}

# Nothing in the folder is secret, and a service's own user must be able to read it.
bundle_open() {
    chmod 644 "$bundle_dir"/*
}

bundle_server() { # CERT
    bundle_check "$1"
    grep -q "^server: {name: $bundle_name," "$bundle_roster" || fail 2 "$1: not the server of $bundle_roster"
    bundle_common server "$1" "${bundle_allow:-any}"
    {
        printf '# Written by vfl bundle.  Check it with: vfl-server -c server.yaml -n\n'
        printf 'listen: "0.0.0.0:%s"\n' "$bundle_port"
        bundle_identity server
        printf 'labels: {train: data/labels-train.csv, test: data/labels-test.csv}\n'
        [ -z "$bundle_plan" ] || cat "$bundle_plan"
    } >"$bundle_dir/server.yaml"
    bundle_readme server >"$bundle_dir/README.txt"
    bundle_open
}

bundle_party() { # CERT
    bundle_check "$1"
    grep -q "^  - {name: $bundle_name," "$bundle_roster" || fail 2 "$1: no party of $bundle_roster"
    bundle_reach=any
    case ${bundle_address%:*} in *[!0-9.]*) ;; *) bundle_reach=${bundle_address%:*} ;; esac
    bundle_common party "$1" "${bundle_allow:-$bundle_reach}"
    {
        printf '# Written by vfl bundle.  Check it with: vfl-party -c party.yaml -n\n'
        printf 'server: "%s"\n' "$bundle_address"
        bundle_identity party
        printf 'data: {train: data/train.csv, test: data/test.csv}\n'
        printf '\n# What you accept, whatever the server plans: docs/configuration.md lists all keys.\n'
        printf 'policy:\n  min_parties: 3\n  min_m_eff: 2\n'
        printf '  encodings: [pbm, fixed]\n  aggregations: [masked, coded, fedvs]\n'
        printf '  # Compare the digest with the other organisations first (README.txt), then fill it in:\n'
        printf '  # roster_sha256: "..."\n'
    } >"$bundle_dir/party.yaml"
    bundle_readme party >"$bundle_dir/README.txt"
    bundle_open
}

bundle_main() {
    need openssl sha256sum
    # shellcheck source=/dev/null
    . "$vfl_share/sh/pki.sh"
    bundle_ca='' bundle_roster='' bundle_server='' bundle_address='' bundle_out='' bundle_plan='' bundle_allow=''
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) bundle_usage && return ;;
        --quiet) quiet=yes && shift && continue ;;
        --ca | --roster | --server | --address | --out | --plan | --allow)
            [ $# -ge 2 ] || fail 2 "$1 needs a value"
            ;;
        -*) fail 2 "unknown option $1" ;;
        *) break ;;
        esac
        case $1 in
        --ca) bundle_ca=$2 ;;
        --roster) bundle_roster=$2 ;;
        --server) bundle_server=$2 ;;
        --address) bundle_address=$2 ;;
        --out) bundle_out=$2 ;;
        --plan) bundle_plan=$2 ;;
        --allow) bundle_allow="${bundle_allow:+$bundle_allow }$2" ;;
        esac
        shift 2
    done
    [ -n "$bundle_ca" ] && [ -n "$bundle_roster" ] && [ -n "$bundle_server" ] && [ -n "$bundle_out" ] && [ $# -gt 0 ] ||
        fail 2 "--ca, --roster, --server, --address, --out and party certificates are needed (--help)"
    case $bundle_allow in *[!0-9a-fA-F.:/\ ]*) fail 2 "--allow $bundle_allow: addresses expected" ;; esac
    case $bundle_address in ?*:[1-9]*) ;; *) fail 2 "--address $bundle_address: HOST:PORT expected" ;; esac
    bundle_port=${bundle_address##*:}
    number --address "$bundle_port" 1 65535
    bundle_digest=$(pki_digest_of "$bundle_roster") || exit $?
    [ -z "$bundle_plan" ] || [ -r "$bundle_plan" ] || fail 2 "$bundle_plan: cannot be read"
    bundle_server "$bundle_server"
    for bundle_cert in "$@"; do
        bundle_party "$bundle_cert"
    done
    bundle_want=$(grep -c '{name:' "$bundle_roster")
    [ $(($# + 1)) -eq "$bundle_want" ] || say "note: $(($# + 1)) folders for the $bundle_want entries of the roster"
    say "folders in $bundle_out; roster digest $bundle_digest"
}
