/* test_ledger_spare.c -- what a record has no more to spend for is charged to nobody: as many
 * releases, and no record's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_spare.h"

#include "common/privacy/ledger_past.h"
#include "common/privacy/ledger_records.h"
#include "tests/unit/privacy/ledgers.h"

enum { RECORDS = 4 };

static uint32_t bind_nobody(struct ledger *l)
{
    const char *const name[] = {LEDGER_NOBODY};
    struct error err = {0};
    uint32_t *slots, slot;

    assert_int_equal(ledger_bind(l, &slots, NULL, name, 1, &err), STATUS_OK);
    slot = slots[0];
    mem_free(slots);
    return slot;
}

/* As books does: what is over becomes nobody's, and all of it is charged. */
static void charge(struct ledger *l, uint8_t *spared, const uint32_t *slots, size_t n,
                   const struct ledger_limits *limits)
{
    const uint32_t nobody = bind_nobody(l);
    uint32_t left[16];
    const struct ledger_block b = block_of_run(1, 2, LEDGER_PREDICT, left, n);
    struct error err = {0};

    memcpy(left, slots, n * sizeof *left);
    assert_int_equal(ledger_spare(l, spared, left, &b, limits, &err), STATUS_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(left[i], spared[i] ? nobody : slots[i]);
    assert_int_equal(ledger_reserve(l, &b, NULL, &err), STATUS_OK);
}

static void expect_held(struct ledger *l, uint64_t releases, uint64_t most)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    struct ledger_histogram h;
    struct ledger_totals t;
    uint64_t counted = 0;

    ledger_totals(l, &t);
    assert_int_equal(t.releases[LEDGER_PREDICT], releases);
    assert_int_equal(t.participations_max, most);
    assert_int_equal(t.records, RECORDS);
    assert_int_equal(ledger_entries(l, entries), 1);
    assert_int_equal(entries[0].releases, releases);
    assert_int_equal(entries[0].participations_max, most);
    ledger_histogram(l, &h);
    for (size_t i = 0; i < h.n; i++)
        counted += h.records[i];
    assert_int_equal(counted, RECORDS);
}

static void test_what_is_over_a_record_s_limit_is_nobody_s(void **state)
{
    const struct ledger_limits limits = {.record_max = 3};
    char path[600];
    struct ledger *l;
    uint8_t spared[6];
    uint32_t *slots, asked[6];

    (void)state;
    snprintf(path, sizeof path, "%s/spare.db", scratch_dir());
    l = open_at(path);
    slots = bind_rows(l, RECORDS);
    use(l, &PBM);
    for (size_t i = 0; i < 6; i++) /* one of them three times in one block */
        asked[i] = slots[i < 4 ? i : 0];
    charge(l, spared, asked, 6, &limits);
    for (size_t i = 0; i < 6; i++)
        assert_false(spared[i]);
    charge(l, spared, asked, 6, &limits);
    assert_memory_equal(spared, ((uint8_t[]){1, 0, 0, 0, 1, 1}), 6);
    expect_held(l, 12, 3);
    for (int times = 0; times < 20; times++)
        charge(l, spared, asked, 6, &limits);
    assert_memory_equal(spared, ((uint8_t[]){1, 1, 1, 1, 1, 1}), 6);
    expect_held(l, 132, 3);
    ledger_close(l);
    l = open_at(path); /* and it is the same whoever opens it */
    expect_held(l, 132, 3);
    ledger_close(l);
    mem_free(slots);
    remove_ledger(path);
}

/* Summed up with others, since there are too many to be told apart by record. */
static void test_mechanisms_whose_releases_were_all_nobody_s_are_read_again(void **state)
{
    enum { MECHANISMS = LEDGER_LIVE_MAX + 2, ASKED = 4 };
    static struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    const struct ledger_limits limits = {.record_max = 1};
    struct account_entry other = PBM;
    uint8_t spared[ASKED];
    char path[600];
    struct ledger *l;
    uint32_t *slots;

    (void)state;
    snprintf(path, sizeof path, "%s/nobody.db", scratch_dir());
    l = open_at(path);
    slots = bind_rows(l, RECORDS);
    for (int i = 0; i < MECHANISMS; i++) {
        other.beta = 0.1 + 1e-4 * i;
        use(l, &other);
        if (i == MECHANISMS - 1)
            l->records = LEDGER_FOLD_RECORDS; /* all is written anew */
        charge(l, spared, slots, ASKED, &limits);
        assert_int_equal(spared[0], i > 0);
    }
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_entries(l, entries), MECHANISMS);
    for (int i = 0; i < MECHANISMS; i++) {
        assert_int_equal(entries[i].releases, ASKED);
        assert_int_equal(entries[i].participations_max, i == 0);
    }
    ledger_close(l);
    mem_free(slots);
    remove_ledger(path);
}

