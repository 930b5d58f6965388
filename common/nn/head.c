/* head.c -- the top model's arithmetic.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/head.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/plan_head.h"
#include "common/config/task.h"
#include "common/nn/listed.h"

#include <float.h>
#include <math.h>
#include <string.h>

static enum nn_loss loss_of(const struct plan *p)
{
    switch (task_of(p)->loss) {
    case TASK_SOFTMAX: return NN_LOSS_SOFTMAX;
    case TASK_SIGMOID: return NN_LOSS_SIGMOID;
    case TASK_SIGMOIDS: return NN_LOSS_SIGMOIDS;
    case TASK_SQUARED: return NN_LOSS_SQUARED;
    }
    return NN_LOSS_SOFTMAX;
}

void nn_head_shape(struct nn_head *h, const struct plan *p)
{
    *h = (struct nn_head){
        .apart = plan_keeps_apart(p),
        .max = p->model.fusion == FUSION_MAX,
        .mean = p->model.fusion == FUSION_MEAN,
        .fixed = p->model.output == OUTPUT_IDENTITY,
        .loss = loss_of(p),
        .outputs = task_outputs(p),
        .targets = task_targets(p),
        .parties = p->shape.parties,
        .width = p->model.embedding,
        .spread = 1,
        .temperature = 1,
    };
    h->zeros = p->protocol.absent == ABSENT_ZERO;
    h->absent = h->max && !h->zeros ? -FLT_MAX : 0;
    h->inputs = h->apart ? h->parties * h->width : h->width;
    CHECK(!h->fixed || (p->model.head.n == 0 && h->inputs == h->outputs));
}

uint32_t nn_head_takes(const struct nn_head *h)
{
    return h->max ? h->width : h->inputs;
}

static void spec_of(struct nn_spec *spec, const struct nn_head *h, const struct plan *p,
                    uint32_t rows_max)
{
    const struct listed of = {
        .key = "model.head",
        .layers = &p->model.head,
        .activation = (enum plan_activation)p->model.head_activation,
    };
    struct error none = {0};

    *spec = (struct nn_spec){
        .out_scale = 1,
        .rows_max = rows_max,
        .optimizer = (enum nn_optimizer)p->training.optimizer,
        .weight_decay = (float)p->training.weight_decay,
        .dropout = (float)p->model.head_dropout,
    };
    spec->width[0] = nn_head_takes(h);
    if (!h->fixed) /* plan_head_fault() has looked at what may be listed */
        CHECK(listed_layers(spec, &of, h->outputs, &none) == STATUS_OK);
    if (p->training.party_dropout > 0) {
        spec->table.rows = h->parties;
        spec->table.width = h->width;
    }
}

/* 0: rows of all classes count once. */
static uint32_t weights_of(const struct nn_head *h, const struct plan *p)
{
    if (p->training.class_weights == CLASS_WEIGHTS_NONE)
        return 0;
    return h->loss == NN_LOSS_SOFTMAX ? h->outputs : 2 * h->targets;
}

/* Bytes of what max has taken, and of its gradient. */
static size_t max_bytes(const struct nn_head *h, uint32_t rows_max)
{
    const size_t values = (size_t)rows_max * h->width;

    return h->max ? values * (2 * sizeof(float) + sizeof(uint16_t)) + 3 * MEM_ALIGNMENT : 0;
}

static enum status max_init(struct nn_head *h, uint32_t rows_max, struct arena *a)
{
    const size_t values = (size_t)rows_max * h->width;

    if (!h->max)
        return STATUS_OK;
    h->most = arena_alloc(a, values, sizeof *h->most);
    h->dmost = arena_alloc(a, values, sizeof *h->dmost);
    h->whose = arena_alloc(a, values, sizeof *h->whose);
    return h->most != NULL && h->dmost != NULL && h->whose != NULL ? STATUS_OK : STATUS_MEMORY;
}

static size_t bytes_of(const struct nn_spec *spec, const struct plan *p)
{
    const size_t rows_max = spec->rows_max;
    struct nn_head h;
    size_t weights;

    nn_head_shape(&h, p);
    weights = sizeof(float) * weights_of(&h, p);
    return nn_net_bytes(spec) + max_bytes(&h, spec->rows_max) +
           sizeof(float) * rows_max * h.outputs + MEM_ALIGNMENT +
           (weights > 0 ? weights + MEM_ALIGNMENT : 0) +
           (task_scales(p) ? sizeof(float) * rows_max + MEM_ALIGNMENT : 0);
}

