#!/bin/sh
# test_program.sh -- bottoms that programs compute: the same model as native layers, kept, gone on with and predicted
# by; and programs that crash, hang or give what is no embedding.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

PYTHONPATH=$root/deploy/python
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
python=/usr/bin/python3 # the one for which numpy is installed, whichever comes first in PATH
dense="model.program=[$python, -m, colonnade.dense, 8]"
state=$root/tests/lib/program_state.py

# Of 30 columns each of three parties has ten.
for i in 1 2 3; do
    "$state" draw first-$i.safetensors 10 8 16 $i
done
run() { # OUT OPTIONS...
    run_out=$1
    shift
    "$vfl" cluster --parties 3 --seed 5 --quiet --set training.epochs=2 --set training.learning_rate=0.05 \
        --party "1:model.load=$dir/first-1.safetensors" --party "2:model.load=$dir/first-2.safetensors" \
        --party "3:model.load=$dir/first-3.safetensors" --out "$run_out" "$@" >"$run_out.said" 2>&1
}
both() { # NAME OPTIONS...: with layers, and with the same layers as programs
    both_name=$1
    shift
    run "$both_name-native" --party '*:model.layers=[8]' "$@" || not_ok "$both_name: with layers"
    run "$both_name-program" --party "*:$dense" "$@" || not_ok "$both_name: with programs"
}
apart_at_most() { # MOST NAME WHAT
    for i in 1 2 3; do
        apart=$("$state" apart "$2-native/party-$i/model.safetensors" "$2-program/party-$i/model.safetensors")
        case $apart in
        *[!0-9]*) not_ok "$3: $apart" ;;
        *) [ "$apart" -le "$1" ] && ok "$3: party $i, at most $apart e-9 apart" ||
            not_ok "$3: party $i: $apart e-9 apart" ;;
        esac
    done
}
value() { # FILE EXPRESSION
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# --- the same model ---

clear='--set protocol.aggregation=clear --set protocol.encoding=float32'
# shellcheck disable=SC2086 # words
{
    both clear $clear
    apart_at_most 20000 clear 'in clear the same weights'
    both adam $clear --set training.optimizer=adam --set training.weight_decay=0.01 \
        --set protocol.local_iterations=3
    apart_at_most 200000 adam 'with adam and local steps'
    both drop $clear --set protocol.straggler=drop --set protocol.gradient.form=factored
    apart_at_most 20000 drop 'under drop, with factored gradients'
    both refreshed $clear --set protocol.local_view=refreshed --set protocol.local_iterations=3
    apart_at_most 20000 refreshed 'with refreshed views'
    both patience $clear --set data.validate=0.2 --set training.patience=1
    apart_at_most 20000 patience 'the best model of several'
}
both topk --set protocol.aggregation=clear --set protocol.encoding=topk --set protocol.bits=4
apart_at_most 20000 topk 'with the largest columns alone'
both coded --set protocol.aggregation=coded --set protocol.encoding=fixed --set protocol.fixed.bits=12
apart_at_most 2000000 coded 'in coded shares'
both fixed --set protocol.encoding=fixed
apart_at_most 200000 fixed 'under masks, in fixed point'
both pbm
differences=$(for side in native program; do value pbm-$side/summary.json 's["test"]["loss"]'; done |
    awk 'NR == 1 { x = $1 } NR == 2 { d = x - $1; print (d < 0 ? -d : d) < 0.02 ? "near" : x " and " $1 }')
same near "$differences" 'with pbm under masks a loss as near as its draws let it be'
same raw "$(value pbm-program/party-1/summary.json 's["privacy"]["mechanisms"][0]["bottom"]')" 'it is priced as raw'
for what in 's["bytes"]["by_message"]' 's["rounds"]'; do
    same "$(value pbm-native/summary.json "$what")" "$(value pbm-program/summary.json "$what")" \
        "the same $what as with layers"
done

# --- kept ---

mkdir bin
for tool in "$VFL_BIN"/*; do
    ln -s "$tool" bin
done
rm bin/vfl-party
# shellcheck disable=SC2016 # the wrapper's own
printf '#!/bin/sh\nexec "%s" "$@" $CRASH\n' "$VFL_BIN/vfl-party" >bin/vfl-party
chmod 755 bin/vfl-party
export CRASH='--set inject.crash_at_round=7'
# shellcheck disable=SC2086 # words
VFL_BIN=$dir/bin run resumed --party "*:$dense" $clear && not_ok 'nobody was killed' || ok 'parties are killed'
CRASH=
# shellcheck disable=SC2086
VFL_BIN=$dir/bin run resumed --party "*:$dense" $clear && ok 'and go on' || not_ok 'going on'
for i in 1 2 3; do
    cmp -s clear-program/party-$i/model.safetensors resumed/party-$i/model.safetensors &&
        ok "party $i: to the same model" || not_ok "party $i: another model"
done

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv
for side in native program; do
    expect 0 '' "$side: rows are predicted" predict clear-$side --data new.csv
done
same yes "$(python3 - <<'PY'
import csv
rows = [list(csv.reader(open(f'clear-{side}/predictions/1/scores.csv'))) for side in ('native', 'program')]
apart = max(abs(float(x) - float(y)) for a, b in zip(rows[0][1:], rows[1][1:]) for x, y in zip(a[1:], b[1:]))
print('yes' if len(rows[0]) == len(rows[1]) == 40 and apart < 1e-4 else apart)
PY
)" 'with the same scores'
expect 2 "is a program's" 'there is no graph of it' "$vfl" models --state clear-program/party-1 export --onnx x.onnx
expect 0 'program' 'its package says what it is' "$vfl" models --state clear-program/party-1 show

# --- programs that fail ---

bad() { # DEED QUESTION NTH [SECONDS]
    printf 'model.program=[%s, %s, %s, %s, %s]' "$python" "$root/tests/lib/bad_bottom.py" "$1" "$2" "$3"
}
one() { # OUT OPTIONS...: a run in which party 2's bottom alone is a program
    one_out=$1
    shift
    run "$one_out" --party '1:model.layers=[8]' --party '3:model.layers=[8]' "$@"
}
one good --party "2:$(bad none forward 0)" && ok 'one of three has a program' || not_ok 'a run with one program'
failing() { # DEED QUESTION NTH WORDS OPTIONS...
    deed=$1 question=$2 nth=$3 words=$4
    shift 4
    out=$deed-$question-$nth
    one "$out" --party "2:$(bad "$deed" "$question" "$nth")" "$@"
    same 6 $? "$out: exit code 6"
    grep -q "model.program: it $words" "$out/party-2/log.txt" && ok "$out: its log says why" ||
        not_ok "$out: its log does not say: $words"
}
hidden() { # OUT [GOOD]: all others see what they see in a run of a program that works
    good=${2-good}
    same completed "$(value "$1/server/summary.json" 's["status"]')" "$1: the server has a whole run"
    same completed "$(value "$1/party-1/summary.json" 's["status"]')" "$1: party 1, too"
    for what in 's["rounds"]' 's["void_rounds"]' 's["bytes"]["by_message"]'; do
        same "$(value "$good/server/summary.json" "$what")" "$(value "$1/server/summary.json" "$what")" \
            "$1: the server's $what are those of any run"
    done
    grep -h 'program\|WARN\|ERROR\|warning\|error' "$1/server/log.txt" "$1/party-1/log.txt" >said
    same '' "$(cat said)" "$1: nobody else's log says anything"
    same yes "$("$state" lost "$1/party-2/model.safetensors")" "$1: what is kept says that it is lost"
}

# With zeros: before anything is said, and nothing else is tried again.
failing crash forward 1 'is gone in the middle of forward' --set protocol.patience_ms=6000
failing nan evaluate 1 'gives an embedding with a value that is not finite' --set protocol.patience_ms=6000
same '' "$(ls nan-evaluate-1/party-2/models 2>/dev/null)" 'of which no model is kept'
# With records.
failing crash forward 5 'is gone in the middle of forward'
hidden crash-forward-5
failing raise step 3 'says that it cannot step'
hidden raise-step-3
failing nan forward 2 'gives an embedding with a value that is not finite'
hidden nan-forward-2
failing shape forward 4 'says that it cannot forward'
hidden shape-forward-4
failing hang evaluate 2 'does not answer evaluate within 1500 ms' --party 2:model.program_timeout_ms=1500
hidden hang-evaluate-2
failing memory forward 3 'says that it cannot forward' --party 2:model.program_memory_mib=4096
hidden memory-forward-3
# Each answer in time, and all of a step not.
failing slow forward 3 'takes more than 10000 ms in one piece of work' --set protocol.patience_ms=20000
hidden slow-forward-3
drop='--set protocol.straggler=drop --set protocol.deadline_ms=8000'
# shellcheck disable=SC2086 # words
{
    one good-drop --party "2:$(bad none forward 0)" $drop || not_ok 'a run under drop'
    failing hang forward 4 'takes more than 4000 ms in one piece of work' $drop
}
hidden hang-forward-4 good-drop
# What a package of a run with records says is for this side alone.
lost=$(echo "$dir"/crash-forward-5/party-2/models/*/model.safetensors)
one again --party "2:$(bad none forward 0)" --party "2:model.load=$lost"
same 6 $? 'a run that begins with a lost bottom: exit code 6'
hidden again
grep -q MemoryError memory-forward-3/party-2/log.txt && ok 'memory is bounded' || not_ok 'memory is not bounded'
expect 6 'has failed before' 'predictions by such a model are zeros, and say so' predict crash-forward-5 --data new.csv

