/* test_during.c -- a connection that is lost, an order to stop and a timer that runs out in the
 * middle of each kind of work, as transcripts.
 *
 * Whoever is at work hears nothing until it has ended; then losses, then the stop, then the timer.
 * What the others do meanwhile is in the lines between.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, SETS = 4, DEEDS = 3, BEHIND = 3 };

/* --- runs --- */

struct run {
    const char *sets[SETS], *party_sets[SETS];
    uint32_t parties;   /* 0: PARTIES */
    uint32_t every;     /* steps from checkpoint to checkpoint; 0: none */
    uint32_t dies_late; /* p2, before its upload of this number: it then has steps to catch up */
};

static const struct run masked = {.sets = {"training.epochs=2"}};
static const struct run kept = {.sets = {"training.epochs=2"}, .every = 2};
static const struct run behind = {.sets = {"training.epochs=2"}, .every = 2, .dies_late = 4};
static const struct run far = {.sets = {"training.epochs=4"}, .every = 6, .dies_late = 5};
static const struct run coded = {.sets = {"protocol.aggregation=coded", "training.epochs=2"}};
static const struct run async = {.sets = {"protocol.aggregation=clear", "protocol.straggler=async",
                                          "protocol.encoding=float32", "training.epochs=2"},
                                 .party_sets = {"policy.max_learning_rate=1"}};
static const struct run once = {.sets = {"training.releases=once", "training.epochs=3"},
                                .party_sets = {"model.train=frozen"}};
static const struct run fedvs = {.sets = {"protocol.aggregation=fedvs"},
                                 .parties = 5,
                                 .party_sets = {"model.layers=[]", "model.polynomial.degree=1"}};

static struct sim *begin(const struct run *r)
{
    struct sim_options o = {.parties = r->parties > 0 ? r->parties : PARTIES,
                            .checkpoint_rounds = r->every};
    size_t n = 0;
    struct sim *s;

    for (; n < SETS && r->sets[n] != NULL; n++)
        o.sets[n] = r->sets[n];
    o.sets[n] = "protocol.patience_ms=2000";
    memcpy(o.party_sets, r->party_sets, sizeof r->party_sets);
    s = sim_new(&o);
    if (r->dies_late > 0)
        sim_rule(s, (struct sim_rule){
                        .act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = r->dies_late});
    return s;
}

/* --- what is seen --- */

struct seen {
    enum wire_outcome server, party; /* how these end */
    /* From where the work begins until three lines after its end. */
    const char *lines;
};

/* Of shares to a sum, and to a product. */
#define SHARES_TO_A_SUM                                                                            \
    {                                                                                              \
        {OUTCOME_COMPLETED, OUTCOME_COMPLETED,                                                     \
         "-- working server\n-- lost p2\n-- worked server\n"                                       \
         "server: broadcast close 0 open train 1\np1: share\np3: share\n"},                        \
            {OUTCOME_STOPPED, OUTCOME_STOPPED,                                                     \
             "-- working server\n-- stop server\n-- worked server\n"                               \
             "server: broadcast close 0 open train 1\nserver: finish stopped\n"                    \
             "p1: share\n"},                                                                       \
            {OUTCOME_COMPLETED, OUTCOME_COMPLETED,                                                 \
             "-- working server\n-- no timer server\n-- worked server\n"                           \
             "server: broadcast close 0 open train 1\np1: share\np2: share\n"},                    \
    }

