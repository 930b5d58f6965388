#!/bin/sh
# test_report.sh -- tables, plots and pages: of folders made by hand, whose figures are known, and of real runs.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

gnuplot=yes
command -v gnuplot >/dev/null || {
    gnuplot=no
    echo 'gnuplot is not installed: what it draws is not looked at'
}

# --- a folder made by hand ---

# Three seeds of Q = 1 and of Q = 5, evaluated three times; rounds and bytes by epoch are round numbers.
by_hand() { # DIR
    mkdir -p "$1"
    python3 - "$1" <<'END'
import sys
AUC = {1: [(.70, .75, .80), (.72, .74, .82), (.71, .73, .78)], 5: [(.74, .76, .76), (.70, .71, .72), (.76, .80, .74)]}
ROUNDS = {1: 10, 5: 2}
PAYLOAD = "payload_up,payload_down,tls_up,tls_down,total_tls_up,total_tls_down"
with open(f"{sys.argv[1]}/results.csv", "w") as results, open(f"{sys.argv[1]}/runs.csv", "w") as runs:
    print(f"experiment,run,case,protocol.local_iterations,seed,epoch,round,train_s,{PAYLOAD},test_auc,epsilon,status",
          file=results)
    print(f"experiment,run,case,protocol.local_iterations,seed,status,error,plaintext,epochs,rounds,train_s,{PAYLOAD},"
          "formula_up,formula_down,test_auc,epsilon", file=runs)
    for q, seeds in AUC.items():
        for seed, scores in enumerate(seeds, 1):
            for epoch, auc in enumerate(scores, 1):
                n = epoch * ROUNDS[q]
                cost = f"{n},{n / 100},{1000 * n},{3000 * n},{1100 * n},{3300 * n},{1200 * n + 500},{3400 * n + 500}"
                print(f"hand,q{q}-s{seed},fedbcd,{q},{seed},{epoch},{cost},{auc},{2 * epoch},completed", file=results)
            n, _, rest = cost.partition(",")
            print(f"hand,q{q}-s{seed},fedbcd,{q},{seed},completed,,0,3,{cost},{900 * int(n)},{3000 * int(n)},{auc},6",
                  file=runs)
    print("hand,q5-s4,fedbcd,5,4,failed,\"party-2: out of\nmemory, \"\"again\"\"\",0,,,,,,,,,,,,,", file=runs)
END
}
by_hand hand

# figure FILE LINE COLUMN...: cells of a --csv file, in the line that begins so.
figure() {
    python3 -c '
import csv, sys
row = next(r for r in csv.DictReader(open(sys.argv[1])) if r["setting"].startswith(sys.argv[2]))
print(*(row[c] and f"{float(row[c]):.5g}" for c in sys.argv[3:]))' "$@"
}

# shellcheck disable=SC2317 # called by expect
report() {
    "$vfl" report "$@"
}

expect 0 'Until test auc >= 0.75' 'a report of two settings' report hand --target auc=0.75 --csv hand.csv
same '0.8 0.02 0.8 0.02' "$(figure hand.csv local_iterations=1 final_mean final_sd best_mean best_sd)" \
    'final and best score, mean and standard deviation (n - 1)'
same '0.74 0.02 0.76 0.04' "$(figure hand.csv local_iterations=5 final_mean final_sd best_mean best_sd)" \
    'the best is not the last'
same '3 3 3' "$(figure hand.csv local_iterations=1 runs whole reached)" 'all three have reached the target'
same '4 3 2' "$(figure hand.csv local_iterations=5 runs whole reached)" 'two of three that came to their end have'
same '26.667 5.7735 2.6667 0.57735' "$(figure hand.csv local_iterations=1 target_rounds_mean target_rounds_sd \
    target_epochs_mean target_epochs_sd)" 'rounds and epochs until the first evaluation at the target'
same '3 1.4142 0.03 3' "$(figure hand.csv local_iterations=5 target_rounds_mean target_rounds_sd target_train_s_mean \
    target_epsilon_mean)" 'over the seeds that reached it: rounds, seconds, epsilon'
