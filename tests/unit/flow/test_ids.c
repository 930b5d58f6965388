/* test_ids.c -- two ends show each other the right proof where both lists, places, plan, generation
 * and sid are the same, and nowhere else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/ids.h"

#include "common/base/check.h"
#include "common/crypto/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* --- lists --- */

/* Ids side by side, each with its final 0. */
static struct table table_of(char *text, size_t bytes, uint32_t *at)
{
    struct table t = {.id_text = text, .id_at = at};

    for (size_t i = 0; i < bytes; i += strlen(text + i) + 1)
        at[t.rows++] = (uint32_t)i;
    return t;
}

static void list_of(uint8_t list[WIRE_DIGEST_BYTES], const char *train, size_t train_n,
                    const char *test, size_t test_n)
{
    char text[2][64];
    uint32_t at[2][64];
    struct table a, b;

    memcpy(text[0], train, train_n);
    memcpy(text[1], test, test_n);
    a = table_of(text[0], train_n, at[0]);
    b = table_of(text[1], test_n, at[1]);
    ids_list(list, &a, &b);
}

#define LIST(out, train, test) list_of(out, train, sizeof(train), test, sizeof(test))

static void test_a_list_is_of_both_splits_in_order(void **state)
{
    /* By Python's hashlib. */
    static const char golden[] = "d87122946cd7588e79a4958c78a7984582a9a664af2e3bfc0ae1de038d499411";
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t list[6][WIRE_DIGEST_BYTES];

    (void)state;
    LIST(list[0], "1\0002\00010", "7");
    digest_hex(hex, list[0], sizeof list[0]);
    assert_string_equal(hex, golden);
    LIST(list[1], "1\0002\00011", "7");
    LIST(list[2], "1\0002", "7");
    LIST(list[3], "1\0002", "10\0007");
    LIST(list[4], "2\0001\00010", "7");
    LIST(list[5], "12\00010", "7");
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(list[i], list[k], WIRE_DIGEST_BYTES);
    }
}

static void test_no_test_rows_and_no_table_are_the_same(void **state)
{
    char text[] = "1\0002";
    uint32_t at[2];
    const struct table train = table_of(text, sizeof text, at), none = {0};
    uint8_t a[WIRE_DIGEST_BYTES], b[WIRE_DIGEST_BYTES], c[WIRE_DIGEST_BYTES];

    (void)state;
    ids_list(a, &train, &none);
    ids_list(b, &train, NULL);
    ids_list(c, &none, &train);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
}

/* --- pairs --- */

/* What one end is told. */
struct end {
    uint8_t plan[WIRE_DIGEST_BYTES], before[WIRE_KEY_BYTES], after[WIRE_KEY_BYTES],
        list[WIRE_DIGEST_BYTES], sid[WIRE_DIGEST_BYTES];
    uint64_t generation;
    enum ids_side other;
};

static const struct end one_before = {
    .plan = {1}, .before = {2}, .after = {3}, .list = {4}, .sid = {5}, 7, IDS_AFTER};

static struct end one_after(void)
{
    struct end e = one_before;

    e.other = IDS_BEFORE;
    return e;
}

static struct ids_pair begun(const struct end *e)
{
    const struct ids_terms t = {e->plan, e->generation, e->list};
    struct ids_pair p;

    assert_int_equal(ids_begin(&p, &t, e->before, e->after, e->other), STATUS_OK);
    assert_true(p.any && equality_is_element(p.own.element));
    return p;
}

/* Both take what the other has shown; marks: they come to one. */
static bool agree(const struct end *a, const struct end *b, bool *marks)
{
    struct ids_pair x = begun(a), y = begun(b);
    uint8_t of_x[EQUALITY_BYTES];
    bool taken;

    memcpy(of_x, x.own.element, sizeof of_x);
    assert_int_equal(ids_end(&x, y.own.element, a->sid), STATUS_OK);
    assert_int_equal(ids_end(&y, of_x, b->sid), STATUS_OK);
    taken = ids_equal(&x, y.shown);
    assert_int_equal(ids_equal(&y, x.shown), taken);
    assert_false(ids_equal(&x, x.shown)); /* never what was shown by oneself, nor a mark */
    assert_false(ids_equal(&y, y.shown));
    assert_false(ids_equal(&x, y.mark));
    *marks = memcmp(x.mark, y.mark, sizeof x.mark) == 0;
    return taken;
}

static void test_who_agrees_on_everything_takes_the_others_proof(void **state)
{
    const struct end b = one_after();
    bool marks;

    (void)state;
    for (int i = 0; i < 8; i++) {
        assert_true(agree(&one_before, &b, &marks));
        assert_true(marks);
    }
}

