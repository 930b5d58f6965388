/* test_protocol_page.c -- the phase table in docs/protocol.md is that of the program.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/file.h"
#include "common/flow/phase.h"

enum { TEXT_MAX = 1 << 20 };

static void test_the_documented_phases_are_those_of_the_program(void **state)
{
    static const char begin[] = "<!-- vfl-reference phases: begin -->\n",
                      end[] = "<!-- vfl-reference phases: end -->\n";
    struct buf doc, out;
    struct error err = {0};
    const char *from, *to;

    (void)state;
    buf_init(&doc, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    assert_int_equal(file_read("docs/protocol.md", &doc, &err), STATUS_OK);
    assert_int_equal(phase_print(&out), STATUS_OK);
    from = memmem(doc.data, doc.len, begin, sizeof begin - 1);
    to = memmem(doc.data, doc.len, end, sizeof end - 1);
    assert_true(from != NULL && to != NULL && from < to);
    from += sizeof begin - 1;
    if ((size_t)(to - from) != out.len || memcmp(from, out.data, out.len) != 0)
        fail_msg(
            "docs/protocol.md: print the part between its markers anew with vfl-reference phases");
    buf_deinit(&doc);
    buf_deinit(&out);
}

/* Each row's clause is a clause of the page. */
static void test_every_clause_of_the_table_is_in_the_page(void **state)
{
    struct buf doc;
    struct error err = {0};

    (void)state;
    buf_init(&doc, TEXT_MAX);
    assert_int_equal(file_read("docs/protocol.md", &doc, &err), STATUS_OK);
    for (int p = 0; p < PHASES; p++) {
        const char *clause = phase_row((enum phase)p)->clause;
        char head[16] = "\n**";

        strncat(head, clause, sizeof head - 5);
        strcat(head, " ");
        if (memmem(doc.data, doc.len, head, strlen(head)) == NULL)
            fail_msg("docs/protocol.md has no clause %s", clause);
    }
    buf_deinit(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_documented_phases_are_those_of_the_program),
        cmocka_unit_test(test_every_clause_of_the_table_is_in_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
