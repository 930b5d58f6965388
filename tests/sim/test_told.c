/* test_told.c -- what --transcript is told: every ask, every upload that the server can read, every
 * sum, and what is sent again, each under its own round.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"

#include "common/data/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, ROWS = 12, WIDTH = 2, ASKS_MAX = 400, AGAIN_MAX = 16, EVERYBODY = -1 };

struct ask {
    uint64_t round, place;
    enum wire_purpose purpose;
    int party;
    uint32_t rows, row[ROWS];
    unsigned uploads[PARTIES], late[PARTIES], sums;
    float added[ROWS * WIDTH], sum[ROWS * WIDTH]; /* of the uploads that were in time */
};

struct told {
    struct ask ask[ASKS_MAX];
    size_t asks, full; /* full: of this many lines the next one does not fit; 0: never */
    struct transcript_again again[AGAIN_MAX];
    size_t agains, lines;
    unsigned arrivals[PARTIES], ends;
    struct transcript_end end;
};

static enum status line(struct told *t, struct error *err)
{
    return ++t->lines == t->full ? error_set(err, STATUS_IO, "no room for line %zu", t->lines)
                                 : STATUS_OK;
}

/* The last ask of that round. */
static struct ask *ask_of(struct told *t, uint64_t round)
{
    for (size_t i = t->asks; i-- > 0;) {
        if (t->ask[i].round == round)
            return &t->ask[i];
    }
    fail_msg("round %llu was never asked for", (unsigned long long)round);
    return NULL;
}

static enum status on_ask(void *owner, const struct transcript_ask *a, struct error *err)
{
    struct told *t = owner;
    struct ask *to = &t->ask[t->asks++];

    assert_true(t->asks < ASKS_MAX && a->rows <= ROWS);
    *to = (struct ask){.round = a->round,
                       .place = a->place,
                       .purpose = a->purpose,
                       .party = a->party,
                       .rows = a->rows};
    for (uint32_t i = 0; i < a->rows; i++)
        to->row[i] = a->row != NULL ? a->row[i] : (uint32_t)a->place + i;
    return line(t, err);
}

static enum status on_upload(void *owner, const struct transcript_upload *u, struct error *err)
{
    struct ask *a = ask_of(owner, u->round);

    assert_true(a->party == EVERYBODY || a->party == (int)u->party);
    assert_int_equal(u->n, a->rows * WIDTH);
    a->uploads[u->party]++;
    a->late[u->party] += u->late;
    for (size_t i = 0; i < u->n && !u->late; i++)
        a->added[i] += u->values[i];
    return line(owner, err);
}

static enum status on_sum(void *owner, const struct transcript_sum *m, struct error *err)
{
    struct ask *a = ask_of(owner, m->round);

    assert_int_equal(m->sum_n, a->rows * WIDTH);
    assert_int_equal(m->gradient_n, a->purpose == PURPOSE_TRAIN ? a->rows * WIDTH : 0);
    memcpy(a->sum, m->sum, m->sum_n * sizeof *m->sum);
    a->sums++;
    return line(owner, err);
}

static enum status on_again(void *owner, const struct transcript_again *g, struct error *err)
{
    struct told *t = owner;

    assert_true(t->agains < AGAIN_MAX);
    t->again[t->agains++] = *g;
    return line(t, err);
}

static enum status on_arrival(void *owner, const struct transcript_arrival *r, struct error *err)
{
    struct told *t = owner;

    assert_true(r->bytes > 0);
    t->arrivals[r->party]++;
    return line(t, err);
}

/* Told when all is over, so nothing can end because of it. */
static enum status on_end(void *owner, const struct transcript_end *e, struct error *err)
{
    struct told *t = owner;

    (void)err;
    t->ends++;
    t->end = *e;
    return STATUS_OK;
}

static struct sim_options three(struct told *t)
{
    return (struct sim_options){
        .parties = PARTIES,
        .train_rows = ROWS,
        .reconnect_us = 1000,
        .told = {t, on_ask, on_upload, on_sum, on_again, on_arrival, on_end},
        .sets = {"protocol.aggregation=clear", "protocol.straggler=wait",
                 "protocol.encoding=float32", "training.epochs=2", "model.embedding=2",
                 "protocol.patience_ms=5000", "protocol.deadline_ms=100", "training.batch=3"},
        .party_sets = {"model.layers=[]"}};
}

