#!/bin/sh
# test_hardening.sh -- what a daemon keeps from others on its own host: key files, memory, cores; and that it can
# live in the sandbox of its systemd unit.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2317 # functions are called by expect
. "$(dirname "$0")/../lib/e2e.sh"

daemons=
trap 'kill $daemons 2>/dev/null; rm -rf "$dir"' EXIT

skipped() { # WHAT WHY
    printf 'skip  %s: %s\n' "$1" "$2"
}

expect 0 completed 'a federation to harden' \
    timeout 600 "$vfl" cluster --out base --parties 2 --set training.epochs=1 --party '*:policy.min_parties=2'
(umask 077 && openssl rand -hex 32 >state.key)

# --- key files: of the owner alone, or exit 2 and one line ---
lone() { # KEY-FILE DAEMON ARGUMENTS...: the daemon's answer, and how many lines it has
    lone_key=$1
    shift
    timeout 600 "$@" >lone.said 2>&1
    lone_code=$?
    cat lone.said
    # Where there is no locked memory or no calm build, warnings come before the error.
    echo "exit $lone_code, $(grep -c ' error: ' lone.said) line, names it: $(grep -c "$lone_key" lone.said)"
}
server() {
    lone "$1" "$VFL_BIN/vfl-server" -c base/server/config.yaml --set state=state-server --set state_key=state.key
}
party() {
    lone "$1" "$VFL_BIN/vfl-party" -c base/party-1/config.yaml --set state=state-party --set server=127.0.0.1:1 \
        --set state_key=state.key
}
# A check without a run refuses what the run refuses, with the same words.
check_server() {
    lone "$1" "$VFL_BIN/vfl-server" -n -c base/server/config.yaml --set state_key=state.key
}
check_party() {
    lone "$1" "$VFL_BIN/vfl-party" -n -c base/party-1/config.yaml --set state_key=state.key
}
expect 0 'exit 0, 0 line' 'a check of the server with good keys' check_server nothing
expect 0 'exit 0, 0 line' 'a check of a party with good keys' check_party nothing
for mode in 640 620 610 604 602 601 660 606 644 666 440; do
    for case in "server base/server/server.key" "party base/party-1/party.key" "server state.key" "party state.key"; do
        key=${case#* }
        chmod $mode "$key"
        expect 0 'exit 2, 1 line, names it: 1' "$case with mode $mode is refused" "${case% *}" "$key"
        expect 0 'exit 2, 1 line, names it: 1' "$case with mode $mode: by a check, too" "check_${case% *}" "$key"
        chmod 600 "$key"
    done
done
# One that nobody ever writes to.
for case in "server base/server/server.key" "party base/party-1/party.key" "server state.key" "party state.key"; do
    key=${case#* }
    mv "$key" kept.key
    mkfifo -m 600 "$key"
    expect 0 'exit 2, 1 line, names it: 1' "$case that is a pipe is refused" "${case% *}" "$key"
    expect 0 'exit 2, 1 line, names it: 1' "$case that is a pipe: by a check, too" "check_${case% *}" "$key"
    mv kept.key "$key"
done
if [ "$(id -u)" = 0 ]; then
    for case in "server base/server/server.key" "party base/party-1/party.key" "server state.key" "party state.key"; do
        key=${case#* }
        chown 4321 "$key"
        expect 0 'exit 2, 1 line, names it: 1' "$case of another user is refused" "${case% *}" "$key"
        chown 0 "$key"
    done
else
    skipped 'a key of another user' 'only root can make one'
fi

# --- the process: as an ordinary user, since nothing is closed to root ---
user=$(id -u) as=
if [ "$user" = 0 ]; then
    user=54321
    as="setpriv --reuid=$user --regid=$user --clear-groups --bounding-set=-all"
    chmod 755 "$dir"
    chown -R $user base state.key
    mkdir state-kept cores && chown $user state-kept cores
fi
mkdir -p state-kept cores

# Sets pid once it listens; its core limit is whatever it can get, its folder takes a core.
start() { # LOCKED-KB
    rm -f state-kept/address
    (
        cd cores && ulimit -c "$(ulimit -H -c)" && ulimit -l "$1" && exec $as "$VFL_BIN/vfl-server" \
            -c ../base/server/config.yaml --set state=../state-kept --set protocol.patience_ms=600000
    ) >server.log 2>&1 &
    pid=$!
    daemons="$daemons $pid"
    wait_until test -s state-kept/address
}
of_proc() { # FILE WORDS: the line of /proc that begins with these words, blanks squeezed
    sed -n "s/^$2[[:blank:]]*//p" "/proc/$pid/$1" | tr -s ' \t' ' '
}
asan=$(nm "$VFL_BIN/vfl-server" 2>/dev/null | grep -c -m 1 __asan_init)

start 2048
same '0 0 bytes ' "$(of_proc limits 'Max core file size')" 'a daemon has no core, now or later'
if [ "$asan" = 0 ]; then
    same "$user 0" "$(of_proc status Uid: | cut -d' ' -f1) $(stat -c %u "/proc/$pid/environ")" \
        'a daemon of an ordinary user belongs to root in /proc: it cannot be dumped or traced'
    tail -f /dev/null &
    calm=$!
    daemons="$daemons $calm"
    expect 1 '' 'its own user cannot look into it' $as cat "/proc/$pid/maps"
    expect 1 '' 'nor at its memory' $as head -c 1 "/proc/$pid/mem"
    expect 0 '' 'as it can into other processes' cat "/proc/$calm/maps"
else
    skipped 'a daemon that cannot be traced' 'the leak checker of this build traces it'
fi
same '1024 kB' "$(of_proc status VmLck:)" 'its keys are locked into memory'
same 0 "$(grep -c 'swapped to disk' server.log)" 'without a word'
same 1 "$(grep -c '^VmFlags:.* wf.* dd' "/proc/$pid/smaps")" 'in one place that no core and no child gets'
kill -ABRT "$pid"
wait "$pid" 2>/dev/null
same '' "$(ls cores)" 'a daemon that is killed by SIGABRT leaves nothing'
case $(cat /proc/sys/kernel/core_pattern) in
*[/|]*) skipped 'a program that leaves a core' 'this machine puts cores elsewhere' ;;
*)
    # shellcheck disable=SC2016 # its own pid
    (cd cores && ulimit -c "$(ulimit -H -c)" && $as sh -c 'kill -ABRT $$') 2>/dev/null
    expect 0 'core' 'as another program does' ls cores
    ;;
esac
rm -rf state-kept/*
start 64
same '0 kB' "$(of_proc status VmLck:)" 'where the limit on locked memory is too small, nothing is locked'
same 1 "$(grep -c 'warn.*keys may be swapped to disk.*1024 KiB.*LimitMEMLOCK' server.log)" 'and one line says so'
kill "$pid"
wait "$pid"
same 0 "$?" 'but it works'
[ "$(id -u)" != 0 ] || chown -R 0 base state.key

# --- the units: judged, and lived in ---
mkdir units sandboxed
for name in server party; do
    sed "s|/usr/local/bin|$VFL_BIN|" "$root/deploy/systemd/vfl-$name.service" >units/vfl-$name.service
    if command -v systemd-analyze >/dev/null; then
        expect 0 '' "vfl-$name.service is exposed at most 1.5 of 10" \
            systemd-analyze security --offline=true --threshold=15 "$root/deploy/systemd/vfl-$name.service"
        expect 0 '' "vfl-$name.service is understood" systemd-analyze verify --man=no units/vfl-$name.service
        sed 's/^PrivateUsers=.*//; s/^SystemCallFilter=.*//; s/^CapabilityBoundingSet=.*//' \
            "units/vfl-$name.service" >units/weak.service
        expect 1 'Overall exposure' 'a weaker one is not good enough' \
            systemd-analyze security --offline=true --threshold=15 units/weak.service
        : >said
    else
        skipped "vfl-$name.service is exposed at most 1.5 of 10" 'no systemd-analyze'
    fi
    cat >sandboxed/vfl-$name <<END
#!/bin/sh
export ASAN_OPTIONS=\$ASAN_OPTIONS:detect_leaks=0
exec $([ "$(id -u)" != 0 ] || echo setpriv --bounding-set=-all) "$root/tests/lib/sandbox.py" \
    "$root/deploy/systemd/vfl-$name.service" "$VFL_BIN/vfl-$name" "\$@"
END
    chmod 755 sandboxed/vfl-$name
done
for tool in "$VFL_BIN"/*; do
    [ -e "sandboxed/${tool##*/}" ] || ln -s "$tool" sandboxed
done
for name in party server; do
    unit=$root/deploy/systemd/vfl-$name.service
    same 'Restart=on-failure' "$(grep '^Restart=\|^RestartPrevent\|^StartLimit' "$unit")" \
        "$name: whatever code others bring about, its unit starts it again"
done
"$root/tests/lib/sandbox.py" "$root/deploy/systemd/vfl-party.service" /bin/true
case $? in
0)
    expect 1 'not permitted' 'the sandbox keeps a process from what the unit does not allow' \
        "$root/tests/lib/sandbox.py" "$root/deploy/systemd/vfl-party.service" "$(command -v unshare)" --user true
    expect 0 completed 'a whole run in the sandbox of the units' env VFL_BIN="$dir/sandboxed" \
        timeout 600 "$vfl" cluster --out confined --parties 3 --set training.epochs=2 \
        --set protocol.aggregation=fedvs --party '*:model.polynomial.degree=1'
    same 0 "$(grep -l 'swapped to disk' confined/*/log.txt | wc -l)" 'with its keys locked'
    ;;
77) skipped 'a whole run in the sandbox of the units' 'no libseccomp or no systemd-analyze' ;;
*) not_ok 'the sandbox' ;;
esac
closing
