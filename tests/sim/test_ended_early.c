/* test_ended_early.c -- a server that says too early that the run is over: what a party keeps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/digest.h"
#include "common/flow/trail.h"
#include "party/checkpoint.h"
#include "party/session.h"
#include "server/federation.h"
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, LIED_TO = 1, NTH = 6 };

static const char *const stragglers[] = {"protocol.straggler=wait", "protocol.straggler=drop"};

static struct sim_options three(const char *straggler)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 18,
                                .checkpoint_rounds = 100,
                                .sets = {"training.epochs=2", "training.evaluate_every=0",
                                         "protocol.patience_ms=2000", straggler}};
}

static bool needed(struct sim *s)
{
    return party_checkpoint_needed(sim_party_report(s, LIED_TO),
                                   sim_party_end(s, LIED_TO)->outcome);
}

/* --- finish --- */

static void to_finish(struct wire_msg *m, void *owner)
{
    (void)owner;
    *m = (struct wire_msg){.kind = WIRE_FINISH, .finish.outcome = OUTCOME_COMPLETED};
}

/* In place of the nth message of this kind the second party is told that all is done. */
static struct sim *dismissed_at(const struct sim_options *o, enum wire_kind kind, uint32_t nth)
{
    struct sim *s = sim_new(o);

    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = LIED_TO,
                                  .kind = kind,
                                  .nth = nth,
                                  .alter = to_finish});
    return s;
}

static void test_a_finish_in_mid_run_takes_no_checkpoint_away(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = three(stragglers[i]);
        struct sim *s = dismissed_at(&o, WIRE_BROADCAST, NTH);

        sim_run(s, HOUR_US);
        assert_true(sim_party_end(s, LIED_TO)->over);
        assert_false(sim_party_report(s, LIED_TO)->progress.final);
        assert_true(needed(s));
        sim_free(s);
    }
}

/* The negative twin: after the last broadcast nothing is left to go on with. */
static void test_after_the_last_broadcast_no_checkpoint_is_needed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = three(stragglers[i]);
        struct sim *s = sim_new(&o);

        sim_run(s, HOUR_US);
        expect_completed(s);
        assert_true(sim_party_report(s, LIED_TO)->progress.final);
        assert_false(needed(s));
        sim_free(s);
    }
}

/* --- an offer of no step --- */

static void at_no_step(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->offer.step = 0;
}

/* A process that goes on from a checkpoint of some steps is offered none, and then told that all is
 * done: under drop it takes the server's step for the run's.  Its disk goes to `kept`. */
static struct sim *put_back_and_dismissed(struct buf *kept)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s;

    o.checkpoint_rounds = 2;
    s = dismissed_at(&o, WIRE_HELLOS, 2);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = LIED_TO,
                                  .kind = WIRE_OFFER,
                                  .nth = 2,
                                  .alter = at_no_step});
    sim_rule(s,
             (struct sim_rule){.act = SIM_KILL, .from = LIED_TO, .kind = WIRE_UPLOAD, .nth = NTH});
    sim_run(s, HOUR_US);
    assert_true(sim_party_end(s, LIED_TO)->over);
    assert_int_equal(sim_party_report(s, LIED_TO)->progress.applied, 0);
    assert_int_equal(sim_party_report(s, LIED_TO)->progress.rounds, 0);
    buf_init(kept, 1 << 20);
    assert_int_equal(party_session_save(s->party[LIED_TO].session, kept), STATUS_OK);
    return s;
}

static void test_an_offer_of_no_step_takes_no_checkpoint_away(void **state)
{
    struct buf kept;
    struct sim *s = put_back_and_dismissed(&kept);

    (void)state;
    assert_true(needed(s));
    buf_deinit(&kept);
    sim_free(s);
}

/* A party of this disk, with the server of another plan. */
static const struct sim_end *another_run(struct sim *s, const struct buf *disk)
{
    assert_int_equal(buf_append(&s->party[LIED_TO].disk.saved, disk->data, disk->len), STATUS_OK);
    sim_kill_at(s, LIED_TO, 1);
    sim_run(s, HOUR_US);
    return sim_party_end(s, LIED_TO);
}

static void test_nor_does_another_plan_after_it(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct buf kept;
    struct sim *s = put_back_and_dismissed(&kept), *other;

    (void)state;
    o.sets[4] = "training.seed=12";
    other = sim_new(&o);
    other->party[LIED_TO].disk.ledger = s->party[LIED_TO].disk.ledger;
    sim_free(s);
    assert_int_equal(status_exit_code(another_run(other, &kept)->error.status), 2);
    buf_deinit(&kept);
    sim_free(other);
}

