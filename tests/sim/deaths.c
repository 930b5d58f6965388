/* deaths.c -- one death a run, at every place.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/deaths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HOUR_US 3600000000ull

struct deaths_models deaths_models(struct sim *s, uint32_t parties, const char *when)
{
    const char *broken = sim_broken(s);
    struct deaths_models m;

    memset(&m, 0, sizeof m);
    if (broken != NULL)
        fail_msg("%s: %s", when, broken);
    for (int who = SIM_SERVER; who < (int)parties; who++) {
        const struct sim_end *end =
            who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);

        if (!end->over || end->outcome != OUTCOME_COMPLETED)
            fail_msg("%s: %d: %s", when, who, end->over ? end->error.text : "has not ended");
        sim_model(s, who, m.of[who + 1]);
    }
    return m;
}

struct deaths_calm deaths_calm(const struct sim_options *o)
{
    struct sim *s = sim_new(o);
    struct deaths_calm c;

    memset(&c, 0, sizeof c);
    sim_run(s, HOUR_US);
    c.models = deaths_models(s, o->parties, "undisturbed");
    c.length_us = sim_now_us(s);
    for (int who = SIM_SERVER; who < (int)o->parties; who++)
        for (int k = 0; k < WIRE_KINDS; k++)
            c.sent[who + 1][k] = sim_sent(s, who, (enum wire_kind)k);
    sim_free(s);
    return c;
}

/* `who` dies in place of its n-th message of this kind. */
static struct deaths_models after_a_death(const struct sim_options *o, int who, enum wire_kind kind,
                                          uint32_t n)
{
    struct sim *s = sim_new(o);
    struct deaths_models m;
    char when[64];

    snprintf(when, sizeof when, "%d dies at its %s %u", who, wire_kind_name(kind), n);
    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = who,
                                  .party = SIM_ANY,
                                  .kind = kind,
                                  .nth = n,
                                  .how = {.down_us = 700}});
    sim_run(s, HOUR_US);
    m = deaths_models(s, o->parties, when);
    sim_free(s);
    return m;
}

void deaths_at_every_message(const struct sim_options *o, const char *words)
{
    const struct deaths_calm want = deaths_calm(o);

    for (int who = SIM_SERVER; who < (int)o->parties; who++) {
        for (int k = 1; k < WIRE_KINDS; k++) {
            for (uint32_t n = 1; n <= want.sent[who + 1][k]; n++) {
                struct deaths_models got = after_a_death(o, who, (enum wire_kind)k, n);

                if (!o->unseeded && memcmp(&want.models, &got, sizeof got) != 0)
                    fail_msg("%s: another model: %d died at its %s %u", words, who,
                             wire_kind_name((enum wire_kind)k), n);
            }
        }
    }
}

void deaths_whenever(const struct sim_options *o, const char *words)
{
    const struct deaths_calm want = deaths_calm(o);

    for (int who = SIM_SERVER; who < 1; who++) {
        for (uint64_t us = 500; us < want.length_us + 2000; us += 500) {
            struct sim *s = sim_new(o);
            struct deaths_models got;
            char when[48];

            snprintf(when, sizeof when, "%d dies at %llu us", who, (unsigned long long)us);
            sim_kill_at(s, who, us);
            sim_run(s, HOUR_US);
            got = deaths_models(s, o->parties, when);
            if (memcmp(&want.models, &got, sizeof got) != 0)
                fail_msg("%s: another model: %s", words, when);
            sim_free(s);
        }
    }
}
