/* test_fedvs_lies.c -- fedvs among parties and under servers that lie about dealing: each lie is
 * refused and named by the side that sees it, or does no harm.  Hellos: test_fedvs_hellos.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/three_dealers.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

struct lie {
    const char *name;
    enum wire_kind kind;
    uint32_t nth;
    void (*alter)(struct wire_msg *m, void *owner);
    const char *words; /* of whoever finds out */
};

/* --- lies of the server --- */

static void one_on(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.place++;
}

static void one_back(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.place--;
}

static void far_on(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.place = UINT64_MAX;
}

static void keys(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_DEAL_KEYS;
    m->broadcast.place = 0;
}

static void data(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_DEAL_DATA;
    m->broadcast.place = 0;
}

static void data_behind_the_last(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_DEAL_DATA;
    m->broadcast.place = 2;
}

static void train(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_TRAIN;
    m->broadcast.place = 0;
}

static void evaluate(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.purpose = PURPOSE_EVALUATE_TEST;
    m->broadcast.place = 0;
}

static void same_round(struct wire_msg *m, void *o)
{
    (void)o;
    m->broadcast.round--;
}

static void closes(struct wire_msg *m, void *o)
{
    static const float gradient[64];

    (void)o;
    m->broadcast.closes = true;
    m->broadcast.close_step = 0;
    m->broadcast.gradient = (struct wire_bytes){(const uint8_t *)gradient, 2 * 4 * sizeof(float)};
}

static void shorter_relay(struct wire_msg *m, void *o)
{
    (void)o;
    m->relay.sealed.n--;
}

static void relay_of_two_parts_less(struct wire_msg *m, void *o)
{
    (void)o;
    m->relay.tags.n -= WIRE_TAG_BYTES;
}

static void relay_of_another_purpose(struct wire_msg *m, void *o)
{
    (void)o;
    m->relay.purpose = m->relay.purpose == PURPOSE_DEAL_DATA ? PURPOSE_TRAIN : PURPOSE_DEAL_DATA;
}

static void relay_of_another_round(struct wire_msg *m, void *o)
{
    (void)o;
    m->relay.round++;
}

static void damaged_relay(struct wire_msg *m, void *o)
{
    (void)o;
    ((uint8_t *)(uintptr_t)m->relay.sealed.data)[0] ^= 1;
}

static void damaged_tag(struct wire_msg *m, void *o)
{
    (void)o;
    ((uint8_t *)(uintptr_t)m->relay.tags.data)[0] ^= 1;
}

/* To p2.  Its broadcasts: keys, two chunks, train 0, close 0 and train 1; one relay for each. */
static const struct lie server_lies[] = {
    {"keys of another place", WIRE_BROADCAST, 1, one_on, "out of order"},
    {"data before keys", WIRE_BROADCAST, 1, data, "out of order"},
    {"train before keys", WIRE_BROADCAST, 1, train, "before the data is dealt"},
    {"evaluate before keys", WIRE_BROADCAST, 1, evaluate, "before the data is dealt"},
    {"keys twice", WIRE_BROADCAST, 2, keys, "out of order"},
    {"the second chunk first", WIRE_BROADCAST, 2, one_on, "out of order"},
    {"a chunk that is not", WIRE_BROADCAST, 2, far_on, "out of order"},
    {"a chunk and a gradient", WIRE_BROADCAST, 2, closes, "did not upload"},
    {"train before data", WIRE_BROADCAST, 2, train, "before the data is dealt"},
    {"a chunk twice", WIRE_BROADCAST, 3, one_back, "out of order"},
    {"a round twice", WIRE_BROADCAST, 3, same_round, "does not grow"},
    {"train before the last chunk", WIRE_BROADCAST, 3, train, "before the data is dealt"},
    {"evaluate before the last chunk", WIRE_BROADCAST, 3, evaluate, "before the data is dealt"},
    {"a chunk too many", WIRE_BROADCAST, 4, data_behind_the_last, "out of order"},
    {"data once more", WIRE_BROADCAST, 4, data, "out of order"},
    {"keys in mid-training", WIRE_BROADCAST, 5, keys, "out of order"},
    {"data in mid-training", WIRE_BROADCAST, 5, data, "out of order"},
    {"short keys", WIRE_RELAY, 1, shorter_relay, "not due"},
    {"a short chunk", WIRE_RELAY, 2, shorter_relay, "not due"},
    {"a short round", WIRE_RELAY, 4, shorter_relay, "not due"},
    {"a tag less", WIRE_RELAY, 2, relay_of_two_parts_less, "not due"},
    {"a chunk as a round", WIRE_RELAY, 2, relay_of_another_purpose, "not due"},
    {"a round as a chunk", WIRE_RELAY, 4, relay_of_another_purpose, "not due"},
    {"another round's", WIRE_RELAY, 2, relay_of_another_round, "not due"},
    {"damaged keys", WIRE_RELAY, 1, damaged_relay, "share of p1"},
    {"a damaged chunk", WIRE_RELAY, 2, damaged_relay, "share of p1"},
    {"a damaged tag", WIRE_RELAY, 3, damaged_tag, "share of p1"},
    {"a damaged model", WIRE_RELAY, 4, damaged_relay, "share of p1"},
};

static void assert_says(const struct lie *l, const struct sim_end *end, const char *who)
{
    if (!end->over || end->outcome != OUTCOME_FAILED || strstr(end->error.text, l->words) == NULL)
        fail_msg("%s: %s says \"%s\"", l->name, who, end->error.text);
}

static void test_each_lie_of_a_server_is_refused_by_whom_it_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof server_lies / sizeof *server_lies; i++) {
        const struct lie *l = &server_lies[i];
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = l->kind,
                                      .nth = l->nth,
                                      .alter = l->alter});
        sim_run(s, HOUR_US);
        assert_says(l, sim_party_end(s, 1), "p2");
        assert_int_equal(sim_unpack_failures(s), 0);
        assert_true(sim_server_end(s)->over);
        sim_free(s);
    }
}

