#!/bin/sh
# test_tables.sh -- raw tables: text, quotes, gaps, dates and labels by name, trained by one command.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
cluster() {
    timeout 600 "$vfl" cluster --quiet --seed 5 "$@"
}

# One table of people in several spellings: plain.csv as a program would write it, odd.csv with `;`, quotes, a byte
# order mark, CRLF, lines inside cells, blanks and other words for what is missing, test.csv with levels that the
# first has not.
python3 - <<'PY'
import csv, gzip, random
random.seed(11)
job = ['Exec, managerial', 'Sales', 'the "craft"', 'Tech\nsupport', '']
land = ['US', 'Mexico', "Côte d'Ivoire"]
def person(jobs, lands):
    age, work, hours = random.randint(17, 90), random.choice(jobs), random.randint(1, 99)
    home = random.choice(lands)
    since = '20%02d-%02d-%02d' % (random.randint(0, 20), random.randint(1, 12), random.randint(1, 28))
    rich = age / 60 + (work == 'Sales') + (home == 'US') + random.gauss(0, .2) > 1.6
    gap = lambda text: '' if random.random() < .2 else text
    return [gap(str(age)), work, gap(str(hours)), home, gap(since), '>50K' if rich else '<=50K']
head = ['age', 'job', 'hours-per-week', 'country', 'since', 'income']
rows = [person(job, land) for _ in range(900)]
tests = [person(job + ['Astronaut'], land + ['Utopia']) for _ in range(200)]
def plain(name, rows):
    with open(name, 'w', newline='') as f:
        csv.writer(f, lineterminator='\n').writerows([head] + rows)
plain('plain.csv', rows)
plain('test.csv', tests)
quote = lambda text: '"' + text.replace('"', '""') + '"'
def cell(text):
    if text == '':
        return random.choice(['', '?', ' NA ', '""', 'null'])
    return quote(text) if random.random() < .5 or set(text) & set(',;"\n') else ' ' + text + '  '
def odd(name, rows):
    with open(name, 'w', newline='') as f:
        f.write('\ufeff' + ';'.join(map(quote, head)) + '\r\n')
        for row in rows:
            f.write(';'.join(map(cell, row)) + '\r\n')
        f.write('\r\n\r\n')
odd('odd.csv', rows)
odd('odd-test.csv', tests)
with gzip.open('odd.csv.gz', 'wb') as f:
    f.write(open('odd.csv', 'rb').read())
PY

value() { # FILE KEY...
    python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2:]:
    v = v[k]
print(v)' "$@" 2>/dev/null
}

# --- one command ---
columns='age+job,hours-per-week+country-since'
expect 0 '' 'a raw table with every oddity trains and is tested' \
    cluster --out odd --train odd.csv.gz --label income --positive '>50K' --columns "$columns"
same completed "$(value odd/summary.json status)" 'to its end'
same yes "$(python3 - <<'PY'
import csv, json
t = json.load(open("odd/summary.json"))["test"]
y = [row["label"] for row in csv.DictReader(open("odd/data/labels-test.csv"))]
most = max(y.count(label) for label in y) / len(y)
print("yes" if t["auc"] > 0.85 and t["accuracy"] > most + 0.1 else (t, most))
PY
)" 'and by the defaults alone has learned from text and gaps, far above the majority guess'
expect 0 '' 'one command predicts a table with texts that no training row has' \
    timeout 600 "$vfl" predict --run odd --data test.csv --out odd.scores.csv
same '201 id,score_0,score_1' "$(wc -l <odd.scores.csv) $(head -n 1 odd.scores.csv)" 'every row of it'
"$root/tests/lib/pack.py" odd.csv
"$root/tests/lib/pack.py" odd-test.csv
expect 0 '' 'and one as odd as the first, packed by zstd' \
    timeout 600 "$vfl" predict --quiet --run odd --data odd-test.csv.zst --out odder.scores.csv
same "$(cut -d, -f2- odd.scores.csv)" "$(cut -d, -f2- odder.scores.csv)" 'with the same scores'
same yes "$(python3 - <<'PY'
import csv
y = [row["income"] == ">50K" for row in csv.DictReader(open("test.csv", newline=""))]
p = [float(row["score_1"]) for row in csv.DictReader(open("odder.scores.csv"))]
pairs = [(a > b) + (a == b) / 2 for a, s in zip(p, y) if s for b, o in zip(p, y) if not o]
print("yes" if sum(pairs) / len(pairs) > 0.85 else sum(pairs) / len(pairs))
PY
)" 'that tell who earns more'
expect 0 '' 'the packed table with every oddity and a test file like it train' \
    cluster --out packed --train odd.csv.zst --test odd-test.csv.zst --label income --positive '>50K' \
    --columns "$columns"