static enum status make(struct nn_head *h, const struct nn_spec *spec, const struct plan *p,
                        struct arena *a)
{
    enum status s = nn_net_init(&h->net, spec, a); /* all zeros */

    if (s == STATUS_OK)
        s = max_init(h, spec->rows_max, a);
    if (s != STATUS_OK)
        return s;
    h->dlogits = arena_alloc(a, (size_t)spec->rows_max * h->outputs, sizeof(float));
    h->weights = weights_of(h, p);
    if (h->weights > 0)
        h->class_weight = arena_alloc(a, h->weights, sizeof(float));
    if (h->dlogits == NULL || (h->weights > 0 && h->class_weight == NULL))
        return STATUS_MEMORY;
    if (task_scales(p)) {
        h->scaled = arena_alloc(a, spec->rows_max, sizeof(float));
        if (h->scaled == NULL)
            return STATUS_MEMORY;
    }
    return STATUS_OK;
}

size_t nn_head_bytes(const struct plan *p, uint32_t rows_max)
{
    struct nn_head h;
    struct nn_spec spec;

    nn_head_shape(&h, p);
    spec_of(&spec, &h, p, rows_max);
    return bytes_of(&spec, p);
}

enum status nn_head_init(struct nn_head *h, const struct plan *p, uint32_t rows_max,
                         struct arena *a, struct rng *init)
{
    struct nn_spec spec;
    enum status s;

    nn_head_shape(h, p);
    spec_of(&spec, h, p, rows_max);
    CHECK(nn_spec_params(&spec) == plan_head_params(p)); /* whose size get and set go by */
    s = make(h, &spec, p, a);
    if (s == STATUS_OK && init != NULL)
        nn_net_randomize(&h->net, (enum nn_init)p->model.init, init);
    return s;
}

/* Its steps are its own, but for when and how far. */
static void spec_outside(struct nn_spec *spec, const struct nn_head *h, uint32_t rows_max,
                         const struct nn_head_outside *outside)
{
    *spec = (struct nn_spec){.layers = 1,
                             .width = {nn_head_takes(h), h->outputs},
                             .out_scale = 1,
                             .rows_max = rows_max,
                             .layer[0] = {.kind = NN_OUTSIDE, .units = (uint32_t)outside->floats},
                             .outside = outside->by};
}

size_t nn_head_bytes_outside(const struct plan *p, uint32_t rows_max,
                             const struct nn_head_outside *outside)
{
    struct nn_head h;
    struct nn_spec spec;

    if (outside->by == NULL)
        return nn_head_bytes(p, rows_max);
    nn_head_shape(&h, p);
    spec_outside(&spec, &h, rows_max, outside);
    return bytes_of(&spec, p);
}

enum status nn_head_init_outside(struct nn_head *h, const struct plan *p, uint32_t rows_max,
                                 struct arena *a, const struct nn_head_outside *outside,
                                 struct rng *init)
{
    struct nn_spec spec;
    const char *why;

    if (outside->by == NULL)
        return nn_head_init(h, p, rows_max, a, init);
    nn_head_shape(h, p);
    CHECK(plan_head_needs_layers(p, &why) == NULL);
    spec_outside(&spec, h, rows_max, outside);
    return make(h, &spec, p, a);
}

void nn_head_weigh(struct nn_head *h, const float *target, size_t n)
{
    const uint32_t classes = h->weights / h->targets;

    for (uint32_t w = 0; w < h->weights; w++) {
        const float class = (float)(w % classes);
        size_t rows = 0, known = 0;

        for (size_t i = w / classes; i < n * h->targets; i += h->targets) {
            rows += target[i] == class;
            known += isnan(target[i]) ? 0 : 1;
        }
        h->class_weight[w] = rows == 0 ? 0.0f : (float)((double)known / classes / (double)rows);
    }
}

