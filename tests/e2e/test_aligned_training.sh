#!/bin/sh
# test_aligned_training.sh -- three sides whose tables list different people, in other orders and spellings, train by
# what an alignment has found, as if somebody had sorted equal files by hand, and predict by another one; whoever's
# table or alignment does not fit says so in one line.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

# 300 people, of whom each side lacks some; rows in another order on each.
people() { # SEED WHO-IS-MISSING FORMAT CELLS (of awk: a condition on i; a row)
    awk -v seed="$1" "BEGIN {
        srand(7)
        for (i = 0; i < 300; i++) {
            a = rand(); b = rand(); c = rand(); d = rand(); y = (a + b + c > 1.5)
            row[i] = sprintf(\"$3\", $4)
        }
        srand(seed)
        for (i = 0; i < 300; i++)
            if (!($2))
                printf \"%f|%s\\n\", rand(), row[i]
    }" | sort | sed 's/^[^|]*|//'
}
{ echo id,label && people 1 'i % 20 == 0' 'Person %d,%d' 'i, y'; } >server.csv
{ echo x,id,z && people 2 'i % 20 == 1' '%.6f,person %d,%.6f' 'a, i, b'; } >b.csv
{ echo id,u,v && people 3 'i % 20 == 2' ' PERSON %d ,%.6f,%.6f' 'i, c, d'; } >c.csv
align() { # NAME OUT ARGUMENTS...
    align_name=$1 align_out=$2
    shift 2
    "$vfl" align --ids server.csv --party b.csv --party c.csv --fold --name "$align_name" --out "$align_out" "$@"
}
expect 0 '255 rows in common' 'three sides align' align q3 al

# --- all three, each with arguments of its own in SERVER, B and C ---
trains() { # STATE
    plays "$1" --set training.seed=5 --set training.epochs=2
}
plays() { # STATE ARGUMENTS-OF-THE-SERVER...
    plays_in=$1
    shift
    rm -f "$plays_in/server/address"
    # shellcheck disable=SC2086 # words
    timeout 120 "$VFL_BIN/vfl-server" -c "$plays_in/server/config.yaml" --insecure-seed 5 --set listen=127.0.0.1:0 \
        $server "$@" >server.log 2>&1 &
    echo $! >server.pid
    wait_until [ -s "$plays_in/server/address" ] || kill "$(cat server.pid)"
    at=$(cat "$plays_in/server/address")
    # shellcheck disable=SC2086 # words
    timeout 120 "$VFL_BIN/vfl-party" -c "$plays_in/party-1/config.yaml" --insecure-seed 5 --set "server=$at" $b \
        >b.log 2>&1 &
    echo $! >b.pid
    # shellcheck disable=SC2086 # words
    timeout 120 "$VFL_BIN/vfl-party" -c "$plays_in/party-2/config.yaml" --insecure-seed 5 --set "server=$at" $c \
        >c.log 2>&1
    codes=$?
    wait "$(cat b.pid)"
    codes="$? $codes"
    wait "$(cat server.pid)"
    codes="$? $codes"
}
sha() { # STATE
    sed -n '/"model_sha256"/,/}/p' "$1/server/summary.json"
}
server='--set labels.train=server.csv --set labels.alignment=q3'
b='--set data.train=b.csv --set data.alignment=q3'
c='--set data.train=c.csv --set data.alignment=q3'
trains al
same '0 0 0' "$codes" 'they train by it'
grep -q 'server.csv: 255 rows are in alignment q3, and 30 are left out' server.log &&
    ok 'the log says how many rows are left out' || not_ok 'no count of rows left out'
sha al >by_alignment

# --- as by hand: one id for each line of the aligned ids ---
sorted() { # IDS TABLE COLUMN-OF-IDS
    awk -F, -v OFS=, -v column="$3" 'function form(id) { gsub(/^ +| +$/, "", id); return tolower(id) }
        NR == FNR { place[form($0)] = FNR; next }
        FNR == 1 { print; next }
        form($column) in place { $column = place[form($column)]; print }' "$1" "$2"
}
sorted al/server.ids server.csv 1 >server.sorted.csv
sorted al/party-1.ids b.csv 2 >b.sorted.csv
sorted al/party-2.ids c.csv 1 >c.sorted.csv
same 256 "$(wc -l <c.sorted.csv)" 'tables are sorted by hand'
server='--set labels.train=server.sorted.csv' b='--set data.train=b.sorted.csv' c='--set data.train=c.sorted.csv'
trains al
same '0 0 0' "$codes" 'and trained on'
same "$(cat by_alignment)" "$(sha al)" 'which makes the same models, to the last bit'

