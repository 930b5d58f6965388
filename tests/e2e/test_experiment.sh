#!/bin/sh
# test_experiment.sh -- `vfl experiment`: all runs and their tables, whatever kills it in between.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
experiment() {
    timeout 300 "$vfl" experiment "$@"
}

# In the background shells ignore SIGINT for their children; a terminal does not.
interruptible() {
    exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$vfl" experiment "$@"
}

# A table without what clocks say, and without the handshakes: each run has certificates of its own, whose numbers
# are a byte longer or shorter.
steady() { # TABLE
    python3 -c '
import csv, sys
CLOCKS = {"seconds", "train_s", "setup_s", "evaluate_s", "total_s", "rounds_per_s", "reached_seconds"}
for row in csv.DictReader(open(sys.argv[1])):
    print(*[row[k] for k in row if k not in CLOCKS and not k.startswith("total_tls")], sep=",")' "$1"
}

# Does it hold of the tables in DIR?  R: rows of results.csv, N: of runs.csv, by id.
holds() { # DIR CONDITION WHAT
    expect 0 '' "$3" python3 -c '
import csv, sys
R = list(csv.DictReader(open(sys.argv[1] + "/results.csv")))
N = {r["run"]: r for r in csv.DictReader(open(sys.argv[1] + "/runs.csv"))}
last = {r["run"]: r for r in R}
same = lambda a, b, keys: all(a[k] == b[k] for k in keys.split())
assert eval("(" + sys.argv[2] + ")"), {i: (N[i]["status"], N[i]["exit_code"], N[i]["error"]) for i in N}' "$1" "$2"
}

# The finished runs of DIR, each with what a second start would change.
finished() { # DIR
    grep -l '"status": "completed"' "$1"/runs/*/summary.json | xargs -r stat -c '%n %i %Y'
}

count_done() { # DIR
    finished "$1" 2>/dev/null | wc -l
}

# shellcheck disable=SC2317 # called by wait_until
has_done() { # DIR N
    [ "$(count_done "$1")" -ge "$2" ]
}

# shellcheck disable=SC2317 # called by wait_until
under_way() { # DIR EPOCH: of one run
    grep -q "\"epoch\":$2[.,]" "$1"/runs/*/server/metrics.jsonl
}

# shellcheck disable=SC2317 # called by wait_until
idle() { # DIR
    ! pgrep -f "$dir/$1/" >/dev/null
}

cat >grid.yaml <<'END'
name: small
cluster: {parties: 2}
seeds: 2
labels: {of: tests}
set: {training: {epochs: 2, batch: 100}, model.embedding: 4}
party: {"*": {model.layers: [4]}}
grid:
  protocol.pbm.trials: [4, 8]
  protocol.local_iterations: [1, 2]
END

# --- a whole one ---

expect 0 '8 runs, 0 of them done' 'a dry run lists' experiment grid.yaml -n
same '' "$(ls runs 2>&1 | grep small)" 'and starts nothing'
expect 0 'results   .*/runs/small/results.csv' 'two axes and two seeds' experiment grid.yaml --jobs 2
expect 0 '8 runs, 8 of them done' 'a dry run says what is done' experiment grid.yaml -n
holds runs/small 'len(R) == 16 and len(N) == 8' 'a row for each evaluation, and for each run'
holds runs/small '{(r["status"], r["exit_code"]) for r in N.values()} == {("completed", "0")}' 'all completed'
holds runs/small 'list(R[0])[:7] == ["experiment", "run", "of", "protocol.pbm.trials", "protocol.local_iterations",
    "seed", "epoch"] and R[0]["of"] == "tests" and R[0]["experiment"] == "small"' \
    'labels and axes stand before the seed'
holds runs/small 'sorted((r["protocol.pbm.trials"], r["protocol.local_iterations"], r["seed"]) for r in N.values()) == [
    (b, q, s) for b in "48" for q in "12" for s in "12"]' 'the whole product is there'
holds runs/small 'all(same(last[i], N[i], "payload_up payload_down frame_up frame_down epsilon test_auprc train_loss")
    and last[i]["round"] == N[i]["rounds"] for i in N)' 'the last evaluation has what the run has'
