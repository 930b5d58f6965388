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
closing