# --- what it has ---

PGPASSWORD=xyzzy one look --party "2:$(bad look forward 2)" || not_ok 'a program that looks around'
for words in 'no socket' "a pair b'x'" 'secret None' 'privileges none none none none' 'goes first 1000' \
    'denied: a raw pair' 'denied: a pair of datagrams' 'denied: signals to the daemon' \
    'denied: signals to the keeper' 'denied: signals to all' 'denied: signals to a group' \
    'denied: limits of the daemon' 'denied: memory of the daemon' 'denied: a new namespace'; do
    grep -q "info: program: $words\$" look/party-2/log.txt && ok "it has: $words" || not_ok "not: $words"
done
one flood --party "2:$(bad flood forward 2)" && ok 'what it prints stops nobody' || not_ok 'a flood'
same yes "$([ "$(wc -c <flood/party-2/log.txt)" -lt 400000 ] && echo yes)" 'and does not fill the log'
grep -q 'bytes of what it has printed were left out' flood/party-2/log.txt && ok 'which says so' ||
    not_ok 'nothing says what was left out'

# --- daemons that stand ---

# Who is started here ends with the test, whatever becomes of it.
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT
"$vfl" cluster --parties 3 --set training.epochs=1 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)
"$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" >server.log 2>&1 &
echo $! >server.pid
for i in 1 2 3; do
    case $i in
    1) bottom=$dense ;;
    2) bottom=$(bad crash forward 5) ;;
    3) bottom='model.layers=[8]' ;;
    esac
    "$VFL_BIN/vfl-party" -c run/party-$i/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
        --set data.predict=run/data/party-$i-test.csv --set "$bottom" >party-$i.log 2>&1 &
    echo $! >$i.pid
