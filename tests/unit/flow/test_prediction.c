/* test_prediction.c -- the text of a job of predictions has one form, and ids end where they say.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/flow/prediction.h"

static const char TEXT[] =
    "run=0123456789abcdef-2\n"
    "plan=0101010101010101010101010101010101010101010101010101010101010101\n"
    "trail=0202020202020202020202020202020202020202020202020202020202020202\n"
    "rows=1000\nbatch=256\nabsent=1,3,255\nby=risk-desk\nopen=1\n"
    "alignment=q3,0303030303030303030303030303030303030303030303030303030303030303\n";

static enum status parse(struct prediction *p, const char *text)
{
    struct error err = {0};

    return prediction_parse(p, (const uint8_t *)text, strlen(text), &err);
}

static void test_the_text_is_read_and_written_alike(void **state)
{
    struct prediction p;
    struct buf b;

    (void)state;
    assert_int_equal(parse(&p, TEXT), STATUS_OK);
    assert_string_equal(p.run, "0123456789abcdef-2");
    assert_true(p.rows == 1000 && p.batch == 256 && p.open);
    assert_true(p.plan[31] == 1 && p.trail[0] == 2);
    assert_true(p.absent[1] && p.absent[3] && p.absent[255] && !p.absent[0] && !p.absent[2]);
    assert_true(prediction_leaves_out(&p));
    assert_string_equal(p.by, "risk-desk");
    assert_true(prediction_is_placed(&p) && p.places[0] == 3 && p.places[31] == 3);
    assert_string_equal(p.alignment, "q3");
    buf_init(&b, 1024);
    assert_int_equal(prediction_print(&p, &b), STATUS_OK);
    assert_int_equal(b.len, strlen(TEXT));
    assert_memory_equal(b.data, TEXT, b.len);
    buf_deinit(&b);
}

/* Two texts of one job would be two jobs to those who sign their digest. */
static void test_no_other_text_is_read(void **state)
{
    static const char *const change[][2] = {
        {"rows=1000", "rows=01000"},
        {"rows=1000", "rows=0"},
        {"rows=1000", "rows=16777217"},
        {"rows=1000", "rows=255"},
        {"batch=256", "batch=0"},
        {"batch=256", "batch=+256"},
        {"1,3,255", "3,1,255"},
        {"1,3,255", "1,3,256"},
        {"1,3,255", "1,3,255,"},
        {"1,3,255", "1,,3,255"},
        {"run=0", "run=/"},
        {"run=0", "run=A"},
        {"trail=02", "trail=0G"},
        {"batch=256\n", "batch=256"},
        {"absent", "absents"},
        {"run=", "ran="},
        {"plan=01", "plan=1"},
        {"255\n", "255\n\n"},
        {"open=1\n", "open=1\n\n"},
        {"by=risk", "by=.risk"},
        {"by=risk-desk", "by="},
        {"by=risk", "by=ri k"},
        {"open=1", "open=2"},
        {"open=1", "open="},
        {"open=1\n", ""},
        {"open=1\n", "open=1\nopen=1\n"},
        {"q3,", "../q3,"},
        {"q3,", "asked,"},
        {"q3,", ","},
        {"q3,", "q3"},
        {"q3,03", "q3,0A"},
        {"q3,03", "q3,"},
        {"alignment=q3", "alignment=0123456789012345678901234567890123456789a"},
    };
    char text[512];
    struct prediction p;

    (void)state;
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        const char *at = strstr(TEXT, change[i][0]);

        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - TEXT), TEXT, change[i][1],
                 at + strlen(change[i][0]));
        if (parse(&p, text) != STATUS_PROTOCOL)
            fail_msg("\"%s\" was taken for \"%s\"", change[i][1], change[i][0]);
    }
    for (size_t n = 0; n < strlen(TEXT); n++) {
        snprintf(text, sizeof text, "%.*s", (int)n, TEXT);
        assert_int_equal(parse(&p, text), STATUS_PROTOCOL);
    }
}

static void test_ids_end_at_their_line_ends(void **state)
{
    static const char good[] = "7\nan id\n", open[] = "7\nan id", empty[] = "7\n\n8\n",
                      strange[] = "7\na\x01\n";
    struct wire_bytes ids = {(const uint8_t *)good, strlen(good)};
    size_t at = 0;

    (void)state;
    assert_int_equal(prediction_next_id(&ids, &at), 1);
    assert_int_equal(at, 2);
    assert_int_equal(prediction_next_id(&ids, &at), 5);
    assert_int_equal(at, ids.n);
    assert_int_equal(prediction_next_id(&ids, &at), 0);
    assert_int_equal(prediction_ids(&ids), 2);
    for (size_t i = 0; i < 3; i++) {
        const char *bad = i == 0 ? open : i == 1 ? empty : strange;

        ids = (struct wire_bytes){(const uint8_t *)bad, strlen(bad)};
        at = 0;
        assert_int_equal(prediction_next_id(&ids, &at), 1);
        assert_int_equal(prediction_next_id(&ids, &at), 0);
        assert_int_equal(at, 2);
    }
}

static void test_sums_without_noise_are_exact_unless_nothing_is_hidden(void **state)
{
    struct plan p;
    struct error err = {0};
    struct plan of;

    (void)state;
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_FIXED;
    assert_true(prediction_is_exact(&p));
    p.protocol.encoding = ENCODING_PBM;
    assert_false(prediction_is_exact(&p));
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.aggregation = AGGREGATION_CLEAR;
    assert_false(prediction_is_exact(&p));
    p.protocol.straggler = STRAGGLER_ASYNC;
    assert_int_equal(prediction_plan(&of, &p, 0, &err), STATUS_OK);
    assert_int_equal(of.protocol.straggler, STRAGGLER_WAIT);
}

static void test_rows_that_fedvs_has_not_dealt_go_in_masked_sums(void **state)
{
    const uint32_t parties[] = {3, 128, 129, 256}, bits[] = {24, 24, 23, 23};
    struct plan p, of;
    struct error err = {0};

    (void)state;
    plan_defaults(&p);
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    for (int i = 0; i < 4; i++) {
        p.shape.parties = parties[i];
        assert_int_equal(prediction_plan(&of, &p, 12.5, &err), STATUS_OK);
        assert_int_equal(of.protocol.aggregation, AGGREGATION_MASKED);
        assert_int_equal(of.protocol.fixed.bits, bits[i]);
        assert_true(of.protocol.clip == 12.5 && prediction_is_exact(&of));
    }
    assert_int_equal(prediction_plan(&of, &p, 0, &err), STATUS_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_is_read_and_written_alike),
        cmocka_unit_test(test_no_other_text_is_read),
        cmocka_unit_test(test_ids_end_at_their_line_ends),
        cmocka_unit_test(test_sums_without_noise_are_exact_unless_nothing_is_hidden),
        cmocka_unit_test(test_rows_that_fedvs_has_not_dealt_go_in_masked_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