/* However many these are: no record is, and so nobody is told that any is beyond its limit. */
static void test_what_is_nobody_s_has_no_end(void **state)
{
    const uint64_t many = UINT64_C(3) << 32;
    const struct ledger_limits limits = {.record_max = 1};
    struct ledger_column column = {.purpose = LEDGER_PREDICT};
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    uint8_t spared[RECORDS];
    char path[600];
    struct ledger *l;
    uint32_t *slots;

    (void)state;
    snprintf(path, sizeof path, "%s/many.db", scratch_dir());
    l = open_at(path);
    slots = bind_rows(l, RECORDS);
    use(l, &PBM);
    charge(l, spared, slots, RECORDS, &limits);
    column.mechanism = l->current;
    assert_int_equal(ledger_counts_load(&l->counts, column, bind_nobody(l), many - 1), STATUS_OK);
    assert_int_equal(ledger_counts_load(&l->counts, column, slots[0], UINT32_MAX), STATUS_LIMIT);
    for (int opened = 0; opened < 3; opened++) {
        use(l, &PBM);
        l->records = LEDGER_FOLD_RECORDS; /* all is written anew */
        charge(l, spared, slots, RECORDS, &limits);
        assert_memory_equal(spared, ((uint8_t[RECORDS]){1, 1, 1, 1}), RECORDS);
        ledger_close(l);
        l = open_at(path);
        assert_int_equal(ledger_entries(l, entries), 1);
        assert_true(entries[0].releases == many - 1 + RECORDS * (2 + (uint64_t)opened));
        assert_int_equal(entries[0].participations_max, 1);
    }
    ledger_close(l);
    mem_free(slots);
    remove_ledger(path);
}

/* No more than so many by all mechanisms together, of the record that is asked about. */
static bool at_most_four(void *owner, const struct account_entry *entries, size_t n)
{
    uint64_t sum = 0, releases = 0;

    for (size_t i = 0; i < n; i++) {
        sum += entries[i].participations_max;
        releases += entries[i].releases;
    }
    ++*(uint32_t *)owner;
    assert_int_equal(releases % 4,
                     0); /* those of the whole block are in it, whoever is asked for */
    return sum <= 4;
}

static void test_a_record_is_judged_by_its_own_counts(void **state)
{
    struct account_entry other = PBM;
    uint32_t judged = 0;
    const struct ledger_limits limits = {.judge_one = at_most_four, .owner = &judged};
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, RECORDS);
    uint8_t spared[4];

    (void)state;
    other.parties = 4;
    use(l, &other);
    for (int times = 0; times < 4; times++) /* 0 has three of them, the others one */
        reserve(l, LEDGER_PREDICT,
                times == 0 ? slots : (uint32_t[]){slots[0], slots[1 + times % 3]},
                times == 0 ? 4 : 2);
    reserve(l, LEDGER_PREDICT, (uint32_t[]){slots[0], slots[0]}, 2);
    use(l, &PBM);
    charge(l, spared, slots, 4, &limits);
    assert_memory_equal(spared, ((uint8_t[]){1, 0, 0, 0}), 4);
    charge(l, spared, slots, 4, &limits);
    assert_memory_equal(spared, ((uint8_t[]){1, 0, 0, 0}), 4);
    charge(l, spared, slots, 4, &limits);
    assert_memory_equal(spared, ((uint8_t[]){1, 1, 1, 1}), 4);
    assert_true(judged < 12); /* who has no more than one that may have it is not asked about */
    mem_free(slots);
    ledger_close(l);
}

/* Before anything is released: on top of what each has, so often as is planned. */
static void test_a_record_without_room_for_what_is_planned_is_spared(void **state)
{
    struct account_entry planned = PBM;
    uint32_t judged = 0;
    const struct ledger_limits most = {.record_max = 4},
                               by_one = {.judge_one = at_most_four, .owner = &judged};
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, RECORDS), asked[RECORDS + 1], found[2];
    const char *const names[] = {"r1", "a stranger"};
    uint8_t spared[RECORDS + 1];

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, (uint32_t[]){slots[1], slots[2], slots[2], slots[2]}, 4);
    memcpy(asked, slots, RECORDS * sizeof *asked);
    asked[RECORDS] = UINT32_MAX;
    for (uint32_t n = 0; n <= 5; n++) {
        const uint8_t want[] = {n > 4, n > 3, n > 1, n > 4, n > 4};

        planned.participations_max = n;
        planned.releases = 4 * (uint64_t)n;
        assert_int_equal(ledger_spare_planned(l, spared, asked, RECORDS + 1, &planned, &most),
                         STATUS_OK);
        assert_memory_equal(spared, want, sizeof want);
        assert_int_equal(ledger_spare_planned(l, spared, asked, RECORDS + 1, &planned, &by_one),
                         STATUS_OK);
        assert_memory_equal(spared, want, sizeof want);
    }
    assert_int_equal(ledger_spent(l, slots[2]), 3); /* nothing has changed */
    assert_int_equal(ledger_slots(l, found, names, 2), STATUS_OK);
    assert_int_equal(found[0], slots[1]);
    assert_int_equal(found[1], UINT32_MAX);
    mem_free(slots);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_over_a_record_s_limit_is_nobody_s),
        cmocka_unit_test(test_mechanisms_whose_releases_were_all_nobody_s_are_read_again),
        cmocka_unit_test(test_what_is_nobody_s_has_no_end),
        cmocka_unit_test(test_a_record_is_judged_by_its_own_counts),
        cmocka_unit_test(test_a_record_without_room_for_what_is_planned_is_spared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
