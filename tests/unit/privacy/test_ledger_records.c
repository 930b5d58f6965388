/* test_ledger_records.c -- whatever is done to a ledger, it says what a naive twin says that counts
 * release by release: at once, when it is opened again, and when all was written anew.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_records.h"

#include "common/crypto/rng.h"
#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/sealed_ledger.h"

#include <unistd.h>

enum { PEOPLE = 60, SETS = 3, SET_ROWS_MAX = 50, MECHANISMS = 4, OPEN_MAX = 8 };

/* One count for each release there ever was. */
struct twin {
    uint32_t count[PEOPLE][MECHANISMS][LEDGER_PURPOSES];
    uint64_t number, entries;
    bool met[PEOPLE];
};

/* A data set: the people that its rows are of. */
struct data {
    uint32_t person[SET_ROWS_MAX], rows;
    uint32_t *slots, set;
};

static struct twin twin;
static struct data data[SETS];
static struct rng rng;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&rng, n);
}

static struct account_entry mechanism(size_t i)
{
    struct account_entry m = PBM;

    m.parties = 3 + (uint32_t)i;
    m.bottom = i % 2 ? ACCOUNT_FROZEN : ACCOUNT_RAW;
    return m;
}

static void make_data(struct data *d)
{
    d->rows = 5 + below(SET_ROWS_MAX - 5);
    for (uint32_t i = 0; i < d->rows; i++)
        d->person[i] = i > 0 && below(3) > 0 ? (d->person[i - 1] + 1) % PEOPLE : below(PEOPLE);
}

static void bind(struct ledger *l, struct data *d)
{
    const char *names[SET_ROWS_MAX];
    struct error err = {0};

    for (uint32_t i = 0; i < d->rows; i++) {
        names[i] = row_ids()[d->person[i]];
        twin.met[d->person[i]] = true;
    }
    mem_free(d->slots);
    assert_int_equal(ledger_bind(l, &d->slots, &d->set, names, d->rows, &err), STATUS_OK);
}

static struct ledger *open_all(const char *path)
{
    struct ledger *l = open_at(path);

    for (size_t i = 0; i < SETS; i++)
        bind(l, &data[i]);
    return l;
}

/* --- blocks --- */

struct charge {
    struct ledger_block block;
    size_t data, mechanism;
    uint32_t row[4 * SET_ROWS_MAX], slot[4 * SET_ROWS_MAX];
};

/* Some rows, by a law or as a list: what the law says is worked out here by schedule_batch and
 * segments_range, as a session does it. */
static void draw(struct charge *c)
{
    struct ledger_block *b = &c->block;
    uint32_t kind = below(3), rows;

    c->data = below(SETS);
    c->mechanism = below(MECHANISMS);
    rows = data[c->data].rows;
    *b = block_of_run((uint8_t)below(5), (uint8_t)below(3), (enum ledger_purpose)below(5), NULL, 0);
    b->rounds = 1 + below(9);
    b->set = data[c->data].set;
    b->scheduled = kind < 2;
    if (kind == 0) {
        struct ledger_law law = {.kind = LEDGER_STEPS,
                                 .seed = below(3),
                                 .rows = rows,
                                 .segments = 1 + below(3),
                                 .turns = 1 + below(2)};
        struct schedule s;

        law.batch = law.segments * (1 + below(7));
        b->stretch = (struct ledger_stretch){law, below(60), below(4)};
        assert_int_equal(schedule_init(&s, law.seed, rows, law.batch, law.segments), STATUS_OK);
        for (uint64_t i = 0; i < b->stretch.count; i++) {
            uint32_t n;
            const uint32_t *row = schedule_batch(&s, (b->stretch.place + i) / law.turns, &n);

            memcpy(c->row + b->n, row, n * sizeof *row);
            b->n += n;
        }
        schedule_deinit(&s);
    } else if (kind == 1) {
        struct ledger_law law = {.kind = LEDGER_PLACES, .rows = rows, .segments = 1 + below(3)};
        struct segments cut;
        uint32_t first;

        segments_init(&cut, rows, law.segments);
        first = below(cut.len);
        b->stretch = (struct ledger_stretch){law, first, below(cut.len - first + 1)};
        b->n = segments_range(&cut, c->row, first, (uint32_t)b->stretch.count);
    } else {
        b->n = below(20);
        for (size_t i = 0; i < b->n; i++)
            c->row[i] = i > 0 && below(2) ? (c->row[i - 1] + 1) % rows : below(rows);
    }
    for (size_t i = 0; i < b->n; i++)
        c->slot[i] = data[c->data].slots[c->row[i]];
    b->slots = b->scheduled ? NULL : c->slot;
}

