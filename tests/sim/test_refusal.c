/* test_refusal.c -- what a party that refuses tells the server: which rule, and nothing of what is
 * in its files, of where they lie, or of what its machine said; its own end says that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECRET "/xyzzy"

enum { WHO = 1 };

/* All keys of a party that name a file of its own. */
static struct sim_options private_files(void)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 14,
        .checkpoint_rounds = 2,
        .party_sets = {"state=" SECRET "/state", "state_key=" SECRET "/key",
                       "identity.cert=" SECRET "/cert", "identity.key=" SECRET "/id",
                       "identity.ca=" SECRET "/ca", "identity.crl=" SECRET "/crl",
                       "roster=" SECRET "/roster", "data.train=" SECRET "/train",
                       "data.test=" SECRET "/test", "data.labels.train=" SECRET "/labels",
                       "model.load=" SECRET "/load"},
    };
}

/* --- faults --- */

static void load(struct sim *s, const void *bytes, size_t n)
{
    s->party[WHO].session->setup.start.weights = bytes;
    s->party[WHO].session->setup.start.weights_n = n;
}

static void load_short(struct sim *s)
{
    load(s, "xyzzy", 5);
}

static void load_strange(struct sim *s)
{
    static const char file[] = "\x42\0\0\0\0\0\0\0"
                               "{\"xyzzy.weight\":{\"dtype\":\"F32\",\"shape\":[1],"
                               "\"data_offsets\":[0,4]}}      \0\0\0\0";

    load(s, file, sizeof file - 1);
}

static void noise_without_grid(struct sim *s)
{
    struct config_party *c = &s->party[WHO].config;

    c->train = TRAIN_DP;
    c->noise = 31415.9;
    c->clip = 2.71828e-32;
}

static void in_the_run(struct sim *s)
{
    for (uint64_t us = 100; expect_count(s, "p2: upload\n") < 3 && us < HOUR_US; us += 100)
        sim_run(s, us);
    assert_int_equal(expect_count(s, "p2: upload\n"), 3);
    s->party[WHO].disk.durable_us = 0;
}

static void disk_full(struct sim *s)
{
    struct error full = {STATUS_IO, SECRET "/state/ledger.db: no space left (xyzzy)"};

    in_the_run(s);
    world_kept(s, WHO, &full);
}

/* Said, it would be of a plan that asks for more than the records' features leave room for. */
static void memory_short(struct sim *s)
{
    struct error few = {STATUS_MEMORY, "no memory for a checkpoint"};

    in_the_run(s);
    world_kept(s, WHO, &few);
}

static void ledger_named(struct sim *s)
{
    struct error lost = {STATUS_POLICY, "ledger: " SECRET "/state/ledger.db ends at 0"};

    in_the_run(s);
    world_kept(s, WHO, &lost);
}

/* Its text is cut before the path is at its end. */
static void ledger_deep(struct sim *s)
{
    struct config_party *c = &s->party[WHO].config;
    struct error lost;

    snprintf(c->state, sizeof c->state, SECRET "/%0*d", CONFIG_PATH_MAX - 32, 0);
    error_set(&lost, STATUS_POLICY, "ledger: %s/ledger.db ends at 0", c->state);
    in_the_run(s);
    world_kept(s, WHO, &lost);
}

static void budget_spent(struct sim *s)
{
    struct error spent = {STATUS_BUDGET,
                          "policy.max_releases.record: a record would reach 12 releases (xyzzy)"};

    in_the_run(s);
    world_kept(s, WHO, &spent);
}

static void ledger_full(struct sim *s)
{
    struct error full = {STATUS_BUDGET, "the ledger has accounts for 9 mechanisms (xyzzy)"};

    in_the_run(s);
    world_kept(s, WHO, &full);
}

/* By the price of the plan, before anything is sent. */
static void budget_short(struct sim *s)
{
    s->party[WHO].config.policy.releases_record = 1;
}

static void epsilon_short(struct sim *s)
{
    struct config_policy *policy = &s->party[WHO].config.policy;

    policy->epsilon_adversary = ADVERSARY_SERVER;
    policy->epsilon_adjacency = ADJACENCY_RECORD_RAW;
    policy->epsilon_value = 1e-6;
}

static const struct fault {
    void (*make)(struct sim *s);
    const char *told; /* to the server */
    const char *own;  /* in the party's own end */
    int exit_code;
} faults[] = {
    {load_short, "model.load: not the weights of this bottom", "model.load: ", 2},
    {load_strange, "model.load: not the weights of this bottom", "model.load: ", 2},
    {noise_without_grid, "model.noise: no grid for this bottom", "model.noise: ", 2},
    {disk_full, "", "no space left (xyzzy)", 6},
    {memory_short, "", "no memory for a checkpoint", 6},
    {budget_spent, "policy.max_releases.record: over its limit", "would reach 12 releases", 5},
    {ledger_full, "refused by privacy budget", "accounts for 9 mechanisms", 5},
    {budget_short, "policy.max_releases.record: over its limit", " times, 1 is the most", 5},
    {epsilon_short, "policy.max_epsilon: over its limit", "the plan costs epsilon ", 5},
    {ledger_named, "refused by policy", SECRET "/state/ledger.db ends at 0", 5},
    {ledger_deep, "refused by policy", SECRET "/000", 5},
};

static void heard(struct wire_msg *m, void *owner)
{
    snprintf(owner, WIRE_TEXT_MAX + 1, "%s", m->refuse.text);
}

static void test_a_refusal_says_nothing_of_private_files_or_of_the_ledger(void **state)
{
    struct sim_options o = private_files();

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *f = &faults[i];
        char text[WIRE_TEXT_MAX + 1] = "";
        struct sim *s = sim_new(&o);
        const struct sim_end *end = sim_party_end(s, WHO);

        sim_rule(
            s,
            (struct sim_rule){
                .act = SIM_ALTER, .from = WHO, .kind = WIRE_REFUSE, .alter = heard, .owner = text});
        f->make(s);
        sim_run(s, HOUR_US);
        assert_true(end->over);
        assert_int_equal(status_exit_code(end->error.status), f->exit_code);
        assert_string_equal(text, f->told);
        assert_non_null(strstr(end->error.text, f->own));
        assert_null(strstr(sim_server_end(s)->error.text, "xyzzy"));
        sim_free(s);
    }
}

/* The negative twin: what the plan and the policy have to do with each other is said. */
static void test_a_refusal_says_which_rule_of_the_policy(void **state)
{
    struct sim_options o = private_files();
    char text[WIRE_TEXT_MAX + 1] = "";
    struct sim *s = sim_new(&o);

    (void)state;
    s->party[WHO].config.policy.min_parties = 9;
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = WHO, .kind = WIRE_REFUSE, .alter = heard, .owner = text});
    sim_run(s, HOUR_US);
    assert_string_equal(text, "policy.min_parties: 3 parties where 9 are the least");
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_says_nothing_of_private_files_or_of_the_ledger),
        cmocka_unit_test(test_a_refusal_says_which_rule_of_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
