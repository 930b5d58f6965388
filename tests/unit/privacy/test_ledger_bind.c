/* test_ledger_bind.c -- tables are counted, before they are bound, as binding them would count
 * them. Who a row may be is in test_ledger_members.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_bind.h"

#include "common/privacy/ledger_inside.h"
#include "tests/unit/privacy/ledgers.h"

enum { ROWS = 4 };

static const char *const ids[ROWS] = {"0", "1", "2", "3"};
static const char *const renamed[ROWS] = {"x", "x", "y", "y"};

/* The first row of a table alone. */
static void bind_first(struct ledger *l, const struct ledger_rows *table)
{
    struct ledger_rows first = *table;
    struct error err = {0};
    uint32_t *slots;

    first.n = 1;
    assert_int_equal(ledger_bind_persons(l, &slots, NULL, &first, &err), STATUS_OK);
    mem_free(slots);
}

/* As many as binding them makes, of which counting makes none. */
static void test_records_are_counted_as_they_would_be_bound(void **state)
{
    static const char *const more[] = {"7", "3", "8"}, *const of[] = {"z", "y", "0"};
    const struct ledger_rows own[] = {{.ids = ids, .n = ROWS}, {.n = 0}, {.ids = more, .n = 3}},
                             persons[] = {{.ids = ids, .persons = renamed, .n = ROWS},
                                          {.ids = more, .persons = of, .n = 3}};
    struct error err = {0};

    (void)state;
    for (int named = 0; named < 2; named++) {
        struct ledger *l = open_at(":memory:");
        const struct ledger_rows *tables = named ? persons : own;
        const size_t n = named ? 2 : 3;
        uint64_t records, members;

        bind_first(l, named ? persons : own);
        members = l->members.row.n;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(ledger_records_with(l, tables, n, &records, &err), STATUS_OK);
            assert_int_equal(records, named ? 4 : 6); /* x, y, z and 0; or 0 ... 3, 7 and 8 */
            assert_int_equal(l->ids.n, 1);
            assert_int_equal(l->members.row.n, members);
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t *slots = NULL;

            if (tables[i].n > 0)
                assert_int_equal(ledger_bind_persons(l, &slots, NULL, &tables[i], &err), STATUS_OK);
            mem_free(slots);
        }
        assert_int_equal(l->ids.n, records);
        ledger_close(l);
    }
}

static void test_rows_that_cannot_be_bound_are_not_counted(void **state)
{
    const struct ledger_rows table = {.ids = ids, .persons = renamed, .n = ROWS};
    struct ledger *l = open_at(":memory:");
    struct error err = {0};
    uint64_t records;
    uint32_t *slots;

    (void)state;
    assert_int_equal(ledger_bind(l, &slots, NULL, ids, 2, &err), STATUS_OK);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 1);
    mem_free(slots);
    assert_int_equal(ledger_records_with(l, &table, 1, &records, &err), STATUS_POLICY);
    assert_int_equal(l->ids.n, 2);
    assert_int_equal(l->members.row.n, 0);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_counted_as_they_would_be_bound),
        cmocka_unit_test(test_rows_that_cannot_be_bound_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
