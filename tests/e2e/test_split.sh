#!/bin/sh
# test_split.sh -- every cell and every label arrives once, unchanged, where it belongs.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# The files of one set side by side again: id, columns, label.  FOLDER SET PARTY...
together() {
    folder=$1 set=$2
    shift 2
    cut -d, -f1 "$folder/labels-$set.csv" >whole
    for i in "$@"; do
        cut -d, -f2- "$folder/party-$i-$set.csv" | paste -d, whole - >next && mv next whole
    done
    cut -d, -f2 "$folder/labels-$set.csv" | paste -d, whole -
}

# Both sets as one, in the order of ids.
back() { # FOLDER PARTY...
    folder=$1
    shift
    together "$folder" train "$@" >train.whole
    together "$folder" test "$@" | tail -n +2 | cat train.whole - | { read -r head && echo "$head" && sort -t, -n; }
}

# --- CSV ---
cells=$root/tests/data/breast_cancer.csv.gz
expect 0 'parties 4' 'a shipped set is cut for four by default' "$vfl" split --out a --train "$cells"
same "$(zcat "$cells" | sha256sum)" "$(back a 1 2 3 4 | sha256sum)" 'its cells come back verbatim'
columns=$(for i in 1 2 3 4; do head -n 1 a/party-$i-train.csv | tr , '\n' | tail -n +2 | wc -l; done)
same '8 8 7 7' "$(echo "$columns" | paste -sd' ')" \
    'the first F mod M parties get one column more'
zcat "$cells" | tail -n +2 | cut -d, -f1 | while read -r id; do
    byte=$(printf %s "$id" | sha256sum | cut -c 1-2)
    [ $((0x$byte % 5)) -ne 0 ] || echo "$id"
done >want
tail -n +2 a/labels-test.csv | cut -d, -f1 >got
same "$(sha256sum <want)" "$(sha256sum <got)" 'a row is a test row by SHA-256 of its id'
for i in 1 2 3 4; do
    same "$(cut -d, -f1 a/labels-train.csv | sha256sum)" "$(cut -d, -f1 a/party-$i-train.csv | sha256sum)" \
        "party $i has the ids of the labels"
done
expect 0 '' 'columns may be said' "$vfl" split --out b --train "$cells" --columns 30+1-2,3-29
same "$(zcat "$cells" | cut -d, -f31 | sort | sha256sum)" \
    "$( (cut -d, -f2 b/party-1-train.csv && tail -n +2 b/party-1-test.csv | cut -d, -f2) | sort | sha256sum)" \
    'and come in the order said'

printf 'id,a,b,label\n7,1.50,-0e3,1\n8, x ,,0\n' >t.csv
printf 'id,a,b,label\n1,9,8,2\n' >e.csv
expect 0 'train_rows 2' 'a test file is taken whole' "$vfl" split --out c --train t.csv --test e.csv --parties 2
same "$(printf 'id,a\n7,1.50\n8,x')" "$(cat c/party-1-train.csv)" 'no cell is reformatted but for blanks around it'
same "$(printf 'id,b\n1,8')" "$(cat c/party-2-test.csv)" 'the test rows are those of the test file'
printf 'id,a,label\n1,0,0\n2,0,1\n3,0,2\n5,0,3\n' >l.csv
for map in evenodd:0101 binary:2:0010 none:0123; do
    expect 0 '' "labels are mapped: ${map%:*}" \
        "$vfl" split --out m --train l.csv --test l.csv --parties 1 --label-map "${map%:*}"
    same "${map##*:}" "$(tail -n +2 m/labels-train.csv | cut -d, -f2 | tr -d '\n')" "as ${map%:*} says"
done
gzip -k t.csv
expect 0 '' 'gzip is read' "$vfl" split --out z --train t.csv.gz --test e.csv --parties 2
same "$(cat c/*.csv | sha256sum)" "$(cat z/*.csv | sha256sum)" 'as the plain file is'
printf 'id,a,label\r\n1,2,3\r\n' >crlf.csv
"$vfl" split --out r --train crlf.csv --test crlf.csv --parties 1 >/dev/null
same "$(printf 'id,label\n1,3')" "$(cat r/labels-train.csv)" 'lines may end as on other systems'

