#!/bin/sh
# test_deep.sh -- convolutions between real processes: they learn, are kept, predict; wrong lists are refused.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# Each party has one picture of 2 x 8 x 8: noise, and a bar that stands (1) or lies (0) at any place of one channel.
python3 - <<'PY'
import random, struct
random.seed(11)
def picture(stands):
    p = [[[random.gauss(0, 0.3) for _ in range(8)] for _ in range(8)] for _ in range(2)]
    c, at, start = random.randrange(2), random.randrange(8), random.randrange(3)
    for k in range(start, start + 6):
        y, x = (k, at) if stands else (at, k)
        p[c][y][x] += 2
    return [v for channel in p for row in channel for v in row]
labels = [i % 2 for i in range(500)]
values = [v for label in labels for v in picture(label) + picture(label)]
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (500, 256), }"
head += ' ' * (-(len(head) + 11) % 64) + '\n'
with open('x.npy', 'wb') as f:
    f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
    f.write(struct.pack('<%df' % len(values), *values))
with open('y.csv', 'w') as f:
    f.write('label\n' + ''.join('%d\n' % label for label in labels))
PY

# shellcheck disable=SC2317 # called by expect
run() { # OUT ARGUMENTS...
    out=$1
    shift
    timeout 600 "$vfl" cluster --quiet --out "$out" --npy-train x.npy,y.csv --parties 2 --seed 5 \
        --set training.optimizer=adam --set training.batch=50 --set training.epochs=8 "$@"
}

holds() { # OUT EXPRESSION WHAT
    expect 0 '' "$3" python3 -c '
import json, sys
S = json.load(open(sys.argv[1] + "/summary.json"))
assert eval(sys.argv[2]), {k: S.get(k) for k in ("status", "error", "rounds", "test", "model_sha256")}
' "$1" "$2"
}

digest() { # RUN
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["model_sha256"])' "$1"
}

# shellcheck disable=SC2317 # called by expect
refused() { # ARGUMENTS...
    # shellcheck disable=SC2086 # words
    run no $shape "$@" >no.log 2>&1
    rc=$?
    cat no.log no/party-1/log.txt 2>/dev/null
    rm -rf no
    return $rc
}

layers='[{conv2d: {out: 8, kernel: 3, padding: 1}}, {groupnorm: 2}, relu, {maxpool: 2},'
layers="$layers"' {conv2d: {out: 8, kernel: 3}}, relu, globalpool, flatten]'
cnn='[{conv2d: {out: 16, kernel: 3, padding: 1}}, relu, {maxpool: 2}, {conv2d: {out: 32, kernel: 3, padding: 1}},'
cnn="$cnn"' relu, {maxpool: 2}, flatten, 64]'
batch='[{conv2d: {out: 8, kernel: 3}}, batchnorm, relu, {conv2d: {out: 8, kernel: 3}}, relu, globalpool, flatten]'
shape='--party *:data.shape=[2,8,8]'
set -f # the star is the cluster's

# --- they learn ---

# shellcheck disable=SC2086 # words
expect 0 '' 'convolutions, masked' run deep $shape --party "*:model.layers=$layers" --set training.learning_rate=0.01
holds deep 'S["status"] == "completed" and S["test"]["accuracy"] > 0.9' 'learn which way a bar lies'

# --- what is kept of them ---

expect 0 '128 (turn) -> 512 (conv) -> 512 (group_norm)' 'a package says what its layers are' \
    "$vfl" models --state deep/party-1 show
expect 0 '' 'and predicts' "$vfl" predict --quiet --run deep --data x.npy --out deep.csv
same 501 "$(wc -l <deep.csv)" 'every row'
expect 0 '' 'its graph is written' "$vfl" models --state deep/party-1 export --onnx deep.onnx
expect 0 'Conv .*InstanceNormalization .*MaxPool .*AveragePool' 'and says what its layers are' \
    /usr/bin/python3 "$root/tests/lib/onnx_run.py" show deep.onnx

# --- weights are for no other layers ---

package=$(find "$PWD/deep/party-1/models" -name model.safetensors)
others=$(echo "$layers" | sed 's/relu/tanh/')
# shellcheck disable=SC2086 # words
expect 2 'model.load: its layers, or their activations, are others' 'a package of other activations' \
    refused --party "*:model.layers=$others" --party "1:model.load=$package"

# --- whatever one record holds, a row has one shape ---

{
    echo id,c,colour
    for i in 1 2 3 4 5 6; do echo "$i,$i,1"; done
} >plain.csv
sed '7s/1$/green/' plain.csv >green.csv
# shellcheck disable=SC2317 # called by expect
coloured() { # FILE
    "$VFL_BIN/vfl-party" -n -c deep/party-1/config.yaml --set "data.train=$PWD/$1" --set data.test= \
        --set 'data.shape=[2,1]' --set 'model.layers=[{lstm: 4}]' --set data.scale=none
}

expect 0 '6 training and 0 test rows of 2 columns' 'numbers are a series' coloured plain.csv
expect 2 'green.csv' 'and a word is none, in a column that is a feature' coloured green.csv

# --- one model, by whatever way ---

