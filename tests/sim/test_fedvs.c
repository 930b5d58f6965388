/* test_fedvs.c -- data dealt once, models shared each round, sums decoded whoever is slow.
 *
 * Every sum is watched: it is that of all members' rows times weights, in fixed point (true_sum.h);
 * and what is dealt again under one name is the same, under another one not (oracle.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

enum { PARTIES_MAX = 7 };

/* 5 parties of degrees 1, 2, 3, 1, 2; K = 2, T = 1: all five results decode.  9 rows are 5 coded
 * ones, a padding row among them, 3 test rows are 2. */
static struct sim_options five(void)
{
    return (struct sim_options){.parties = 5,
                                .train_rows = 9,
                                .test_rows = 3,
                                .motley = true,
                                .watch = true,
                                .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
                                .sets = {"protocol.aggregation=fedvs", "protocol.fedvs.segments=2",
                                         "training.batch=4", "training.epochs=2",
                                         "protocol.patience_ms=4000"}};
}

/* 7 parties: five of seven results decode. */
static struct sim_options seven(void)
{
    struct sim_options o = five();

    o.parties = 7;
    return o;
}

static struct sim_options with_disks(void)
{
    struct sim_options o = seven();

    o.checkpoint_rounds = 3;
    return o;
}

struct models {
    char of[PARTIES_MAX + 1][65];
};

static struct models models_of(struct sim *s)
{
    struct models m;

    memset(&m, 0, sizeof m);
    expect_completed(s);
    for (int who = SIM_SERVER; who < (int)s->options.parties; who++)
        sim_model(s, who, m.of[who + 1]);
    return m;
}

static struct models undisturbed(const struct sim_options *o)
{
    struct sim *s = sim_new(o);
    struct models m;

    sim_run(s, HOUR_US);
    m = models_of(s);
    sim_free(s);
    return m;
}

/* How often the server opened this. */
static unsigned opened(const struct sim *s, const char *what)
{
    char line[64];
    unsigned n = 0;

    snprintf(line, sizeof line, " open %s\n", what);
    for (const char *at = sim_transcript(s); (at = strstr(at, line)) != NULL; at++)
        n++;
    return n;
}

static void assert_opened(const struct sim *s, const char *what, unsigned want)
{
    if (opened(s, what) != want) {
        fprintf(stderr, "%s", sim_transcript(s));
        fail_msg("%s was opened %u times, not %u", what, opened(s, what), want);
    }
}

/* --- undisturbed --- */

/* All five of them, between two texts. */
static void each(struct buf *to, const char *before, const char *after)
{
    for (unsigned i = 1; i <= 5; i++)
        assert_int_equal(buf_printf(to, "%sp%u%s\n", before, i, after), STATUS_OK);
}

static void dealt(struct buf *to, const char *what)
{
    assert_int_equal(buf_printf(to, "server: broadcast %s\n", what), STATUS_OK);
    each(to, "", ": share");
    each(to, "server: relay -> ", "");
}

static void summed(struct buf *to, const char *what)
{
    dealt(to, what);
    each(to, "", ": upload");
}

static void test_a_run_is_this_transcript(void **state)
{
    struct sim_options o = five();
    struct sim *s;
    struct buf want;

    (void)state;
    o.sets[3] = "training.epochs=1";
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    expect_completed(s);
    buf_init(&want, 1 << 16);
    each(&want, "", ": join");
    assert_int_equal(buf_printf(&want, "server: offer 1\n"), STATUS_OK);
    each(&want, "", ": hello");
    assert_int_equal(buf_printf(&want, "server: hellos\n"), STATUS_OK);
    each(&want, "", ": confirm");
    assert_int_equal(buf_printf(&want, "server: confirms\n"), STATUS_OK);
    dealt(&want, "open deal_keys 0");
    dealt(&want, "open deal_data 0");
    dealt(&want, "open deal_data 1");
    summed(&want, "open train 0");
    summed(&want, "close 0 open train 1");
    summed(&want, "close 1 open train 2");
    summed(&want, "close 2 open evaluate test 0");
    assert_int_equal(buf_printf(&want, "server: broadcast last\n"), STATUS_OK);
    each(&want, "", ": kept");
    assert_int_equal(buf_printf(&want, "server: finish completed\n"), STATUS_OK);
    assert_string_equal(sim_transcript(s), (const char *)want.data);
    buf_deinit(&want);
    sim_free(s);
}

/* Two of seven results never come, in no round. */
static void test_missing_uploads_change_nothing_and_cost_no_time(void **state)
{
    struct sim_options o = seven();
    struct models want, got;
    uint64_t undisturbed_us;
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, HOUR_US);
    want = models_of(s);
    undisturbed_us = sim_now_us(s);
    sim_free(s);
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 1, .kind = WIRE_UPLOAD});
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 6, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(&want, &got, sizeof want);
    assert_true(sim_now_us(s) < undisturbed_us + SECOND_US / 100);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->degraded.missing, 2 * 6);
    assert_int_equal(sim_server_report(s)->degraded.unverified, 8);
    sim_free(s);
}

