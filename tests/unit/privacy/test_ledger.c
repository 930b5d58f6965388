/* test_ledger.c -- what is counted, refused, given back and printed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger.h"

#include "common/privacy/ledger_print.h"
#include "tests/unit/privacy/ledgers.h"

#include <string.h>

/* --- counting ---------------------------------------------------------------------------- */

static void test_counts_are_kept_by_record_purpose_and_mechanism(void **state)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX], other = PBM;
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 4), twice[3];
    struct ledger_totals t;

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 4);
    twice[0] = twice[1] = slots[2];
    twice[2] = slots[0];
    reserve(l, LEDGER_EVALUATE, twice, 3);
    other.parties = 4;
    use(l, &other);
    reserve(l, LEDGER_PREDICT, &slots[3], 1);

    ledger_totals(l, &t);
    assert_int_equal(t.releases[LEDGER_TRAIN], 4);
    assert_int_equal(t.releases[LEDGER_EVALUATE], 3);
    assert_int_equal(t.releases[LEDGER_PREDICT], 1);
    assert_int_equal(t.participations_max, 3);
    assert_int_equal(t.records, 4);
    assert_int_equal(ledger_spent(l, slots[0]), 2);
    assert_int_equal(ledger_spent(l, slots[1]), 1);
    assert_int_equal(ledger_spent(l, slots[2]), 3);
    assert_int_equal(ledger_spent(l, slots[3]), 2);

    assert_int_equal(ledger_entries(l, entries), 2);
    assert_int_equal(entries[0].parties, 5);
    assert_int_equal(entries[0].releases, 7);
    assert_int_equal(entries[0].participations_max, 3);
    assert_int_equal(entries[0].trained_max, 1);
    assert_int_equal(entries[1].parties, 4);
    assert_int_equal(entries[1].releases, 1);
    assert_int_equal(entries[1].participations_max, 1);
    mem_free(slots);
    ledger_close(l);
}

static void test_a_mechanism_is_one_whatever_meaningless_fields_say(void **state)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX], noisy = PBM;
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 1);

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 1);
    noisy.sigma = 3;
    noisy.clip = 2;
    noisy.releases = 99;
    noisy.colluders = 0;
    use(l, &noisy);
    reserve(l, LEDGER_TRAIN, slots, 1);
    assert_int_equal(ledger_entries(l, entries), 1);
    assert_int_equal(entries[0].releases, 2);
    noisy.beta = 0.2; /* and this has a meaning */
    use(l, &noisy);
    assert_int_equal(ledger_entries(l, entries), 1); /* nothing released by it yet */
    reserve(l, LEDGER_TRAIN, slots, 1);
    assert_int_equal(ledger_entries(l, entries), 2);
    mem_free(slots);
    ledger_close(l);
}

static void test_any_parameter_makes_another_mechanism(void **state)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX], m[9];
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 1);

    (void)state;
    for (size_t i = 0; i < 9; i++)
        m[i] = PBM;
    m[1].trials = 17;
    m[2].beta = 0.11;
    m[3].clear = true;
    m[4].clear = m[4].concat = true;
    m[5].coordinates = 17;
    m[6].parties = 6;
    m[7].colluders = 2;
    m[8].kind = ACCOUNT_NONE;
    for (size_t i = 0; i < 9; i++) {
        use(l, &m[i]);
        reserve(l, LEDGER_TRAIN, slots, 1);
        assert_int_equal(ledger_entries(l, entries), i + 1);
    }
    mem_free(slots);
    ledger_close(l);
}

/* Does what people are shown say that there is little room? */
static bool warns(const struct ledger *l)
{
    struct buf out;
    bool said;

    buf_init(&out, 1 << 20);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    said = strstr((const char *)out.data, "WARNING: accounts for") != NULL;
    buf_deinit(&out);
    return said;
}

