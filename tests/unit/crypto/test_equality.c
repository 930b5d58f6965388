/* test_equality.c -- equal secrets give one result, anything else another; elements tell nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/equality.h"

#include "common/crypto/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "tests/golden/equality.h"

static struct equality begun(const char *label, const char *secret)
{
    uint8_t random[EQUALITY_RANDOM_BYTES];
    struct equality e;

    randombytes_buf(random, sizeof random);
    assert_int_equal(equality_begin(&e, label, secret, strlen(secret), random), STATUS_OK);
    assert_true(equality_is_element(e.element));
    return e;
}

/* What both ends come to. */
static bool same(const char *label_a, const char *secret_a, const char *label_b,
                 const char *secret_b)
{
    struct equality a = begun(label_a, secret_a), b = begun(label_b, secret_b);
    uint8_t of_a[EQUALITY_BYTES], of_b[EQUALITY_BYTES];

    assert_int_equal(equality_end(of_a, &a, b.element), STATUS_OK);
    assert_int_equal(equality_end(of_b, &b, a.element), STATUS_OK);
    return memcmp(of_a, of_b, sizeof of_a) == 0;
}

static void test_both_ends_come_to_one_result_when_the_secrets_are_equal(void **state)
{
    (void)state;
    assert_true(same("a", "ids", "a", "ids"));
    assert_true(same("a", "", "a", ""));
    assert_false(same("a", "ids", "a", "idt"));
    assert_false(same("a", "ids", "a", "ids "));
    assert_false(same("a", "ids", "b", "ids"));
    assert_false(same("ab", "c", "a", "bc"));
}

