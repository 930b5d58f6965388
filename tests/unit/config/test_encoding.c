/* Unit tests of common/config/encoding.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/encoding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_the_words_are_in_the_order_of_the_enum(void **state)
{
    (void)state;
    assert_string_equal(encoding_names[ENCODING_PBM], "pbm");
    assert_string_equal(encoding_names[ENCODING_FIXED], "fixed");
    assert_string_equal(encoding_names[ENCODING_FLOAT32], "float32");
    assert_string_equal(encoding_names[ENCODING_GAUSSIAN], "gaussian");
    assert_string_equal(encoding_names[ENCODING_SCALAR], "scalar");
    assert_string_equal(encoding_names[ENCODING_LATTICE], "lattice");
    assert_string_equal(encoding_names[ENCODING_E8], "e8");
    assert_string_equal(encoding_names[ENCODING_TOPK], "topk");
    assert_null(encoding_names[PLAN_ENCODINGS]);
}

/* Whoever asks one fact alone is right only while the others follow from it. */
static void test_facts_imply_one_another(void **state)
{
    (void)state;
    for (int i = 0; i < PLAN_ENCODINGS; i++) {
        const struct encoding *e = encoding_row((enum plan_encoding)i);

        assert_non_null(e->is);
        assert_true(e->integers || !(e->noisy || e->residues));
        assert_false(e->integers && e->compresses);
        assert_int_equal(e->integers, (e->value_max != NULL) + (e->span != NULL));
        assert_int_equal(e->residues, e->span != NULL);
        assert_int_equal(e->compresses, e->ranks + (e->dims > 0));
        if (e->compresses)
            assert_true(encoding_row(e->head)->dims > 0); /* a head has no columns to leave out */
    }
}

static void test_only_integers_have_widths(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.shape.parties = 5;
    for (int i = 0; i < PLAN_ENCODINGS; i++) {
        p.protocol.encoding = (enum plan_encoding)i;
        assert_int_equal(encoding_of(&p)->integers, encoding_sum_span(&p, 5) > 0);
        assert_int_equal(encoding_of(&p)->integers, encoding_sum_bits(&p, 5) > 0);
        assert_int_equal(encoding_of(&p)->integers, encoding_code_bits(&p, 5) > 0);
        assert_true(encoding_code_bits(&p, 5) <= encoding_sum_bits(&p, 5));
    }
    p.protocol.encoding = ENCODING_PBM;
    p.protocol.pbm.trials = 64;
    assert_int_equal(encoding_sum_span(&p, 5), 320);
    assert_int_equal(encoding_sum_bits(&p, 5), 9);
    assert_int_equal(encoding_code_bits(&p, 5), 7);
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 12;
    assert_int_equal(encoding_sum_span(&p, 5), 5 * 4095);
    assert_int_equal(encoding_code_bits(&p, 5), 12);
}

static void test_papers_count_their_own_bits(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.pbm.trials = 16;
    p.protocol.bits = 3;
    p.protocol.encoding = ENCODING_PBM;
    assert_true(encoding_paper_bits(&p, 5) == log2(80));
    p.protocol.encoding = ENCODING_TOPK;
    assert_true(encoding_paper_bits(&p, 5) == 3);
    p.protocol.encoding = ENCODING_GAUSSIAN;
    assert_true(encoding_paper_bits(&p, 5) == 32);
    p.protocol.encoding = ENCODING_FIXED;
    assert_true(encoding_paper_bits(&p, 5) == 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_words_are_in_the_order_of_the_enum),
        cmocka_unit_test(test_facts_imply_one_another),
        cmocka_unit_test(test_only_integers_have_widths),
        cmocka_unit_test(test_papers_count_their_own_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