static void test_a_mechanism_too_many_is_refused(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct account_entry m = PBM;
    struct error err = {0};

    (void)state;
    for (uint32_t i = 0; i < ACCOUNT_MECHANISMS_MAX; i++) {
        m.coordinates = i + 1;
        assert_true(ledger_takes(l, &m));
        assert_int_equal(warns(l), i >= LEDGER_NEARLY_FULL);
        use(l, &m);
    }
    m.coordinates = ACCOUNT_MECHANISMS_MAX + 1;
    assert_int_equal(ledger_use(l, &m, &err), STATUS_BUDGET);
    assert_non_null(strstr(err.text, "1024"));
    assert_false(ledger_takes(l, &m));
    m.coordinates = 1; /* known ones stay in use */
    assert_true(ledger_takes(l, &m));
    use(l, &m);
    ledger_close(l);
}

static void test_everything_is_there_after_reopening(void **state)
{
    const char *path = make_ledger("reopen.db");
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    struct ledger *l = open_at(path);
    struct ledger_totals t;

    (void)state;
    ledger_totals(l, &t);
    assert_int_equal(t.releases[LEDGER_TRAIN], ROWS_MAX);
    assert_int_equal(t.releases[LEDGER_EVALUATE], 20);
    assert_int_equal(t.participations_max, 3);
    assert_int_equal(t.records, ROWS_MAX);
    assert_int_equal(ledger_entries(l, entries), 1);
    assert_true(entries[0].kind == ACCOUNT_PBM && entries[0].beta == 0.1);
    assert_int_equal(entries[0].trials, 16);
    assert_int_equal(entries[0].releases, ROWS_MAX + 20);
    assert_int_equal(entries[0].participations_max, 3);
    ledger_close(l);
}

/* Another file of the same party: other rows, other order; what an id has spent stays with it. */
static void test_a_changed_file_inherits_what_its_ids_have_spent(void **state)
{
    static const char *const first[] = {"anna", "bert", "carl"};
    static const char *const second[] = {"dora", "carl", "anna", "anna "};
    const char *path = scratch_path("inherit.db");
    struct ledger *l = open_at(path);
    struct error err = {0};
    uint32_t *a, *b;

    (void)state;
    assert_int_equal(ledger_bind(l, &a, NULL, first, 3, &err), STATUS_OK);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, a, 3);
    reserve(l, LEDGER_TRAIN, &a[2], 1);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_bind(l, &b, NULL, second, 4, &err), STATUS_OK);
    assert_int_equal(ledger_spent(l, b[0]), 0);
    assert_int_equal(ledger_spent(l, b[1]), 2);
    assert_int_equal(ledger_spent(l, b[2]), 1);
    assert_int_equal(ledger_spent(l, b[3]), 0); /* another id, however alike */
    use(l, &PBM);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, &b[1], 1), 2, 0, &err), STATUS_BUDGET);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, &b[2], 1), 2, 0, &err), STATUS_OK);
    mem_free(a);
    mem_free(b);
    ledger_close(l);
}

/* --- limits ------------------------------------------------------------------------------ */

static void test_a_block_over_the_record_limit_charges_nothing(void **state)
{
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 100), some[4];
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 100);
    reserve(l, LEDGER_EVALUATE, &slots[7], 1); /* purposes count together */
    some[0] = slots[1];
    some[1] = some[2] = some[3] = slots[7];
    assert_int_equal(try_reserve(l, block(LEDGER_PREDICT, some, 4), 4, 0, &err), STATUS_BUDGET);
    assert_non_null(strstr(err.text, "max_releases.record"));
    assert_non_null(strstr(err.text, "reach 5"));
    assert_non_null(strstr(err.text, "limit is 4"));
    assert_int_equal(total_of(l), 101);
    assert_int_equal(most_of(l), 2);
    assert_int_equal(ledger_spent(l, slots[1]), 1);
    assert_int_equal(ledger_spent(l, slots[7]), 2);
    assert_int_equal(try_reserve(l, block(LEDGER_PREDICT, some, 4), 5, 0, &err), STATUS_OK);
    assert_int_equal(ledger_spent(l, slots[7]), 5);
    mem_free(slots);
    ledger_close(l);
}

