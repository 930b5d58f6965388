/* test_share.c -- sealed shares: against an independent generator, and for one place only.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/share.h"

#include "common/base/bits.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/golden_coded.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { TEXT = 40 };

static const uint8_t SEED[32] = "share";

/* --- against the generator --- */

static void test_nonce_and_associated_data_are_laid_out_as_the_header_says(void **state)
{
    static struct secagg_pair pairs[300];
    uint8_t sid[32], broadcast[32], text[TEXT] = {0}, tag[AEAD_TAG_BYTES];
    const struct secagg_round round = {
        .purpose = 2, .round = 0x0102030405060708, .sid = sid, .broadcast = broadcast};
    struct share_keys k;

    (void)state;
    digest_sha256(sid, "sid 0", 5);
    digest_sha256(broadcast, "broadcast 0", 11);
    assert_int_equal(share_init(&k, 300, 1, pairs), STATUS_OK);
    /* No ratchet goes as far in a test. */
    k.to.epoch = k.from.epoch = round.round / SECAGG_RATCHET_ROUNDS;
    assert_int_equal(share_begin(&k, &round), STATUS_OK);
    share_seal(&k, 258, text, sizeof text, tag);
    assert_int_equal(k.name.aad_n, sizeof GOLDEN_SHARE_AAD);
    assert_memory_equal(k.name.aad, GOLDEN_SHARE_AAD, sizeof GOLDEN_SHARE_AAD);
    assert_memory_equal(k.name.nonce, GOLDEN_SHARE_NONCE, sizeof GOLDEN_SHARE_NONCE);
    share_deinit(&k);
}

static void keys_of(struct share_keys *k, size_t golden, uint32_t self)
{
    struct secagg_pair pairs[GENERATION_PARTIES_MAX];
    struct golden_round r;

    golden_pairs(pairs, golden, self);
    golden_round(&r, golden);
    assert_int_equal(share_init(k, GOLDEN_CODED[golden].parties, self, pairs), STATUS_OK);
    assert_int_equal(share_begin(k, &r.round), STATUS_OK);
}

static void test_what_the_generator_sealed_opens_and_is_sealed_the_same_way(void **state)
{
    (void)state;
    for (size_t g = 0; g < GOLDEN_CODED_N; g++) {
        const struct golden_coded *c = &GOLDEN_CODED[g];
        const size_t len = (c->values + c->segments - 1) / c->segments;
        const size_t part = bits_bytes(len, c->width);
        uint8_t text[2 * GOLDEN_VALUES_MAX], tag[AEAD_TAG_BYTES];
        struct share_keys own, other;

        keys_of(&own, g, 0);
        for (uint32_t m = 1; m < c->parties; m++) {
            const uint8_t *sealed = c->sealed + (m - 1) * part;

            assert_true(
                share_open(&own, m, text, sealed, part, c->tags + (m - 1) * AEAD_TAG_BYTES));
            assert_memory_not_equal(text, sealed, part);
            keys_of(&other, g, m);
            share_seal(&other, 0, text, part, tag);
            assert_memory_equal(text, sealed, part);
            assert_memory_equal(tag, c->tags + (m - 1) * AEAD_TAG_BYTES, sizeof tag);
            share_deinit(&other);
        }
        share_deinit(&own);
    }
}

/* --- one place --- */

enum { PARTIES = 4 };

struct sealed {
    uint8_t text[TEXT], tag[AEAD_TAG_BYTES];
};

static struct secagg_pair (*new_pairs(void))[GENERATION_PARTIES_MAX]
{
    static struct secagg_pair pairs[GENERATION_PARTIES_MAX][GENERATION_PARTIES_MAX];
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_pairs(pairs, PARTIES, &r);
    rng_deinit(&r);
    return pairs;
}

/* What `from` seals for `to` in the round. */
static struct sealed seal(uint32_t from, uint32_t to, const struct secagg_round *round)
{
    struct sealed s = {.text = "forty bytes of a share that is not there"};
    struct share_keys k;

    assert_int_equal(share_init(&k, PARTIES, from, new_pairs()[from]), STATUS_OK);
    assert_int_equal(share_begin(&k, round), STATUS_OK);
    share_seal(&k, to, s.text, sizeof s.text, s.tag);
    share_deinit(&k);
    return s;
}

