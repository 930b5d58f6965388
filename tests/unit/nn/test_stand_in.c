/* test_stand_in.c -- a head's stand-ins: what they add where, their slopes, and that they are
 * kept, exported and stepped like its other weights.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_head.h"
#include "common/nn/safetensors.h"
#include "common/nn/state.h"
#include "tests/unit/nn/heads.h"

#include <math.h>

static const bool who[][MEMBERS] = {{false, true, false}, {true, false, true}};
enum { WHO = sizeof who / sizeof who[0] };

static struct plan dropped(const struct shape *s)
{
    struct plan p = plan_of(s);

    p.training.party_dropout = 0.3;
    return p;
}

static float *stand_in(struct trial *t, uint32_t party)
{
    return nn_net_table(&t->h.net)->w + (size_t)party * WIDTH;
}

/* Of the missing alone, in every row: to the sum, to its M-th part; of columns of their own it is
 * all that stands there, whatever noise they have uploaded. */
static void test_a_stand_in_takes_the_place_of_its_party(void **state)
{
    static float filled[ROWS_MAX * WIDEST];

    (void)state;
    for (size_t i = 0; i < LINEAR; i++) {
        const struct plan p = dropped(&shapes[i]);
        const bool concat = p.model.fusion == FUSION_CONCAT;
        const double share = p.model.fusion == FUSION_MEAN ? 1.0 / MEMBERS : 1;
        struct trial t;

        trial_open(&t, &shapes[i], &p);
        for (size_t k = 0; k < WHO; k++) {
            nn_head_fill(&t.h, filled, t.fused, who[k], ROWS);
            for (uint32_t at = 0; at < ROWS * t.h.inputs; at++) {
                const uint32_t column = at % t.h.inputs;
                const bool own = concat && who[k][column / WIDTH];
                double want = own ? 0 : (double)t.fused[at];

                for (uint32_t m = 0; m < MEMBERS; m++)
                    if (who[k][m] && (!concat || column / WIDTH == m))
                        want += share * (double)stand_in(&t, m)[column % WIDTH];
                assert_true(fabs((double)filled[at] - want) < 1e-6);
            }
        }
        nn_head_fill(&t.h, filled, t.fused, (const bool[MEMBERS]){false}, ROWS);
        assert_memory_equal(filled, t.fused, sizeof(float) * ROWS * t.h.inputs);
        trial_close(&t);
    }
}

static double loss_at(struct trial *t, const bool *missing)
{
    static float filled[ROWS_MAX * WIDEST];

    nn_head_fill(&t->h, filled, t->fused, missing, ROWS);
    return nn_head_forward(&t->h, filled, t->target, ROWS, false);
}

/* By differences; relu has corners, and is left out. */
static void test_slopes_of_stand_ins_are_those_of_the_loss(void **state)
{
    static float filled[ROWS_MAX * WIDEST];
    const float h = 1e-2F;

    (void)state;
    for (size_t i = 0; i < LINEAR; i++) {
        const struct plan p = dropped(&shapes[i]);
        struct trial t;

        if (p.model.head.n > 0 && p.model.head_activation == ACTIVATION_RELU)
            continue;
        trial_open(&t, &shapes[i], &p);
        for (size_t k = 0; k < WHO; k++) {
            nn_head_fill(&t.h, filled, t.fused, who[k], ROWS);
            (void)nn_head_forward(&t.h, filled, t.target, ROWS, true);
            nn_head_backward(&t.h, t.dfused);
            nn_head_fill_slopes(&t.h, t.dfused, who[k], ROWS);
            for (uint32_t at = 0; at < MEMBERS * WIDTH; at++) {
                float *v = stand_in(&t, 0) + at, was = *v;
                double up, down;

                *v = was + h;
                up = loss_at(&t, who[k]);
                *v = was - h;
                down = loss_at(&t, who[k]);
                *v = was;
                assert_true(fabs((up - down) / (2 * (double)h) -
                                 (double)nn_net_table(&t.h.net)->dw[at]) < 2e-3);
                if (!who[k][at / WIDTH])
                    assert_true(nn_net_table(&t.h.net)->dw[at] == 0);
            }
        }
        trial_close(&t);
    }
}