static void test_a_block_over_the_total_limit_charges_nothing(void **state)
{
    const char *path = scratch_path("total.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 100);
    struct account_entry other = PBM;
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 100);
    other.trials = 8;
    use(l, &other); /* mechanisms count together */
    assert_int_equal(try_reserve(l, block(LEDGER_EVALUATE, slots, 50), 0, 149, &err),
                     STATUS_BUDGET);
    assert_non_null(strstr(err.text, "max_releases.total"));
    assert_non_null(strstr(err.text, "reach 150"));
    assert_non_null(strstr(err.text, "limit is 149"));
    assert_int_equal(total_of(l), 100);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(total_of(l), 100);
    use(l, &other);
    assert_int_equal(try_reserve(l, block(LEDGER_EVALUATE, slots, 50), 0, 150, &err), STATUS_OK);
    assert_int_equal(total_of(l), 150);
    mem_free(slots);
    ledger_close(l);
}

static void test_returned_reservations_may_be_spent_again(void **state)
{
    const char *path = scratch_path("return.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 100);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 100);
    reserve(l, LEDGER_TRAIN, slots, 60);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, 1), 2, 0, &err), STATUS_BUDGET);
    assert_int_equal(give_back(l, block(LEDGER_TRAIN, slots, 60), &err), STATUS_OK);
    assert_int_equal(total_of(l), 100);
    assert_int_equal(most_of(l), 1);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(total_of(l), 100);
    assert_int_equal(most_of(l), 1);
    use(l, &PBM);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, 60), 2, 0, &err), STATUS_OK);
    mem_free(slots);
    ledger_close(l);
}

/* --- memory ------------------------------------------------------------------------------ */

/* One life of a ledger; stops at the first failure, with nothing half done. */
static enum status live(const char *path, struct error *err)
{
    struct ledger *l;
    uint32_t *slots = NULL;
    uint64_t before = 0;
    enum status s = ledger_open(&l, path, KEY, err);

    if (s != STATUS_OK)
        return s;
    s = ledger_bind(l, &slots, NULL, row_ids(), ROWS_MAX, err);
    if (s == STATUS_OK)
        s = ledger_use(l, &PBM, err);
    if (s == STATUS_OK) {
        before = total_of(l);
        s = try_reserve(l, block(LEDGER_TRAIN, slots, ROWS_MAX), 0, 0, err);
        assert_int_equal(total_of(l), before + (s == STATUS_OK ? ROWS_MAX : 0));
    }
    mem_free(slots);
    ledger_close(l);
    return s;
}

static void test_any_failed_allocation_is_reported_and_charges_nothing(void **state)
{
    const char *path = scratch_path("short.db");
    struct error err = {0};
    uint64_t n = 0, failures = 0;
    enum status s;
    struct ledger *l;

    (void)state;
    do {
        mem_fail_at(++n);
        s = live(path, &err);
        mem_fail_at(0);
        assert_true(s == STATUS_OK || s == STATUS_MEMORY);
        failures += s == STATUS_MEMORY;
    } while (s != STATUS_OK);
    assert_true(failures >= 6);
    l = open_at(path);
    assert_int_equal(total_of(l), ROWS_MAX);
    ledger_close(l);
}

static void test_a_failed_binding_leaves_the_ledger_usable(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct error err = {0};
    uint32_t *slots;

    (void)state;
    mem_fail_at(6); /* the counts, when the ids are already added */
    assert_int_equal(ledger_bind(l, &slots, NULL, row_ids(), 10, &err), STATUS_MEMORY);
    mem_fail_at(0);
    assert_null(slots);
    slots = bind_rows(l, 10);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(slots[i], i);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 10);
    mem_free(slots);
    ledger_close(l);
}