static void count(const struct charge *c, int more)
{
    for (size_t i = 0; i < c->block.n; i++)
        twin.count[data[c->data].person[c->row[i]]][c->mechanism][c->block.purpose] +=
            (uint32_t)more;
    twin.number += more > 0 ? c->block.rounds : 1;
    twin.entries++;
}

/* --- the law --- */

static void expect_twin(const struct ledger *l)
{
    struct account_entry entry[ACCOUNT_MECHANISMS_MAX];
    struct ledger_totals t;
    uint64_t releases[LEDGER_PURPOSES] = {0}, most = 0, people = 0;
    size_t n = ledger_entries(l, entry), at = 0;

    for (size_t p = 0; p < PEOPLE; p++) {
        uint64_t of_one = 0;

        for (size_t m = 0; m < MECHANISMS; m++) {
            for (int u = 0; u < LEDGER_PURPOSES; u++) {
                releases[u] += twin.count[p][m][u];
                of_one += twin.count[p][m][u];
            }
        }
        most = of_one > most ? of_one : most;
        people += twin.met[p];
    }
    ledger_totals(l, &t);
    assert_memory_equal(t.releases, releases, sizeof releases);
    assert_int_equal(t.participations_max, most);
    assert_int_equal(t.records, people);
    assert_int_equal(ledger_sequence(l), twin.number);
    for (size_t i = 0; i < SETS; i++) {
        for (uint32_t row = 0; row < data[i].rows; row++) {
            uint64_t of_one = 0;

            for (size_t m = 0; m < MECHANISMS; m++) {
                for (int u = 0; u < LEDGER_PURPOSES; u++)
                    of_one += twin.count[data[i].person[row]][m][u];
            }
            assert_int_equal(ledger_spent(l, data[i].slots[row]), of_one);
        }
    }
    for (size_t m = 0; m < MECHANISMS; m++) {
        struct account_entry want = mechanism(m);
        size_t i = 0;

        for (size_t p = 0; p < PEOPLE; p++) {
            uint64_t of_one = 0, trained = twin.count[p][m][LEDGER_TRAIN];

            for (int u = 0; u < LEDGER_PURPOSES; u++)
                of_one += twin.count[p][m][u];
            want.releases += of_one;
            if (of_one > want.participations_max)
                want.participations_max = of_one;
            if (trained > want.trained_max)
                want.trained_max = trained;
        }
        if (want.releases == 0)
            continue;
        while (i < n && entry[i].parties != want.parties)
            i++;
        assert_true(i < n);
        assert_int_equal(entry[i].bottom, want.bottom);
        assert_int_equal(entry[i].releases, want.releases);
        assert_int_equal(entry[i].participations_max, want.participations_max);
        assert_int_equal(entry[i].trained_max, want.trained_max);
        at++;
    }
    assert_int_equal(at, n);
}

/* One block, or one given back; *given: reserved and not given back. */
static void act(struct ledger *l, struct charge *given, size_t *n)
{
    struct account_entry m;
    struct error err = {0};
    struct charge c;

    if (*n > 0 && below(4) == 0) {
        c = given[--*n];
        c.block.set = data[c.data].set;
        m = mechanism(c.mechanism);
        use(l, &m);
        c.block.slots = c.block.scheduled ? NULL : c.slot;
        assert_int_equal(ledger_return(l, &c.block, &err), STATUS_OK);
        count(&c, -1);
        return;
    }
    draw(&c);
    m = mechanism(c.mechanism);
    use(l, &m);
    assert_int_equal(ledger_reserve(l, &c.block, NULL, &err), STATUS_OK);
    count(&c, 1);
    if (*n < OPEN_MAX)
        given[(*n)++] = c;
}

static void live(uint64_t seed)
{
    static struct charge given[OPEN_MAX];
    uint8_t key[RNG_KEY_BYTES] = {0};
    const char *path = scratch_path("twin.db");
    struct ledger *l;
    size_t n = 0;

    memcpy(key, &seed, sizeof seed);
    assert_int_equal(rng_init_key(&rng, key), STATUS_OK);
    memset(&twin, 0, sizeof twin);
    for (size_t i = 0; i < SETS; i++)
        make_data(&data[i]);
    remove_ledger(path);
    l = open_all(path);
    for (int i = 0; i < 120; i++) {
        switch (below(12)) {
        case 0:
            ledger_close(l);
            l = open_all(path);
            break;
        case 1: l->records = LEDGER_FOLD_RECORDS; break;
        case 2: l->releases_since = LEDGER_FOLD_RELEASES; break;
        case 3: /* a changed file: what was reserved for the old one stays */
            n = 0;
            make_data(&data[below(SETS)]);
            ledger_close(l);
            l = open_all(path);
            break;
        default: act(l, given, &n); break;
        }
        expect_twin(l);
    }
    ledger_close(l);
    l = open_all(path);
    expect_twin(l);
    ledger_close(l);
    rng_deinit(&rng);
}

