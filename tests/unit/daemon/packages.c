/* packages.c -- what packages.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/packages.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <string.h>

static const struct nn_spec BOTTOM = {.layers = 2,
                                      .width = {3, 4, 2},
                                      .act = {NN_ACT_RELU, NN_ACT_TANH},
                                      .out_scale = 0.5F,
                                      .rows_max = 2};
static const struct nn_spec HEAD = {
    .layers = 1, .width = {2, 2}, .act = {NN_ACT_NONE}, .out_scale = 1, .rows_max = 2};

static void count_up(struct nn_net *n)
{
    float weight[64];

    for (int i = 0; i < 64; i++)
        weight[i] = 0.25F * (float)i - 1;
    nn_net_set_params(n, weight);
}

void packages_init(struct packages *s)
{
    CHECK(arena_init(&s->arena, nn_net_bytes(&BOTTOM) + nn_net_bytes(&HEAD)) == STATUS_OK);
    CHECK(nn_net_init(&s->bottom, &BOTTOM, &s->arena) == STATUS_OK);
    CHECK(nn_net_init(&s->head, &HEAD, &s->arena) == STATUS_OK);
    count_up(&s->bottom);
    count_up(&s->head);
}

void packages_deinit(struct packages *s)
{
    arena_deinit(&s->arena);
}

static void of_run(struct package *p)
{
    package_init(p);
    plan_defaults(&p->plan);
    p->plan.model.embedding = 2;
    p->plan.model.task = TASK_BINARY;
    p->plan.protocol.clip = 0.5;
    p->plan.training.batch = 4;
    p->plan.training.seed = 7;
    p->plan.training.seed_given = p->plan.privacy.delta_given = true;
    p->plan.shape.parties = 2;
    p->plan.shape.train_rows = 8;
    p->plan.shape.outputs = 2;
    snprintf(p->run, sizeof p->run, "abc-2");
    memset(p->trail, 0x5a, sizeof p->trail);
    p->epochs = 1.5;
    p->steps = 3;
}

void packages_bottom(struct package *p)
{
    static const char *const names[] = {"age", "a \"quoted\\ name\"", "c"};

    of_run(p);
    p->role = PACKAGE_BOTTOM;
    p->cols = 3;
    p->names = mem_alloc(3, TABLE_NAME_MAX);
    p->scale.mean = mem_alloc(3, sizeof(float));
    p->scale.sd = mem_alloc(3, sizeof(float));
    CHECK(p->names != NULL && p->scale.mean != NULL && p->scale.sd != NULL);
    p->scale.cols = 3;
    for (size_t c = 0; c < 3; c++) {
        snprintf(p->names + c * TABLE_NAME_MAX, TABLE_NAME_MAX, "%s", names[c]);
        p->scale.mean[c] = 0.1F * (float)c;
        p->scale.sd[c] = 1.0F / 3;
    }
}

void packages_head(struct package *p)
{
    struct score none = {0}, test = {.value[SCORE_LOSS] = 0.5,
                                     .value[SCORE_AUC] = 0.75,
                                     .has[SCORE_LOSS] = true,
                                     .has[SCORE_AUC] = true};

    of_run(p);
    p->role = PACKAGE_HEAD;
    package_score(p->score, &none, &test);
}
