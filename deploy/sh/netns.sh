# shellcheck shell=sh
# netns.sh -- the network of `vfl cluster --netns`: a namespace with a real address for each daemon, shaped links.
#
# A star.  Each namespace has one cable (veth, eth0 at its end) to a bridge, which is in a namespace too: the
# machine's own network is neither used nor changed, and clusters beside each other have the same addresses.
# Rates (tbf) and delays (netem) are at both ends of a cable, so both ways; losses (nft) are on the bridge, because
# a sender is told of what it loses itself.  Names carry the script's pid, by which a later start knows what is
# nobody's any more.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2154 # a && b || c is meant; variables are shared with ../vfl and cluster.sh

netns_mine=vfl-$$
netns_folder=/var/run/netns # where ip keeps names
netns_made=no

# --- what is asked for: lines 'link WHO KEY VALUE' in $sets, WHO a number, server, or * for all parties ---

# VALUE in bit/s, microseconds or millionths; fails when it is none.
netns_value() { # KEY VALUE
    awk -v key="$1" -v text="$2" 'BEGIN {
        scale["rate bit"] = 1; scale["rate kbit"] = 1e3; scale["rate mbit"] = 1e6; scale["rate gbit"] = 1e9
        scale["delay us"] = scale["jitter us"] = 1
        scale["delay ms"] = scale["jitter ms"] = 1e3
        scale["delay s"] = scale["jitter s"] = 1e6
        scale["loss %"] = 1e4
        least["rate"] = 8e3; most["rate"] = 1e11; most["delay"] = most["jitter"] = 6e7; most["loss"] = 1e6
        if (!match(text, /^[0-9]+(\.[0-9]+)?/))
            exit 1
        unit = key " " substr(text, RLENGTH + 1)
        number = substr(text, 1, RLENGTH) * scale[unit]
        if (!scale[unit] || number < least[key] || number > most[key] || (number > 0 && number < 1))
            exit 1
        printf "%.0f\n", number
    }'
}

netns_link() { # [WHO:]KEY=VALUE,...
    netns_who='*'
    case $1 in *:*) netns_who=${1%%:*} ;; esac
    case $netns_who in
    '*' | server) ;;
    '' | 0* | *[!0-9]*) fail 2 "--link $1: [I:|server:]key=value,... expected" ;;
    esac
    printf '%s\n' "${1#*:}" | tr ',' '\n' | while IFS='=' read -r netns_key netns_text; do
        case $netns_key in
        rate) netns_want='8kbit to 100gbit (bit, kbit, mbit, gbit)' ;;
        delay | jitter) netns_want='0ms to 60s (us, ms, s)' ;;
        loss) netns_want='0% to 100%, steps of 0.0001%' ;;
        *) fail 2 "--link $1: '$netns_key' is none of rate, delay, jitter, loss" ;;
        esac
        netns_value "$netns_key" "$netns_text" >/dev/null ||
            fail 2 "--link $1: '$netns_text' is no $netns_key: $netns_want expected"
        printf 'link %s %s %s\n' "$netns_who" "$netns_key" "$netns_text" >>"$sets"
    done || exit $?
}

# What counts for this end: its own, the last one given, else that of all parties, else 0.
netns_of() { # server|I KEY
    netns_text=$(awk -v who="$1" -v key="$2" '
        $1 != "link" || $3 != key { next }
        $2 == who { own = $4 }
        $2 == "*" && who != "server" { all = $4 }
        END { print own != "" ? own : all }' "$sets")
    [ -n "$netns_text" ] || netns_text=0
    [ "$netns_text" = 0 ] && echo 0 || netns_value "$2" "$netns_text"
}

netns_asked() { # KEY
    awk -v key="$1" '$1 == "link" && $3 == key && $4 ~ /[1-9]/ { yes = 1 } END { exit !yes }' "$sets"
}

# --- what there is: each thing missing is one line, before anything has been made ---

netns_need() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || fail 2 "--netns: $1 is not installed (package $2)"
}

# COMMAND beside a cable from a to b, in a namespace that nobody else sees; its first words in netns_words.
netns_try() { # COMMAND
    netns_words=$(unshare --net sh -euc "ip link add name a type veth peer name b; $1" 2>&1) && return
    netns_words=$(printf '%s\n' "$netns_words" | head -n 1)
    return 1
}

