#!/bin/sh
# test_align.sh -- ids of tables that differ in rows, order and spelling come to one order on all sides: vfl align, and
# the same as a job of daemons that stand.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$dir" || exit 6
trap 'for p in "$dir"/*.pid; do [ ! -e "$p" ] || kill -9 "$(cat "$p")" 2>/dev/null; done; rm -rf "$dir"' EXIT

# 300 people: 5 % differ each way, rows in another order on each side.
people() { # SEED WHO-IS-MISSING (an awk condition on i)
    awk -v seed="$1" "BEGIN {
        srand(seed)
        for (i = 0; i < 300; i++)
            if (!($2))
                printf \"%f,P%04d,x%d\\n\", rand(), i, i % 7
    }" | sort | sed 's/^[^,]*,//'
}
{ echo id,city && people 1 'i % 20 == 0'; } >server.csv
{ echo id,city && people 2 'i % 20 == 1'; } >a.csv
{ echo city,id && people 3 'i % 20 == 2' | sed 's/\(.*\),\(.*\)/\2,\1/'; } >b.csv
{ echo id,city && people 4 'i % 20 == 3'; } >c.csv
awk 'BEGIN { for (i = 0; i < 300; i++) if (i % 20 > 3) printf "P%04d\n", i }' >want

aligned() {
    "$vfl" align --ids server.csv --party a.csv --party b.csv --party c.csv "$@"
}

expect 0 'aligned   240 rows in common, of 285 ids at the server, 3 parties' 'three parties and a server' \
    aligned --out one
for side in party-1 party-2 party-3; do
    same "$(sha256sum <one/server.ids)" "$(sha256sum <one/$side.ids)" "$side has the server's order"
done
same "$(cat want)" "$(sort one/server.ids)" 'it is the intersection'
differ "$(cat want)" "$(cat one/server.ids)" 'in an order that is not that of ids'
grep -q '^ "common": 240,$' one/summary.json && ok 'the summary has its size' || not_ok 'no size in the summary'
same "begun 1
told 1" "$(cat one/server/alignments/asked)" 'the server counts it'
expect 0 '  common  .*  285  .*  yes' 'and so does a ledger' "$VFL_BIN/vfl-party" -c one/party-2/config.yaml \
    --set server=127.0.0.1:1 --set data.train=b.csv --ledger
expect 0 'so far: 1 of 16 told something, 1 of 256 have begun' 'and -n says it' "$VFL_BIN/vfl-party" --align -n \
    -c one/party-2/config.yaml --set server=127.0.0.1:1 --set data.train=b.csv --set align.table=b.csv
same "$(sed -n 's/^transcript //p' one/server/alignments/common)" \
    "$(sed -n 's/^transcript //p' one/party-3/alignments/common)" 'all have one transcript'
expect 0 '240 rows' 'another alignment' aligned --out two
differ "$(cat one/server.ids)" "$(cat two/server.ids)" 'has keys, and so an order, of its own'

# --- spellings, several columns, duplicates ---
printf 'id,family name,first\n1,Nu\303\261ez, Ana\n2,Lee,Bo\n3,Day,Cy\n' >s2.csv
printf 'first;family name\nana;NUN\314\203EZ\nBO;lee\nzed;day\n' >p2.csv
printf 'first,family name,x\nbo,Lee,1\nAna,Nu\303\261ez,2\n' >q2.csv
names() { "$vfl" align --ids s2.csv --party p2.csv --party q2.csv --key 'family name,first' "$@"; }
expect 0 'aligned   2 rows' 'names in other cases and Unicode forms' names --fold --out names
same "$(printf 'Lee,Bo\nNu\303\261ez,Ana')" "$(sort names/server.ids)" "in the server's own spelling"
same "$(printf 'NUN\314\203EZ,ana\nlee,BO' | sort)" "$(sort names/party-1.ids)" "and in a party's"
same "$(sed 's/,.*//' names/server.ids | tr 'A-Z' 'a-z' | cut -c 1-2)" \
    "$(sed 's/,.*//' names/party-1.ids | tr 'A-Z' 'a-z' | cut -c 1-2)" 'in one order'
