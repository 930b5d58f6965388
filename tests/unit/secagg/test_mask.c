/* test_mask.c -- streams, keys and IVs: against an independent generator, and never the same twice.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/mask.h"

#include "tests/golden/mask.h"
#include "tests/unit/secagg/generation.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t SEED[32] = "streams, keys and IVs";

static void golden_pair_key(uint8_t key[32], size_t golden, uint32_t a, uint32_t b)
{
    uint8_t text[11] = "pair key";

    text[8] = (uint8_t)golden;
    text[9] = (uint8_t)(a < b ? a : b);
    text[10] = (uint8_t)(a < b ? b : a);
    digest_sha256(key, text, sizeof text);
}

static void golden_digest(uint8_t out[32], const char *word, size_t golden)
{
    char text[32];

    snprintf(text, sizeof text, "%s %zu", word, golden);
    digest_sha256(out, text, strlen(text));
}

/* Party m's upload of golden case k: payload, then check bytes, at `out`.  Returns the number of
 * bytes. */
static size_t golden_upload(uint8_t *out, size_t k, uint32_t m)
{
    const struct golden_mask *c = &GOLDEN_MASK[k];
    struct plan plan = generation_plan(ENCODING_FIXED);
    struct secagg_shape shape;
    struct secagg_party *party;
    uint8_t keys[5 * SECAGG_KEY_BYTES] = {0}, sid[32], broadcast[32];
    struct secagg_round round = {c->purpose, c->round, sid, broadcast};
    float *x = mem_alloc(c->values, sizeof *x);
    size_t payload;

    plan.protocol.fixed.bits = c->bits;
    shape = generation_shape(&plan, c->parties, c->values);
    shape.self = m;
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &shape), c->width);
    for (uint32_t j = 0; j < c->parties; j++)
        if (j != m)
            golden_pair_key(keys + (size_t)j * 32, k, m, j);
    golden_digest(sid, "sid", k);
    golden_digest(broadcast, "broadcast", k);
    for (uint32_t i = 0; i < c->values; i++)
        x[i] = generation_value(&shape, (i * 7919U + m * 104729U) % (1U << c->bits));
    payload = secagg_payload_bytes(AGGREGATION_MASKED, &shape, c->values);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &shape, keys), STATUS_OK);
    assert_int_equal(secagg_protect(party, out, out + payload, x, c->values, &round, NULL),
                     STATUS_OK);
    secagg_party_free(party);
    mem_free(x);
    return payload + secagg_check_bytes(AGGREGATION_MASKED, &shape);
}

static void test_uploads_equal_those_of_an_independent_generator(void **state)
{
    static uint8_t upload[65536];

    (void)state;
    for (size_t k = 0; k < sizeof GOLDEN_MASK / sizeof GOLDEN_MASK[0]; k++)
        for (uint32_t m = 0; m < GOLDEN_MASK[k].parties; m++) {
            size_t n = golden_upload(upload, k, m);
            uint8_t digest[32];

            if (k == 0 && m == 0) {
                assert_int_equal(n, sizeof first_upload);
                assert_memory_equal(upload, first_upload, n);
            }
            digest_sha256(digest, upload, n);
            assert_memory_equal(digest, GOLDEN_MASK[k].digests + (size_t)m * 32, 32);
        }
}

/* --- the oracle: every (key, IV) that a stream was opened with
 * --------------------------------------- */

enum { USE_BYTES = SECAGG_KEY_BYTES + PRG_IV_BYTES, USES_MAX = 40000 };

struct uses {
    size_t n;
    uint8_t use[USES_MAX][USE_BYTES];
};

static void note_uses(struct uses *u, const struct mask *m)
{
    for (uint32_t j = 0; j < m->pairs; j++) {
        assert_true(u->n < USES_MAX);
        memcpy(u->use[u->n], m->pair[j].key, SECAGG_KEY_BYTES);
        memcpy(u->use[u->n++] + SECAGG_KEY_BYTES, m->iv, PRG_IV_BYTES);
    }
}

static int compare_uses(const void *a, const void *b)
{
    return memcmp(a, b, USE_BYTES);
}

static size_t repeated(struct uses *u)
{
    size_t n = 0;

    qsort(u->use, u->n, USE_BYTES, compare_uses);
    for (size_t i = 1; i < u->n; i++)
        n += memcmp(u->use[i - 1], u->use[i], USE_BYTES) == 0;
    return n;
}

/* Party 0 of three in five generations of 1,100 rounds each, about every second one skipped.
 * `replay` opens one round of each generation a second time, which secagg_protect would have
 * refused. */
