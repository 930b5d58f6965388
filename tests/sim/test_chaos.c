/* test_chaos.c -- whatever happens to connections, processes and disks, in whatever order: the run
 * ends, completed or in order, and the invariants of threats.md hold (oracle.h).
 *
 * Under straggler wait and with seeds a completed run has the models of an undisturbed one (I6),
 * and so has every sum on the way.  CHAOS_RUNS=n says how many schedules, CHAOS_SEED=n runs one
 * alone and shows it, CHAOS_FROM=n begins there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/clones.h"
#include "common/wire/purpose.h"
#include "tests/sim/chaos.h"

#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef WIDE_CLONES_OFF
enum { RUNS = 600 }; /* instrumented */
#else
enum { RUNS = 10000 };
#endif

enum { MODELS = CHAOS_PARTIES_MAX + 1 };

/* The undisturbed run of a variant. */
struct reference {
    bool made;
    struct chaos_calm calm;
    char model[MODELS][65]; /* the head first */
    struct score train, test;
    struct sim_step *step;
    size_t steps_n;
};

static struct reference references[CHAOS_VARIANTS];
static uint64_t running; /* the seed under way, for a death of this very process */

/* What came of them all. */
static struct {
    unsigned long resumed, same_model, same_steps, voids, generations, replayed;
    unsigned long by_class[4], failed_by_class[4];
} tally;

static bool well(enum wire_outcome o)
{
    return o == OUTCOME_COMPLETED || o == OUTCOME_TARGET;
}

/* --- references --- */

static void take_steps(struct reference *r, const struct sim *s)
{
    const struct sim_step *steps = sim_steps(s, &r->steps_n);

    r->step = malloc((r->steps_n + 1) * sizeof *r->step);
    assert_non_null(r->step);
    if (r->steps_n > 0)
        memcpy(r->step, steps, r->steps_n * sizeof *r->step);
}

static const struct reference *reference_of(const struct chaos *c)
{
    struct reference *r = &references[c->variant];
    uint32_t parties = c->options.parties;
    const char *broken;
    struct sim *s;

    if (r->made)
        return r;
    s = sim_new(&c->options);
    sim_run(s, 3600000000ull);
    broken = sim_broken(s);
    if (!well(sim_server_end(s)->outcome) || broken != NULL) {
        chaos_print(c);
        fail_msg("variant %u does not even run undisturbed: %s", c->variant,
                 broken != NULL ? broken : sim_server_end(s)->error.text);
    }
    r->made = true;
    r->calm.length_us = sim_now_us(s);
    for (int k = 0; k < WIRE_KINDS; k++) {
        r->calm.sent[CHAOS_PARTIES_MAX][k] = sim_sent(s, SIM_SERVER, (enum wire_kind)k);
        for (uint32_t i = 0; i < parties; i++)
            r->calm.sent[i][k] = sim_sent(s, (int)i, (enum wire_kind)k);
    }
    for (int who = SIM_SERVER; who < (int)parties; who++)
        sim_model(s, who, r->model[who + 1]);
    r->train = sim_server_report(s)->measured.scored.train;
    r->test = sim_server_report(s)->measured.scored.test;
    take_steps(r, s);
    sim_free(s);
    return r;
}

/* --- verdicts: NULL, or what is wrong --- */

static char verdict[1024];

PRINTF_LIKE(1, 2) static const char *wrong(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(verdict, sizeof verdict, fmt, args);
    va_end(args);
    return verdict;
}

/* Some process has died and had no disk. */
static bool forgets(const struct chaos *c)
{
    return c->deaths_n > 0 && (c->options.checkpoint_rounds == 0 || c->options.diskless != 0);
}

/* Whose fault an end may be said to be, given what was done. */
static bool kind_fits(const struct chaos *c, const struct sim_end *end)
{
    switch (status_kind(end->error.status)) {
    case STATUS_KIND_NET: return true;
    case STATUS_KIND_CONFIG: return c->class == CHAOS_BACK || forgets(c);
    case STATUS_KIND_LOCAL: return c->class == CHAOS_BACK;
    case STATUS_KIND_PEER:
        return c->class == CHAOS_REPEATS || strstr(end->error.text, "lost too often") != NULL;
    case STATUS_KIND_POLICY: return !c->wait && strstr(end->error.text, "min_parties") != NULL;
    case STATUS_KIND_NONE: break;
    }
    return false;
}

static const char *end_in_order(const struct chaos *c, const char *who, const struct sim_end *end)
{
    if (!end->over)
        return wrong("%s has not ended", who);
    if (well(end->outcome))
        return end->error.status == STATUS_OK ? NULL : wrong("%s ended well, with an error", who);
    if (end->outcome == OUTCOME_STOPPED && c->stopped != SIM_ANY && end->error.status == STATUS_OK)
        return NULL;
    if (end->outcome == OUTCOME_STOPPED)
        return wrong("%s was stopped by nobody", who);
    if (end->error.status == STATUS_OK || end->error.text[0] == 0)
        return wrong("%s failed without a cause", who);
    if (!kind_fits(c, end))
        return wrong("%s: not of a kind that was asked for: %s", who, end->error.text);
    return NULL;
}