static void test_stand_ins_begin_at_zero_and_only_theirs_move(void **state)
{
    const struct plan p = dropped(&shapes[0]);
    struct rng rng;
    struct trial t;

    (void)state;
    trial_open(&t, &shapes[0], &p);
    assert_int_equal(rng_init_system(&rng), STATUS_OK);
    nn_net_randomize(&t.h.net, NN_INIT_TORCH, &rng);
    rng_deinit(&rng);
    for (uint32_t at = 0; at < MEMBERS * WIDTH; at++)
        assert_true(stand_in(&t, 0)[at] == 0);
    (void)nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
    nn_head_backward(&t.h, t.dfused);
    nn_head_fill_slopes(&t.h, t.dfused, who[0], ROWS);
    nn_head_step(&t.h, 0.5F);
    for (uint32_t at = 0; at < MEMBERS * WIDTH; at++)
        assert_int_equal(stand_in(&t, 0)[at] != 0, who[0][at / WIDTH]);
    trial_close(&t);
}

/* Parameters behind all others, in a state with the optimiser's, and in a file by their name. */
static void test_stand_ins_are_kept_and_exported(void **state)
{
    static const char header[] = "\"stand_in\":{\"dtype\":\"F32\",\"shape\":[3,4]";
    struct plan p = dropped(&shapes[0]), without = plan_of(&shapes[0]);
    struct trial a, b, other;
    struct error err = {0};
    struct buf kept, file;

    (void)state;
    p.training.optimizer = without.training.optimizer = OPTIMIZER_ADAM;
    assert_int_equal(plan_head_params(&p), plan_head_params(&without) + (size_t)MEMBERS * WIDTH);
    trial_open(&a, &shapes[0], &p);
    trial_open(&b, &shapes[0], &p);
    trial_open(&other, &shapes[0], &without);
    (void)nn_head_forward(&a.h, a.fused, a.target, ROWS, true);
    nn_head_backward(&a.h, a.dfused);
    nn_head_fill_slopes(&a.h, a.dfused, who[1], ROWS);
    nn_head_step(&a.h, 0.1F);
    buf_init(&kept, SIZE_MAX);
    buf_init(&file, SIZE_MAX);
    assert_int_equal(nn_state_print(&a.h.net, &kept), STATUS_OK);
    assert_int_equal(nn_state_parse(&other.h.net, kept.data, kept.len), STATUS_DATA);
    assert_int_equal(nn_state_parse(&b.h.net, kept.data, kept.len), STATUS_OK);
    assert_memory_equal(stand_in(&b, 0), stand_in(&a, 0), sizeof(float) * MEMBERS * WIDTH);
    assert_memory_equal(nn_net_table(&b.h.net)->m1, nn_net_table(&a.h.net)->m1,
                        sizeof(float) * MEMBERS * WIDTH);

    nn_head_set(&b.h, b.p);
    assert_int_equal(safetensors_print(&a.h.net, &file), STATUS_OK);
    assert_non_null(memmem(file.data, file.len, header, sizeof header - 1));
    assert_int_equal(safetensors_parse(&b.h.net, file.data, file.len, &err), STATUS_OK);
    assert_memory_equal(stand_in(&b, 0), stand_in(&a, 0), sizeof(float) * MEMBERS * WIDTH);
    assert_int_equal(safetensors_parse(&other.h.net, file.data, file.len, &err), STATUS_DATA);
    file.len = 0;
    assert_int_equal(safetensors_print(&other.h.net, &file), STATUS_OK);
    assert_int_equal(safetensors_parse(&b.h.net, file.data, file.len, &err), STATUS_DATA);
    assert_string_equal(err.text, "stand_in is missing");
    buf_deinit(&kept);
    buf_deinit(&file);
    trial_close(&a);
    trial_close(&b);
    trial_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stand_in_takes_the_place_of_its_party),
        cmocka_unit_test(test_slopes_of_stand_ins_are_those_of_the_loss),
        cmocka_unit_test(test_stand_ins_begin_at_zero_and_only_theirs_move),
        cmocka_unit_test(test_stand_ins_are_kept_and_exported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