# --- what does not fit is one line, before anything is said ---
server='--set labels.train=server.csv --set labels.alignment=q3'
b='--set data.train=b.csv --set data.alignment=q3'
asks() { # CODE WORDS WHAT ARGUMENTS...: of party 2, which nobody listens to
    asks_code=$1 asks_words=$2 asks_what=$3
    shift 3
    expect "$asks_code" "$asks_words" "$asks_what" "$VFL_BIN/vfl-party" -c al/party-2/config.yaml \
        --set server=127.0.0.1:1 "$@" -n
}
asks 0 '^# alignment q3 (data.alignment): 30 rows of .*c.csv are left out' '-n says how many rows are left out' \
    --set data.train=c.csv --set data.alignment=q3
asks 0 '^# alignment q3 is not used (data.alignment): 255 of its 255 rows are in .*c.csv, and 30 rows there are not' \
    'and what an alignment that is not used says of the table' --set data.train=c.csv
{ echo 'server: 127.0.0.1:1' && cat al/party-2/config.yaml; } >al/party-2/doctor.yaml
"$vfl" doctor -c al/party-2/doctor.yaml --set data.train=c.csv >said 2>&1
grep -q 'alignment q3 is not used (data.alignment): 255 of its 255 rows' said && ok 'doctor says it, too' ||
    not_ok 'doctor says nothing of alignments'
asks 0 "^# alignment: none, so all sides need the ids of .*c.csv.*the server's operator has them aligned" \
    'and where there is none, whose job one is' --set data.train=c.csv --set state=al/empty
expect 0 'alignment q3 (labels.alignment): 30 rows of .*server.csv are left out' 'the server says the same' \
    "$VFL_BIN/vfl-server" -c al/server/config.yaml --set listen=127.0.0.1:0 --set labels.train=server.csv \
    --set labels.alignment=q3 -n
grep -v 'PERSON 5 ' c.csv >deleted.csv
asks 2 'deleted.csv: it lacks 1 of the 255 rows of alignment q3, that of place [0-9]* first' 'a person who is gone' \
    --set data.train=deleted.csv --set data.alignment=q3
place=$(sed -n 's/.*that of place \([0-9]*\) first.*/\1/p' said)
same 'PERSON 5' "$(sed -n "$((place + 1))p" al/party-2.ids)" 'is named by place'
{ cat c.csv && echo 'person 7,1,2'; } >twice.csv
asks 2 'twice.csv:287: column 1 "id": an id is there twice' 'an id that is there twice now' \
    --set data.train=twice.csv --set data.alignment=q3
{ cat c.csv && echo 'person 1000,x,y' && echo 'person 1000,,'; } >more.csv
asks 0 ': 32 rows of .*more.csv are left out' 'and rows that nobody has are not even read' --set data.train=more.csv \
    --set data.alignment=q3
sed 's/^id/name/' c.csv >renamed.csv
asks 2 'renamed.csv: no column "id"' 'a table without the key' --set data.train=renamed.csv --set data.alignment=q3
asks 2 'data.alignment: no alignment "q4"' 'an alignment that is not there' --set data.train=c.csv \
    --set data.alignment=q4
asks 2 'the name of an alignment' 'a name that is a path' --set data.train=c.csv --set data.alignment=../q3
asks 2 'data.validate_by: order' 'an order that places are not in' --set data.train=c.csv --set data.alignment=q3 \
    --set data.validate=0.2 --set data.validate_by=order
asks 2 'data.alignment_test: data.alignment and' 'test rows without an alignment' --set data.train=c.csv \
    --set data.alignment=q3 --set data.test=c.csv
asks 2 'data.alignment_test: it is the same' 'or with the same' --set data.train=c.csv \
    --set data.alignment=q3 --set data.test=c.csv --set data.alignment_test=q3
