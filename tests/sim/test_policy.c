/* test_policy.c -- what a party refuses, key by key as its owner writes them, and what just passes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { PARTIES = 5 };

static const uint8_t members[] = {0, 1, 2, 3, 4};
static struct roster roster;
static struct plan plan;
static struct policy_set set;
static struct account_entry spent[ACCOUNT_MECHANISMS_MAX];
static size_t spent_n;

/* Five parties of five operators, and a run of 4 epochs of 100 rows with 20 test rows: 400 training
 * releases and 4 sweeps of 20; a record takes part 4 times. */
static int set_up(void **state)
{
    (void)state;
    memset(&roster, 0, sizeof roster);
    strcpy(roster.server.name, "hub");
    strcpy(roster.server.operator_name, "hub");
    for (roster.n = 0; roster.n < PARTIES; roster.n++) {
        struct roster_entry *e = &roster.party[roster.n];

        snprintf(e->name, sizeof e->name, "p%zu", roster.n + 1);
        strcpy(e->operator_name, e->name);
    }
    set = (struct policy_set){.roster = &roster, .members = members, .n = PARTIES};
    plan_defaults(&plan);
    plan.training.epochs = 4;
    plan.training.batch = 10;
    plan.training.seed_given = true;
    plan.training.weight_decay_given = true;
    plan.privacy.delta_given = true;
    plan.shape.parties = PARTIES;
    plan.shape.train_rows = 100;
    plan.shape.test_rows = 20;
    plan.shape.outputs = 2;
    memset(spent, 0, sizeof spent);
    spent_n = 0;
    return 0;
}

/* The policy of a party's file with these lines ("policy." is put before each); NULL ends them. */
static struct config_policy policy_of(const char *first, const char *second, const char *third)
{
    static const char *const base[] = {"server=127.0.0.1:1", "identity.cert=x", "identity.key=x",
                                       "identity.ca=x",      "roster=x",        "state=x",
                                       "data.train=x"};
    const char *lines[3] = {first, second, third}, *sets[7 + 3];
    char text[3][128];
    struct config_party c;
    struct error err = {0};
    size_t n = 7;