void nn_head_scale(struct nn_head *h, const float *target, size_t n)
{
    double mean = 0, square = 0;

    if (h->scaled == NULL || n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        mean += (double)target[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += ((double)target[i] - mean) * ((double)target[i] - mean) / (double)n;
    h->center = (float)mean;
    h->spread = (float)sqrt(square);
    if (!(h->spread > 0) || !isfinite(h->spread))
        h->spread = 1;
}

void nn_head_fuse(const struct nn_head *h, float *fused, uint32_t rows)
{
    float factor = 1.0f / (float)h->parties;

    if (!h->mean)
        return;
    for (size_t i = 0; i < (size_t)rows * h->inputs; i++)
        fused[i] *= factor;
}

/* From the last value to the first: none is written where one is still to be read, since a member's
 * place among all is never before that among the members. */
void nn_head_spread(const struct nn_head *h, float *fused, const uint8_t *place, uint32_t n,
                    uint32_t rows)
{
    const size_t width = h->width, all = h->parties;
    size_t end = (size_t)rows * all * width; /* what is from here on is as it should be */

    if (!h->apart || n == all)
        return;
    for (size_t r = rows; r-- > 0;) {
        for (size_t m = n; m-- > 0;) {
            const size_t from = (r * n + m) * width, to = (r * all + place[m]) * width;

            memmove(fused + to, fused + from, width * sizeof *fused);
            memset(fused + to + width, 0, (end - to - width) * sizeof *fused);
            end = to;
        }
    }
    memset(fused, 0, end * sizeof *fused);
}

/* --- stand-ins --- */

/* What one of its values adds to each row of fused. */
static float share_of(const struct nn_head *h)
{
    return h->mean ? 1.0f / (float)h->parties : 1.0f;
}

static size_t place_of(const struct nn_head *h, uint32_t party)
{
    return h->apart ? (size_t)party * h->width : 0;
}

void nn_head_fill(const struct nn_head *h, float *filled, const float *fused, const bool *missing,
                  uint32_t rows)
{
    const float *stand_in = h->net.layer[h->net.spec.layers].w, factor = share_of(h);

    CHECK(h->net.spec.table.rows == h->parties);
    if (filled != fused)
        memcpy(filled, fused, (size_t)rows * h->inputs * sizeof *filled);
    for (uint32_t m = 0; m < h->parties; m++, stand_in += h->width) {
        float *to = filled + place_of(h, m);

        for (uint32_t r = 0; missing[m] && r < rows; r++, to += h->inputs)
            for (uint32_t i = 0; i < h->width; i++)
                to[i] = (h->apart ? 0 : to[i]) + factor * stand_in[i];
    }
}

void nn_head_without(const struct nn_head *h, float *fused, const bool *missing, uint32_t rows)
{
    for (uint32_t m = 0; h->apart && h->net.spec.table.rows == 0 && m < h->parties; m++) {
        float *to = fused + place_of(h, m);

        for (uint32_t r = 0; missing[m] && r < rows; r++, to += h->inputs)
            for (uint32_t i = 0; i < h->width; i++)
                to[i] = h->absent;
    }
}

void nn_head_fill_slopes(struct nn_head *h, const float *dfused, const bool *missing, uint32_t rows)
{
    const struct nn_layer *table = nn_net_table(&h->net);
    const float factor = share_of(h);

    if (table == NULL)
        return;
    memset(table->dw, 0, nn_layer_params(table) * sizeof *table->dw);
    for (uint32_t m = 0; m < h->parties; m++) {
        const float *from = dfused + place_of(h, m);
        float *to = table->dw + (size_t)m * h->width;

        for (uint32_t r = 0; missing[m] && r < rows; r++, from += h->inputs)
            for (uint32_t i = 0; i < h->width; i++)
                to[i] += factor * from[i];
    }
}

void nn_head_draw_masks(struct nn_head *h, uint64_t seed, uint64_t step, uint32_t rows,
                        struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!(h->net.spec.dropout > 0))
        return;
    rng_seed_key(key, seed, 0, "head dropout", step);
    rng_rekey(r, key);
    nn_net_draw_masks(&h->net, rows, r);
}

/* --- the largest of each coordinate --- */

/* Where nobody is there it is 0. */
static const float *take_most(struct nn_head *h, const float *fused, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        float *most = h->most + (size_t)r * h->width;
        uint16_t *whose = h->whose + (size_t)r * h->width;

        memcpy(most, fused, h->width * sizeof *most);
        memset(whose, 0, h->width * sizeof *whose);
        fused += h->width;
        for (uint16_t m = 1; m < h->parties; m++, fused += h->width)
            for (uint32_t i = 0; i < h->width; i++)
                if (!(fused[i] <= most[i]) && !isnan(most[i])) { /* what is no number stays none */
                    most[i] = fused[i];
                    whose[i] = m;
                }
        for (uint32_t i = 0; i < h->width; i++)
            most[i] = most[i] <= -FLT_MAX ? 0 : most[i];
    }
    return h->most;
}