printf 'id\nx\ny\nx\n' >twice.csv
printf 'id\ny\nx\nx\nx\n' >thrice.csv
doubles() { "$vfl" align --ids twice.csv --party thrice.csv "$@"; }
expect 2 'server: .*an id is there twice' 'an id twice is refused' doubles --out d1
expect 0 'aligned   2 rows' 'or its first row is taken' doubles --duplicates first --out d2
expect 0 'aligned   3 rows' 'or all, the second with the second' doubles --duplicates all --out d3
same "$(printf 'x\nx\ny')" "$(sort d3/party-1.ids)" 'as often as on all sides'

# --- several keys, and rows that are added ---
printf 'nr,name,born\n1,Ann,1960\n2,Bo,1970\n,Cy,1980\n7,Di,1990\n' >s3.csv
printf 'nr;born;name\n9;1990;di\n2;1971;Bob\n1;1960;Ann\n8;1980;CY\n' >p3.csv
printf 'name,nr,born\nDi,,1990\nAnn,1,1960\nCy,3,1980\nBo,2,1970\n' >q3.csv
keyed() { "$vfl" align --ids s3.csv --party p3.csv --party q3.csv --key nr --key 'name,born' --fold "$@"; }
expect 0 'aligned   4 rows in common, of 4 ids' 'by number, and the others by name and birthday' keyed --out keys
same "$(printf '1\n2')" "$(head -n 2 keys/server.ids | sort)" 'the first key comes first'
same "$(printf 'Cy,1980\nDi,1990')" "$(tail -n 2 keys/server.ids | sort)" 'and the second has the rest'
same "$(tail -n 2 keys/server.ids | tr A-Z a-z)" "$(tail -n 2 keys/party-1.ids | tr A-Z a-z)" 'in one order'
same 2 "$(grep -c '^section 2 ' keys/party-2/alignments/common)" 'a section for each'
same "begun 2
told 2" "$(cat keys/server/alignments/asked)" 'each pass counts'
expect 0 'aligned   3 rows' 'too few by one of them are none, and left to the next' keyed --min 3 --out keys2
expect 2 'server: .*an empty id' 'a row without an id by any key' "$vfl" align --ids s3.csv --party p3.csv --key nr \
    --out keys3
printf '4,Eve,1950\n,Flo,1940\n' >>s3.csv
printf '4;1951;Eva\n;1940;Flo\n5;1930;Guy\n' >>p3.csv
printf 'Flo,6,1940\nEve,4,1950\n' >>q3.csv
cp keys/server/alignments/common keys/server/alignments/newer
expect 0 'aligned   6 rows in common, 4 of them before' 'rows are added' keyed --extends keys --out wider
same "$(cat keys/party-1.ids)" "$(head -n 4 wider/party-1.ids)" 'behind those that were there'
same common-2 "$(cat wider/name)" 'under a name of its own'
same "$(printf '4\nFlo,1940')" "$(tail -n 2 wider/server.ids)" 'by the same keys'
grep -q '^ "extended": 4,$' wider/summary.json && ok 'the summary says how many' || not_ok 'no number in the summary'
expect 2 'party-3 has no part in common' 'of as many parties' keyed --party q3.csv --extends keys --out wider2

