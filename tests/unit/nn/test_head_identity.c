/* test_head_identity.c -- the top model without weights: its outputs are its inputs, nothing moves,
 * nothing of it is sent, kept or exported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_head.h"
#include "common/nn/head.h"

#include "common/nn/safetensors.h"
#include "common/nn/state.h"
#include "tests/unit/nn/heads.h"

static void test_the_outputs_of_the_identity_are_its_inputs(void **state)
{
    (void)state;
    for (size_t i = LINEAR; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        const size_t n = (size_t)ROWS * shapes[i].outputs;
        const float factor = shapes[i].fusion == FUSION_MEAN ? 1.0F / MEMBERS : 1.0F;
        struct trial t;

        trial_open(&t, &shapes[i], &p);
        assert_true(t.h.fixed);
        t.fused[0] = -0.0F;
        t.fused[1] = 1e-42F;
        (void)nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
        assert_memory_equal(t.h.logits, t.fused, n * sizeof(float));
        nn_head_backward(&t.h, NULL);
        nn_head_backward(&t.h, t.dfused);
        assert_memory_equal(t.dfused, t.h.dlogits, n * sizeof(float));
        nn_head_part(&t.h, t.part, t.dfused, ROWS, 0);
        for (size_t k = 0; k < n; k++)
            assert_true(t.part[k] == factor * t.h.dlogits[k]);
        trial_close(&t);
    }
}

static void state_of(const struct trial *t, struct buf *out)
{
    buf_init(out, 1 << 16);
    assert_int_equal(nn_state_print(&t->h.net, out), STATUS_OK);
    assert_int_equal(safetensors_print(&t->h.net, out), STATUS_OK);
}

/* Three steps and a proximal term; do they change a bit of what is kept or exported? */
static bool steps_move(const struct shape *s, enum plan_optimizer optimizer)
{
    static const float anchor[PARAMS_MAX];
    struct plan p = plan_of(s);
    struct buf before, after;
    struct trial t;
    bool moved;

    p.training.optimizer = optimizer;
    trial_open(&t, s, &p);
    state_of(&t, &before);
    for (uint32_t k = 0; k < 3; k++) {
        (void)nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
        nn_head_backward(&t.h, t.dfused);
        nn_net_pull(&t.h.net, anchor, 0.5F);
        nn_head_step(&t.h, 0.5F);
    }
    state_of(&t, &after);
    moved = before.len != after.len || memcmp(before.data, after.data, before.len) != 0;
    buf_deinit(&before);
    buf_deinit(&after);
    trial_close(&t);
    return moved;
}

static void test_no_step_moves_the_identity(void **state)
{
    static const enum plan_optimizer optimizers[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM,
                                                     OPTIMIZER_ADAM, OPTIMIZER_ADAMW};

    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t o = 0; o < 4; o++)
            assert_int_equal(steps_move(&shapes[i], optimizers[o]), i < LINEAR);
}

static void test_the_identity_has_nothing_to_send_keep_or_export(void **state)
{
    static const char empty_file[] = "\x08\0\0\0\0\0\0\0{}      ";
    static const uint8_t key[RNG_KEY_BYTES] = {5};

    (void)state;
    for (size_t i = LINEAR; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        struct rng r = {0}, untouched = {0};
        struct buf file;
        struct trial t;

        trial_open(&t, &shapes[i], &p);
        assert_int_equal(plan_head_params(&p), 0);
        assert_int_equal(nn_state_bytes(&t.h.net), sizeof(uint64_t)); /* the count of its steps */
        buf_init(&file, 64);
        assert_int_equal(safetensors_print(&t.h.net, &file), STATUS_OK);
        assert_int_equal(file.len, 16);
        assert_memory_equal(file.data, empty_file, 16);
        assert_int_equal(safetensors_parse(&t.h.net, file.data, file.len, NULL), STATUS_OK);
        buf_deinit(&file);
        t.arena.used = 0;
        assert_int_equal(rng_init_key(&r, key), STATUS_OK);
        assert_int_equal(rng_init_key(&untouched, key), STATUS_OK);
        assert_int_equal(nn_head_init(&t.h, &p, ROWS_MAX, &t.arena, &r), STATUS_OK);
        assert_true(rng_uniform(&r) == rng_uniform(&untouched)); /* it has drawn nothing */
        rng_deinit(&r);
        rng_deinit(&untouched);
        trial_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_outputs_of_the_identity_are_its_inputs),
        cmocka_unit_test(test_no_step_moves_the_identity),
        cmocka_unit_test(test_the_identity_has_nothing_to_send_keep_or_export),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
