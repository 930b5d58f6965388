/* packages.c -- what packages.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/packages.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/nn/head.h"
#include "common/nn/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, REACH = 4 };

/* --- files --- */

/* No variance is below 0. */
static void take_sizes_of_squares(struct nn_net *net)
{
    for (size_t i = 0; i < net->spec.layers; i++)
        for (size_t k = 0; k < layer_tensors(&net->layer[i]); k++) {
            const struct layer_tensor t = net->layer[i].kind->tensor(&net->layer[i], i, k);

            for (size_t v = 0; t.square && v < t.count; v++)
                t.values[v] = fabsf(t.values[v]);
        }
}

static void set_weights(struct nn_net *net, uint32_t salt)
{
    const size_t n = nn_spec_params(&net->spec);
    float *weight = mem_alloc(n + 1, sizeof *weight);

    CHECK(weight != NULL);
    for (size_t i = 0; i < n; i++)
        weight[i] = sinf((float)(i + 7 * (size_t)salt));
    nn_net_set_params(net, weight);
    take_sizes_of_squares(net);
    mem_free(weight);
}

static void make(struct package *to, struct package *about, const struct nn_spec *spec,
                 uint32_t salt)
{
    struct arena arena = {0};
    struct error err = {0};
    struct nn_net net;
    struct buf out;

    snprintf(about->run, sizeof about->run, "abc");
    memset(about->trail, 7, sizeof about->trail);
    buf_init(&out, FILE_MAX);
    CHECK(arena_init(&arena, nn_net_bytes(spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, spec, &arena) == STATUS_OK);
    set_weights(&net, salt);
    CHECK(package_print(about, &net, &out, &err) == STATUS_OK);
    package_deinit(to);
    package_init(to);
    if (package_parse(to, out.data, out.len, &err) != STATUS_OK) {
        fprintf(stderr, "a package by a formula: %s\n", err.text);
        CHECK(!"it is not one");
    }
    buf_deinit(&out);
    arena_deinit(&arena);
}

void packages_bottom(struct package *to, const struct plan *p, const struct nn_spec *spec,
                     uint32_t salt)
{
    struct package about = {.plan = *p, .cols = spec->width[0]};

    /* How far embeddings reach is the plan's to bound, whatever is in the rows. */
    if (aggregation_of(p)->polynomial)
        about.reach = REACH;
    make(to, &about, spec, salt);
    CHECK(schema_init(&to->schema, to->cols) == STATUS_OK);
    for (size_t i = 0; i < to->cols; i++)
        to->schema.column[i].kind = SCHEMA_NUMBER;
}

void packages_head(struct package *to, const struct plan *p, uint32_t salt)
{
    struct package about = {
        .role = PACKAGE_HEAD, .plan = *p, .center = 0.5F, .spread = 2, .temperature = 1};
    struct arena arena = {0};
    struct nn_head head;

    CHECK(arena_init(&arena, nn_head_bytes(p, 1)) == STATUS_OK);
    CHECK(nn_head_init(&head, p, 1, &arena, NULL) == STATUS_OK);
    if (aggregation_of(p)->polynomial)
        about.reach = REACH;
    make(to, &about, &head.net.spec, salt);
    arena_deinit(&arena);
}