same '900 200' "$(for set in train test; do tail -n +2 packed/data/labels-$set.csv | wc -l; done | xargs)" \
    'on all rows of the one, and are tested on the other'
expect 0 'odd *1/1 ' 'and one reports' "$vfl" report odd
same '# class 1 is ">50K"' "$(grep '^# class 1' odd/server/resolved.yaml)" 'the map of labels is shown'
expect 0 'labels: class 0 is "<=50K"' 'and logged' cat odd/server/log.txt
head -n 1 odd/data/party-2-train.csv >got
same 'id,hours-per-week,country,since' "$(cat got)" 'a name with signs is a name, and a range of names a range'

# --- a spelling decides nothing ---
expect 0 '' 'the same table without oddities is taken as well' \
    cluster --out plain --train plain.csv --label income --positive '>50K' --columns "$columns"
for what in train test; do
    same "$(value plain/summary.json "$what")" "$(value odd/summary.json "$what")" "and gives the same $what scores"
done
same "$(value plain/summary.json model_sha256)" "$(value odd/summary.json model_sha256)" 'and the same model'
differ "$(sed -n 2p plain/data/labels-train.csv | cut -d- -f1)" "$(sed -n 2p odd/data/labels-train.csv | cut -d- -f1)" \
    'but no ids in common, since these are two files'

python3 - <<'PY'
import csv, sqlite3
rows = list(csv.reader(open('plain.csv', newline='')))
db = sqlite3.connect('people.db')
db.execute('CREATE TABLE people (%s)' % ', '.join('"%s"' % name for name in rows[0]))
db.executemany('INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)', [[cell or None for cell in row] for row in rows[1:]])
db.commit()
PY
expect 0 '' 'the same table out of a database is taken as well' \
    cluster --out sqlite --train people.db --label income --positive '>50K' --columns "$columns"
same "$(value plain/summary.json model_sha256)" "$(value sqlite/summary.json model_sha256)" 'and gives the same model'

# --- a schema for a person to change ---
expect 0 '' 'prepare looks at a raw table' "$vfl" prepare --table odd.csv.gz --label income --out raw.yaml
expect 0 '{name: "income", kind: label}' 'and knows the label' cat raw.yaml
expect 0 '{name: "since", kind: time, missing: mean, indicator: true}' 'and dates with gaps' cat raw.yaml
expect 0 'levels: \["Exec, managerial", "Sales", "Tech support", "the ..craft.."\]' 'and texts' cat raw.yaml
expect 2 'no column "wages"' 'a label that is none is refused' "$vfl" prepare --table odd.csv --label wages
expect 2 'plain.csv:1: no column "who"' 'and an id' "$vfl" prepare --table plain.csv --id who
# What no party reads is not written: a text that turns the direction of writing, and more levels than a schema holds.
printf 'id,job\n1,a\n2,b\342\200\256c\n' >turned.csv
expect 2 'turned.csv:3: column 2 "job": a text that is no UTF-8' 'a text that turns round' \
    "$vfl" prepare --table turned.csv --out turned.yaml
python3 - 8200 >levels.csv <<'PY'
import sys
columns = int(sys.argv[1])
print('id,' + ','.join('c%d' % i for i in range(columns)))
for row in range(512):
    print(row, *['v%d' % (row % 256)] * columns, sep=',')
PY
expect 2 'levels.csv: no party could read its schema: .* more entries than there may be' 'too many levels in all' \
    "$vfl" prepare --table levels.csv --out levels.yaml
same '' "$(ls turned.yaml levels.yaml 2>/dev/null)" 'and nothing is written'
rm levels.csv
"$vfl" prepare --table plain/data/party-1-train.csv --out one.yaml
expect 0 '{name: "id", kind: id}' "a party's own table has its ids" cat one.yaml
expect 0 '' 'a party with that schema' cluster --out kept --train plain.csv --label income --positive '>50K' \
    --columns "$columns" --party "1:data.schema=$PWD/one.yaml"
same "$(value plain/summary.json model_sha256)" "$(value kept/summary.json model_sha256)" \
    'trains the model that it trains without, since both are found in one way'
sed -i 's/{name: "age".*/{name: "age", kind: number, missing: median, clip: [18, 65], log: true}/' one.yaml
expect 0 '' 'and with a changed one' cluster --out changed --train plain.csv --label income --positive '>50K' \
    --columns "$columns" --party "1:data.schema=$PWD/one.yaml"
differ "$(value plain/summary.json model_sha256)" "$(value changed/summary.json model_sha256)" 'another'
"$vfl" prepare --table plain.csv --label income --out whole.yaml
sed -i 's/{name: "age".*/{name: "age", kind: number, missing: median, clip: [18, 65], log: true}/' whole.yaml
expect 0 '' 'one schema of the whole table is dealt out' cluster --out dealt --train plain.csv --label income \
    --positive '>50K' --columns "$columns" --schema whole.yaml
