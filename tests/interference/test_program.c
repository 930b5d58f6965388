/* test_program.c -- runs in which the program of one party's bottom works, and in which it crashes,
 * hangs or gives what is no embedding: what parties let out is the same, under a server that lies.
 *
 * The pairs are those of test_pairs, where they let the victim have such a bottom; the data of the
 * two runs differ as they do there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "tests/interference/hostile.h"
#include "tests/interference/pair.h"
#include "tests/interference/trace.h"
#include "party/core.h"
#include "tests/sim/fast_crypto.h"
#include "tests/unit/program/speaker.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { PAIRS = 240, HANGS_MS = 60, TIMEOUT_MS = 20000 };

/* The first questions of each kind behind the trial, and a later one. */
static const struct {
    enum speech_kind at;
    uint32_t nth;
} moments[] = {{SPEECH_FORWARD, 2}, {SPEECH_FORWARD, 4},  {SPEECH_STEP, 2},
               {SPEECH_STEP, 3},    {SPEECH_EVALUATE, 2}, {SPEECH_SAVE, 3}};
static const enum speaker_deed deeds[] = {SPEAKER_CRASHES, SPEAKER_SAYS_NAN, SPEAKER_LEAVES_OUT,
                                          SPEAKER_CANNOT,  SPEAKER_SHORT,    SPEAKER_MORE,
                                          SPEAKER_HANGS};
enum { MOMENTS = sizeof moments / sizeof *moments, DEEDS = sizeof deeds / sizeof *deeds };

struct run {
    struct trace trace;
    bool failed; /* the program did */
};

/* A bottom that has another one's place has to be one that the plan and the pair let it be. */
static bool may_be_programs(const struct pair *p, const struct sim_party *victim)
{
    const struct config_party *c = &victim->config;

    return c->train == TRAIN_RAW && c->degree == 0 && !p->options.embeds &&
           !(p->plan.protocol.proximal > 0) && p->plan.training.releases != RELEASES_ONCE;
}

/* False: the pair has no room for a program. */
static bool play(struct run *r, const struct pair *p, int side, struct speaker *speaker)
{
    const struct program_starter starter = speaker_starter(speaker);
    struct program *program = NULL;
    struct sim_party *victim;
    struct error err = {0};
    struct sim *s;
    bool may;

    fast_crypto_place(p->seed);
    hostile_begin(p);
    s = sim_new(&p->options);
    pair_arrange(p, s, side);
    victim = &s->party[p->victim];
    may = may_be_programs(p, victim);
    if (may) {
        CHECK(program_new_with(&program, PROGRAM_BOTTOM, &starter,
                               speaker->deed == SPEAKER_HANGS ? HANGS_MS : TIMEOUT_MS,
                               &err) == STATUS_OK);
        victim->config.program.command.n = 1;
        victim->config.layers = (struct config_layers){0};
        victim->config.dropout = 0;
        victim->program = program;
        victim->session->setup.start.program = program;
        trace_begin(&r->trace, s);
        sim_run(s, HOUR_US);
        assert_null(sim_broken(s));
        r->failed = program_failed(program) != NULL;
    }
    sim_free(s);
    program_free(program);
    return may;
}

/* Whether they differ, and where; SIZE_MAX: nowhere. */
static size_t play_both(struct run run[2], const struct pair *p, struct speaker script, bool *may)
{
    struct speaker well = {.deed = SPEAKER_WELL};

    *may = play(&run[0], p, 0, &well) && play(&run[1], p, 1, &script);
    return *may ? trace_differ(&run[0].trace, &run[1].trace) : SIZE_MAX;
}

static void show(struct run run[2], const struct pair *p, const struct speaker *s, size_t at)
{
    fprintf(stderr, "the program does %d at question %u of kind %s\n", (int)s->deed, s->nth,
            speech_name(s->at));
    pair_print(p, stderr);
    for (size_t k = 0; k < 2; k++) {
        fprintf(stderr, "  run %c\n", (int)('A' + k));
        trace_print(&run[k].trace, at > 4 ? at - 4 : 0, at + 4, stderr);
    }
}

static void test_that_a_program_has_failed_shows_nowhere(void **state)
{
    static struct run run[2];
    static struct pair p;
    size_t played = 0, failed = 0, released = 0;

    (void)state;
    trace_init(&run[0].trace);
    trace_init(&run[1].trace);
    for (uint64_t seed = 1; played < PAIRS; seed++) {
        const struct speaker script = {.deed = deeds[seed / MOMENTS % DEEDS],
                                       .at = moments[seed % MOMENTS].at,
                                       .nth = moments[seed % MOMENTS].nth};
        size_t at;
        bool may;

        pair_draw(&p, seed, PAIR_TRAINS);
        if (!speaker_can(script.deed, script.at))
            continue;
        at = play_both(run, &p, script, &may);
        if (!may)
            continue;
        if (at != SIZE_MAX)
            show(run, &p, &script, at);
        assert_true(at == SIZE_MAX);
        played++;
        /* Values that no float holds make it fail by itself; and some runs end before the moment
         * comes. */
        failed += run[1].failed && !run[0].failed;
        released += run[1].failed && !run[0].failed && run[1].trace.released;
    }
    printf("%zu pairs; in %zu the program failed in one run only, in %zu of these something was "
           "released\n",
           played, failed, released);
    assert_true(failed > PAIRS / 5 && released > PAIRS / 6);
    trace_deinit(&run[0].trace);
    trace_deinit(&run[1].trace);
}

/* What fails with zeros fails before anything is said: that the test sees. */
static void test_a_program_that_is_wrong_from_the_beginning_is_gone(void **state)
{
    static struct run run[2];
    static struct pair p;
    const struct speaker script = {.deed = SPEAKER_CRASHES, .at = SPEECH_FORWARD, .nth = 1};
    bool may = false;
    size_t differ = 0;

    (void)state;
    trace_init(&run[0].trace);
    trace_init(&run[1].trace);
    for (uint64_t seed = 1; seed < 40; seed++) {
        pair_draw(&p, seed, PAIR_TRAINS);
        differ += play_both(run, &p, script, &may) != SIZE_MAX;
    }
    assert_true(differ > 0);
    trace_deinit(&run[0].trace);
    trace_deinit(&run[1].trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_that_a_program_has_failed_shows_nowhere),
        cmocka_unit_test(test_a_program_that_is_wrong_from_the_beginning_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
