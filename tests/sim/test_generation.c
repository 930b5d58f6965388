/* test_generation.c -- a server that is started again, however often and whatever was claimed of
 * generations in between, believes whoever tells the truth.
 *
 * The liar claims, each time it connects, all that the server takes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"
#include "server/generation.h"
#include "tests/lib/scratch.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, LIAR = 2, TIMES = 12 };

/* --- the floor under what a later process knows --- */

static struct sim *standing_of(uint32_t parties, const char *straggler, const char *aggregation,
                               const char *privacy)
{
    const struct sim_options o = {.parties = parties,
                                  .train_rows = 12,
                                  .checkpoint_rounds = 1,
                                  .quiet = true,
                                  .stands = true,
                                  .sets = {"training.epochs=2", straggler, aggregation, privacy}};

    return sim_new(&o);
}

static struct sim *standing(const char *straggler)
{
    return standing_of(PARTIES, straggler, NULL, NULL);
}

/* An answer to an offer has to name that offer's. */
static void claims_all_it_can(struct wire_msg *m, void *owner)
{
    if (m->join.between_jobs)
        m->join.generation = world_federation(owner)->set.known + SERVER_FORGOTTEN_MAX;
}

static void lie(struct sim *s)
{
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = LIAR,
                                  .kind = WIRE_JOIN,
                                  .alter = claims_all_it_can,
                                  .owner = s});
}

static uint64_t generation(struct sim *s)
{
    return sim_server_report(s)->presence.generation;
}

static void play(struct sim *s, uint64_t seed)
{
    struct standing_job job = {.kind = STANDING_TRAIN, .plan = s->plan};

    job.plan.training.seed = seed;
    standing_play(s, &job);
    sim_run(s, HOUR_US);
}

static void expect_completed(struct sim *s)
{
    assert_false(standing_plays(s));
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", sim_server_end(s)->error.text);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
}

static void kill_server(struct sim *s)
{
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    sim_run(s, 100000);
}

/* From the first process on, and again in each that follows. */
static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    uint32_t *offers = owner;

    (void)to;
    if (who != SIM_SERVER || m->kind != WIRE_OFFER)
        return;
    assert_true(m->offer.generation - s->disk.floor <= SERVER_FORGOTTEN_MAX / 2);
    ++*offers;
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
}

static void ended(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

static void test_who_was_lifted_by_a_liar_is_let_in_after_a_restart(void **state)
{
    static const char *const stragglers[] = {"protocol.straggler=wait", "protocol.straggler=drop"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = standing(stragglers[i]);

        lie(s);
        play(s, 1);
        expect_completed(s);
        assert_true(generation(s) > SERVER_FORGOTTEN_MAX);
        s->rules_n = 0;
        kill_server(s);
        play(s, 2);
        expect_completed(s);
        assert_true(generation(s) > SERVER_FORGOTTEN_MAX);
        sim_free(s);
    }
}

/* Between two jobs, or in the middle of one. */
static void test_so_is_it_however_often_both_happen(void **state)
{
    struct sim *s = standing(NULL);
    uint32_t offers = 0;

    (void)state;
    s->ear = (struct sim_ear){said, charged, ended, &offers};
    lie(s);
    for (uint32_t k = 1; k <= TIMES; k++) {
        if (k % 3 == 0)
            sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1000 * k);
        play(s, k);
        expect_completed(s);
        assert_true(generation(s) > (uint64_t)k * SERVER_FORGOTTEN_MAX);
        kill_server(s);
    }
    assert_true(offers >= TIMES * PARTIES);
    sim_free(s);
}

/* The negative twin. */
/* --- a claim that is beyond all that one party is believed --- */

static const uint64_t FAR = 1ull << 40, NEAR_THE_END = UINT64_MAX - 1;

static void claims_what_is_far(struct wire_msg *m, void *owner)
{
    const uint64_t *far = owner;

    if (m->join.between_jobs && m->join.generation < *far)
        m->join.generation = *far;
}

static void were_offered(struct sim *s, int parties, const uint64_t *far)
{
    for (int i = 0; i < parties; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = i,
                                      .kind = WIRE_JOIN,
                                      .alter = claims_what_is_far,
                                      .owner = (void *)(uintptr_t)far});
}

/* With some time between jobs before. */
static void expect_known(struct sim *s, uint64_t known)
{
    sim_run(s, HOUR_US);
    assert_int_equal(world_federation(s)->set.known, 0);
    play(s, 1);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(world_federation(s)->set.known, known);
}

static void test_what_more_than_may_lie_were_offered_is_where_the_server_goes_on(void **state)
{
    struct sim *s = standing("protocol.straggler=drop");

    (void)state;
    were_offered(s, 2, &FAR);
    play(s, 1);
    expect_completed(s);
    assert_true(generation(s) > FAR && generation(s) < FAR + 100);
    sim_free(s);
}

static void test_what_one_says_that_it_was_offered_is_refused(void **state)
{
    struct sim *s = standing("protocol.straggler=drop");

    (void)state;
    were_offered(s, 1, &FAR);
    expect_known(s, 0); /* nobody is offered anything without it */
    sim_free(s);
}

/* Whatever T was in the job before, or is in none. */
static void test_so_is_it_of_as_many_as_may_lie(void **state)
{
    struct sim *s = standing_of(5, "protocol.straggler=drop", "protocol.aggregation=coded",
                                "protocol.coded.privacy=2");

    (void)state;
    were_offered(s, 2, &FAR);
    expect_known(s, 0);
    sim_free(s);
}