/* The negative twin: what has learned nothing is no loss. */
static void test_of_a_run_that_did_not_begin_no_checkpoint_is_needed(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s = dismissed_at(&o, WIRE_HELLOS, 1);

    (void)state;
    sim_run(s, HOUR_US);
    assert_true(sim_party_end(s, LIED_TO)->over);
    assert_false(needed(s));
    sim_free(s);
}

/* --- an offer of steps that this party has not taken --- */

static void at_many_steps(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->offer.step = 5;
}

static void at_all_steps(struct wire_msg *m, void *owner)
{
    const struct sim *s = owner;

    m->offer.step = server_session_report(s->server)->agenda.steps;
}

static void of_another_playing(struct wire_msg *m, void *owner)
{
    static uint8_t another[WIRE_DIGEST_BYTES];

    (void)owner;
    memcpy(another, m->offer.playing, sizeof another);
    another[0] ^= 1;
    m->offer.playing = another;
}

static void offer_altered(struct sim *s, uint32_t nth, void (*alter)(struct wire_msg *, void *))
{
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = LIED_TO,
                                  .kind = WIRE_OFFER,
                                  .nth = nth,
                                  .alter = alter,
                                  .owner = s});
}

/* Who is told of steps, and then that the run is complete, has released nothing. */
static void test_steps_that_are_only_said_make_no_model(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s = dismissed_at(&o, WIRE_HELLOS, 1);
    const struct party_progress *is;

    (void)state;
    offer_altered(s, 1, at_many_steps);
    sim_run(s, HOUR_US);
    is = &sim_party_report(s, LIED_TO)->progress;
    assert_int_equal(is->applied, 5);
    assert_false(is->left_out || is->has_part || is->begun);
    assert_false(needed(s));
    sim_free(s);
}

static void to_the_end(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.closes = m->broadcast.opens = false;
    m->broadcast.last = true;
}

static void test_nor_does_an_end_before_any_step(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s = sim_new(&o);
    const struct party_progress *is;

    (void)state;
    offer_altered(s, 1, at_all_steps);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = LIED_TO,
                                  .kind = WIRE_BROADCAST,
                                  .nth = 1,
                                  .alter = to_the_end});
    expect_until(s, "p2: kept\n", 2); /* the first and the final one */
    is = &sim_party_report(s, LIED_TO)->progress;
    assert_true(is->final);
    assert_false(is->has_part || is->begun);
    assert_int_equal(sim_charged(s, LIED_TO), 0);
    sim_free(s);
}

/* Some steps are taken, and the connection breaks: the next offer is what `alter` makes of it, then
 * all is said to be done. */
static struct sim *dismissed_after_steps(void (*alter)(struct wire_msg *, void *))
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s = dismissed_at(&o, WIRE_HELLOS, 2);

    if (alter != NULL)
        offer_altered(s, 2, alter);
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = LIED_TO, .kind = WIRE_UPLOAD, .nth = NTH});
    sim_run(s, HOUR_US);
    assert_true(sim_party_end(s, LIED_TO)->over);
    assert_true(sim_party_report(s, LIED_TO)->progress.applied > 0);
    return s;
}

/* They stay what they are, and under the number of another playing they are nobody's part: nor for
 * a process that begins with what this one has kept. */
static void test_steps_of_another_playing_make_no_model_of_this_one(void **state)
{
    struct sim *s = dismissed_after_steps(of_another_playing);
    struct buf *kept = &s->party[LIED_TO].disk.saved;

    (void)state;
    for (int process = 0; process < 2; process++) {
        const struct party_progress *is = &sim_party_report(s, LIED_TO)->progress;

        assert_false(is->left_out || is->has_part);
        assert_true(is->begun && needed(s));
        kept->len = 0;
        assert_int_equal(party_session_save(s->party[LIED_TO].session, kept), STATUS_OK);
        world_new_party(s, LIED_TO);
    }
    sim_free(s);
}

/* The negative twin. */
static void test_steps_of_this_playing_are_a_part_of_its_model(void **state)
{
    struct sim *s = dismissed_after_steps(NULL);
    const struct party_progress *is = &sim_party_report(s, LIED_TO)->progress;

    (void)state;
    assert_true(is->left_out && is->has_part);
    sim_free(s);
}

/* An offer of another playing that led to no step takes nothing from those of this one. */
static void test_nor_do_they_cease_to_be_by_an_offer_of_another(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s;
    const struct party_progress *is;

    (void)state;
    o.sets[0] = "training.epochs=6"; /* it is taken back in twice */
    s = dismissed_at(&o, WIRE_HELLOS, 2);
    offer_altered(s, 2, of_another_playing);
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = LIED_TO, .kind = WIRE_UPLOAD, .nth = NTH});
    sim_rule(
        s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = LIED_TO, .kind = WIRE_HELLO, .nth = 2});
    sim_run(s, HOUR_US);
    is = &sim_party_report(s, LIED_TO)->progress;
    assert_true(sim_party_end(s, LIED_TO)->over);
    assert_true(is->left_out && is->has_part);
    sim_free(s);
}

