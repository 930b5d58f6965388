/* test_ledger_mechanism.c -- a mechanism and its one text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_mechanism.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    struct account_entry m;
    const char *text;
} samples[] = {
    {{.kind = ACCOUNT_PBM, .trials = 16, .beta = 0.1, .coordinates = 16, .parties = 5},
     "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 raw"},
    {{.kind = ACCOUNT_GAUSSIAN,
      .sigma = 2.5,
      .clip = 0.30000000000000004,
      .step = 0.0625,
      .clear = true,
      .coordinates = 4294967295,
      .parties = 2,
      .colluders = 2,
      .bottom = ACCOUNT_FROZEN},
     "gaussian sigma=2.5 clip=0.30000000000000004 step=0.0625 clear=1 concat=0 "
     "coordinates=4294967295 "
     "parties=2 colluders=2 persons=0 frozen"},
    {{.kind = ACCOUNT_NONE,
      .clear = true,
      .concat = true,
      .coordinates = 1,
      .parties = 1,
      .colluders = 1,
      .bottom = ACCOUNT_DP,
      .step_noise = 1e-9,
      .steps = 5},
     "none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 dp noise=1e-9 steps=5 "
     "together=1"},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void test_a_mechanism_reads_back_from_its_text(void **state)
{
    char text[LEDGER_MECHANISM_MAX], again[LEDGER_MECHANISM_MAX];

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct account_entry back;

        ledger_mechanism_print(text, &samples[i].m);
        assert_string_equal(text, samples[i].text);
        assert_true(ledger_mechanism_read(&back, text));
        ledger_mechanism_print(again, &back);
        assert_string_equal(again, text);
        assert_true(back.kind == samples[i].m.kind && back.bottom == samples[i].m.bottom &&
                    back.beta == samples[i].m.beta && back.clip == samples[i].m.clip &&
                    back.step_noise == samples[i].m.step_noise &&
                    back.concat == samples[i].m.concat && back.releases == 0);
    }
}

static void test_what_has_no_meaning_is_not_in_the_text(void **state)
{
    struct account_entry m = samples[0].m;
    char text[LEDGER_MECHANISM_MAX];

    (void)state;
    m.sigma = 3;
    m.step_noise = 7;
    m.releases = 99;
    ledger_mechanism_print(text, &m);
    assert_string_equal(text, samples[0].text);
}

/* Exactly where the texts are. */
static void test_the_same_mechanism_has_the_same_text(void **state)
{
    static const struct account_entry none;

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct account_entry m = samples[i].m;

        m.releases = 99;
        m.participations_max = 7;
        assert_true(ledger_mechanism_same(&m, &samples[i].m));
        assert_false(ledger_mechanism_same(&m, &none));
        for (size_t k = 0; k < SAMPLES; k++)
            assert_int_equal(ledger_mechanism_same(&m, &samples[k].m), i == k);
        m.sigma *= 2;
        assert_int_equal(ledger_mechanism_same(&m, &samples[i].m), m.kind != ACCOUNT_GAUSSIAN);
        m = samples[i].m;
        m.concat = !m.concat;
        assert_false(ledger_mechanism_same(&m, &samples[i].m));
        m = samples[i].m;
        m.steps++;
        assert_int_equal(ledger_mechanism_same(&m, &samples[i].m), m.bottom != ACCOUNT_DP);
    }
}

/* Every text that is cut short, has a letter more, or one changed to another digit's. */
static void test_only_whole_texts_are_read(void **state)
{
    struct account_entry m;

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t n = strlen(samples[i].text);
        char text[LEDGER_MECHANISM_MAX + 1];

        for (size_t at = 0; at < n; at++) {
            memcpy(text, samples[i].text, n + 1);
            if (text[at] < '0' || text[at] > '9') {
                text[at] = 'x';
                if (ledger_mechanism_read(&m, text))
                    fail_msg("'%s' is read", text);
            }
            memcpy(text, samples[i].text, n + 1);
            memmove(text + at + 1, text + at, n - at + 1);
            text[at] = ' ';
            if (ledger_mechanism_read(&m, text))
                fail_msg("'%s' is read", text);
        }
        memcpy(text, samples[i].text, n + 1);
        strcpy(text + n, " ");
        assert_false(ledger_mechanism_read(&m, text));
        strcpy(text + n, " steps=5");
        assert_false(ledger_mechanism_read(&m, text));
    }
}

static void test_what_no_mechanism_can_be_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "magic clear=0 concat=0 coordinates=1 parties=1 colluders=1 persons=0 raw",
        "pbm trials=0 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 raw",
        "pbm trials=16 beta=0.5 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "raw",
        "pbm trials=16 beta=-0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "raw",
        "pbm trials=16 beta=0.10 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "raw",
        "pbm trials=16 beta=0.1 clear=2 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "raw",
        "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=0 parties=5 colluders=1 persons=0 raw",
        "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=0 colluders=1 persons=0 "
        "raw",
        "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=0 persons=0 "
        "raw",
        "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "good",
        "pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 dp",
        "pbm trials=16 beta=nan clear=0 concat=0 coordinates=16 parties=5 colluders=1 persons=0 "
        "raw",
        "gaussian sigma=0 clip=1 step=0.0625 clear=1 concat=0 coordinates=16 parties=5 colluders=2 "
        "persons=0 raw",
        "gaussian sigma=1 clip=0 step=0.0625 clear=1 concat=0 coordinates=16 parties=5 colluders=2 "
        "persons=0 raw",
        "gaussian sigma=inf clip=1 step=0.0625 clear=1 concat=0 coordinates=16 parties=5 "
        "colluders=2 "
        "raw",
        "gaussian sigma=1 clip=1 step=0 clear=1 concat=0 coordinates=16 parties=5 colluders=2 "
        "persons=0 raw",
        "gaussian sigma=1 clip=1 step=-1 clear=1 concat=0 coordinates=16 parties=5 colluders=2 "
        "persons=0 raw",
        "none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 dp noise=0 steps=5 "
        "together=1",
        "none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 dp noise=1 steps=0 "
        "together=1",
        "none clear=1 concat=1 coordinates=4294967296 parties=1 colluders=1 persons=0 raw",
    };
    struct account_entry m;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (ledger_mechanism_read(&m, texts[i]))
            fail_msg("'%s' is read", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mechanism_reads_back_from_its_text),
        cmocka_unit_test(test_what_has_no_meaning_is_not_in_the_text),
        cmocka_unit_test(test_the_same_mechanism_has_the_same_text),
        cmocka_unit_test(test_only_whole_texts_are_read),
        cmocka_unit_test(test_what_no_mechanism_can_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