same '3000 9000 12000 13200 14800' "$(figure hand.csv local_iterations=5 target_payload_up_mean \
    target_payload_down_mean target_payload_mean target_tls_mean target_total_tls_mean)" 'bytes until the target'
same '0.1125 0.1125 1' "$(figure hand.csv local_iterations=5 target_rounds_ratio target_payload_ratio) $(
    figure hand.csv local_iterations=1 target_rounds_ratio)" 'ratios to the first line'
same '27000 90000 30000' "$(figure hand.csv local_iterations=1 formula_up_mean formula_down_mean end_payload_up_mean)" \
    'predicted beside measured'
expect 0 '^  local_iterations=5 *2/3 *3\.00 ± 1\.41 *1\.50 ± 0\.71 *0\.030 ± 0\.014 *3\.00 ± 1\.41$' \
    'the table says the same' report hand --target auc=0.75
expect 0 '^  local_iterations=5 *2/3 *1/8\.89 *1/8\.89' 'and the ratio as a part' report hand --target auc=0.75
expect 0 'local_iterations=5, seed 4: failed: party-2: out of memory, "again"' \
    'a run that failed is named, in one line' report hand
expect 0 '^  local_iterations=1 *3/3 *8\.89 ' '--base: ratios to another line' \
    report hand --target auc=0.75 --base local_iterations=5
expect 0 '^  local_iterations=5 *3/4 *0\.7400 ± 0\.0200' 'without a target, a score is asked for' \
    report hand --score auc
expect 0 '^  hand *3/3 *0\.8000' '--where keeps some of the runs' report hand --score auc --where local_iterations=1
expect 0 '^  fedbcd *6/7 *0\.7700 ± 0\.0374' '--by folds what else differs' report hand --score auc --by case
expect 0 'Folded as if they were seeds, though they differ: protocol.local_iterations' 'and says so' \
    report hand --score auc --by case
expect 0 '^  local_iterations=1 *3/3 *26\.7' '--best: more seeds at the target come first' \
    report hand --target auc=0.75 --by case --best payload
expect 0 '^  local_iterations=5 *3/3 *2 ' 'then fewer bytes' report hand --target auc=0.70 --best payload
expect 0 '1 others are left out' 'and says what it left out' report hand --target auc=0.75 --best rounds
expect 0 '^  local_iterations=5 *3/4' '--where: one of several values' \
    report hand --score auc --where local_iterations=1,5
expect 0 '^  hand *3/3' 'each of them whole' report hand --score auc --where local_iterations=15,1
expect 0 '' 'a target for the mean curve' report hand --target auc=0.75 --by-curve --csv curve.csv
same '3 30 0' "$(figure curve.csv local_iterations=1 reached target_rounds_mean target_rounds_sd)" \
    'no run has it where their mean has' # 0.71, 0.74, 0.80
same '3 4 0' "$(figure curve.csv local_iterations=5 reached target_rounds_mean target_rounds_sd)" \
    'a run that never has it does not matter' # 0.7333, 0.7567, 0.74
expect 0 "where the mean of the runs' scores shows it" 'and the table says so' report hand --target auc=0.75 --by-curve
expect 0 '^  local_iterations=5 *0/3' 'a mean that is never there' report hand --target auc=0.76 --by-curve
by_hand again
expect 0 '^  hand *6/6' 'the same experiment in two folders is one' report hand again --where local_iterations=1
expect 0 'Until test loss <= 0.3' 'of a loss, less is better' env VFL_BIN="$VFL_BIN" sh -c '
    mkdir less && sed s/test_auc/test_loss/ hand/runs.csv >less/runs.csv &&
    sed "s/test_auc/test_loss/; s/,0\.7/,0.3/" hand/results.csv >less/results.csv &&
    "$0" report less --target loss=0.3' "$vfl"

# --- what is refused: one line, exit 2 ---

refuse() { # WORDS WHAT ARGUMENTS...
    refuse_words=$1 refuse_what=$2
    shift 2
    expect 2 "$refuse_words" "$refuse_what" report "$@"
    same 1 "$(wc -l <said)" "$refuse_what: one line"
}

