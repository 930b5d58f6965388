/* test_hostile.c -- peers and servers that lie: each lie is refused, named, and costs the right
 * side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/world.h"

static const uint64_t HOUR_US = 3600000000ull;

struct lie {
    const char *name;
    int from; /* who says it */
    enum wire_kind kind;
    uint32_t nth;
    void (*alter)(struct wire_msg *m, void *owner);
    const char *words; /* in the text of whoever finds out */
};

static uint8_t other32[WIRE_DIGEST_BYTES] = {1, 2, 3};
static uint8_t other64[WIRE_SIGNATURE_BYTES] = {4, 5, 6};

/* --- lies of a party --- */

static void other_version(struct wire_msg *m, void *o)
{
    (void)o;
    m->join.version++;
}

static void other_roster(struct wire_msg *m, void *o)
{
    (void)o;
    m->join.roster_digest = other32;
}

static void too_far(struct wire_msg *m, void *o)
{
    (void)o;
    m->join.applied = 99;
}

static void other_signature(struct wire_msg *m, void *o)
{
    (void)o;
    if (m->kind == WIRE_HELLO)
        m->hello.signature = other64;
    else
        m->confirm.signature = other64;
}

static void other_key(struct wire_msg *m, void *o)
{
    (void)o;
    m->hello.public_key = other32;
}

static void other_sid(struct wire_msg *m, void *o)
{
    (void)o;
    m->confirm.sid = other32;
}

static void other_round(struct wire_msg *m, void *o)
{
    (void)o;
    m->upload.round++;
}

static void other_purpose(struct wire_msg *m, void *o)
{
    (void)o;
    m->upload.purpose = PURPOSE_EVALUATE_TEST;
}

static void future_generation(struct wire_msg *m, void *o)
{
    (void)o;
    m->upload.generation++;
}

static void short_payload(struct wire_msg *m, void *o)
{
    (void)o;
    m->upload.payload.n--;
}

static void no_check(struct wire_msg *m, void *o)
{
    (void)o;
    m->upload.check.n = 0;
}

static void says_hello_again(struct wire_msg *m, void *o)
{
    (void)o;
    m->kind = WIRE_CONFIRM; /* in place of an upload: wrong phase */
    m->confirm = (struct wire_confirm){other32, other64, other64, other64, 1, {other64, 24}};
}

static const struct lie party_lies[] = {
    {"version", 1, WIRE_JOIN, 1, other_version, "protocol version"},
    {"roster", 1, WIRE_JOIN, 1, other_roster, "roster"},
    {"steps never made", 1, WIRE_JOIN, 1, too_far, "applied"},
    {"hello signature", 1, WIRE_HELLO, 1, other_signature, "bad signature"},
    {"hello key", 1, WIRE_HELLO, 1, other_key, "not in the roster"},
    {"confirm signature", 1, WIRE_CONFIRM, 1, other_signature, "bad signature"},
    {"confirm sid", 1, WIRE_CONFIRM, 1, other_sid, "signature"},
    {"round", 1, WIRE_UPLOAD, 2, other_round, "round"},
    {"purpose", 1, WIRE_UPLOAD, 2, other_purpose, "evaluate"},
    {"generation", 1, WIRE_UPLOAD, 2, future_generation, "phase"},
    {"payload size", 1, WIRE_UPLOAD, 2, short_payload, "bytes"},
    {"check size", 1, WIRE_UPLOAD, 2, no_check, "bytes"},
    {"wrong phase", 1, WIRE_UPLOAD, 2, says_hello_again, "confirm in phase round"},
};

/* The liar is refused with the words and exits; under `wait` the others wait for it in vain. */
static void test_each_lie_of_a_party_is_refused_and_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof party_lies / sizeof *party_lies; i++) {
        const struct lie *l = &party_lies[i];
        struct sim_options o = {
            .parties = 3, .train_rows = 12, .quiet = true, .sets = {"protocol.patience_ms=2000"}};
        struct sim *s = sim_new(&o);
        const struct sim_end *liar = sim_party_end(s, 1);
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = l->from,
                                      .kind = l->kind,
                                      .nth = l->nth,
                                      .alter = l->alter});
        sim_run(s, HOUR_US);
        assert_true(liar->over);
        if (liar->outcome != OUTCOME_FAILED)
            fail_msg("%s: not refused", l->name);
        if (strstr(liar->error.text, l->words) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", l->name, liar->error.text, l->words);
        assert_true(status_exit_code(liar->error.status) == 3 ||
                    status_exit_code(liar->error.status) == 2);
        if (sim_server_end(s)->outcome != OUTCOME_FAILED)
            fail_msg("%s: the server went on", l->name);
        assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
        assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
        sim_free(s);
    }
}

