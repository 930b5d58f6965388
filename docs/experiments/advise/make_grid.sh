#!/bin/sh
# make_grid.sh -- the cases of grid.yaml: for each table and epsilon just what vfl price --advise prints, indented.
#
#   docs/experiments/advise/make_grid.sh >>grid.yaml
#
# The cases before "even" are what it printed when vfl price --advise took batches of the rows' 24th part.
# SPDX-License-Identifier: Apache-2.0
set -eu
vfl=$(dirname "$0")/../../../deploy/vfl

point() { # TABLE EPSILON ROWS COLUMNS CLASSES SPLIT
    "$vfl" price --advise --epsilon "$2" --rows "$3" --columns "$4" --classes "$5" >advice
    echo "  even-$1-$2:"
    echo '    seeds: [1101, 1102, 1103, 1104, 1105, 1106, 1107, 1108, 1109, 1110]'
    echo "    cluster: {train: $1-train.csv, test: $1-test.csv, $6}"
    echo '    set:'
    sed -n '/^# server.yaml/,/^# party.yaml/p' advice | sed '/^#/d; /^$/d; s/ #.*//; s/^/      /'
    echo '    party:'
    echo '      "*":'
    sed '1,/^# party.yaml/d; /^#/d; /^$/d; s/^/        /' advice
}

for epsilon in 4 10 2 6; do
    point phishing $epsilon 4718 6,6,6,6,6 2 'parties: 5'
    [ $epsilon = 4 ] || [ $epsilon = 10 ] || continue
    point mfeat $epsilon 1452 76,216,64,240,47,6 10 'parties: 6, columns: "1-76,77-292,293-356,357-596,597-643,644-649"'
    point default-credit $epsilon 21522 8,8,7 2 'parties: 3, columns: "1-8,9-16,17-23"'
    point har $epsilon 7352 187,187,187 6 'parties: 3'
done
rm advice