/* After the first reservation has made the chunks and walked the schedule. */
static void test_a_later_reservation_allocates_nothing(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct ledger_block b = block(LEDGER_TRAIN, NULL, 300);
    struct error err = {0};
    uint32_t *slots;
    uint64_t before;

    (void)state;
    assert_int_equal(ledger_bind(l, &slots, &b.set, row_ids(), ROWS_MAX, &err), STATUS_OK);
    b.scheduled = true;
    b.stretch = (struct ledger_stretch){
        .law = {.kind = LEDGER_STEPS, .rows = ROWS_MAX, .batch = 100, .segments = 1, .turns = 1},
        .count = 3};
    use(l, &PBM);
    for (int i = 0; i < 9; i++) {
        before = mem_count();
        b.stretch.place = 3 * (uint64_t)i;
        assert_int_equal(ledger_reserve(l, &b, NULL, &err), STATUS_OK);
        assert_true(i < 8 || mem_count() == before); /* and all chunks */
    }
    assert_int_equal(total_of(l), 2700);
    mem_free(slots);
    ledger_close(l);
}

/* --- for people -------------------------------------------------------------------------- */

static void test_print_says_what_was_spent_and_what_it_amounts_to(void **state)
{
    static const char *const expected[] = {
        "records         2500\n",
        "train 2500  evaluate 20  predict 0  contribute 0  align 0  total 2520\n",
        "at most 3 of one record\n",
        "1                       2490\n",
        "3                         10\n",
        "pbm b=16 beta=0.1",
        "claims at delta 1e-05",
        "server+1     columns            4",
        "vacuous\n",
    };
    struct ledger *l = open_at(make_ledger("print.db"));
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (strstr((const char *)out.data, expected[i]) == NULL)
            fail_msg("no '%s' in:\n%s", expected[i], (const char *)out.data);
    buf_deinit(&out);
    buf_init(&out, 40); /* room for one line only */
    assert_int_equal(ledger_print(l, &out), STATUS_LIMIT);
    buf_deinit(&out);
    ledger_close(l);
}

/* What it says of a ledger of that many records, of which one was released. */
static void expect_delta(size_t records, const char *words)
{
    char(*text)[12] = mem_alloc(records, sizeof *text);
    const char **ids = mem_alloc(records, sizeof *ids);
    struct ledger *l = open_at(":memory:");
    struct error err = {0};
    uint32_t *slots;
    struct buf out;

    assert_non_null(text);
    assert_non_null(ids);
    for (size_t i = 0; i < records; i++) {
        snprintf(text[i], sizeof text[i], "%zu", i);
        ids[i] = text[i];
    }
    assert_int_equal(ledger_bind(l, &slots, NULL, ids, records, &err), STATUS_OK);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 1);
    buf_init(&out, 1 << 16);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    if (strstr((const char *)out.data, words) == NULL)
        fail_msg("no '%s' in:\n%s", words, (const char *)out.data);
    buf_deinit(&out);
    ledger_close(l);
    mem_free(slots);
    mem_free(ids);
    mem_free(text);
}

static void test_delta_is_below_one_over_the_records(void **state)
{
    (void)state;
    assert_true(ledger_delta(0) == 1e-5);
    assert_true(ledger_delta(99999) == 1e-5);
    assert_true(ledger_delta(100000) == 1e-6);
    for (uint64_t records = 1; records < UINT64_MAX / 3; records *= 3) {
        assert_true(ledger_delta(records) * (double)records < 1);
        assert_true(ledger_delta(records) <= 1e-5);
    }
    expect_delta(99999, "claims at delta 1e-05\n");
    expect_delta(100000, "claims at delta 1e-06\n");
    expect_delta(100000, "delta is below one over the 100000 records\n");
}

static void test_the_histogram_counts_every_record_once(void **state)
{
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 5);
    struct ledger_histogram h;

    (void)state;
    ledger_histogram(l, &h);
    assert_int_equal(h.width, 1);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.records[0], 5);
    use(l, &PBM);
    for (int times = 0; times < 30; times++)
        reserve(l, LEDGER_TRAIN, slots, times < 4 ? 2 : 1);
    ledger_histogram(l, &h);
    assert_int_equal(h.width, 3); /* 30 / 12 + 1 */
    assert_int_equal(h.n, 11);
    assert_int_equal(h.records[0], 3);
    assert_int_equal(h.records[1], 1);  /* 4 */
    assert_int_equal(h.records[10], 1); /* 30 */
    mem_free(slots);
    ledger_close(l);
}