/* The negative twin. */
static void test_one_upload_too_few_is_waited_for_and_named(void **state)
{
    struct sim_options o = seven();
    struct sim *s = sim_new(&o);
    const struct sim_end *end;

    (void)state;
    for (int i = 4; i < 7; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = i, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    end = sim_server_end(s);
    assert_int_equal(end->outcome, OUTCOME_FAILED);
    assert_int_equal(end->error.status, STATUS_PATIENCE);
    assert_non_null(strstr(end->error.text, "phase sum"));
    assert_non_null(strstr(end->error.text, "p5, p6, p7"));
    sim_free(s);
}

static void test_a_dealer_that_never_shares_is_waited_for_and_named(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 4; nth++) {
        struct sim_options o = seven();
        struct sim *s = sim_new(&o);

        sim_rule(s,
                 (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_SHARE, .nth = nth});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->error.status, STATUS_PATIENCE);
        assert_non_null(strstr(sim_server_end(s)->error.text, "phase share"));
        assert_non_null(strstr(sim_server_end(s)->error.text, "waiting for p3"));
        sim_free(s);
    }
}

static void test_a_wrong_upload_among_enough_is_left_out(void **state)
{
    struct sim_options o = seven();
    struct models want = undisturbed(&o), got;
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 2,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 2,
                                  .alter = expect_other_upload});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(&want, &got, sizeof want);
    assert_int_equal(sim_server_report(s)->degraded.faulty, 1);
    sim_free(s);
}

/* --- members lost --- */

struct loss {
    enum wire_kind kind;
    int from; /* SIM_SERVER: what goes to p2; 1: what p2 says */
    uint32_t nth;
    unsigned keys, first, second; /* how often keys and the two chunks are dealt */
};

/* What p2 was about to say or hear when its connection broke. */
static const struct loss losses[] = {
    {WIRE_BROADCAST, SIM_SERVER, 1, 2, 1, 1}, /* keys */
    {WIRE_SHARE, 1, 1, 2, 1, 1},
    {WIRE_RELAY, SIM_SERVER, 1, 2, 2, 1}, /* by then the first chunk is open */
    {WIRE_BROADCAST, SIM_SERVER, 2, 2, 2, 1},
    {WIRE_SHARE, 1, 2, 2, 2, 1},          /* the first chunk */
    {WIRE_RELAY, SIM_SERVER, 2, 2, 2, 2}, /* p2 does not have it, the second one is open */
    {WIRE_BROADCAST, SIM_SERVER, 3, 2, 1, 2},
    {WIRE_SHARE, 1, 3, 2, 1, 2}, /* the second one */
    {WIRE_RELAY, SIM_SERVER, 3, 2, 1, 2},
    {WIRE_BROADCAST, SIM_SERVER, 4, 2, 1, 1}, /* all have everything */
    {WIRE_SHARE, 1, 4, 2, 1, 1},
    {WIRE_RELAY, SIM_SERVER, 4, 2, 1, 1},
    {WIRE_UPLOAD, 1, 1, 2, 1, 1},
    {WIRE_UPLOAD, 1, 4, 2, 1, 1},
};

static void lose(const struct sim_options *o, const struct loss *l, const struct models *want)
{
    struct sim *s = sim_new(o);
    struct models got;

    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE,
                                  .from = l->from,
                                  .party = 1,
                                  .kind = l->kind,
                                  .nth = l->nth,
                                  .how = {.last_words = true}});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(want, &got, sizeof got);
    assert_int_equal(sim_server_report(s)->presence.generation, 2);
    assert_opened(s, "deal_keys 0", l->keys);
    assert_opened(s, "deal_data 0", l->first);
    assert_opened(s, "deal_data 1", l->second);
    sim_free(s);
}

static void test_a_lost_member_costs_the_chunk_that_was_open_and_nothing_else(void **state)
{
    struct sim_options o = five();
    struct models want = undisturbed(&o);

    (void)state;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        lose(&o, &losses[i], &want);
}

/* With two results to spare a member that has shared is not needed. */
static void test_a_member_lost_after_sharing_costs_no_round(void **state)
{
    struct sim_options o = seven();
    struct models want = undisturbed(&o), got;
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 2});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(&want, &got, sizeof want);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->presence.generation, 2);
    assert_opened(s, "deal_data 0", 1);
    sim_free(s);
}

/* So many inputs that the training rows are several chunks: what is behind everybody is not dealt
 * again. */
