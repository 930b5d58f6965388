/* test_ledger_past.c -- two hundred runs by different mechanisms: each keeps its figures, whatever
 * is summed up, written anew and read again, and the next one is charged like the first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_past.h"

#include "common/privacy/ledger_records.h"
#include "tests/unit/privacy/ledgers.h"

enum { RUNS = 200, TRAINED = 10, EVALUATED = 5 };

static struct account_entry entries[ACCOUNT_MECHANISMS_MAX];

/* Of run i: a beta that was turned a little. */
static struct account_entry mechanism(int i)
{
    struct account_entry m = PBM;

    m.beta = 0.1 + 1e-4 * i;
    return m;
}

static void run(struct ledger *l, const uint32_t *slots, int i)
{
    const struct account_entry m = mechanism(i);

    assert_true(ledger_takes(l, &m));
    use(l, &m);
    reserve(l, LEDGER_TRAIN, slots, TRAINED);
    reserve(l, LEDGER_EVALUATE, slots, EVALUATED);
}

static size_t counted_by_record(const struct ledger *l)
{
    size_t n = 0;

    for (size_t m = 0; m < l->mechanisms; m++)
        n += ledger_counts_released(&l->counts, m) > 0;
    return n;
}

/* `times` of the first mechanism, once of all others. */
static void expect_runs(const struct ledger *l, const uint32_t *slots, uint64_t times)
{
    struct ledger_totals t;

    assert_int_equal(ledger_entries(l, entries), RUNS);
    for (int i = 0; i < RUNS; i++) {
        const uint64_t n = i == 0 ? times : 1;

        assert_true(entries[i].beta == mechanism(i).beta);
        assert_int_equal(entries[i].releases, n * (TRAINED + EVALUATED));
        assert_int_equal(entries[i].participations_max, 2 * n);
        assert_int_equal(entries[i].trained_max, n);
    }
    ledger_totals(l, &t);
    assert_int_equal(t.releases[LEDGER_TRAIN], (RUNS + times - 1) * TRAINED);
    assert_int_equal(t.releases[LEDGER_EVALUATE], (RUNS + times - 1) * EVALUATED);
    assert_int_equal(t.participations_max, 2 * (RUNS + times - 1));
    assert_int_equal(ledger_spent(l, slots[0]), 2 * (RUNS + times - 1));
    assert_int_equal(ledger_spent(l, slots[TRAINED - 1]), RUNS + times - 1);
    assert_int_equal(ledger_spent(l, slots[TRAINED]), 0);
    assert_in_range(counted_by_record(l), 1, LEDGER_LIVE_MAX);
}

static struct ledger *reopened(struct ledger *l, const char *path)
{
    ledger_close(l);
    return open_at(path);
}

static void test_many_runs_by_different_mechanisms_leave_room_for_the_next(void **state)
{
    const char *path = scratch_path("past.db");
    struct ledger *l;
    uint32_t *slots;

    (void)state;
    remove_ledger(path);
    l = open_at(path);
    slots = bind_rows(l, 2 * TRAINED);
    for (int i = 0; i < RUNS; i++)
        run(l, slots, i);
    expect_runs(l, slots, 1);
    l = reopened(l, path);
    expect_runs(l, slots, 1);
    run(l, slots, 0); /* one that was summed up, once more */
    expect_runs(l, slots, 2);
    l = reopened(l, path);
    expect_runs(l, slots, 2);
    mem_free(slots);
    slots = bind_rows(l, 2 * TRAINED);
    l->records = LEDGER_FOLD_RECORDS;
    run(l, slots, 0); /* after all was written anew */
    assert_true(l->records < LEDGER_FOLD_RECORDS);
    expect_runs(l, slots, 3);
    l = reopened(l, path);
    expect_runs(l, slots, 3);
    mem_free(slots);
    ledger_close(l);
    remove_ledger(path);
}

/* What is given back late, when it can no longer be told apart, stays charged. */
static void test_a_late_return_of_what_was_summed_up_changes_nothing(void **state)
{
    const char *path = scratch_path("late.db");
    const struct account_entry first = mechanism(0), last = mechanism(LEDGER_LIVE_MAX);
    struct error err = {0};
    struct ledger *l;
    uint32_t *slots;

    (void)state;
    remove_ledger(path);
    l = open_at(path);
    slots = bind_rows(l, 2 * TRAINED);
    for (int i = 0; i < LEDGER_LIVE_MAX; i++)
        run(l, slots, i);
    assert_int_equal(counted_by_record(l), LEDGER_LIVE_MAX);
    use(l, &first);
    assert_int_equal(give_back(l, block(LEDGER_TRAIN, slots, TRAINED), &err), STATUS_OK);
    assert_int_equal(ledger_spent(l, slots[9]), LEDGER_LIVE_MAX - 1); /* still told apart */
    run(l, slots, LEDGER_LIVE_MAX);
    assert_int_equal(counted_by_record(l), 1);
    use(l, &first);
    assert_int_equal(give_back(l, block(LEDGER_EVALUATE, slots, EVALUATED), &err), STATUS_OK);
    assert_int_equal(ledger_spent(l, slots[0]), 2 * LEDGER_LIVE_MAX + 1);
    use(l, &last);
    assert_int_equal(give_back(l, block(LEDGER_EVALUATE, slots, EVALUATED), &err), STATUS_OK);
    assert_int_equal(ledger_spent(l, slots[0]), 2 * LEDGER_LIVE_MAX);
    l = reopened(l, path);
    assert_int_equal(ledger_spent(l, slots[0]), 2 * LEDGER_LIVE_MAX);
    assert_int_equal(ledger_entries(l, entries), LEDGER_LIVE_MAX + 1);
    mem_free(slots);
    ledger_close(l);
    remove_ledger(path);
}

/* What is known may be more records than that: not each opening writes them all again. */
static void test_a_ledger_is_written_anew_only_when_it_pays(void **state)
{
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 2 * TRAINED);
    const size_t known = LEDGER_FOLD_RECORDS;

    (void)state;
    l->peers.peer = mem_alloc(known, sizeof *l->peers.peer);
    assert_non_null(l->peers.peer);
    l->peers.n = l->peers.max = l->peers.written = known;
    l->records = known + 100;
    run(l, slots, 0);
    assert_true(l->records > known + 100); /* no */
    l->records = 3 * known;
    run(l, slots, 0);
    assert_in_range(l->records, known, known + 100); /* yes */
    mem_free(slots);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_runs_by_different_mechanisms_leave_room_for_the_next),
        cmocka_unit_test(test_a_late_return_of_what_was_summed_up_changes_nothing),
        cmocka_unit_test(test_a_ledger_is_written_anew_only_when_it_pays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
