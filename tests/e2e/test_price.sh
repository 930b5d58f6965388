#!/bin/sh
# test_price.sh -- the calculator gives back what it was given, and the published numbers; a party prices a plan.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh disable=SC2086 # lists of options are meant to split
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
price() {
    "$vfl" price "$@"
}

# The value of one term of an answer.
term() { # NAME OPTION...
    name=$1
    shift
    "$vfl" price "$@" | awk -v name="$name" '$1 == name { print $2; exit }'
}

# --- published numbers ---
shape='--trials 4 --m-eff 5'
while read -r embedding releases one four ten; do
    for pair in "1 $one" "4 $four" "10 $ten"; do
        same "${pair#* }" "$(term beta $shape --embedding "$embedding" --releases "$releases" --epsilon "${pair% *}" |
            awk '{ printf "%.4f", $1 }')" "epsilon ${pair% *} at P=$embedding and $releases releases needs this beta"
    done
done <<'TABLE'
16 100 0.0017 0.0060 0.0132
16 10 0.0055 0.0191 0.0414
4 10 0.0109 0.0379 0.0812
4 1 0.0346 0.1133 0.2152
1 1 0.0710 0.2313 0.4241
TABLE
same yes "$(term epsilon $shape --embedding 1 --releases 1 --beta 0.25 | awk '{ print ($1 < 10 ? "yes" : $1) }')" \
    'one coordinate once at the widest usual beta costs less than 10'
expect 0 '(with protocol.pbm.wide)' 'a wide beta says what it needs' price $shape --embedding 1 --releases 1 --beta 0.26
while read -r trials beta embedding releases parties epsilon; do
    same "$epsilon" "$(term epsilon --trials "$trials" --beta "$beta" --embedding "$embedding" \
        --releases "$releases" --m-eff "$parties")" "b=$trials beta=$beta M=$parties costs what is published"
done <<'TABLE'
16 0.10 16 100 5 569.517
16 0.10 16 100 4 694.519
16 0.10 16 100 1 2376.73
64 0.15 16 100 5 4569.4
128 0.25 16 100 5 30305.1
8 0.15 16 600 4 4319.08
16 0.10 16 100 10 311.828
16 0.10 16 1 5 17.5577
16 0.10 1 1 5 3.41862
16 0.10 16 1000000 5 4.3171e+06
16 0.10 1 1000 5 378.644
TABLE

# What is found is rounded to the side that holds.
for epsilon in 1 2 3 4 5 6 7 8 9; do
    "$vfl" price $shape --embedding 4 --releases 10 --epsilon $epsilon |
        awk -v most=$epsilon '$1 == "epsilon" { print $2 <= most }'
    "$vfl" price $shape --embedding 2 --beta 0.02 --releases 3 --steps 2 --epsilon $epsilon |
        awk -v most=$epsilon '$1 == "epsilon" { print $2 <= most }'
done >held
same 18 "$(grep -c 1 held)" 'no answer costs more than was asked'

# --- each term from the others ---
# Some setting; its epsilon, and from that epsilon each term again: what is sought is the largest (or smallest) value,
# so it comes back whole, and as a real number in some digits.
again() { # NAME DIGITS OPTION VALUE ...
    name=$1 digits=$2
    shift 2
    # what is given but the sought one; epsilon a little above its own, by the rounding of what is printed
    value='' others=''
    while [ $# -gt 0 ]; do
        if [ "$1" = "--$name" ]; then value=$2; else others="$others $1 $2"; fi
        shift 2
    done
    same "$(printf "%.${digits}g" "$value")" \
        "$(printf "%.${digits}g" "$(term "$name" $others --epsilon "$(term epsilon $others --"$name" "$value" |
            awk '{ printf "%.9g", $1 * 1.00001 }')")")" "$name comes back"
}
frozen='--trials 12 --beta 0.04 --embedding 7 --releases 9 --m-eff 6'
for name in trials embedding releases m-eff; do
    again $name 6 $frozen
done
again beta 4 $frozen
again delta 3 $frozen --delta 0.00002
again noise 4 $frozen --noise 7.5 --steps 5
again releases 6 $frozen --noise 7.5 --steps 5
again trials 6 $frozen --noise 7.5
again noise 4 $frozen --noise 7.5 --delta 0.00002
same "$(term epsilon $frozen)" "$(term epsilon $frozen --noise 0 --steps 0)" 'no noise and no steps is frozen'
same "$(term epsilon $frozen --noise 9)" "$(term epsilon $frozen --noise 9 --steps 1)" 'noise without steps is one'
differ "$(term epsilon $frozen --noise 9)" "$(term epsilon $frozen --noise 9 --steps 2)" 'two cost more'

