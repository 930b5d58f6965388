/* refresh.c -- local steps with fresh embeddings of this party and a head of its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/refresh.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/plan_head.h"

#include <math.h>
#include <string.h>

bool party_refreshes(const struct plan *p, uint32_t self)
{
    const uint32_t holders = p->protocol.label_holders;

    return p->protocol.local_view == VIEW_REFRESHED && (holders == 0 || self < holders);
}

/* --- labels --- */

/* The label as a class, 0 where the head has no such class: a refusal would tell of a record. */
static float class_of(float label, uint32_t classes, size_t *strange)
{
    const bool fits = label >= 0 && label == floorf(label) && (double)label < classes;

    *strange += !fits;
    return fits ? label : 0;
}

/* By what the head computes, whatever task the plan names: a server writes both, and a class beyond
 * the head's outputs is a programmer's mistake to the loss. */
static void targets_of(struct party_refresh *f, const struct table *labels)
{
    const uint32_t classes = f->head.loss == NN_LOSS_SIGMOID ? 2 : f->head.outputs;
    size_t strange = 0;

    if (f->head.loss == NN_LOSS_SQUARED) {
        memcpy(f->target, labels->x, labels->rows * sizeof *f->target);
        return;
    }
    for (size_t i = 0; i < labels->rows; i++)
        f->target[i] = class_of(labels->x[i], classes, &strange);
    if (strange > 0)
        log_warn("data.labels.train: %zu of %zu labels are no whole number from 0 to %u, as the "
                 "plan's are: they count as 0",
                 strange, labels->rows, classes - 1);
}

static enum status check_labels(const struct plan *p, const struct table *labels, struct error *err)
{
    if (labels == NULL)
        return error_set(err, STATUS_CONFIG,
                         "data.labels.train: is not set, and under the plan's local_view refreshed "
                         "this party needs labels");
    if (labels->rows == p->shape.train_rows)
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "data.labels.train: %zu labels of %u training rows",
                     labels->rows, p->shape.train_rows);
}

/* --- life --- */

static enum status allocate(struct party_refresh *f, const struct plan *p)
{
    const size_t batch = p->training.batch, params = plan_head_params(p);
    size_t values;
    enum status s;

    nn_head_shape(&f->head, p);
    values = batch * f->head.inputs;
    s = arena_init(&f->arena,
                   nn_head_bytes(p, p->training.batch) +
                       sizeof(float) * (3 * values + batch + p->shape.train_rows + params) +
                       6 * MEM_ALIGNMENT);
    if (s == STATUS_OK)
        s = nn_head_init(&f->head, p, p->training.batch, &f->arena, NULL);
    if (s != STATUS_OK)
        return s;
    f->others = arena_alloc(&f->arena, values, sizeof *f->others);
    f->fused = arena_alloc(&f->arena, values, sizeof *f->fused);
    f->dfused = arena_alloc(&f->arena, values, sizeof *f->dfused);
    f->of_batch = arena_alloc(&f->arena, batch, sizeof *f->of_batch);
    f->target = arena_alloc(&f->arena, p->shape.train_rows, sizeof *f->target);
    f->params = arena_alloc(&f->arena, params, sizeof *f->params);
    CHECK(f->target != NULL && (params == 0 || f->params != NULL));
    return STATUS_OK;
}

enum status party_refresh_init(struct party_refresh *f, const struct plan *p, uint32_t self,
                               const struct table *labels, struct error *err)
{
    enum status s;

    *f = (struct party_refresh){.on = party_refreshes(p, self), .self = self};
    if (!f->on)
        return STATUS_OK;
    s = check_labels(p, labels, err);
    if (s != STATUS_OK)
        return s;
    s = allocate(f, p);
    if (s != STATUS_OK)
        return error_set(err, s, "local_view refreshed: %s", status_words(s));
    targets_of(f, labels);
    nn_head_weigh(&f->head, f->target, p->shape.train_rows);
    return STATUS_OK;
}

void party_refresh_deinit(struct party_refresh *f)
{
    arena_deinit(&f->arena);
    *f = (struct party_refresh){0};
}

/* --- the end of a step --- */

enum status party_refresh_take(struct party_refresh *f, const struct party_bottom *b,
                               const struct secagg_shape *shape, const struct party_sent *sent,
                               const struct secagg_round *round, struct error *err)
{
    const uint32_t rows = b->batch_rows;
    const uint8_t *shown = down_shown_read(&b->back.down, b->back.received, rows);
    enum status s;

    if (shown == NULL)
        return error_set(err, STATUS_PROTOCOL, "a sum with something behind it");
    s = secagg_others(shape, f->others, shown, sent->own, (size_t)rows * b->width, b->width, round,
                      err);
    if (s != STATUS_OK)
        return s;
    if (!b->back.down.with_head) /* identity */
        return STATUS_OK;
    if (!down_head_unpack(&b->back.down, f->params, b->back.received, rows, round->dither))
        return error_set(err, STATUS_PROTOCOL, "a head that is none");
    nn_head_set(&f->head, f->params);
    return STATUS_OK;
}

/* What is no number stays none. */
static float cut(float x, float most)
{
    return x > most ? most : x < -most ? -most : x;
}

/* fused = the others' part and the batch's embeddings anew, cut off at +-C as they were when they
 * were sent (those of layers lie there by themselves), as the head takes it. */
static void join(struct party_refresh *f, struct party_bottom *b)
{
    const uint32_t rows = b->batch_rows, width = b->width;
    const size_t inputs = f->head.inputs, at = f->head.apart ? (size_t)f->self * width : 0;
    const float *h = party_bottom_again(b);

    memcpy(f->fused, f->others, rows * inputs * sizeof *f->fused);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < width; i++)
            f->fused[r * inputs + at + i] += cut(h[(size_t)r * width + i], b->clip);
    nn_head_fuse(&f->head, f->fused, rows);
}

void party_refresh_apply(struct party_refresh *f, struct party_bottom *b, struct party_sent *sent,
                         const struct plan *p, uint64_t step, double clip)
{
    const uint32_t rows = b->batch_rows;

    f->clipped = 0;
    for (uint32_t r = 0; r < rows; r++)
        f->of_batch[r] = f->target[sent->row[r]];
    for (uint32_t q = 0; party_bottom_iterates(b, p, q); q++) {
        join(f, b);
        nn_head_forward(&f->head, f->fused, f->of_batch, rows, true);
        nn_head_backward(&f->head, f->dfused);
        nn_head_part(&f->head, b->back.gradient, f->dfused, rows, f->self);
        if (q == 0)
            party_sent_weigh(sent, b->back.gradient, rows);
        f->clipped += party_bottom_clip(b, clip);
        party_bottom_step(b, p, step, q);
    }
}

double party_refresh_flops(const struct party_refresh *f, const struct plan *p)
{
    const double values = (double)p->training.batch * p->model.embedding * p->shape.parties;

    if (!f->on)
        return 0;
    return nn_net_flops(&f->head.net.spec, p->training.batch) * p->protocol.local_iterations +
           16 * values;
}
