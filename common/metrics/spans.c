/* spans.c -- accumulated time.
 *
 * A clock that seems to run backwards (two threads read it) counts as standing still.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/spans.h"

#include "common/base/check.h"

static uint64_t since(uint64_t began_us, uint64_t now_us)
{
    return now_us > began_us ? now_us - began_us : 0;
}

void spans_add(struct spans *s, enum span which, uint64_t us)
{
    CHECK(which < SPANS);
    s->us[which] += us;
}

void spans_phase(struct spans *s, enum traffic_phase phase, uint64_t now_us)
{
    CHECK(phase < TRAFFIC_PHASES);
    spans_stop(s, now_us);
    s->phase = phase;
    s->phase_began_us = now_us;
    s->running = true;
}

void spans_stop(struct spans *s, uint64_t now_us)
{
    if (s->running)
        s->phase_us[s->phase] += since(s->phase_began_us, now_us);
    s->running = false;
}

double spans_s(const struct spans *s, enum span which)
{
    CHECK(which < SPANS);
    return (double)s->us[which] / 1e6;
}

double spans_phase_s(const struct spans *s, enum traffic_phase phase)
{
    CHECK(phase < TRAFFIC_PHASES);
    return (double)s->phase_us[phase] / 1e6;
}

const char *spans_name(enum span which)
{
    static const char *const names[SPANS] = {
#define X(NAME, name) #name,
        SPAN_LIST(X)
#undef X
    };

    CHECK(which < SPANS);
    return names[which];
}