enum { AGGREGATION, STRAGGLER, ENCODING };

static void delay(struct sim *s, int party, uint32_t nth, uint64_t us)
{
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = party, .kind = WIRE_UPLOAD, .nth = nth, .us = us});
}

static struct told *told_new(void)
{
    struct told *t = calloc(1, sizeof *t);

    assert_non_null(t);
    return t;
}

static bool sums_are_of_the_uploads(const struct ask *a)
{
    for (size_t i = 0; i < a->rows * WIDTH; i++) {
        if (a->sum[i] - a->added[i] > 1e-5F || a->added[i] - a->sum[i] > 1e-5F)
            return false;
    }
    return true;
}

/* Of a run without trouble. */
static void expect_arrivals_and_end(const struct told *t)
{
    for (int m = 0; m < PARTIES; m++)
        assert_int_equal(t->arrivals[m], t->asks);
    assert_int_equal(t->ends, 1);
    assert_int_equal(t->end.outcome, OUTCOME_COMPLETED);
    assert_int_equal(t->end.exit_code, 0);
}

static void test_each_round_is_asked_for_once_and_summed_from_its_uploads(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_true(t->asks > sim_server_report(s)->rounds); /* evaluations too */
    for (size_t i = 0; i < t->asks; i++) {
        const struct ask *a = &t->ask[i];

        assert_int_equal(a->round, i + 1);
        assert_int_equal(a->party, EVERYBODY);
        assert_int_equal(a->sums, 1);
        for (int m = 0; m < PARTIES; m++)
            assert_true(a->uploads[m] == 1 && a->late[m] == 0);
        assert_true(sums_are_of_the_uploads(a));
    }
    expect_arrivals_and_end(t);
    sim_free(s);
    free(t);
}

static void test_under_masks_no_upload_is_told(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    struct sim *s;

    (void)state;
    o.sets[AGGREGATION] = "protocol.aggregation=masked";
    o.sets[ENCODING] = "protocol.encoding=pbm";
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (size_t i = 0; i < t->asks; i++) {
        assert_int_equal(t->ask[i].sums, 1);
        for (int m = 0; m < PARTIES; m++)
            assert_int_equal(t->ask[i].uploads[m], 0);
    }
    expect_arrivals_and_end(t);
    sim_free(s);
    free(t);
}

/* The one who is slow is asked for few steps, each under a round and a place of its own. */
static void test_async_asks_name_the_party_its_own_place_and_its_own_rows(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    uint64_t steps[PARTIES] = {0};
    struct schedule own[PARTIES];
    struct plan plan;
    struct sim *s;

    (void)state;
    o.sets[STRAGGLER] = "protocol.straggler=async";
    s = sim_new(&o);
    delay(s, 1, 0, 700);
    delay(s, 2, 0, 9000);
    sim_run(s, HOUR_US);
    expect_completed(s);
    plan = sim_party_report(s, 0)->plan;
    for (uint32_t m = 0; m < PARTIES; m++)
        assert_int_equal(schedule_init(&own[m], agenda_seed(&plan, m), ROWS, 3, 1), STATUS_OK);
    for (size_t i = 0; i < t->asks; i++) {
        const struct ask *a = &t->ask[i];
        const uint32_t *rows;
        uint32_t n;

        assert_int_equal(a->sums, 1);
        if (a->purpose != PURPOSE_TRAIN)
            continue;
        assert_in_range(a->party, 0, PARTIES - 1);
        assert_int_equal(a->place, steps[a->party]++);
        assert_int_equal(a->uploads[a->party], 1);
        rows = schedule_batch(&own[a->party], a->place, &n);
        assert_int_equal(a->rows, n);
        assert_memory_equal(a->row, rows, n * sizeof *rows);
        for (size_t k = 0; k < i; k++)
            assert_true(t->ask[k].round != a->round);
    }
    assert_true(steps[0] > steps[1] && steps[1] > steps[2] && steps[2] > 0);
    for (uint32_t m = 0; m < PARTIES; m++)
        schedule_deinit(&own[m]);
    sim_free(s);
    free(t);
}