static void test_a_repeated_upload_is_refused(void **state)
{
    struct sim_options o = {
        .parties = 3, .train_rows = 12, .quiet = true, .sets = {"protocol.patience_ms=2000"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_REPEAT, .from = 1, .kind = WIRE_UPLOAD, .nth = 2});
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "upload"));
    sim_free(s);
}

/* --- lies of the server --- */

static uint8_t bad_floats[4096];

static void other_plan(struct wire_msg *m, void *o)
{
    static char text[PLAN_TEXT_MAX];
    char *beta;

    (void)o;
    memcpy(text, m->offer.job.text.data, m->offer.job.text.n);
    beta = strstr(text, "protocol.pbm.trials=16");
    beta[strlen("protocol.pbm.trials=1")] = '5';
    m->offer.job.text.data = (const uint8_t *)text;
}

static void two_members(struct wire_msg *m, void *o)
{
    static const uint8_t two[] = {0, 1};

    (void)o;
    m->offer.members = (struct wire_bytes){two, sizeof two};
}

static void without_me(struct wire_msg *m, void *o)
{
    static const uint8_t two[] = {0, 2};

    (void)o;
    m->offer.members = (struct wire_bytes){two, sizeof two};
}

static void old_generation(struct wire_msg *m, void *o)
{
    (void)o;
    m->offer.generation = 0;
}

static struct wire_hello swapped[8];

static void swap_keys(struct wire_msg *m, void *o)
{
    (void)o;
    memcpy(swapped, m->hellos.hello, m->hellos.n * sizeof *swapped);
    swapped[0] = m->hellos.hello[2];
    swapped[2] = m->hellos.hello[0];
    m->hellos.hello = swapped;
}

static void forge_hello(struct wire_msg *m, void *o)
{
    (void)o;
    memcpy(swapped, m->hellos.hello, m->hellos.n * sizeof *swapped);
    swapped[0].signature = other64;
    m->hellos.hello = swapped;
}

static void drop_one_hello(struct wire_msg *m, void *o)
{
    (void)o;
    m->hellos.n--;
}

static struct wire_confirm confirms[8];

static void drop_one_confirm(struct wire_msg *m, void *o)
{
    (void)o;
    m->confirms.n--;
}

static void forge_confirm(struct wire_msg *m, void *o)
{
    (void)o;
    memcpy(confirms, m->confirms.confirm, m->confirms.n * sizeof *confirms);
    confirms[2].proofs = other64;
    m->confirms.confirm = confirms;
}

static void repeat_round(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.round = 1;
}

static void skip_step(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.place++;
}

static void same_step_again(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.closes = false;
    m->broadcast.gradient.n = 0;
    m->broadcast.place--;
}

static void evaluation_now(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_EVALUATE_TEST;
    m->broadcast.place = 0;
    m->broadcast.sweep = 1;
}

static void training_rows(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_EVALUATE_TRAIN;
    m->broadcast.place = 0;
    m->broadcast.sweep = 1;
}

static void short_gradient(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.gradient.n -= sizeof(float);
}

static void not_a_number(struct wire_msg *m, void *o)
{
    (void)o;
    memset(bad_floats, 0xff, sizeof bad_floats);
    m->broadcast.gradient.data = bad_floats;
}

static void other_generation(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.generation++;
}

