/* inject.c -- delays and crashes on purpose.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/inject.h"

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

bool inject_hits(const struct config_inject *c, enum wire_kind kind, bool shares)
{
    if (c->delay == DELAY_NONE)
        return false;
    switch (c->before) {
    case BEFORE_UPLOAD: return kind == WIRE_UPLOAD;
    case BEFORE_SHARE: return kind == WIRE_SHARE;
    case BEFORE_HELLO: return kind == WIRE_HELLO;
    case BEFORE_CONFIRM: return kind == WIRE_CONFIRM;
    case BEFORE_FIRST: return kind == (shares ? WIRE_SHARE : WIRE_UPLOAD);
    case BEFORE_ANY:
        return kind == WIRE_UPLOAD || kind == WIRE_SHARE || kind == WIRE_HELLO ||
               kind == WIRE_CONFIRM;
    }
    return false;
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
