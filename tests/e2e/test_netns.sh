#!/bin/sh
# test_netns.sh -- `vfl cluster --netns`: real addresses, shaped links, the same model, and nothing left behind.
#
# What stands before "as root" needs no namespaces; the rest is run where there can be some.  Other clusters may
# run on this machine meanwhile: looked at are those of this test, by the pid in their names.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
# shellcheck disable=SC2086,SC2154,SC2317 # words are meant; root, dir, vfl are of e2e.sh; expect calls functions
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=../lib/hosts.sh
. "$root/tests/lib/hosts.sh"

small='--seed 7 --parties 3 --set training.epochs=2 --party *:model.layers=[8]'
endless='--quiet --parties 3 --set training.epochs=100000 --set training.evaluate_every=20'
set -f # the * is meant for vfl

cluster() { # ARGUMENTS...
    timeout 600 "$vfl" cluster "$@"
}

# The lines of a summary that say what the models are.
models() { # DIR
    sed -n '/"model_sha256"/,/\]/p' "$1/summary.json"
}

# The pid in the names of the namespaces that a run had.
pid_of() { # DIR
    sed -n 's/^== vfl-\([0-9]*\)-server .*/\1/p' "$1/links.txt"
}

# What server and party 2 were told, without addresses and the digest of that roster.
settings() { # DIR
    sed '/^listen:/d; /^server:/d; /^insecure_peers:/d; /roster_sha256:/d' \
        "$1/server/config.yaml" "$1/party-2/config.yaml"
}

namespaces() { # PID
    ip netns list | sed -n "s/^vfl-$1-\([^ ]*\).*/\1/p" | sort | paste -sd' '
}

machine() {
    ip -o link | sed 's/qlen.*//'
    ip -o address
    ip route
    nft list ruleset
}

# --- without any right to make namespaces ---
expect 2 'needs --netns' 'a link needs a namespace' cluster --link rate=1mbit
expect 2 "'speed' is none of" 'an unknown property of a link' cluster --netns --link speed=1mbit
expect 2 "'' is none of" 'none at all' cluster --netns --link ''
expect 2 "'' is none of" 'a comma too many' cluster --netns --link rate=1mbit,
expect 2 'expected' 'a link of nobody' cluster --netns --link bank:rate=1mbit
expect 2 'expected' 'a party 0' cluster --netns --link 0:rate=1mbit
for wrong in rate=1 rate=1mb rate=7kbit rate=200gbit rate=-1mbit delay=20 delay=61s jitter=1min loss=1 loss=101% \
    loss=0.00001% loss=% loss; do
    expect 2 "is no ${wrong%%=*}" "$wrong" cluster --netns --link "$wrong"
done
# Root without the two capabilities is nobody here; nobody is that anyhow.
unable=
[ "$(id -u)" != 0 ] || unable='setpriv --bounding-set=-sys_admin,-net_admin --inh-caps=-all --'
expect 2 'needs root' 'without the right to make namespaces it says so' $unable "$vfl" cluster --netns
same 1 "$(wc -l <said)" 'in one line'
no_hosts=$(hosts_impossible)
if [ -n "$no_hosts" ]; then
    same '' "$(find . -name runs)" 'and none of them left a folder'
    printf 'no cluster was run in namespaces: %s\n' "$no_hosts"
    closing
fi