static const struct lie server_lies[] = {
    {"another plan to one party", SIM_SERVER, WIRE_OFFER, 1, other_plan, "hello"},
    {"a smaller set under wait", SIM_SERVER, WIRE_OFFER, 1, two_members, "under straggler wait"},
    {"a set without this party", SIM_SERVER, WIRE_OFFER, 1, without_me, "not among the members"},
    {"generation that does not grow", SIM_SERVER, WIRE_OFFER, 1, old_generation, "generation"},
    {"swapped keys", SIM_SERVER, WIRE_HELLOS, 1, swap_keys, "not in the roster"},
    {"forged hello", SIM_SERVER, WIRE_HELLOS, 1, forge_hello, "bad signature"},
    {"missing hello", SIM_SERVER, WIRE_HELLOS, 1, drop_one_hello, "set"},
    {"missing confirm", SIM_SERVER, WIRE_CONFIRMS, 1, drop_one_confirm, "set"},
    {"forged confirm", SIM_SERVER, WIRE_CONFIRMS, 1, forge_confirm, "bad signature"},
    {"repeated round", SIM_SERVER, WIRE_BROADCAST, 2, repeat_round, "does not grow"},
    {"skipped step", SIM_SERVER, WIRE_BROADCAST, 2, skip_step, "out of order"},
    {"the same step twice", SIM_SERVER, WIRE_BROADCAST, 2, same_step_again, "twice"},
    {"evaluation that is not due", SIM_SERVER, WIRE_BROADCAST, 2, evaluation_now, "not due"},
    {"evaluation of training rows", SIM_SERVER, WIRE_BROADCAST, 2, training_rows,
     "not in the plan"},
    {"short gradient", SIM_SERVER, WIRE_BROADCAST, 2, short_gradient, "wrong size"},
    {"NaN gradient", SIM_SERVER, WIRE_BROADCAST, 2, not_a_number, "not finite"},
    {"another generation", SIM_SERVER, WIRE_BROADCAST, 2, other_generation, "another generation"},
};

/* The lie is told to p2 alone.  It refuses with exit code 3, and sends no data after it. */
static void test_each_lie_of_the_server_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof server_lies / sizeof *server_lies; i++) {
        const struct lie *l = &server_lies[i];
        struct sim_options o = {
            .parties = 3, .train_rows = 12, .quiet = true, .sets = {"protocol.patience_ms=2000"}};
        struct sim *s = sim_new(&o);
        const struct sim_end *end = sim_party_end(s, 1);
        uint64_t before = l->kind == WIRE_BROADCAST ? 3 : 0;
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = l->kind,
                                      .nth = l->nth,
                                      .alter = l->alter});
        sim_run(s, HOUR_US);
        assert_true(end->over);
        if (strstr(end->error.text, l->words) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", l->name, end->error.text, l->words);
        assert_int_equal(end->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(end->error.status), 3);
        assert_int_equal(sim_uploaded(s, 1), before);
        assert_true(sim_server_end(s)->over);
        assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        sim_free(s);
    }
}

static void other_job(struct wire_msg *m, void *o)
{
    (void)o;
    snprintf(m->offer.job.kind, sizeof m->offer.job.kind, "other");
}

/* Refused by the one that does not know it: over for all, with nothing sent. */
static void test_a_job_of_another_kind_is_over_for_all(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_OFFER,
                                  .nth = 1,
                                  .alter = other_job});
    sim_run(s, HOUR_US);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2 refuses: a job of kind other"));
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(sim_party_end(s, i)->over);
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_FAILED);
        assert_int_equal(sim_uploaded(s, i), 0);
    }
    sim_free(s);
}

/* Different gradients for different parties: the masks no longer cancel, and the server learns
 * noise. */
static float small_gradient[64];

static void slightly_different(struct wire_msg *m, void *o)
{
    (void)o;
    if (!m->broadcast.closes)
        return;
    memcpy(small_gradient, m->broadcast.gradient.data, m->broadcast.gradient.n);
    small_gradient[0] += 1e-3f;
    m->broadcast.gradient.data = (const uint8_t *)small_gradient;
}

static void test_a_gradient_of_its_own_for_one_party_yields_noise(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 12, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BROADCAST,
                                  .alter = slightly_different});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(sim_server_end(s)->error.status, STATUS_INTEGRITY);
    assert_true(sim_server_report(s)->integrity_failures > 0);
    sim_free(s);
}

/* --- data and budgets --- */

static void test_other_ids_of_the_same_number_end_the_run_with_the_party_named(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_party_train(s, 2)->id_text[0] = '9';
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    assert_non_null(strstr(sim_server_end(s)->error.text, "ids of p3"));
    assert_int_equal(status_exit_code(sim_party_end(s, 2)->error.status), 2);
    assert_int_equal(sim_uploaded(s, 0), 0);
    sim_free(s);
}

static void test_other_row_counts_are_said_by_number(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_party_train(s, 2)->rows--;
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_party_end(s, 2)->error.status), 2);
    assert_non_null(strstr(sim_party_end(s, 2)->error.text, "5 training"));
    assert_non_null(strstr(sim_party_end(s, 2)->error.text, "server 6"));
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    sim_free(s);
}