netns_loss_rule() { # iifname|oifname DEVICE MILLIONTHS
    netns_share="numgen random mod 1000000 < $3"
    [ "$3" -lt 1000000 ] || netns_share='' # all of them
    # Addresses are asked for without loss: on a long link that would be the business of a router next door.
    printf '%s "%s" ether type ip %s counter drop\n' "$1" "$2" "$netns_share"
}

netns_table() { # RULES
    printf 'table bridge vfl {\nchain loss {\ntype filter hook forward priority 0; policy accept;\n%s\n}\n}\n' "$1"
}

netns_check() {
    netns_need unshare util-linux
    netns_need nsenter util-linux
    netns_words=$(unshare --net true 2>&1) ||
        fail 2 "--netns needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN) to make network namespaces: $netns_words"
    netns_need ip iproute2
    netns_try 'ip link add name c type bridge' ||
        fail 2 "--netns: this kernel has no veth or no bridge (modules veth, bridge): $netns_words"
    if netns_asked rate; then
        netns_need tc iproute2
        netns_try 'tc qdisc add dev a root tbf rate 1mbit burst 3000 limit 30000' ||
            fail 2 "--link rate: this kernel has no tbf (module sch_tbf); inject.link.rate_mbit" \
                "limits in the daemons: $netns_words"
    fi
    if netns_asked delay; then
        netns_need tc iproute2
        netns_try 'tc qdisc add dev a root netem delay 1ms' ||
            fail 2 "--link delay: this kernel has no netem (module sch_netem); inject.link.delay_ms" \
                "delays in the daemons: $netns_words"
    fi
    if netns_asked loss; then
        netns_need nft nftables
        netns_try "nft '$(netns_table "$(netns_loss_rule iifname a 1)")'" ||
            fail 2 "--link loss: this kernel has no nft rules on bridges (modules nf_tables, nft_numgen): $netns_words"
    fi
    sed -n 's/^link \([^ ]*\) .*/\1/p' "$sets" | sort -u | while read -r netns_who; do
        [ "$(netns_of "$netns_who" jitter)" -le "$(netns_of "$netns_who" delay)" ] ||
            fail 2 "--link $netns_who: the jitter is more than the delay"
    done || exit $?
}

# --- the network ---

netns_address() { # server|I
    [ "$1" != server ] || { echo 10.77.0.1 && return; }
    echo "10.77.$((1 + $1 / 256)).$(($1 % 256))"
}

# All addresses, for insecure_peers.
netns_peers=10.77.

netns_name() { # server|I
    [ "$1" = server ] && echo "server" || echo "p$1"
}

# Words before a command that runs it there.
netns_enter() { # server|I
    echo "nsenter --net=$netns_folder/$netns_mine-$(netns_name "$1") --"
}

# The namespaces whose names begin with vfl-PID-, PID a cluster that is no more, or once had our number.
netns_sweep() {
    ip netns list | sed -n 's/^\(vfl-\([0-9]*\)-[a-z0-9]*\).*/\1 \2/p' | while read -r netns_left netns_pid; do
        [ "$netns_pid" != $$ ] && tr '\0' ' ' 2>/dev/null <"/proc/$netns_pid/cmdline" |
            grep -q 'cluster .*--netns' || ip netns delete "$netns_left" 2>/dev/null
    done
}

netns_do() { # COMMAND...
    netns_words=$("$@" 2>&1) && return
    [ "$stopped" = no ] || exit 130 # Ctrl-C ended the command too
    fail 6 "--netns: $(printf '%s\n' "$*" | head -n 1): $(printf '%s\n' "$netns_words" | head -n 1)"
}