done
at_work() { # NAME: processes of that name which were started here
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/cwd")" != "$dir" ] || [ "$(cat "$p/comm")" != "$1" ] || echo "${p#/proc/}"
    done
}
two_wait() {
    [ "$(at_work python3 | wc -l)" = 2 ]
}
job() {
    "$vfl" job --state run/server "$@"
}
printf 'training: {epochs: 1}\n' >first.yaml
printf 'training: {epochs: 2, learning_rate: 0.1}\n' >second.yaml
cut -d, -f1 run/data/party-1-test.csv | tail -n +2 >ids
for i in 1 2 3; do
    case $i in
    1) set -- train first.yaml ;;
    2) set -- predict ids ;;
    3) set -- train second.yaml ;;
    esac
    wait_until test -S run/server/control
    if [ $i = 3 ]; then
        wait_until two_wait || not_ok 'no process waits'
        kill -9 "$(at_work python3 | head -1)"
    fi
    expect 0 completed "a job $1 of daemons that stand" job wait "$(job submit "$@")"
done
same 3 "$(grep -c 'completed: model.program: it ' party-2.log)" 'a program that fails is told of after each job'
same '' "$(grep 'model.program' party-1.log | grep -v 'another one is started')" 'and one that works is not'
same 1 "$(cat party-[12].log | grep -c 'another one is started')" 'one that died between two jobs is started again'
same 0 "$(for i in server 1 2 3; do kill -0 "$(cat $i.pid)" || echo $i; done | wc -l)" 'no daemon ends by it'
wait_until two_wait && ok 'a process waits for the next job of each of the two' || not_ok 'no process waits'
same 5 "$(at_work vfl-party | wc -l)" 'beside three daemons and two keepers'
kill -9 "$(cat 1.pid)"
kill "$(cat server.pid)" "$(cat 2.pid)" "$(cat 3.pid)"
for i in server 1 2 3; do
    wait "$(cat $i.pid)" 2>/dev/null
    rm $i.pid
