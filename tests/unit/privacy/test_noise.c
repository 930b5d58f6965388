/* Unit tests of common/privacy/noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/noise.h"

#include "common/config/encoding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct account_entry entry_of(enum account_kind kind)
{
    return (struct account_entry){.kind = kind,
                                  .trials = 16,
                                  .beta = 0.25,
                                  .sigma = 2,
                                  .clip = 1,
                                  .step = 0.25,
                                  .coordinates = 4,
                                  .parties = 5,
                                  .colluders = 1};
}

/* An encoding adds noise when and only when the accountant has a law of its name. */
static void test_noisy_encodings_and_laws_have_the_same_words(void **state)
{
    (void)state;
    assert_string_equal(noise_names[ACCOUNT_PBM], "pbm");
    assert_string_equal(noise_names[ACCOUNT_GAUSSIAN], "gaussian");
    assert_string_equal(noise_names[ACCOUNT_NONE], "none");
    assert_null(noise_row(ACCOUNT_NONE));
    for (int e = 0; e < PLAN_ENCODINGS; e++) {
        int laws = 0;

        for (int k = 0; k < ACCOUNT_NONE; k++)
            laws += strcmp(noise_names[k], encoding_names[e]) == 0;
        assert_int_equal(laws, encoding_row((enum plan_encoding)e)->noisy);
    }
}

static void test_a_row_is_whole(void **state)
{
    (void)state;
    for (int k = 0; k < ACCOUNT_NONE; k++) {
        const struct noise *row = noise_row((enum account_kind)k);
        const struct account_entry e = entry_of((enum account_kind)k);
        char label[NOISE_LABEL_MAX] = "";
        struct buf out;

        assert_true(row->parameters > 0);
        assert_true(row->possible(&e));
        row->label(&e, label);
        assert_int_equal(strncmp(label, noise_names[k], strlen(noise_names[k])), 0);
        buf_init(&out, 1024);
        assert_int_equal(row->describe(&e, &out), STATUS_OK);
        assert_int_equal(strncmp((const char *)out.data, noise_names[k], strlen(noise_names[k])),
                         0);
        buf_deinit(&out);
    }
}

/* Each parameter that a ledger keeps is one without which the law cannot be. */
static void test_no_parameter_may_be_missing(void **state)
{
    (void)state;
    for (int k = 0; k < ACCOUNT_NONE; k++) {
        const struct noise *row = noise_row((enum account_kind)k);

        for (size_t i = 0; i < row->parameters; i++) {
            struct account_entry e = entry_of((enum account_kind)k);
            size_t bytes = row->parameter[i].type == NOISE_REAL ? sizeof(double) : sizeof(uint32_t);

            memset((uint8_t *)&e + row->parameter[i].at, 0, bytes);
            assert_false(row->possible(&e));
        }
    }
}

static double cost(const struct account_entry *e, struct noise_sight s, double excess)
{
    struct noise_tables tables = {.n = 0};
    const struct noise_term t = noise_row(e->kind)->term(e, &s, &tables);
    const double d = t.scale * t.divergence(&t, excess);

    noise_tables_free(&tables);
    return d;
}

static void same(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

static void test_costs_are_those_of_the_formulas(void **state)
{
    const struct account_entry pbm = entry_of(ACCOUNT_PBM), gaussian = entry_of(ACCOUNT_GAUSSIAN);
    struct rdp_pbm table;

    (void)state;
    assert_int_equal(rdp_pbm_init(&table, 16, 0.25, 3), STATUS_OK);
    same(cost(&pbm, (struct noise_sight){10, false, 4, 3}, 1), 10 * 4 * rdp_pbm(&table, 1));
    rdp_pbm_deinit(&table);
    same(cost(&pbm, (struct noise_sight){10, true, 4, 3}, 1), 10 * 4 * 4 * 16 * rdp_trial(0.25, 1));
    same(cost(&gaussian, (struct noise_sight){10, false, 4, 3}, 1),
         10 * rdp_discrete(4, 2 * sqrt(3), rdp_discrete_tau(8, 3), 4, 1));
    same(cost(&gaussian, (struct noise_sight){10, true, 4, 3}, 1),
         10 * 4 * rdp_discrete(4, 2, 0, 4, 1));
}

/* Those who hide an upload make it no dearer, one more release does. */
static void test_company_is_never_dearer_and_a_release_always_is(void **state)
{
    (void)state;
    for (int k = 0; k < ACCOUNT_NONE; k++) {
        const struct account_entry e = entry_of((enum account_kind)k);

        assert_true(cost(&e, (struct noise_sight){10, false, 4, 4}, 1) <=
                    cost(&e, (struct noise_sight){10, false, 4, 1}, 1));
        assert_true(cost(&e, (struct noise_sight){10, false, 4, 1}, 1) <
                    cost(&e, (struct noise_sight){11, false, 4, 1}, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noisy_encodings_and_laws_have_the_same_words),
        cmocka_unit_test(test_a_row_is_whole),
        cmocka_unit_test(test_no_parameter_may_be_missing),
        cmocka_unit_test(test_costs_are_those_of_the_formulas),
        cmocka_unit_test(test_company_is_never_dearer_and_a_release_always_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
