# shellcheck shell=sh
# onward.sh -- who has come to an end in a trial cluster, and a complete one trained on: the same plan with more epochs.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2154 # a && b || fail is meant; variables are shared with cluster.sh

# A daemon that has written everything: to start it again would be to begin another run.
cluster_over() { # FOLDER
    grep -Eqs '^ "status": "(completed|target)"' "$out/$1/summary.json" && [ ! -e "$out/$1/checkpoint.sealed" ]
}

# The run came to its end, and so did everybody in it: a daemon that failed after the run goes on from there.
cluster_complete() {
    grep -Eqs '^ "status": "(completed|target|budget)"' "$out/summary.json" || return 1
    grep -q '^ "status": "budget"' "$out/summary.json" || ! grep -q '^ "error":' "$out/summary.json"
}

# Of a plan: how many epochs it asks for, and what it says but for them.
cluster_epochs() { # FILE
    cluster_number=$(sed -n 's/^set training\.epochs=//p' "$1" | tail -n 1)
    printf '%s' "${cluster_number:-10}"
}

cluster_without_epochs() { # FILE
    sed '/^set training\.epochs=/d' "$1"
}

# A complete run of this plan for fewer epochs is trained on: DIR/from.txt says from which model, and for how long.
# The name first: a plan without it would be another run of its own.
cluster_trains_on() {
    cluster_without_epochs "$out/plan.txt" >"$scratch/there"
    cluster_without_epochs "$scratch/plan" >"$scratch/asked"
    cmp -s "$scratch/there" "$scratch/asked" && cluster_complete && [ -e "$out/server/models/served" ] || return 1
    cluster_more=$(awk -v was="$(cluster_epochs "$out/plan.txt")" -v now="$(cluster_epochs "$scratch/plan")" \
        'BEGIN { more = now - was; if (was + 0 <= 0 || more <= 1e-9) exit 1; printf "%.9g", more }') || return 1
    printf '%s %s\n' "$(tail -n 1 "$out/server/models/served")" "$cluster_more" >"$scratch/from" &&
        mv "$scratch/from" "$out/from.txt" && mv "$scratch/plan" "$out/plan.txt"
}

# What that run has left makes room for what is to come, once.
cluster_put_aside() {
    [ -e "$out/from.txt" ] || return 0
    read -r from_run from_more <"$out/from.txt"
    cluster_aside=$out/before/$from_run
    [ ! -e "$cluster_aside/all" ] || return 0
    for cluster_side in "$out" "$out"/server "$out"/party-*; do
        cluster_to=$cluster_aside/${cluster_side#"$out"}
        mkdir -p "$cluster_to" || fail 6 "$cluster_to cannot be made"
        for cluster_left in summary.json metrics.jsonl; do
            [ ! -e "$cluster_side/$cluster_left" ] || mv "$cluster_side/$cluster_left" "$cluster_to/"
        done
    done
    : >"$cluster_aside/all"
    say "trains on: $from_more epochs more, from the model of run $from_run"
}
