#!/bin/sh
# test_sources.sh -- one table out of files, packed files, arrays and database servers: the same model.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# shellcheck disable=SC2317 # called by expect
cluster() {
    timeout 600 "$vfl" cluster --quiet --set training.epochs=3 --set training.learning_rate=0.1 --seed 5 "$@"
}

digest() { # RUN
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["model_sha256"])' "$1"
}

python3 - <<'PY'
import csv, random, sqlite3, struct
random.seed(3)
rows = []
for i in range(300):
    age, job = random.randint(18, 80), random.choice(['a, b', 'c"d', 'e'])
    since = '20%02d-%02d-%02d' % (random.randint(0, 20), random.randint(1, 12), random.randint(1, 28))
    wage = random.choice(['', '%.2f' % random.uniform(1, 9)])
    rows.append([str(100 + i), str(age), job, since, wage, str(int(age + 5 * (job == 'e') > 50))])
head = ['id', 'age', 'job', 'since', 'wage', 'y']
with open('plain.csv', 'w', newline='') as f:
    csv.writer(f, lineterminator='\n').writerows([head] + rows)
db = sqlite3.connect('people.db')
db.execute('CREATE TABLE people (id text, age int, job text, since date, wage real, y int)')
db.executemany('INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)', [[c or None for c in r] for r in rows])
db.commit()
def array(name, form, shape, numbers):
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': %r, }" % (form, shape)
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    with open(name, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
        f.write(struct.pack('<%d%s' % (len(numbers), {'f4': 'f', 'i8': 'q'}[form]), *numbers))
x = [[random.gauss(0, 1) for _ in range(6)] for _ in range(300)]
array('x.npy', 'f4', (300, 6), [v for row in x for v in row])
with open('y.csv', 'w') as f:
    f.write('label\n' + ''.join('%d\n' % (row[0] + row[3] > 0) for row in x))
PY
"$root/tests/lib/pack.py" plain.csv
columns='age+job,since+wage'
expect 0 '' 'a plain file' cluster --out plain --train plain.csv --label y --columns "$columns"

# A party whose table has something wrong says so before it has dialled anybody: nobody listens at port 1, and it would
# dial again for minutes.
alone() { # WORDS WHAT TABLE [NAME-OF-IT]
    rm -rf lone
    expect 2 "$1" "$2" timeout 60 "$VFL_BIN/vfl-party" -c plain/party-1/config.yaml --set server=127.0.0.1:1 \
        --set state="$PWD/lone" --set "data.train=$3" --set "data.table=${4:-}"
}

# --- zstd ---
expect 0 '' 'a file that zstd has packed trains by one command' \
    cluster --out zst --train plain.csv.zst --label y --columns "$columns"
same "$(digest plain)" "$(digest zst)" 'to the same model'
expect 0 '' 'prepare reads it' "$vfl" prepare --table plain.csv.zst --label y
expect 0 '' 'predict does' "$vfl" predict --quiet --run zst --data plain.csv.zst --out zst.csv
same 301 "$(wc -l <zst.csv)" 'every row'
python3 - <<'PY'
import csv
kept = {row['id'] for row in csv.DictReader(open('plain/data/party-1-train.csv'))}
rows = list(csv.reader(open('plain.csv', newline='')))
with open('own-train.csv', 'w', newline='') as train, open('own-test.csv', 'w', newline='') as test:
    for row in rows:
        for f in (train, test):
            if row is rows[0] or (row[0] in kept) == (f is train):
                csv.writer(f, lineterminator='\n').writerow(row[:3])
PY
for set in train test; do "$root/tests/lib/pack.py" own-$set.csv; done
expect 0 '' 'a party reads its own two' cluster --out zown --train plain.csv --label y --columns "$columns" \
    --party "1:data.train=$PWD/own-train.csv.zst" --party "1:data.test=$PWD/own-test.csv.zst"
same "$(digest plain)" "$(digest zown)" 'and trains the same model'
head -c 700 own-train.csv.zst >cut.csv.zst
expect 2 'party-1: .*cut.csv.zst: ' 'half of one is refused, of the side whose it is' \
    cluster --out x --train plain.csv --label y --columns "$columns" --party "1:data.train=$PWD/cut.csv.zst"
rm -rf x

# --- what is wrong in a late row, wherever it comes from ---
awk -F, -v OFS=, 'NR == 200 { $2 = "secret" } { print }' own-train.csv >late.csv
{ cat own-train.csv && sed -n 2p own-train.csv; } >twice.csv
last=$(wc -l <twice.csv)
"$root/tests/lib/pack.py" late.csv
"$root/tests/lib/pack.py" twice.csv
python3 - <<'PY'
import csv, sqlite3
db = sqlite3.connect('wrong.db')
for name in 'late', 'twice':
    rows = list(csv.reader(open(name + '.csv', newline='')))
    db.execute('CREATE TABLE %s (id text, age, job text)' % name)
    db.executemany('INSERT INTO %s VALUES (?, ?, ?)' % name, rows[1:])
db.commit()
PY
alone 'late.csv:200: column 2 "age": not a number' 'another type in a late row' "$PWD/late.csv"
alone 'late.csv.zst:200: column 2 "age": not a number' 'and in a packed one' "$PWD/late.csv.zst"
alone 'wrong.db:199: column 2 "age": not a number' 'and of a database' "$PWD/wrong.db" late
alone "twice.csv:$last: id .* is already on line 2" 'an id twice' "$PWD/twice.csv"
alone "twice.csv.zst:$last: id .* is already on line 2" 'and packed' "$PWD/twice.csv.zst"
alone "wrong.db:$((last - 1)): id .* is already on line 1" 'and of a database' "$PWD/wrong.db" twice

# --- what is cut is read once, as it was downloaded ---
opened() { # FILE ARGUMENT...: how often vfl cluster opens it
    opened_file=$1
    shift
    timeout 600 "$root/tests/lib/opened.py" "$opened_file" "$vfl" cluster --quiet --set training.epochs=1 --seed 5 \
        --out x --train "$opened_file" --label y --columns "$columns" "$@" 2>>opened.log
    rm -rf x
}
cut -d, -f2- plain.csv >nameless.csv
gzip -k nameless.csv
for file in plain.csv plain.csv.zst nameless.csv nameless.csv.gz; do
    same 1 "$(opened $file)" "$file is opened once"
done
same 1 "$(opened nameless.csv --test-share 0.3)" 'with a share of test rows, too'
same 2 "$(opened plain.csv --time since --columns age,wage --test-by time)" 'and twice to find the latest rows'

# --- arrays ---
expect 0 '' 'an array trains by one command' cluster --out npy --npy-train x.npy,y.csv --parties 2
same 'party-1-test.npy party-1-train.npy' "$(cd npy/data && echo party-1-*)" 'each party has one of its own'
expect 0 '' 'and predicts' "$vfl" predict --quiet --run npy --data x.npy --out npy.csv
same 301 "$(wc -l <npy.csv)" 'every row'
expect 2 'exclude each other' 'arrays and tables are two things' \
    cluster --out x --npy-train x.npy,y.csv --train plain.csv
cut -c 1-2 x.npy >cut.npy
expect 2 'cut.npy: ' 'half an array is refused' cluster --out x --npy-train cut.npy,y.csv

# --- PostgreSQL ---
mkfifo hold ready
setsid sh "$root/tests/lib/postgres.sh" <hold >ready &
exec 8>hold
folder=
read -r folder <ready
if [ -n "$folder" ]; then
    export PGSERVICEFILE="$folder/service"
    sql() { psql -q -X -v ON_ERROR_STOP=1 service=trial -c "$1"; }
    sql 'CREATE TABLE people (id text, age int, job text, since date, wage numeric, y int)'
    sql "\\copy people FROM plain.csv WITH (FORMAT csv, HEADER)"
    expect 0 '' 'a table of PostgreSQL is split and trained' \
        cluster --out pg --train postgres:trial/people --id id --label y --columns "$columns"
    same "$(digest plain)" "$(digest pg)" 'to the same model'
    sql 'CREATE TABLE one AS SELECT id, age, job FROM people; ALTER TABLE one ADD who text; UPDATE one SET who = id'
    ids=$(tail -n +2 plain/data/party-1-train.csv | cut -d, -f1 | sed "s/.*/'&'/" | paste -sd,)
    sql "CREATE VIEW train AS SELECT id, age, job FROM one WHERE id IN ($ids);
         CREATE VIEW test AS SELECT id, age, job FROM one WHERE id NOT IN ($ids)"
    expect 0 '' 'a party reads its own two views' cluster --out own --train plain.csv --label y --columns "$columns" \
        --party 1:data.train=postgres:trial/train --party 1:data.test=postgres:trial/public/test
    same "$(digest plain)" "$(digest own)" 'and trains the same model'
    expect 0 'name: "since", kind: time' 'prepare reads it' "$vfl" prepare --table postgres:trial/people --label y
    expect 0 '' 'predict does' "$vfl" predict --quiet --run pg --data postgres:trial/people --out pg.csv
    same 301 "$(wc -l <pg.csv)" 'every row'
    sql 'CREATE VIEW nameless AS SELECT age, wage, y FROM people'
    expect 2 'name the ids by --id' 'rows of a server have no numbers' \
        "$vfl" split --out x --train postgres:trial/nameless --label y --parties 2
    rm -rf x
    expect 2 'party-1: postgres:trial/ghost: PostgreSQL: relation .ghost. does not exist' \
        'what is not there is said of the side whose it is' \
        cluster --out x --train plain.csv --label y --columns "$columns" --party 1:data.train=postgres:trial/ghost
    sql "CREATE VIEW late AS SELECT id, CASE WHEN row_number() OVER () = 200 THEN 'secret' ELSE age::text END AS age,
         job FROM train"
    rm -rf x
    expect 2 'party-1: postgres:trial/late:200: column 2 "age": not a number' 'another type in a late row' \
        cluster --out x --train plain.csv --label y --columns "$columns" --party 1:data.train=postgres:trial/late
    same '' "$(grep -r secret x/server x/party-*/log.txt)" 'whose cell is nowhere'
    alone 'postgres:trial/late:200: column 2 "age": not a number' 'and before it has dialled' postgres:trial/late
    sql 'CREATE VIEW twice AS SELECT * FROM train UNION ALL (SELECT * FROM train LIMIT 1)'
    alone 'postgres:trial/twice:[0-9]*: id .* is already on line' 'an id twice' postgres:trial/twice
    rm -rf x
    # A password is in libpq's file or nowhere.
    sql "CREATE ROLE reader LOGIN PASSWORD 'opensesame'; GRANT SELECT ON people, train, test TO reader"
    sed -i '1ilocal all reader scram-sha-256' "$folder/data/pg_hba.conf"
    sql 'SELECT pg_reload_conf()' >/dev/null
    sed 's/\[trial\]/[reader]/; s/user=trial/user=reader/' "$PGSERVICEFILE" >both
    cat both >>"$PGSERVICEFILE"
    rm both
    expect 2 'PostgreSQL: .*no password supplied' 'without a password there is no way in' \
        "$vfl" prepare --table postgres:reader/people
    echo '*:*:*:reader:opensesame' >pgpass
    chmod 600 pgpass
    expect 0 '' "with one in libpq's file there is" \
        env PGPASSFILE="$PWD/pgpass" "$vfl" prepare --table postgres:reader/people
    expect 2 'permission denied for table one' 'and rights are the server'\''s' \
        env PGPASSFILE="$PWD/pgpass" "$vfl" prepare --table postgres:reader/one
else
    echo 'no PostgreSQL server here (package postgresql): left out'
fi
exec 8>&-
wait

# --- ODBC ---
driver=$(find /usr/lib -name libsqlite3odbc.so 2>/dev/null | head -n 1)
if [ -n "$driver" ]; then
    printf '[trial]\nDriver=%s\nDatabase=%s\n' "$driver" "$PWD/people.db" >odbc.ini
    export ODBCINI="$PWD/odbc.ini"
    expect 0 '' 'a table of ODBC is split and trained' \
        cluster --out odbc --train odbc:trial/people --id id --label y --columns "$columns"
    same "$(digest plain)" "$(digest odbc)" 'to the same model'
    expect 0 '' 'prepare reads it' "$vfl" prepare --table odbc:trial/people --label y
    expect 2 'odbc:ghost/people: ODBC: ' 'a data source that there is not' "$vfl" prepare --table odbc:ghost/people
else
    echo 'no ODBC driver here (package libsqliteodbc): left out'
fi
closing