# --- as root: tools and parts of the kernel that are missing; each is one line ---
mkdir tools
set +f
ln -s /usr/bin/* /usr/sbin/* tools 2>/dev/null
set -f
without() { # PROGRAM ARGUMENTS...
    rm "tools/$1"
    without_missing=$1
    shift
    PATH=$dir/tools cluster --netns "$@" 2>without
    without_code=$?
    ln -s "$(command -v "$without_missing")" "tools/$without_missing"
    cat without
    [ "$(wc -l <without)" = 1 ] && return $without_code
}
expect 2 'package iproute2' 'without ip' without ip
expect 2 'package iproute2' 'without tc' without tc --link rate=1mbit
expect 2 'package nftables' 'without nft' without nft --link loss=1%
expect 2 'jitter is more' 'a jitter around no delay' cluster --netns --link 2:jitter=1ms
has() { # COMMAND...: beside a cable named a
    unshare --net sh -c 'ip link add name a type veth peer name b; exec "$@"' has "$@" >/dev/null 2>&1
}
if has tc qdisc add dev a root netem delay 1ms; then
    expect 0 completed 'a delay, by netem' cluster $small --netns --link rate=50mbit,delay=2ms,jitter=1ms --out late
    same 6 "$(grep -c '^qdisc netem .*delay 2ms  *1ms' late/links.txt)" 'both ways for each party'
    same 6 "$(grep -c '^qdisc tbf .*parent 1:1 rate 50Mbit' late/links.txt)" 'with the rate behind it'
else
    expect 2 'module sch_netem.*inject.link.delay_ms' 'no netem: a delay is refused, not forgotten' \
        cluster --netns --link delay=20ms,jitter=2ms
    same 1 "$(wc -l <said)" 'in one line'
fi
same '' "$(find . -name runs)" 'and none of them left a folder'
if has tc qdisc add dev a root tbf rate 1mbit burst 3000 limit 30000; then
    rate=rate=1mbit
else
    rate= && echo 'no tbf: no rate is tried'
    expect 2 'module sch_tbf.*inject.link.rate_mbit' 'and the lack is told' cluster --netns --link rate=1mbit
fi
if has nft 'table bridge t { chain c { type filter hook forward priority 0; numgen random mod 9 < 1 drop; }; }'; then
    loss=loss=12%
else
    loss= && echo 'no nft on bridges: no loss is tried'
    expect 2 'nft_numgen' 'and the lack is told' cluster --netns --link loss=1%
fi

# --- the same model as on loopback ---
before=$(machine)
expect 0 completed 'on loopback' cluster $small --out loopback
expect 0 'network   namespaces' 'in namespaces' cluster $small --netns --out plain
differ '' "$(models loopback)" 'the models of the one'
same "$(models loopback)" "$(models plain)" 'are those of the other'
same '' "$(namespaces "$(pid_of plain)")" 'and no namespace is left'
same 'server 10.77.0.1 p1 10.77.1.1 p2 10.77.1.2 p3 10.77.1.3' \
    "$(sed -n 's/^== vfl-[0-9]*-\([^ ]* .*\)/\1/p' plain/links.txt | paste -sd' ')" 'each had an address'
same '' "$(grep 'qdisc tbf\|numgen' plain/links.txt)" 'and a link that nothing was done to'
same '10.77.0.1:7400' "$(cat plain/server/address)" 'the server was there'
expect 0 '10.77.0.1:7400' 'where the parties went' grep 'connected to' plain/party-3/log.txt
same '' "$(ls -d loopback/links.txt 2>/dev/null)" 'on loopback there are no links'
same "$(settings loopback)" "$(settings plain)" 'the configurations differ in addresses and digests only'
expect 0 'complete already' 'the same again is known' cluster $small --netns --out plain
expect 2 'asked: link [*] loss 1%' 'with another link it is another run' \
    cluster $small --netns --link loss=1% --out plain
expect 2 'there: netns yes' 'and without namespaces' cluster $small --out plain
expect 2 '--link 4: there are 3 parties' 'a link of a party that is none' \
    cluster $small --netns --link 4:loss=0% --out four
expect 0 completed 'a party of strict policy, in namespaces' cluster --netns --strict-policy --parties 3 \
    --set training.epochs=1 --out strict

# --- shaped links: the kernel's counters have moved, the model is the same ---
if [ -n "$rate$loss" ]; then
    set --
    [ -z "$rate" ] || set -- "$@" --link "$rate" --link 3:rate=2.5mbit
    [ -z "$loss" ] || set -- "$@" --link "2:$loss"
    expect 0 completed 'over slow and lossy links' cluster $small --netns "$@" --link server:loss=0% --out shaped
    same "$(models loopback)" "$(models shaped)" 'the models are the same'
    same '' "$(namespaces "$(pid_of shaped)")" 'and no namespace is left'
fi
counters() { # WORDS: their first number in each of the qdiscs of a rate
    sed -n "/^qdisc tbf.*rate $1 /,/backlog/s/.*$2 \([0-9]*\).*/\1/p" shaped/links.txt
}
if [ -n "$rate" ]; then
    same 4 "$(counters 1Mbit Sent | grep -c '[1-9]')" 'two parties have the rate of all, both ways, and all passed it'
    same 2 "$(counters 2500Kbit Sent | grep -c '[1-9]')" 'the third has its own'
    differ 0 "$(counters 1Mbit overlimits | sort -n | tail -n 1)" 'and packets had to wait'
fi
if [ -n "$loss" ]; then
    same 'iifname 12 oifname 12' "$(paste -sd' ' shaped/links.txt | grep -o '[io]*ifname "to-p2" [^<]*< [0-9]*0000 ' |
        sed 's/ .* \([0-9]*\)0000 $/ \1/' | paste -sd' ')" 'one party has the loss, both ways'
    expect 0 '' 'and packets were lost' grep 'counter packets [1-9]' shaped/links.txt
    same 2 "$(grep -c numgen shaped/links.txt)" 'of nobody else'
