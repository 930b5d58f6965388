/* test_fedvs_hellos.c -- hellos under fedvs, well signed, that do not say the truth: refused, or at
 * most the cost of a dealing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/three_dealers.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

/* --- hellos, well signed, that do not say the truth --- */

struct told {
    struct sim *sim;
    uint32_t party;
    void (*change)(struct wire_hello *h);
};

/* The party itself believes that it has said so. */
static void say(struct wire_msg *m, void *owner)
{
    const struct told *t = owner;
    struct sim_party *liar = &t->sim->party[t->party];
    struct party_session *p = liar->session;
    struct wire_hello h = {
        .plan_digest = inside(p)->course.digest,
        .nonce = p->fed.nonce,
        .kex_public = p->fed.kex_public,
        .generation = p->fed.set.generation,
        .elements = p->fed.ids.elements,
        .train_rows = (uint32_t)p->setup.data.train->rows,
        .test_rows = (uint32_t)p->setup.data.test->rows,
    };
    struct buf body;

    memcpy(h.name, p->setup.roster->party[t->party].name, sizeof h.name);
    party_deal_say(&inside(p)->deal, &p->setup, &h);
    t->change(&h);
    buf_init(&body, WIRE_HELLO_MAX);
    assert_int_equal(wire_pack_hello_body(&body, &h), STATUS_OK);
    assert_int_equal(
        sign_make(p->fed.own.signature, &liar->key, "vfl/hello/2", body.data, body.len), STATUS_OK);
    memcpy(p->fed.own.body, body.data, body.len);
    p->fed.own.body_len = body.len;
    buf_deinit(&body);
    m->hello = agree_show_hello(&p->fed.own);
}

static const uint8_t name[WIRE_DIGEST_BYTES] = {1, 2, 3};

static void no_features(struct wire_hello *h)
{
    h->features = 0;
}

static void no_degree(struct wire_hello *h)
{
    h->degree = 0;
}

static void no_dealing(struct wire_hello *h)
{
    h->dealing.n = 0;
}

static void nothing_of_it(struct wire_hello *h)
{
    h->features = h->degree = 0;
    h->dealing.n = h->holds.n = 0;
    h->held = 0;
}

static void many_features(struct wire_hello *h)
{
    h->features = UINT32_MAX;
}

static void more_than_there_are(struct wire_hello *h)
{
    h->features = 1 << 30;
    h->degree = UINT32_MAX;
}

static void many_degrees(struct wire_hello *h)
{
    h->degree = 1 << 20;
}

static void highest_degree(struct wire_hello *h)
{
    h->degree = WIRE_DEGREE_MAX;
}

static void holds_without_held(struct wire_hello *h)
{
    h->holds = (struct wire_bytes){name, sizeof name};
    h->held = 0;
}

static void held_without_holds(struct wire_hello *h)
{
    h->holds.n = 0;
    h->held = 1;
}

static const struct {
    const char *name;
    void (*change)(struct wire_hello *h);
    const char *words; /* of the server; of the party that said it when `party` */
    bool party;
} wrong_hellos[] = {
    {"no features", no_features, "half a dealing", true},
    {"no degree", no_degree, "half a dealing", true},
    {"no dealing", no_dealing, "half a dealing", true},
    {"holds without held", holds_without_held, "half a dealing", true},
    {"held without holds", held_without_holds, "half a dealing", true},
    {"nothing of it", nothing_of_it, "member 1 has 0 features", false},
    {"many features", many_features, "columns, degree", true},
    {"more of both than there are", more_than_there_are, "columns, degree", true},
    {"many degrees", many_degrees, "columns, degree", true},
    {"a sum that wraps around", highest_degree, "may reach", false},
};

static void test_a_hello_that_cannot_be_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_hellos / sizeof *wrong_hellos; i++) {
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);
        struct told t = {s, 1, wrong_hellos[i].change};
        const struct sim_end *end;

        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 1,
                                      .kind = WIRE_HELLO,
                                      .nth = 1,
                                      .alter = say,
                                      .owner = &t});
        sim_run(s, HOUR_US);
        end = wrong_hellos[i].party ? sim_party_end(s, 1) : sim_server_end(s);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        if (end->outcome != OUTCOME_FAILED ||
            strstr(end->error.text, wrong_hellos[i].words) == NULL)
            fail_msg("%s: \"%s\"", wrong_hellos[i].name, end->error.text);
        assert_int_equal(sim_unpack_failures(s), 0);
        sim_free(s);
    }
}

