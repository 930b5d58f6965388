/* played.c -- what played.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/played.h"

#include "party/core.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct played_run played_runs[RUNS] = {
    {.sets = {"training.epochs=2", "training.seed=11"}},
    {.sets = {"training.epochs=2", "training.seed=12", "protocol.aggregation=coded"}},
    {.sets = {"training.epochs=1", "training.seed=13", "training.learning_rate=0.5",
              "training.evaluate_every=0"}},
    [DROPS] = {.sets = {"training.epochs=3", "training.seed=14", "protocol.straggler=drop",
                        "protocol.deadline_ms=200"}},
};

const struct standing_job played_probe = {.kind = STANDING_PROBE, .numbers = "5"},
                          played_refused = {.kind = STANDING_PROBE, .numbers = "0"};

static struct sim_options options_of(const struct played_run *r)
{
    struct sim_options o = {
        .parties = PARTIES, .train_rows = 12, .checkpoint_rounds = 1, .quiet = true};

    memcpy(o.sets, r->sets, sizeof r->sets);
    return o;
}

void played_models(struct sim *s, char out[MODELS][65])
{
    memset(out, 0, MODELS * 65);
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (who == SIM_SERVER ? sim_server_report(s)->steps > 0
                              : sim_party_report(s, (uint32_t)who)->planned)
            sim_model(s, who, out[who + 1]);
    }
}

int played_alone(void **state)
{
    (void)state;
    sim_keep_pages();
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o = options_of(&played_runs[i]);
        struct sim *s = sim_new(&o);

        played_runs[i].job = (struct standing_job){.kind = STANDING_TRAIN, .plan = s->plan};
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        played_models(s, played_runs[i].model);
        played_runs[i].length_us = sim_now_us(s);
        sim_free(s);
    }
    return 0;
}

struct sim *played_federation(uint64_t seed)
{
    struct sim_options o = options_of(&played_runs[0]);

    o.stands = true;
    o.predicted = PREDICTED;
    o.jitter_us = seed == 0 ? 0 : 900;
    o.work_us = seed == 0 ? 0 : 700;
    o.jitter_seed = seed;
    return sim_new(&o);
}

const struct sim_end *played_end_of(const struct sim *s, int who)
{
    return who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);
}

void played_start_stopped(struct sim *s)
{
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (played_end_of(s, who)->over)
            standing_start(s, who);
    }
}

void played_job(struct sim *s, const struct standing_job *job)
{
    standing_play(s, job);
    sim_run(s, 300000);
    played_start_stopped(s);
    sim_run(s, 2 * HOUR_US);
    assert_false(standing_plays(s));
}

void played_expect_idle(struct sim *s)
{
    assert_int_equal(sim_server_report(s)->presence.phase, PHASE_GATHER);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_report(s, i)->phase, PHASE_GATHER);
        assert_true(s->party[i].session->ended);
        assert_false(sim_party_end(s, i)->over);
    }
}

void played_expect_models(struct sim *s, const struct played_run *r)
{
    char got[MODELS][65];

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    played_models(s, got);
    for (int m = 0; m < MODELS; m++) {
        if (got[m][0] != 0)
            assert_string_equal(got[m], r->model[m]);
    }
}

void played_leave(struct sim *s)
{
    const char *broken = sim_broken(s);

    if (broken != NULL)
        fail_msg("%s", broken);
    sim_free(s);
}