same "$(value changed/summary.json model_sha256)" "$(value dealt/summary.json model_sha256)" \
    'and leads to the model of a schema for each'
same 'age job' "$(sed -n 's/.*{name: "\([^"]*\)".*/\1/p' dealt/data/party-1-schema.yaml | xargs)" \
    'each has its own columns alone'
"$vfl" split --out dealt2 --train plain.csv --label income --columns "$columns" --schema whole.yaml >/dev/null
"$vfl" split --out dealt2 --train plain.csv --label income --columns "$columns" >/dev/null
same '' "$(find dealt2 -name '*schema*')" 'another split without one leaves none'
sed 's/"since"/"ghost"/' whole.yaml >ghost.yaml
expect 2 'ghost.yaml: .*plain.csv has no column "ghost"' 'a column that the table has not' \
    "$vfl" split --out x --train plain.csv --label income --schema ghost.yaml
sed 's/^columns:/&\n  - {name: "who", kind: id}/' whole.yaml >who.yaml
expect 2 'its ids are in "who": say --id' 'ids that are others' \
    "$vfl" split --out x --train plain.csv --label income --schema who.yaml
expect 2 'a model has its own' 'a schema for rows to be predicted' \
    "$vfl" split --out x --predict plain.csv --schema whole.yaml
rm -rf x
"$vfl" prepare --table plain/data/party-2-train.csv --out two.yaml
sed 's/{name: "age".*/{name: "age", kind: number, bins: 6, missing: own}/
    s/kind: category, levels: .*/kind: category, min_rows: 200, missing: own}/' one.yaml >bins.yaml
sed -i 's/"since", kind: time, missing: mean/"since", kind: time, missing: median, parts: [year, month]/' two.yaml
expect 0 '' 'and with bins, rare levels and parts of dates' cluster --out binned --train plain.csv --label income \
    --positive '>50K' --columns "$columns" \
    --party "1:data.schema=$PWD/bins.yaml" --party "2:data.schema=$PWD/two.yaml"
expect 0 'edges: \[[0-9., ]*\], indicator: true' 'the package has the edges' \
    "$vfl" models --state binned/party-1 show
"$vfl" models --state binned/party-2 show >shown
same 'since.year since.month since?' "$(sed -n 's/^column *\(since[^ ]*\) .*/\1/p' shown | xargs)" 'and the parts'
expect 0 '' 'and predicts by them' "$vfl" predict --quiet --run binned --data test.csv --out binned.csv
same 200 "$(grep -c ',[01]' binned.csv)" 'every row of another table'
frozen='--party 1:model.train=frozen --party 1:data.scale=none'
# shellcheck disable=SC2086 # words
expect 2 'data.schema: .*statistics: fit' 'statistics of the records are refused where claims hold for records' \
    cluster --out x --train plain.csv --label income --columns "$columns" $frozen \
    --party "1:data.schema=$PWD/one.yaml"
sed 's/statistics: fit/statistics: given/; s/missing: median/&, fill: 40/' one.yaml >given.yaml
rm -rf x
# shellcheck disable=SC2086
expect 0 '' 'and taken where they are said to be of others' \
    cluster --out x --train plain.csv --label income --columns "$columns" $frozen \
    --party "1:data.schema=$PWD/given.yaml"
same record_frozen "$(python3 -c 'import json
print({c["adjacency"] for c in json.load(open("x/party-1/summary.json"))["privacy"]["claims"]
       if c["adjacency"].startswith("record")}.pop())')" 'so that the claim holds'
rm -rf x
expect 2 'column .*: not a number' 'rows decide nothing where a plan can be refused for how many features there are' \
    cluster --out x --train plain.csv --label income --columns "$columns" \
    --party 1:model.train=dp --party 1:model.noise=4
{ cat one.yaml && echo '  - {name: "ghost", kind: category}'; } >ghost.yaml
rm -rf x
expect 2 'no column "ghost"' 'a column of the schema has to be there, though it has no level yet' \
    cluster --out x --train plain.csv --label income --columns "$columns" --party "1:data.schema=$PWD/ghost.yaml"
sed 's/kind: number.*/kind: what}/' one.yaml >bad.yaml
rm -rf x
expect 2 'bad.yaml:6: kind: number' 'a schema with a mistake has its line' \
    cluster --out x --train plain.csv --label income --columns "$columns" --party "1:data.schema=$PWD/bad.yaml"
rm -rf x

# --- a table whose schema has room for itself, and none in a model's package ---
# shellcheck disable=SC2317 # called by expect
wide() { # COLUMNS
    python3 -c 'import sys
columns = int(sys.argv[1])
print("id," + ",".join("c%d" % c for c in range(columns)))
for row in range(512):
    print("%d," % row + ",".join("%03d%s" % (row // 2, chr(92) * 237) for c in range(columns)))' "$1" >wide.csv
    "$VFL_BIN/vfl-party" -n -c plain/party-1/config.yaml --set data.train=wide.csv --set data.test=wide.csv
}
expect 2 'data.train: what is made of the columns cannot be kept: .* over 59 MiB in a model package' \
    'a table that no package has room for is refused before anything is said' wide 250
expect 0 '' 'and one that a package has room for is not' wide 200
rm wide.csv

# --- a test file with levels that training has not ---
expect 0 '' 'a test file may have texts that training has not' \
    cluster --out two --train plain.csv --test test.csv --label income --columns "$columns"
same 200 "$(tail -n +2 two/data/labels-test.csv | wc -l)" 'all its rows are tested'
expect 0 'texts that no training row has' 'and the party is told how many are new to it' cat two/party-1/log.txt

# --- names in --columns ---
printf 'a+b,"q""x",1,no-id,y\n1,2,3,4,u\n2,3,4,5,v\n3,4,5,6,u\n4,5,6,7,v\n' >names.csv
expect 0 'parties 3' 'quoted names hold any sign' \
    "$vfl" split --out n1 --train names.csv --test names.csv --label y --columns '"a+b","q""x"+no-id,"1"'
same 'id,"q""x",no-id' "$(head -n 1 n1/party-2-train.csv)" 'and go where they are sent'
same 'id,1' "$(head -n 1 n1/party-3-train.csv)" 'an exact name wins over a number'
expect 2 'no column is called "age"' 'a name that is none is refused' \
    "$vfl" split --out n2 --train names.csv --label y --columns '"a+b",age'
expect 2 'given twice' 'a column goes to one party only' \
    "$vfl" split --out n2 --train names.csv --label y --columns '1,"1"'

# --- ids ---
printf 'who,a,y\nann,1,u\nbob,2,v\ncem,3,u\n' >ids.csv
"$vfl" split --out i1 --train ids.csv --test ids.csv --label y --id who --parties 1 >/dev/null
same "$(printf 'id,a\nann,1\nbob,2\ncem,3')" "$(cat i1/party-1-train.csv)" '--id names the column of ids'
"$vfl" split --out i2 --train ids.csv --test ids.csv --label y --columns a >/dev/null
digest=$(sha256sum <ids.csv | cut -c 1-16)
same "$(printf 'id,a\n%s-0,1\n%s-1,2\n%s-2,3' "$digest" "$digest" "$digest")" "$(cat i2/party-1-train.csv)" \
    'without it a row is its number in this file'
gzip -k ids.csv
"$vfl" split --out i3 --train ids.csv.gz --test ids.csv --label y --columns a >/dev/null
same "$(cat i2/party-1-train.csv)" "$(cat i3/party-1-train.csv)" 'packed it is the same file'

# --- what is refused, before anything is said to others ---
refuse() { # WORDS WHAT ARGUMENTS...
    words=$1 what=$2
    shift 2
    rm -rf x
    expect 2 "$words" "$what" cluster --out x "$@"
}
sed '500s/^[^,]*,/old,/' plain.csv >typed.csv
refuse 'party-1: .*column 2 "age": not a number' 'another type in a late row has its line and side' \
    --train typed.csv --label income --columns "$columns"
refuse 'no column "wages"' 'a label that is no column' --train plain.csv --label wages
refuse 'no row has the positive label ">60K"' 'a positive label that nobody has' \
    --train plain.csv --label income --positive '>60K'
refuse 'a row without a label' 'a gap among the labels' --train odd.csv --label job
printf 'a,b,y\n1,2,u\n3,4,u\n5,6,u\n' >one.csv
refuse 'every row has the same label' 'one class only' --train one.csv --test one.csv --label y --parties 2
sed '$s/<=50K\|>50K/many/' test.csv >other.csv
refuse 'a label that no training row has' 'a label that only the test file has' \
    --train plain.csv --test other.csv --label income
refuse 'column [0-9]* "job": not a number' 'rows decide nothing where claims hold for records' \
    --train plain.csv --label income --columns "$columns" --party '*:model.train=frozen' --party '*:data.scale=none'
head -c 100000000 /dev/zero | tr '\0' x >cell.csv
{ printf 'a,y\n1,u\n"' && cat cell.csv; } >huge.csv
rm cell.csv
refuse 'huge.csv:3: line over 16777216 bytes' 'a cell of a hundred million characters' \
    --train huge.csv --label y --parties 1
refuse 'expected a sign' 'a delimiter that is a letter' --train plain.csv --label income --delimiter x
expect 0 '' 'a delimiter may be said' \
    "$vfl" split --out d --train odd.csv --label income --delimiter ';' --parties 2
closing
