/* inject.c -- delays and crashes on purpose.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/inject.h"

#include <math.h>
#include <signal.h>

double inject_delay_s(const struct config_inject *c, enum wire_kind kind, struct rng *chance)
{
    bool hit = c->before == BEFORE_ANY || (c->before == BEFORE_UPLOAD && kind == WIRE_UPLOAD) ||
               (c->before == BEFORE_HELLO && kind == WIRE_HELLO) ||
               (c->before == BEFORE_CONFIRM && kind == WIRE_CONFIRM);

    if (!hit || c->delay == DELAY_NONE)
        return 0;
    return c->delay == DELAY_CONST ? c->delay_s : -c->delay_s * log(1.0 - rng_uniform(chance));
}

void inject_crash(const struct config_inject *c, enum wire_kind kind, uint64_t round)
{
    if (c->crash_at_round > 0 && kind == WIRE_UPLOAD && round >= c->crash_at_round)
        raise(SIGKILL);
}
