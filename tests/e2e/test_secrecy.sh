#!/bin/sh
# test_secrecy.sh -- what a run leaves behind has nothing in it that must not be there: logs of all that daemons have to
# say, figures, summaries, plans, checkpoints, journals, ledgers, models and stored shares, of runs that came to
# their end, were killed, were refused.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# Values that occur nowhere else, and ids that say what they are.
python3 -c '
import random
random.seed(20261)
print("id," + ",".join(f"f{c}" for c in range(6)) + ",label")
for r in range(160):
    x = [random.choice((-1, 1)) * random.randrange(10**10, 9 * 10**10) / 10**10 for _ in range(6)]
    print(f"patient-{r:03}-xyzzy," + ",".join("%.10f" % v for v in x) + f",{int(sum(x[::2]) > 0)}")' >marked.csv

# Daemons that say all that they can.
mkdir bin
for tool in "$VFL_BIN"/*; do
    ln -s "$tool" bin
done
for daemon in vfl-server vfl-party; do
    rm bin/$daemon
    printf '#!/bin/sh\nexec "%s" "$@" -v %s\n' "$VFL_BIN/$daemon" '$VFL_LOG' >bin/$daemon
    chmod 755 bin/$daemon
done

run() { # OUT LOG-OPTION ARGUMENTS...
    run_out=$1
    VFL_LOG=$2
    export VFL_LOG
    shift 2
    VFL_BIN="$dir/bin" timeout 600 "$vfl" cluster --quiet --out "$run_out" --train marked.csv --parties 3 \
        --party '*:data.scale=none' --set training.epochs=4 --set training.batch=20 "$@" >"$run_out.said" 2>&1
    echo "exit $?"
}

# Records and keys of a run in all that it has left, but for key files.
found() { # OUT
    "$root/tests/lib/marks.py" "$1"/data/party-*.csv -- "$1"/server "$1"/party-* "$1"/*.json "$1"/*.txt "$1.said"
    "$root/tests/lib/leaks.py" "$1"/server/*.key "$1"/party-*/*.key -- "$1" "$1.said" |
        grep -v '^$\|/[a-z]*\.key$'
}
left() { # OUT NAME...: which of these it has left
    left_out=$1
    shift
    for left_name in "$@"; do
        find "$left_out" -name "$left_name" -size +0
    done | sed 's|.*/||; s/-[0-9]*\.sealed/-N.sealed/' | sort -u | tr '\n' ' '
}
quiet() { # OUT
    same '' "$(found "$1")" "$1: no record and no key in $(find "$1"/server "$1"/party-* -type f | wc -l) files"
    same yes "$([ "$(cat "$1"/*/log.txt | wc -l)" -ge 5 ] && echo yes)" "$1: its logs had much to say"
}

same 'exit 0' "$(run masked '')" 'a run, with all that can be logged'
same 'metrics.jsonl model.safetensors resolved.yaml summary.json ' \
    "$(left masked summary.json metrics.jsonl 'model.safetensors' resolved.yaml)" 'it leaves results'
quiet masked
same 'exit 0' "$(run coded --log-json --set protocol.aggregation=coded --set protocol.coded.segments=1 \
    --set protocol.coded.privacy=1)" 'shares, and logs in JSON'
quiet coded
differ 'exit 0' "$(run killed '' --set protocol.aggregation=fedvs --party '*:model.polynomial.degree=1' \
    --set checkpoint_rounds=3 --party '*:checkpoint_rounds=3' --set inject.crash_at_round=17)" 'a server that is killed'
same 'checkpoint.sealed journal-N.sealed shares ' \
    "$(left killed checkpoint.sealed 'journal-*.sealed' shares)" \
    'leaves checkpoints, a journal and stored shares'
quiet killed
differ 'exit 0' "$(run refused --log-json --party 2:policy.max_epsilon.value=0.01)" 'a plan that is refused'
quiet refused
sed '3s/$/x/; 5s/^\([^,]*\),[^,]*/\1,/' masked/data/party-1-train.csv >bad.csv
expect 2 'bad.csv:3: column 3' 'a table that cannot be read' \
    "$VFL_BIN/vfl-party" -v -c masked/party-1/config.yaml --set data.train=bad.csv
same '' "$("$root/tests/lib/marks.py" masked/data/party-*.csv -- said)" \
    'is named by line and column, not by what is there'

# --- what is there is found ---
cp -r masked planted
row=$(sed -n 5p planted/data/party-2-train.csv)
value=$(echo "$row" | cut -d, -f3)
same 1 "$(echo "$row" | grep -c '^patient-')" 'a marked row'
echo "debug: clipped at $value" >>planted/server/log.txt
same 'values planted/server/log.txt' "$(found planted)" 'a feature in a log is found'
printf 'debug: x = %.9f' "$value" >planted/server/log.txt
same 'values planted/server/log.txt' "$(found planted)" 'rounded, too'
python3 -c 'import struct, sys
open(sys.argv[1], "ab").write(struct.pack("<2f", *map(float, sys.argv[2].split(",")[1:3])))' planted/summary.json "$row"
echo "${row%%,*}" >>planted/server/metrics.jsonl
: >planted/server/log.txt
same 'values planted/summary.json,ids planted/server/metrics.jsonl' "$(found planted | sort -r | paste -sd,)" \
    'as float32, too; and an id'
cp masked/server/*.json masked/server/*.jsonl planted/server
cp masked/summary.json planted
cat planted/party-1/state.key >>planted/party-1/resolved.yaml
same planted/party-1/resolved.yaml "$(found planted)" 'and a key'
closing
