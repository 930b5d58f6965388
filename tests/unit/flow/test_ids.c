/* test_ids.c -- two ends show each other the right proof where both lists, places and sid are
 * the same, and nowhere else; elements are those of the list, as long as a secret lives.
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

/* Two tables of as many rows have the same places. */
static void test_places_are_bound_to_their_alignment(void **state)
{
    /* By Python's hashlib, of an alignment 00 01 .. 1f. */
    static const char golden[] = "5ee3da06079c8a7aef238341b2e05cb7f66a7ebf2de7f2f23a04d3de93348a2b";
    char text[] = "0\0001", hex[DIGEST_HEX_CHARS + 1];
    uint32_t at[2];
    struct table t = table_of(text, sizeof text, at);
    uint8_t plain[WIRE_DIGEST_BYTES], one[WIRE_DIGEST_BYTES], other[WIRE_DIGEST_BYTES];

    (void)state;
    ids_list(plain, &t, NULL);
    t.own.any = true;
    for (size_t i = 0; i < sizeof t.own.alignment; i++)
        t.own.alignment[i] = (uint8_t)i;
    ids_list(one, &t, NULL);
    digest_hex(hex, one, sizeof one);
    assert_string_equal(hex, golden);
    t.own.alignment[31] ^= 1;
    ids_list(other, &t, NULL);
    assert_memory_not_equal(one, plain, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
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
    uint8_t before[WIRE_KEY_BYTES], after[WIRE_KEY_BYTES], list[WIRE_DIGEST_BYTES],
        sid[WIRE_DIGEST_BYTES], secret[IDS_SECRET_BYTES];
    enum ids_side other;
};

static const struct end one_before = {
    .before = {2}, .after = {3}, .list = {4}, .sid = {5}, .secret = {6}, IDS_AFTER};

static struct end one_after(void)
{
    struct end e = one_before;

    e.other = IDS_BEFORE;
    e.secret[0]++; /* everybody has its own */
    return e;
}

static struct ids_pair begun(const struct end *e)
{
    const struct ids_own own = {e->list, e->secret};
    struct ids_pair p;

    assert_int_equal(ids_begin(&p, &own, e->before, e->after, e->other), STATUS_OK);
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
    uint8_t *const fields[] = {b.before, b.after, b.list, b.sid};
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
    assert_true(agree(&one_before, &b, &marks));
}

/* What a guess is: one list and one pair. */
static void test_an_element_stays_with_list_and_pair_and_is_another_one_otherwise(void **state)
{
    struct end e = one_before;
    uint8_t *const fields[] = {e.before, e.after, e.list, e.secret};
    struct ids_pair first = begun(&e), p;

    (void)state;
    e.sid[0]++;
    p = begun(&e);
    assert_memory_equal(p.own.element, first.own.element, EQUALITY_BYTES);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        for (size_t bit = 0; bit < 8 * WIRE_DIGEST_BYTES; bit += 17) {
            fields[f][bit / 8] ^= (uint8_t)(1u << bit % 8);
            p = begun(&e);
            assert_memory_not_equal(p.own.element, first.own.element, EQUALITY_BYTES);
            assert_memory_not_equal(p.own.scalar, first.own.scalar, EQUALITY_BYTES);
            fields[f][bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/* What was shown once is of no use under another sid, though the elements are the same. */
static void test_a_proof_serves_one_sid(void **state)
{
    struct end b = one_after(), later = one_before;
    struct ids_pair x = begun(&one_before), y = begun(&b), z = begun(&later);
    uint8_t of_x[EQUALITY_BYTES];

    (void)state;
    memcpy(of_x, x.own.element, sizeof of_x);
    later.sid[5] ^= 1;
    assert_int_equal(ids_end(&x, y.own.element, one_before.sid), STATUS_OK);
    assert_int_equal(ids_end(&z, y.own.element, later.sid), STATUS_OK);
    assert_int_equal(ids_end(&y, of_x, b.sid), STATUS_OK);
    assert_true(ids_equal(&x, y.shown));
    assert_false(ids_equal(&z, y.shown));
    assert_memory_not_equal(z.shown, x.shown, sizeof x.shown);
    assert_memory_not_equal(z.mark, x.mark, sizeof x.mark);
}

static void test_two_who_take_the_same_place_do_not_agree(void **state)
{
    struct end swapped = one_after(), same_place = swapped;
    bool marks;

    (void)state;
    same_place.other = one_before.other;
    assert_false(agree(&one_before, &same_place, &marks));
    memcpy(swapped.before, one_before.after, sizeof swapped.before);
    memcpy(swapped.after, one_before.before, sizeof swapped.after);
    assert_false(agree(&one_before, &swapped, &marks));
    assert_false(marks);
}

static void test_what_is_no_element_is_refused_and_nothing_is_left_to_show(void **state)
{
    static const uint8_t none[WIRE_PROOF_BYTES], zeros[EQUALITY_BYTES];
    struct ids_pair p = begun(&one_before);
    uint8_t own[EQUALITY_BYTES];

    (void)state;
    assert_int_equal(ids_end(&p, zeros, one_before.sid), STATUS_AUTH);
    assert_memory_equal(p.shown, none, sizeof none);
    assert_memory_equal(p.expected, none, sizeof none);
    assert_memory_equal(p.own.scalar, zeros, sizeof zeros);
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
 * gives under other secrets, as a listener could compute it: nothing is ever the same, so a right
 * guess looks like any other. */
static void test_a_listener_with_the_right_list_cannot_tell(void **state)
{
    struct end b = one_after();
    struct ids_pair x = begun(&one_before), y = begun(&b);

    (void)state;
    assert_int_equal(ids_end(&x, y.own.element, b.sid), STATUS_OK);
    for (uint8_t i = 0; i < 32; i++) {
        struct end at_x = one_before, at_y = b;
        struct ids_pair guess, with;

        at_x.secret[1] = at_y.secret[2] = (uint8_t)(i + 1);
        guess = begun(&at_x);
        with = begun(&at_y);

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

/* --- counts --- */

/* Its last element begins with this; so many lists. */
struct counted {
    uint64_t n;
    uint8_t last;
};

static uint64_t count(void *owner, const uint8_t key[WIRE_KEY_BYTES])
{
    (void)key;
    return ((struct counted *)owner)->n;
}

static bool known(void *owner, const uint8_t key[WIRE_KEY_BYTES],
                  const uint8_t list[WIRE_DIGEST_BYTES], const uint8_t element[EQUALITY_BYTES])
{
    (void)key;
    (void)list;
    return element[0] == ((struct counted *)owner)->last;
}

static void test_the_last_guess_is_answered_again_and_no_other_beyond_the_limit(void **state)
{
    const uint8_t nine[EQUALITY_BYTES] = {9}, ten[EQUALITY_BYTES] = {10};
    struct counted of = {2, 9};
    const struct ids_counts c = {.owner = &of, .count = count, .known = known};

    (void)state;
    assert_true(ids_may_answer(&c, one_before.after, one_before.list, nine, 3));
    assert_true(ids_may_answer(&c, one_before.after, one_before.list, ten, 3));
    of.n = 3;
    assert_true(ids_may_answer(&c, one_before.after, one_before.list, nine, 3));
    assert_false(ids_may_answer(&c, one_before.after, one_before.list, ten, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_is_of_both_splits_in_order),
        cmocka_unit_test(test_places_are_bound_to_their_alignment),
        cmocka_unit_test(test_no_test_rows_and_no_table_are_the_same),
        cmocka_unit_test(test_who_agrees_on_everything_takes_the_others_proof),
        cmocka_unit_test(test_any_bit_of_what_one_end_is_told_is_noticed),
        cmocka_unit_test(test_an_element_stays_with_list_and_pair_and_is_another_one_otherwise),
        cmocka_unit_test(test_a_proof_serves_one_sid),
        cmocka_unit_test(test_the_last_guess_is_answered_again_and_no_other_beyond_the_limit),
        cmocka_unit_test(test_two_who_take_the_same_place_do_not_agree),
        cmocka_unit_test(test_what_is_no_element_is_refused_and_nothing_is_left_to_show),
        cmocka_unit_test(test_what_is_forgotten_is_wiped),
        cmocka_unit_test(test_a_listener_with_the_right_list_cannot_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
