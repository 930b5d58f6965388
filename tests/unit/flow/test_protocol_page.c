/* test_protocol_page.c -- the phase table and the clauses of docs/protocol.md are those of the
 * program and of proto/vfl.proto.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/file.h"
#include "common/flow/phase.h"
#include "common/wire/limits.h"
#include "tests/lib/page.h"

enum { TEXT_MAX = 1 << 20 };

static void test_the_documented_phases_are_those_of_the_program(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, TEXT_MAX);
    assert_int_equal(phase_print(&out), STATUS_OK);
    page_expect("docs/protocol.md", "vfl-reference phases", &out);
    buf_deinit(&out);
}

static void read_text(struct buf *b, const char *path)
{
    struct error err = {0};

    buf_init(b, TEXT_MAX);
    assert_int_equal(file_read(path, b, &err), STATUS_OK);
    assert_int_equal(buf_append(b, "", 1), STATUS_OK); /* a string from here on */
}

static void test_the_page_is_about_the_version_that_is_spoken(void **state)
{
    char begins[64];
    struct buf doc;

    (void)state;
    read_text(&doc, "docs/protocol.md");
    snprintf(begins, sizeof begins, "# The protocol\n\nVersion %d (`vfl/1`).", WIRE_VERSION);
    assert_memory_equal(doc.data, begins, strlen(begins));
    buf_deinit(&doc);
}

/* The first line of a clause, NULL when the page has no such clause. */
static const char *clause_of(const struct buf *doc, const char *number)
{
    char head[16] = "\n**";
    const char *at;

    strncat(head, number, sizeof head - 5);
    strcat(head, " ");
    at = strstr((const char *)doc->data, head);
    return at == NULL ? NULL : at + 1;
}

/* Each row's clause is a clause of the page. */
static void test_every_clause_of_the_table_is_in_the_page(void **state)
{
    struct buf doc;

    (void)state;
    read_text(&doc, "docs/protocol.md");
    for (int p = 0; p < PHASES; p++) {
        const char *clause = phase_row((enum phase)p)->clause;

        if (clause_of(&doc, clause) == NULL)
            fail_msg("docs/protocol.md has no clause %s", clause);
    }
    buf_deinit(&doc);
}

/* Does the line speak of this message ("Hellos"), in whatever case? */
static bool speaks_of(const char *line, const char *name, size_t n)
{
    for (const char *end = strchr(line, '\n'); line + n <= end; line++) {
        if (strncasecmp(line, name, n) == 0 && !isalpha((unsigned char)line[n]))
            return true;
    }
    return false;
}

/* What proto/vfl.proto says of each message, "(clause 3.2)", is where the page describes it. */
static void test_every_message_stands_at_the_clause_that_it_names(void **state)
{
    struct buf doc, proto;
    size_t messages = 0;

    (void)state;
    read_text(&doc, "docs/protocol.md");
    read_text(&proto, "proto/vfl.proto");
    for (const char *at = (const char *)proto.data; (at = strstr(at, "(clause")) != NULL;) {
        const char *message = strstr(at, "\nmessage "), *line;
        char number[8] = "";

        at += strlen("(clause");
        assert_int_equal(sscanf(at + strspn(at, " \n/"), "%7[0-9.]", number), 1);
        assert_non_null(message);
        message += strlen("\nmessage ");
        line = clause_of(&doc, number);
        if (line == NULL || !speaks_of(line, message, strcspn(message, " ")))
            fail_msg("docs/protocol.md: clause %s does not begin with %.*s", number,
                     (int)strcspn(message, " "), message);
        messages++;
    }
    assert_int_equal(messages, WIRE_KINDS - 1); /* WIRE_NONE is none */
    buf_deinit(&doc);
    buf_deinit(&proto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_documented_phases_are_those_of_the_program),
        cmocka_unit_test(test_the_page_is_about_the_version_that_is_spoken),
        cmocka_unit_test(test_every_clause_of_the_table_is_in_the_page),
        cmocka_unit_test(test_every_message_stands_at_the_clause_that_it_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