# --- how many ids differ, and whose job it is: -n and doctor, by a composite key and by several in order ---
says() { # FOLDER WORDS WHAT ARGUMENTS...: of that side, before anybody is there
    says_in=$1 says_words=$2 says_what=$3
    shift 3
    case $says_in in
    */server) says_role=server says_at='listen: "127.0.0.1:0"' ;;
    *) says_role=party says_at='server: "127.0.0.1:1"' ;;
    esac
    { echo "$says_at" && cat "$says_in/config.yaml"; } >"$says_in/alone.yaml"
    expect 0 "^# $says_words" "-n: $says_what" "$VFL_BIN/vfl-$says_role" -c "$says_in/alone.yaml" "$@" -n
    "$vfl" doctor -c "$says_in/alone.yaml" "$@" >doctor.txt 2>&1
    grep -q "$says_words" doctor.txt && ok "doctor: $says_what" || not_ok "doctor says nothing of $says_words"
}
printf 'id,family name,first,label\n1,Nu\303\261ez,Ana,0\n2,Lee,Bo,1\n3,Day,Cy,0\n' >l2.csv
printf 'id,first,family name,x\n1,ana,NUN\314\203EZ,1\n2,BO,lee,2\n3,zed,day,3\n4,new,one,4\n' >d2.csv
printf 'id,nr,name,born,label\n1,1,Ann,1960,0\n2,2,Bo,1970,1\n3,,Cy,1980,0\n4,7,Di,1990,1\n5,30,Ed,1930,1\n' >l3.csv
{ echo id,nr,born,name,x && printf '%s\n' a,9,1990,di,1 b,2,1971,Bob,2 c,1,1960,Ann,3 d,8,1980,CY,4 \
    e,40,1900,Zed,5 f,,1910,Yan,6; } >d3.csv
grep -v BO d2.csv >d2-less.csv
grep -v CY d3.csv >d3-less.csv
for kind in 'names 2 2' 'keys 3 4'; do
    # shellcheck disable=SC2086 # words
    set -- $kind
    less=$(($3 - 1))
    says "$1/party-1" "alignment common (data.alignment): 2 rows of .*d$2.csv are left out; the server's operator" \
        "$1: rows that are left out" --set data.train="d$2.csv" --set data.alignment=common
    says "$1/party-1" "alignment common is not used (data.alignment): $3 of its $3 rows are in .*d$2.csv, and 2 rows \
there are not in it; whoever runs this side goes by it with data.alignment: common" \
        "$1: an alignment that is not used" --set data.train="d$2.csv"
    says "$1/party-1" "alignment common is not used (data.alignment): $less of its $3 rows are in .*less.csv, and \
2 rows there are not in it; the server's operator has all sides" \
        "$1: rows that are gone" --set data.train="d$2-less.csv"
    says "$1/server" "alignment common (labels.alignment): 1 rows of .*l$2.csv are left out; the server's operator" \
        "$1: the server's" --set labels.train="l$2.csv" --set labels.alignment=common --set training.batch=2
    expect 2 "l$2.csv:1: a label file .*those of an alignment's key go with the name of the alignment" \
        "$1: labels with columns of a key, and no alignment" "$VFL_BIN/vfl-server" -c "$1/server/alone.yaml" -n \
        --set labels.train="l$2.csv"
    expect 2 "d$2-less.csv: it lacks 1 of the $3 rows of alignment common, that of place [0-9]* first" \
        "$1: training by rows that are gone is refused" "$VFL_BIN/vfl-party" -c "$1/party-1/alone.yaml" -n \
        --set data.train="d$2-less.csv" --set data.alignment=common
done

# --- all labelled rows ---
expect 0 'aligned   285 labelled rows, 3 parties' 'all rows of the server' aligned --rows labelled --out all
same 285 "$(grep -c . all/server.ids)" 'which has each of them'
same '285 270 270 270' "$(cat all/*.ids | wc -l | awk '{ printf "%d", $1 / 4 }')$(for i in 1 2 3; do
    printf ' %d' "$(grep -c . all/party-$i.ids)"
done)" 'a party has an empty line for each that it lacks'
same '' "$(for i in 1 2 3; do paste all/server.ids all/party-$i.ids | awk -F'\t' '$2 != "" && $1 != $2'; done)" \
    'and the same row as the server on all other lines'
grep -q '^labelled 285$' all/party-2/alignments/common && ok 'its file says which kind it is' || not_ok 'no kind'
grep -q '^ "labelled": 285,$' all/summary.json && ok 'as does the summary' || not_ok 'no kind in the summary'
expect 5 'fewer labelled rows than 286' 'too few labelled rows' aligned --rows labelled --min 286 --out few

# --- what is not right ---
printf 'name\nx\n' >noid.csv
printf 'id\nz\n' >other.csv
printf 'id\n"a\nb"\n' >control.csv
expect 2 'party-1: .*no column "id"' 'a table without ids' "$vfl" align --ids twice.csv --duplicates first \
    --party noid.csv --out e1