static void test_dealing_goes_on_behind_the_chunks_that_all_have(void **state)
{
    struct sim_options o = five();
    struct models want, got;
    struct sim *s;

    (void)state;
    o.columns = 300;
    o.train_rows = 200;
    o.unpacker = 8 << 20;
    o.sets[2] = "training.batch=100";
    o.sets[3] = "training.epochs=1";
    want = undisturbed(&o);
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_SHARE, .nth = 4});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(&want, &got, sizeof want);
    assert_opened(s, "deal_keys 0", 2);
    assert_opened(s, "deal_data 0", 1);
    assert_opened(s, "deal_data 1", 1);
    assert_opened(s, "deal_data 2", 2);
    assert_opened(s, "deal_data 3", 1);
    assert_opened(s, "deal_data 4", 0);
    sim_free(s);
}

/* --- processes that die --- */

struct death {
    const char *name;
    uint32_t nth; /* at this share of p2 */
    bool lose_saved, lose_shares;
    unsigned first, second;
};

static const struct death deaths[] = {
    {"at the keys", 1, false, false, 1, 1},
    {"in mid-dealing, from its disk", 3, false, false, 2, 2}, /* half of the shares are as none */
    {"in mid-dealing, without its secret", 3, true, false, 2, 2},
    {"in training, from its disk", 4, false, false, 1, 1},
    {"in training, from its disk, later", 7, false, false, 1, 1},
    {"in training, without the shares", 7, false, true, 2, 2},
    {"before the first step, without its secret", 4, true, false, 2, 2},
    {"before the first step, without anything", 4, true, true, 2, 2},
};

static void test_a_party_that_dies_goes_on_with_what_its_disk_has(void **state)
{
    struct sim_options o = with_disks();
    struct models want = undisturbed(&o), got;

    (void)state;
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        const struct death *d = &deaths[i];
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){
                        .act = SIM_KILL,
                        .from = 1,
                        .kind = WIRE_SHARE,
                        .nth = d->nth,
                        .how = {.lose_saved = d->lose_saved, .lose_shares = d->lose_shares}});
        sim_run(s, HOUR_US);
        got = models_of(s);
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s: another model", d->name);
        if (opened(s, "deal_keys 0") != 2 || opened(s, "deal_data 0") != d->first ||
            opened(s, "deal_data 1") != d->second)
            fail_msg("%s: %u, %u, %u dealings:\n%s", d->name, opened(s, "deal_keys 0"),
                     opened(s, "deal_data 0"), opened(s, "deal_data 1"), sim_transcript(s));
        sim_free(s);
    }
}

/* Nobody has a disk, and shares lie on the heap. */
static void test_without_disks_a_death_before_the_first_step_deals_anew(void **state)
{
    struct sim_options o = seven();
    struct models want = undisturbed(&o), got;
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_SHARE, .nth = 4});
    sim_run(s, HOUR_US);
    got = models_of(s);
    assert_memory_equal(&want, &got, sizeof want);
    assert_opened(s, "deal_data 0", 2);
    assert_opened(s, "deal_data 1", 2);
    sim_free(s);
}

/* It keeps nothing of dealings: the hellos say how far they were. */
static void test_a_server_that_dies_asks_for_no_chunk_twice_that_all_have(void **state)
{
    static const struct {
        uint32_t broadcast; /* to p1 */
        unsigned first, second;
    } when[] = {{1, 1, 1}, {2, 2, 1}, {3, 1, 2}, {4, 1, 1}, {6, 1, 1}};
    struct sim_options o = with_disks();
    struct models want = undisturbed(&o), got;

    (void)state;
    for (size_t i = 0; i < sizeof when / sizeof *when; i++) {
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                      .from = SIM_SERVER,
                                      .party = 0,
                                      .kind = WIRE_BROADCAST,
                                      .nth = when[i].broadcast,
                                      .how = {.last_words = true}});
        sim_run(s, HOUR_US);
        got = models_of(s);
        assert_memory_equal(&want, &got, sizeof want);
        assert_opened(s, "deal_keys 0", 2);
        assert_opened(s, "deal_data 0", when[i].first);
        assert_opened(s, "deal_data 1", when[i].second);
        sim_free(s);
    }
}

/* p2 dies in training, and before it is back somebody has changed its files. */
static struct sim *changed_meanwhile(void (*change)(struct sim_party *p))
{
    struct sim_options o = with_disks();
    struct sim *s = sim_new(&o);

    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = 1,
                                  .kind = WIRE_SHARE,
                                  .nth = 7,
                                  .how = {.down_us = 3 * SECOND_US}});
    sim_run(s, SECOND_US);
    assert_true(s->party[1].up_us > 0);
    change(&s->party[1]);
    sim_run(s, HOUR_US);
    return s;
}

static void another_degree(struct sim_party *p)
{
    p->config.degree++;
}