static void test_a_ledger_that_says_no_ends_the_run_before_the_upload(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 600, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_fail_charge(s, 1, 2, STATUS_BUDGET); /* the second block */
    sim_run(s, HOUR_US);
    assert_int_equal(sim_uploaded(s, 1), PARTY_CHARGE_ROUNDS * 3);
    assert_int_equal(sim_charged(s, 1), sim_uploaded(s, 1));
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_BUDGET);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 5);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_BUDGET);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 5);
    sim_free(s);
}

static void test_a_full_ledger_refuses_the_offer_and_charges_nothing(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 600, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_fill_ledger(s, 1);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sim_charged(s, i), 0);
        assert_int_equal(sim_uploaded(s, i), 0);
    }
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "accounts for 1024 mechanisms"));
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 5);
    sim_free(s);
}

/* A policy of one party alone. */
struct limit {
    const char *words; /* of the one that refuses */
    void (*set)(struct config_policy *p);
};

static void four_parties(struct config_policy *p)
{
    p->min_parties = 4;
}
static void three_effective(struct config_policy *p)
{
    p->min_m_eff = 3;
}
static void one_release(struct config_policy *p)
{
    p->releases_record = 1;
}
static void five_releases(struct config_policy *p)
{
    p->releases_total = 5;
}
static void half_an_epsilon(struct config_policy *p)
{
    p->epsilon_value = 0.5;
}
static void another_epsilon(struct config_policy *p)
{
    p->epsilon_max[ADVERSARY_ALL_BUT_ONE][ADJACENCY_RECORD_RAW] = 0.5;
}
static void only_fixed(struct config_policy *p)
{
    memset(p->encoding, 0, sizeof p->encoding);
    p->encoding[ENCODING_FIXED] = true;
}
static void only_clear(struct config_policy *p)
{
    memset(p->aggregation, 0, sizeof p->aggregation);
    p->aggregation[AGGREGATION_CLEAR] = true;
}
static void small_steps(struct config_policy *p)
{
    p->max_learning_rate = 0.001;
}
static const struct limit limits[] = {
    {"policy.min_parties", four_parties},
    {"policy.min_m_eff", three_effective},
    {"policy.max_releases.record", one_release},
    {"policy.max_releases.total", five_releases},
    {"policy.max_epsilon", half_an_epsilon},
    {"policy.max_epsilon", another_epsilon},
    {"policy.encodings", only_fixed},
    {"policy.aggregations", only_clear},
    {"policy.max_learning_rate", small_steps},
};

static void expect_one_refusal(const struct limit *l, uint32_t who)
{
    struct sim_options o = {.parties = 3, .quiet = true, .sets = {"training.epochs=2"}};
    struct sim *s = sim_new(&o);
    const struct sim_end *end = sim_party_end(s, who);

    l->set(&s->party[who].config.policy);
    sim_run(s, HOUR_US);
    if (!end->over || status_exit_code(end->error.status) != 5 ||
        strstr(end->error.text, l->words) == NULL)
        fail_msg("%s, p%u: exit %d \"%s\"", l->words, who + 1, status_exit_code(end->error.status),
                 end->error.text);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 5);
    assert_non_null(strstr(sim_server_end(s)->error.text, l->words));
    for (uint32_t i = 0; i < o.parties; i++) { /* it costs the others nothing, either */
        assert_true(sim_party_end(s, i)->over);
        assert_int_equal(sim_charged(s, i), 0);
        assert_int_equal(sim_uploaded(s, i), 0);
    }
    sim_free(s);
}

static void test_a_policy_refuses_a_plan_before_any_release_of_anybody(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        for (uint32_t who = 0; who < 3; who++)
            expect_one_refusal(&limits[i], who);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_lie_of_a_party_is_refused_and_named),
        cmocka_unit_test(test_a_repeated_upload_is_refused),
        cmocka_unit_test(test_each_lie_of_the_server_is_refused),
        cmocka_unit_test(test_a_job_of_another_kind_is_over_for_all),
        cmocka_unit_test(test_a_gradient_of_its_own_for_one_party_yields_noise),
        cmocka_unit_test(test_other_ids_of_the_same_number_end_the_run_with_the_party_named),
        cmocka_unit_test(test_other_row_counts_are_said_by_number),
        cmocka_unit_test(test_a_ledger_that_says_no_ends_the_run_before_the_upload),
        cmocka_unit_test(test_a_full_ledger_refuses_the_offer_and_charges_nothing),
        cmocka_unit_test(test_a_policy_refuses_a_plan_before_any_release_of_anybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