static void anew_in_another_playing(struct wire_msg *m, void *owner)
{
    of_another_playing(m, owner);
    m->offer.step = 0;
}

/* Nor by one that costs more than this party pays: it is not in that playing. */
static void test_nor_by_one_that_is_refused(void **state)
{
    struct sim_options o = three("protocol.straggler=drop");
    struct sim *s = sim_new(&o);

    (void)state;
    offer_altered(s, 2, anew_in_another_playing);
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = LIED_TO, .kind = WIRE_UPLOAD, .nth = NTH});
    expect_until(s, "-- lost p2\n", 1);
    s->party[LIED_TO].config.policy.releases_record = 1;
    sim_run(s, HOUR_US);
    assert_non_null(strstr(sim_party_end(s, LIED_TO)->error.text, "policy.max_releases.record"));
    assert_true(sim_party_report(s, LIED_TO)->progress.has_part);
    sim_free(s);
}

/* --- steps that are replayed --- */

/* An honest server would refuse who has lost its model; this one takes it. */
static void to_one_that_resumes(struct wire_msg *m, void *owner)
{
    static struct trail trail;
    struct digest d = {0};

    trail_begin(&trail, &d, world_federation(owner)->terms.digest);
    digest_deinit(&d);
    m->join.resumes = true;
    m->join.trail = trail.value;
}

/* Under wait the party is killed when the last broadcast is on its way; its next process catches up
 * by replay, and closes.  Its ledger has as many numbers as the run has steps. */
static struct sim *replayed_to_the_end(bool disk_lost)
{
    struct sim_options o = three("protocol.straggler=wait");
    struct sim *s = sim_new(&o);

    expect_until(s, "server: broadcast last\n", 1);
    assert_true(s->party[LIED_TO].disk.saved.len > 0);
    if (disk_lost) {
        s->party[LIED_TO].disk.saved.len = 0;
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = LIED_TO,
                                      .kind = WIRE_JOIN,
                                      .nth = 1,
                                      .alter = to_one_that_resumes,
                                      .owner = s});
    }
    sim_kill_at(s, LIED_TO, sim_now_us(s) + 1);
    sim_run(s, HOUR_US);
    assert_true(expect_count(s, "p2: behind\n") > 0);
    assert_true(sim_party_report(s, LIED_TO)->progress.final);
    assert_int_equal(sim_party_report(s, LIED_TO)->progress.rounds, 0);
    return s;
}

/* Of a run that is not this party's yet, as far as it knows, a replay is the server's word. */
static void test_nor_do_steps_that_are_replayed(void **state)
{
    struct sim *s = replayed_to_the_end(true);

    (void)state;
    assert_false(sim_party_report(s, LIED_TO)->progress.has_part);
    sim_free(s);
}

/* The negative twin: what its ledger has paid for since the checkpoint are the rounds of this run.
 */
static void test_replays_of_what_was_paid_for_are_a_part_of_the_model(void **state)
{
    struct sim *s = replayed_to_the_end(false);

    (void)state;
    assert_true(sim_party_report(s, LIED_TO)->progress.has_part);
    sim_free(s);
}

/* A checkpoint with steps that nothing was paid for stays so, whatever else is charged meanwhile.
 */
static void test_nor_does_what_another_run_pays_for(void **state)
{
    struct sim *s = replayed_to_the_end(true);
    struct buf *kept = &s->party[LIED_TO].disk.saved;

    (void)state;
    kept->len = 0;
    assert_int_equal(party_session_save(s->party[LIED_TO].session, kept), STATUS_OK);
    s->party[LIED_TO].disk.ledger.number += 5;
    world_new_party(s, LIED_TO);
    assert_false(sim_party_report(s, LIED_TO)->progress.has_part);
    sim_free(s);
}

/* Of a checkpoint from before the first step the ledger's end tells, unless nothing in it is of
 * this run: p2 has begun anew, and something else is charged before it takes what is replayed. */
static struct sim *replayed_after_another_run(bool unpaid)
{
    struct sim_options o = three("protocol.straggler=wait");
    struct sim *s = sim_new(&o);
    struct sim_disk *disk = &s->party[LIED_TO].disk;

    expect_until(s, "server: broadcast last\n", 1);
    disk->saved.len = 0;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = LIED_TO,
                                  .kind = WIRE_JOIN,
                                  .nth = 1,
                                  .alter = to_one_that_resumes,
                                  .owner = s});
    sim_kill_at(s, LIED_TO, sim_now_us(s) + 1);
    expect_until(s, "p2: behind\n", 1);
    disk->ledger.number++;
    disk->unpaid = unpaid;
    sim_kill_at(s, LIED_TO, sim_now_us(s) + 1);
    sim_run(s, HOUR_US);
    assert_true(sim_party_report(s, LIED_TO)->progress.final);
    assert_int_equal(sim_party_report(s, LIED_TO)->progress.rounds, 0);
    return s;
}