# --- what it says ---
expect 0 'adjacency  record_frozen: one record' 'a frozen bottom is said' price $frozen
expect 0 'adjacency  record_dp: one record' 'noised steps are said' price $frozen --noise 9
expect 0 'alone among 6, the server and one of them' 'whom it is a price against' price $frozen
expect 0 '(vacuous)' 'above 20 it is vacuous' price --trials 16 --beta 0.1 --embedding 16 --releases 10 --m-eff 5
expect 0 'no guarantee' "the paper's figure is none" price $frozen
same '' "$("$vfl" price --trials 16 --beta 0.1 --embedding 16 --releases 1 --m-eff 5 | grep vacuous)" '17.6 is not'
expect 0 'usage: vfl price' 'help' price --help
expect 0 '^noise  *[0-9.]*  (the smallest)$' 'with all else given, it is the noise that is sought' \
    price $frozen --epsilon 12 --delta 0.00001
same 1 "$(term steps $frozen --epsilon 12 --delta 0.00001)" 'of one step'
same "$(term noise $frozen --epsilon 12 --delta 0.00001 --steps 1)" \
    "$(term noise $frozen --epsilon 12 --delta 0.00001)" \
    'as if that had been said'

# --- records that change together ---
# Released sums compose: g times as many. A step that holds g copies moves g times as far: g^2.
nine='--trials 12 --beta 0.04 --embedding 7 --m-eff 6 --releases 9'
same "$(term epsilon ${nine}0)" "$(term epsilon $nine --group 10)" \
    'ten copies under a frozen bottom are ten times the releases'
tiny='--trials 4 --beta 0.000001 --embedding 1 --m-eff 5 --noise 15'
same "$(term epsilon $tiny --releases 1 --steps 500)" "$(term epsilon $tiny --releases 1 --steps 5 --group 10)" \
    'ten copies in one batch are a hundred times the steps'
expect 0 'each step up to 100 times' 'and that is said' price $tiny --releases 1 --steps 5 --group 10
same "$(term epsilon $tiny --releases 3)" "$(term epsilon $tiny --releases 3 --group 1)" 'one is one'
again noise 4 $frozen --noise 7.5 --steps 5 --group 3
expect 2 'group' 'no group of none' price $frozen --group 0

# --- statistics with noise ---
# The rho of epsilon 1 at 1e-6 by tests/golden/gen_statistics.py; releases that are next to nothing.
little='--trials 1 --beta 0.000001 --embedding 1 --m-eff 5 --releases 1 --delta 0.000001'
same 1 "$(term epsilon $little --statistics 0.0243559703595384)" 'statistics cost what their budget says'
same "$(term epsilon $little --statistics 2.43559703595384)" \
    "$(term epsilon $little --statistics 0.0243559703595384 --group 10)" 'ten copies a hundred times that'
same "$(term epsilon $frozen)" "$(term epsilon $frozen --statistics 0)" 'none cost nothing'
again beta 4 $frozen --noise 7.5 --statistics 0.02

# --- mistakes: one line, 2 ---
one_line() { # WHAT OPTION...
    what=$1
    shift
    expect 2 'vfl price: ' "refused: $what" price "$@"
    same 1 "$("$vfl" price "$@" 2>&1 | wc -l)" 'in one line'
}
one_line 'two missing' --trials 12 --beta 0.04 --embedding 7 --releases 9
one_line 'none missing' $frozen --epsilon 3 --delta 0.00001 --noise 7
one_line 'none missing of a frozen bottom' $frozen --epsilon 3 --delta 0.00001 --steps 0
one_line 'none missing, and no noise' $frozen --epsilon 3 --delta 0.00001 --noise 0
one_line 'a term twice' $frozen --beta 0.05
one_line 'a term twice, the same' $frozen --beta 0.04
one_line 'a noise twice' $frozen --noise 0 --noise 7
one_line 'steps without noise' $frozen --steps 3 --noise 0
one_line 'noise without steps' $frozen --steps 0 --noise 3
one_line 'steps, and two are sought' --trials 12 --embedding 7 --releases 9 --m-eff 6 --epsilon 1 --steps 3
one_line 'a beta of a half' --trials 12 --beta 0.5 --embedding 7 --releases 9 --m-eff 6
one_line 'half a trial' --trials 1.5 --beta 0.2 --embedding 7 --releases 9 --m-eff 6
one_line 'a delta of one' $frozen --delta 1
one_line 'no number' $frozen --delta x
one_line 'not a number' $frozen --delta nan
one_line 'less than nothing' --trials 12 --beta -0.1 --embedding 7 --releases 9 --m-eff 6
one_line 'no value' $frozen --delta
one_line 'an unknown term' $frozen --gamma 1
one_line 'a stray word' $frozen 5
expect 2 'usage: vfl price' 'nothing at all' price
expect 5 'no --releases does it: at 1 epsilon still is 17.5' 'what cannot be had is no answer' \
    price --trials 16 --beta 0.1 --embedding 16 --m-eff 5 --epsilon 4