/* --- and those that could be --- */

static void holds_of_others(struct wire_hello *h)
{
    h->holds = (struct wire_bytes){name, sizeof name};
    h->held = 2;
}

static void far_too_many(struct wire_hello *h)
{
    h->held = UINT64_MAX;
}

static void another_name(struct wire_hello *h)
{
    h->dealing = (struct wire_bytes){name, sizeof name};
}

static void nothing_held(struct wire_hello *h)
{
    h->holds.n = 0;
    h->held = 0;
}

/* In the second generation, when everybody holds everything: dealing begins anew, or not. */
static void test_a_hello_that_may_be_wrong_costs_at_most_a_dealing(void **state)
{
    static const struct {
        void (*change)(struct wire_hello *h);
        const char *first, *second; /* what is opened behind the keys of the second generation */
    } claims[] = {
        {holds_of_others, "deal_data 0", "deal_data 1"},
        {another_name, "deal_data 0", "deal_data 1"},
        {nothing_held, "deal_data 0", "deal_data 1"},
        {far_too_many, "train 0", "train 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);
        struct told t = {s, 1, claims[i].change};
        const char *from;

        sim_rule(s,
                 (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_SHARE, .nth = 4});
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 1,
                                      .kind = WIRE_HELLO,
                                      .nth = 2,
                                      .alter = say,
                                      .owner = &t});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        if (claims[i].change == another_name) { /* that much it does not hide */
            const char *broken = sim_broken(s);
            assert_non_null(broken);
            assert_non_null(strstr(broken, "under two names"));
        }
        from = strstr(sim_transcript(s), "offer 2");
        assert_non_null(from);
        assert_non_null(from = strstr(from, "open deal_keys 0"));
        assert_non_null(from = strstr(from + 1, " open "));
        if (strncmp(from + 6, claims[i].first, strlen(claims[i].first)) != 0)
            fail_msg("claim %zu: %.20s", i, from);
        assert_non_null(from = strstr(from + 1, " open "));
        if (strncmp(from + 6, claims[i].second, strlen(claims[i].second)) != 0)
            fail_msg("claim %zu: %.20s", i, from);
        sim_free(s);
    }
}

/* Nobody is left to say how many there are: everything is dealt again. */
static void test_when_all_hold_more_chunks_than_there_are_nobody_holds_any(void **state)
{
    struct sim_options o = three_dealers();
    struct sim *s = sim_new(&o);
    struct told t[3];
    const char *from;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_SHARE, .nth = 4});
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = (struct told){s, i, far_too_many};
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = (int)i,
                                      .kind = WIRE_HELLO,
                                      .nth = 2,
                                      .alter = say,
                                      .owner = &t[i]});
    }
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_non_null(from = strstr(sim_transcript(s), "offer 2"));
    assert_non_null(from = strstr(from, "open deal_data 0"));
    assert_non_null(strstr(from, "open deal_data 1"));
    sim_free(s);
}

static const uint8_t not_signed[WIRE_SIGNATURE_BYTES] = {1};

static void of_another_view(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->confirm.signature = not_signed;
}

/* What a hello asks of others' disks is taken when all have confirmed it, and not before. */
static void test_no_room_is_taken_before_all_have_confirmed(void **state)
{
    struct sim_options o = three_dealers();
    struct sim *s;

    (void)state;
    o.checkpoint_rounds = 1;
    s = sim_new(&o);
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_ALTER, .from = 2, .kind = WIRE_CONFIRM, .nth = 1, .alter = of_another_view});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(sim_party_report(s, i)->planned);
        assert_int_equal(s->party[i].disk.shares.n, 0);
    }
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hello_that_cannot_be_is_refused),
        cmocka_unit_test(test_a_hello_that_may_be_wrong_costs_at_most_a_dealing),
        cmocka_unit_test(test_when_all_hold_more_chunks_than_there_are_nobody_holds_any),
        cmocka_unit_test(test_no_room_is_taken_before_all_have_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
