#!/bin/sh
# test_models.sh -- a complete run leaves packages on all sides; they are listed, gone back to, and started from.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6

run() { # OUT OPTIONS...
    out=$1
    shift
    "$vfl" cluster --parties 3 --set training.epochs=1 --quiet --out "$out" "$@"
}

models() { # SIDE COMMAND...
    side=$1
    shift
    "$vfl" models --state "$side" "$@"
}

run one --seed 3 || not_ok 'the first run'
name=$(models one/server list | sed 's/^\* \([a-z0-9]*\) .*/\1/')
for side in server party-1 party-2 party-3; do
    same "* $name" "$(models one/$side list | cut -c 1-18)" "$side: the package of the run, in use"
done
models one/party-2 show | grep -q '^column      texture_error' && ok 'columns by their names' || not_ok 'no columns'

# What is in a package is what the run has written beside it.
python3 - one/party-1 "$name" <<'PY' && ok 'the same weights as in model.safetensors' || not_ok 'other weights'
import json, struct, sys
def data(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    return raw[8 + n:]
state, run = sys.argv[1:]
sys.exit(data(state + "/model.safetensors") != data(state + "/models/" + run + "/model.safetensors"))
PY

# Fine-tuned: both sides begin where the first run has ended.
model=models/$name/model.safetensors
run two --seed 3 --set training.learning_rate=1e-9 --set "model.load=$PWD/one/server/$model" \
    --party "1:model.load=$PWD/one/party-1/$model" --party "2:model.load=$PWD/one/party-2/$model" \
    --party "3:model.load=$PWD/one/party-3/$model" || not_ok 'a run from packages'
next=$(models two/server list | sed 's/^\* \([a-z0-9]*\) .*/\1/')
for side in server party-1; do
    mkdir -p "both/$side/models" && cp -r "one/$side/models/$name" "two/$side/models/$next" "both/$side/models/"
    printf '%s\n' "$name" "$next" >"both/$side/models/served"
    chmod 600 "both/$side/models/served"
    models "both/$side" compare "$name" "$next" |
        awk '/^weights/ && $6 + 0 < 1e-5 { found = 1 } END { exit !found }' &&
        ok "$side: it began with the weights of the first" || not_ok "$side: other weights"
done
# The same from what PyTorch would have written of a Sequential of Linear layers: out x in, 0, 2, 4, ...
cat >torch.py <<'PY'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header, data, out, at = json.loads(raw[8 : 8 + n]), raw[8 + n :], {}, 0
body = b""
for name, t in sorted((k, v) for k, v in header.items() if k != "__metadata__"):
    _, layer, what = name.split(".")
    begin, end = t["data_offsets"]
    x, shape = [data[i : i + 4] for i in range(begin, end, 4)], t["shape"]
    if what == "weight":
        x, shape = [x[i * shape[1] + o] for o in range(shape[1]) for i in range(shape[0])], shape[::-1]
    out["%d.%s" % (2 * int(layer), what)] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(x)]}
    at += 4 * len(x)
    body += b"".join(x)
head = json.dumps(out).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(head)) + head + body)
PY
for side in server party-1 party-2 party-3; do
    python3 torch.py "one/$side/$model" "$side.torch"
done
run torch --seed 3 --set training.learning_rate=1e-9 --set "model.load=$PWD/server.torch" \
    --party "1:model.load=$PWD/party-1.torch" --party "2:model.load=$PWD/party-2.torch" \
    --party "3:model.load=$PWD/party-3.torch" || not_ok "a run from PyTorch's weights"
for side in server party-1 party-2 party-3; do
    same "$(sha256sum <"two/$side/model.safetensors")" "$(sha256sum <"torch/$side/model.safetensors")" \
        "$side: PyTorch's weights are those of the package"
done

expect 2 'in use' 'the one in use is not removed' models both/server remove "$next"
models both/server rollback >/dev/null
same "* $name" "$(models both/server list | grep '^\*' | cut -c 1-18)" 'back to the one before'
models both/server remove "$next" && ok 'another one is' || not_ok 'not removed'
expect 2 'before this one' 'no further back' models both/server rollback

# For other columns, for the other side, damaged: refused before anything is said.
expect 2 'its column 1 is "mean_radius"' 'a bottom for other columns' \
    run three --party "2:model.load=$PWD/one/party-1/$model"
expect 2 "it is a head's package" 'a head for a bottom' run four --party "1:model.load=$PWD/one/server/$model"
expect 2 "it is a bottom's package" 'a bottom for a head' run five --set "model.load=$PWD/one/party-1/$model"
sed 's/"fusion":"sum"/"fusion":"sun"/' "one/server/$model" >changed.safetensors
expect 2 'that was changed' 'a changed one' run six --set "model.load=$PWD/changed.safetensors"

# --- a person is taken out of whatever lists ids ---
mkdir -p st/jobs st/runs/1-x st/runs/2-y st/models
printf '7\n77\n7a\n7' >st/jobs/1.ids
printf 'epochs=7\n7,\n' >st/jobs/2.plan
printf 'id,score_0\r\n7,0.5\r\n77,0.25\r\n' >st/runs/1-x/scores.csv
printf 'id,without\n7,p2\n' >st/runs/1-x/scores.csv.without
printf '77\n' >st/runs/2-y/scores.csv
printf 'without,id,score_0\np1,7,0.5\n7,8,1\n,7,2\n' >st/runs/2-y/answers.csv
expect 0 '^2 lines of lists of jobs' 'a person is taken out of lists of jobs' "$vfl" forget --state st --id 7
same '77 7a' "$(paste -sd' ' st/jobs/1.ids)" 'and nobody else whose id begins like this'
same "$(printf 'epochs=7\n7,')" "$(cat st/jobs/2.plan)" 'a plan is none'
same "$(printf 'id,score_0\r\n77,0.25\r')" "$(cat st/runs/1-x/scores.csv)" 'nor in scores'
same id,without "$(cat st/runs/1-x/scores.csv.without)" 'nor in who was away'
same "$(printf 'without,id,score_0\n7,8,1')" "$(cat st/runs/2-y/answers.csv)" 'nor in what contributions are made of'
same 600 "$(stat -c %a st/jobs/1.ids)" 'for this user alone'
expect 0 'keyed digest of the id' 'what stays is said' "$vfl" forget --state st --id 7
expect 2 '1 to 64 bytes' 'an id that is none' "$vfl" forget --state st --id 'a,b'
expect 2 'forget' 'no id' "$vfl" forget --state st
expect 6 'nowhere' 'no folder' "$vfl" forget --state nowhere --id 7
exec 7>st/lock
flock 7
expect 2 'st/lock' 'what a daemon has in hand is not changed under it' "$vfl" forget --state st --id 77
exec 7>&-
same '77 7a' "$(paste -sd' ' st/jobs/1.ids)" 'and stays'
closing
