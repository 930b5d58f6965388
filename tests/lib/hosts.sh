# shellcheck shell=sh
# hosts.sh -- hosts for a test: each has a network and processes of its own, one user, and a home only it can read.
#
# A host lives as long as somebody writes to the pipe `life`, which is the test alone: however the test ends, the
# first process of each host ends too, the kernel then ends the others, and the network is gone with them.
# Nothing of it is visible outside: the bridge between the hosts is in a network namespace too.
# Users are numbers that nobody has; the machine's list of users is not touched.  Needs root; after e2e.sh.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # root, dir are of e2e.sh

hosts_path=/usr/sbin:/usr/bin:/sbin:/bin

# Everything off, and gone when this returns.
hosts_end() {
    exec 9>&-
    # shellcheck disable=SC2046 # words
    wait $(cat "$dir"/*.pid 2>/dev/null) 2>/dev/null
}

# Words on why there can be no hosts here; none when there can.
hosts_impossible() {
    for hosts_tool in ip ss unshare nsenter setpriv python3; do
        command -v $hosts_tool >/dev/null || { echo "$hosts_tool is not installed" && return; }
    done
    [ "$(id -u)" = 0 ] || { echo 'not root' && return; }
    [ -d /proc/$$/ns ] || { echo '/proc is not mounted' && return; }
    unshare --net --pid --fork ip link set lo up 2>&1 || echo 'no namespaces'
}

# A number that no user and no group has, and no host has got.
hosts_user() {
    hosts_uid=52000
    while getent passwd $hosts_uid || getent group $hosts_uid || grep -qsx $hosts_uid "$dir"/*.uid; do
        hosts_uid=$((hosts_uid + 1))
    done >/dev/null
    echo $hosts_uid
}

host_new() { # NAME
    [ -e "$dir/life" ] || mkfifo "$dir/life"
    exec 9<>"$dir/life"
    host_uid=$(hosts_user)
    echo "$host_uid" >"$dir/$1.uid"
    mkdir -p "$dir/home"
    install -d -m 700 -o "$host_uid" -g "$host_uid" "$dir/home/$1"
    unshare --net --pid --fork python3 "$root/tests/lib/host.py" <"$dir/life" >"$dir/$1.ends" 9>&- &
    echo $! >"$dir/$1.pid"
    wait_until [ -s "$dir/$1.ends" ] && root_on "$1" ip link set lo up
}

# The namespaces of a host are known by the process outside that made them.
root_on() { # NAME COMMAND...: as root, in the network of this host
    host_net=/proc/$(cat "$dir/$1.pid")/ns/net
    shift
    nsenter --net="$host_net" -- "$@" 9>&-
}

# host NAME COMMAND...: as the user of this host, at home, for half an hour at most.  /proc knows its processes by
# other numbers than they do themselves, so that LeakSanitizer cannot look; other scripts run the same programs.
host() {
    host_name=$1 host_uid=$(cat "$dir/$1.uid") host_ns=/proc/$(cat "$dir/$1.pid")/ns
    shift
    timeout -k 5 1800 nsenter --net="$host_ns/net" --pid="$host_ns/pid_for_children" -- \
        setpriv --reuid="$host_uid" --regid="$host_uid" --clear-groups --no-new-privs \
        env -i -C "$dir/home/$host_name" HOME="$dir/home/$host_name" PATH="$hosts_path" \
        ASAN_OPTIONS=detect_leaks=0 "$@" 9>&-
}

# A switch, and a cable from it to each of: NAME=ADDRESS...
hosts_connect() {
    host_new switch || return
    root_on switch ip link add name bridge type bridge || return
    root_on switch ip link set bridge up || return
    for hosts_end_of in "$@"; do
        hosts_name=${hosts_end_of%%=*}
        root_on switch ip link add "to-$hosts_name" type veth \
            peer name eth0 netns "$(cat "$dir/$hosts_name.pid")" || return
        root_on switch ip link set "to-$hosts_name" master bridge up || return
        root_on "$hosts_name" ip address add "${hosts_end_of#*=}/24" dev eth0 || return
        root_on "$hosts_name" ip link set eth0 up || return
    done
}

# host_copy HOST:FILES HOST:PLACE: read by the one user, written by the other.  What travelled is in parcels/.
host_copy() {
    host "${1%%:*}" sh -c "ls -d ${1#*:}" >"$dir/list" || return
    mkdir -p "$dir/parcels"
    while read -r copy_file; do
        copy_to=${2#*:}
        case $copy_to in */) copy_to=$copy_to${copy_file##*/} ;; esac
        copy_parcel="$dir/parcels/${1%%:*}-to-${2%%:*}-${copy_file##*/}"
        host "${1%%:*}" cat "$copy_file" </dev/null >"$copy_parcel" || return
        host "${2%%:*}" sh -c "cat >$copy_to" <"$copy_parcel" || return
    done <"$dir/list"
}

# The exit code of a process of a host that its shell left behind, once it has ended.
host_code() { # NAME PID
    wait_until grep "^$2 " "$dir/$1.ends"
    sed -n "s/^$2 //p" "$dir/$1.ends"
}