/* Does `to` take it for a share of `from` in the round? */
static bool opens(const struct sealed *s, uint32_t from, uint32_t to,
                  const struct secagg_round *round)
{
    struct share_keys k;
    uint8_t text[TEXT];
    bool fits;

    assert_int_equal(share_init(&k, PARTIES, to, new_pairs()[to]), STATUS_OK);
    assert_int_equal(share_begin(&k, round), STATUS_OK);
    fits = share_open(&k, from, text, s->text, sizeof text, s->tag);
    share_deinit(&k);
    return fits;
}

static void test_a_share_opens_for_its_receiver_sender_and_round_alone(void **state)
{
    uint8_t sid[32] = {1}, broadcast[32] = {2}, other[32] = {1, [31] = 0x80};
    const struct secagg_round round = {.round = 5, .sid = sid, .broadcast = broadcast};
    const struct secagg_round others[] = {
        {.purpose = 1, .round = 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 6, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 4, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 256 + 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = other, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = sid, .broadcast = other},
        {.purpose = 0, .round = 5, .sid = broadcast, .broadcast = sid},
    };
    const struct sealed s = seal(1, 2, &round);

    (void)state;
    assert_true(opens(&s, 1, 2, &round));
    for (uint32_t from = 0; from < PARTIES; from++)
        for (uint32_t to = 0; to < PARTIES; to++) {
            if (from != to)
                assert_int_equal(opens(&s, from, to, &round), from == 1 && to == 2);
        }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(opens(&s, 1, 2, &others[i]));
}

/* The keys alone would refuse all of these; so must the associated data, with one key everywhere
 * (the worst that a mistake in the derivation of keys could do). */
static void test_numbers_of_sender_and_receiver_are_authenticated_without_their_keys(void **state)
{
    static const struct secagg_pair same[PARTIES];
    uint8_t sid[32] = {1}, broadcast[32] = {2}, text[TEXT] = {0}, tag[AEAD_TAG_BYTES];
    const struct secagg_round round = {.round = 5, .sid = sid, .broadcast = broadcast};
    struct share_keys k;

    (void)state;
    assert_int_equal(share_init(&k, PARTIES, 1, same), STATUS_OK);
    assert_int_equal(share_begin(&k, &round), STATUS_OK);
    share_seal(&k, 2, text, sizeof text, tag);
    share_deinit(&k);
    for (uint32_t from = 0; from < PARTIES; from++)
        for (uint32_t to = 0; to < PARTIES; to++) {
            uint8_t out[TEXT];

            if (from == to)
                continue;
            assert_int_equal(share_init(&k, PARTIES, to, same), STATUS_OK);
            assert_int_equal(share_begin(&k, &round), STATUS_OK);
            assert_int_equal(share_open(&k, from, out, text, sizeof text, tag),
                             from == 1 && to == 2);
            share_deinit(&k);
        }
}

static void test_the_name_of_a_round_is_compared_in_every_part(void **state)
{
    uint8_t sid[32] = {1}, broadcast[32] = {2}, other[32] = {1, [31] = 0x80}, same[32] = {1};
    const struct secagg_round round = {.round = 5, .sid = sid, .broadcast = broadcast},
                              equal = {.round = 5, .sid = same, .broadcast = broadcast};
    const struct secagg_round others[] = {
        {.purpose = 1, .round = 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 6, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 256 + 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = other, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = sid, .broadcast = other},
    };
    struct sealed s = {{0}, {0}};
    struct share_keys k;

    (void)state;
    assert_int_equal(share_init(&k, PARTIES, 1, new_pairs()[1]), STATUS_OK);
    assert_false(share_is(&k, &round)); /* none was opened */
    assert_int_equal(share_begin(&k, &round), STATUS_OK);
    share_seal(&k, 3, s.text, sizeof s.text, s.tag);
    assert_true(share_is(&k, &round));
    assert_true(share_is(&k, &equal));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(share_is(&k, &others[i]));
    share_deinit(&k);
}

/* --- no key and nonce twice --- */

enum { ROUNDS = 1100, HEADS = 5 * ROUNDS * (PARTIES - 1) };

