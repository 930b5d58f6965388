#!/bin/sh
# test_files.sh -- a file that is named, or kept, may be a pipe, a folder, a device or a link instead: nobody waits
# for it, nothing is written through it, and root does not work in another user's folder.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

expect 0 completed 'three parties train' timeout 600 "$vfl" cluster --out base --seed 5 --parties 3 \
    --set training.epochs=1 --party '*:model.layers=[8]' --party '*:model.train=frozen'

# --- what a user names ---
mkfifo pipe
mkdir folder
# One program with one key, turned to what is no file: one line at once, and its documented code.
traps() { # DAEMON KEY
    for trap_at in pipe folder /dev/zero; do
        timeout 20 "$VFL_BIN/vfl-$1" -c "base/$2/config.yaml" -n --set "$3=$trap_at" >trap.log 2>&1
        code=$?
        [ "$3" != model.load ] || [ $code -ne 6 ] || code=2
        same "2 $3" "$code $(grep -o -m 1 "$3\|roster\|state_key\|$trap_at" trap.log | head -1 |
            sed "s,.*,$3,")" "$1: $3 is $trap_at"
    done
}
for key in identity.cert identity.key identity.ca identity.crl roster state_key data.train data.test \
    data.labels.train data.scale model.load; do
    traps party party-1 $key
done
for key in identity.cert identity.key identity.ca identity.crl roster state_key labels.train labels.test; do
    traps server server $key
done
expect 2 'pipe: not a regular file' 'a configuration that is a pipe' timeout 20 "$VFL_BIN/vfl-party" -n -c pipe

# --- what a script keeps for a while ---
# Whoever watches the folder for temporary files sees a name as soon as it is there, and puts links beside it.
printf 'as it was' >precious
mkdir watched watched/tmp
cat >watched/mktemp <<END
#!/bin/sh
made=\$($(command -v mktemp) "\$@") || exit
for ending in all plan; do
    ln -s "$PWD/precious" "\$made.\$ending"
done
printf '%s\\n' "\$made"
END
chmod +x watched/mktemp
beside() { # ARGUMENTS...
    TMPDIR=$PWD/watched/tmp PATH=$PWD/watched:$PATH timeout 600 "$vfl" "$@"
}
expect 0 '' 'a cluster, and somebody watches' beside cluster --quiet --out base --seed 5 --parties 3 \
    --set training.epochs=1 --party '*:model.layers=[8]' --party '*:model.train=frozen'
expect 2 'another plan' 'or it asks for another plan' beside cluster --quiet --out base --seed 6 --parties 3
same 'as it was' "$(cat precious)" "a cluster writes through nobody's link"
beside audit --quiet --rows 200 --parties 2 --out audited >said 2>&1
same 'as it was yes' "$(cat precious) $([ -s audited/run/server/transcript.jsonl ] && echo yes)" 'nor does an audit'
same "$(printf '%s\n' all plan)" "$(find watched/tmp -name 'tmp.*' | sed 's/.*\.//' | sort -u)" \
    'the links were there, and nothing else is left'

# --- what a daemon keeps ---
server() { # ARGUMENTS...
    timeout 60 "$VFL_BIN/vfl-server" -c base/server/config.yaml --insecure-seed 5 --set training.seed=5 \
        --set protocol.patience_ms=1000 --set state=state-server "$@"
}
party() { # ARGUMENTS...
    timeout 60 "$VFL_BIN/vfl-party" -c base/party-1/config.yaml --insecure-seed 5 --set server=127.0.0.1:1 \
        --set state=state-party "$@"
}
lay() { # WHAT WHERE
    rm -rf "$2"
    case $1 in
    link) ln -s ../precious "$2" ;;
    pipe) mkfifo "$2" ;;
    folder) mkdir "$2" ;;
    esac
}
openssl rand -hex 32 >state.key
chmod 600 state.key
for file in lock ledger.db checkpoint.sealed; do
    for what in link pipe folder; do
        rm -rf state-party
        mkdir -m 700 state-party
        printf 'as it was' >precious
        lay $what "state-party/$file"
        party --ledger >trap.log 2>&1
        code=$?
        [ "$file" = ledger.db ] || { # the others are looked at by a run, which finds no server else
            timeout 5 "$VFL_BIN/vfl-party" -c base/party-1/config.yaml --set server=127.0.0.1:1 \
                --set state=state-party --set state_key=state.key >trap.log 2>&1
            code=$?
        }
        case $code in 2 | 6) code=refused ;; esac
        same 'refused, as it was' "$code, $(cat precious)" "a party's $file is a $what"
    done
