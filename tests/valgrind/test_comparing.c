/* test_comparing.c -- tags and keys: no branch and no address tells of them; and what does, is
 * seen.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/valgrind/secrets.h"

#include "common/crypto/aead.h"
#include "common/crypto/digest.h"
#include "common/crypto/equality.h"
#include "common/crypto/kex.h"
#include "common/crypto/prg.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"
#include "common/flow/ids.h"

#include <string.h>

enum { N = 64 };

static uint8_t a[N], b[N];

static int hide_both(void **state)
{
    memset(a, 1, N);
    memset(b, 1, N);
    b[N / 2] = 2;
    hide(a, N);
    hide(b, N);
    return watched(state);
}

/* --- what must be seen --- */

static volatile int sink;

static int early_exit_equal(const uint8_t *x, const uint8_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return 0;
    return 1;
}

static void test_an_early_exit_is_seen(void **state)
{
    (void)state;
    BRANCHES(sink = early_exit_equal(a, b, N));
    BRANCHES(sink = memcmp(a, b, N) == 0); /* in the library's own code, too */
}

static void test_a_table_indexed_by_a_secret_is_seen(void **state)
{
    static volatile uint8_t table[256];

    (void)state;
    BRANCHES(sink = table[a[0]]);
}

static void test_a_bit_that_is_let_go_is_not(void **state)
{
    (void)state;
    BRANCHES(assert_true(a[0] == 1));
    BRANCH_FREE(show(a, 1); assert_true(a[0] == 1));
}

/* --- what must not --- */

static void test_equality_of_secrets_is_branch_free(void **state)
{
    int same;

    (void)state;
    BRANCH_FREE(same = secret_equal(a, b, N));
    assert_true(is_secret(&same, sizeof same));
    show(&same, sizeof same);
    assert_int_equal(same, 0);
    b[N / 2] = a[N / 2];
    BRANCH_FREE(same = secret_equal(a, b, N));
    show(&same, sizeof same);
    assert_int_equal(same, 1);
}

static void test_streams_are_branch_free_on_their_keys(void **state)
{
    static const uint8_t iv[PRG_IV_BYTES] = {1};
    uint8_t out[5000];
    struct prg p;
    struct rng r;

    (void)state;
    BRANCH_FREE(assert_int_equal(prg_init(&p, a), STATUS_OK));
    BRANCH_FREE(prg_seek(&p, iv); prg_fill(&p, out, sizeof out));
    assert_true(is_secret(out, sizeof out));
    BRANCH_FREE(prg_rekey(&p, b); prg_deinit(&p));
    BRANCH_FREE(assert_int_equal(rng_init_key(&r, a), STATUS_OK));
    BRANCH_FREE(rng_fill(&r, out, 100); rng_fill(&r, out, sizeof out); rng_rekey(&r, out));
    BRANCH_FREE(rng_deinit(&r));
}

static void test_sealing_is_branch_free_on_key_and_text(void **state)
{
    static const uint8_t aad[20] = {2};
    struct aead_name name = {.aad = aad, .aad_n = sizeof aad};
    uint8_t text[1000], tag[AEAD_TAG_BYTES];
    struct aead seals;

    (void)state;
    memset(text, 3, sizeof text);
    hide(text, sizeof text);
    BRANCH_FREE(assert_int_equal(aead_init(&seals, true, a), STATUS_OK));
    BRANCH_FREE(aead_seal(&seals, text, sizeof text, tag, &name));
    assert_true(is_secret(tag, sizeof tag));
    BRANCH_FREE(aead_rekey(&seals, b); aead_seal(&seals, text, sizeof text, tag, &name));
    BRANCH_FREE(aead_deinit(&seals));
}