static int compare_heads(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* Zeros sealed under one key and nonce show the same key stream. */
static size_t repeated(uint8_t (*head)[16], size_t n)
{
    size_t same = 0;

    qsort(head, n, 16, compare_heads);
    for (size_t i = 1; i < n; i++)
        same += memcmp(head[i - 1], head[i], 16) == 0;
    return same;
}

/* Member 1 in five generations of rounds that grow; each round is asked for twice, and `forgetful`
 * lets one of each generation through again. */
static size_t run_generations(uint8_t (*head)[16], bool forgetful)
{
    struct secagg_pair pairs[PARTIES];
    uint8_t sid[32] = {0}, tag[AEAD_TAG_BYTES];
    struct rng r;
    size_t n = 0;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int generation = 0; generation < 5; generation++) {
        struct secagg_round round = {.round = 0, .sid = sid, .broadcast = sid};
        struct share_keys k;

        rng_fill(&r, pairs, sizeof pairs);
        assert_int_equal(share_init(&k, PARTIES, 1, pairs), STATUS_OK);
        for (int i = 0; i < ROUNDS; i++) {
            round.purpose = (uint8_t)(i % 3);
            for (int again = 0; again < 2; again++) {
                if (again > 0 && forgetful && i == 500)
                    k.to.started = k.from.started = false;
                if (share_begin(&k, &round) != STATUS_OK) {
                    assert_true(again > 0);
                    continue;
                }
                for (uint32_t to = 0; to < PARTIES; to++) {
                    if (to == 1)
                        continue;
                    memset(head[n], 0, 16);
                    share_seal(&k, to, head[n++], 16, tag);
                }
            }
            round.round += 1 + rng_below(&r, 2);
        }
        share_deinit(&k);
    }
    rng_deinit(&r);
    return n;
}

static void test_no_key_and_nonce_is_used_twice(void **state)
{
    uint8_t(*head)[16] = mem_alloc(HEADS + 100, 16);
    size_t n = run_generations(head, false);

    (void)state;
    assert_int_equal(n, HEADS);
    assert_int_equal(repeated(head, n), 0);
    mem_free(head);
}

static void test_the_oracle_sees_a_round_shared_twice(void **state)
{
    uint8_t(*head)[16] = mem_alloc(HEADS + 100, 16);
    size_t n = run_generations(head, true);

    (void)state;
    assert_int_equal(repeated(head, n), 5 * (PARTIES - 1));
    mem_free(head);
}

/* --- misuse, memory --- */

static void seal_for_itself(void *arg)
{
    uint8_t text[TEXT] = {0}, tag[AEAD_TAG_BYTES];

    share_seal(arg, 1, text, sizeof text, tag);
}

static void seal_for_nobody(void *arg)
{
    uint8_t text[TEXT] = {0}, tag[AEAD_TAG_BYTES];

    share_seal(arg, PARTIES, text, sizeof text, tag);
}

static void test_shares_for_itself_or_nobody_are_a_programmers_mistake(void **state)
{
    uint8_t sid[32] = {0};
    const struct secagg_round round = {.round = 5, .sid = sid, .broadcast = sid};
    struct share_keys k;

    (void)state;
    assert_int_equal(share_init(&k, PARTIES, 1, new_pairs()[1]), STATUS_OK);
    assert_int_equal(share_begin(&k, &round), STATUS_OK);
    assert_true(aborts(seal_for_itself, &k));
    assert_true(aborts(seal_for_nobody, &k));
    share_deinit(&k);
}

static void test_any_failing_allocation_is_a_status(void **state)
{
    struct share_keys k;
    enum status s;
    uint64_t n = 0;

    (void)state;
    do {
        mem_fail_at(++n);
        s = share_init(&k, PARTIES, 1, new_pairs()[1]);
        mem_fail_at(0);
        assert_true(s == STATUS_OK || s == STATUS_MEMORY);
        if (s != STATUS_OK)
            share_deinit(&k); /* once more does no harm */
    } while (s != STATUS_OK);
    assert_int_equal(n, 5);
    share_deinit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonce_and_associated_data_are_laid_out_as_the_header_says),
        cmocka_unit_test(test_what_the_generator_sealed_opens_and_is_sealed_the_same_way),
        cmocka_unit_test(test_a_share_opens_for_its_receiver_sender_and_round_alone),
        cmocka_unit_test(test_numbers_of_sender_and_receiver_are_authenticated_without_their_keys),
        cmocka_unit_test(test_the_name_of_a_round_is_compared_in_every_part),
        cmocka_unit_test(test_no_key_and_nonce_is_used_twice),
        cmocka_unit_test(test_the_oracle_sees_a_round_shared_twice),
        cmocka_unit_test(test_shares_for_itself_or_nobody_are_a_programmers_mistake),
        cmocka_unit_test(test_any_failing_allocation_is_a_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