refuse() { # WORDS WHAT ARGUMENTS...
    words=$1 what=$2
    shift 2
    rm -rf x
    expect 2 "$words" "$what is refused" "$vfl" split --out x "$@"
    same '' "$(ls x 2>/dev/null)" 'and leaves no file'
}
refuse 'wrong arguments' 'no data'
refuse 'wrong arguments' 'data of two kinds' --train t.csv --idx-train a,b
refuse 'No such' 'a missing file' --train nowhere.csv
printf 'a,b,label\n1,2,3\n' >bad.csv
refuse 'bad.csv:1: the header' 'a header without id' --train bad.csv
printf 'id,a,target\n1,2,3\n' >bad.csv
refuse 'bad.csv:1: the header' 'a header without label' --train bad.csv
printf 'id,label\n1,2\n' >bad.csv
refuse 'bad.csv:1: the header' 'a set without columns' --train bad.csv
printf 'id,a,label\n1,2,3\n2,3\n' >bad.csv
refuse 'bad.csv:3: 2 cells, but the header has 3' 'a short line' --train bad.csv --parties 1
printf 'id,a,label\n1,2,3\n2,3,4,5\n' >bad.csv
refuse 'bad.csv:3: 4 cells, but the header has 3' 'a long line' --train bad.csv --parties 1
printf 'id,a,label\n1,2,x\n' >bad.csv
refuse 'bad.csv:2: label' 'a label that no map maps' --train bad.csv --parties 1 --label-map evenodd
refuse 'another header' 'a test file of other columns' --train t.csv --test l.csv --parties 1
refuse '3 parties, but only 2' 'more parties than columns' --train t.csv --parties 3
refuse 'given twice' 'a column for two' --train t.csv --columns 1,1-2
refuse '2 parties, 3 are asked' 'another number of parties than the columns make' \
    --train t.csv --columns 1,2 --parties 3
refuse 'expected 1 to 256' 'no party at all' --train t.csv --parties 0
refuse 'label-map' 'an unknown map' --train t.csv --label-map upside
printf 'id,a,label\n0,1,2\n4,1,2\n' >bad.csv # both ids are test rows
refuse 'no training rows' 'an empty set' --train bad.csv --parties 1
head -c 9999 "$cells" >cut.csv.gz
refuse 'cut.csv.gz' 'half a gzip file' --train cut.csv.gz