netns_shape() { # NAMESPACE DEVICE: what leaves it there, by netns_rate and so on
    netns_parent=root
    if [ "$netns_delay" -gt 0 ]; then
        netns_do tc -n "$1" qdisc add dev "$2" root handle 1: netem limit 100000 \
            delay "${netns_delay}us" "${netns_jitter}us"
        netns_parent='parent 1:1'
    fi
    [ "$netns_rate" -gt 0 ] || return 0
    # Two milliseconds at once, at least two frames; what waits is at most 200 ms, or 100 frames.
    netns_burst=$((netns_rate / 4000)) netns_queue=$((netns_rate / 40))
    # shellcheck disable=SC2086 # words
    netns_do tc -n "$1" qdisc add dev "$2" $netns_parent handle 2: tbf rate "${netns_rate}bit" \
        burst $((netns_burst > 3028 ? netns_burst : 3028)) limit $((netns_queue > 151400 ? netns_queue : 151400))
}

netns_host() { # server|I
    netns_here=$netns_mine-$(netns_name "$1") netns_plug=to-$(netns_name "$1")
    netns_rate=$(netns_of "$1" rate) netns_delay=$(netns_of "$1" delay)
    netns_jitter=$(netns_of "$1" jitter) netns_ppm=$(netns_of "$1" loss)
    [ "$stopped" = no ] || exit 130 # and what was read may be nothing
    netns_do ip netns add "$netns_here"
    netns_do ip -n "$netns_here" link set lo up
    netns_do ip -n "$netns_mine-switch" link add "$netns_plug" type veth peer name eth0 netns "$netns_here"
    netns_do ip -n "$netns_mine-switch" link set "$netns_plug" master bridge up
    netns_do ip -n "$netns_here" address add "$(netns_address "$1")/16" dev eth0
    # Where packets count, they have the size they have on a wire.
    ! grep -q '^link ' "$sets" || netns_do ip -n "$netns_here" link set eth0 gso_max_segs 1
    netns_do ip -n "$netns_here" link set eth0 up
    netns_shape "$netns_here" eth0
    netns_shape "$netns_mine-switch" "$netns_plug"
    [ "$netns_ppm" = 0 ] || netns_rules="$netns_rules$(netns_loss_rule iifname "$netns_plug" "$netns_ppm"
    netns_loss_rule oifname "$netns_plug" "$netns_ppm")
"
}

# Returns, or exits by fail; netns_down is then the caller's, as it is after signals.
netns_up() {
    trap cluster_interrupted PIPE QUIT # they would end the script before it can tidy up
    netns_sweep
    netns_made=yes netns_rules=
    netns_do ip netns add "$netns_mine-switch"
    netns_do ip -n "$netns_mine-switch" link add bridge type bridge
    netns_do ip -n "$netns_mine-switch" link set bridge up
    for netns_i in server $(seq "$m"); do
        netns_host "$netns_i"
    done
    [ -z "$netns_rules" ] || netns_do nsenter --net="$netns_folder/$netns_mine-switch" -- nft \
        "$(netns_table "$netns_rules")"
    netns_made=whole
    say "network   namespaces $netns_mine-server, $netns_mine-p1 ... p$m; counters in $out/links.txt"
}

# What each cable has carried, held back and lost.
netns_report() {
    for netns_i in server $(seq "$m"); do
        netns_here=$netns_mine-$(netns_name "$netns_i") netns_plug=to-$(netns_name "$netns_i")
        echo "== $netns_here $(netns_address "$netns_i")"
        ip -n "$netns_here" -s link show dev eth0
        [ "$(netns_of "$netns_i" rate)$(netns_of "$netns_i" delay)" != 00 ] || continue
        echo "-- sends"
        tc -n "$netns_here" -s qdisc show dev eth0
        echo "-- receives"
        tc -n "$netns_mine-switch" -s qdisc show dev "$netns_plug"
    done
    [ -n "$netns_rules" ] || return 0
    echo "== losses"
    nsenter --net="$netns_folder/$netns_mine-switch" -- nft list table bridge vfl
}

# Everything away, whoever asks and however far it had come.  A second signal does not come between.
netns_down() {
    [ "$netns_made" != no ] || return 0
    trap '' INT TERM HUP PIPE QUIT
    [ "$netns_made" != whole ] || netns_report >"$out/links.txt" 2>&1
    for netns_left in $(ip netns list | sed -n "s/^\\($netns_mine-[a-z0-9]*\\).*/\\1/p"); do
        ip netns delete "$netns_left" || printf 'vfl cluster: %s is left\n' "$netns_left" >&2
    done
    netns_made=no
    trap - INT TERM HUP PIPE QUIT
}
