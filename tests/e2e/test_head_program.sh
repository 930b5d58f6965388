#!/bin/sh
# test_head_program.sh -- a head that a program computes: the same model as native layers, gone on with, predicted
# by, and programs that fail.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

PYTHONPATH=$root/deploy/python
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
python=/usr/bin/python3 # the one for which numpy is installed, whichever comes first in PATH
dense="model.head_program=[$python, -m, colonnade.dense, --head, 8]"
state=$root/tests/lib/program_state.py

"$state" draw first.safetensors 16 8 2 1
"$state" draw first-concat.safetensors 48 8 2 1
run() { # OUT OPTIONS...
    run_out=$1
    shift
    "$vfl" cluster --parties 3 --seed 5 --quiet --set training.epochs=2 --set training.learning_rate=0.05 \
        --out "$run_out" "$@" >"$run_out.said" 2>&1
}
both() { # NAME MOST OPTIONS...: with layers, and with the same layers as a program; weights at most so far apart
    both_name=$1 most=$2
    shift 2
    run "$both_name-native" --set 'model.head=[8]' --set "model.load=$dir/first.safetensors" "$@" ||
        not_ok "$both_name: with layers"
    run "$both_name-program" --set "$dense" --set "model.load=$dir/first.safetensors" "$@" ||
        not_ok "$both_name: with a program"
    apart=$("$state" apart "$both_name-native/server/model.safetensors" "$both_name-program/server/model.safetensors")
    case $apart in
    *[!0-9]*) not_ok "$both_name: $apart" ;;
    *) [ "$apart" -le "$most" ] && ok "$both_name: the same weights" || not_ok "$both_name: $apart e-9 apart" ;;
    esac
}
value() { # FILE EXPRESSION
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# --- the same model ---

clear='--set protocol.aggregation=clear --set protocol.encoding=float32'
both masked 20000
# shellcheck disable=SC2086 # words
{
    both adam 200000 $clear --set training.optimizer=adam --set protocol.local_iterations=3 --set model.fusion=concat \
        --set "model.load=$dir/first-concat.safetensors"
    both drop 20000 $clear --set protocol.straggler=drop
    both max 20000 $clear --set model.fusion=max
}
both fixed 20000 --set protocol.encoding=fixed
for what in 's["rounds"]' 's["bytes"]["by_message"]["broadcast"]' 's["bytes"]["by_message"]["upload"]'; do
    same "$(value masked-native/server/summary.json "$what")" "$(value masked-program/server/summary.json "$what")" \
        "parties are sent what they are sent of layers: $what"
done

# A server that dies and goes on, from its checkpoint and its journal.
mkdir bin
for tool in "$VFL_BIN"/*; do
    ln -s "$tool" bin
done
rm bin/vfl-server
# shellcheck disable=SC2016 # the wrapper's own
printf '#!/bin/sh\nexec "%s" "$@" $CRASH\n' "$VFL_BIN/vfl-server" >bin/vfl-server
chmod 755 bin/vfl-server
set -- --set "$dense" --set "model.load=$dir/first.safetensors" --set checkpoint_rounds=4
export CRASH='--set inject.crash_at_round=15'
VFL_BIN=$dir/bin run resumed "$@" && not_ok 'nobody was killed' || ok 'the server is killed'
CRASH=
VFL_BIN=$dir/bin run resumed "$@" && ok 'and goes on' || not_ok 'going on'
cmp -s masked-program/server/model.safetensors resumed/server/model.safetensors && ok 'to the same head' ||
    not_ok 'to another head'

# Without a checkpoint nothing has asked the program for what it has when the best one is put back.
both best 20000 --set state_key= --set data.validate=0.2 --set training.patience=2 --set training.epochs=6 \
    --set training.learning_rate=0.1
kept=$("$vfl" models --state best-program/server show | sed -n 's/^epochs *//p')
[ "$kept" -lt 6 ] && ok 'the best head was put back, not the last one' || not_ok "the model of epoch $kept"

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv
for side in native program; do
    expect 0 '' "$side: rows are predicted" predict fixed-$side --data new.csv
done
same yes "$(python3 - <<'PY'
import csv
rows = [list(csv.reader(open(f'fixed-{side}/predictions/1/scores.csv'))) for side in ('native', 'program')]
apart = max(abs(float(x) - float(y)) for a, b in zip(rows[0][1:], rows[1][1:]) for x, y in zip(a[1:], b[1:]))
print('yes' if len(rows[0]) == len(rows[1]) == 40 and apart < 1e-4 else apart)
PY
)" 'with the same scores'
expect 0 'program' 'its package says what it is' "$vfl" models --state masked-program/server show
expect 2 "is a program's" 'there is no graph of it' "$vfl" models --state masked-program/server export --onnx x.onnx

# --- heads that fail ---