/* Three losses without a whole round between them end a run, or shut a party out. */
static bool lost_too_often(const struct sim_end *end)
{
    return strstr(end->error.text, "lost 3 times in a row") != NULL ||
           strstr(end->error.text, "lost too often") != NULL;
}

static const char *ends(const struct chaos *c, const struct sim *s)
{
    const struct sim_end *server = sim_server_end(s);
    const char *why = end_in_order(c, "the server", server);
    bool forgetful = forgets(c);
    bool must = c->class == CHAOS_GENTLE && !forgetful && c->wait && c->stopped == SIM_ANY;
    char name[16];

    if (why == NULL && must && !well(server->outcome) && !lost_too_often(server))
        why = wrong("the server gave up a run that could go on: %s", server->error.text);
    for (uint32_t i = 0; i < c->options.parties && why == NULL; i++) {
        const struct sim_end *end = sim_party_end(s, i);
        snprintf(name, sizeof name, "p%u", i + 1);
        why = end_in_order(c, name, end);
        if (why == NULL && must && well(server->outcome) && !well(end->outcome))
            why = wrong("%s failed in a run that the server completed: %s", name, end->error.text);
    }
    return why;
}

/* I5: whatever was summed is what an undisturbed run summed. */
static const char *same_steps(const struct sim *s, const struct reference *r)
{
    size_t n;
    const struct sim_step *step = sim_steps(s, &n);

    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < r->steps_n && !found; k++)
            found = memcmp(&step[i], &r->step[k], sizeof step[i]) == 0;
        if (!found)
            return wrong("I5: record %zu (%s %llu, sweep %llu) is not of the undisturbed run", i,
                         purpose_of(step[i].purpose)->name, (unsigned long long)step[i].place,
                         (unsigned long long)step[i].sweep);
        tally.same_steps++;
    }
    return NULL;
}

static bool same_score(const struct score *a, const struct score *b)
{
    return a->value[SCORE_LOSS] == b->value[SCORE_LOSS] &&
           a->value[SCORE_ACCURACY] == b->value[SCORE_ACCURACY];
}

/* I6. */
static const char *same_models(const struct chaos *c, struct sim *s, const struct reference *r)
{
    const struct server_report *rep = sim_server_report(s);
    char model[65];

    for (int who = SIM_SERVER; who < (int)c->options.parties; who++) {
        const struct sim_end *end =
            who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);
        if (!well(end->outcome))
            continue;
        if (who != SIM_SERVER && !sim_party_report(s, (uint32_t)who)->progress.final)
            return wrong("I6: p%d completed without its final model", who + 1);
        sim_model(s, who, model);
        if (strcmp(model, r->model[who + 1]) != 0)
            return wrong("I6: another model at %d", who);
    }
    if (well(sim_server_end(s)->outcome) && !(same_score(&rep->measured.scored.train, &r->train) &&
                                              same_score(&rep->measured.scored.test, &r->test)))
        return wrong("I6: other scores");
    tally.same_model += well(sim_server_end(s)->outcome);
    return NULL;
}

static uint64_t bound_us(const struct chaos *c, const struct reference *r)
{
    uint64_t troubles = c->rules_n + c->breaks_n + 3;

    return 2 * r->calm.length_us + c->trouble_us + troubles * (2 * c->patience_us + 10000000) +
           2 * 120000000ull;
}

static const char *judge(const struct chaos *c, struct sim *s, const struct reference *r)
{
    const char *broken = sim_broken(s), *why;

    if (broken != NULL)
        return wrong("%s", broken);
    if (sim_unpack_failures(s) > 0)
        return wrong("a message could not be read");
    why = ends(c, s);
    if (why == NULL && c->wait && !c->options.unseeded)
        why = same_steps(s, r);
    if (why == NULL && c->wait && !c->options.unseeded)
        why = same_models(c, s, r);
    return why;
}

/* --- runs --- */

/* A run that failed in order, or was stopped, is gone on with by the same commands. */
static bool may_go_on(const struct chaos *c, const struct sim *s)
{
    for (uint32_t i = 0; i < c->options.parties; i++) {
        if (well(sim_party_end(s, i)->outcome))
            return false; /* it has its model, and is not there any more */
    }
    return c->options.checkpoint_rounds > 0 && c->options.diskless == 0 && c->class != CHAOS_BACK &&
           !well(sim_server_end(s)->outcome);
}