static void test_relays_that_are_left_out_or_come_twice_end_the_party_that_sees_it(void **state)
{
    static const struct {
        enum sim_act act;
        const char *words;
    } acts[] = {{SIM_SWALLOW, "without relaying"}, {SIM_REPEAT, "not due"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t nth = 1; nth <= 3; nth++) {
            struct sim_options o = three_dealers();
            struct sim *s = sim_new(&o);

            sim_rule(s, (struct sim_rule){.act = acts[i].act,
                                          .from = SIM_SERVER,
                                          .party = 1,
                                          .kind = WIRE_RELAY,
                                          .nth = nth});
            sim_run(s, HOUR_US);
            assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_PROTOCOL);
            assert_non_null(strstr(sim_party_end(s, 1)->error.text, acts[i].words));
            sim_free(s);
        }
    }
}

static void test_nothing_is_dealt_under_another_aggregation(void **state)
{
    static const char *const others[] = {
        "protocol.aggregation=coded", "protocol.aggregation=masked", "protocol.aggregation=clear"};
    void (*const asks[])(struct wire_msg *, void *) = {keys, data};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct sim_options o = three_dealers();
        struct sim *s;

        o.sets[0] = others[i / 2];
        s = sim_new(&o);
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = WIRE_BROADCAST,
                                      .nth = 1,
                                      .alter = asks[i % 2]});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_PROTOCOL);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "does not share"));
        sim_free(s);
    }
}

/* --- lies of a party --- */

static void shorter_share(struct wire_msg *m, void *o)
{
    (void)o;
    m->share.sealed.n -= 2; /* of two equal parts */
}

static void share_of_another_purpose(struct wire_msg *m, void *o)
{
    (void)o;
    m->share.purpose = m->share.purpose == PURPOSE_DEAL_DATA ? PURPOSE_TRAIN : PURPOSE_DEAL_DATA;
}

static void share_of_another_round(struct wire_msg *m, void *o)
{
    (void)o;
    m->share.round++;
}

static void share_of_another_generation(struct wire_msg *m, void *o)
{
    (void)o;
    m->share.generation++;
}

static void uploads_instead(struct wire_msg *m, void *o)
{
    static const uint8_t bytes[16];
    const uint64_t generation = m->share.generation, round = m->share.round;

    (void)o;
    m->kind = WIRE_UPLOAD;
    m->upload = (struct wire_upload){
        .generation = generation, .round = round, .payload = {bytes, sizeof bytes}};
}

static const struct lie party_lies[] = {
    {"short keys", WIRE_SHARE, 1, shorter_share, "were due"},
    {"a short chunk", WIRE_SHARE, 2, shorter_share, "were due"},
    {"a short model", WIRE_SHARE, 4, shorter_share, "were due"},
    {"a chunk as keys", WIRE_SHARE, 1, share_of_another_purpose, "were due"},
    {"a chunk as a round", WIRE_SHARE, 2, share_of_another_purpose, "were due"},
    {"a round as a chunk", WIRE_SHARE, 4, share_of_another_purpose, "were due"},
    {"another round's", WIRE_SHARE, 3, share_of_another_round, "were due"},
    {"another generation's", WIRE_SHARE, 3, share_of_another_generation, "phase share"},
    {"an upload for keys", WIRE_SHARE, 1, uploads_instead, ""},
    {"an upload for a chunk", WIRE_SHARE, 2, uploads_instead, ""},
};

/* The liar is refused; under `wait` the others wait for it in vain.  p1, which deals a key. */
static void test_each_lie_of_a_party_is_refused_and_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof party_lies / sizeof *party_lies; i++) {
        const struct lie *l = &party_lies[i];
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);

        sim_rule(
            s, (struct sim_rule){
                   .act = SIM_ALTER, .from = 0, .kind = l->kind, .nth = l->nth, .alter = l->alter});
        sim_run(s, HOUR_US);
        assert_says(l, sim_party_end(s, 0), "p1");
        assert_int_equal(sim_server_end(s)->error.status, STATUS_PATIENCE);
        assert_non_null(strstr(sim_server_end(s)->error.text, "p1"));
        sim_free(s);
    }
}

static void test_shares_that_come_twice_are_refused(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 3; nth++) {
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);

        sim_rule(s,
                 (struct sim_rule){.act = SIM_REPEAT, .from = 0, .kind = WIRE_SHARE, .nth = nth});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
        assert_non_null(strstr(sim_party_end(s, 0)->error.text, "share"));
        sim_free(s);
    }
}

static void damaged_share(struct wire_msg *m, void *o)
{
    (void)o;
    ((uint8_t *)(uintptr_t)m->share.sealed.data)[0] ^= 1;
}

/* Noticed by the member it was sealed for, in every kind of round. */
static void test_a_damaged_share_is_refused_and_its_dealer_named(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 4; nth++) {
        struct sim_options o = three_dealers();
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 0,
                                      .kind = WIRE_SHARE,
                                      .nth = nth,
                                      .alter = damaged_share});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_AUTH);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "share of p1"));
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_lie_of_a_server_is_refused_by_whom_it_is_told),
        cmocka_unit_test(test_relays_that_are_left_out_or_come_twice_end_the_party_that_sees_it),
        cmocka_unit_test(test_nothing_is_dealt_under_another_aggregation),
        cmocka_unit_test(test_each_lie_of_a_party_is_refused_and_named),
        cmocka_unit_test(test_shares_that_come_twice_are_refused),
        cmocka_unit_test(test_a_damaged_share_is_refused_and_its_dealer_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