static void run_generations(struct uses *u, int replay)
{
    uint8_t keys[3 * SECAGG_KEY_BYTES], sid[32], broadcast[32] = {0}; /* a model that never moves */
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int generation = 0; generation < 5; generation++) {
        struct secagg_round round = {0, 0, sid, broadcast};
        struct mask m;

        rng_fill(&r, keys, sizeof keys);
        rng_fill(&r, sid, sizeof sid);
        assert_int_equal(mask_init(&m, 3, 0, keys), STATUS_OK);
        for (int i = 0; i < 1100; i++) {
            round.purpose = (uint8_t)(i % 3);
            for (int k = 0; k < (replay && i == 500 ? 2 : 1); k++) {
                mask_open(&m, &round);
                note_uses(u, &m);
            }
            round.round += 1 + rng_below(&r, 2);
        }
        mask_deinit(&m);
    }
    rng_deinit(&r);
}

static void test_no_key_and_iv_is_used_twice(void **state)
{
    struct uses *u = mem_alloc(1, sizeof *u);

    (void)state;
    run_generations(u, 0);
    assert_int_equal(u->n, 5 * 1100 * 2);
    assert_int_equal(repeated(u), 0);
    mem_free(u);
}

static void test_the_oracle_sees_a_replayed_round(void **state)
{
    struct uses *u = mem_alloc(1, sizeof *u);

    (void)state;
    run_generations(u, 1);
    assert_int_equal(repeated(u), 5 * 2);
    mem_free(u);
}

/* --- the parts of a round's name
 * ----------------------------------------------------------------------- */

static void iv_of(uint8_t iv[PRG_IV_BYTES], const struct secagg_round *round)
{
    static const uint8_t keys[2 * SECAGG_KEY_BYTES];
    struct mask m;

    assert_int_equal(mask_init(&m, 2, 0, keys), STATUS_OK);
    mask_open(&m, round);
    memcpy(iv, m.iv, PRG_IV_BYTES);
    mask_deinit(&m);
}

static void test_iv_depends_on_purpose_round_sid_and_broadcast(void **state)
{
    uint8_t sid[32] = {1}, broadcast[32] = {2}, other[32] = {3}, iv[5][PRG_IV_BYTES];
    const struct secagg_round round[5] = {
        {0, 5, sid, broadcast},   {1, 5, sid, broadcast}, {0, 6, sid, broadcast},
        {0, 5, other, broadcast}, {0, 5, sid, other},
    };

    (void)state;
    for (int i = 0; i < 5; i++) {
        iv_of(iv[i], &round[i]);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(iv[i], iv[k], PRG_IV_BYTES);
    }
    iv_of(iv[1], &round[0]);
    assert_memory_equal(iv[0], iv[1], PRG_IV_BYTES);
}

static void test_ratchet_leaves_no_old_key_and_agrees_after_skipped_rounds(void **state)
{
    static const uint8_t keys[2 * SECAGG_KEY_BYTES] = {9, [SECAGG_KEY_BYTES] = 9};
    uint8_t sid[32] = {0};
    struct mask steps, jump;

    (void)state;
    assert_int_equal(mask_init(&steps, 2, 0, keys), STATUS_OK);
    assert_int_equal(mask_init(&jump, 2, 1, keys), STATUS_OK);
    for (uint64_t number = 0; number < 1000; number++) {
        struct secagg_round round = {0, number, sid, sid};

        mask_open(&steps, &round);
        assert_int_equal(memcmp(steps.pair[0].key, keys, SECAGG_KEY_BYTES) == 0, number < 256);
        if (number % 300 == 299) {
            mask_open(&jump, &round);
            assert_memory_equal(steps.pair[0].key, jump.pair[0].key, SECAGG_KEY_BYTES);
        }
    }
    mask_deinit(&steps);
    mask_deinit(&jump);
}

static void test_lower_index_adds_what_the_higher_subtracts(void **state)
{
    static const uint8_t keys[2 * SECAGG_KEY_BYTES] = {7, [SECAGG_KEY_BYTES] = 7};
    static uint16_t narrow[2][9000];
    static uint32_t wide[2][9000];
    uint8_t sid[32] = {0};
    struct secagg_round round = {0, 1, sid, sid};
    size_t zeros = 0;

    (void)state;
    for (uint32_t self = 0; self < 2; self++) {
        struct mask m;

        assert_int_equal(mask_init(&m, 2, self, keys), STATUS_OK);
        mask_open(&m, &round);
        mask_add16(&m, narrow[self], 9000);
        round.round++;
        mask_open(&m, &round);
        mask_add32(&m, wide[self], 9000);
        round.round--;
        mask_deinit(&m);
    }
    for (size_t i = 0; i < 9000; i++) {
        assert_int_equal((uint16_t)(narrow[0][i] + narrow[1][i]), 0);
        assert_int_equal(wide[0][i] + wide[1][i], 0);
        zeros += narrow[0][i] == 0;
    }
    assert_true(zeros < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads_equal_those_of_an_independent_generator),
        cmocka_unit_test(test_no_key_and_iv_is_used_twice),
        cmocka_unit_test(test_the_oracle_sees_a_replayed_round),
        cmocka_unit_test(test_iv_depends_on_purpose_round_sid_and_broadcast),
        cmocka_unit_test(test_ratchet_leaves_no_old_key_and_agrees_after_skipped_rounds),
        cmocka_unit_test(test_lower_index_adds_what_the_higher_subtracts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