static void test_derived_keys_are_branch_free_on_their_source(void **state)
{
    uint8_t key[KEX_BYTES];

    (void)state;
    BRANCH_FREE(assert_int_equal(kex_hkdf(key, sizeof key, a, KEX_BYTES, b, KEX_BYTES, "label", 5),
                                 STATUS_OK));
    assert_true(is_secret(key, sizeof key));
    BRANCH_FREE(assert_int_equal(kex_ratchet(key, "label"), STATUS_OK));
    BRANCH_FREE(assert_int_equal(digest_hmac(key, a, N, b, N), STATUS_OK));
    assert_true(is_secret(key, sizeof key));
}

/* libsodium looks whether the base is an element, in so many places: it always is, since a hash to
 * the group made it.  Whether the product is the identity, as by a scalar of 0, is public.h's. */
enum { LIBRARY_MAX = 2 };

#define BRANCHES_OF_LIBRARY(call)                                                                  \
    do {                                                                                           \
        unsigned before_ = slips();                                                                \
        call;                                                                                      \
        assert_in_range(slips() - before_, 0, LIBRARY_MAX);                                        \
    } while (0)

static void test_comparing_secrets_is_branch_free_but_for_whether_the_base_is_one(void **state)
{
    static const uint8_t others[EQUALITY_RANDOM_BYTES] = {5};
    uint8_t result[EQUALITY_BYTES];
    struct equality own, other;

    (void)state;
    assert_int_equal(equality_begin(&other, "label", "a secret", 8, others), STATUS_OK);
    BRANCHES_OF_LIBRARY(assert_int_equal(equality_begin(&own, "label", a, N, b), STATUS_OK));
    assert_true(is_secret(own.scalar, sizeof own.scalar));
    assert_true(is_secret(own.element, sizeof own.element));
    show(own.element, sizeof own.element); /* it is sent */
    BRANCH_FREE(assert_int_equal(equality_end(result, &own, other.element), STATUS_OK));
    assert_true(is_secret(result, sizeof result));
    assert_false(is_secret(own.scalar, sizeof own.scalar)); /* wiped */
}

static void test_comparing_ids_is_branch_free_but_for_whether_the_base_is_one(void **state)
{
    static const uint8_t list[WIRE_DIGEST_BYTES] = {4}, secret[IDS_SECRET_BYTES] = {6};
    static const uint8_t before[WIRE_KEY_BYTES] = {1}, after[WIRE_KEY_BYTES] = {2},
                         sid[WIRE_DIGEST_BYTES] = {3};
    const struct ids_own known = {list, secret}, hidden = {a, b};
    struct ids_pair other, own;
    bool same;

    (void)state;
    assert_int_equal(ids_begin(&other, &known, before, after, IDS_BEFORE), STATUS_OK);
    BRANCHES_OF_LIBRARY(
        assert_int_equal(ids_begin(&own, &hidden, before, after, IDS_AFTER), STATUS_OK));
    show(own.own.element, sizeof own.own.element);
    BRANCH_FREE(assert_int_equal(ids_end(&own, other.own.element, sid), STATUS_OK));
    assert_true(is_secret(own.expected, sizeof own.expected));
    BRANCH_FREE(same = ids_equal(&own, sid));
    assert_true(is_secret(&same, sizeof same));
    show(&same, sizeof same);
    assert_false(same);
}

static void test_wiping_is_branch_free(void **state)
{
    (void)state;
    BRANCH_FREE(secret_wipe(a, N));
    assert_false(is_secret(a, N));
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, hide_both)
    static const struct CMUnitTest tests[] = {
        TEST(test_an_early_exit_is_seen),
        TEST(test_a_table_indexed_by_a_secret_is_seen),
        TEST(test_a_bit_that_is_let_go_is_not),
        TEST(test_equality_of_secrets_is_branch_free),
        TEST(test_streams_are_branch_free_on_their_keys),
        TEST(test_sealing_is_branch_free_on_key_and_text),
        TEST(test_derived_keys_are_branch_free_on_their_source),
        TEST(test_comparing_secrets_is_branch_free_but_for_whether_the_base_is_one),
        TEST(test_comparing_ids_is_branch_free_but_for_whether_the_base_is_one),
        TEST(test_wiping_is_branch_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
