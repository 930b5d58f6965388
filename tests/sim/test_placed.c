/* test_placed.c -- predictions of rows that are called by their places in an alignment: they are
 * the rows that ids would name; who goes by another alignment says so before anything else; and of
 * an alignment of labelled rows nothing that a party does tells which of them it has.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "tests/sim/predictions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_rows_by_place_are_scored_as_rows_by_id(void **state)
{
    const char *const *const how[] = {predictions_clear, predictions_fixed, predictions_coded};
    const double most[] = {1e-6, 1e-4, 5e-3};
    static struct play p;

    (void)state;
    for (int i = 0; i < 3; i++) {
        predictions_begin_placed(&p, how[i], false);
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < most[i]);
        for (int k = 0; k < PARTIES; k++)
            assert_int_equal(p.player[k].charged, ROWS);
        predictions_end(&p);
    }
}

/* Of one whose rows all had once: deleted since, say. */
static void test_a_row_that_is_gone_is_unknown_and_counted(void **state)
{
    static struct play p;

    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        predictions_begin_placed(&p, exact ? predictions_fixed : predictions_pbm, false);
        memcpy(p.player[2].rows.id_text, "", 1); /* of place 0, which is asked for last */
        predictions_play(&p);
        assert_int_equal(p.player[2].unknown, 1);
        assert_int_equal(p.player[2].charged, exact ? 2 * 1024 : ROWS - 1);
        assert_true(p.ended && (p.outcome == OUTCOME_COMPLETED) == !exact);
        predictions_end(&p);
    }
}

/* Every third, and every one, of party 1: scored as without it, and not told from the others. */
static void test_a_labelled_row_that_is_not_here_is_a_constant_charged_as_any(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t every = 1; every <= 3; every += 2) {
        for (int noise = 0; noise < 2; noise++) {
            predictions_begin_placed(&p, noise ? predictions_pbm : predictions_clear, true);
            for (uint32_t r = 0; r < ROWS; r++)
                p.player[1].rows.lacks[r] = r % every == 0;
            predictions_play(&p);
            predictions_complete(&p);
            assert_int_equal(p.player[1].unknown, 0);
            assert_int_equal(p.player[1].charged, ROWS);
            assert_int_equal(p.player[1].charges, p.player[0].charges);
            if (!noise) {
                assert_true(predictions_apart(&p) < 1e-6);
                p.player[1].rows.lacks[0] ^= 1; /* the negative twin: it counts who is here */
                assert_true(predictions_apart(&p) > 1e-3);
            }
            predictions_end(&p);
        }
    }
}

/* Every third row of party 1 was released too often, by another alignment say: its answers are as
 * if it were not here, and nothing that is said or asked of the ledger differs. */
static void test_a_labelled_row_that_has_no_more_to_spend_is_one_that_is_not_here(void **state)
{
    static struct play p;

    (void)state;
    for (int contributes = 0; contributes < 2; contributes++) {
        uint32_t charges[2], sent[2];
        uint64_t charged[2];

        for (uint32_t spent = 0; spent < 2; spent++) {
            if (contributes)
                predictions_begin_contributions_labelled(&p, predictions_clear);
            else
                predictions_begin_placed(&p, predictions_clear, true);
            for (uint32_t r = 0; r < ROWS; r++)
                p.player[MIXER].spent[r] = spent && r % 3 == 0;
            predictions_play(&p);
            predictions_complete(&p);
            charges[spent] = p.player[MIXER].charges;
            charged[spent] = p.player[MIXER].charged;
            sent[spent] = (uint32_t)p.player[MIXER].sent;
            assert_int_equal(p.player[MIXER].unknown, 0);
            assert_true(predictions_apart(&p) < 1e-6);
            p.player[MIXER].spent[0] ^= 1; /* the negative twin */
            assert_true(predictions_apart(&p) > 1e-3);
            predictions_end(&p);
        }
        assert_int_equal(charges[0], charges[1]);
        assert_int_equal(charged[0], charged[1]);
        assert_int_equal(sent[0], sent[1]);
    }
}

/* Whoever has most of it, and may have it in this alignment or in no other. */
static void test_what_one_record_has_spent_refuses_no_labelled_rows(void **state)
{
    static struct play p;

    (void)state;
    for (int labelled = 0; labelled < 2; labelled++) {
        predictions_begin_spent(&p, predictions_pbm, labelled);
        predictions_play(&p);
        assert_true(p.ended && (p.outcome == OUTCOME_COMPLETED) == labelled);
        assert_true(labelled || strstr(p.error.text, "policy.max_releases.record") != NULL);
        predictions_end(&p);
    }
}

static void expect_refused(struct play *p, const char *words)
{
    predictions_play(p);
    assert_true(p->ended && p->outcome == OUTCOME_FAILED);
    if (strstr(p->error.text, words) == NULL)
        fail_msg("%s", p->error.text);
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p->player[k].charges + p->player[k].sent, 0);
    predictions_end(p);
}

/* Whether one lacks any is no matter: a server that does not ask itself is refused by everybody. */
static void test_exact_sums_are_of_no_labelled_rows(void **state)
{
    const char *const *const how[] = {predictions_fixed, predictions_coded};
    static struct play p;

    (void)state;
    for (int i = 0; i < 2; i++) {
        predictions_begin_placed(&p, how[i], true);
        expect_refused(&p, "alignment q3: its rows are labelled ones");
    }
}

static void test_another_alignment_is_refused_before_anything_is_charged(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin_placed(&p, predictions_pbm, false);
    p.player[1].rows.own.alignment[31] ^= 1;
    expect_refused(&p, "alignment q3: this side answers by places of another one");
    predictions_begin_placed(&p, predictions_pbm, false);
    p.player[1].rows.own.any = false;
    expect_refused(&p, "by places of alignment q3, and this party answers by ids");
    predictions_begin(&p, predictions_pbm);
    p.player[1].rows.own.any = true;
    expect_refused(&p, "by ids, and this party answers by places");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_by_place_are_scored_as_rows_by_id),
        cmocka_unit_test(test_a_row_that_is_gone_is_unknown_and_counted),
        cmocka_unit_test(test_a_labelled_row_that_is_not_here_is_a_constant_charged_as_any),
        cmocka_unit_test(test_a_labelled_row_that_has_no_more_to_spend_is_one_that_is_not_here),
        cmocka_unit_test(test_what_one_record_has_spent_refuses_no_labelled_rows),
        cmocka_unit_test(test_exact_sums_are_of_no_labelled_rows),
        cmocka_unit_test(test_another_alignment_is_refused_before_anything_is_charged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