keep=al/party-2/alignments/q3
cp $keep kept
for change in '$d' 's/PERSON 5$/PERSON 2/' '1s/3/1/' 's/fold=1/fold=0/' '12,13d' 's/^common 255/common 254/'; do
    sed "$change" kept >$keep
    asks 2 'alignments/q3: cut, changed, or no alignment of that name' "an alignment after $change" \
        --set data.train=c.csv --set data.alignment=q3
done
cp kept al/party-2/alignments/q5
asks 2 'alignments/q5: cut, changed' 'or by another name' --set data.train=c.csv --set data.alignment=q5

cp kept $keep
sed 's/Person/person/' server.csv >labels.csv
asks 0 'rows of .*c.csv are left out' 'labels of a party go by it, too' --set data.train=c.csv --set data.alignment=q3 \
    --set data.labels.train=labels.csv
sed '1p; 1d; 3d' c.sorted.csv | cut -d, -f 1,2 | sed '1s/u/label/; s/,.*[0-9]/,1/; s/^7,1/7000,0/' >labels.csv
asks 2 'data.labels.train: 1 of the 254 ids there are not in .*c.sorted.csv: 7000, and 2 of the 255 in it not' \
    'or, without one, how many of its ids differ' --set data.train=c.sorted.csv --set data.labels.train=labels.csv

# --- an order of another alignment is found out by all, and by nobody's ids ---
expect 0 '255 rows' 'another alignment' align q3 two
cp two/party-2/alignments/q3 $keep
c='--set data.train=c.csv --set data.alignment=q3'
trains al
same '2 2 2' "$codes" 'ends the run on all sides'
grep -q 'the ids of p2 are not those of p1' server.log && ok 'and the server says who differs' ||
    not_ok 'nobody is named'
cp kept $keep

# --- 40 new people, of whom sides lack others: predicted by their places, as if ids were equal ---
{ echo id,label && people 4 'i % 20 == 3' 'Person %d,%d' 'i + 1000, y' | head -n 41; } >server-new.csv
{ echo x,id,z && people 5 'i % 20 == 4' '%.6f,person %d,%.6f' 'a, i + 1000, b'; } >b-new.csv
{ echo id,u,v && people 6 'i % 20 == 5' ' PERSON %d ,%.6f,%.6f' 'i + 1000, c, d'; } >c-new.csv
align_new() { # NAME OUT ARGUMENTS...
    align_name=$1 align_out=$2
    shift 2
    "$vfl" align --ids server-new.csv --party b-new.csv --party c-new.csv --fold --name "$align_name" \
        --out "$align_out" --quiet "$@"
}
for kind in common labelled; do
    expect 0 '' "new people: $kind rows" align_new $kind new-$kind --rows $kind
    for side in server party-1 party-2; do
        cp new-$kind/$side/alignments/$kind al/$side/alignments/
    done
done
s_in='--set labels.train=server.csv' b_in='--set data.train=b.csv' c_in='--set data.train=c.csv'
predicts() { # ALIGNMENT SCORES ARGUMENTS-OF-THE-SERVER...
    predicts_by=$1 predicts_to=$2
    shift 2
    server="$s_in --predict served --alignment $predicts_by --scores $predicts_to"
    b="$b_in --predict served --alignment $predicts_by --set data.predict=${b_table:-b-new.csv}"
    c="$c_in --predict served --alignment $predicts_by --set data.predict=c-new.csv"
    plays al "$@"
}
ids_of() { # SCORES
    tail -n +2 "$1" | cut -d, -f 1
}
predicts common by-place.csv
same '0 0 0' "$codes" 'new people are predicted by places'
same "$(cat new-common/server.ids)" "$(ids_of by-place.csv)" 'under the names that the server has for them'
grep -q 'asks for [0-9]* rows of alignment common by the model of run .*, for ' c.log &&
    ok 'a party logs which rows, by which model and for whom' || not_ok 'no word of the alignment'
grep -q 'c-new.csv: [0-9]* rows are in alignment common, and [0-9]* are left out' c.log &&
    ok 'and how many of its own' || not_ok 'no count of rows'