static const struct account_entry DRAWN = {.kind = ACCOUNT_GAUSSIAN,
                                           .sigma = 1,
                                           .clip = 0.1,
                                           .step = 0.25,
                                           .bottom = ACCOUNT_STATISTICS,
                                           .coordinates = 3,
                                           .parties = 1,
                                           .colluders = 1};

static bool is_paid(struct ledger *l, uint8_t plan, uint8_t data)
{
    const struct ledger_block b = block_of_run(plan, data, LEDGER_STATISTICS, NULL, 0);
    struct error err = {0};
    bool paid;

    assert_int_equal(ledger_is_paid(l, &b, &paid, &err), STATUS_OK);
    return paid;
}

/* Numbers are told to others. */
static void test_statistics_take_no_number_and_are_known_to_be_paid(void **state)
{
    const char *path = scratch_path("statistics.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 5);
    struct ledger_block b = block_of_run(3, 4, LEDGER_STATISTICS, slots, 5);
    struct account_entry e[ACCOUNT_MECHANISMS_MAX];
    struct error err = {0};

    (void)state;
    b.rounds = 0;
    use(l, &PBM);
    assert_int_equal(try_reserve(l, block_of_run(3, 4, LEDGER_TRAIN, slots, 5), 0, 0, &err),
                     STATUS_OK);
    use(l, &DRAWN);
    assert_false(is_paid(l, 3, 4)); /* training is no statistic */
    assert_int_equal(try_reserve(l, b, 2, 0, &err), STATUS_OK);
    for (int process = 0; process < 2; process++) {
        assert_int_equal(ledger_sequence(l), 1);
        assert_true(is_paid(l, 3, 4));
        assert_false(is_paid(l, 2, 4) || is_paid(l, 3, 3));
        assert_int_equal(ledger_entries(l, e), 2);
        assert_int_equal(e[1].bottom, ACCOUNT_STATISTICS);
        assert_int_equal(e[1].participations_max, 1);
        assert_int_equal(most_of(l), 2);
        ledger_close(l);
        l = open_at(path);
    }
    ledger_close(l);
    mem_free(slots);
}

static void test_an_empty_ledger_prints_without_claims(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_non_null(strstr((const char *)out.data, "records         0"));
    assert_null(strstr((const char *)out.data, "claims"));
    buf_deinit(&out);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_kept_by_record_purpose_and_mechanism),
        cmocka_unit_test(test_a_mechanism_is_one_whatever_meaningless_fields_say),
        cmocka_unit_test(test_any_parameter_makes_another_mechanism),
        cmocka_unit_test(test_a_mechanism_too_many_is_refused),
        cmocka_unit_test(test_everything_is_there_after_reopening),
        cmocka_unit_test(test_a_changed_file_inherits_what_its_ids_have_spent),
        cmocka_unit_test(test_a_block_over_the_record_limit_charges_nothing),
        cmocka_unit_test(test_a_block_over_the_total_limit_charges_nothing),
        cmocka_unit_test(test_returned_reservations_may_be_spent_again),
        cmocka_unit_test(test_any_failed_allocation_is_reported_and_charges_nothing),
        cmocka_unit_test(test_a_failed_binding_leaves_the_ledger_usable),
        cmocka_unit_test(test_a_later_reservation_allocates_nothing),
        cmocka_unit_test(test_print_says_what_was_spent_and_what_it_amounts_to),
        cmocka_unit_test(test_statistics_take_no_number_and_are_known_to_be_paid),
        cmocka_unit_test(test_an_empty_ledger_prints_without_claims),
        cmocka_unit_test(test_delta_is_below_one_over_the_records),
        cmocka_unit_test(test_the_histogram_counts_every_record_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