static void give_back(const struct nn_head *h, float *dfused, uint32_t rows)
{
    memset(dfused, 0, (size_t)rows * h->inputs * sizeof *dfused);
    for (uint32_t r = 0; r < rows; r++, dfused += h->inputs)
        for (uint32_t i = 0; i < h->width; i++) {
            const size_t at = (size_t)r * h->width + i;

            dfused[(size_t)h->whose[at] * h->width + i] = h->dmost[at];
        }
}

/* Squared errors of scaled targets, as those of the targets themselves. */
static double unit_of(const struct nn_head *h)
{
    return h->scaled != NULL ? (double)h->spread * (double)h->spread : 1;
}

double nn_head_forward(struct nn_head *h, const float *fused, const float *target, uint32_t rows,
                       bool slopes)
{
    const float *in = h->max ? take_most(h, fused, rows) : fused;

    h->logits =
        slopes ? nn_net_forward_masked(&h->net, in, rows) : nn_net_forward(&h->net, in, rows);
    for (uint32_t r = 0; h->scaled != NULL && r < rows; r++)
        h->scaled[r] = (target[r] - h->center) / h->spread;
    return unit_of(h) * nn_loss_weighted(h->loss, slopes ? h->dlogits : NULL, h->logits,
                                         h->scaled != NULL ? h->scaled : target, rows, h->outputs,
                                         slopes ? h->class_weight : NULL);
}

double nn_head_row_loss(const struct nn_head *h, uint32_t r, const float *target)
{
    const float scaled = (*target - h->center) / h->spread;

    return unit_of(h) * nn_loss(h->loss, NULL, h->logits + (size_t)r * h->outputs,
                                h->scaled != NULL ? &scaled : target, 1, h->outputs);
}

void nn_head_predict(const struct nn_head *h, float *prob, uint32_t rows)
{
    const float *z = h->logits;

    if (h->temperature < 1 || h->temperature > 1) {
        for (size_t i = 0; i < (size_t)rows * h->outputs; i++)
            h->dlogits[i] = z[i] / h->temperature;
        z = h->dlogits; /* nobody goes back from a prediction */
    }
    nn_predict(h->loss, prob, z, rows, h->outputs);
    for (size_t i = 0; h->scaled != NULL && i < (size_t)rows * h->outputs; i++)
        prob[i] = prob[i] * h->spread + h->center;
}

void nn_head_backward(struct nn_head *h, float *dfused)
{
    nn_net_backward(&h->net, h->max && dfused != NULL ? h->dmost : dfused, h->dlogits);
    if (h->max && dfused != NULL)
        give_back(h, dfused, h->net.rows);
}

void nn_head_part(const struct nn_head *h, float *part, const float *dfused, uint32_t rows,
                  uint32_t m)
{
    float factor = h->mean ? 1.0f / (float)h->parties : 1.0f;

    if (!h->apart) {
        for (size_t i = 0; i < (size_t)rows * h->width; i++)
            part[i] = factor * dfused[i];
        return;
    }
    for (uint32_t r = 0; r < rows; r++)
        memcpy(part + (size_t)r * h->width, dfused + (size_t)r * h->inputs + (size_t)m * h->width,
               sizeof(float) * h->width);
}

void nn_head_step(struct nn_head *h, float learning_rate)
{
    if (!h->fixed)
        nn_net_step(&h->net, learning_rate);
}

void nn_head_get(const struct nn_head *h, float *params)
{
    nn_net_copy_params(&h->net, params);
}

void nn_head_set(struct nn_head *h, const float *params)
{
    nn_net_set_params(&h->net, params);
}