done
none_at_work() {
    [ -z "$(at_work python3)$(at_work vfl-party)" ]
}
wait_until none_at_work && ok 'all of them end with their daemon, killed or not' || not_ok 'some are left'

# --- modules of PyTorch, where there is one ---

if "$python" -c 'import torch' 2>/dev/null; then
    cat >module.py <<'PY'
import torch
from colonnade import TorchBottom, serve

def make(job):
    return torch.nn.Sequential(torch.nn.Linear(job.inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, job.outputs))

serve(TorchBottom(make))
PY
    # Weights as PyTorch has them: out x in, 0 and 2.
    for i in 1 2 3; do
        "$python" - first-$i.safetensors first-$i.pt <<'PY'
import sys, torch
from colonnade.tensors import unpack
w = {name: torch.tensor(values) for name, values in unpack(open(sys.argv[1], 'rb').read()).items()}
torch.save({'0.weight': w['layer.0.weight'].T.contiguous(), '0.bias': w['layer.0.bias'],
            '2.weight': w['layer.1.weight'].T.contiguous(), '2.bias': w['layer.1.bias']}, sys.argv[2])
PY
    done
    torch() { # OUT
        # shellcheck disable=SC2086 # words
        run "$1" --set training.optimizer=adam --set training.weight_decay=0.01 --set protocol.local_iterations=3 \
            $clear --party "*:model.program=[$python, $dir/module.py]" --party "1:model.load=$dir/first-1.pt" \
            --party "2:model.load=$dir/first-2.pt" --party "3:model.load=$dir/first-3.pt"
    }
    torch torch && ok 'modules of PyTorch are trained' || not_ok 'modules of PyTorch'
    same near "$(for side in adam-native torch; do value $side/summary.json 's["test"]["loss"]'; done |
        awk 'NR == 1 { x = $1 } NR == 2 { d = x - $1; print (d < 0 ? -d : d) < 1e-5 ? "near" : x " and " $1 }')" \
        'to the loss of native layers'
    export CRASH='--set inject.crash_at_round=7'
    VFL_BIN=$dir/bin torch torch-resumed && not_ok 'nobody was killed' || ok 'parties are killed'
    CRASH=
    VFL_BIN=$dir/bin torch torch-resumed && ok 'and go on' || not_ok 'going on'
    same "$(value torch/summary.json 's["model_sha256"]')" "$(value torch-resumed/summary.json 's["model_sha256"]')" \
        'to the same modules, with what their optimisers had'
    "$vfl" cluster --parties 3 --seed 5 --quiet --out columns --set training.epochs=4 \
        --set training.optimizer=adam --set training.learning_rate=0.003 \
        --party "*:model.program=[$python, $root/deploy/python/examples/columns.py]" >columns.said 2>&1 &&
        ok 'a transformer over columns trains' || not_ok 'a transformer over columns'
    same yes "$(value columns/server/summary.json '"yes" if s["test"]["accuracy"] > 0.85 else s["test"]')" 'and learns'
    # Forty images whose class is a colour.
    "$python" - images.bin <<'PY'