spoil() { # WORDS WHAT FILE SED-PROGRAM
    rm -rf spoilt
    cp -r hand spoilt
    sed "$4" "hand/$3" >"spoilt/$3"
    refuse "$1" "$2" spoilt --score auc
}

refuse 'nowhere: no experiment (runs.csv) and no run' 'a folder that is not there' nowhere
refuse 'which folder' 'no folder'
refuse 'hand: given twice' 'a folder twice' hand hand/
refuse 'known are loss' 'an unknown score' hand --target gini=0.7
refuse 'METRIC=VALUE' 'a target without a value' hand --target auc
refuse 'no number' 'a target that is none' hand --target auc=high
refuse 'split' 'an unknown split' hand --target auc=0.7,split=all
refuse 'no axis' 'an unknown axis' hand --by protocol.none
refuse 'no run' 'a value that no run has' hand --where local_iterations=7
refuse 'no run has a train auc' 'a score that no run has' hand --target auc=0.7,split=train
refuse 'no line is called so' 'an unknown base' hand --score auc --base float32
refuse 'more than one line' 'a base that may be two' hand --score auc --base local
refuse 'needs --target' '--best without a target' hand --best rounds
refuse 'needs --target' '--by-curve without a target' hand --by-curve
refuse 'unknown option' 'an unknown option' hand --color yes
refuse 'a value of several lines' 'an option in two lines' hand --title 'two
lines'
refuse 'a RUN of several lines' 'a folder in two lines' 'hand
--quiet'
spoil 'runs.csv:1: no column .seed.' 'a column that is missing' runs.csv '1s/,seed,/,sad,/'
spoil 'runs.csv:1: two columns' 'a column twice' runs.csv '1s/,epochs,/,rounds,/'
spoil 'runs.csv:3: run .q1-s1. for the second time' 'a run twice' runs.csv '3s/q1-s2/q1-s1/'
spoil 'results.csv:4: fewer cells' 'a short row' results.csv '4s/,completed//'
spoil 'results.csv:4: more cells' 'a long row' results.csv '4s/$/,x/'
spoil "results.csv:5: round: 'ten' is no number" 'a word for a number' results.csv '5s/,1,10,/,1,ten,/'
spoil "results.csv:5: test_auc: 'nan' is no number" 'not a number for a number' results.csv '5s/0\.72/nan/'
spoil "results.csv:5: test_auc: '-0.72' is no number" 'a negative score' results.csv '5s/0\.72/-0.72/'
spoil 'results.csv:5: no epoch' 'an evaluation without its epoch' results.csv '5s/,2,1,10,/,2,,10,/'
spoil "results.csv:6: run 'q9-s2' is not in runs.csv" 'a run that is not there' results.csv '6s/q1-s2/q9-s2/'
spoil 'results.csv:6: quotes' 'quotes that are not closed' results.csv '6s/hand,/"hand,/'
spoil 'results.csv:6: quotes' 'text behind quotes' results.csv '6s/hand,/"hand"s,/'
spoil 'results.csv: no UTF-8' 'bytes that are no text' results.csv '3s/hand/h\xe4nd/'
spoil 'runs.csv:10: fewer cells' 'a short row behind one of two lines' runs.csv '$a hand,q5-s5'
spoil 'runs.csv: empty' 'an empty file' runs.csv d
mkdir -p broken/server
refuse 'broken: no experiment' 'an empty folder' broken
printf '{"status": "completed",\n "rounds": 3' >broken/summary.json
refuse 'summary.json:2: ' 'half a summary' broken
echo '[1]' >broken/summary.json
refuse 'summary.json:1: no object' 'a summary that is a list' broken
echo '{"status": "completed", "rounds": "3"}' >broken/summary.json
refuse 'summary.json:1: rounds: no number' 'a word for a number' broken
echo '{"status": "completed", "rounds": 3}' >broken/summary.json
printf '{"epoch": 1, "test": {"accuracy": 0.5}}\n{"epoch": 2, "te' >broken/server/metrics.jsonl
refuse 'metrics.jsonl:2: ' 'half a line of metrics' broken
echo '{"round": 1}' >broken/server/metrics.jsonl
refuse 'metrics.jsonl:1: no epoch' 'a line without its epoch' broken
echo '{"epoch": 1, "test": {"accuracy": 0.5}}' >broken/server/metrics.jsonl
expect 0 '^  broken *1/1 *0\.5000' 'and whole again' report broken