static const struct {
    const char *what;
    const struct run *run;
    int who;
    enum action_kind work;
    enum phase phase;
    uint32_t nth;
    struct seen seen[DEEDS]; /* by enum sim_deed */
} works[] = {
    {"the sum of a masked round",
     &masked,
     SIM_SERVER,
     ACTION_WORK,
     PHASE_ROUND,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working server\n-- lost p2\n-- worked server\n"
          "server: broadcast close 0 open train 1\np1: upload\np3: upload\n"},
         {OUTCOME_STOPPED, OUTCOME_STOPPED,
          "-- working server\n-- stop server\n-- worked server\n"
          "server: broadcast close 0 open train 1\nserver: finish stopped\n"
          "p1: upload\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working server\n-- no timer server\n-- worked server\n"
          "server: broadcast close 0 open train 1\np1: upload\np2: upload\n"},
     }},
    {"shares to a sum", &coded, SIM_SERVER, ACTION_WORK, PHASE_SUM, 1, SHARES_TO_A_SUM},
    {"a product of shares", &fedvs, SIM_SERVER, ACTION_WORK, PHASE_SUM, 1, SHARES_TO_A_SUM},
    {"one arrival under async",
     &async,
     SIM_SERVER,
     ACTION_WORK,
     PHASE_STREAM,
     2,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working server\np1: upload\n-- lost p2\n-- worked server\n"
          "server: broadcast close 0 open train 1 -> p2\n"
          "server: broadcast close 0 open train 1 -> p3\n"
          "server: broadcast close 1 open train 2 -> p1\n"},
         {OUTCOME_STOPPED, OUTCOME_STOPPED,
          "-- working server\np1: upload\n-- stop server\n-- worked server\n"
          "server: broadcast close 0 open train 1 -> p2\n"
          "server: finish stopped\np2: upload\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working server\np1: upload\n-- no timer server\n"
          "-- worked server\nserver: broadcast close 0 open train 1 -> p2\n"
          "server: broadcast close 0 open train 1 -> p3\n"
          "server: broadcast close 1 open train 2 -> p1\n"},
     }},
    {"the head on stored sums, alone",
     &once,
     SIM_SERVER,
     ACTION_WORK,
     PHASE_OVER,
     2,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED, "-- working server\n-- worked server\n"},
         {OUTCOME_STOPPED, OUTCOME_COMPLETED,
          "-- working server\n-- stop server\n-- worked server\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working server\n-- no timer server\n-- worked server\n"},
     }},
    {"steps out of the journal",
     &far,
     SIM_SERVER,
     ACTION_RECALL,
     PHASE_AGREE,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- recalling server\n-- lost p2\n-- recalled server\n"
          "server: replay -> p2\np2: join\nserver: offer 3\n"},
         {OUTCOME_STOPPED, OUTCOME_STOPPED,
          "-- recalling server\n-- stop server\n-- recalled server\n"
          "server: replay -> p2\nserver: finish stopped\np2: behind\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- recalling server\n-- timer server\n-- recalled server\n"
          "server: replay -> p2\np2: behind\nserver: replay -> p2\n"},
     }},
    {"a checkpoint of the server",
     &kept,
     SIM_SERVER,
     ACTION_KEEP,
     PHASE_ROUND,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- keeping server\n"
          "server: broadcast close 1 open evaluate test 0\np1: upload\n"
          "p2: upload\np3: upload\n-- lost p2\n-- kept server\np1: kept\n"
          "p3: kept\np2: join\n"},
         {OUTCOME_STOPPED, OUTCOME_STOPPED,
          "-- keeping server\n"
          "server: broadcast close 1 open evaluate test 0\np1: upload\n"
          "p2: upload\np3: upload\n-- stop server\nserver: finish stopped\n"
          "-- kept server\n"},
         {OUTCOME_FAILED, OUTCOME_FAILED,
          "-- keeping server\n"
          "server: broadcast close 1 open evaluate test 0\np1: upload\n"
          "p2: upload\np3: upload\n-- timer server\nserver: finish failed\n"
          "-- kept server\n"},
     }},
    {"a gradient in, embeddings out",
     &masked,
     1,
     ACTION_WORK,
     PHASE_ROUND,
     2,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: upload\n-- lost p2\n-- worked p2\np2: upload\n"
          "p2: join\nserver: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- working p2\np3: upload\n-- stop p2\n-- worked p2\np2: upload\n"
          "server: broadcast close 1 open evaluate test 0\np1: upload\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: upload\n-- timer p2\n-- worked p2\np2: upload\n"
          "server: broadcast close 1 open evaluate test 0\np1: upload\n"},
     }},
    {"a charge",
     &masked,
     1,
     ACTION_CHARGE,
     PHASE_ROUND,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- charging p2\np3: upload\n-- lost p2\n-- charged p2\n"
          "p2: upload\np2: join\nserver: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- charging p2\np3: upload\n-- stop p2\n-- charged p2\n"
          "p2: upload\nserver: broadcast close 0 open train 1\np1: upload\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- charging p2\np3: upload\n-- timer p2\n-- charged p2\n"
          "p2: upload\nserver: broadcast close 0 open train 1\np1: upload\n"},
     }},
    {"shares out",
     &coded,
     1,
     ACTION_WORK,
     PHASE_SHARE,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: share\n-- lost p2\n-- worked p2\np2: share\n"
          "p2: join\nserver: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- working p2\np3: share\n-- stop p2\n-- worked p2\np2: share\n"
          "server: relay -> p1\nserver: relay -> p2\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: share\n-- timer p2\n-- worked p2\np2: share\n"
          "server: relay -> p1\nserver: relay -> p2\n"},
     }},
    {"others' shares in",
     &coded,
     1,
     ACTION_WORK,
     PHASE_SUM,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: upload\n"
          "server: broadcast close 0 open train 1\n-- lost p2\np1: share\n"
          "p3: share\n-- worked p2\np2: upload\np2: join\nserver: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- working p2\np3: upload\n"
          "server: broadcast close 0 open train 1\n-- stop p2\np1: share\n"
          "p3: share\n-- worked p2\np2: upload\n"
          "server: finish failed -> p1 p3\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: upload\n"
          "server: broadcast close 0 open train 1\n-- timer p2\np1: share\n"
          "p3: share\n-- worked p2\np2: upload\np2: share\n"
          "server: relay -> p1\n"},
     }},
    {"shares of the data",
     &fedvs,
     1,
     ACTION_WORK,
     PHASE_SHARE,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: share\np4: share\np5: share\n-- lost p2\n"
          "-- worked p2\np2: share\np2: join\nserver: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- working p2\np3: share\np4: share\np5: share\n-- stop p2\n"
          "-- worked p2\np2: share\nserver: relay -> p1\n"
          "server: relay -> p2\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\np3: share\np4: share\np5: share\n-- timer p2\n"
          "-- worked p2\np2: share\nserver: relay -> p1\n"
          "server: relay -> p2\n"},
     }},
    {"steps that were missed",
     &behind,
     1,
     ACTION_WORK,
     PHASE_AGREE,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\n-- lost p2\n-- worked p2\np2: hello\np2: join\n"
          "server: offer 3\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- working p2\n-- stop p2\n-- worked p2\n"
          "server: finish failed -> p1 p3\n"},
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- working p2\n-- timer p2\n-- worked p2\np2: hello\n"
          "server: hellos\np1: confirm\n"},
     }},
    {"a checkpoint of the party",
     &kept,
     1,
     ACTION_KEEP,
     PHASE_ROUND,
     1,
     {
         {OUTCOME_COMPLETED, OUTCOME_COMPLETED,
          "-- keeping p2\np2: upload\np3: upload\n"
          "server: broadcast open train 2\n-- lost p2\np1: upload\n"
          "p3: upload\np1: kept\n-- kept p2\np3: kept\np2: join\n"
          "server: offer 2\n"},
         {OUTCOME_FAILED, OUTCOME_STOPPED,
          "-- keeping p2\np2: upload\np3: upload\n"
          "server: broadcast open train 2\n-- stop p2\np1: upload\n"
          "p3: upload\np1: kept\n-- kept p2\np3: kept\n"
          "server: finish failed -> p1 p3\n"},
         {OUTCOME_FAILED, OUTCOME_FAILED,
          "-- keeping p2\np2: upload\np3: upload\n"
          "server: broadcast open train 2\n-- timer p2\np1: upload\n"
          "p3: upload\np1: kept\n-- kept p2\np3: kept\n"
          "server: finish failed -> p1 p3\n"},
     }},
};
enum { WORKS = sizeof works / sizeof *works };