    memcpy(sets, base, sizeof base);
    for (int i = 0; i < 3 && lines[i] != NULL; i++) {
        snprintf(text[i], sizeof text[i], "policy.%s", lines[i]);
        sets[n++] = text[i];
    }
    if (config_load_party(&c, NULL, sets, n, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return c.policy;
}

static void expect_accepted(const struct config_policy *policy)
{
    struct error err = {0};

    if (policy_check(policy, &plan, &set, spent, spent_n, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(policy_check(policy, &plan, &set, spent, spent_n, NULL), STATUS_OK);
}

static void expect_refused(const struct config_policy *policy, enum status status, const char *text)
{
    struct error err = {0};

    assert_int_equal(policy_check(policy, &plan, &set, spent, spent_n, &err), status);
    assert_string_equal(err.text, text);
    assert_int_equal(err.status, status);
    assert_int_equal(status_exit_code(status), 5);
    assert_int_equal(policy_check(policy, &plan, &set, spent, spent_n, NULL), status);
}

/* Accepts with `passes`, refuses with `fails`, each beside `also` (may be NULL). */
static void expect_edge(const char *also, const char *passes, const char *fails, enum status status,
                        const char *text)
{
    struct config_policy policy = policy_of(passes, also, NULL);

    expect_accepted(&policy);
    policy = policy_of(fails, also, NULL);
    expect_refused(&policy, status, text);
}

static void test_the_defaults_accept_the_default_plan(void **state)
{
    struct config_policy policy = policy_of(NULL, NULL, NULL);

    (void)state;
    assert_int_equal(plan_check(&plan, NULL), STATUS_OK);
    expect_accepted(&policy);
}

static void test_the_set_has_at_least_min_parties(void **state)
{
    (void)state;
    expect_edge("min_m_eff=1", "min_parties=5", "min_parties=6", STATUS_POLICY,
                "policy.min_parties: 5 parties where 6 are the least");
    set.n = 2; /* a generation is judged by its members, not by the roster */
    expect_edge("min_m_eff=1", "min_parties=2", "min_parties=3", STATUS_POLICY,
                "policy.min_parties: 2 parties where 3 are the least");
}

static void test_enough_parties_are_left_when_one_operator_helps_the_server(void **state)
{
    (void)state;
    expect_edge(NULL, "min_m_eff=4", "min_m_eff=5", STATUS_POLICY,
                "policy.min_m_eff: 5 parties, 1 of them perhaps with the server, leave less than "
                "5");
    strcpy(roster.party[2].operator_name, "p4"); /* p3 and p4 are one */
    expect_edge(NULL, "min_m_eff=3", "min_m_eff=4", STATUS_POLICY,
                "policy.min_m_eff: 5 parties, 2 of them perhaps with the server, leave less than "
                "4");
    strcpy(roster.party[1].operator_name, "hub"); /* and p2 is the server's own */
    expect_edge(NULL, "min_m_eff=2", "min_m_eff=3", STATUS_POLICY,
                "policy.min_m_eff: 5 parties, 3 of them perhaps with the server, leave less than "
                "3");
    set.n = 3; /* p4 is absent: p2, and p3 alone */
    expect_edge(NULL, "min_m_eff=1", "min_m_eff=2", STATUS_POLICY,
                "policy.min_m_eff: 3 parties, 2 of them perhaps with the server, leave less than "
                "2");
}

static void test_no_operator_fears_its_own_parties(void **state)
{
    (void)state;
    strcpy(roster.party[2].operator_name, "p1");
    strcpy(roster.party[3].operator_name, "p1");
    expect_edge(NULL, "min_m_eff=4", "min_m_eff=5", STATUS_POLICY,
                "policy.min_m_eff: 5 parties, 1 of them perhaps with the server, leave less than "
                "5");
    set.self = 4; /* seen from p5, p1 has three */
    expect_edge(NULL, "min_m_eff=2", "min_m_eff=3", STATUS_POLICY,
                "policy.min_m_eff: 5 parties, 3 of them perhaps with the server, leave less than "
                "3");
}

static void test_under_clear_nobody_hides_among_others(void **state)
{
    struct config_policy policy = policy_of("aggregations=[clear]", "min_m_eff=5", NULL);

    (void)state;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    expect_accepted(&policy);
    policy = policy_of("aggregations=[clear]", "min_parties=6", NULL);
    expect_refused(&policy, STATUS_POLICY, "policy.min_parties: 5 parties where 6 are the least");
}

/* T + 1 shares say something of a value: no operator may come to hold so many. */
static void test_no_operator_holds_more_shares_than_the_plan_hides_from(void **state)
{
    struct config_policy policy = policy_of("min_m_eff=1", NULL, NULL);

    (void)state;
    plan.protocol.aggregation = AGGREGATION_CODED;
    plan.protocol.coded.privacy = 1;
    expect_accepted(&policy);
    strcpy(roster.party[3].operator_name, "p3");
    expect_refused(&policy, STATUS_POLICY,
                   "the plan's protocol.coded.privacy: shares of 2 parties open a value, and 2 may "
                   "be in one hand");
    plan.protocol.coded.privacy = 2;
    expect_accepted(&policy);
    plan.protocol.aggregation = AGGREGATION_MASKED;
    plan.protocol.coded.privacy = 1;
    expect_accepted(&policy);
}

static void
test_no_operator_holds_more_shares_of_records_than_the_plan_hides_them_from(void **state)
{
    struct config_policy policy = policy_of("min_m_eff=1", NULL, NULL);

    (void)state;
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    plan.protocol.encoding = ENCODING_FIXED;
    plan.protocol.fedvs.privacy = 1;
    expect_accepted(&policy);
    strcpy(roster.party[3].operator_name, "p3");
    expect_refused(&policy, STATUS_POLICY,
                   "the plan's protocol.fedvs.privacy: shares of 2 parties open records, and 2 may "
                   "be in one hand");
    plan.protocol.fedvs.privacy = 2;
    expect_accepted(&policy);
    plan.protocol.coded.privacy = 1; /* another protocol's */
    expect_accepted(&policy);
    plan.protocol.fedvs.privacy = 1;
    plan.protocol.aggregation = AGGREGATION_MASKED;
    expect_accepted(&policy);
}

static void test_only_listed_encodings_are_accepted(void **state)
{
    static const char *const names[] = {"pbm",    "fixed",   "float32", "gaussian",
                                        "scalar", "lattice", "e8",      "topk"};

    (void)state;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        char only[64], others[128] = "encodings=[";

        snprintf(only, sizeof only, "encodings=[%s]", names[e]);
        for (int other = ENCODING_PBM; other < PLAN_ENCODINGS; other++) {
            size_t n = strlen(others);

            if (other != e)
                snprintf(others + n, sizeof others - n, "%s, ", names[other]);
        }
        memcpy(others + strlen(others) - 2, "]", 2);
        plan.protocol.encoding = (enum plan_encoding)e;
        expect_edge("aggregations=[clear]", only, others, STATUS_POLICY,
                    "policy.encodings: the plan's encoding is not among them");
    }
}

static void test_only_listed_aggregations_are_accepted(void **state)
{
    static const char text[] = "policy.aggregations: the plan's aggregation is not among them";

    (void)state;
    expect_edge(NULL, "aggregations=[masked]", "aggregations=[clear]", STATUS_POLICY, text);
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    plan.protocol.encoding = ENCODING_FIXED;
    expect_edge(NULL, "aggregations=[masked, fedvs]", "aggregations=[masked, coded]", STATUS_POLICY,
                text);
    plan.protocol.encoding = ENCODING_PBM;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    expect_edge(NULL, "aggregations=[clear]", "aggregations=[masked]", STATUS_POLICY, text);
}

static void test_clear_is_refused_unless_it_is_asked_for(void **state)
{
    struct config_policy policy = policy_of(NULL, NULL, NULL);

    (void)state;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    expect_refused(&policy, STATUS_POLICY,
                   "policy.aggregations: the plan's aggregation is not among them");
}

static void test_the_learning_rate_is_at_most_the_largest(void **state)
{
    (void)state;
    plan.training.learning_rate = 0.25;
    expect_edge(NULL, "max_learning_rate=0.25", "max_learning_rate=0.2499", STATUS_POLICY,
                "policy.max_learning_rate: 0.25 is over 0.2499");
    expect_edge(NULL, "max_learning_rate=1000", "max_learning_rate=1e-9", STATUS_POLICY,
                "policy.max_learning_rate: 0.25 is over 1e-09");
}

static void test_a_delta_that_gives_a_whole_record_away_is_refused(void **state)
{
    struct config_policy policy = policy_of(NULL, NULL, NULL);

    (void)state;
    plan.shape.train_rows = 9980; /* beside 20 to test */
    plan.privacy.delta = 0.9999e-4;
    expect_accepted(&policy);
    plan.privacy.delta = 1e-4;
    expect_refused(&policy, STATUS_POLICY,
                   "the plan's privacy.delta 0.0001 is not below one over its 10000 rows");
}

/* What an earlier run left in the ledger. */
static void spend(uint64_t releases, uint64_t participations)
{
    struct account_entry *e = &spent[spent_n++];

    *e = policy_mechanism(&plan, &set);
    e->parties = (uint32_t)(PARTIES - spent_n + 1); /* mechanisms of other sets count as well */
    e->releases = releases;
    e->participations_max = participations;
}

static void test_no_record_is_released_more_often_than_allowed(void **state)
{
    (void)state;
    expect_edge(NULL, "max_releases.record=4", "max_releases.record=3", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 4 times, 3 is the most");
    plan.training.evaluate_train = true;
    expect_edge(NULL, "max_releases.record=8", "max_releases.record=7", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 8 times, 7 is the most");
    spend(100, 10);
    spend(50, 3);
    expect_edge(NULL, "max_releases.record=21", "max_releases.record=20", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 21 times, 20 is the most");
    expect_edge(NULL, "max_releases.record=0", "max_releases.record=1", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 21 times, 1 is the most");
}

static void test_a_test_record_that_is_released_more_often_is_the_one_that_counts(void **state)
{
    (void)state;
    plan.training.evaluate_every = 0.5; /* 8 sweeps over 4 epochs */
    expect_edge(NULL, "max_releases.record=8", "max_releases.record=7", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 8 times, 7 is the most");
}

/* With an eighth more, and four: 4 in training, and 4 as a test row, perhaps. */
static void test_of_labelled_rows_what_single_records_have_spent_refuses_nothing(void **state)
{
    (void)state;
    set.lacking = set.repeats.shared = true;
    expect_edge(NULL, "max_releases.record=13", "max_releases.record=12", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 13 times, 12 is the most");
    spend(100, 10);
    spend(50, 3);
    expect_edge(NULL, "max_releases.record=13", "max_releases.record=12", STATUS_BUDGET,
                "policy.max_releases.record: a record would be released 13 times, 12 is the most");
    expect_edge("max_releases.record=13", "max_releases.total=630", "max_releases.total=629",
                STATUS_BUDGET,
                "policy.max_releases.total: 630 releases would be made, 629 is the most");
}

static uint64_t with_repetitions(uint64_t done, uint64_t limit)
{
    struct config_policy policy = policy_of(NULL, NULL, NULL);
    struct agenda_releases releases;
    struct account_entry e;
    uint64_t trained;

    policy.releases_record = limit;
    set.done = done;
    e = policy_planned(&plan, &set, &releases);
    trained = e.participations_max - e.trained_max;
    policy_repetitions(&e, &policy, &plan, &set);
    assert_int_equal(e.participations_max - e.trained_max, trained);
    set.done = 0;
    return e.participations_max;
}

/* Of what three processes before it had reserved and not sent, one release each; whatever limit
 * there is. */
static void test_a_process_that_goes_on_asks_for_no_more_than_the_first_did(void **state)
{
    enum { STEPS = 10 /* of an epoch */ };

    (void)state;
    for (uint32_t epochs = 1; epochs < 80; epochs += 3) {
        const uint64_t many = 2 * (uint64_t)epochs + 64,
                       limits[] = {epochs + 1, 1000, 8 * many - 1, 8 * many, 0};

        plan.training.epochs = epochs;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            const uint64_t first = with_repetitions(0, limits[i]);
            const bool room = limits[i] == 0 || limits[i] >= 8 * many;

            assert_int_equal(first, room ? many : epochs + epochs / 8 + 4);
            for (uint64_t done = 1; done < epochs; done++)
                assert_true(done + 3 + with_repetitions(done * STEPS, limits[i]) <= first);
        }
    }
}

/* Who is left out is settled before the first release, by what the later ones cost. */
static void test_limits_of_a_record_of_labelled_rows_go_with_one_set(void **state)
{
    static const char words[] =
        "policy.max_releases.record, policy.max_epsilon: labelled rows, some of which may not be "
        "here, are released within limits of one record only under straggler wait, and not by "
        "fedvs";
    struct config_policy none = policy_of(NULL, NULL, NULL),
                         limit = policy_of("max_releases.record=1000", NULL, NULL),
                         epsilon = policy_of("max_epsilon.value=1e9", NULL, NULL);

    (void)state;
    set.lacking = set.repeats.shared = true;
    expect_accepted(&limit);
    plan.protocol.straggler = STRAGGLER_DROP;
    expect_accepted(&none);
    expect_refused(&limit, STATUS_POLICY, words);
    expect_refused(&epsilon, STATUS_POLICY, words);
    set.lacking = false;
    expect_accepted(&limit);
}

static void test_all_releases_together_are_at_most_the_total(void **state)
{
    (void)state;
    expect_edge(NULL, "max_releases.total=480", "max_releases.total=479", STATUS_BUDGET,
                "policy.max_releases.total: 480 releases would be made, 479 is the most");
    plan.training.evaluate_train = true; /* and 4 sweeps of 100 */
    expect_edge(NULL, "max_releases.total=880", "max_releases.total=879", STATUS_BUDGET,
                "policy.max_releases.total: 880 releases would be made, 879 is the most");
    spend(1000, 1);
    spend(20, 1);
    expect_edge(NULL, "max_releases.total=1900", "max_releases.total=1899", STATUS_BUDGET,
                "policy.max_releases.total: 1900 releases would be made, 1899 is the most");
    expect_edge(NULL, "max_releases.total=0", "max_releases.total=1", STATUS_BUDGET,
                "policy.max_releases.total: 1900 releases would be made, 1 is the most");
}

/* The claim of the plan and what was spent, put together here. */
static struct account_claim price(enum account_adversary adversary,
                                  enum account_adjacency adjacency)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX + 1];

    memcpy(entries, spent, sizeof spent);
    entries[spent_n] = policy_mechanism(&plan, &set);
    entries[spent_n].releases = 480;
    entries[spent_n].participations_max = 4;
    return account_claim(entries, spent_n + 1,
                         &(struct account_claim){.adversary = adversary, .adjacency = adjacency},
                         plan.privacy.delta);
}

static void expect_epsilon_edge(enum account_adversary adversary, enum account_adjacency adjacency)
{
    struct account_claim claim = price(adversary, adjacency);
    const char *who = account_adversary_name(adversary), *what = account_adjacency_name(adjacency);
    const char *holds = account_adjacency_name(claim.adjacency);
    char first[96], second[96], third[96], text[256];
    struct config_policy policy;
    double edge;

    snprintf(first, sizeof first, "max_epsilon.adversary=%s", who);
    snprintf(second, sizeof second, "max_epsilon.adjacency=%s", what);
    assert_true(isfinite(claim.epsilon) && claim.epsilon > 0);
    edge = claim.epsilon * (1 + 1e-9);
    snprintf(third, sizeof third, "max_epsilon.value=%.17g", edge);
    policy = policy_of(first, second, third);
    expect_accepted(&policy);
    edge = claim.epsilon * (1 - 1e-9);
    snprintf(third, sizeof third, "max_epsilon.value=%.17g", edge);
    policy = policy_of(first, second, third);
    snprintf(text, sizeof text,
             "policy.max_epsilon: against %s (%s) the plan costs epsilon %.4g, %.4g is the most",
             who, holds, claim.epsilon, edge);
    expect_refused(&policy, STATUS_BUDGET, text);
    policy = policy_of(first, second, "max_epsilon.value=0");
    expect_accepted(&policy);
}

/* The limits of each claim of its own. */
static void expect_epsilon_limit(enum account_adversary adversary, const char *what,
                                 enum account_adjacency adjacency)
{
    static const char *const keys[ACCOUNT_ADVERSARIES] = {"server", "server_1", "server_t",
                                                          "all_but_one", "party"};
    struct account_claim claim = price(adversary, adjacency);
    char line[96], text[256];
    struct config_policy policy;
    double edge = claim.epsilon * (1 + 1e-9);

    snprintf(line, sizeof line, "max_epsilon.%s.%s=%.17g", keys[adversary], what, edge);
    policy = policy_of(line, NULL, NULL);
    expect_accepted(&policy);
    edge = claim.epsilon * (1 - 1e-9);
    snprintf(line, sizeof line, "max_epsilon.%s.%s=%.17g", keys[adversary], what, edge);
    snprintf(text, sizeof text,
             "policy.max_epsilon: against %s (%s) the plan costs epsilon %.4g, %.4g is the most",
             account_adversary_name(adversary), account_adjacency_name(claim.adjacency),
             claim.epsilon, edge);
    policy = policy_of(line, "max_epsilon.value=1e9", NULL); /* does not lift another */
    expect_refused(&policy, STATUS_BUDGET, text);
}

static void test_epsilon_is_limited_for_each_claim_of_its_own(void **state)
{
    struct config_policy none = policy_of(NULL, NULL, NULL);

    (void)state;
    assert_false(policy_limits_epsilon(&none));
    for (int a = 0; a < ACCOUNT_ADVERSARIES; a++) {
        expect_epsilon_limit((enum account_adversary)a, "record", ACCOUNT_RECORD_RAW);
        expect_epsilon_limit((enum account_adversary)a, "columns", ACCOUNT_COLUMNS);
        expect_epsilon_limit((enum account_adversary)a, "sample", ACCOUNT_SAMPLE);
    }
}

static void test_epsilon_is_limited_for_each_adversary_and_adjacency(void **state)
{
    (void)state;
    strcpy(roster.party[2].operator_name, "p2"); /* so that two may collude */
    for (int earlier = 0; earlier < 3; earlier++) {
        for (int adversary = 0; adversary < ACCOUNT_ADVERSARIES; adversary++) {
            for (int adjacency = 0; adjacency < ACCOUNT_ADJACENCIES; adjacency++)
                expect_epsilon_edge((enum account_adversary)adversary,
                                    (enum account_adjacency)adjacency);
        }
        spend(2000, 20);
    }
}

static void test_what_is_spent_already_uses_up_epsilon(void **state)
{
    struct account_claim alone = price(ACCOUNT_SERVER, ACCOUNT_RECORD_RAW);
    struct config_policy policy;
    char value[64];

    (void)state;
    snprintf(value, sizeof value, "max_epsilon.value=%.17g", alone.epsilon * 1.01);
    policy = policy_of(value, NULL, NULL);
    expect_accepted(&policy);
    spend(400, 4);
    assert_int_equal(policy_check(&policy, &plan, &set, spent, spent_n, NULL), STATUS_BUDGET);
    spent_n = 0;
    expect_accepted(&policy);
}

/* Records of earlier runs count too (threats B13). */
static void test_epsilon_is_judged_at_a_delta_for_all_records_of_the_ledger(void **state)
{
    struct account_claim claim = price(ACCOUNT_SERVER, ACCOUNT_RECORD_RAW);
    struct config_policy policy;
    char value[64];

    (void)state;
    snprintf(value, sizeof value, "max_epsilon.value=%.17g", claim.epsilon * 1.001);
    policy = policy_of(value, NULL, NULL);
    set.records = 99999;
    expect_accepted(&policy);
    set.records = 100000;
    assert_int_equal(policy_check(&policy, &plan, &set, spent, spent_n, NULL), STATUS_BUDGET);
}

static void test_releases_without_noise_pass_no_epsilon(void **state)
{
    struct config_policy policy = policy_of("max_epsilon.value=1e9", NULL, NULL);

    (void)state;
    expect_accepted(&policy);
    plan.protocol.encoding = ENCODING_FIXED;
    expect_refused(&policy, STATUS_BUDGET,
                   "policy.max_epsilon: against server (record_raw) the plan costs epsilon inf, "
                   "1e+09 is the most");
}

static void test_a_full_ledger_is_still_priced(void **state)
{
    struct config_policy policy = policy_of("max_releases.total=1503", NULL, NULL);

    (void)state;
    for (spent_n = 0; spent_n < ACCOUNT_MECHANISMS_MAX; spent_n++) {
        spent[spent_n] = policy_mechanism(&plan, &set);
        spent[spent_n].trials = (uint32_t)(1 + spent_n % 64);
        spent[spent_n].beta /= (double)(1 + spent_n / 64);
        spent[spent_n].releases = spent[spent_n].participations_max = 1;
    }
    expect_refused(&policy, STATUS_BUDGET,
                   "policy.max_releases.total: 1504 releases would be made, 1503 is the most");
    policy = policy_of("max_releases.total=1504", "max_epsilon.value=1e9", NULL);
    expect_accepted(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup(t, set_up)
        TEST(test_the_defaults_accept_the_default_plan),
        TEST(test_the_set_has_at_least_min_parties),
        TEST(test_enough_parties_are_left_when_one_operator_helps_the_server),
        TEST(test_no_operator_fears_its_own_parties),
        TEST(test_under_clear_nobody_hides_among_others),
        TEST(test_no_operator_holds_more_shares_than_the_plan_hides_from),
        TEST(test_no_operator_holds_more_shares_of_records_than_the_plan_hides_them_from),
        TEST(test_only_listed_encodings_are_accepted),
        TEST(test_only_listed_aggregations_are_accepted),
        TEST(test_clear_is_refused_unless_it_is_asked_for),
        TEST(test_the_learning_rate_is_at_most_the_largest),
        TEST(test_a_delta_that_gives_a_whole_record_away_is_refused),
        TEST(test_no_record_is_released_more_often_than_allowed),
        TEST(test_a_test_record_that_is_released_more_often_is_the_one_that_counts),
        TEST(test_of_labelled_rows_what_single_records_have_spent_refuses_nothing),
        TEST(test_a_process_that_goes_on_asks_for_no_more_than_the_first_did),
        TEST(test_limits_of_a_record_of_labelled_rows_go_with_one_set),
        TEST(test_all_releases_together_are_at_most_the_total),
        TEST(test_epsilon_is_limited_for_each_claim_of_its_own),
        TEST(test_epsilon_is_limited_for_each_adversary_and_adjacency),
        TEST(test_what_is_spent_already_uses_up_epsilon),
        TEST(test_epsilon_is_judged_at_a_delta_for_all_records_of_the_ledger),
        TEST(test_releases_without_noise_pass_no_epsilon),
        TEST(test_a_full_ledger_is_still_priced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