# --- what was there before ---
printf 'id,a,b,label\n1,2,3,0\n2,4,5,1\n3,4,5,1\n' >good.csv
"$vfl" split --out kept --train good.csv --test good.csv --parties 2 >/dev/null
state() { (cd "$1" && find . | sort && cat ./*.csv ./*.idx 2>/dev/null) | sha256sum; }
before=$(state kept)
printf 'id,a,b,label\n1,9,9,0\n2,4\n' >bad.csv
for set in train test; do
    other=$([ $set = train ] && echo test || echo train)
    expect 2 'bad.csv:3: 2 cells' "a short line ends another split ($set)" \
        "$vfl" split --out kept "--$set" bad.csv "--$other" good.csv --parties 2
    same "$before" "$(state kept)" 'and the earlier one is as it was'
done
chmod 644 kept/party-1-train.csv
expect 0 'train_rows 3' 'a split takes the place of an earlier one' \
    "$vfl" split --out kept --train good.csv --test t.csv --parties 2
same "$(printf 'id,a\n7,1.50\n8,x')" "$(cat kept/party-1-test.csv)" 'with rows of its own'
same '6 0' "$(find kept -type f -perm 600 | wc -l) $(find kept -type f ! -perm 600 | wc -l)" \
    'for this user alone, whatever there was'
same '' "$(find kept -name '.*' -type d ! -name .)" 'and nothing is left beside'
printf 'id,a,b,label\n7,1,2,0\n9,3,4,1\n' >none.csv # no test row
printf 'id,a,b,label\n' >empty.csv
expect 0 'test_rows 0' 'a split without test rows' "$vfl" split --out kept --train none.csv --test empty.csv --parties 2
same '' "$(find kept -name '*test*')" 'leaves no test rows of an earlier one'
before=$(state kept)
for what in link folder; do
    rm -rf kept2
    mkdir kept2
    if [ "$what" = link ]; then ln -s ../good.csv kept2/party-1-train.csv; else mkdir kept2/party-1-train.csv; fi
    sum=$(sha256sum <good.csv)
    expect 6 'not a regular file' "a $what where a file has to go" "$vfl" split --out kept2 --train good.csv --parties 2
    same "party-1-train.csv $sum" "$(ls -A kept2) $(sha256sum <good.csv)" 'is left alone'
done

# Whatever is cut bears the name of what it is cut into.
own() { # NAME ARGUMENTS...
    name=$1
    shift
    rm -rf own
    mkdir own
    cp "$source" "own/$name"
    before=$(state own)
    expect 2 "$name: it is to be cut" "what is cut is not written over: $name" "$vfl" split --out own "$@"
    same "$before" "$(state own)" 'and nothing is'
}
source=good.csv
own party-1-train.csv --train own/party-1-train.csv --parties 2
own party-2-test.csv --train own/party-2-test.csv --parties 2
own labels-test.csv --train good.csv --test own/../own/labels-test.csv --parties 2
own party-1-predict.csv --predict own/party-1-predict.csv --parties 2
expect 0 '' 'rows to be predicted with their labels' \
    "$vfl" split --out labelled --predict good.csv --with-labels --parties 2
same "$(sed 's/^\([^,]*\),.*,\([^,]*\)$/\1,\2/' good.csv)" "$(cat labelled/labels-predict.csv)" 'in a file of their own'
same '' "$(find labelled -name 'ids-*')" 'instead of ids alone'
expect 2 'wrong arguments' 'which other sets have anyway' \
    "$vfl" split --out labelled --train good.csv --with-labels --parties 2
ln good.csv hard.csv
rm -rf own && mkdir own && ln good.csv own/labels-train.csv
expect 2 'labels-train.csv: it is to be cut' 'nor by another name of it' \
    "$vfl" split --out own --train hard.csv --parties 2

# --- IDX: 3 images of 4 x 4, pixel = 16 * image + position ---
image() { # FIRST
    for p in $(seq "$1" $(($1 + 15))); do printf '%b' "\\0$(printf %o "$p")"; done
}
{ printf '\0\0\010\003\0\0\0\003\0\0\0\004\0\0\0\004' && image 0 && image 16 && image 32; } >i.idx
printf '\0\0\010\001\0\0\0\003\005\006\007' >l.idx
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
expect 0 'features 16' 'images are cut in blocks' \
    "$vfl" split --out g --idx-train i.idx,l.idx --idx-test i.idx,l.idx --columns grid:2x2
same 00000803000000030000000200000002000104051011141520212425 "$(hex g/party-1-train.idx)" \
    'the first block of each image'
same 000008030000000300000002000000020a0b0e0f1a1b1e1f2a2b2e2f "$(hex g/party-4-test.idx)" 'and the last'
same "$(printf 'id,label\n0,5\n1,6\n2,7')" "$(cat g/labels-test.csv)" 'labels get the row as id'
expect 0 '' 'labels of images are mapped' \
    "$vfl" split --out h --idx-train i.idx,l.idx --idx-test i.idx,l.idx --parties 1 --label-map evenodd
same "$(printf 'id,label\n0,1\n1,0\n2,1')" "$(cat h/labels-train.csv)" 'to even and odd'
"$vfl" split --out k --idx-train i.idx,l.idx --parties 2 >rows
same 3 "$(awk '/_rows/ { n += $2 } END { print n }' rows)" 'every image is in one of the two sets'
refuse 'IMAGES,LABELS' 'images without labels' --idx-train i.idx
refuse 'labels need an IDX file of one dimension' 'images as labels' --idx-train i.idx,i.idx
refuse 'one IDX dimension: a label file' 'labels as images' --idx-train l.idx,l.idx
head -c 40 i.idx >short.idx
refuse 'ends too early' 'a short image file' --idx-train short.idx,l.idx --idx-test i.idx,l.idx
printf '\0\0\010\001\0\0\0\002\005\006' >two.idx
refuse '3 images but 2 labels' 'another number of labels' --idx-train i.idx,two.idx
printf '\0\0\010\003\377\377\377\377\377\377\377\377\377\377\377\377' >huge.idx
refuse 'too large' 'a claim of huge images' --idx-train huge.idx,l.idx
expect 0 'shape 2 1,4,2' 'and a block says what it is' "$vfl" split --out g --idx-train i.idx,l.idx --columns grid:1x2
printf '\0\0\010\003\0\0\0\003\0\0\0\002\0\0\0\010' >flat.idx
tail -c 48 i.idx >>flat.idx
refuse 'flat.idx: rows of other sides' 'images of other sides' --idx-train i.idx,l.idx --idx-test flat.idx,l.idx
source=i.idx
own party-1-train.idx --idx-train own/party-1-train.idx,l.idx --parties 2
own party-2-predict.idx --idx-predict own/party-2-predict.idx --parties 2
source=l.idx
own party-2-test.idx --idx-train i.idx,own/party-2-test.idx --parties 2

# --- arrays of NumPy: 3 rows of 4 float32, row i being 4 i, 4 i + 1, ... ---
array() { # SHAPE FORMAT NUMBER...
    python3 - "$@" <<'PY'
import struct, sys
shape, form, numbers = sys.argv[1], sys.argv[2], [float(n) for n in sys.argv[3:]]
head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (form, shape)
head += ' ' * (-(len(head) + 11) % 64) + '\n'
sys.stdout.buffer.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
sys.stdout.buffer.write(struct.pack('<%d%s' % (len(numbers), {'f4': 'f', 'f8': 'd'}[form]), *numbers))
PY
}
array '(3, 4)' f4 0 1 2 3 4 5 6 7 8 9 10 11 >x.npy
printf 'who,label\na,5\nb,6\nc,7\n' >l.csv
expect 0 'features 4' 'an array is cut by its columns' \
    "$vfl" split --out n --npy-train x.npy,l.csv --npy-test x.npy,l.csv --columns 1+4,2-3
array '(3, 2)' f4 0 3 4 7 8 11 >want.npy
expect 0 '' 'into arrays that NumPy would write' cmp want.npy n/party-1-train.npy
array '(3, 2)' f4 1 2 5 6 9 10 >want.npy
expect 0 '' 'of the same elements' cmp want.npy n/party-2-test.npy
same "$(printf 'id,label\n0,5\n1,6\n2,7')" "$(cat n/labels-test.csv)" 'labels get the row as id'
gzip -k x.npy
expect 0 '' 'a packed one as well' "$vfl" split --out o --npy-train x.npy.gz,l.csv --parties 2 --label who
printf 'label\n5\n6\n' >two.csv
refuse 'two.csv: fewer labels than rows' 'too few labels' --npy-train x.npy,two.csv
printf 'label\n5\n6\n7\n8\n' >four.csv
refuse 'four.csv: more labels than rows' 'too many' --npy-train x.npy,four.csv --npy-test x.npy,l.csv
printf 'label\n5\n?\n7\n' >gap.csv
refuse 'gap.csv:3: column 1 .label.: a row without a label' 'a row without one' --npy-train x.npy,gap.csv
refuse 'no column .name.' 'a column of labels that is none' --npy-train x.npy,l.csv --label name
refuse 'another kind of file' 'images to test by' --npy-train x.npy,l.csv --npy-test i.idx,l.csv
array '(3, 3)' f8 1 2 3 4 5 6 7 8 9 >y.npy
refuse 'y.npy: 3 columns of 8 bytes, the training rows have 4 of 4' 'another width' \
    --npy-train x.npy,l.csv --npy-test y.npy,l.csv
array '(3, 2, 3)' f4 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 >series.npy
expect 0 'shape 1 2,2' 'a series is cut by its channels' \
    "$vfl" split --out series --npy-train series.npy,l.csv --npy-test series.npy,l.csv --columns channels:2+0,1
array '(3, 2, 2)' f4 2 0 5 3 8 6 11 9 14 12 17 15 >want.npy
expect 0 '' 'into series of all its steps' cmp want.npy series/party-1-train.npy
refuse 'channel 3, but there are 0 to 2' 'a channel that is not there' --npy-train series.npy,l.csv --columns channels:3
source=x.npy
own party-1-train.npy --npy-train own/party-1-train.npy,l.csv --parties 2

# --- batches of CIFAR: byte i of picture r is r + 7 i, its label r mod 10 ---
python3 - <<'PY'
def batch(name, first, n, coarse=b''):
    with open(name, 'wb') as f:
        for r in range(first, first + n):
            f.write(coarse + bytes([r % 10]) + bytes((r + 7 * i) % 256 for i in range(3072)))
batch('b1.bin', 0, 2)
batch('b2.bin', 2, 1)
batch('hundred.bin', 0, 3, bytes([19]))
batch('shift.bin', 0, 1)
with open('shift.bin', 'ab') as f:
    f.write(bytes([19]) * 3073)
PY
expect 0 'shape 4 3,16,16' 'batches are one set, cut in blocks of all colours' \
    "$vfl" split --out q --cifar-train b1.bin,b2.bin --cifar-test b2.bin --columns grid:2x2
expect 0 '' 'every byte where it belongs' python3 - <<'PY'
import struct
for p, (y0, x0) in enumerate([(0, 0), (0, 16), (16, 0), (16, 16)], 1):
    want = struct.pack('>5I', 0x0804, 3, 3, 16, 16) + bytes(
        (r + 7 * (c * 1024 + y * 32 + x)) % 256
        for r in range(3) for c in range(3) for y in range(y0, y0 + 16) for x in range(x0, x0 + 16))
    assert open('q/party-%d-train.idx' % p, 'rb').read() == want, p
PY
same "$(printf 'id,label\n0,0\n1,1\n2,2')" "$(cat q/labels-train.csv)" 'and every label'
expect 0 'shape 2 3,32,16' 'without columns in upright strips' \
    "$vfl" split --out strips --cifar-train b1.bin --parties 2
expect 0 '' 'CIFAR-100 has labels of two kinds' \
    "$vfl" split --out hundred --cifar-train hundred.bin --cifar-test hundred.bin --parties 1 --label coarse
same "$(printf 'id,label\n0,19\n1,19\n2,19')" "$(cat hundred/labels-test.csv)" 'and the coarse ones were asked for'
refuse 'of CIFAR-100 there are fine, coarse' 'a label that it has not' --cifar-train hundred.bin --label who
head -c 4000 b1.bin >cut.bin
refuse 'cut.bin: 4000 bytes are no whole number of records of CIFAR-10' 'half a batch' --cifar-train b1.bin,cut.bin
refuse 'record 2: label 19, where CIFAR-10 has 0 to 9' 'a batch of something else' --cifar-train shift.bin
refuse 'hundred.bin: of CIFAR-100, and the training rows are of another set' 'test rows of other classes' \
    --cifar-train b1.bin --cifar-test hundred.bin
refuse 'b1.bin: of CIFAR-10, and the training rows are of another set' 'the other way round' \
    --cifar-train hundred.bin --cifar-test b1.bin
refuse 'the image has only 32 x 32 pixels' 'more strips than columns' --cifar-train b1.bin --parties 40
refuse 'a comma parts files' 'a folder with a comma in its name' --cifar-train 'b1,b2/data.bin'
refuse 'wrong arguments' 'batches beside an array' --cifar-train b1.bin --idx-test i.idx,l.idx
source=b1.bin
own party-2-test.idx --cifar-train b2.bin,own/party-2-test.idx --parties 2

# --- test rows of a single table: a share of them, of persons, or the latest ---
python3 - <<'PY'
import random
random.seed(4)
with open('visits.csv', 'w') as f:
    f.write('id,who,seen,a,b,label\n')
    for i in range(400):
        day, hour = random.randint(1, 28), random.randint(0, 23)
        f.write('%d,p%d,2024-02-%02dT%02d:00:00%s,%d,%d,%d\n' % (
            900 + i, random.randint(0, 59), day, hour, random.choice(['Z', '+02:00', '-05:00']), i % 7, i % 3, i % 2))
PY
cat >rule.py <<'PY'
# The test rows of visits.csv by a share and id, group or time, apart from the program: their ids.
import csv, datetime, hashlib, sys
share, by = float(sys.argv[1]), sys.argv[2]
rows = list(csv.DictReader(open('visits.csv')))
def below(label, name):
    u = int.from_bytes(hashlib.sha256(label + b'\0' + name.encode()).digest()[:8], 'little')
    return u >> 11 < share * 2**53
if by == 'id':
    tests = [r['id'] for r in rows if below(b'vfl/test/1', r['id'])]
elif by == 'group':
    tests = [r['id'] for r in rows if below(b'vfl/test/group/1', r['who'])]
else:
    when = lambda r: datetime.datetime.fromisoformat(r['seen'].replace('Z', '+00:00'))
    last = sorted(rows, key=lambda r: (when(r), int(r['id'])))[len(rows) - int(share * len(rows)):]
    last = {r['id'] for r in last}
    tests = [r['id'] for r in rows if r['id'] in last]
print('\n'.join(tests))
PY
# shellcheck disable=SC2317 # called by expect
visits() { "$vfl" split --out by --train visits.csv --group who --time seen --parties 2 "$@"; }
for by in id group time; do
    expect 0 '' "test rows by $by" visits --test-share 0.3 --test-by $by
    same "$(python3 rule.py 0.3 $by)" "$(tail -n +2 by/labels-test.csv | cut -d, -f1)" 'are those of the rule'
    same "$(tail -n +2 visits.csv | cut -d, -f1)" \
        "$(tail -q -n +2 by/labels-train.csv by/labels-test.csv | cut -d, -f1 | sort -n)" \
        'and every row is in one of the sets'
    for set in train test; do
        same "$(cut -d, -f1 by/labels-$set.csv)" "$(cut -d, -f1 by/party-2-$set.csv)" "a party has the same ones: $set"
    done
    [ $by != group ] || same '' "$(for set in train test; do
        tail -n +2 by/labels-$set.csv | cut -d, -f3 | sort -u
    done | sort | uniq -d)" 'and nobody is on both sides'
done
expect 0 '' 'a way without a share' visits --test-by time
same 80 "$(tail -n +2 by/labels-test.csv | wc -l)" 'is a fifth of the rows'
expect 0 '' 'a share without a way' visits --test-share 0.3
same "$(python3 rule.py 0.3 id)" "$(tail -n +2 by/labels-test.csv | cut -d, -f1)" 'goes by ids'
cut -d, -f2- visits.csv >nameless.csv
expect 0 '' 'the latest of rows without ids' \
    "$vfl" split --out by --train nameless.csv --time seen --label label --parties 2 --test-by time --test-share 0.25
same "$(python3 rule.py 0.25 time)" "$(tail -n +2 by/labels-test.csv | sed 's/^[^-]*-\([0-9]*\),.*/\1/' |
    awk '{ print $1 + 900 }')" 'are the same ones'
expect 0 '' 'arrays of images by a share' "$vfl" split --out by --idx-train i.idx,l.idx --parties 1 --test-share 0.5
refuse 'expected above 0 and below 1' 'a share of all' --train visits.csv --parties 2 --test-share 1
refuse 'known are id, group, time' 'another way' --train visits.csv --parties 2 --test-by order
refuse 'which column' 'a person without a column' --train visits.csv --parties 2 --test-by group
refuse 'which column' 'a time without one' --train visits.csv --parties 2 --test-by time
refuse 'without a file of test rows' 'a share beside a file' \
    --train visits.csv --test visits.csv --parties 2 --test-share 0.2
refuse 'leaves none to test by' 'a share of nothing' \
    --train visits.csv --parties 2 --time seen --test-by time --test-share 0.001
printf 'id,a,label\n1,0,0\n2,0,1\n' >three.csv
refuse 'no test rows' 'a share that nobody is in' --train three.csv --parties 1 --test-share 0.000001
sed '300s/2024[^,]*/soon/' visits.csv >soon.csv
refuse 'soon.csv:300: column 3 "seen": not a time' 'a time that is none' \
    --train soon.csv --parties 2 --time seen --test-by time
python3 - <<'PY'
import sqlite3
sqlite3.connect('dice.db').execute("""CREATE VIEW dice AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
    WHERE i < 90) SELECT i AS id, i % 9 AS seen, random() % 10000 AS a, i % 2 AS label FROM n""")
PY
refuse 'dice.db.*it changed between two times that it was read' 'a table that is another one when the rows are cut' \
    --train dice.db --parties 1 --time seen --test-by time
sed '300s/,p[0-9]*,/,"a,b",/' visits.csv >whose.csv
refuse 'whose.csv:300: column 2 "who": whose a row is' 'a person that is none' \
    --train whose.csv --parties 2 --group who --test-by group
closing