fi

# --- while it runs: another world, and the machine's own network is as it was ---
"$vfl" cluster $endless --netns --out long &
script=$!
wait_until [ -s long/server/metrics.jsonl ]
same 'p1 p2 p3 server switch' "$(namespaces $script)" 'five namespaces, named by the pid'
for name in server p1 p2 p3; do
    for pid in $(ip netns pids vfl-$script-$name); do
        echo "$name $(basename "$(readlink "/proc/$pid/exe")") $(readlink "/proc/$pid/ns/net")"
    done
done >daemons
same 'server vfl-server p1 vfl-party p2 vfl-party p3 vfl-party' "$(cut -d' ' -f1,2 daemons | paste -sd' ')" \
    'one daemon in each'
readlink /proc/self/ns/net >>daemons
same 5 "$(sed 's/.* //' daemons | sort -u | wc -l)" 'and no two, nor this script, in one'
same '10.77.1.2/16' "$(ip -n vfl-$script-p2 -o -4 address show dev eth0 | awk '{ print $4 }')" 'party 2 has its address'
same '10.77.1.1 10.77.1.2 10.77.1.3' "$(ip netns exec vfl-$script-server ss -Htn state established |
    awk '{ sub(/:[0-9]*$/, "", $4); print $4 }' | sort | paste -sd' ')" 'which are those the server speaks with'
expect 0 completed 'another cluster beside it' cluster $small --netns --out beside
same "$(models loopback)" "$(models beside)" 'is not disturbed'
same 'p1 p2 p3 server switch' "$(namespaces $script)" 'and disturbs nobody'
same "$before" "$(machine)" "the machine's own network is as it was"

# --- ways out ---
kill -TERM $script
wait $script
same 0 $? 'a signal ends the script'
expect 0 '"status": "stopped"' 'the run is stopped in order' cat long/summary.json
same '' "$(namespaces $script)" 'no namespace is left'
evaluations=$(wc -l <long/server/metrics.jsonl)
more_evaluations() {
    [ "$(wc -l <long/server/metrics.jsonl)" -gt "$evaluations" ]
}
"$vfl" cluster $endless --netns --out long &
script=$!
wait_until more_evaluations
expect 0 'going on after' 'the same command goes on' cat long/server/log.txt
kill -KILL $script
wait $script 2>/dev/null
same 'p1 p2 p3 server switch' "$(namespaces $script)" 'killed at once, it leaves its namespaces'
wait_until flock -n long/lock true
same '' "$(pgrep -f "$dir/long/" || :)" 'though no daemon'
expect 5 'policy' 'a run that fails' cluster $small --netns --party 3:policy.min_parties=9 --out refused
same '' "$(namespaces "$(pid_of refused)")" 'leaves none'
differ '' "$(pid_of refused)" 'having had some'
if [ -n "$loss" ]; then
    expect 4 p2 'a link that loses everything ends a run by patience' cluster --quiet $small --netns \
        --link 2:loss=100% --set protocol.patience_ms=5000 --out dead
    expect 0 '' 'and is counted' grep 'iifname "to-p2" ether type ip counter packets [1-9]' dead/links.txt
fi
same '' "$(namespaces $script)" 'and swept up those of the dead'
expect 0 '' 'quiet is quiet' cluster --quiet $small --netns --out quiet
same '' "$(cat said)" 'there too'
"$vfl" cluster --quiet --parties 30 --set training.epochs=100000 --netns --out early &
script=$!
wait_until [ -e /var/run/netns/vfl-$script-switch ]
kill -TERM $script
wait $script
same '' "$(namespaces $script)" 'a signal while the network is being made leaves nothing'
rm tools/ip
printf '#!/bin/sh\ncase "$*" in *to-p3*) echo no room; exit 1 ;; esac\nexec %s "$@"\n' "$(command -v ip)" >tools/ip
chmod +x tools/ip
PATH=$dir/tools "$vfl" cluster $small --netns --out half >half.said 2>&1 &
script=$!
wait $script
same 6 $? 'a network that cannot be made ends the script'
expect 0 'to-p3.*: no room$' 'which says what failed' cat half.said
same '' "$(namespaces $script)" 'and takes away what there was'
"$vfl" cluster ${endless#--quiet} --netns --out piped 2>/dev/null | head -n 1 >said
differ '' "$(pid_of piped)" 'a reader that goes away'
same '' "$(namespaces "$(pid_of piped)")" 'leaves nothing either'
same "$before" "$(machine)" "and the machine's own network is as it was"
closing
