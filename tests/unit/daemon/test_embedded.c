/* test_embedded.c -- tables by the columns of a schema.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/embedded.h"

#include "common/data/schema_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Behind columns of no, one and several features. */
static void test_each_table_is_of_the_input_that_its_column_has_become(void **state)
{
    static const char text[] =
        "statistics: fit\ncolumns:\n"
        "  - {name: a, kind: ignored}\n"
        "  - {name: b, kind: category, levels: [x, y], encode: embedding, width: 5}\n"
        "  - {name: c, kind: category, levels: [x, y, z], other: true}\n"
        "  - {name: d, kind: number, missing: mean, indicator: true}\n"
        "  - {name: e, kind: category, levels: [x], other: true, indicator: true, encode: "
        "embedding}\n";
    struct error err = {0};
    struct nn_embedded e;
    struct schema s;

    (void)state;
    assert_int_equal(schema_parse(&s, text, strlen(text), "s", &err), STATUS_OK);
    e = embedded_of(&s);
    assert_int_equal(e.n, 2);
    assert_true(e.of[0].column == 0 && e.of[0].levels == 2 && e.of[0].width == 5);
    assert_true(e.of[1].column == 7 && e.of[1].levels == 3 && e.of[1].width == 3);
    schema_deinit(&s);
}

static void test_without_a_schema_there_is_none(void **state)
{
    const struct schema empty = {0};

    (void)state;
    assert_int_equal(embedded_of(NULL).n, 0);
    assert_int_equal(embedded_of(&empty).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_table_is_of_the_input_that_its_column_has_become),
        cmocka_unit_test(test_without_a_schema_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
