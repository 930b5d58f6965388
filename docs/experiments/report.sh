#!/bin/sh
# report.sh -- the tables and pictures of docs/reproductions.md, from runs of the grids beside this file.
#
#   docs/experiments/report.sh [RUNS [GRID...]]
#
# RUNS (default: runs) holds a folder for each grid, as vfl experiment makes it; without names, all that are there.
# Prints the tables; writes GRID/*.csv (the same as plain numbers) and GRID/*.png.  RUNS/GRID/plots has more plots.
# SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
vfl=$here/../../deploy/vfl
runs=${1:-runs}
[ $# -eq 0 ] || shift

table() { # NAME OPTION...
    name=$1
    shift
    echo "== $grid: $name"
    "$vfl" report "$runs/$grid" --csv "$here/$grid/$name.csv" "$@"
}

picture() { # NAME PLOT OPTION...: PLOT is epoch, bytes, seconds or epsilon
    name=$1 plot=$2
    shift 2
    "$vfl" report "$runs/$grid" --quiet --png --plots "$runs/$grid/plots/$name" "$@"
    cp "$runs/$grid/plots/$name/$plot.png" "$here/$grid/$name.png"
    chmod 644 "$here/$grid/$name.png"
}

held() { # NAME OPTION...: chosen on some seeds, reported on others
    name=$1
    shift
    echo "== $grid: $name"
    "$here/held.py" "$runs/$grid/results.csv" --csv "$here/$grid/$name.csv" "$@"
}

draw() {
    mkdir -p "$runs/$grid/plots"
    case $grid in
    bytes)
        set -- --target auprc=0.95
        searched=case=own,tuned,search,star
        table settings --where $searched "$@" --base own
        table best --where $searched --by case,binary_loss "$@" --best payload --base own
        table check --where case=check --by setting "$@" --base own
        held again --where case=again --by setting --base setting=own --target auprc=0.95 --figure bytes
        picture best bytes --where $searched --by case,binary_loss "$@" --best payload
        ;;
    fedbcd-mnist)
        set -- --by local_order,local_iterations --best rounds --by-curve
        table small --where case=small "$@" --target auc=0.988
        held again --where case=again,again-lower --by case,local_order,local_iterations --base local_iterations=1 \
            --target auc=0.988
        held again-lower --where case=again,again-lower --by local_order,local_iterations --tune learning_rate \
            --choose 101-110 --base local_iterations=1 --target auc=0.988  # Q = 1 by the better rate of these seeds
        table saturated --where case=saturated "$@" --target auc=0.98
        picture saturated epoch --where case=saturated --where local_order=parallel "$@" --target auc=0.98
        ;;
    fedbcd-fresh)
        set -- --by label_holders,local_iterations --tune learning_rate --base local_iterations=1 --target auc=0.98
        held dense --where case=dense,dense-again "$@"
        held dense-lower --where case=dense-again --choose 101-110 "$@" # Q = 1 by the better of its two rates
        picture dense epoch --where case=dense-again --by label_holders,local_iterations --target auc=0.98 --best rounds
        ;;
    cvfl-q)
        held table --by compressor,steps --tune learning_rate --base compressor=none --target f1=0.95 --figure bytes
        ;;
    pbm-parties)
        "$here/pbm-parties/table.py" "$runs/pbm-parties/results.csv" "$here/pbm-parties"
        picture auprc epoch --by case,beta,parties --score auprc
        ;;
    fedvs-fusion)
        set -- --by case,fusion --score accuracy --target accuracy=0.82
        table table "$@"
        for fusion in mean max concat; do
            picture $fusion seconds --by case --score accuracy --where fusion=$fusion
        done
        ;;
    fedvs-parkinson)
        table table --by case --target auc=0.8
        picture seconds seconds --by case --score auc
        ;;
    pbm-har-parties)
        "$here/pbm-parties/table.py" "$runs/$grid/results.csv" "$here/$grid"
        picture accuracy epoch --by case,beta,parties --score accuracy
        ;;
    fedbcd-sweep)
        held table --by local_iterations --tune learning_rate --base local_iterations=1 --target auc=0.75
        ;;
    fedbcd-17)
        held table --by parties,local_order,local_iterations --tune learning_rate --base local_iterations=1 \
            --target auc=0.71
        ;;
    convergence)
        for method in pbm-vfl fedvs fedbcd c-vfl; do
            picture $method epoch --where case=$method --by how --score loss,split=train
        done
        ;;
    fedbcd-mnist-stiff)
        set -- --by local_order,local_iterations --best rounds
        table stiff "$@" --by-curve --target auc=0.98
        table stiff-975 "$@" --by-curve --target auc=0.975
        table runs "$@" --target auc=0.98
        picture stiff epoch "$@" --by-curve --target auc=0.98
        ;;
    fedbcd-mnist-wide)
        set -- --by local_order,local_iterations --best rounds --target auc=0.975
        table wide "$@" --by-curve
        table runs "$@"
        picture wide epoch "$@" --by-curve
        ;;
    fedbcd-mnist-wide-edge)
        set -- --by local_order,local_iterations,learning_rate --target auc=0.975
        table edge "$@" --by-curve
        table runs "$@"
        ;;
    fedbcd-credit)
        set -- --target auc=0.71 --best rounds
        table runs "$@" --where case=stiff --by split,local_order,local_iterations
        table even "$@" --where case=even --by split,local_iterations --by-curve
        table stiff "$@" --where case=stiff --by split,local_order,local_iterations --by-curve
        picture stiff epoch "$@" --where case=stiff --where local_order=parallel --where split=2 \
            --by local_iterations --by-curve
        ;;
    fedpbcd)
        set -- --target auc=0.75 --by learning_rate,steps
        table table "$@"
        picture rate-3 epoch "$@" --where learning_rate=3
        ;;
    cvfl)
        set -- --target accuracy=0.8 --by case,encoding,bits,error_feedback --base none
        table table "$@"
        picture bytes bytes "$@" --where encoding=,float32,lattice,topk --where case=none,compressed --where bits=,2,4
        ;;
    cvfl-latency)
        set -- --target auc=0.98 --by delay_ms,steps
        table table "$@"
        picture seconds seconds "$@" --where delay_ms=10,200
        ;;
    cvfl-computing)
        set -- --target auc=0.98 --by delay_ms,case
        table table "$@"
        picture seconds seconds "$@" --where delay_ms=10,200
        ;;
    pbm-phishing)
        set -- --target auprc=0.9,split=train --by case,trials,beta
        table table "$@"
        picture bytes bytes "$@" --where beta=0.25,
        ;;
    pbm-har)
        set -- --target accuracy=0.8,split=train --by case,trials,beta
        table table "$@"
        picture bytes bytes "$@" --where beta=0.25,
        ;;
    frontier)
        "$here/frontier/table.py" "$runs/frontier" "$here/frontier" "$here/frontier/twin.csv"
        (cd "$here/frontier" && gnuplot frontier.gp)
        ;;
    frontier-gaussian)
        "$here/frontier-gaussian/table.py" "$runs/frontier-gaussian" "$here/frontier-gaussian"
        (cd "$here/frontier-gaussian" && gnuplot frontier-gaussian.gp)
        ;;
    *)
        echo "report.sh: $grid: no such grid" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || for grid in bytes fedbcd-mnist fedbcd-fresh fedbcd-mnist-stiff fedbcd-mnist-wide \
    fedbcd-mnist-wide-edge fedbcd-credit fedpbcd cvfl cvfl-latency cvfl-q pbm-phishing pbm-har pbm-parties convergence \
    frontier frontier-gaussian; do
    [ ! -e "$runs/$grid/runs.csv" ] || set -- "$@" "$grid"
done
for grid in "$@"; do
    draw
done