static const char *go_on(const struct chaos *c, struct sim *old, const struct reference *r,
                         bool show)
{
    struct sim *s = sim_resume(old);
    const char *why, *broken;

    sim_run(s, bound_us(c, r));
    tally.resumed++;
    broken = sim_broken(s);
    why = broken != NULL ? wrong("%s", broken) : NULL;
    if (show)
        fprintf(stderr, "once more:\n%s", sim_transcript(s));
    if (why == NULL && !well(sim_server_end(s)->outcome))
        why = wrong("once more: %s", sim_server_end(s)->error.text);
    for (uint32_t i = 0; i < c->options.parties && why == NULL; i++) {
        const struct sim_end *end = sim_party_end(s, i);
        /* Who was shut out before is so still, if the others suffice. */
        bool left = !c->wait && (status_kind(end->error.status) == STATUS_KIND_NET ||
                                 strstr(end->error.text, "lost too often") != NULL);
        if (!end->over || !(well(end->outcome) || left))
            why = wrong("once more: p%u: %s", i + 1, end->error.text);
    }
    if (why == NULL && c->wait && !c->options.unseeded)
        why = same_steps(s, r);
    if (why == NULL && c->wait && !c->options.unseeded)
        why = same_models(c, s, r);
    sim_free(s);
    return why;
}

static void count(const struct chaos *c, struct sim *s)
{
    const struct server_report *rep = sim_server_report(s);

    tally.by_class[c->class]++;
    tally.failed_by_class[c->class] += !well(sim_server_end(s)->outcome);
    tally.voids += rep->void_rounds;
    tally.generations += rep->presence.generation;
    tally.replayed += rep->degraded.replayed;
}

/* Returns whether all is well; `show`: with everything that was said. */
static bool run(uint64_t seed, bool show)
{
    struct chaos c;
    const struct reference *r;
    const char *why;
    struct sim *s;

    running = seed;
    chaos_variant(&c, chaos_variant_of(seed));
    r = reference_of(&c);
    chaos_trouble(&c, seed, &r->calm);
    c.options.quiet = !show;
    if (show)
        chaos_print(&c);
    s = sim_new(&c.options);
    chaos_arrange(&c, s);
    sim_run(s, bound_us(&c, r));
    why = judge(&c, s, r);
    count(&c, s);
    if (show)
        fprintf(stderr, "%s-- %.1f ms; server: %s %s\n", sim_transcript(s),
                (double)sim_now_us(s) / 1000, wire_outcome_name(sim_server_end(s)->outcome),
                sim_server_end(s)->error.text);
    for (uint32_t i = 0; i < c.options.parties && show; i++)
        fprintf(stderr, "-- p%u: %s %s\n", i + 1,
                sim_party_end(s, i)->over ? wire_outcome_name(sim_party_end(s, i)->outcome)
                                          : "not over",
                sim_party_end(s, i)->error.text);
    if (why == NULL && may_go_on(&c, s))
        why = go_on(&c, s, r, show);
    sim_free(s);
    if (why == NULL)
        return true;
    if (!show)
        chaos_print(&c);
    fprintf(stderr, "%s\nalone: CHAOS_SEED=%llu\n", why, (unsigned long long)seed);
    return false;
}

/* CHECK has failed somewhere below. */
static void aborted(int signal_number)
{
    char line[96];
    int n = snprintf(line, sizeof line, "aborted; alone: CHAOS_SEED=%llu\n",
                     (unsigned long long)running);

    (void)!write(STDERR_FILENO, line, (size_t)n);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void print_tally(void)
{
    for (int k = 0; k < 4; k++)
        print_message("%-8s %6lu schedules, of which %lu failed in order\n",
                      chaos_class_name((enum chaos_class)k), tally.by_class[k],
                      tally.failed_by_class[k]);
    print_message("%lu gone on with; %lu with the models of an undisturbed run, %lu sums compared\n"
                  "%lu generations, %lu void rounds, %lu gradients replayed\n",
                  tally.resumed, tally.same_model, tally.same_steps, tally.generations, tally.voids,
                  tally.replayed);
}

static void test_every_schedule_ends_and_every_invariant_holds(void **state)
{
    uint64_t runs = environment("CHAOS_RUNS", RUNS), from = environment("CHAOS_FROM", 1),
             most = environment("CHAOS_FAILURES", 5), failures = 0;

    (void)state;
    if (getenv("CHAOS_SEED") != NULL) {
        assert_true(run(environment("CHAOS_SEED", 0), true));
        return;
    }
    for (uint64_t seed = from; seed < from + runs && failures < most; seed++)
        failures += !run(seed, false);
    print_tally();
    assert_int_equal(failures, 0);
}

static int forget_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHAOS_VARIANTS; i++)
        free(references[i].step);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_schedule_ends_and_every_invariant_holds),
    };

    signal(SIGABRT, aborted);
    mallopt(M_MMAP_THRESHOLD, 64 << 20); /* worlds come and go: their memory stays */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    return cmocka_run_group_tests(tests, NULL, forget_references);
}
