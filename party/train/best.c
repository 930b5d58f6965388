/* best.c -- copies of the bottom at evaluations.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/best.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/base/record.h"
#include "common/crypto/secret.h"

#include <math.h>
#include <string.h>

enum status party_best_init(struct party_best *b, const struct plan *p, const struct agenda *agenda,
                            const struct nn_net *net)
{
    /* Under once no bottom changes. */
    if (p->training.patience == 0 || p->training.releases == RELEASES_ONCE)
        return STATUS_OK;
    b->agenda = agenda;
    b->params = nn_spec_params(&net->spec);
    b->last.params = mem_alloc(b->params, sizeof *b->last.params);
    b->kept.params = mem_alloc(b->params, sizeof *b->kept.params);
    return b->last.params == NULL || b->kept.params == NULL ? STATUS_MEMORY : STATUS_OK;
}

void party_best_deinit(struct party_best *b)
{
    struct party_copy *copy[] = {&b->last, &b->kept};

    for (size_t i = 0; i < 2; i++) {
        if (copy[i]->params != NULL)
            secret_wipe(copy[i]->params, b->params * sizeof *copy[i]->params);
        mem_free(copy[i]->params);
    }
    *b = (struct party_best){0};
}

/* --- copies --- */

static void keep_last(struct party_best *b)
{
    memcpy(b->kept.params, b->last.params, b->params * sizeof *b->kept.params);
    b->kept.step = b->last.step;
}

void party_best_pass(struct party_best *b, const struct nn_net *net, uint64_t before, uint64_t now)
{
    if (b->agenda == NULL ||
        agenda_sweeps_until(b->agenda, now) <= agenda_sweeps_until(b->agenda, before))
        return;
    nn_net_copy_params(net, b->last.params);
    b->last.step = agenda_last_due(b->agenda, now);
    if (b->named > before && b->named <= now) { /* steps that it sat out have changed nothing */
        keep_last(b);
        b->kept.step = b->named;
    }
}

bool party_best_may_be(const struct party_best *b, uint64_t step, uint64_t reached)
{
    return step == 0 || (b->agenda != NULL && step <= reached && agenda_due(b->agenda, step));
}

void party_best_name(struct party_best *b, uint64_t step)
{
    b->named = step;
    if (b->settled)
        CHECK(b->kept.step == step); /* and `kept` has the trained weights, which are not lost */
    else if (step > 0 && b->last.step == step)
        keep_last(b);
}

/* --- the end --- */

/* The net's weights and the kept ones change places: of either nothing is lost. */
static void swap(struct party_best *b, struct nn_net *net)
{
    float *kept = b->kept.params;

    nn_net_fetch(net);
    for (size_t i = 0; i < net->spec.layers; i++) {
        float *w = net->layer[i].w;

        for (size_t k = nn_layer_params(&net->layer[i]); k > 0; k--) {
            const float trained = *w;

            *w++ = *kept;
            *kept++ = trained;
        }
    }
    nn_net_give(net);
    b->settled = !b->settled;
}

bool party_best_settle(struct party_best *b, struct nn_net *net)
{
    if (b->agenda == NULL || b->settled || b->named == 0)
        return true;
    if (b->kept.step != b->named)
        return false;
    swap(b, net);
    return true;
}

void party_best_unsettle(struct party_best *b, struct nn_net *net)
{
    if (b->settled)
        swap(b, net);
}

/* --- to bytes and back --- */

struct printed {
    uint64_t last, kept;
    bool settled;
};

static const struct record_field printed_field[] = {
    RECORD_FIELD(struct printed, last),
    RECORD_FIELD(struct printed, kept),
    RECORD_FIELD(struct printed, settled),
};
enum { PRINTED_FIELDS = sizeof printed_field / sizeof printed_field[0] };

static size_t copy_bytes(const struct party_best *b)
{
    return b->params * sizeof(float);
}

size_t party_best_bytes(const struct party_best *b)
{
    return b->agenda == NULL ? 0 : record_bytes(printed_field, PRINTED_FIELDS) + 2 * copy_bytes(b);
}

enum status party_best_print(const struct party_best *b, struct buf *out)
{
    const struct printed p = {b->last.step, b->kept.step, b->settled};
    enum status s;

    if (b->agenda == NULL)
        return STATUS_OK;
    s = record_print(out, printed_field, PRINTED_FIELDS, &p);
    if (s == STATUS_OK)
        s = buf_append(out, b->last.params, copy_bytes(b));
    return s == STATUS_OK ? buf_append(out, b->kept.params, copy_bytes(b)) : s;
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

enum status party_best_parse(struct party_best *b, const uint8_t *bytes)
{
    struct printed p;

    if (b->agenda == NULL)
        return STATUS_OK;
    if (!record_parse(&p, printed_field, PRINTED_FIELDS, bytes))
        return STATUS_DATA;
    bytes += record_bytes(printed_field, PRINTED_FIELDS);
    memcpy(b->last.params, bytes, copy_bytes(b));
    memcpy(b->kept.params, bytes + copy_bytes(b), copy_bytes(b));
    if (!all_finite(b->last.params, b->params) || !all_finite(b->kept.params, b->params))
        return STATUS_DATA;
    b->last.step = p.last;
    b->kept.step = p.kept;
    b->settled = p.settled;
    return STATUS_OK;
}