static void fewer_features(struct sim_party *p)
{
    p->train.cols--;
    p->test.cols--;
}

static void other_data(struct sim_party *p)
{
    p->train.x[0] += 0.25f;
}

static void test_another_bottom_after_a_restart_is_refused(void **state)
{
    void (*const change[])(struct sim_party * p) = {another_degree, fewer_features};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = changed_meanwhile(change[i]);

        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
        assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_CONFIG);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "does not fit"));
        assert_int_equal(sim_server_end(s)->error.status, STATUS_PATIENCE);
        assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
        sim_free(s);
    }
}

/* Under the old name they would be shared with the same masks (threats C2). */
static void test_other_data_after_a_restart_is_another_dealing(void **state)
{
    struct sim *s = changed_meanwhile(other_data);

    (void)state;
    expect_completed(s);
    assert_opened(s, "deal_data 0", 2);
    assert_opened(s, "deal_data 1", 2);
    sim_free(s);
}

static void torn_header(struct sim_party *p)
{
    p->disk.shares.data[32] ^= 1; /* how many chunks there are */
}

static void test_shares_that_are_not_whole_are_as_none(void **state)
{
    struct sim *s = changed_meanwhile(torn_header);

    (void)state;
    expect_completed(s);
    assert_opened(s, "deal_data 0", 2);
    assert_opened(s, "deal_data 1", 2);
    sim_free(s);
}

/* p1 comes back under a new name, everybody dies while that is being dealt, and p1's disk is put
 * back to the old name: nobody has all shares of it any more. */
static void test_shares_that_were_begun_to_be_replaced_are_as_none(void **state)
{
    struct sim_options o = five();
    struct models want, got;

    (void)state;
    o.checkpoint_rounds = 3;
    want = undisturbed(&o);
    for (uint64_t us = 16000; us < 32000; us += 1000) {
        struct sim *s = sim_new(&o);

        sim_break_at(s, (struct sim_break){.what = SIM_COPY, .who = 0, .at_us = us});
        sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                      .from = 0,
                                      .kind = WIRE_UPLOAD,
                                      .nth = 1,
                                      .how = {.lose_saved = true, .lose_shares = true}});
        for (int i = 0; i < 5; i++)
            sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                          .from = i,
                                          .kind = WIRE_SHARE,
                                          .nth = 7,
                                          .how = {.put_back = i == 0}});
        sim_run(s, HOUR_US);
        got = models_of(s);
        assert_memory_equal(&want, &got, sizeof want);
        assert_opened(s, "deal_data 0", 3);
        sim_free(s);
    }
}

/* The same federation with other keys: shares dealt to other holders are of other polynomials. */
static void test_another_roster_is_another_dealing(void **state)
{
    struct sim_options o = with_disks();
    struct models want = undisturbed(&o), got;
    struct sim *s = sim_new(&o), *again;

    (void)state;
    sim_stop_at(s, SIM_SERVER, 40000);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_STOPPED);
    assert_true(sim_server_report(s)->steps > 0);
    s->options.new_keys = true;
    again = sim_resume(s);
    assert_memory_not_equal(s->roster.digest, again->roster.digest, sizeof s->roster.digest);
    sim_run(again, HOUR_US);
    got = models_of(again);
    assert_memory_equal(&want, &got, sizeof want);
    assert_opened(again, "deal_data 0", 1);
    assert_opened(again, "deal_data 1", 1);
    sim_free(again);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_this_transcript),
        cmocka_unit_test(test_missing_uploads_change_nothing_and_cost_no_time),
        cmocka_unit_test(test_one_upload_too_few_is_waited_for_and_named),
        cmocka_unit_test(test_a_dealer_that_never_shares_is_waited_for_and_named),
        cmocka_unit_test(test_a_wrong_upload_among_enough_is_left_out),
        cmocka_unit_test(test_a_lost_member_costs_the_chunk_that_was_open_and_nothing_else),
        cmocka_unit_test(test_a_member_lost_after_sharing_costs_no_round),
        cmocka_unit_test(test_dealing_goes_on_behind_the_chunks_that_all_have),
        cmocka_unit_test(test_a_party_that_dies_goes_on_with_what_its_disk_has),
        cmocka_unit_test(test_without_disks_a_death_before_the_first_step_deals_anew),
        cmocka_unit_test(test_a_server_that_dies_asks_for_no_chunk_twice_that_all_have),
        cmocka_unit_test(test_another_bottom_after_a_restart_is_refused),
        cmocka_unit_test(test_other_data_after_a_restart_is_another_dealing),
        cmocka_unit_test(test_shares_that_are_not_whole_are_as_none),
        cmocka_unit_test(test_shares_that_were_begun_to_be_replaced_are_as_none),
        cmocka_unit_test(test_another_roster_is_another_dealing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