done
# Shares of everybody's data, of a run that this one does not go on with, take no room any more.
rm -rf state-party
mkdir -m 700 state-party
head -c 100000 /dev/zero >state-party/shares
chmod 600 state-party/shares
timeout 5 "$VFL_BIN/vfl-party" -c base/party-1/config.yaml --set server=127.0.0.1:1 --set state=state-party \
    --set state_key=state.key >trap.log 2>&1
same 'lock, no shares' "$(cd state-party && ls -d lock), $([ -e state-party/shares ] || echo no shares)" \
    'what is left of shares goes with the next run'
for file in lock checkpoint.sealed journal-1.sealed generation; do
    for what in link pipe folder; do
        rm -rf state-server
        mkdir -m 700 state-server
        printf 'as it was' >precious
        lay $what "state-server/$file"
        timeout 20 "$VFL_BIN/vfl-server" -c base/server/config.yaml --set state=state-server \
            --set state_key=state.key --set protocol.patience_ms=1000 >trap.log 2>&1
        code=$?
        case $code in 2 | 4 | 6) code=ends ;; esac
        same 'ends, as it was' "$code, $(cat precious)" "a server's $file is a $what"
    done
done

rm -rf state-server
mkdir -m 700 state-server
printf 'colonnade generation 1' >state-server/generation
expect 2 'state-server/generation: damaged' 'a damaged count of generations is refused' server

# What is written while a run goes on: figures, summary, model, address. Nothing reaches what a link leads to.
whole_run() { # WHAT FILE: a run with WHAT in the place of the server's FILE
    rm -rf state-server state-[123]
    mkdir -m 700 state-server
    printf 'as it was' >precious
    lay "$1" "state-server/$2"
    [ "$2" = address ] && rm -rf state-server/address
    timeout 300 "$VFL_BIN/vfl-server" -c base/server/config.yaml --insecure-seed 5 --set training.seed=5 \
        --set protocol.patience_ms=20000 --set state=state-server >server.log 2>&1 &
    daemons=$!
    timeout 60 sh -c "until [ -s state-server/address ] || ! kill -0 $daemons; do :; done" 2>/dev/null
    port=$(sed 's/.*://' state-server/address)
    for i in 1 2 3; do
        timeout 60 "$VFL_BIN/vfl-party" -c "base/party-$i/config.yaml" --insecure-seed 5 \
            --set "server=127.0.0.1:$port" --set "state=state-$i" >party-$i.log 2>&1 &
    done
    wait "$daemons"
    code=$?
    wait
}
for file in metrics.jsonl summary.json head.safetensors; do
    for what in link pipe; do
        whole_run $what $file
        # Another file has taken the name, or the line is not written and the log says so.
        same '0, as it was' "$code, $(cat precious)" "$file of a run is a $what"
        [ $file != metrics.jsonl ] ||
            expect 0 'metrics.jsonl: .*\(a link\|not a regular file\)' 'and the log says so' cat server.log
    done
done
whole_run link none
expect 0 '' 'a run without traps' test "$code" = 0
printf 'as it was' >precious
ln -s precious transcript
expect 6 'transcript: a link' 'a transcript that is a link' server --transcript transcript
rm -rf state-server
expect 6 'pipe: a pipe' 'or a pipe' server --transcript pipe
same 'as it was' "$(cat precious)" 'and nothing is written through it'

# --- whose folder it is ---
rm -rf state-party
mkdir -m 770 state-party
expect 2 'state-party: writable by others' 'a state folder that others may write to' party
chmod 700 state-party
if [ "$(id -u)" = 0 ]; then
    chown 65534 state-party
    ln -s ../precious state-party/ledger.db
    for how in '' -n --ledger; do
        # shellcheck disable=SC2086 # no argument where there is none
        expect 2 'belongs to user 65534' "root in another user's folder $how" party $how
    done
    mkdir -m 700 mine
    chown 65534 mine
    expect 2 'belongs to user 65534' 'or below one' party --set state=mine/state
    mkdir theirs theirs/server
    ln -s ../../precious theirs/server/log.txt
    chown -h 65534 theirs theirs/server
    expect 2 'belongs to user 65534' 'nor does a cluster begin in one' "$vfl" cluster --out theirs --parties 2
    rm -rf state-server
    mkdir -m 700 state-server
    chown 65534 state-server
    expect 2 'belongs to user 65534' 'a server likewise' server
fi
same 'as it was' "$(cat precious)" 'nothing was written there'

closing