sorted new-common/party-1.ids b-new.csv 2 >b.sorted.csv
sorted new-common/party-2.ids c-new.csv 1 >c.sorted.csv
wc -l <new-common/server.ids | xargs seq 1 >ids.txt
server="$s_in --predict served --ids ids.txt --scores by-hand.csv"
b="$b_in --predict served --set data.predict=b.sorted.csv"
c="$c_in --predict served --set data.predict=c.sorted.csv"
plays al
same '0 0 0' "$codes" 'and by ids that somebody has made equal'
same "$(cut -d, -f 2- by-hand.csv)" "$(cut -d, -f 2- by-place.csv)" 'which gives the same scores, to the last bit'

# --- answers are kept by alignment and place ---
again() { # CODE WORDS WHAT ARGUMENTS...: of the server alone
    again_code=$1 again_words=$2 again_what=$3
    shift 3
    expect "$again_code" "$again_words" "$again_what" "$VFL_BIN/vfl-server" -c al/server/config.yaml \
        --set listen=127.0.0.1:0 --set labels.train=server.csv --predict served --scores kept.csv "$@"
}
again 0 'were answered before: nobody is asked' 'what was answered is given again' --alignment common
same "$(cat by-place.csv)" "$(cat kept.csv)" 'as it was'
head -n 3 new-common/server.ids | tr 'Pe' 'pE' | tac >some.txt
again 0 'all 3 rows were answered before' 'a part of it by the ids of this side' --alignment common --ids some.txt
same "$(head -n 3 new-common/server.ids | tac)" "$(ids_of kept.csv)" 'in the order of these'
rows=$(wc -l <new-labelled/server.ids)
again 0 "^# $rows rows, .* $rows to be asked for" 'another alignment has none of these answers' \
    --alignment labelled -n
again 2 'some.txt:1: no id of that alignment' 'an id that is not in it' --alignment q3 --ids some.txt
again 2 'no alignment "none"' 'an alignment that is not there' --alignment none
: >empty.txt
again 2 'empty.txt: no ids' 'a list without ids is no list of all' --alignment common --ids empty.txt
whom=$(sed -n 5p new-common/server.ids)
expect 0 '^1 kept answers are forgotten' 'a person is forgotten' "$vfl" forget --state al/server --id "$whom"
grep -q "^alignment common lists it still, at place 4: .*replace: true" said &&
    ok 'and what is to be done about alignments is said' || not_ok 'no word of alignments'
again 0 '^# .* rows, .* 1 to be asked for' 'and asked for again, if at all' --alignment common -n
mv al/server/alignments/common common.away
echo spoilt >al/server/alignments/common
expect 0 '^0 kept answers' 'answers of an alignment that cannot be read stay' \
    "$vfl" forget --state al/server --id nobody
grep -q '^who is in it cannot be said, and answers of it stay: .*common' said && ok 'which is said' ||
    not_ok 'no word of it'
rm al/server/alignments/common
left=$(($(wc -l <new-common/server.ids) - 1))
expect 0 "^$left kept answers" 'answers of an alignment that is gone go with anybody' \
    "$vfl" forget --state al/server --id nobody
mv common.away al/server/alignments/common

# --- who lacks a row: unknown, where all had it; not told from others, where some may not ---
grep -v "$(sed -n 2p new-common/party-1.ids)" b-new.csv >b-fewer.csv
b_table=b-fewer.csv
predicts common fewer.csv
same '0 0 0' "$codes" 'a person who is gone at one side is predicted'
grep -q 'b-fewer.csv: it lacks 1 of the rows of alignment common that were here, that of place 1 first' b.log &&
    ok 'which knows it' || not_ok 'no word of it'
