/* test_persons.c -- persons with many rows: what a plan costs them, counted out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"
#include "party/persons.h"
#include "party/policy.h"
#include "party/price.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/config.h"
#include "common/data/schedule.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TRAIN = 60, TEST = 10, PERSONS = 7, BATCH = 8 };

/* Row i of either table is of person i * i % PERSONS, as `who-...`. */
static void make(struct persons *p)
{
    struct group g = {.rows = TRAIN + TEST};
    struct error err = {0};

    g.at = mem_alloc(g.rows, sizeof *g.at);
    CHECK(g.at != NULL);
    buf_init(&g.text, 4096);
    for (size_t i = 0; i < g.rows; i++) {
        const size_t row = i < TRAIN ? i : i - TRAIN;
        char name[16];

        snprintf(name, sizeof name, "who-%zu", row * row % PERSONS);
        g.at[i] = (uint32_t)g.text.len;
        assert_int_equal(buf_append(&g.text, name, strlen(name) + 1), STATUS_OK);
    }
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    assert_int_equal(persons_init(p, &g, TRAIN, &err), STATUS_OK);
}

static void make_plan(struct plan *plan, const char *batch, const char *seed)
{
    char sets[3][64];
    const char *const all[] = {"listen=127.0.0.1:0",
                               "identity.cert=x",
                               "identity.key=x",
                               "identity.ca=x",
                               "roster=x",
                               "state=x",
                               "labels.train=x",
                               sets[0],
                               sets[1],
                               sets[2]};
    struct config_server *c = mem_alloc(1, sizeof *c);
    struct error err = {0};

    CHECK(c != NULL);
    snprintf(sets[0], sizeof sets[0], "training.batch=%s", batch);
    snprintf(sets[1], sizeof sets[1], "training.seed=%s", seed);
    snprintf(sets[2], sizeof sets[2], "training.epochs=3");
    if (config_load_server(c, NULL, all, 10, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    *plan = c->plan;
    plan->model.task = TASK_BINARY;
    plan->shape.parties = 3;
    plan->shape.train_rows = TRAIN;
    plan->shape.test_rows = TEST;
    plan->shape.outputs = 2;
    mem_free(c);
}

/* Counted with names instead of numbers, over the whole schedule. */
static uint32_t counted(const struct plan *plan, uint32_t batch)
{
    struct schedule s;
    struct agenda agenda;
    uint32_t most = 0;

    assert_int_equal(schedule_init(&s, plan->training.seed, TRAIN, batch, 1), STATUS_OK);
    agenda_make(&agenda, plan);
    for (uint64_t step = 0; step < agenda.steps; step++) {
        uint32_t n, here[PERSONS] = {0};
        const uint32_t *row = schedule_batch(&s, step, &n);

        for (uint32_t i = 0; i < n; i++) {
            uint32_t *count = &here[(uint64_t)row[i] * row[i] % PERSONS];

            most = ++*count > most ? *count : most;
        }
    }
    schedule_deinit(&s);
    return most;
}

static void test_rows_of_one_person_in_a_batch_are_counted_over_the_schedule(void **state)
{
    static const char *const batches[] = {"1", "2", "5", "8", "60"};
    struct persons p;
    struct plan plan;
    struct error err = {0};
    bool below = false;

    (void)state;
    make(&p);
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        for (int seed = 1; seed < 20; seed++) {
            char text[8];
            uint32_t got;

            snprintf(text, sizeof text, "%d", seed);
            make_plan(&plan, batches[b], text);
            assert_int_equal(persons_together(&got, &p, &plan, 0, &err), STATUS_OK);
            assert_int_equal(got, counted(&plan, plan.training.batch));
            below |= got < p.most && got < plan.training.batch;
        }
    }
    assert_true(below); /* the schedule was looked at, not only what a batch can hold */
    persons_deinit(&p);
}

static void test_without_a_seed_it_is_what_a_batch_can_hold(void **state)
{
    struct persons p;
    struct plan plan;
    struct error err = {0};
    uint32_t got;

    (void)state;
    make(&p);
    make_plan(&plan, "8", "1");
    plan.training.seed_given = false;
    assert_int_equal(persons_together(&got, &p, &plan, 0, &err), STATUS_OK);
    assert_int_equal(got, 8);
    make_plan(&plan, "60", "1");
    plan.training.seed_given = false;
    assert_int_equal(persons_together(&got, &p, &plan, 0, &err), STATUS_OK);
    assert_int_equal(got, p.most);
    persons_deinit(&p);
}

/* Rows of a person: i * i % 7 is 0, 1, 2 or 4. */
static void test_releases_of_all_rows_of_a_person_count(void **state)
{
    const struct agenda_releases r = {
        .train_record_max = 5, .trained_max = 3, .test_record_max = 2};
    uint32_t train[PERSONS] = {0}, test[PERSONS] = {0};
    uint64_t participations, trained, want = 0, want_trained = 0;
    struct persons p;

    (void)state;
    make(&p);
    for (unsigned i = 0; i < TRAIN; i++)
        train[i * i % PERSONS]++;
    for (unsigned i = 0; i < TEST; i++)
        test[i * i % PERSONS]++;
    for (unsigned i = 0; i < PERSONS; i++) {
        want = train[i] * 5 + test[i] * 2 > want ? train[i] * 5 + test[i] * 2 : want;
        want_trained = train[i] * 3 > want_trained ? train[i] * 3 : want_trained;
    }
    persons_releases(&p, &r, &participations, &trained);
    assert_int_equal(participations, want);
    assert_int_equal(trained, want_trained);
    assert_int_equal(p.group.n, 4);
    persons_deinit(&p);
}

/* --- a policy judges persons --- */

static struct account_entry priced(const struct plan *plan, const struct persons *p,
                                   enum account_bottom bottom)
{
    static struct roster roster = {.n = 3};
    static const uint8_t members[] = {0, 1, 2};
    struct policy_set set = {.roster = &roster,
                             .members = members,
                             .n = 3,
                             .bottom = {bottom, bottom == ACCOUNT_DP ? 15 : 0},
                             .persons = p};
    struct agenda_releases r;
    struct error err = {0};

    for (size_t i = 0; i < 3; i++) {
        snprintf(roster.party[i].name, sizeof roster.party[i].name, "p%zu", i);
        snprintf(roster.party[i].operator_name, sizeof roster.party[i].operator_name, "p%zu", i);
    }
    if (p != NULL)
        assert_int_equal(persons_together(&set.together, p, plan, 0, &err), STATUS_OK);
    return policy_planned(plan, &set, &r);
}

static void test_a_plan_is_priced_for_persons_by_all_their_rows(void **state)
{
    struct persons p;
    struct plan plan;
    struct account_entry records, persons;
    const struct account_claim which = {.adversary = ACCOUNT_SERVER,
                                        .adjacency = ACCOUNT_RECORD_RAW};

    (void)state;
    make(&p);
    make_plan(&plan, "8", "1");
    for (int bottom = ACCOUNT_FROZEN; bottom <= ACCOUNT_DP; bottom++) {
        struct account_claim a, b;

        records = priced(&plan, NULL, (enum account_bottom)bottom);
        persons = priced(&plan, &p, (enum account_bottom)bottom);
        assert_false(records.persons);
        assert_true(persons.persons);
        assert_int_equal(persons.releases, records.releases); /* nothing that leaves changes */
        assert_true(persons.participations_max > 5 * records.participations_max);
        if (bottom == ACCOUNT_DP)
            assert_int_equal(persons.together, counted(&plan, 8));
        a = account_claim(&records, 1, &which, 1e-5);
        b = account_claim(&persons, 1, &which, 1e-5);
        assert_true(b.epsilon > a.epsilon);
        assert_int_equal(b.adjacency,
                         bottom == ACCOUNT_DP ? ACCOUNT_PERSON_DP : ACCOUNT_PERSON_FROZEN);
    }
    persons_deinit(&p);
}

/* --- and the ledger counts them --- */

static float values[4];
static char ids[] = "a\0b\0c\0d";
static uint32_t at[] = {0, 2, 4, 6};
static uint8_t digest[LEDGER_DIGEST_BYTES];

static void forget_the_ledger(void)
{
    (void)!remove(scratch_path("ledger.db"));
    (void)!remove(scratch_path("ledger.begun"));
    (void)!remove(scratch_path("ledger.key"));
}

/* Rows a, b are of one person, c of another; d, the test row, is the first one's, too. */
static enum status charge(bool grouped, uint64_t record_max, const uint32_t *rows, size_t n,
                          struct ledger_totals *totals)
{
    static const char names[] = "x\0x\0y\0x";
    struct party_inputs in = {
        .train = {.rows = 3, .cols = 1, .x = values, .id_text = ids, .id_at = at},
        .test = {.rows = 1, .cols = 1, .x = values, .id_text = ids, .id_at = at + 3}};
    struct action_charge c = {
        .mechanism = {.kind = ACCOUNT_PBM,
                      .trials = 4,
                      .beta = 0.1,
                      .bottom = ACCOUNT_FROZEN,
                      .coordinates = 2,
                      .parties = 3,
                      .colluders = 1,
                      .persons = grouped},
        .purpose = PURPOSE_TRAIN,
        .plan = digest,
        .rounds = 1,
        .rows = rows,
        .n = n,
    };
    struct group g = {.rows = 4};
    struct books b;
    struct error err = {0};
    enum status s;

    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    in.config.policy.releases_record = record_max;
    if (grouped) {
        g.at = mem_alloc(4, sizeof *g.at);
        CHECK(g.at != NULL);
        memcpy(g.at, at, sizeof at);
        buf_init(&g.text, 64);
        assert_int_equal(buf_append(&g.text, names, sizeof names), STATUS_OK);
        assert_int_equal(group_number(&g, &err), STATUS_OK);
        assert_int_equal(persons_init(&in.persons, &g, 3, &err), STATUS_OK);
    }
    forget_the_ledger();
    if (books_open(&b, &in, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    s = books_charge(&b, &c, &err);
    ledger_totals(b.ledger, totals);
    books_close(&b);
    persons_deinit(&in.persons);
    return s;
}

static void test_the_ledger_counts_a_persons_rows_as_one(void **state)
{
    static const uint32_t rows[] = {0, 1, 2};
    struct ledger_totals t;

    (void)state;
    assert_int_equal(charge(false, 0, rows, 3, &t), STATUS_OK);
    assert_int_equal(t.participations_max, 1);
    assert_int_equal(t.records, 4);
    assert_int_equal(charge(true, 0, rows, 3, &t), STATUS_OK);
    assert_int_equal(t.participations_max, 2);
    assert_int_equal(t.records, 2); /* the test row is nobody new */
    assert_int_equal(t.releases[LEDGER_TRAIN], 3);
}

static void test_the_limit_of_a_record_is_a_persons_then(void **state)
{
    static const uint32_t rows[] = {0, 1, 2};
    struct ledger_totals t;

    (void)state;
    assert_int_equal(charge(false, 1, rows, 3, &t), STATUS_OK);
    assert_int_equal(charge(true, 1, rows, 3, &t), STATUS_BUDGET);
    assert_int_equal(t.releases[LEDGER_TRAIN], 0);
    assert_int_equal(charge(true, 2, rows, 3, &t), STATUS_OK);
}

/* --- predictions --- */

static struct party_inputs predicting;

/* A model of three parties, and rows a..d of which a, b and d are one person's. */
static void make_predicting(void)
{
    static const char names[] = "x\0x\0y\0x";
    struct party_inputs *in = &predicting;
    struct group g = {.rows = 4};
    struct error err = {0};

    *in = (struct party_inputs){
        .test = {.rows = 4, .cols = 1, .x = values, .id_text = ids, .id_at = at}};
    in->roster.n = 3;
    config_party_defaults(&in->config);
    snprintf(in->config.state, sizeof in->config.state, "%s", scratch_dir());
    make_plan(&in->model.plan, "8", "1");
    in->model.made = ACCOUNT_FROZEN;
    g.at = mem_alloc(4, sizeof *g.at);
    CHECK(g.at != NULL);
    memcpy(g.at, at, sizeof at);
    buf_init(&g.text, 64);
    assert_int_equal(buf_append(&g.text, names, sizeof names), STATUS_OK);
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    assert_int_equal(persons_init(&in->persons, &g, 0, &err), STATUS_OK);
    forget_the_ledger();
}

/* Of all rows, by what -n made of them. */
static enum status charge_predictions(const struct price *price, struct ledger_totals *totals)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    const struct action_charge c = {.mechanism = price->entry,
                                    .purpose = PURPOSE_EVALUATE_TEST,
                                    .predicts = true,
                                    .plan = digest,
                                    .rounds = 1,
                                    .rows = all,
                                    .n = 4,
                                    .places = 4};
    struct error err = {0};
    struct books b;
    enum status s;

    if (books_open(&b, &predicting, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    s = books_charge(&b, &c, &err);
    ledger_totals(b.ledger, totals);
    books_close(&b);
    return s;
}

static void test_predictions_are_priced_as_the_ledger_charges_them(void **state)
{
    struct error err = {0};
    struct ledger_totals t;
    struct price price;
    struct buf said;

    (void)state;
    make_predicting();
    if (price_predictions(&price, &predicting, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(charge_predictions(&price, &t), STATUS_OK);
    assert_int_equal(t.participations_max, 3);
    assert_int_equal(price.entry.participations_max, t.participations_max);
    assert_int_equal(price.entry.releases, t.releases[LEDGER_PREDICT]);
    buf_init(&said, 1 << 16);
    assert_int_equal(price_print_predictions(&price, &predicting, &said), STATUS_OK);
    assert_int_equal(buf_append(&said, "", 1), STATUS_OK);
    assert_non_null(strstr((char *)said.data, "2 persons; one has at most 3 of the rows"));
    buf_deinit(&said);
    persons_deinit(&predicting.persons);
}

static void test_a_limit_that_the_ledger_keeps_is_refused_by_the_price(void **state)
{
    (void)state;
    for (uint64_t most = 2; most <= 3; most++) {
        struct error err = {0};
        struct ledger_totals t;
        struct price price;
        struct buf said;

        make_predicting();
        predicting.config.policy.releases_record = most;
        assert_int_equal(price_predictions(&price, &predicting, &err), STATUS_OK);
        buf_init(&said, 1 << 16);
        assert_int_equal(price_print_predictions(&price, &predicting, &said), STATUS_OK);
        assert_int_equal(buf_append(&said, "", 1), STATUS_OK);
        assert_int_equal(strstr((char *)said.data, "policy accepts all") != NULL, most == 3);
        assert_int_equal(charge_predictions(&price, &t), most == 3 ? STATUS_OK : STATUS_BUDGET);
        buf_deinit(&said);
        persons_deinit(&predicting.persons);
    }
}

static void test_no_more_rows_of_a_person_are_priced_than_are_asked_for(void **state)
{
    (void)state;
    make_predicting();
    assert_int_equal(persons_predicted(&predicting.persons, 2), 2);
    assert_int_equal(persons_predicted(&predicting.persons, 3), 3);
    assert_int_equal(persons_predicted(&predicting.persons, 4), 3);
    persons_deinit(&predicting.persons);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_one_person_in_a_batch_are_counted_over_the_schedule),
        cmocka_unit_test(test_without_a_seed_it_is_what_a_batch_can_hold),
        cmocka_unit_test(test_releases_of_all_rows_of_a_person_count),
        cmocka_unit_test(test_a_plan_is_priced_for_persons_by_all_their_rows),
        cmocka_unit_test(test_the_ledger_counts_a_persons_rows_as_one),
        cmocka_unit_test(test_the_limit_of_a_record_is_a_persons_then),
        cmocka_unit_test(test_predictions_are_priced_as_the_ledger_charges_them),
        cmocka_unit_test(test_a_limit_that_the_ledger_keeps_is_refused_by_the_price),
        cmocka_unit_test(test_no_more_rows_of_a_person_are_priced_than_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
