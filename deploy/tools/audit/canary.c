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
#include <stdio.h>

enum { FILE_MAX = 1 << 28, TEST_ROWS = 20 };

/* tanh(30) is 1 in float32. */
static const float SATURATED = 30;

static enum status print_rows(const struct canary *c, struct buf *out, uint32_t first, uint32_t n,
                              struct rng *r)
{
    enum status s = buf_printf(out, "id");

    for (uint32_t m = 1; m <= c->parties && s == STATUS_OK; m++)
        s = buf_printf(out, ",x%u", m);
    if (s == STATUS_OK)
        s = buf_printf(out, ",label\n");
    for (uint32_t i = 0; i < n && s == STATUS_OK; i++) {
        s = buf_printf(out, "%u,%s1", first + i, rng_u64(r) & 1 ? "-" : "");
        for (uint32_t m = 2; m <= c->parties && s == STATUS_OK; m++)
            s = buf_printf(out, ",1");
        if (s == STATUS_OK)
            s = buf_printf(out, ",%u\n", (unsigned)(rng_u64(r) & 1));
    }
    return s;
}

static enum status write_rows(const struct canary *c, const char *dir, const char *name,
                              uint32_t first, uint32_t n, struct error *err)
{
    char path[PATH_MAX];
    struct rng r = {0};
    struct buf out;
    enum status s;

    buf_init(&out, FILE_MAX);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    s = rng_init_system(&r);
    if (s == STATUS_OK)
        s = print_rows(c, &out, first, n, &r);
    if (s != STATUS_OK)
        error_set(err, s, "%s: %s", path, status_words(s));
    else
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    rng_deinit(&r);
    buf_deinit(&out);
    return s;
}

static enum status write_weights(const struct canary *c, const char *dir, struct error *err)
{
    struct nn_spec spec = {.layers = 1, .out_scale = 1, .rows_max = 1};
    struct arena arena = {0};
    struct nn_net net;
    char path[PATH_MAX];
    struct buf out;
    enum status s;

    spec.width[0] = 1;
    spec.width[1] = c->embedding;
    spec.act[0] = NN_ACT_TANH;
    buf_init(&out, FILE_MAX);
    snprintf(path, sizeof path, "%s/weights.safetensors", dir);
    s = arena_init(&arena, nn_net_bytes(&spec));
    if (s == STATUS_OK)
        s = nn_net_init(&net, &spec, &arena);
    for (uint32_t i = 0; i < c->embedding && s == STATUS_OK; i++)
        net.layer[0].w[i] = SATURATED;
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
    enum status s = write_rows(c, dir, "train.csv", 1, c->rows, err);

    if (s == STATUS_OK)
        s = write_rows(c, dir, "test.csv", c->rows + 1, TEST_ROWS, err);
    return s == STATUS_OK ? write_weights(c, dir, err) : s;
}