expect 5 'no --noise does it' 'nor by noise without end' \
    price --trials 16 --beta 0.1 --embedding 16 --releases 1 --m-eff 5 --epsilon 4 --steps 5
expect 0 '(the most there may be)' 'a term at its end says so' price --trials 1 --embedding 1 --releases 1 --m-eff 100 \
    --epsilon 20

# --- a party prices a plan before it runs ---
timeout 600 "$vfl" cluster --quiet --out run --seed 3 --parties 3 --set training.epochs=1 \
    --set protocol.pbm.trials=64 || not_ok 'a run'
party="${VFL_BIN:-$root/build/bin}/vfl-party -c run/party-1/config.yaml"
same 'pbm 64 0.25 16384 49152 16 3 raw | disclosed to parties | 569 of 569' "$(python3 -c '
import csv, json
p = json.load(open("run/party-1/summary.json"))["privacy"]
m, = p["mechanisms"]
assert m["releases"] == sum(p["releases"].values()) and m["participations_max"] == p["participations_max"]
assert any(b["from"] <= p["participations_max"] <= b["to"] for b in p["participations"])
rows = sum(len(list(csv.reader(open(f"run/data/party-1-{s}.csv")))) - 1 for s in ("train", "test"))
print(*(m[k] for k in ("mechanism", "trials", "beta", "t_lo", "t_hi", "coordinates", "parties", "bottom")), "|",
      p["labels"], "|", sum(b["records"] for b in p["participations"]), "of", rows)')" \
    'and a run says after it by what its claims came about'
cat >plan.yaml <<'PLAN'
protocol: {pbm: {trials: 4, beta: 0.05}}
model: {embedding: 2}
training: {epochs: 1, batch: 64, evaluate_every: 0}
PLAN
for noise in 'gaussian 3' 'tiny 1e-300'; do
    echo "protocol: {encoding: gaussian, gaussian: {match: sigma, sigma: ${noise#* }}}" >"${noise% *}.yaml"
done
# The server says what its plan costs whom it costs most: parties of one operator hide nobody from it.  (A sample is
# everybody's; what it costs is highest for whom the most parties hide.)
claims_of() { # PROGRAM ARGUMENTS...: adversary, adjacency, epsilon
    "$@" 2>/dev/null | sed -n 's/^#   \([a-z_+0-9]*\)  *\(record_raw\|columns\) .*epsilon \([0-9.e+]*\).*/\1 \2 \3/p'
}
for operators in 's/x/x/' 's/operator: p2/operator: p3/' 's/operator: p3/operator: server/'; do
    sed "$operators" run/roster.yaml >operators.yaml
    claims_of "$VFL_BIN/vfl-server" -c run/server/resolved.yaml -n --set roster="$dir/operators.yaml" >server.claims
    claims_of $party -n --plan run/server/resolved.yaml --set roster="$dir/operators.yaml" \
        --set policy.roster_sha256= >party.claims
    same "8 $(cat party.claims)" "$(grep -c . server.claims) $(cat server.claims)" \
        "the server's price is the party's ($operators)"
done
most=$(claims_of "$VFL_BIN/vfl-server" -c run/server/resolved.yaml -n | sed -n 's/^server record_raw //p')
differ "$most" "$(sed -n 's/^server record_raw //p' server.claims)" 'a party of its own operator makes it higher'
expect 0 '' 'a limit of as much' "$VFL_BIN/vfl-server" -c run/server/resolved.yaml -n \
    --set privacy.max_epsilon="$(echo "$most" | awk '{ print $1 * 1.001 }')"