# --- plots and pages ---

# shellcheck disable=SC2317 # called by expect
page_is_sound() { # FILE FIGURES: well-formed, alone, silent about this machine
    python3 - "$1" "$2" "$dir" "$root" <<'END'
import html.parser, re, sys, xml.etree.ElementTree as tree
path, figures, *places = sys.argv[1:]
text = open(path, encoding="utf-8").read()
root = tree.fromstring(text.replace("<!DOCTYPE html>", "", 1))  # every element is closed
seen, ids = [], []
class Reader(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        seen.append(tag)
        for name, value in attributes:
            assert name not in ("src", "style", "srcset", "onclick", "onload"), name
            assert name != "href" or value.startswith("#"), value
            if name == "id":
                ids.append(value)
Reader().feed(text)
assert not set(seen) & {"script", "link", "iframe", "img", "object", "a", "image"}, seen
assert len(ids) == len(set(ids)), "an id twice"
assert seen.count("svg") == int(figures), seen.count("svg")
assert {"title", "h1", "table", "pre", "footer"} <= set(seen)
assert "://" not in text and "@import" not in text, "a link"
assert not re.search(r"/(tmp|home|root|var|usr)/", text), "a path"
assert not any(place in text for place in places), "a path of this machine"
used = set(re.findall(r"[ '\"(]#([A-Za-z][\w-]*-gp\w+)", text))
assert used <= set(ids), used - set(ids)
END
}

mkdir odd
sed "s/fedbcd/\"a<b \\& 'c' \`d\` \\\\n \$x\"/" hand/runs.csv >odd/runs.csv
sed "s/fedbcd,1/\"a<b \\& 'c' \`d\` \\\\n \$x\",1/; s/fedbcd,5/plain,5/" hand/results.csv >odd/results.csv
sed -i '/,5,[1-4],/s/^\(hand,[^,]*,\)"[^"]*"/\1plain/' odd/runs.csv
sed -i "s|out of|out of $dir/odd/logs at /var/lib/x/ or /, /tmp|; s/again/\x0b/" odd/runs.csv
figures=4
[ $gnuplot = yes ] || figures=0
expect 0 '' 'a page' report "$dir/hand" --target auc=0.75 --html "$dir/hand.html" --quiet
expect 0 '' 'it is well-formed, needs nothing, and names no place' page_is_sound hand.html $figures
expect 0 'deploy/vfl experiment grid.yaml --out hand' 'it says how the runs were made' cat hand.html
expect 0 'deploy/vfl report hand --target auc=0.75 --html hand.html' 'and how the page was' cat hand.html
expect 0 '<td>local_iterations=5</td>' 'it has the lines' cat hand.html
expect 0 '<td>26.7 ± 5.8</td>' 'and their figures' cat hand.html
expect 0 "Colonnade $("$vfl" -V | sed 's/.* //')" 'and the version' cat hand.html
expect 0 '' 'a page whose title is a folder' report hand --score auc --title again --html titled.html --quiet
same 1 "$(grep -c 'deploy/vfl experiment' titled.html)" 'a title does not say how runs were made'
expect 0 '' 'a page of two folders' report hand again --score auc --where local_iterations=1 --html two.html --quiet
same 2 "$(grep -c 'deploy/vfl experiment' two.html)" 'each of two folders does'
expect 0 '' 'a page of odd names' report odd --score auc --html odd.html --quiet --title 'P & "Q" <R>'
expect 0 '' 'is well-formed, too' page_is_sound odd.html $figures
expect 0 'failed: party-2: out of logs at x/ or /, tmp memory' 'errors without their places' cat odd.html
expect 0 'a&lt;b &amp; .c. `d`' 'odd names are as they were' cat odd.html

# Only what a report without gnuplot needs.
mkdir few
for program in sh mktemp rm cat basename dirname readlink sed cmp mkdir; do
    ln -s "$(command -v $program)" few
done
expect 0 'gnuplot is not installed' 'without gnuplot it says so' \
    env PATH="$dir/few" "$vfl" report hand --score auc --plots none --html none.html
same 1 "$(grep -c gnuplot said)" 'in one line'
same 2 "$(grep -c '^  local_iterations=1 .*MB\|^  local_iterations=1 .*kB\|^  local_iterations=1 *3/3' said)" \
    'the tables are there'
expect 0 '' 'the page is, without plots' page_is_sound none.html 0
expect 0 'gnuplot was not there' 'and says so' cat none.html
[ -s none/plots.gp ] && [ -s none/curves.dat ] && ok 'what gnuplot would read is there' || not_ok 'no data for gnuplot'

if [ $gnuplot = yes ]; then
    expect 0 '' 'plots' report odd --score auc --plots plots
    same '' "$(sed -n '/warning\|error/p' said)" 'gnuplot has nothing to say'
    same 'bytes epoch epsilon seconds' "$(cd plots && echo *.svg | sed 's/\.svg//g')" 'four drawings'
    for plot in epoch bytes seconds epsilon; do
        same 89504e470d0a1a0a "$(head -c 8 plots/$plot.png | od -An -tx1 | tr -d ' \n')" "$plot.png is a PNG"
    done
    printf 'as it was' >precious
    rm plots/epoch.svg
    ln -s ../precious plots/epoch.svg
    expect 2 'epoch.svg: a link' 'a link in the place of a drawing' report odd --score auc --plots plots
    same 'as it was' "$(cat precious)" 'nothing is drawn through it'
    rm plots/epoch.svg
    mkdir -m 700 watched
    chmod 777 watched
    expect 2 'watched: writable by others' 'a folder whose script others may swap' \
        report odd --score auc --plots watched
    same '' "$(ls watched)" 'nothing is drawn there'
    rm plots/*.svg plots/*.png
    expect 0 '' 'the script draws them again' sh -c 'cd plots && gnuplot plots.gp'
    [ -s plots/epoch.svg ] && [ -s plots/epsilon.png ] && ok 'all of them' || not_ok 'not all of them'
    expect 0 '' 'SVG alone' report hand --score auc --plots drawn --svg --quiet
    same 'bytes.svg epoch.svg epsilon.svg seconds.svg' "$(cd drawn && echo *.[sp][vn]g)" 'no PNG'
    expect 0 '' 'PNG alone, and a page' report hand --score auc --plots drawn --png --html drawn.html --quiet
    same 'bytes.png epoch.png epsilon.png seconds.png' "$(cd drawn && echo *.[sp][vn]g)" 'no SVG of before'
    expect 0 '' 'the page has its drawings all the same' page_is_sound drawn.html 4
fi

# --- a vacuous epsilon is never shown as if it said something ---

# 6 is what Q = 5 ends with; the seeds of Q = 1 end with 2526, or two of the three with 6 and 30.
mkdir dear mixed
for folder in dear mixed; do
    awk -F, -v OFS=, -v folder=$folder 'NR > 1 && $4 == 1 { $(NF + last) = folder == "dear" ? 2526 : \
        $5 == 1 ? 30 : 6 } { print }' last=0 hand/runs.csv >$folder/runs.csv
    awk -F, -v OFS=, -v folder=$folder 'NR > 1 && $4 == 1 { $(NF - 1) = folder == "dear" ? 842 * $6 : \
        $5 == 1 ? 10 * $6 : 2 * $6 } { print }' hand/results.csv >$folder/results.csv
done
expect 0 '^  local_iterations=1 *3/3 .* 2526, vacuous$' 'an epsilon above 20 is called vacuous' \
    report dear --score auc --csv dear.csv --html dear.html --plots dear/plots
[ "$(sed -n '/^Whole runs$/,/^Whole runs, as/p' said | grep -c '^  local_iterations=5 .* 6$')" = 1 ] &&
    ok 'one below is not' || not_ok 'one below is marked, or gone'
same 1 "$(grep -c '^Vacuous: an epsilon above 20\.' said)" 'a note says what that is'
same 'vacuous -' "$(sed -n "/as a part of what 'local_iterations=1'/,/^Whole runs: pred/p" said |
    awk '/^  local_iter/ { print $NF }' | xargs)" 'no ratio to it or of it'
same '<td>2526, vacuous</td>' "$(grep -o '<td>2526[^<]*</td>' dear.html)" 'the page says it'
same 1 "$(grep -c '<p>Vacuous: an epsilon above 20\.' dear.html)" 'the page has the note'
same '6 ' "$(figure dear.csv local_iterations=5 end_epsilon_mean target_epsilon_ratio)" 'plain numbers stay plain'
expect 0 '' 'with a target' report dear --target auc=0.75 --csv dear.csv
same 'vacuous -' "$(sed -n "/^To the target, as a part of/,/^Whole runs: pred/p" said |
    awk '/^  local_iter/ { print $NF }' | xargs)" 'no ratio to the target either'
same '2245.3 |3 |0.1125' "$(figure dear.csv local_iterations=1 target_epsilon_mean target_epsilon_ratio)|$(
    figure dear.csv local_iterations=5 target_epsilon_mean target_epsilon_ratio)|$(
    figure dear.csv local_iterations=5 target_rounds_ratio)" 'nor in the plain numbers'
same 1 "$(grep -c '^set arrow 1 from 20/u' dear/plots/plots.gp)" 'the drawing has a line at 20'
same 'xrange' "$(awk '/^# --- Score by epsilon/ { on = 1 }
    on && /^set xrange/ { gsub(/[^0-9.:]/, " "); split($1, x, ":"); if (x[1] < 20 && x[2] > 2526) print "xrange" }' \
    dear/plots/plots.gp)" 'and it is within the drawing'
expect 0 '14\.0 ± 13\.9, vacuous in part$' 'a mean below 20 of which a run is above' \
    report mixed --score auc --plots mixed/plots
expect 0 '^  local_iterations=5 .* 1\.00$' 'where none is vacuous, as before' report hand --score auc
same 0 "$(grep -c acuous said)" 'not a word of it'
[ -s none/plots.gp ] && same 0 "$(grep -c '^set arrow' none/plots.gp)" 'and no line'

# A band is the standard deviation; where fewer than half of the seeds go on, a line ends.
expect 0 '' 'points are means over the seeds' python3 -c '
import statistics as s
lines = [[[float(v) for v in row.split()] for row in block.split("\n") if row and row[0] != "#"]
         for block in open("none/curves.dat").read().split("\n\n\n")[1:]]
assert len(lines) == 2 and [len(l) for l in lines] == [3, 3], lines
want = [.70, .72, .71]
assert abs(lines[0][0][4] - s.mean(want)) < 1e-6 and abs(lines[0][0][5] - s.stdev(want)) < 1e-6, lines[0][0]
assert lines[0][1][:4] == [2, 80000, .2, 4] and lines[0][1][6] == 3, lines[0][1]'
mkdir early
cp hand/runs.csv early
grep -v '^hand,q1-s[12],fedbcd,1,[12],[23],' hand/results.csv >early/results.csv
expect 0 '' 'two of three seeds stop early' env PATH="$dir/few" "$vfl" report early --score auc --plots early/plots
same 1 "$(awk '/^# line 1/ { on = 1; next } /^# line 2/ { on = 0 } on && NF { n++ } END { print n }' \
    early/plots/curves.dat)" 'and so does the line'
grep -v '^hand,q1-s1,fedbcd,1,1,[23],' hand/results.csv >early/results.csv
expect 0 '' 'one of three stops early' report early --target auc=0.73 --by-curve --csv early.csv
# Means: 0.71, 0.7233, 0.7667.
same 30 "$(figure early.csv local_iterations=1 target_rounds_mean)" 'its last score stays in the mean'

# --- real runs ---

for seed in 1 2 3; do
    [ "$seed" -lt 3 ] || set -- --set training.learning_rate=0.05
    expect 0 '' "a run with seed $seed" timeout 120 "$vfl" cluster --quiet --out "real-$seed" --seed "$seed" \
        --parties 3 --set training.epochs=3 --set model.embedding=4 --party '*:model.layers=[4]' "$@"
done
expect 0 '^  learning_rate=0.05 *1/1' 'three runs are two settings' \
    report real-1 real-2 real-3 --target loss=0.6 --html real.html --csv real.csv
expect 0 '' 'figures are those of the summaries' python3 -c '
import csv, json, statistics as s
row = next(r for r in csv.DictReader(open("real.csv")) if r["setting"] == "default")
all = [json.load(open(f"real-{i}/summary.json")) for i in (1, 2)]
def same(column, values):
    assert abs(float(row[column + "_mean"]) / s.mean(values) - 1) < 1e-6, (column, row[column + "_mean"], values)
    assert abs(float(row[column + "_sd"] or 0) - s.stdev(values)) < 1e-6 * s.mean(values), column
same("final", [a["test"]["loss"] for a in all])
same("end_payload_up", [a["bytes"]["train"]["payload_up"] for a in all])
same("end_payload_down", [a["bytes"]["train"]["payload_down"] for a in all])
same("end_tls", [a["bytes"]["train"]["tls_up"] + a["bytes"]["train"]["tls_down"] for a in all])
same("end_total_tls", [a["bytes"]["total"]["tls_up"] + a["bytes"]["total"]["tls_down"] for a in all])
same("formula_up", [a["bytes"]["train"]["formula_up"] for a in all])
same("end_train_s", [a["time"]["train_s"] for a in all])
claims = [next(c["epsilon"] for c in a["privacy"]["claims"]
               if (c["adversary"], c["adjacency"]) == ("server", "sample")) for a in all]
same("end_epsilon", claims)
lines = [[json.loads(line) for line in open(f"real-{i}/server/metrics.jsonl")] for i in (1, 2)]
hit = [next((e for e in run if e["test"]["loss"] <= 0.6), None) for run in lines]
hit = [e for e in hit if e]
assert int(row["reached"]) == len(hit), (row["reached"], lines)
if hit:
    assert abs(float(row["target_payload_mean"]) - s.mean(e["bytes"] for e in hit)) < 1
    assert abs(float(row["target_rounds_mean"]) - s.mean(e["round"] for e in hit)) < 1e-6
best = [min(e["test"]["loss"] for e in run) for run in lines]
same("best", best)'
expect 0 '' 'their page is sound' page_is_sound real.html $figures
expect 0 'deploy/vfl cluster --data breast_cancer --parties 3 --seed 1 .*--party .\*:model.layers=\[4\]. --out real-1' \
    'and says how each was made' cat real.html
cp -r real-1 sly
# shellcheck disable=SC2016 # as it stands there
printf -- '--x;touch${IFS}PWNED;a b\nset b=$(touch PWNED)\n' >>sly/plan.txt
expect 0 '' 'a page of a plan with other words in it' report sly --score loss --html sly.html --quiet
same '0 1' "$(grep -c '^<pre>.*IFS' sly.html) $(grep -c -e "--set .b=\$(touch PWNED)." sly.html)" \
    'says only keys of a plan, and quotes their values'
# shellcheck disable=SC2016 # for the inner shell
expect 0 '' 'what it says does make it' sh -c '
    out=$1 command=$(sed -n "s|^.*deploy/vfl cluster \(.*\) --out real-1$|\1|p" real.html)
    cd / && eval "set -- $command" && timeout 120 "$0" cluster --quiet --out "$out" "$@"' "$vfl" "$dir/remade"
same "$(sed -n '/"model_sha256"/,$p' real-1/summary.json)" "$(sed -n '/"model_sha256"/,$p' remade/summary.json)" \
    'and the models are the same'
# --- temporary files in a folder with a space in its name ---
mkdir 'not mine' not && echo precious >not/mine
expect 2 '' 'nothing to report on' env TMPDIR="$dir/not mine" "$vfl" report
same precious "$(cat not/mine)" 'another folder stays'
same '' "$(ls 'not mine')" 'and the own ones are gone'

closing
