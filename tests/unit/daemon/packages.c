/* packages.c -- what packages.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/packages.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/data/schema_text.h"

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
    p->plan.training.weight_decay_given = true;
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
    static const char schema[] =
        "statistics: fit\ncolumns:\n"
        "  - {name: \"age\", kind: number, missing: mean, fill: 40.5}\n"
        "  - {name: \"a \\\"quoted\\\\ name\\\"\", kind: number, missing: refused}\n"
        "  - {name: \"c\", kind: category, levels: [\"x\"]}\n";
    static const char *const names[] = {"age", "a \"quoted\\ name\"", "c=x"};
    struct error err = {0};

    of_run(p);
    p->role = PACKAGE_BOTTOM;
    p->made = ACCOUNT_DP;
    p->noise = 1.0 / 3;
    CHECK(schema_parse(&p->schema, schema, strlen(schema), "schema", &err) == STATUS_OK);
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
    p->classes = mem_strdup("no\nyes\n");
    CHECK(p->classes != NULL);
    package_score(p->score, &none, &none, &test);
}

size_t packages_header_bytes(const struct buf *b)
{
    const uint8_t *at = b->data;

    return (size_t)le_take(&at, 8);
}

void packages_print(struct package *p, const struct nn_net *n, struct buf *out)
{
    struct error err = {0};

    buf_init(out, SIZE_MAX);
    CHECK(package_print(p, n, out, &err) == STATUS_OK);
}

enum status packages_parse(const struct buf *b, size_t n)
{
    struct package p;
    struct error err = {0};
    enum status s;

    package_init(&p);
    s = package_parse(&p, b->data, n, &err);
    package_deinit(&p);
    return s;
}

void packages_with(struct buf *out, const struct buf *b, const char *from, const char *to)
{
    const size_t header = packages_header_bytes(b);
    const char *text = (const char *)b->data + 8, *at = strstr(text, from);

    CHECK(at != NULL);
    out->len = 0;
    CHECK(buf_append(out, b->data, 8) == STATUS_OK);
    CHECK(buf_append(out, text, (size_t)(at - text)) == STATUS_OK);
    CHECK(buf_append(out, to, strlen(to)) == STATUS_OK);
    CHECK(buf_append(out, at + strlen(from), header - (size_t)(at - text) - strlen(from)) ==
          STATUS_OK);
    le_put(out->data, out->len - 8, 8);
    CHECK(buf_append(out, text + header, b->len - 8 - header) == STATUS_OK);
}
