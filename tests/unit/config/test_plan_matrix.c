/* test_plan_matrix.c -- the printed matrix is the one the design states, cell by cell.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_matrix.h"

#include "common/config/plan_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Rows: sums of noisy codes, sums of exact codes, floats where only sums of integers pass,
 * sums of products, noise where only those pass, clear. */
#define NO_2 " no: 2 | no: 2 | no: 2 | no: 2 | no: 2 | no: 2 |\n"
#define NO_1 " no: 1 | no: 1 | no: 1 | no: 1 |"
#define NOISY " yes | yes | no: 5 | yes | yes | no: 5 |" NO_2
#define EXACT " yes | no: 3 | no: 5 | yes | no: 3 | no: 5 |" NO_2
#define NEVER NO_1 NO_1 NO_1 "\n"
#define FEDVS " yes | no: 7 | no: 5 | yes | no: 7 | no: 5 |" NO_2
#define NOISE " no: 6 | no: 6 | no: 5 | no: 6 | no: 6 | no: 5 |" NO_2
#define CLEAR " yes | yes | yes | yes | yes | yes | yes | no: 4 | yes | yes | yes | yes |\n"

static void expect_line(const struct buf *out, const char *line)
{
    if (memmem(out->data, out->len, line, strlen(line)) == NULL)
        fail_msg("not there: %s", line);
}

static void test_the_matrix_is_that_of_the_design(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 65536);
    assert_int_equal(plan_matrix(&out), STATUS_OK);
    expect_line(&out,
                "| aggregation | encoding | sum, wait | sum, drop | sum, async | mean, wait | "
                "mean, drop | mean, async | concat, wait | concat, drop | concat, async | "
                "max, wait | max, drop | max, async |\n");
    expect_line(&out, "| masked | pbm |" NOISY);
    expect_line(&out, "| masked | fixed |" EXACT);
    expect_line(&out, "| masked | float32 |" NEVER);
    expect_line(&out, "| masked | gaussian |" NOISY);
    expect_line(&out, "| coded | pbm |" NOISY);
    expect_line(&out, "| coded | fixed |" EXACT);
    expect_line(&out, "| coded | float32 |" NEVER);
    expect_line(&out, "| coded | gaussian |" NOISY);
    expect_line(&out, "| fedvs | pbm |" NOISE);
    expect_line(&out, "| fedvs | fixed |" FEDVS);
    expect_line(&out, "| fedvs | float32 |" NEVER);
    expect_line(&out, "| fedvs | gaussian |" NOISE);
    expect_line(&out, "| clear | pbm |" CLEAR);
    expect_line(&out, "| clear | fixed |" CLEAR);
    expect_line(&out, "| clear | float32 |" CLEAR);
    expect_line(&out, "| clear | gaussian |" CLEAR);
    buf_deinit(&out);
}

static void test_the_matrix_has_what_compresses_in_clear_only(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 65536);
    assert_int_equal(plan_matrix(&out), STATUS_OK);
    expect_line(&out, "| masked | scalar |" NEVER);
    expect_line(&out, "| masked | lattice |" NEVER);
    expect_line(&out, "| masked | e8 |" NEVER);
    expect_line(&out, "| masked | topk |" NEVER);
    expect_line(&out, "| coded | scalar |" NEVER);
    expect_line(&out, "| coded | lattice |" NEVER);
    expect_line(&out, "| coded | e8 |" NEVER);
    expect_line(&out, "| coded | topk |" NEVER);
    expect_line(&out, "| fedvs | scalar |" NEVER);
    expect_line(&out, "| fedvs | lattice |" NEVER);
    expect_line(&out, "| fedvs | e8 |" NEVER);
    expect_line(&out, "| fedvs | topk |" NEVER);
    expect_line(&out, "| clear | scalar |" CLEAR);
    expect_line(&out, "| clear | lattice |" CLEAR);
    expect_line(&out, "| clear | e8 |" CLEAR);
    expect_line(&out, "| clear | topk |" CLEAR);
    buf_deinit(&out);
}

static void test_the_matrix_lists_every_rule_under_its_number(void **state)
{
    struct buf out;
    const struct plan_rule *r;
    char line[512];

    (void)state;
    buf_init(&out, 65536);
    assert_int_equal(plan_matrix(&out), STATUS_OK);
    for (size_t i = 0; (r = plan_rules_at(i)) != NULL; i++) {
        snprintf(line, sizeof line, "| %zu | `%s` |", i + 1, r->key);
        for (size_t k = 0; k < PLAN_RULES_WITH_MAX && r->with[k] != NULL; k++)
            snprintf(line + strlen(line), sizeof line - strlen(line), "%s `%s`", k == 0 ? "" : ",",
                     r->with[k]);
        snprintf(line + strlen(line), sizeof line - strlen(line), " | %s |\n", r->reason);
        expect_line(&out, line);
    }
    buf_deinit(&out);
}

static void test_the_matrix_is_refused_by_a_buffer_that_is_too_small(void **state)
{
    struct buf whole, out;

    (void)state;
    buf_init(&whole, 65536);
    assert_int_equal(plan_matrix(&whole), STATUS_OK);
    for (size_t max = 0; max < whole.len; max += 97) {
        buf_init(&out, max);
        assert_int_equal(plan_matrix(&out), STATUS_LIMIT);
        buf_deinit(&out);
    }
    buf_deinit(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_matrix_is_that_of_the_design),
        cmocka_unit_test(test_the_matrix_has_what_compresses_in_clear_only),
        cmocka_unit_test(test_the_matrix_lists_every_rule_under_its_number),
        cmocka_unit_test(test_the_matrix_is_refused_by_a_buffer_that_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
