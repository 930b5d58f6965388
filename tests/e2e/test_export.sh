#!/bin/sh
# test_export.sh -- packages exported as ONNX are run by numpy alone, and score as the daemons do.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh source=../lib/predict.sh
. "$(dirname "$0")/../lib/e2e.sh"
. "$root/tests/lib/predict.sh"
cd "$dir" || exit 6

zcat "$root/tests/data/breast_cancer.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 { print } NR > 300 && NR < 340 { $1 = 2000 - NR; print }' >new.csv

# The one for which numpy is installed, whichever comes first in PATH.
onnx() {
    /usr/bin/python3 "$root/tests/lib/onnx_run.py" "$@"
}

# exported NAME: each side's own part, beside the others only because a trial cluster has all sides here.
exported() {
    name=$1
    for side in "$name"/server "$name"/party-*/; do
        "$vfl" models --state "$side" export --onnx "$name/$(basename "$side").onnx" >>said 2>&1 || return 1
    done
}

# scored NAME: what numpy makes of the exported files, beside the scores of prediction 1.
scored() {
    name=$1
    set --
    for i in $(seq "$(ls -d "$name"/party-*/ | wc -l)"); do
        set -- "$@" "$name/party-$i.onnx" "$(ls "$name"/party-"$i"/models/*/model.safetensors)" \
            "$(ls "$name"/predictions/1/data/party-"$i"-predict.*)"
    done
    onnx scores "$name/server.onnx" "$name/predictions/1/want.csv" "$@" || return
    python3 - "$name/predictions/1" <<'PY'
import csv, sys
read = lambda name: list(csv.reader(open(sys.argv[1] + "/" + name)))
got, want = read("scores.csv"), read("want.csv")
if [r[0] for r in got] != [r[0] for r in want] or got[0] != want[0]:
    print("other rows")
else:
    print(max(int(1e9 * abs(float(x) - float(y))) for a, b in zip(got[1:], want[1:]) for x, y in zip(a[1:], b[1:])))
PY
}

# kind NAME OPTIONS...: trained, predicted by the daemons, exported, run by numpy: the same to 1e-5.
kind() {
    kind_name=$1
    shift
    train 3 "$kind_name" "$@" || not_ok "training $kind_name"
    expect 0 '' "$kind_name predicts" predict "$kind_name" --data new.csv
    exported "$kind_name" && ok "$kind_name is exported" || not_ok "exporting $kind_name"
    within "$kind_name: as the daemons score" 0 10000 "$(scored "$kind_name")"
    expect 0 'finds nothing wrong\|is skipped' "$kind_name: the checker" onnx check "$kind_name"/*.onnx
}

clear='--set protocol.aggregation=clear --set protocol.encoding=float32'
# shellcheck disable=SC2086 # words
{
    kind sum $clear --set protocol.clip=2 --party '*:model.layers=[8,6]'
    kind mean $clear --set model.fusion=mean --set 'model.head=[8,4]' --set model.head_activation=sigmoid \
        --set model.binary_loss=sigmoid --party '*:model.activation=tanh'
    kind concat $clear --set model.fusion=concat --set 'model.head=[8]' --set model.head_activation=tanh \
        --set training.party_dropout=0.3 --party '*:model.activation=sigmoid'
    kind most $clear --set model.fusion=max --set model.head_activation=none \
        --set 'model.head=[8,batchnorm,relu,residual,{groupnorm: 2},tanh,add]'
    kind tempered $clear --set model.binary_loss=sigmoid --set data.validate=0.3 --set training.learning_rate=0.5
    kind regression $clear --set model.task=regression
    kind scaled $clear --set model.task=regression --set training.scale_targets=true
    kind identity $clear --set model.output=identity --set model.embedding=2
    kind bare $clear --set protocol.clip=0.3 --party '*:model.output_activation=none'
    kind polynomial $clear --set protocol.fedvs.x_max=3 --set model.embedding=5 --set training.batch=90 \
        --party '*:model.polynomial.degree=3'
    kind images $clear --party '*:data.shape=[2,1,5]' --party "*:model.layers=[residual, \
        {conv2d: {out: 4, kernel: 3, padding: 1, groups: 2, bias: 0}}, batchnorm, relu, shortcut, \
        {conv2d: {out: 4, kernel: 1}}, {groupnorm: 2}, add, tanh, \
        {maxpool: {size: 2, stride: 1, padding: 1}}, flatten, 6]"
    kind series $clear --party '*:data.shape=[5,2]' \
        --party '*:model.layers=[{gru: {units: 4, whole: 1}}, {avgpool: {size: 2, padding: 1}}, sigmoid, {lstm: 5}]'
}

# A gain, and the cut behind it, are in a bottom's graph; the daemons' scores have noise: numpy's stand beside it.
train 3 gained --set protocol.pbm.gain=5 --set protocol.pbm.trials=64 || not_ok 'training gained'
expect 0 '' 'gained predicts' predict gained --data new.csv
apart gained 1 >/dev/null # makes want.csv
cp gained/predictions/1/want.csv gained/predictions/1/scores.csv
exported gained && ok 'gained is exported' || not_ok 'exporting gained'
within 'gained: as numpy scores' 0 10000 "$(scored gained)"
onnx show gained/party-1.onnx >said
same 'operators Gemm Relu Gemm Tanh Mul Clip' "$(grep '^operators' said)" 'gained: all in the graph'

# What a file says of itself.
onnx show sum/party-1.onnx >said
grep -q '^columns mean_radius,' said && ok 'names of columns' || not_ok 'no names of columns'
grep -q '^preparation left out' said && ok 'that columns are prepared before' || not_ok 'nothing of preparation'
same 'operators Gemm Relu Gemm Relu Gemm Tanh Mul' "$(grep '^operators' said)" 'layer after layer'
same 'input columns rows 10' "$(grep '^input' said)" 'one input'
onnx show mean/server.onnx >said
same 'operators Sum Mul Gemm Sigmoid Gemm Sigmoid Gemm Sigmoid Sub Concat' "$(grep '^operators' said)" 'a head'
onnx show sum/party-1.onnx >notes
same 'role run plan_sha256 trail preparation columns ' "$(sed '1,/^output/d' notes | cut -d' ' -f1 | tr '\n' ' ')" \
    'no means, no deviations'
same 600 "$(stat -c %a sum/party-1.onnx)" 'for its owner alone'

expect 2 'wrong arguments' 'no file' "$vfl" models --state sum/server export
expect 2 '' 'no such run' "$vfl" models --state sum/server export none --onnx x.onnx
closing