static void test_a_ledger_says_what_its_twin_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++)
        live(seed);
    for (size_t i = 0; i < SETS; i++) {
        mem_free(data[i].slots);
        data[i].slots = NULL;
    }
}

/* --- what is in the file --- */

static void test_no_id_is_in_the_file_and_the_same_one_is_another_in_another_ledger(void **state)
{
    static const char *const names[] = {"gwendolyn-0815", "gwendolyn-0816"};
    const char *path[2] = {scratch_path("names.db"), scratch_path("names-2.db")};
    uint8_t digest[2][LEDGER_ID_BYTES];
    struct error err = {0};
    struct ledger *l;
    uint32_t *slots;

    (void)state;
    for (int i = 0; i < 2; i++) {
        l = open_at(path[i]);
        assert_int_equal(ledger_bind(l, &slots, NULL, names, 2, &err), STATUS_OK);
        memcpy(digest[i], l->ids.digest, LEDGER_ID_BYTES);
        mem_free(slots);
        ledger_close(l);
        assert_int_equal(sealed_number(path[i],
                                       "SELECT count(*) FROM log WHERE instr(text, 'gwendolyn') OR "
                                       "instr(bytes, CAST('gwendolyn' AS BLOB))"),
                         0);
        assert_int_equal(sealed_number(path[i], "SELECT length(bytes) FROM log WHERE text = "
                                                "'ids 0'"),
                         2 * LEDGER_ID_BYTES);
    }
    assert_memory_not_equal(digest[0], digest[1], LEDGER_ID_BYTES);
}

static void test_a_block_of_any_size_is_one_short_record(void **state)
{
    const char *path = make_ledger("short.db");
    struct ledger *l = open_at(path);
    struct ledger_block b = block(LEDGER_TRAIN, NULL, ROWS_MAX);
    struct error err = {0};
    uint32_t *slots;

    (void)state;
    use(l, &PBM);
    assert_int_equal(ledger_bind(l, &slots, &b.set, row_ids(), ROWS_MAX, &err), STATUS_OK);
    b.scheduled = true;
    b.stretch = (struct ledger_stretch){
        {.kind = LEDGER_STEPS, .seed = 5, .rows = ROWS_MAX, .batch = 10, .segments = 1, .turns = 1},
        250,
        250};
    for (int i = 0; i < 3; i++)
        assert_int_equal(ledger_reserve(l, &b, NULL, &err), STATUS_OK);
    mem_free(slots);
    ledger_close(l);
    assert_int_equal(sealed_number(path, "SELECT count(*) FROM log WHERE text LIKE 'law %'"), 1);
    assert_int_equal(sealed_number(path, "SELECT count(*) FROM log WHERE text LIKE 'pay % law %'"),
                     3);
    assert_true(sealed_number(path, "SELECT max(length(text) + length(bytes)) FROM log "
                                    "WHERE text LIKE 'pay %'") < 80);
}

/* All releases of one block, not half of them, when it is written anew in between. */
static void test_a_failed_writing_anew_changes_nothing(void **state)
{
    const char *path = make_ledger("anew.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, ROWS_MAX);
    struct error err = {0};
    enum status s;
    uint64_t at = 0;

    (void)state;
    use(l, &PBM);
    do {
        const uint64_t before = total_of(l), number = ledger_sequence(l);

        l->records = LEDGER_FOLD_RECORDS;
        mem_fail_at(++at);
        s = try_reserve(l, block(LEDGER_TRAIN, slots, 10), 0, 0, &err);
        mem_fail_at(0);
        if (s != STATUS_OK) {
            assert_int_equal(s, STATUS_MEMORY);
            assert_int_equal(total_of(l), before);
            assert_int_equal(ledger_sequence(l), number);
        }
        ledger_close(l);
        l = open_at(path);
        use(l, &PBM);
        assert_int_equal(total_of(l), before + (s == STATUS_OK ? 10 : 0));
    } while (s != STATUS_OK);
    assert_true(at > 4);
    mem_free(slots);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ledger_says_what_its_twin_counts),
        cmocka_unit_test(test_no_id_is_in_the_file_and_the_same_one_is_another_in_another_ledger),
        cmocka_unit_test(test_a_block_of_any_size_is_one_short_record),
        cmocka_unit_test(test_a_failed_writing_anew_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
