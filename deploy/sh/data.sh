# shellcheck shell=sh
# data.sh -- what a trial cluster is made of: its files, cut into everybody's, and its plan.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # variables are shared with cluster.sh

# One source of data; names of files become absolute.
cluster_find_data() {
    cluster_sources=0
    for cluster_source in "$data" "$train" "$idx_train" "$npy_train" "$cifar_train"; do
        [ -z "$cluster_source" ] || cluster_sources=$((cluster_sources + 1))
    done
    [ $cluster_sources -le 1 ] ||
        fail 2 "--data, --train, --idx-train, --npy-train and --cifar-train exclude each other"
    [ -z "$test" ] || [ -n "$train" ] || fail 2 "--test needs --train"
    [ -z "$npy_test" ] || [ -n "$npy_train" ] || fail 2 "--npy-test needs --npy-train"
    [ -z "$cifar_test" ] || [ -n "$cifar_train" ] || fail 2 "--cifar-test needs --cifar-train"
    [ -z "$label" ] || [ -n "$train$npy_train$cifar_train" ] ||
        fail 2 "--label needs --train, --npy-train or --cifar-train"
    [ -z "$delimiter" ] || [ -n "$train$npy_train" ] || fail 2 "--delimiter needs --train or --npy-train"
    [ -z "$id$group$time" ] || [ -n "$train" ] || fail 2 "--id, --group and --time need --train"
    [ -z "$idx_test" ] || [ -n "$idx_train" ] || fail 2 "--idx-test needs --idx-train"
    if [ $cluster_sources -eq 0 ] || [ -n "$data" ]; then
        data=${data:-breast_cancer}
        train=$vfl_data/$data.csv.gz
        case $data in */*) train='' ;; esac
        cluster_known=$(cd "$vfl_data" && echo ./*.csv.gz | sed 's/\.csv\.gz//g; s/\.\///g')
        [ -f "$train" ] || fail 2 "--data $data: known are $cluster_known"
    fi
    [ -z "$train" ] || train=$(cluster_source "$train") || exit $?
    [ -z "$test" ] || test=$(cluster_source "$test") || exit $?
    [ -z "$schema" ] || schema=$(cluster_file "$schema") || exit $?
    [ -z "$idx_train" ] || idx_train=$(cluster_pair "$idx_train") || exit $?
    [ -z "$npy_train" ] || npy_train=$(cluster_pair "$npy_train") || exit $?
    [ -z "$npy_test" ] || npy_test=$(cluster_pair "$npy_test") || exit $?
    [ -z "$idx_test" ] || idx_test=$(cluster_pair "$idx_test") || exit $?
    [ -z "$cifar_train" ] || cifar_train=$(cluster_files "$cifar_train") || exit $?
    [ -z "$cifar_test" ] || cifar_test=$(cluster_files "$cifar_test") || exit $?
}

cluster_file() { # FILE
    [ -f "$1" ] || fail 2 "$1: no such file"
    readlink -f "$1"
}

cluster_source() { # FILE, or a table of a database server
    case $1 in postgres:* | odbc:*) printf '%s' "$1" ;; *) cluster_file "$1" ;; esac
}

cluster_files() { # FILE[,FILE...]
    cluster_rest=${1%,}, cluster_list=
    while [ -n "$cluster_rest" ]; do
        cluster_one=$(cluster_file "${cluster_rest%%,*}") || exit $?
        cluster_list=$cluster_list${cluster_list:+,}$cluster_one cluster_rest=${cluster_rest#*,}
    done
    printf '%s' "$cluster_list"
}

cluster_pair() {
    case $1 in ?*,?*) ;; *) fail 2 "$1: IMAGES,LABELS expected" ;; esac
    cluster_images=$(cluster_file "${1%%,*}") || exit $?
    cluster_labels=$(cluster_file "${1#*,}") || exit $?
    printf '%s,%s' "$cluster_images" "$cluster_labels"
}

cluster_plan() {
    printf 'train %s\ntest %s\nidx-train %s\nidx-test %s\n' "$train" "$test" "$idx_train" "$idx_test"
    printf 'parties %s\ncolumns %s\nlabel-map %s\n' "$parties" "$columns" "$label_map"
    for cluster_role in "label $label" "id $id" "group $group" "time $time" "positive $positive" \
        "delimiter $delimiter" "npy-train $npy_train" "npy-test $npy_test" "cifar-train $cifar_train" \
        "cifar-test $cifar_test" "test-share $test_share" "test-by $test_by" "schema $schema"; do
        [ -z "${cluster_role#* }" ] || printf '%s\n' "$cluster_role"
    done
    printf 'seed %s\nstrict-policy %s\n' "$seed" "$strict"
    [ "$netns" = no ] || echo netns yes
    cat "$sets"
}

cluster_split() {
    set -- --out "$out/data"
    for cluster_role in "train $train" "test $test" "idx-train $idx_train" "idx-test $idx_test" "parties $parties" \
        "npy-train $npy_train" "npy-test $npy_test" "cifar-train $cifar_train" "cifar-test $cifar_test" \
        "columns $columns" "label-map $label_map" "label $label" "id $id" "group $group" "time $time" \
        "delimiter $delimiter" "test-share $test_share" "test-by $test_by" "schema $schema"; do
        [ -z "${cluster_role#* }" ] || set -- "$@" "--${cluster_role%% *}" "${cluster_role#* }"
    done
    "$vfl_bin/vfl-split" "$@" >"$out/data.txt" && return
    code=$?
    [ "$fresh" = no ] || rm -rf "$out"
    exit "$code"
}
