#!/bin/sh
# test_mapped.sh -- features in mapped files: a table larger than the memory that a party may have, the same model and
# the same messages as without, and a disk that is full.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6
mkdir lies

# shellcheck disable=SC2317 # called by expect and in_little
cluster() { # OUT OPTIONS...
    cluster_out=$1
    shift
    timeout 600 "$vfl" cluster --seed 5 --quiet --set training.epochs=1 --set protocol.patience_ms=120000 \
        --out "$cluster_out" "$@"
}
value() { # RUN EXPRESSION
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1/summary.json" "$2"
}
models() { # RUN
    for i in 1 2; do sha256sum <"$1/party-$i/model.safetensors"; done
}
# A run's daemons: models and what was said, however large; the second run has its features in files.
alike() { # RUN RUN WHAT
    differ '' "$(models "$1")" "$3: there are models"
    same "$(models "$1")" "$(models "$2")" "$3: the same models"
    for what in 's["bytes"]["by_message"]' 's["rounds"]' 's["test"]'; do
        same "$(value "$1" "$what")" "$(value "$2" "$what")" "$3: the same $what"
    done
}

# --- rows in no order, some kept back ---

python3 - <<'PY'
import random
random.seed(3)
rows = [(i, random.random(), random.choice('abc'), random.random()) for i in range(900)]
random.shuffle(rows)
with open('people.csv', 'w') as f:
    f.write('id,a,word,b,label\n')
    for i, a, word, b in rows:
        f.write(f'{i},{a if i % 9 else ""},{word},{b},{int(a + b + (word == "a") > 1.2)}\n')
PY
for kind in memory file; do
    [ $kind = memory ] || set -- --party "*:data.mapped=$dir/lies"
    cluster people-$kind --train people.csv --columns 'a+word,b' --set data.validate=0.2 "$@" >said 2>&1 ||
        not_ok "people, $kind"
done
alike people-memory people-file 'people'
same '' "$(ls lies)" 'files have no names'

# --- 210 MB of values, of 56 MB of pictures ---

python3 - <<'PY'
import os, struct
rows, side = 35000, 40
pixels = os.urandom(rows * side * side)
with open('x.idx', 'wb') as f:
    f.write(bytes([0, 0, 8, 3]) + struct.pack('>III', rows, side, side) + pixels)
with open('y.idx', 'wb') as f:
    f.write(bytes([0, 0, 8, 1]) + struct.pack('>I', rows) + bytes(p >> 7 for p in pixels[::side * side]))
PY
pictures() { # OUT OPTIONS...
    pictures_out=$1
    shift
    cluster "$pictures_out" --idx-train x.idx,y.idx --columns 1-1500,1501-1600 --set training.batch=1000 "$@"
}
in_little() ( # COMMAND...: 180 MB of data for each process, of which threads and BLAS take most
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -s 1024 && ulimit -d 180000 || exit 9
    export OPENBLAS_NUM_THREADS=1
    "$@"
)
pictures whole >said 2>&1 || not_ok 'pictures, without a limit'
if grep -qaE '__(asan|tsan)_init' "$VFL_BIN/vfl-party"; then
    echo 'skip  little memory: the program is built with a sanitizer'
else
    expect 6 'party-1.*no memory for [0-9]* rows of 1500 columns' 'too little memory is one line' \
        in_little pictures refused
    expect 0 '' 'in a file they need no memory' in_little pictures little --party "1:data.mapped=$dir/lies"
    alike whole little 'pictures'
fi

# --- a disk without room, and no folder ---

party() { # OPTIONS...
    "$VFL_BIN/vfl-party" -c whole/party-1/config.yaml "$@"
}
expect 6 "data.mapped: $dir/nowhere: No such file or directory" 'a folder that is none is named' \
    party --set "data.mapped=$dir/nowhere"
if unshare -m mount -t tmpfs none lies 2>/dev/null; then
    # shellcheck disable=SC2016 # for the inner shell
    expect 6 "data.mapped: $dir/lies: No space left on device" 'a full disk is one line' \
        unshare -m sh -c 'mount -t tmpfs -o size=20m none "$1" &&
            exec "$VFL_BIN/vfl-party" -c whole/party-1/config.yaml --set data.mapped="$1"' sh "$dir/lies"
    same 1 "$(wc -l <said | tr -d ' ')" 'and no other line'
else
    echo 'skip  a full disk: no disk of its own can be mounted here'
fi
closing
