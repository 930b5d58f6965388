#!/bin/sh
# test_held.sh -- settings chosen on some seeds and reported on others (docs/experiments/held.py): what is chosen, by
# what, and the interval of a ratio.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

held=$root/docs/experiments/held.py

# rows: lines "Q RATE SEED ORDER STATUS ROUND:AUC..." to the table of vfl experiment, as far as it is read.
rows() {
    printf 'run,protocol.local_iterations,training.learning_rate,seed,protocol.local_order,status,'
    echo 'round,payload_up,payload_down,test_auc'
    while read -r q rate seed order status curve; do
        for point in $curve; do
            at=${point%:*}
            echo "$q-$rate-$seed,$q,$rate,$seed,$order,$status,$at,$((at * 10)),$((at * 5)),${point#*:}"
        done
    done
}

# The line of Q, without what stands before the seeds that report.
line() { # Q OPTION...
    q=$1
    shift
    python3 "$held" table.csv --target auc=0.9 --by local_iterations --tune learning_rate --base local_iterations=1 \
        --choose 1-2 --report 101-103 "$@" | grep "^| $q |"
}

# At Q = 1 rate 2 is sooner on the seeds that choose, though one of its runs stays below on those that report; at Q = 3
# rate 2 is soonest where it gets there, and gets there less often.
rows >table.csv <<'END'
1 1 1 parallel completed 10:0.5 60:0.9
1 1 2 parallel completed 10:0.5 60:0.95
1 2 1 parallel completed 10:0.5 40:0.9
1 2 2 parallel completed 10:0.5 42:0.95
1 2 3 parallel completed 10:0.95
1 1 101 parallel completed 10:0.5 20:0.9
1 2 101 parallel target 20:0.5 40:0.9
1 2 102 parallel target 20:0.9 40:0.8 60:0.7
1 2 103 parallel budget 20:0.5 40:0.9
1 2 104 parallel completed 1:0.99
3 1 1 parallel completed 10:0.5 30:0.9
3 1 2 parallel completed 10:0.5 30:0.9
3 2 1 parallel completed 5:0.9
3 2 2 parallel completed 5:0.89
3 1 101 parallel completed 5:0.5 10:0.9
3 1 102 parallel completed 10:0.5 10:0.9
3 1 103 parallel completed 10:0.5 20:0.9
3 2 103 parallel completed 1:0.9
5 1 1 parallel completed 7:0.9
5 1 101 parallel completed 5:0.5
5 1 102 parallel failed 1:0.9
END
# ratios 40/10, 20/10, 40/20: mean of the logarithms ln(16)/3, standard deviation 0.40019, t 4.30265 for two degrees
same '| 3 | 1 | 2/2 | 30 | 3 | 3 | 13.33 | 5.77 | 2.52 | 0.932 | 6.81 | 3 |' \
    "$(line 3)" 'what most seeds reach is chosen, and its ratio has an interval'
same '| 1 | 2 | 2/2 | 41 | 3 | 3 | 33.33 | 11.5 | 1 | 1 | 1 | 3 |' \
    "$(line 1)" 'of equals the soonest is chosen, and the first evaluation counts'
same '| 5 | 1 | 1/1 | 7 | 1 | 0 |  |  |  |  |  | 0 |' \
    "$(line 5)" 'a run that failed is none, one below the target is said'
same '| 3 | 1 | 2/2 | 450 | 3 | 3 | 200 | 86.6 | 2.52 | 0.932 | 6.81 | 3 |' \
    "$(line 3 --figure bytes)" 'bytes are both directions'

sed 's/parallel/sequential/' table.csv >turns.csv && mv turns.csv table.csv
same '| 3 | 1 | 2/2 | 15 | 3 | 3 | 6.667 | 2.89 | 2.52 | 0.932 | 6.81 | 3 |' \
    "$(line 3)" 'turns of two parties are half as many batches'
gzip -9n table.csv
same 3 "$(python3 "$held" table.csv.gz --target auc=0.9 --by local_iterations --tune learning_rate \
    --base local_iterations=1 --choose 1-2 --report 101-103 | grep -c '^| [135] |')" 'a packed table is read'
expect 1 'rate: no such column' 'an unknown column' \
    python3 "$held" table.csv.gz --target auc=0.9 --by rate --base rate=1

closing