static void test_any_bit_of_what_one_end_is_told_is_noticed(void **state)
{
    struct end b = one_after();
    uint8_t *const fields[] = {b.plan, b.before, b.after, b.list, b.sid};
    bool marks;

    (void)state;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        for (size_t bit = 0; bit < 8 * WIRE_DIGEST_BYTES; bit += 17) {
            fields[f][bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(agree(&one_before, &b, &marks));
            assert_false(marks);
            fields[f][bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    for (unsigned bit = 0; bit < 64; bit += 9) {
        b.generation ^= UINT64_C(1) << bit;
        assert_false(agree(&one_before, &b, &marks));
        assert_false(marks);
        b.generation ^= UINT64_C(1) << bit;
    }
    assert_true(agree(&one_before, &b, &marks));
}

static void test_two_who_take_the_same_place_do_not_agree(void **state)
{
    struct end swapped = one_after();
    bool marks;

    (void)state;
    assert_false(agree(&one_before, &one_before, &marks));
    memcpy(swapped.before, one_before.after, sizeof swapped.before);
    memcpy(swapped.after, one_before.before, sizeof swapped.after);
    assert_false(agree(&one_before, &swapped, &marks));
    assert_false(marks);
}

static void test_an_own_element_that_comes_back_is_refused_and_nothing_is_left_to_show(void **state)
{
    static const uint8_t none[WIRE_PROOF_BYTES], zeros[EQUALITY_BYTES];
    struct ids_pair p = begun(&one_before);
    uint8_t own[EQUALITY_BYTES];

    (void)state;
    memcpy(own, p.own.element, sizeof own);
    assert_int_equal(ids_end(&p, own, one_before.sid), STATUS_AUTH);
    assert_memory_equal(p.shown, none, sizeof none);
    assert_memory_equal(p.expected, none, sizeof none);
    assert_memory_equal(p.own.scalar, zeros, sizeof zeros);
    p = begun(&one_before);
    assert_int_equal(ids_end(&p, zeros, one_before.sid), STATUS_AUTH);
    memset(own, 0xff, sizeof own);
    p = begun(&one_before);
    assert_int_equal(ids_end(&p, own, one_before.sid), STATUS_AUTH);
}

static void test_what_is_forgotten_is_wiped(void **state)
{
    static const struct ids_pair none;
    struct end b = one_after();
    struct ids_pair x = begun(&one_before), y = begun(&b);

    (void)state;
    assert_int_equal(ids_end(&x, y.own.element, b.sid), STATUS_OK);
    ids_forget(&x);
    assert_memory_equal(&x, &none, sizeof x);
    ids_forget(&x);
}

/* The attack on what stood here before: whoever knows sid and all ids but one tries candidates. All
 * that a run shows, both elements, both proofs and the mark, is compared with what the right list
 * gives under fresh scalars, as a listener could compute it: nothing is ever the same, so a right
 * guess looks like any other. */
static void test_a_listener_with_the_right_list_cannot_tell(void **state)
{
    struct end b = one_after();
    struct ids_pair x = begun(&one_before), y = begun(&b);

    (void)state;
    assert_int_equal(ids_end(&x, y.own.element, b.sid), STATUS_OK);
    for (int i = 0; i < 32; i++) {
        struct ids_pair guess = begun(&one_before), with = begun(&b);

        assert_memory_not_equal(guess.own.element, x.own.element, EQUALITY_BYTES);
        /* With an element of the run, and with one of its own. */
        assert_int_equal(ids_end(&guess, y.own.element, b.sid), STATUS_OK);
        assert_int_equal(ids_end(&with, x.own.element, b.sid), STATUS_OK);
        assert_memory_not_equal(guess.shown, x.shown, sizeof x.shown);
        assert_memory_not_equal(guess.mark, x.mark, sizeof x.mark);
        assert_false(ids_equal(&guess, x.expected));
        assert_memory_not_equal(with.mark, x.mark, sizeof x.mark);
        assert_false(ids_equal(&with, x.shown));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_is_of_both_splits_in_order),
        cmocka_unit_test(test_no_test_rows_and_no_table_are_the_same),
        cmocka_unit_test(test_who_agrees_on_everything_takes_the_others_proof),
        cmocka_unit_test(test_any_bit_of_what_one_end_is_told_is_noticed),
        cmocka_unit_test(test_two_who_take_the_same_place_do_not_agree),
        cmocka_unit_test(
            test_an_own_element_that_comes_back_is_refused_and_nothing_is_left_to_show),
        cmocka_unit_test(test_what_is_forgotten_is_wiped),
        cmocka_unit_test(test_a_listener_with_the_right_list_cannot_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