expect 2 'party-1: .*line break' 'an id of two lines' "$vfl" align --ids other.csv --party control.csv --out e2
expect 0 'aligned   0 rows' 'nothing in common' "$vfl" align --ids other.csv --party twice.csv --duplicates first \
    --out e3
same '' "$(cat e3/server.ids e3/party-1.ids)" 'is no id'
expect 5 'policy.align.min_result: fewer rows in common than 1' 'or a refusal' "$vfl" align --ids other.csv \
    --party twice.csv --duplicates first --min 1 --out e4
[ ! -e e4/server/alignments/common ] && [ ! -e e4/party-1/alignments/common ] && ok 'that leaves nothing' ||
    not_ok 'a refusal leaves a result'
expect 2 'no such file' 'a table that is not there' "$vfl" align --ids nowhere.csv --party a.csv --out e5
expect 2 'is not empty' 'a folder that is there' aligned --out one

# --- daemons that stand ---
"$vfl" cluster --parties 2 --set training.epochs=1 --seed 5 --quiet --out run || not_ok 'a trial cluster'
port=$(cut -d: -f2 run/server/address)
"$VFL_BIN/vfl-server" -c run/server/config.yaml --set stand=true --set listen=127.0.0.1:"$port" \
    --set align.table=server.csv >server.log 2>&1 &
echo $! >server.pid
wait_until [ -S run/server/control ] || not_ok 'no control socket'
for i in 1 2; do
    table=a.csv
    [ $i -eq 1 ] || table=b.csv
    "$VFL_BIN/vfl-party" -c run/party-$i/config.yaml --set stand=true --set server=127.0.0.1:"$port" \
        --set align.table=$table --set policy.align.max_alignments=3 --set policy.min_parties=2 \
        --set 'policy.align.rows=[labelled, common]' >party-$i.log 2>&1 &
    echo $! >$i.pid
done
job() {
    "$vfl" job --state run/server "$@"
}
echo 'name: q3' >q3.align
printf 'name: q4\nrows: labelled\n' >q4.align
echo 'name: ../q3' >bad.align
printf 'name: q3\nreplace: true\n' >again.align
echo 'training: {epochs: 1}' >plan.yaml
expect 2 'one line `name: NAME`' 'a name that is a path' job submit align bad.align
same 1 "$(job submit align q3.align)" 'a job'
same 2 "$(job submit train plan.yaml)" 'and one of training behind it'
same 3 "$(job submit align q3.align)" 'and another alignment of that name'
same 4 "$(job submit align again.align)" 'and one that replaces it'
same 5 "$(job submit align q4.align)" 'and one of labelled rows'
same 6 "$(job submit align again.align)" 'and one that is too many'
expect 0 completed 'it is played' job wait 1
expect 0 completed 'training follows' job wait 2
expect 1 'alignment q3 is there already' 'nothing is replaced unasked' job wait 3
expect 0 completed 'the second one is played' job wait 4
expect 0 completed 'the third is played' job wait 5
expect 1 'policy.align.max_alignments: there were 3' 'the fourth is refused' job wait 6
same 255 "$(sed '1,/^$/d' run/server/alignments/q3 | wc -l)" 'its result is kept at the server'
same "$(sed '1,/^$/d' run/server/alignments/q3)" "$(sed '1,/^$/d' run/party-2/alignments/q3)" 'and at a party'
expect 0 '"common": 255' 'and summed up' job summary 4
rm run/server/alignments/q3
same 7 "$(job submit align q3.align)" 'one whose name only parties have'
expect 1 'refuses: alignment q3 is there already' 'is refused by one of them' job wait 7
for p in server 1 2; do
    kill "$(cat $p.pid)"
    wait "$(cat $p.pid)"
done
same '285 270' "$(for side in server party-1; do sed '1,/^$/d' run/$side/alignments/q4 | grep -c .; done | xargs)" \
    'labelled rows by a line of its own'
closing
