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
    struct secagg_pair pairs[5] = {0};
    uint8_t sid[32], broadcast[32];
    struct secagg_round round = {
        .purpose = c->purpose, .round = c->round, .sid = sid, .broadcast = broadcast};
    float *x = mem_alloc(c->values, sizeof *x);
    size_t payload;

    plan.protocol.fixed.bits = c->bits;
    shape = generation_shape(&plan, c->parties, c->values);
    shape.self = m;
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &shape), c->width);
    for (uint32_t j = 0; j < c->parties; j++)
        if (j != m)
            golden_pair_key(pairs[j].mask, k, m, j);
    golden_digest(sid, "sid", k);
    golden_digest(broadcast, "broadcast", k);
    for (uint32_t i = 0; i < c->values; i++)
        x[i] = generation_value(&shape, (i * 7919U + m * 104729U) % (1U << c->bits));
    payload = secagg_payload_bytes(AGGREGATION_MASKED, &shape, c->values);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &shape, pairs), STATUS_OK);
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

/* --- the oracle: the head of every stream that was opened
 * ----------------------------------------- */

/* Two streams share a key and an IV exactly when their heads agree (else with odds of 2^-128). */
enum { HEAD_BYTES = 16, HEADS_MAX = 40000 };

struct heads {
    size_t n;
    uint8_t head[HEADS_MAX][HEAD_BYTES];
};

static void note_heads(struct heads *h, struct mask_set *m)
{
    for (uint32_t j = 0; j < m->parties; j++) {
        if (j == m->self)
            continue;
        assert_true(h->n < HEADS_MAX);
        prg_fill(&m->stream[j], h->head[h->n++], HEAD_BYTES);
    }
}

static int compare_heads(const void *a, const void *b)
{
    return memcmp(a, b, HEAD_BYTES);
}

static size_t repeated(struct heads *h)
{
    size_t n = 0;

    qsort(h->head, h->n, HEAD_BYTES, compare_heads);
    for (size_t i = 1; i < h->n; i++)
        n += memcmp(h->head[i - 1], h->head[i], HEAD_BYTES) == 0;
    return n;
}

/* Party 1 of three in five generations of 1,100 rounds each, about every second one skipped, on a
 * model that never moves.  Every round is asked for twice; `forgetful` makes the party forget once
 * in each generation that it has answered. */
static void run_generations(struct heads *h, bool forgetful)
{
    struct secagg_pair pairs[3];
    uint8_t sid[32], broadcast[32] = {0};
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int generation = 0; generation < 5; generation++) {
        struct secagg_round round = {.round = 0, .sid = sid, .broadcast = broadcast};
        struct mask_set m;

        rng_fill(&r, pairs, sizeof pairs);
        rng_fill(&r, sid, sizeof sid);
        assert_int_equal(mask_init(&m, 3, 1, pairs), STATUS_OK);
        for (int i = 0; i < 1100; i++) {
            round.purpose = (uint8_t)(i % 3);
            assert_int_equal(mask_begin(&m, &round), STATUS_OK);
            note_heads(h, &m);
            if (forgetful && i == 500)
                m.keys.started = false;
            if (mask_begin(&m, &round) == STATUS_OK)
                note_heads(h, &m);
            round.round += 1 + rng_below(&r, 2);
        }
        mask_deinit(&m);
    }
    rng_deinit(&r);
}

static void test_no_key_and_iv_is_used_twice(void **state)
{
    struct heads *h = mem_alloc(1, sizeof *h);

    (void)state;
    run_generations(h, false);
    assert_int_equal(h->n, 5 * 1100 * 2);
    assert_int_equal(repeated(h), 0);
    mem_free(h);
}

static void test_the_oracle_sees_a_round_masked_twice(void **state)
{
    struct heads *h = mem_alloc(1, sizeof *h);

    (void)state;
    run_generations(h, true);
    assert_int_equal(repeated(h), 5 * 2);
    mem_free(h);
}

/* --- the parts of a round's name
 * ------------------------------------------------------------------- */

static void head_of(uint8_t head[HEAD_BYTES], const struct secagg_round *round, uint8_t key)
{
    const struct secagg_pair pairs[2] = {[1].mask = {key}};
    struct mask_set m;

    assert_int_equal(mask_init(&m, 2, 0, pairs), STATUS_OK);
    assert_int_equal(mask_begin(&m, round), STATUS_OK);
    prg_fill(&m.stream[1], head, HEAD_BYTES);
    mask_deinit(&m);
}

static void test_stream_depends_on_key_purpose_round_sid_and_broadcast(void **state)
{
    uint8_t sid[32] = {1}, broadcast[32] = {2}, other[32] = {1, [31] = 1}, head[7][HEAD_BYTES];
    const struct secagg_round round[6] = {
        {.purpose = 0, .round = 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 1, .round = 5, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 6, .sid = sid, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = other, .broadcast = broadcast},
        {.purpose = 0, .round = 5, .sid = sid, .broadcast = other},
        {.purpose = 0, .round = 5, .sid = broadcast, .broadcast = sid},
    };

    (void)state;
    for (int i = 0; i < 7; i++) {
        head_of(head[i], &round[i % 6], i == 6);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(head[i], head[k], HEAD_BYTES);
    }
    head_of(head[1], &round[0], 0);
    assert_memory_equal(head[0], head[1], HEAD_BYTES);
}