holds runs/small 'all(float(a["epsilon"]) < float(b["epsilon"]) and float(a["epsilon_own"]) < float(b["epsilon_own"])
    and int(a["payload_up"]) * 2 == int(b["payload_up"]) and int(a["tls_up"]) < int(b["tls_up"])
    and int(a["total_payload_up"]) > int(a["payload_up"]) for a, b in zip(R[::2], R[1::2]))' \
    'and what was spent and sent grows until then'
holds runs/small 'len(set(r["model_sha256"] for r in N.values())) == 8' 'other settings, other models'
same '' "$(ls runs/small/runs/*/data 2>/dev/null)" 'split columns are not kept'
stamps=$(finished runs/small)
expect 0 '8 runs, 8 of them done' 'a second start' experiment grid.yaml
same "$stamps" "$(finished runs/small)" 'leaves all of them alone'

# What follows is about a script and a program without threads.  Under ThreadSanitizer its many short runs would
# take minutes and say no more of the daemons than other tests do.
case $VFL_BIN in */tsan/*) closing ;; esac

# --- killed, interrupted, begun again ---

interruptible grid.yaml --out cut --jobs 1 >said-1 2>&1 &
script=$!
wait_until has_done cut 1
kill -KILL $script
wait $script
stamps=$(finished cut)
interruptible grid.yaml --out cut --jobs 2 >said-2 2>&1 &
script=$!
wait_until has_done cut 4
kill -INT $script
wait $script
same 130 $? 'interrupted'
same 1 "$(grep -c 'the same command goes on' said-2)" 'and says what to do'
same '' "$(pgrep -f "$dir/cut/" || :)" 'nobody is left at work'
same "$stamps" "$(finished cut | grep -F "$stamps")" 'what was done before is as it was'
holds cut 'len(N) == 8 and {"completed"} <= {r["status"] for r in N.values()} <= {"completed", "stopped", "missing"}' \
    'there are tables of what there is'
stamps=$(finished cut)
expect 0 '' 'the same command goes on' experiment grid.yaml --out cut --quiet
same '' "$(cat said)" '--quiet says nothing'
same "$stamps" "$(finished cut | grep -F "$stamps")" 'what was done is as it was'
same "$(steady runs/small/results.csv)" "$(steady cut/results.csv)" 'and the results are those of the whole one'
same "$(steady runs/small/runs.csv)" "$(steady cut/runs.csv)" 'of the runs, too'

# --- another grid in the same folder ---

sed -i 's/epochs: 2/epochs: 1/; s/\[4, 8\]/[4]/' grid.yaml
expect 0 '4 runs, 0 of them done' 'other settings are other runs' experiment grid.yaml --out cut --jobs 2
holds cut 'len(R) == 4 and len(N) == 4 and all(r["epochs"] == "1" for r in N.values())' 'the tables have them alone'
same 12 "$(count_done cut)" 'the others stay'
cp -r cut moved
expect 0 '2 runs, 2 of them done' 'a part of them, in a folder that was moved' \
    experiment grid.yaml --out moved --only iterations-2

# --- failures ---

cat >bad.yaml <<'END'
name: bad
cluster: {parties: 2}
set: {training.epochs: 1}
grid:
  arm:
    strict: {party: {2: {policy.min_parties: 9}}}
    refused: {protocol.encoding: float32}
    good:
END
expect 2 'failed    2 of 3 runs' 'failures do not stop the others' experiment bad.yaml
same 1 "$(grep -c '^vfl experiment: strict_s1.*: exit 5: .*policy' said)" 'each is said at once'
same 'good completed 0, refused failed 2, strict failed 5' "$(python3 -c '
import csv
print(", ".join(sorted(" ".join(r[k] for k in ("arm", "status", "exit_code"))
                       for r in csv.DictReader(open("runs/bad/runs.csv")))))')" 'with their codes in the table'
same '2 refused 5 strict' \
    "$(sed 's/\([a-z]*\)_s1[^\t]*\t\([0-9]\)\t..*/\2 \1/' runs/bad/failed | sort | paste -sd' ')" \
    'and in the list of failures'