failing() { # DEED QUESTION NTH WORDS OPTIONS...
    deed=$1 question=$2 nth=$3 words=$4
    shift 4
    out=$deed-$question-$nth
    run "$out" --set "model.head_program=[$python, $root/tests/lib/bad_head.py, $deed, $question, $nth]" "$@"
    same 6 $? "$out: exit code 6"
    grep -q "model.head_program: it $words" "$out/server/log.txt" && ok "$out: its log says why" ||
        not_ok "$out: its log does not say: $words"
}
goes_on() { # OUT: zeros to the end of the job
    for side in server party-1; do
        same completed "$(value "$1/$side/summary.json" 's["status"]')" "$1: $side has a whole run"
    done
    same yes "$("$state" lost "$1/server/model.safetensors")" "$1: what is kept says that it is lost"
}

failing crash back 1 'is gone in the middle of back' # with zeros: before anything is said
same '' "$(ls crash-back-1/server/models 2>/dev/null)" 'of which no model is kept'
failing crash back 5 'is gone in the middle of back'
goes_on crash-back-5
failing nan back 4 'gives a gradient with a value that is not finite'
goes_on nan-back-4
failing shape back 3 'says that it cannot back'
goes_on shape-back-3
failing hang forward 3 'does not answer forward within 1500 ms' --set model.head_program_timeout_ms=1500
goes_on hang-forward-3
expect 2 'with a model in use' 'there are no predictions by such a head' predict crash-back-5 --data new.csv
grep -q 'kept, and not in use: its head is lost' crash-back-5/server/log.txt && ok 'whose model is not in use' ||
    not_ok 'a lost head is in use'
# One that fails while it predicts has given no answer, and the next one is asked.
head() { # WORDS...: of what head.py is from now on
    printf 'import os\nos.execv("%s", "%s".split())\n' "$python" "$*" >head.py
}
bad=$root/tests/lib/bad_head.py
head "$python" "$bad" none back 0
run swapped --set "model.head_program=[$python, $dir/head.py]" || not_ok 'a run by a script'
head "$python" "$bad" crash evaluate 2
expect 6 'gone in the middle of evaluate' 'a head that fails at new rows' predict swapped --data new.csv
head "$python" "$bad" none back 0
expect 0 '' 'a head that does not' predict swapped --data new.csv
same yes "$(awk -F, 'NR > 1 && $NF != 0.5 { other++ } END { print (other > 30 ? "yes" : "no") }' \
    "$(find swapped/predictions -name scores.csv | sort | tail -1)")" 'is asked for all of them'

# --- a server that stands ---

trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT
run stands || not_ok 'a trial cluster'
port=$(cut -d: -f2 stands/server/address)
cat >moody.py <<PY
import os, signal, numpy
from colonnade import DenseHead, serve

class Moody(DenseHead):
    calls = 0

    def back(self, gradient):
        self.calls += 1
        mood = open('$dir/mood').read().strip()
        if mood == 'nan':
            return numpy.full((len(gradient), self.job.inputs), numpy.nan, numpy.float32)
        if mood == 'crash' and self.calls == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().back(gradient)

serve(Moody([8]))
PY
echo well >mood
cp stands/server/config.yaml plain.yaml
sed "\$a model: {head_program: [$python, $dir/moody.py]}" plain.yaml >stands/server/config.yaml
"$VFL_BIN/vfl-server" -c stands/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" >server.log 2>&1 &
echo $! >server.pid
for i in 1 2 3; do
    "$VFL_BIN/vfl-party" -c stands/party-$i/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
        --set data.predict=stands/data/party-$i-test.csv >party-$i.log 2>&1 &
    echo $! >$i.pid
done
job() {
    "$vfl" job --state stands/server "$@"
}
does() { # CODE WORDS WHAT JOB...
    code=$1 words=$2 what=$3
    shift 3
    expect "$code" "$words" "$what" job wait "$(job submit "$@")"
}
wait_until test -S stands/server/control
printf 'training: {epochs: 1}\n' >first.yaml
printf 'model: {head: [8]}\n' >layers.yaml
cut -d, -f1 stands/data/party-1-test.csv | tail -n +2 >ids
does 0 completed 'a job with the program' train first.yaml
does 0 completed 'and predictions by it' predict ids
does 1 'not beside model.head_program' 'a plan with layers is refused' train layers.yaml
echo nan >mood
does 1 'gives a gradient' 'a head that fails with zeros ends the job' train first.yaml
echo crash >mood
does 1 'gone in the middle of back' 'one that fails later is told of' train first.yaml
echo well >mood
does 0 completed 'the next one works' train first.yaml
cp plain.yaml stands/server/config.yaml
does 1 'not the one that this server was started with' 'another file is no other head' train layers.yaml
kill -0 "$(cat server.pid)" && ok 'the server still stands' || not_ok 'the server is gone'
kill "$(cat server.pid)" "$(cat 1.pid)" "$(cat 2.pid)" "$(cat 3.pid)"
for i in server 1 2 3; do
    wait "$(cat $i.pid)" 2>/dev/null
    rm $i.pid