static void test_ratchet_leaves_no_old_key_and_agrees_after_skipped_rounds(void **state)
{
    static const struct secagg_pair pairs[2] = {{.mask = {9}}, {.mask = {9}}};
    uint8_t sid[32] = {0};
    struct mask_set steps, jump;

    (void)state;
    assert_int_equal(mask_init(&steps, 2, 0, pairs), STATUS_OK);
    assert_int_equal(mask_init(&jump, 2, 1, pairs), STATUS_OK);
    for (uint64_t number = 0; number < 1000; number++) {
        struct secagg_round round = {.round = number, .sid = sid, .broadcast = sid};

        assert_int_equal(mask_begin(&steps, &round), STATUS_OK);
        assert_int_equal(memcmp(steps.keys.key[1], pairs[1].mask, SECAGG_KEY_BYTES) == 0,
                         number < 256);
        if (number % 300 == 299) {
            uint8_t head[2][HEAD_BYTES];

            assert_int_equal(mask_begin(&jump, &round), STATUS_OK);
            assert_memory_equal(steps.keys.key[1], jump.keys.key[0], SECAGG_KEY_BYTES);
            prg_fill(&steps.stream[1], head[0], HEAD_BYTES);
            prg_fill(&jump.stream[0], head[1], HEAD_BYTES);
            assert_memory_equal(head[0], head[1], HEAD_BYTES);
        }
    }
    mask_deinit(&steps);
    mask_deinit(&jump);
}

static void test_round_number_cannot_buy_more_than_the_largest_jump(void **state)
{
    static const struct secagg_pair pairs[2];
    uint8_t sid[32] = {0};
    struct secagg_round round = {.round = 255 + 256 * ((uint64_t)SECAGG_RATCHET_STEPS_MAX + 3),
                                 .sid = sid,
                                 .broadcast = sid};
    struct mask_set m;

    (void)state;
    assert_int_equal(mask_init(&m, 2, 0, pairs), STATUS_OK);
    assert_int_equal(mask_begin(&m, &round), STATUS_PROTOCOL);
    round.round = UINT64_MAX;
    assert_int_equal(mask_begin(&m, &round), STATUS_PROTOCOL);
    round.round = 256 * 3; /* a refused round leaves the set as it was */
    assert_int_equal(mask_begin(&m, &round), STATUS_OK);
    mask_deinit(&m);
}

static void test_lower_index_adds_what_the_higher_subtracts(void **state)
{
    enum { LANES = 999 };
    static const struct secagg_pair pairs[2] = {{.mask = {7}}, {.mask = {7}}};
    static uint16_t narrow[2][LANES];
    static uint32_t wide[2][LANES];
    uint8_t sid[32] = {0};
    size_t zeros = 0;

    (void)state;
    for (uint32_t self = 0; self < 2; self++) {
        struct secagg_round round = {.round = 1, .sid = sid, .broadcast = sid};
        struct mask_set m;

        assert_int_equal(mask_init(&m, 2, self, pairs), STATUS_OK);
        assert_int_equal(mask_begin(&m, &round), STATUS_OK);
        for (size_t i = 0, some; i < LANES; i += some) {
            some = LANES - i < 72 ? LANES - i : 72; /* whole blocks, then what is left */
            mask_apply16(&m, narrow[self] + i, some);
        }
        round.round++;
        assert_int_equal(mask_begin(&m, &round), STATUS_OK);
        mask_apply32(&m, wide[self], LANES);
        mask_deinit(&m);
    }
    for (size_t i = 0; i < LANES; i++) {
        assert_int_equal((uint16_t)(narrow[0][i] + narrow[1][i]), 0);
        assert_int_equal(wide[0][i] + wide[1][i], 0);
        zeros += narrow[0][i] == 0;
    }
    assert_true(zeros < 10);
}

static void test_scratch_is_wiped_at_the_end_of_a_round(void **state)
{
    static const struct secagg_pair pairs[2] = {{.mask = {7}}, {.mask = {7}}};
    static uint16_t lanes[MASK_CHUNK_BYTES / sizeof(uint16_t)];
    uint8_t sid[32] = {0}, any = 0;
    struct secagg_round round = {.round = 1, .sid = sid, .broadcast = sid};
    struct mask_set m;

    (void)state;
    assert_int_equal(mask_init(&m, 2, 0, pairs), STATUS_OK);
    assert_int_equal(mask_begin(&m, &round), STATUS_OK);
    mask_apply16(&m, lanes, sizeof lanes / sizeof lanes[0]);
    for (size_t i = 0; i < MASK_CHUNK_BYTES; i++)
        any |= m.words[i];
    assert_true(any != 0);
    mask_end(&m);
    for (size_t i = 0; i < MASK_CHUNK_BYTES; i++)
        assert_int_equal(m.words[i], 0);
    mask_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads_equal_those_of_an_independent_generator),
        cmocka_unit_test(test_no_key_and_iv_is_used_twice),
        cmocka_unit_test(test_the_oracle_sees_a_round_masked_twice),
        cmocka_unit_test(test_stream_depends_on_key_purpose_round_sid_and_broadcast),
        cmocka_unit_test(test_ratchet_leaves_no_old_key_and_agrees_after_skipped_rounds),
        cmocka_unit_test(test_round_number_cannot_buy_more_than_the_largest_jump),
        cmocka_unit_test(test_lower_index_adds_what_the_higher_subtracts),
        cmocka_unit_test(test_scratch_is_wiped_at_the_end_of_a_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
