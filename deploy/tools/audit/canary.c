/* canary.c -- coins, columns of ones, and weights that saturate.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/canary.h"

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/crypto/rng.h"
#include "common/nn/safetensors.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { TEST_ROWS = 20 };
#define FILE_MAX ((size_t)1 << 30)

/* tanh(30) is 1 in float32. */
static const float SATURATED = 30;
/* With probes: a canary's value is so many times a probe's, and tanh takes it so far. */
enum { LOUDER = 1000 };
static const double NEARLY = 0.95;

/* What is in a file of rows. */
struct part {
    const char *name;
    uint32_t first, rows; /* ids */
    uint32_t each;        /* rows of one column of the target's, one after the other */
    uint32_t value;       /* in it */
    bool coin;            /* its sign is drawn */
};

static uint32_t columns_of(const struct canary *c)
{
    return c->probes > 0 ? c->rows : 1;
}

static enum status print_names(const struct canary *c, struct buf *out)
{
    enum status s = buf_printf(out, "id");

    for (uint32_t i = 1; i < columns_of(c) + c->parties && s == STATUS_OK; i++)
        s = buf_printf(out, ",x%u", i);
    return s == STATUS_OK ? buf_printf(out, ",label\n") : s;
}

static enum status print_row(const struct canary *c, struct buf *out, const struct part *p,
                             uint32_t i, struct rng *r)
{
    const uint32_t column = i / p->each % columns_of(c);
    const bool down = p->coin && (rng_u64(r) & 1) != 0;
    enum status s = buf_printf(out, "%u", p->first + i);

    for (uint32_t k = 0; k < columns_of(c) && s == STATUS_OK; k++)
        s = k == column ? buf_printf(out, ",%s%u", down ? "-" : "", p->value)
                        : buf_append(out, ",0", 2);
    for (uint32_t m = 2; m <= c->parties && s == STATUS_OK; m++)
        s = buf_append(out, ",1", 2);
    return s == STATUS_OK ? buf_printf(out, ",%u\n", (unsigned)(rng_u64(r) & 1)) : s;
}

static enum status write_rows(const struct canary *c, const char *dir, const struct part *p,
                              struct error *err)
{
    char path[PATH_MAX];
    struct rng r = {0};
    struct buf out;
    enum status s;

    buf_init(&out, FILE_MAX);
    snprintf(path, sizeof path, "%s/%s", dir, p->name);
    s = rng_init_system(&r);
    if (s == STATUS_OK)
        s = print_names(c, &out);
    for (uint32_t i = 0; i < p->rows && s == STATUS_OK; i++)
        s = print_row(c, &out, p, i, &r);
    if (s != STATUS_OK)
        error_set(err, s, "%s: %s", path, status_words(s));
    else
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    rng_deinit(&r);
    buf_deinit(&out);
    return s;
}

static enum status write_weights(const struct canary *c, const char *dir, const char *name,
                                 uint32_t columns, float weight, struct error *err)
{
    struct nn_spec spec = {.layers = 1, .out_scale = 1, .rows_max = 1};
    struct arena arena = {0};
    struct nn_net net;
    char path[PATH_MAX];
    struct buf out;
    enum status s;

    spec.width[0] = columns;
    spec.width[1] = c->embedding;
    spec.act[0] = NN_ACT_TANH;
    buf_init(&out, FILE_MAX);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    s = arena_init(&arena, nn_net_bytes(&spec));
    if (s == STATUS_OK)
        s = nn_net_init(&net, &spec, &arena);
    for (size_t i = 0; i < (size_t)columns * c->embedding && s == STATUS_OK; i++)
        net.layer[0].w[i] = weight;
    if (s == STATUS_OK)
        s = safetensors_print(&net, &out);
    if (s != STATUS_OK)
        error_set(err, s, "%s: %s", path, status_words(s));
    else
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    buf_deinit(&out);
    arena_deinit(&arena);
    return s;
}

enum status canary_make(const struct canary *c, const char *dir, struct error *err)
{
    const bool learns = c->probes > 0;
    const struct part train = {.name = "train.csv",
                               .first = 1,
                               .rows = c->rows,
                               .each = 1,
                               .value = learns ? LOUDER * CANARY_PROBE : 1,
                               .coin = true};
    const struct part test = {.name = "test.csv",
                              .first = c->rows + 1,
                              .rows = learns ? c->rows * c->probes : TEST_ROWS,
                              .each = learns ? c->probes : 1,
                              .value = learns ? CANARY_PROBE : 1,
                              .coin = !learns};
    const float weight = learns ? (float)(atanh(NEARLY) / (LOUDER * CANARY_PROBE)) : SATURATED;
    enum status s = write_rows(c, dir, &train, err);

    if (s == STATUS_OK)
        s = write_rows(c, dir, &test, err);
    if (s == STATUS_OK)
        s = write_weights(c, dir, "weights.safetensors", 1, SATURATED, err);
    return s == STATUS_OK ? write_weights(c, dir, "target.safetensors", columns_of(c), weight, err)
                          : s;
}