stamps=$(finished runs/bad)
expect 5 'failed    1 of 1 runs' 'a failed run is tried again' experiment bad.yaml --only strict
same "$stamps" "$(finished runs/bad)" 'the good one is not'
sed -i 's/min_parties: 9/min_parties: 2/; /refused/d' bad.yaml
expect 0 '' 'without its cause there is no failure' experiment bad.yaml
same '' "$(cat runs/bad/failed)" 'and none in the list'

# --- an unfinished run that goes on ---

cat >long.yaml <<'END'
name: long
cluster: {parties: 2}
set: {training.epochs: 120, model.embedding: 4, checkpoint_rounds: 8}
party: {"*": {model.layers: [4], inject.delay: 0.01}}
END
interruptible long.yaml >/dev/null 2>&1 &
script=$!
wait_until under_way runs/long 3
kill -KILL $script
wait $script
wait_until idle runs/long
same 1 "$(grep -c '"status": "stopped"' runs/long/runs/s1.*/summary.json)" \
    'a killed script takes its runs with it, in order'
interruptible long.yaml --continue >/dev/null 2>&1 &
script=$!
wait_until under_way runs/long 30
kill -INT $script
wait $script
same 130 $? 'a long run interrupted'
holds runs/long '[r["status"] for r in N.values()] == ["stopped"] and len(R) >= 30' 'stands in the tables as stopped'
expect 0 '' 'goes on when asked to' experiment long.yaml --continue
same 2 "$(cat runs/long/runs/s1.*/server/log.txt | grep -c 'going on after')" 'from its checkpoints'
holds runs/long '[r["epochs"] for r in N.values()] == ["120"] and len(R) == 120' 'to its end'
holds runs/long 'all(r["seconds"] == r["payload_up"] == "" != r["test_loss"] for r in R) and
    all(r["total_s"] == r["tls_up"] == "" != r["epsilon"] for r in N.values())' \
    'without the bytes and seconds of one of its processes'

# --- turns ---

# Two parties' turns release a batch twice: 2 of 4 times in the first epoch, 4 of 4 in the second.
cat >turns.yaml <<'END'
name: turns
cluster: {parties: 2}
labels: {of: tests}
set:
  training: {epochs: 2, batch: 100, evaluate_every: 0.5}
  model.embedding: 4
  protocol: {aggregation: clear, local_order: sequential}
party: {"*": {model.layers: [4]}}
END
expect 0 '' 'turns' experiment turns.yaml --out turns
holds turns '[r["epoch"] for r in R] == ["0.6", "1", "1.6", "2"] and
    [a["epsilon_own"] == b["epsilon_own"] for a, b in zip(R, R[1:])] == [True, False, True]' \
    'a record takes part in every turn of its batch'

# --- mistakes ---

echo 'name: x
sed: {}' >wrong.yaml
expect 2 '^wrong.yaml:2: sed: unknown' 'a mistake in the grid' experiment wrong.yaml
same 1 "$(wc -l <said)" 'is one line'
expect 2 'which grid' 'no grid' experiment
expect 2 'already' 'two grids' experiment grid.yaml long.yaml
mkdir led
mkfifo led/lock
expect 2 'led/lock: a link, or neither' 'a folder with a pipe' timeout 60 "$vfl" experiment grid.yaml --out led
rm led/lock
printf 'as it was' >precious
ln -s ../precious led/grid.yaml
expect 2 'led/grid.yaml: a link, or neither' 'a folder with a link' timeout 60 "$vfl" experiment grid.yaml --out led
same 'as it was' "$(cat precious)" 'nothing was written through it'
expect 2 'unknown option --cake' 'an unknown option' experiment grid.yaml --cake yes
expect 2 'value is missing' 'an option without its value' experiment grid.yaml --jobs
expect 2 'whole number' 'no jobs' experiment grid.yaml --jobs 0
(
    flock 9
    expect 2 'an experiment is running there' 'two at a time in one folder' experiment grid.yaml --out cut
) 9>cut/lock >one
cat one
same 1 "$(grep -c '^ok' one)" 'are refused'
same '' "$(ls runs | grep -v -e small -e bad -e long)" 'and none of these left a folder'
closing