/* There the count would end. */
static void test_what_all_say_is_refused_near_the_end_of_the_count(void **state)
{
    struct sim *s = standing("protocol.straggler=drop");

    (void)state;
    were_offered(s, PARTIES, &NEAR_THE_END);
    expect_known(s, 0);
    sim_free(s);
}

static void test_where_nobody_lies_nothing_is_written(void **state)
{
    struct sim *s = standing(NULL);

    (void)state;
    for (uint32_t k = 1; k <= TIMES; k++) {
        play(s, k);
        expect_completed(s);
        kill_server(s);
    }
    assert_true(generation(s) < 4 * TIMES);
    assert_int_equal(s->disk.floor, 0);
    sim_free(s);
}

static void test_what_cannot_be_written_is_not_offered(void **state)
{
    struct sim *s = standing(NULL);
    uint32_t offers = 0;

    (void)state;
    s->ear = (struct sim_ear){said, charged, ended, &offers};
    s->disk.full = true;
    lie(s);
    play(s, 1);
    assert_false(standing_plays(s));
    assert_int_equal(sim_server_end(s)->error.status, STATUS_IO);
    assert_int_equal(offers, 0);
    s->disk.full = false;
    play(s, 2);
    expect_completed(s);
    assert_true(offers > 0);
    sim_free(s);
}

/* Where it comes to its end the law is the same: what is within reach is believed. */
static void test_what_is_taken_does_not_wrap(void **state)
{
    struct sim *s = standing(NULL);

    (void)state;
    world_federation(s)->set.known = UINT64_MAX - SERVER_FORGOTTEN_MAX / 2;
    play(s, 1);
    expect_completed(s);
    kill_server(s);
    play(s, 2);
    expect_completed(s);
    assert_true(generation(s) > UINT64_MAX - SERVER_FORGOTTEN_MAX / 2);
    sim_free(s);
}

/* --- its file --- */

static enum status again(struct generation_file *g)
{
    struct error err = {0};

    return generation_open(g, scratch_dir(), &err);
}

static void raise_to(uint64_t to)
{
    struct generation_file g;
    struct error err = {0};

    (void)unlink(scratch_path("generation"));
    assert_int_equal(again(&g), STATUS_OK);
    assert_int_equal(g.value, 0);
    assert_int_equal(generation_raise(&g, to, &err), STATUS_OK);
    assert_int_equal(g.value, to);
}

static void test_the_next_process_has_the_number(void **state)
{
    static const uint64_t numbers[] = {1, 1 << 20, 0x0123456789abcdef, UINT64_MAX};
    struct generation_file g;
    struct stat is;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        raise_to(numbers[i]);
        assert_int_equal(again(&g), STATUS_OK);
        assert_int_equal(g.value, numbers[i]);
        assert_int_equal(stat(scratch_path("generation"), &is), 0);
        assert_int_equal(is.st_mode & 0777, 0600);
    }
}

static void test_another_file_is_refused(void **state)
{
    struct generation_file g;
    uint8_t good[256];
    FILE *f;
    size_t n;

    (void)state;
    raise_to(77);
    f = fopen(scratch_path("generation"), "rb");
    assert_non_null(f);
    n = fread(good, 1, sizeof good, f);
    fclose(f);
    assert_true(n > 0 && n < sizeof good);
    for (size_t i = 0; i < n; i++) {
        good[i] ^= 1;
        scratch_write("generation", good, n);
        assert_int_equal(again(&g), STATUS_CONFIG);
        good[i] ^= 1;
        scratch_write("generation", good, i);
        assert_int_equal(again(&g), STATUS_CONFIG);
    }
    good[n] = 0;
    scratch_write("generation", good, n + 1);
    assert_int_equal(again(&g), STATUS_CONFIG);
    scratch_write("generation", good, n);
    assert_int_equal(again(&g), STATUS_OK);
    assert_int_equal(g.value, 77);
}

static void test_a_link_is_refused(void **state)
{
    struct generation_file g;

    (void)state;
    raise_to(77);
    assert_int_equal(rename(scratch_path("generation"), scratch_path("elsewhere")), 0);
    assert_int_equal(symlink("elsewhere", scratch_path("generation")), 0);
    assert_int_not_equal(again(&g), STATUS_OK);
    assert_int_equal(unlink(scratch_path("generation")), 0);
    assert_int_equal(unlink(scratch_path("elsewhere")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_was_lifted_by_a_liar_is_let_in_after_a_restart),
        cmocka_unit_test(test_so_is_it_however_often_both_happen),
        cmocka_unit_test(test_what_more_than_may_lie_were_offered_is_where_the_server_goes_on),
        cmocka_unit_test(test_what_one_says_that_it_was_offered_is_refused),
        cmocka_unit_test(test_so_is_it_of_as_many_as_may_lie),
        cmocka_unit_test(test_what_all_say_is_refused_near_the_end_of_the_count),
        cmocka_unit_test(test_where_nobody_lies_nothing_is_written),
        cmocka_unit_test(test_what_cannot_be_written_is_not_offered),
        cmocka_unit_test(test_what_is_taken_does_not_wrap),
        cmocka_unit_test(test_the_next_process_has_the_number),
        cmocka_unit_test(test_another_file_is_refused),
        cmocka_unit_test(test_a_link_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