/* Under drop a round ends without p2; what it sends all the same is seen. */
static void test_a_late_upload_is_told_under_the_round_it_was_for(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    struct sim *s;
    unsigned late = 0;

    (void)state;
    o.sets[STRAGGLER] = "protocol.straggler=drop";
    s = sim_new(&o);
    delay(s, 1, 2, 150000);
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (size_t i = 0; i < t->asks; i++)
        late += t->ask[i].late[1];
    assert_int_equal(late, sim_server_report(s)->whose.late[1]);
    assert_int_equal(late, 1);
    assert_int_equal(ask_of(t, 2)->late[1], 1);
    assert_int_equal(ask_of(t, 2)->uploads[1], 1);
    assert_int_equal(ask_of(t, 2)->sums, 1);
    sim_free(s);
    free(t);
}

/* A round that comes to nothing has no sum, but what came for it was seen. */
static void test_a_void_round_is_told_without_a_sum_and_asked_for_anew(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    struct sim *s = sim_new(&o);
    const struct ask *empty;

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .nth = 2, .us = 0});
    sim_run(s, HOUR_US);
    expect_completed(s);
    empty = ask_of(t, 2);
    assert_int_equal(empty->sums, 0);
    assert_int_equal(empty->uploads[0] + empty->uploads[1], 2);
    assert_int_equal(empty->uploads[2], 0);
    assert_int_equal(ask_of(t, 3)->sums, 1);
    assert_int_equal(ask_of(t, 3)->place, empty->place);
    assert_memory_equal(ask_of(t, 3)->row, empty->row, sizeof empty->row);
    sim_free(s);
    free(t);
}

/* p1's process dies and has lost what it applied since its checkpoint. */
static void test_what_is_sent_once_more_is_told(void **state)
{
    struct told *t = told_new();
    struct sim_options o = three(t);
    struct sim *s;
    uint64_t steps = 0;

    (void)state;
    o.checkpoint_rounds = 3;
    s = sim_new(&o);
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH, .who = 0, .at_us = 25000});
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (size_t i = 0; i < t->agains; i++) {
        assert_int_equal(t->again[i].party, 0);
        steps += t->again[i].steps;
    }
    assert_true(steps > 0);
    assert_int_equal(steps, sim_server_report(s)->degraded.replayed);
    sim_free(s);
    free(t);
}

/* Whatever line it is that does not fit. */
static void test_a_run_that_cannot_be_told_ends(void **state)
{
    static const char *const stragglers[] = {"protocol.straggler=wait", "protocol.straggler=drop",
                                             "protocol.straggler=async"};

    (void)state;
    for (size_t i = 0; i < sizeof stragglers / sizeof *stragglers; i++) {
        for (size_t full = 1; full <= 12; full++) {
            struct told *t = told_new();
            struct sim_options o = three(t);
            struct sim *s;

            o.sets[STRAGGLER] = stragglers[i];
            t->full = full;
            s = sim_new(&o);
            delay(s, 1, 1, 150000); /* late, under drop */
            sim_run(s, HOUR_US);
            assert_int_equal(t->lines, full);
            assert_true(sim_server_end(s)->over);
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
            assert_int_equal(sim_server_end(s)->error.status, STATUS_IO);
            assert_int_equal(t->ends, 1);
            assert_int_equal(t->end.outcome, OUTCOME_FAILED);
            sim_free(s);
            free(t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_round_is_asked_for_once_and_summed_from_its_uploads),
        cmocka_unit_test(test_under_masks_no_upload_is_told),
        cmocka_unit_test(test_async_asks_name_the_party_its_own_place_and_its_own_rows),
        cmocka_unit_test(test_a_late_upload_is_told_under_the_round_it_was_for),
        cmocka_unit_test(test_a_void_round_is_told_without_a_sum_and_asked_for_anew),
        cmocka_unit_test(test_what_is_sent_once_more_is_told),
        cmocka_unit_test(test_a_run_that_cannot_be_told_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