# shellcheck disable=SC2086 # words
expect 0 '' 'a preset' run preset $shape --party '*:model.preset=cnn' --set training.epochs=2
# shellcheck disable=SC2086 # words
expect 0 '' 'the same, aloud' run aloud $shape --set training.epochs=2 --party "*:model.layers=$cnn"
same "$(digest preset)" "$(digest aloud)" 'are one model'

# Trained on, it has two packages, which are compared.
first=$("$vfl" models --state preset/party-1 list | sed 's/^\* \([a-z0-9]*\) .*/\1/')
# shellcheck disable=SC2086 # words
expect 0 '' 'an epoch more' run preset $shape --party '*:model.preset=cnn' --set training.epochs=3
next=$("$vfl" models --state preset/party-1 list | sed -n 's/^\* \([a-z0-9]*\) .*/\1/p')
expect 0 '^weights .*apart by at most' 'layered bottoms are compared' \
    "$vfl" models --state preset/party-1 compare "$first" "$next"

# --- each record cut by itself, and batches by their own moments ---

# shellcheck disable=SC2086 # words
expect 0 '' 'convolutions under dp' run dp $shape --party '*:model.preset=cnn' --party '*:model.train=dp' \
    --party '*:model.noise=1' --set training.epochs=1
# shellcheck disable=SC2086 # words
expect 0 '' 'moments of batches' run batch $shape --party "*:model.layers=$batch" --set protocol.encoding=fixed \
    --set training.learning_rate=0.01
holds batch 'S["status"] == "completed" and S["test"]["accuracy"] > 0.8' 'learn it, too'

# --- pictures in colour ---

# 200 of 3 x 32 x 32: label 1 has a bright half on the left of its red plane.
python3 - <<'PY'
import random
random.seed(7)
with open('colour.bin', 'wb') as f:
    for r in range(200):
        p = bytearray(random.randrange(60) for _ in range(3072))
        for y in range(32):
            for x in range(16 if r % 2 else 0):
                p[y * 32 + x] += 150
        f.write(bytes([r % 2]) + bytes(p))
PY
for cut in 1x2 2x2; do
    expect 0 '' "batches of CIFAR between parties by grid:$cut" timeout 600 "$vfl" cluster --quiet --out "colour-$cut" \
        --cifar-train colour.bin --columns "grid:$cut" --party '*:model.preset=cnn' --seed 5 \
        --set training.optimizer=adam --set training.batch=40 --set training.epochs=2
    holds "colour-$cut" 'S["status"] == "completed" and S["test"]["auc"] > 0.95' 'learn what is where'
done
expect 0 'shape: \[3,16,16\]' 'each party knows what its part is' cat colour-2x2/party-4/resolved.yaml
expect 0 '' 'and predicts a batch' "$vfl" predict --quiet --run colour-1x2 --data colour.bin --out colour.csv
same 201 "$(wc -l <colour.csv)" 'every picture'
expect 2 'one batch at a time' 'and no list of them' \
    "$vfl" predict --quiet --run colour-1x2 --data colour.bin,colour.bin

# --- what does not fit ---

expect 2 'item 1, conv2d: it takes what 9 x 9 fits in.*\[C, H, W\] = \[2, 8, 8\]' 'a window that is too large' \
    refused --party '*:model.layers=[{conv2d: {out: 4, kernel: 9}}, flatten]'
expect 2 'item 2, 16: it takes values without an order (flatten), and \[C, H, W\] = \[4, 6, 6\]' \
    'units on an image' refused --party '*:model.layers=[{conv2d: {out: 4, kernel: 3}}, 16]'
expect 2 'data.shape: a row is said to be \[C, H, W\] = \[3, 8, 8\], and this party' 'a shape that is not the columns' \
    refused --party '*:data.shape=[3,8,8]' --party '*:model.preset=cnn'
said=$shape shape=
expect 2 'item 1, conv2d: it takes an image or a series (data.shape), and' 'a preset without a shape' \
    refused --party '*:model.preset=cnn'
shape=$said
# shellcheck disable=SC2086 # words
expect 0 '' 'a polynomial takes values as they come' run polynomial $shape --set training.epochs=1 \
    --party '*:model.polynomial.degree=2' --party '*:model.layers=[]'
expect 2 'model.train: dp does not know what one record does to a layer of the kind batch_norm' 'dp' \
    refused --party "*:model.layers=$batch" --party '*:model.train=dp' --party '*:model.noise=1'
expect 2 'batch_norm makes what is released of a record hang on the others of its batch' 'noise beside it' \
    refused --party "*:model.layers=$batch" --set protocol.encoding=pbm
expect 2 'item 4, add: it takes twice the same, of which one is \[C, H, W\] = \[2, 8, 8\]' 'two ways that do not meet' \
    refused --party '*:model.layers=[residual, {conv2d: {out: 4, kernel: 3}}, relu, add, flatten]'
expect 2 'must be a layer whose kernel is a whole number in \[1, 255\]' 'a kernel of nothing' \
    refused --party '*:model.layers=[{conv2d: {out: 4, kernel: 0}}]'
expect 2 'must be a layer: a number of units, or one of conv2d' 'a word that is none' \
    refused --party '*:model.layers=[{cow: 4}]'

closing
