#!/bin/sh
# test_advise.sh -- settings that vfl price --advise prints cost what they say, by the calculator, a party and a run.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh disable=SC2086 # lists of options are meant to split
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
price() {
    "$vfl" price "$@"
}

# The value behind a key in advice.
value() { # KEY
    sed -n "s/^[^#]*[ {]$1: \([^,}]*\).*/\1/p" advice | head -n 1
}

# --- what it prints is priced at most at what was asked ---
costs() { # EPSILON OPTION...
    most=$1
    shift
    "$vfl" price --advise --epsilon "$most" "$@" >advice || not_ok "advice for epsilon $most"
    "$vfl" price --trials "$(value trials)" --beta "$(value beta)" --embedding "$(value embedding)" --releases 1 \
        --m-eff 1 --noise "$(value noise)" --steps "$(value local_iterations)" --delta "$(value delta)" |
        awk -v most="$most" '$1 == "epsilon" { print ($2 <= most && $2 > 0.9 * most) ? "fits" : $2 }'
}
for epsilon in 0.5 1 2 4 10 20; do
    same fits "$(costs $epsilon --rows 4718 --columns 6,6,6,6,6 --classes 2)" "epsilon $epsilon, used and not passed"
done
same fits "$(costs 3 --rows 1452 --columns 76,216,64,240,47,6 --classes 10)" 'six parties, ten classes'
same fits "$(costs 3 --rows 1452 --columns 76,216 --classes 10 --delta 0.0000001)" 'another delta'
same 1e-07 "$(value delta)" 'which is the plan'"'"'s then'
same 2 "$(value embedding)" 'two parties need two coins each to tell ten classes'
same fits "$(costs 3 --rows 300000 --columns 5,5 --classes 2)" 'many rows'
same 1e-06 "$(value delta)" 'and a delta below one over them'
same fits "$(costs 3 --rows 20 --columns 5,5 --classes 2)" 'few rows'
same 20 "$(value batch)" 'are one batch'
for rows in 199 201 301 1452 4718 4801 21522 30001 1000001; do
    "$vfl" price --advise --rows $rows --columns 5,5 --classes 2 --epsilon 3 >advice
    same all "$(awk -v rows=$rows -v batch="$(value batch)" 'BEGIN {
        last = rows % batch
        print (last == 0 || last >= batch * 0.9 ? "all" : batch " and then " last) }')" \
        "batches of $rows rows are alike"
done

# --- a real run takes them ---
# The two parts as they stand, indented, in a grid.
"$vfl" price --advise --rows 455 --columns 10,10,10 --classes 2 --epsilon 6 >advice
{
    echo 'name: advised'
    echo "cluster: {train: $root/tests/data/breast_cancer.csv.gz, parties: 3}"
    echo 'seeds: [7]'
    echo 'set:'
    sed -n '/^# server.yaml/,/^# party.yaml/p' advice | sed '/^#/d; s/^/  /'
    echo 'party:'
    echo '  "*":'
    sed '1,/^# party.yaml/d; /^#/d; s/^/    /' advice
} >advised.yaml
timeout 600 "$vfl" experiment advised.yaml --quiet --out run >experiment.log 2>&1 || not_ok 'a run of what was printed'
claim=$(sed -n 's/^# .* epsilon \([0-9.]*\) at.*/\1/p' advice)
same "completed record_dp $claim $claim" "$(python3 -c '
import csv
r, = csv.DictReader(open("run/runs.csv"))
print(r["status"], r["record"], "%.6g" % float(r["epsilon_record"]), "%.6g" % float(r["epsilon_record_1"]))')" \
    "its parties' ledgers claim what was said, against the server and with one party"
sed -n '/^# server.yaml/,/^# party.yaml/p' advice | sed '/^#/d' >server-part.yaml
"$vfl" split --parties 3 --out data --train "$root/tests/data/breast_cancer.csv.gz" \
    >split.log 2>&1 || not_ok 'the same rows again'
party="$VFL_BIN/vfl-party -c $(echo run/runs/*/party-1)/resolved.yaml --set data.train=data/party-1-train.csv \
    --set data.test=data/party-1-test.csv"
expect 0 "# this party's policy accepts it" 'a party prices the part of the server as it was printed' \
    $party -n --plan server-part.yaml --set state="$dir/fresh"
expect 5 'policy.max_epsilon' 'and not a second time out of the same ledger' $party -n --plan server-part.yaml
expect 5 'policy.max_epsilon' 'nor with less noise' $party -n --plan server-part.yaml --set state="$dir/fresh" \
    --set model.noise=10

# --- mistakes: one line, 2 ---
one_line() { # WHAT OPTION...
    what=$1
    shift
    expect 2 'vfl price --advise: ' "refused: $what" price --advise "$@"
    same 1 "$("$vfl" price --advise "$@" 2>&1 | wc -l)" 'in one line'
}
one_line 'nothing said'
one_line 'no epsilon' --rows 100 --columns 5,5 --classes 2
one_line 'no rows' --rows 0 --columns 5,5 --classes 2 --epsilon 3
one_line 'half a row' --rows 1.5 --columns 5,5 --classes 2 --epsilon 3
one_line 'one class' --rows 100 --columns 5,5 --classes 1 --epsilon 3
one_line 'a party without columns' --rows 100 --columns 5,,5 --classes 2 --epsilon 3
one_line 'a list that ends in a comma' --rows 100 --columns 5,5, --classes 2 --epsilon 3
one_line 'a negative epsilon' --rows 100 --columns 5,5 --classes 2 --epsilon -3
one_line 'a delta of one' --rows 100 --columns 5,5 --classes 2 --epsilon 3 --delta 1
one_line 'rows twice' --rows 100 --rows 100 --columns 5,5 --classes 2 --epsilon 3
one_line 'an unknown option' --rows 100 --columns 5,5 --classes 2 --epsilon 3 --noise 3
one_line 'a stray word' --rows 100 --columns 5,5 --classes 2 --epsilon 3 more
expect 0 'vfl price --advise --rows' 'the help has it' price --help
closing