static void test_what_another_run_pays_for_is_no_payment_for_this_one(void **state)
{
    (void)state;
    for (int unpaid = 0; unpaid < 2; unpaid++) {
        struct sim *s = replayed_after_another_run(unpaid);

        assert_int_equal(sim_party_report(s, LIED_TO)->progress.has_part, !unpaid);
        sim_free(s);
    }
}

/* --- the last broadcast --- */

static void to_the_last(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.opens = false;
    m->broadcast.last = true;
}

static struct sim *last_too_early(const struct sim_options *o)
{
    struct sim *s = sim_new(o);

    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = LIED_TO,
                                  .kind = WIRE_BROADCAST,
                                  .nth = NTH,
                                  .alter = to_the_last});
    sim_run(s, HOUR_US);
    return s;
}

static void test_an_end_before_the_plans_is_a_violation(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = three(stragglers[i]);
        struct sim *s = last_too_early(&o);
        const struct sim_end *end = sim_party_end(s, LIED_TO);

        assert_int_equal(end->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(end->error.status), 3);
        assert_non_null(strstr(end->error.text, "ends the run before the plan does"));
        assert_true(needed(s));
        sim_free(s);
    }
}

/* The negative twin: whether a target is reached the server alone can tell. */
static void test_with_a_target_in_the_plan_it_is_none(void **state)
{
    struct sim_options o = three("protocol.straggler=wait");
    struct sim *s;

    (void)state;
    o.sets[4] = "training.stop.metric=accuracy";
    o.sets[5] = "training.stop.split=train";
    o.sets[6] = "training.stop.value=0.9999";
    s = last_too_early(&o);
    assert_true(sim_party_report(s, LIED_TO)->progress.final);
    sim_free(s);
}

/* --- an end that is taken back --- */

/* All have come to the end when the server loses its journal, goes back to the first step, and in
 * mid-run is gone for longer than anybody waits. */
static struct sim *gone_after_the_end(const char *straggler, uint32_t opened_again)
{
    struct sim_options o = three(straggler);
    struct sim *s = sim_new(&o);
    char line[64];

    expect_until(s, "p3: kept\n", 2); /* the first and the final one */
    assert_true(sim_party_report(s, LIED_TO)->progress.final);
    sim_lose_records(s, 1000);
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    snprintf(line, sizeof line, "p%d: upload\n", LIED_TO + 1);
    expect_until(s, line, expect_count(s, line) + opened_again);
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                       .who = SIM_SERVER,
                                       .at_us = sim_now_us(s) + 1,
                                       .down_us = HOUR_US / 60});
    sim_run(s, HOUR_US / 120);
    return s;
}

static void test_a_model_that_is_trained_on_is_not_final(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = gone_after_the_end(stragglers[i], 3);

        assert_true(sim_party_end(s, LIED_TO)->over);
        assert_false(sim_party_report(s, LIED_TO)->progress.final);
        assert_int_equal(sim_party_end(s, LIED_TO)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_party_end(s, LIED_TO)->error.status), 4);
        assert_true(needed(s));
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_finish_in_mid_run_takes_no_checkpoint_away),
        cmocka_unit_test(test_after_the_last_broadcast_no_checkpoint_is_needed),
        cmocka_unit_test(test_an_offer_of_no_step_takes_no_checkpoint_away),
        cmocka_unit_test(test_nor_does_another_plan_after_it),
        cmocka_unit_test(test_of_a_run_that_did_not_begin_no_checkpoint_is_needed),
        cmocka_unit_test(test_steps_that_are_only_said_make_no_model),
        cmocka_unit_test(test_nor_does_an_end_before_any_step),
        cmocka_unit_test(test_steps_of_another_playing_make_no_model_of_this_one),
        cmocka_unit_test(test_steps_of_this_playing_are_a_part_of_its_model),
        cmocka_unit_test(test_nor_do_they_cease_to_be_by_an_offer_of_another),
        cmocka_unit_test(test_nor_by_one_that_is_refused),
        cmocka_unit_test(test_nor_do_steps_that_are_replayed),
        cmocka_unit_test(test_replays_of_what_was_paid_for_are_a_part_of_the_model),
        cmocka_unit_test(test_nor_does_what_another_run_pays_for),
        cmocka_unit_test(test_what_another_run_pays_for_is_no_payment_for_this_one),
        cmocka_unit_test(test_an_end_before_the_plans_is_a_violation),
        cmocka_unit_test(test_with_a_target_in_the_plan_it_is_none),
        cmocka_unit_test(test_a_model_that_is_trained_on_is_not_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