expect 5 'privacy.max_epsilon' 'is passed then' "$VFL_BIN/vfl-server" -c run/server/resolved.yaml -n \
    --set roster="$dir/operators.yaml" --set privacy.max_epsilon="$(echo "$most" | awk '{ print $1 * 1.001 }')"
expect 0 '# cost of a plan of defaults' 'without a plan it is one of defaults' $party -n
expect 0 '# cost of plan.yaml' 'with one it is that one' $party -n --plan plan.yaml
releases=$($party -n --plan plan.yaml | awk '$2 == "releases:" { print $3 + $(NF - 2); exit }')
for pair in 'server 3' 'server+1 2' 'all_but_one 1' 'party 2'; do
    same "$(term epsilon --trials 4 --beta 0.05 --embedding 2 --m-eff "${pair#* }" --releases "$releases")" \
        "$($party -n --plan plan.yaml | awk -v who="${pair% *}" \
            '$2 == who && $3 == "record_raw" && $4 == "m_eff" { print $7; exit }')" \
        "${pair% *}: the party's price is the calculator's"
done
expect 0 'pbm, b 4, beta 0.05: thresholds 29492 to 36044 of 65536' 'with the thresholds that are drawn by' \
    $party -n --plan plan.yaml
expect 0 'gaussian, sigma 3: 48 steps of 0.0625, of which C is 16' 'or with the grid of its noise' \
    $party -n --plan gaussian.yaml --set 'policy.encodings=[gaussian]'
expect 2 'must be 4 to 2^24 steps' 'noise that no party could draw is refused' $party -n --plan tiny.yaml
expect 0 'not a guarantee' "beside it the paper's" $party -n --plan plan.yaml
expect 0 "# this party's policy accepts it" 'and what its policy says' $party -n --plan run/server/resolved.yaml
expect 5 'policy.max_epsilon: ' 'a plan over the policy ends as in a run' $party -n --plan plan.yaml \
    --set policy.max_epsilon.value=1
# A scale from a file may have been fitted on the same records: somebody has to say that it was not.
awk -F, 'NR == 1 { print "name,mean,sd"; for (i = 2; i <= NF; i++) print $i ",1,2"; exit }' \
    run/data/party-1-train.csv >scale.csv
frozen_by="$party -n --plan plan.yaml --set model.train=frozen"
expect 0 'bottom: raw (data.scale is fit)' 'a scale that is fitted makes a bottom raw' $frozen_by --set data.scale=fit
expect 0 'record_frozen' 'none does not' $frozen_by --set data.scale=none
expect 0 'bottom: raw (data.scale is a file' 'a file does, as nobody can tell' $frozen_by --set data.scale=scale.csv
expect 0 'record_raw' 'and is priced like that' $frozen_by --set data.scale=scale.csv
expect 0 'record_frozen' 'unless its owner says that it is of other data' \
    $frozen_by --set data.scale=scale.csv --set data.scale_given=true
python3 - run/data/party-1-train.csv >fitted.csv <<'END'
import csv, struct, sys
rows = list(csv.reader(open(sys.argv[1])))
print('name,mean,sd')
f32 = lambda x: struct.unpack('f', struct.pack('f', x))[0]
for j, name in enumerate(rows[0][1:], 1):
    x = [f32(float(r[j])) for r in rows[1:]]
    mean = sum(x) / len(x)
    print('%s,%.9g,%.9g' % (name, f32(mean), f32((sum((v - mean) ** 2 for v in x) / len(x)) ** 0.5)))
END
expect 2 'holds just what fit makes' 'who says so of what fit makes of these records is wrong' \
    $frozen_by --set data.scale=fitted.csv --set data.scale_given=true
spent=$(python3 -c 'import json; r = json.load(open("run/party-1/summary.json"))["privacy"]["releases"]
print(sum(r.values()))')
all=$((spent + releases))
expect 0 'accepts it' 'what the ledger holds counts' $party -n --plan plan.yaml --set policy.max_releases.total=$all
expect 5 "policy.max_releases.total: $all releases" 'to the last one' $party -n --plan plan.yaml \
    --set policy.max_releases.total=$((all - 1))
expect 0 'm_eff 2: 5 of 5 corners' 'the accountant is verified on request' \
    $party -n --plan plan.yaml --verify-accountant
expect 2 'plan.none' 'no such plan' $party -n --plan plan.none
expect 2 'go with -n' 'only before a run' $party --plan plan.yaml
expect 2 'go with -n' 'both of them' $party --verify-accountant
closing