done

# --- requests for single rows ---

# By the model of max: what the program answers is what layers have predicted.
expect 0 '' 'rows are predicted by layers under max' predict max-native --data new.csv
cat >moody.py <<PY
import os, signal
from colonnade import DenseHead, serve

class Moody(DenseHead):
    calls = 0

    def evaluate(self, x):
        self.calls += 1
        if self.calls > 1 and open('$dir/mood').read().strip() == 'crash':
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x)

serve(Moody([8]))
PY
port=$(cut -d: -f2 max-program/server/address)
"$VFL_BIN/vfl-server" -c max-program/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
    --set http=127.0.0.1:0 --set "model.head_program=[$python, $dir/moody.py]" >server.log 2>&1 &
echo $! >server.pid
for i in 1 2 3; do
    "$VFL_BIN/vfl-party" -c max-program/party-$i/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
        --set data.predict=max-native/predictions/1/data/party-$i-predict.csv >party-$i.log 2>&1 &
    echo $! >$i.pid
done
cat >ask.py <<'PY'
"""ask.py FIRST END: of these ids the status, and then the reasons or how far scores are from those of layers."""
import csv, http.client, json, sys
want = {r[0]: r[1:] for r in csv.reader(open('max-native/predictions/1/scores.csv'))}
ids = [i for i in want if i.isdigit()][int(sys.argv[1]):int(sys.argv[2])]
c = http.client.HTTPConnection(open('max-program/server/http').read().strip())
token = open('max-program/server/token.predict').read().strip()
c.request('POST', '/v1/models/served/predict', json.dumps({'ids': ids}), {'Authorization': 'Bearer ' + token})
a = c.getresponse()
said = json.load(a)
rows = said.get('scores', [])
apart = [abs(x - float(y)) for r in rows if 'scores' in r for x, y in zip(r['scores'], want[r['id']])]
print(a.status, [r['error'] for r in rows if 'error' in r] or said if a.status != 200 else
      'same' if len(apart) == 2 * len(ids) and max(apart) < 1e-4 else said)
PY
wait_until test -s max-program/server/http
echo well >mood
same '200 same' "$(python3 ask.py 0 5)" 'requests are answered by a program under max as layers would'
same '200 same' "$(python3 ask.py 5 6)" 'and one row of the same job'
echo crash >mood
case $(python3 ask.py 6 8) in
503*) ok 'a head that fails gives no answer' ;;
*) not_ok "a head that fails: $(cat server.log)" ;;
esac
grep -q 'on request: failed.*gone in the middle of evaluate' server.log && ok 'of which the log says why' ||
    not_ok 'nobody says why'
echo well >mood
same '200 same' "$(python3 ask.py 0 8)" 'nothing of it is kept: the next job answers for these rows'
kill "$(cat server.pid)" "$(cat 1.pid)" "$(cat 2.pid)" "$(cat 3.pid)"
for i in server 1 2 3; do
    wait "$(cat $i.pid)" 2>/dev/null
    rm $i.pid
done

# --- modules of PyTorch ---

if "$python" -c 'import torch' 2>/dev/null; then
    cat >torch_head.py <<'PY'
import torch
from colonnade import TorchHead, serve
serve(TorchHead(lambda job: torch.nn.Sequential(torch.nn.BatchNorm1d(job.inputs), torch.nn.Linear(job.inputs, 8),
                                                torch.nn.ReLU(), torch.nn.Linear(8, job.outputs))))
PY
    run torch --set "model.head_program=[$python, torch_head.py]" --set training.epochs=8 && ok 'a module trains' ||
        not_ok 'a module does not train'
    same yes "$(value torch/server/summary.json '"yes" if s["test"]["accuracy"] > 0.85 else s["test"]')" 'and learns'
else
    echo 'skip  modules of PyTorch: there is none here'
fi

# --- configurations ---

expect 2 'model.head_program: its command: No such file' 'a command that there is not' \
    "$VFL_BIN/vfl-server" -c masked-program/server/config.yaml -n --set 'model.head_program=[/nowhere]'
expect 2 'not beside model.head_program' 'layers are refused' \
    "$VFL_BIN/vfl-server" -c masked-program/server/config.yaml -n --set "$dense" --set 'model.head=[8]'
run bottom --set "model.head_program=[$python, -m, colonnade.dense, 8]"
same 6 $? 'a bottom is no head'
grep -q 'model.head_program a Head: this is Dense' bottom/server/log.txt && ok 'and is told so' ||
    not_ok 'nobody says so'

closing
