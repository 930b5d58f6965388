/* inject.c -- delays and crashes on purpose.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/inject.h"

#include "common/config/aggregation.h"
#include "common/wire/purpose.h"

#include <math.h>
#include <signal.h>

double inject_mean_s(const struct config_inject *c, uint32_t self, size_t n)
{
    size_t stragglers = n / 2, first = n - stragglers;

    if (c->delay != DELAY_FEDVS)
        return c->delay_s;
    if (self < first)
        return 0.1 * c->delay_s;
    return (2.0 + 4.0 * (double)(self - first + 1) / (double)n) * c->delay_s;
}

/* Shares of weights: fedvs has no others in its rounds. */
static bool is_model_share(const struct inject_message *m)
{
    return m->kind == WIRE_SHARE && aggregation_row(m->aggregation)->deals &&
           !purpose_of(m->purpose)->deals;
}

bool inject_hits(const struct config_inject *c, const struct inject_message *m)
{
    const bool upload = m->kind == WIRE_UPLOAD, share = m->kind == WIRE_SHARE;
    const bool shares_first = aggregation_row(m->aggregation)->shares;

    if (c->delay == DELAY_NONE)
        return false;
    switch (c->before) {
    case BEFORE_UPLOAD:
    case BEFORE_RESULT: return upload;
    case BEFORE_SHARE: return share && !is_model_share(m);
    case BEFORE_MODEL_SHARE: return is_model_share(m);
    case BEFORE_HELLO: return m->kind == WIRE_HELLO;
    case BEFORE_CONFIRM: return m->kind == WIRE_CONFIRM;
    case BEFORE_FIRST: return shares_first ? share && !purpose_of(m->purpose)->deals : upload;
    case BEFORE_ANY: return upload || share || m->kind == WIRE_HELLO || m->kind == WIRE_CONFIRM;
    }
    return false;
}

double inject_factor(const struct config_inject *c, const struct inject_message *m)
{
    const bool uploads = c->before == BEFORE_UPLOAD || c->before == BEFORE_RESULT;
    const double log_n = log((double)m->parties);

    if (c->delay == DELAY_FEDVS && uploads && is_model_share(m))
        return log_n * log_n / m->batch;
    return inject_hits(c, m) ? 1 : 0;
}

double inject_draw_s(const struct config_inject *c, double mean_s, struct rng *chance)
{
    return c->delay == DELAY_CONST ? mean_s : -mean_s * log(1.0 - rng_uniform(chance));
}

void inject_crash(const struct config_inject *c, enum wire_kind kind, uint64_t round)
{
    if (c->crash_at_round > 0 && kind == WIRE_UPLOAD && round >= c->crash_at_round)
        raise(SIGKILL);
}