asked() { # PARTY
    "$VFL_BIN/vfl-party" -c al/party-$1/config.yaml --set server=127.0.0.1:1 --set data.train=b.csv --ledger
}
asked 1 >ledger.txt
grep -q 'unknown ids that were asked for: 1,' ledger.txt && ok 'and counts it' || not_ok 'it is not counted'
predicts labelled labelled.csv
same '0 0 0' "$codes" 'all labelled rows are predicted'
same "$(cat new-labelled/server.ids)" "$(ids_of labelled.csv)" 'each of them'
asked 1 >ledger-2.txt
same "$(grep 'asked for' ledger.txt)" "$(grep 'asked for' ledger-2.txt)" 'who lacks one counts nothing'
b_table=
asks_predict() { # CODE WORDS WHAT ARGUMENTS...
    asks_code=$1 asks_words=$2 asks_what=$3
    shift 3
    asks "$asks_code" "$asks_words" "$asks_what" --set data.train=c.csv --set data.predict=c-new.csv \
        --predict served "$@"
}
asks_predict 0 "^# $rows rows can be predicted by the model" '-n prices all of it' --alignment labelled
same 1 "$(grep -c '^# [0-9]* of the [0-9]* aligned rows are not here' said)" 'and says how many are not here'
asks_predict 2 'no alignment "none"' 'or that there is none' --alignment none
asks_predict 2 'data.group: of an alignment of labelled rows' 'of labelled rows nobody knows whose those are' \
    --alignment labelled --set data.group=u
expect 2 '--alignment goes with --predict' 'an alignment is of predictions' "$VFL_BIN/vfl-party" \
    -c al/party-2/config.yaml --set server=127.0.0.1:1 --set data.train=c.csv --alignment q3 -n

# --- another alignment of that name, or none, is one line on all sides ---
expect 0 '' 'the new people once more' align_new common other --rows common
cp other/party-2/alignments/common al/party-2/alignments/common
predicts common other.csv --set predict.epoch=2
same '2 2 2' "$codes" 'another alignment ends the job'
grep -q 'p2 refuses: alignment common: this side answers by places of another one' server.log &&
    ok 'by name, and before anything is asked' || not_ok 'nobody is named'
[ ! -e other.csv ] && ok 'without a score' || not_ok 'there are scores'
cp new-common/party-2/alignments/common al/party-2/alignments/common

# --- daemons that stand: the job says which alignment ---
port=$(cut -d: -f 2 al/server/address)
"$VFL_BIN/vfl-server" -c al/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
    --set labels.train=server.csv >server.log 2>&1 &
echo $! >server.pid
wait_until [ -S al/server/control ] || not_ok 'no control socket'
i=1
for side in b c; do
    "$VFL_BIN/vfl-party" -c al/party-$i/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
        --set data.train=$side.csv --set data.alignment=q3 --set data.predict=$side-new.csv >$side.log 2>&1 &
    echo $! >$side.pid
    i=$((i + 1))
done
expect 0 'completed' 'a job by its command' "$vfl" predict --model served --alignment common --state al/server \
    --by desk --out stood.csv
same "$(cat new-common/server.ids)" "$(ids_of stood.csv)" 'scores all of it'
expect 0 'completed' 'and one by another alignment' "$vfl" predict --model served --alignment labelled --ids some.txt \
    --state al/server --out some.csv
same 3 "$(ids_of some.csv | wc -l)" 'scores those that are named'
cp other/party-2/alignments/common al/party-2/alignments/common
expect 1 'alignment common: this side.s is of another making' 'another one of that name is refused' \
    "$vfl" predict --model served --alignment common --state al/server --out none.csv --absent p1
same 1 "$(grep -c 'error:' c.log)" 'with one line, by a daemon that stands on'
cp new-common/party-2/alignments/common al/party-2/alignments/common
expect 0 'completed' 'and plays the next one' "$vfl" predict --model served --alignment common --state al/server \
    --out stood.csv --absent p1
expect 2 'empty.txt: no ids' 'and no list without ids' "$vfl" predict --model served --alignment common \
    --ids empty.txt --state al/server --out none.csv
echo id,label >head.csv
expect 2 'head.csv: no ids' 'nor a table without rows' "$vfl" job --state al/server submit contribute \
    --model served --alignment common head.csv
expect 2 'alignment: no name' 'a name that is a path' "$vfl" predict --model served --alignment ../q3 \
    --state al/server --out none.csv
expect 2 'go.* with --out' 'no word of where to' "$vfl" predict --model served --alignment common --state al/server
for p in server b c; do
    kill "$(cat $p.pid)"
    wait "$(cat $p.pid)"
done
closing
