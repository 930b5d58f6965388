/* test_normal.c -- spellings of the same id come to the same bytes, and what is no id to none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/normal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int utf8_put(uint8_t *out, uint64_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    for (int i = 1; i < 4; i++)
        out[i] = (uint8_t)(0x80 | (c >> 6 * (3 - i) & 63));
    return 4;
}

static void expect(const struct normal_rule *rule, const char *text, const char *want)
{
    uint8_t out[NORMAL_OUT_MAX];
    const size_t n = normal_text(out, text, strlen(text), rule);

    if (want == NULL) {
        assert_int_equal(n, SIZE_MAX);
        return;
    }
    assert_int_equal(n, strlen(want));
    assert_memory_equal(out, want, n);
}

static void test_composed_and_decomposed_are_one(void **state)
{
    static const struct normal_rule nfc = {true, false, NORMAL_NFC}, bytes = {.form = NORMAL_BYTES};

    (void)state;
    expect(&nfc, "Zo\xc3\xab", "Zo\xc3\xab");
    expect(&nfc, "Zoe\xcc\x88", "Zo\xc3\xab");
    expect(&nfc, "\xef\xac\x81n", "\xef\xac\x81n"); /* a ligature stays, but in NFKC */
    expect(&bytes, "Zoe\xcc\x88", "Zoe\xcc\x88");
}

static void test_compatible_forms_are_one_under_nfkc(void **state)
{
    static const struct normal_rule nfkc = {true, false, NORMAL_NFKC};

    (void)state;
    expect(&nfkc, "\xef\xac\x81n", "fin");
    expect(&nfkc, "\xef\xbc\x91\xef\xbc\x92", "12"); /* wide digits */
}

static void test_case_is_folded_where_it_is_asked_for(void **state)
{
    static const struct normal_rule fold = {true, true, NORMAL_NFC},
                                    keep = {true, false, NORMAL_NFC},
                                    ascii = {true, true, NORMAL_BYTES};

    (void)state;
    expect(&fold, "STRASSE", "strasse");
    expect(&fold, "Stra\xc3\x9f\x65", "strasse");
    expect(&keep, "AbC", "AbC");
    expect(&ascii, "AbC\xc3\x84", "abc\xc3\x84");
    /* Alpha with an accent and an iota below, in either order. */
    expect(&fold, "\xce\xb1\xcc\x81\xcd\x85", "\xce\xac\xce\xb9");
    expect(&fold, "\xce\xb1\xcd\x85\xcc\x81", "\xce\xac\xce\xb9");
}

static void test_white_space_around_is_trimmed_or_counts(void **state)
{
    static const struct normal_rule trim = {true, false, NORMAL_NFC}, keep = {.form = NORMAL_NFC};

    (void)state;
    expect(&trim, "  a b\t\n", "a b");
    expect(&trim, "\xc2\xa0\xe3\x80\x80x", "x");
    expect(&trim, " \t ", "");
    expect(&keep, " a ", " a ");
    expect(&trim, "", "");
}

static void test_what_is_no_id_is_refused(void **state)
{
    static const struct normal_rule nfc = {true, true, NORMAL_NFC}, bytes = {.form = NORMAL_BYTES};
    char longest[NORMAL_TEXT_MAX + 2];

    (void)state;
    expect(&nfc, "a\x01", NULL);
    expect(&nfc, "a\nb", NULL);
    expect(&nfc, "\xff", NULL);
    expect(&bytes, "\xc3", NULL);
    expect(&bytes, "\xed\xa0\x80", NULL); /* half of a pair */
    memset(longest, 'x', sizeof longest);
    longest[NORMAL_TEXT_MAX + 1] = 0;
    expect(&nfc, longest, NULL);
    longest[NORMAL_TEXT_MAX] = 0;
    expect(&nfc, longest, longest);
}

/* What grows most when it is folded or taken apart still has room, or is refused. */
static void test_nothing_grows_beyond_its_room(void **state)
{
    static const struct normal_rule nfkc = {true, true, NORMAL_NFKC};
    static const char wide[] = "\xef\xb7\xba"; /* 18 letters under NFKC */
    char text[NORMAL_TEXT_MAX + 1] = "";
    uint8_t out[NORMAL_OUT_MAX];

    (void)state;
    for (size_t i = 0; i + 3 <= NORMAL_TEXT_MAX; i += 3)
        memcpy(text + i, wide, 3);
    assert_true(normal_text(out, text, NORMAL_TEXT_MAX / 3 * 3, &nfkc) != 0);
}

/* The form of a form is itself, and that of what was composed elsewhere is the same: so two
 * spellings are one wherever each was made ready. */
static void test_a_form_has_itself_as_its_form(void **state)
{
    static const struct {
        uint32_t from, n;
    } from[] = {{0x20, 0x60},    {0xa0, 0x240},  {0x300, 0x170},  {0x1e00, 0x200},
                {0x2000, 0x300}, {0xac00, 0x80}, {0xfb00, 0x100}, {0x1d400, 0x400}};
    uint64_t random = 7;

    (void)state;
    for (int rule = 0; rule < 12; rule++) {
        const struct normal_rule r = {rule % 2 == 0, rule / 2 % 2 == 0,
                                      (enum normal_form)(rule / 4)};
        const struct normal_rule unfolded = {.trim = r.trim, .form = r.form};

        for (int times = 0; times < 20000; times++) {
            uint8_t text[32], once[NORMAL_OUT_MAX], twice[NORMAL_OUT_MAX], other[NORMAL_OUT_MAX];
            size_t n = 0, got, composed;

            for (int letters = 0; letters < 1 + times % 5; letters++) {
                const uint64_t k = (random = random * 6364136223846793005u + 1442695040888963407u);
                const size_t range = k >> 40 & 7;

                n += (size_t)utf8_put(text + n, from[range].from + (k >> 43) % from[range].n);
            }
            got = normal_text(once, (const char *)text, n, &r);
            if (got > NORMAL_TEXT_MAX)
                continue;
            assert_int_equal(normal_text(twice, (const char *)once, got, &r), got);
            assert_memory_equal(twice, once, got);
            composed = normal_text(other, (const char *)text, n, &unfolded);
            assert_true(composed <= NORMAL_OUT_MAX);
            if (composed > NORMAL_TEXT_MAX)
                continue;
            assert_int_equal(normal_text(twice, (const char *)other, composed, &r), got);
            assert_memory_equal(twice, once, got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_composed_and_decomposed_are_one),
        cmocka_unit_test(test_compatible_forms_are_one_under_nfkc),
        cmocka_unit_test(test_case_is_folded_where_it_is_asked_for),
        cmocka_unit_test(test_white_space_around_is_trimmed_or_counts),
        cmocka_unit_test(test_what_is_no_id_is_refused),
        cmocka_unit_test(test_nothing_grows_beyond_its_room),
        cmocka_unit_test(test_a_form_has_itself_as_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