/* All 64 bytes are the scalar's, and a scalar has one element of each secret. */
static void test_an_element_is_that_of_the_bytes_it_was_drawn_from(void **state)
{
    uint8_t random[EQUALITY_RANDOM_BYTES];
    struct equality a, b;

    (void)state;
    randombytes_buf(random, sizeof random);
    assert_int_equal(equality_begin(&a, "a", "x", 1, random), STATUS_OK);
    assert_int_equal(equality_begin(&b, "a", "x", 1, random), STATUS_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(equality_begin(&b, "a", "y", 1, random), STATUS_OK);
    assert_memory_equal(a.scalar, b.scalar, sizeof a.scalar);
    assert_memory_not_equal(a.element, b.element, sizeof a.element);
    for (size_t bit = 0; bit < 8 * sizeof random; bit += 37) {
        random[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(equality_begin(&b, "a", "x", 1, random), STATUS_OK);
        assert_memory_not_equal(a.scalar, b.scalar, sizeof a.scalar);
        assert_memory_not_equal(a.element, b.element, sizeof a.element);
        random[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memset(random, 0, sizeof random); /* a scalar of 0 has no element */
    assert_int_equal(equality_begin(&b, "a", "x", 1, random), STATUS_CRYPTO);
}

static void test_a_scalar_serves_once_and_is_wiped(void **state)
{
    static const uint8_t zeros[EQUALITY_BYTES];
    struct equality a = begun("a", "x"), b = begun("a", "x"), c;
    uint8_t result[EQUALITY_BYTES];

    (void)state;
    c = a;
    assert_int_equal(equality_end(result, &a, b.element), STATUS_OK);
    assert_memory_equal(a.scalar, zeros, sizeof zeros);
    memset(b.element, 0xff, sizeof b.element);
    assert_int_equal(equality_end(result, &c, b.element), STATUS_AUTH);
    assert_memory_equal(c.scalar, zeros, sizeof zeros);
    assert_memory_equal(result, zeros, sizeof zeros);
}

/* Whoever shows an end its own element has another result, whatever scalar it has. */
static void test_an_element_that_comes_back_makes_nobody_equal(void **state)
{
    struct equality a = begun("a", "x"), b = begun("a", "x"), same = a;
    uint8_t shown[EQUALITY_BYTES], of_a[EQUALITY_BYTES], of_b[EQUALITY_BYTES];

    (void)state;
    memcpy(shown, a.element, sizeof shown);
    assert_int_equal(equality_end(of_a, &a, shown), STATUS_OK);
    assert_int_equal(equality_end(of_b, &b, shown), STATUS_OK);
    assert_memory_not_equal(of_a, of_b, sizeof of_a);
    assert_int_equal(equality_end(of_b, &same, shown), STATUS_OK); /* but who has its scalar */
    assert_memory_equal(of_a, of_b, sizeof of_a);
}

static void unhex(uint8_t out[EQUALITY_BYTES], const char *hex)
{
    assert_true(digest_from_hex(out, EQUALITY_BYTES, hex));
}

/* RFC 9496, appendix A.3: encodings that are none; and the identity. */
static void test_what_is_no_element_is_refused(void **state)
{
    static const char *const bad[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
        "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    };
    struct equality good = begun("a", "x");
    uint8_t element[EQUALITY_BYTES], result[EQUALITY_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct equality e = begun("a", "x");

        unhex(element, bad[i]);
        assert_false(equality_is_element(element));
        assert_int_equal(equality_end(result, &e, element), STATUS_AUTH);
    }
    assert_true(equality_is_element(good.element));
}

/* An element without its scalar. */
static void expect_base(const char *label, const void *secret, size_t n, const uint8_t base[32])
{
    static const uint8_t random[EQUALITY_RANDOM_BYTES] = "any scalar would do here";
    uint8_t inverse[EQUALITY_BYTES], got[EQUALITY_BYTES];
    struct equality e;

    assert_int_equal(equality_begin(&e, label, secret, n, random), STATUS_OK);
    assert_int_equal(crypto_core_ristretto255_scalar_invert(inverse, e.scalar), 0);
    assert_int_equal(crypto_scalarmult_ristretto255(got, inverse, e.element), 0);
    assert_memory_equal(got, base, sizeof got);
}

static void test_the_base_is_the_hash_of_rfc_9380(void **state)
{
    uint8_t secret[300];

    (void)state;
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)i;
    expect_base("vfl/ids/3", "", 0, GOLDEN_BASE_EMPTY);
    expect_base("vfl/ids/3", secret, sizeof secret, GOLDEN_BASE_LONG);
}

/* As equality_end multiplies. */
static void times(uint8_t out[32], const uint8_t scalar[32], const uint8_t point[32])
{
    struct equality e = {.element = {1}};

    memcpy(e.scalar, scalar, sizeof e.scalar);
    assert_int_equal(equality_end(out, &e, point), STATUS_OK);
}

/* Points whose logarithms are known stand in for the bases of two lists.  Whatever scalar the first
 * list's owner drew, there is one that gives the second list's the same element: what is sent has
 * one law, and a listener who knows neither scalar has nothing to compare a guess with. */
static void test_every_element_is_one_of_every_secret(void **state)
{
    uint8_t a[32], b[32], base_a[32], base_b[32], r[32], inverse[32], other[32], x[32], y[32];

    (void)state;
    assert_true(sodium_init() >= 0);
    for (int i = 0; i < 16; i++) {
        crypto_core_ristretto255_scalar_random(a);
        crypto_core_ristretto255_scalar_random(b);
        crypto_core_ristretto255_scalar_random(r);
        assert_int_equal(crypto_scalarmult_ristretto255_base(base_a, a), 0);
        assert_int_equal(crypto_scalarmult_ristretto255_base(base_b, b), 0);
        assert_int_equal(crypto_core_ristretto255_scalar_invert(inverse, b), 0);
        crypto_core_ristretto255_scalar_mul(other, r, a);
        crypto_core_ristretto255_scalar_mul(other, other, inverse);
        times(x, r, base_a);
        times(y, other, base_b);
        assert_memory_equal(x, y, sizeof x);
        assert_memory_not_equal(r, other, sizeof r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ends_come_to_one_result_when_the_secrets_are_equal),
        cmocka_unit_test(test_an_element_is_that_of_the_bytes_it_was_drawn_from),
        cmocka_unit_test(test_a_scalar_serves_once_and_is_wiped),
        cmocka_unit_test(test_an_element_that_comes_back_makes_nobody_equal),
        cmocka_unit_test(test_what_is_no_element_is_refused),
        cmocka_unit_test(test_the_base_is_the_hash_of_rfc_9380),
        cmocka_unit_test(test_every_element_is_one_of_every_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