/* The lines of the work and of what comes right behind it. */
static void lines_of(const struct sim *s, char *out, size_t max)
{
    static const char *const begins[] = {"-- working ", "-- charging ", "-- recalling ",
                                         "-- keeping "},
                             *const ends[] = {"-- worked ", "-- charged ", "-- recalled ",
                                              "-- kept "};
    const char *at = NULL, *end = NULL, *next;
    size_t n = 0;

    for (size_t i = 0; at == NULL && i < sizeof begins / sizeof *begins; i++) {
        at = strstr(sim_transcript(s), begins[i]);
        end = at == NULL ? NULL : strstr(at, ends[i]);
    }
    assert_non_null(end);
    for (int after = -1; after < BEHIND && (next = strchr(at, '\n')) != NULL; at = next + 1) {
        assert_true(n + (size_t)(next + 1 - at) < max);
        memcpy(out + n, at, (size_t)(next + 1 - at));
        n += (size_t)(next + 1 - at);
        after += at >= end;
    }
    out[n] = 0;
}

static struct sim *disturbed(size_t which, int deed)
{
    struct sim *s = begin(works[which].run);

    sim_during(s, (struct sim_during){.who = works[which].who,
                                      .work = works[which].work,
                                      .phase = works[which].phase,
                                      .nth = works[which].nth,
                                      .deed = deed,
                                      .party = 1});
    sim_run(s, HOUR_US);
    return s;
}

static void same_models(const struct sim *s, const struct sim *calm)
{
    for (int who = SIM_SERVER; who < (int)s->options.parties; who++) {
        char got[65], want[65];

        sim_model(s, who, got);
        sim_model(calm, who, want);
        assert_string_equal(got, want);
    }
}

static void test_each_event_during_each_kind_of_work_is_this_transcript(void **state)
{
    char got[1024];

    (void)state;
    for (size_t i = 0; i < WORKS; i++) {
        struct sim *calm = begin(works[i].run);

        sim_run(calm, HOUR_US);
        expect_completed(calm);
        for (int deed = 0; deed < DEEDS; deed++) {
            const struct seen *want = &works[i].seen[deed];
            struct sim *s = disturbed(i, deed);

            lines_of(s, got, sizeof got);
            if (strcmp(got, want->lines) != 0)
                print_error("%s, deed %d:\n%s\n", works[i].what, deed, got);
            assert_string_equal(got, want->lines);
            assert_int_equal(sim_server_end(s)->outcome, want->server);
            assert_int_equal(sim_party_end(s, 1)->outcome, want->party);
            /* Under async it is the moment of an arrival that counts. */
            if (want->server == OUTCOME_COMPLETED && works[i].run != &async)
                same_models(s, calm);
            assert_null(sim_broken(s));
            sim_free(s);
        }
        sim_free(calm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_event_during_each_kind_of_work_is_this_transcript),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