import sys, numpy
draw = numpy.random.default_rng(1)
images = draw.integers(0, 80, (40, 3, 1024), dtype=numpy.uint8)
for i in range(40):
    images[i, i % 2] += 150
with open(sys.argv[1], 'wb') as file:
    for i in range(40):
        file.write(bytes([i % 2]) + images[i].tobytes())
PY
    "$vfl" cluster --parties 2 --seed 5 --quiet --cifar-train images.bin --cifar-test images.bin --out images \
        --set training.epochs=6 --set training.batch=20 --set training.optimizer=adam \
        --set training.learning_rate=0.003 --set protocol.aggregation=clear --set protocol.encoding=float32 \
        --party "*:model.program=[$python, $root/deploy/python/examples/resnet.py]" >images.said 2>&1 &&
        ok 'a residual network over images trains' || not_ok 'a residual network over images'
    same yes "$(value images/server/summary.json '"yes" if s["test"]["accuracy"] > 0.9 else s["test"]')" 'and learns'
else
    echo 'skip  modules of PyTorch: there is none here'
fi

# --- configurations ---

check() { # OPTIONS...
    "$VFL_BIN/vfl-party" -c clear-program/party-1/config.yaml -n --set "$dense" "$@"
}
expect 0 'colonnade.dense' 'a program is started, and the configuration printed' check
sed -n '1,/^# /p' said | grep -v '^#' >again.yaml
expect 0 'colonnade.dense' 'what is printed is read again' "$VFL_BIN/vfl-party" -c again.yaml -n
expect 2 'model.train=frozen: must be raw' 'frozen is refused' check --set model.train=frozen
expect 2 'model.train=dp: must be raw' 'dp is refused' check --set model.train=dp --set model.noise=1
expect 2 'model.layers=.8.: not beside model.program' 'layers are refused' check --set 'model.layers=[8]'
python3 "$root/tests/lib/sandbox.py" "$root/deploy/systemd/vfl-party.service" /bin/true
if [ $? -ne 77 ]; then
    expect 0 'colonnade.dense' 'a program starts in the sandbox of the unit, too' "$root/tests/lib/sandbox.py" \
        "$root/deploy/systemd/vfl-party.service" "$VFL_BIN/vfl-party" -c clear-program/party-1/config.yaml -n \
        --set "model.program=[env, PYTHONPATH=$PYTHONPATH, $python, -m, colonnade.dense, 8]"
fi
expect 2 'model.program: its command: No such file' 'a command that there is not' check --set 'model.program=[/nowhere]'
expect 2 'model.program: it is gone' 'a program that is none' check --set 'model.program=[true]'
# shellcheck disable=SC2086 # words
run pulled --party "*:$dense" --set protocol.proximal=0.1 --set protocol.local_iterations=2 \
    --set protocol.patience_ms=6000 $clear
grep -q 'protocol.proximal' pulled/party-1/log.txt && ok 'a plan that pulls weights back is refused' ||
    not_ok 'a plan that pulls weights back is not refused'
same '' "$(grep -h 'program\|proximal' pulled/server/log.txt)" 'and the server is not told why'

closing
