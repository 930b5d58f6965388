/* test_price_holds.c -- a price that is accepted is enough: what `vfl-party -n` takes at a limit,
 * the ledger takes at the same limit to the last round, and what it holds then is within it.
 *
 * Plans and tables are drawn; a limit is the price itself, to the last bit.  The plan is then
 * walked as a run walks it, in the blocks of charge.c, into the party's books.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"
#include "party/price.h"
#include "party/train/purse.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/flow/mechanism.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PARTIES = 5, TRAIN_MAX = 320, TEST_MAX = 60, PREDICT_MAX = 200, ID_BYTES = 8 };
enum { SEEDS = 48, PLANS = 3 };

static struct rng rng;
static struct party_inputs in;
static struct price price;
static char ids[2][TRAIN_MAX * ID_BYTES];
static uint32_t id_at[TRAIN_MAX];
static float values[TRAIN_MAX];

static uint32_t draw(uint32_t below)
{
    return (uint32_t)rng_below(&rng, below);
}

/* --- what is drawn --- */

static struct table rows_of(int which, unsigned first, size_t rows)
{
    for (uint32_t i = 0; i < TRAIN_MAX; i++) {
        id_at[i] = i * ID_BYTES;
        snprintf(ids[which] + id_at[i], ID_BYTES, "%u", first + i);
    }
    return (struct table){
        .rows = rows, .cols = 1, .x = values, .id_text = ids[which], .id_at = id_at};
}

/* A row is of the person that its id says, in whatever table. */
static void name_persons(const struct table *t, struct group *g, unsigned persons)
{
    for (size_t i = 0; i < t->rows; i++) {
        char name[16];

        snprintf(name, sizeof name, "who-%lu", strtoul(table_id(t, i), NULL, 10) % persons);
        g->at[g->rows++] = (uint32_t)g->text.len;
        assert_int_equal(buf_append(&g->text, name, strlen(name) + 1), STATUS_OK);
    }
}

static void group_rows(unsigned persons)
{
    struct group g = {.rows = 0};
    struct error err = {0};

    persons_deinit(&in.persons);
    if (persons == 0)
        return;
    g.at = mem_alloc(in.train.rows + in.test.rows, sizeof *g.at);
    CHECK(g.at != NULL);
    buf_init(&g.text, 1 << 16);
    name_persons(&in.train, &g, persons);
    name_persons(&in.test, &g, persons);
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    assert_int_equal(persons_init(&in.persons, &g, in.train.rows, &err), STATUS_OK);
}

/* A party of a federation of five, without a ledger so far. */
static void draw_party(uint64_t seed)
{
    static const char *const files[] = {"ledger.db", "ledger.begun", "ledger.key"};
    uint8_t key[RNG_KEY_BYTES];

    rng_deinit(&rng);
    rng_seed_key(key, seed, 0, "price", 0);
    assert_int_equal(rng_init_key(&rng, key), STATUS_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        remove(scratch_path(files[i]));
    persons_deinit(&in.persons);
    memset(&in, 0, sizeof in);
    strcpy(in.roster.server.operator_name, "hub");
    for (in.roster.n = 0; in.roster.n < PARTIES; in.roster.n++)
        snprintf(in.roster.party[in.roster.n].operator_name, WIRE_NAME_MAX, "p%zu", in.roster.n);
    config_party_defaults(&in.config);
    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    in.config.train = (enum config_train[]){TRAIN_FROZEN, TRAIN_DP, TRAIN_RAW}[draw(3)];
    in.config.noise = 4 + draw(20);
    in.config.policy.aggregation[AGGREGATION_CLEAR] = true;
    strcpy(in.config.scale, "none");
    in.self = draw(PARTIES);
}

/* Some test rows may be training rows, too. */
static void draw_tables(void)
{
    const uint32_t train = 20 + draw(TRAIN_MAX - 19), test = draw(TEST_MAX + 1);

    in.predicts = false;
    in.train = rows_of(0, 1000, train);
    in.test = rows_of(1, 1000 + (draw(2) ? train - draw(10) : TRAIN_MAX), test);
}

static const char *draw_plan(void)
{
    static char text[1024];
    const bool once = in.config.train == TRAIN_FROZEN && draw(3) == 0;
    const uint32_t batch = draw(2) ? 1 + draw(3) : 1 + draw((uint32_t)in.train.rows);

    snprintf(text, sizeof text,
             "protocol: {%s%s}\n"
             "model: {embedding: 2}\n"
             "training: {epochs: %g, batch: %u, releases: %s, evaluate_every: %g, "
             "evaluate_train: %s}\n",
             draw(4) ? "pbm: {trials: 4, beta: 0.01}"
                     : "encoding: gaussian, gaussian: {match: sigma, sigma: 30}",
             !once && draw(4) == 0 ? ", local_order: sequential, aggregation: clear" : "",
             0.25 * (1 + draw(10)), batch, once ? "once" : "every_epoch", 0.5 * draw(4),
             !once && draw(2) ? "true" : "false");
    return scratch_write_text("plan.yaml", text);
}

/* --- the price, and a limit that is just that --- */

static size_t priced(struct account_entry all[ACCOUNT_MECHANISMS_MAX + 1])
{
    memcpy(all, price.spent, price.spent_n * sizeof *all);
    all[price.spent_n] = price.entry;
    return price.spent_n + 1;
}

static double claim_of(const struct account_entry *entries, size_t n, enum account_adversary by)
{
    const struct account_claim which = {
        .adversary = by, .adjacency = ACCOUNT_RECORD_RAW, .t = plan_withstands(&price.plan)};

    return account_claim(entries, n, &which, price.delta).epsilon;
}

/* One of the limits there are, so that it is `share` of what the price says. */
static void limit_to(double share, enum account_adversary by)
{
    struct account_entry all[ACCOUNT_MECHANISMS_MAX + 1];
    const size_t n = priced(all);
    struct config_policy *policy = &in.config.policy;

    memset(policy->epsilon_max, 0, sizeof policy->epsilon_max);
    policy->epsilon_value = 0;
    policy->epsilon_max[by][LIMITED_RECORD] = share * claim_of(all, n, by);
    policy->releases_record = policy->releases_total = 0;
    for (size_t i = 0; i < n; i++) {
        policy->releases_record += all[i].participations_max;
        policy->releases_total += all[i].releases;
    }
}

static bool accepted(bool predicts)
{
    struct buf said;
    bool yes;

    if (!predicts)
        return price_judge(&price, &in, NULL) == STATUS_OK;
    buf_init(&said, 1 << 18);
    assert_int_equal(price_print_predictions(&price, &in, &said), STATUS_OK);
    assert_int_equal(buf_append(&said, "", 1), STATUS_OK);
    yes = strstr((char *)said.data, "policy accepts all of them") != NULL;
    buf_deinit(&said);
    return yes;
}

/* The smallest limit that the price is accepted at, but for a little; less is refused. */
static void limit_to_the_price(bool predicts)
{
    const enum account_adversary by = draw(2) ? ACCOUNT_SERVER : ACCOUNT_SERVER_1;

    limit_to(1 - 1e-9, by);
    assert_false(accepted(predicts));
    for (int k = 0; k < 40; k++) {
        limit_to(1 + (k == 0 ? 0 : 1e-16 * (double)(UINT64_C(1) << k)), by);
        if (accepted(predicts))
            return;
    }
    fail_msg("no limit is enough");
}

/* --- the books --- */

/* What the ledger holds stays within the limits, whatever is charged. */
static void check_within(const struct books *b)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    const size_t n = books_entries(b, entries);
    const struct policy_terms terms = {.delta = b->delta, .withstands = b->withstands};
    struct policy_excess e;

    if (policy_exceeded(&e, &in.config.policy, entries, n, &terms))
        fail_msg("epsilon %.17g is held, %.17g is the most", e.claim.epsilon, e.most);
}

static void open_books(struct books *b, const struct plan *plan)
{
    struct error err = {0};

    if (books_open(b, &in, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(price.records >= books_records(b));
    books_judge(b, plan);
    assert_true(price.delta <= b->delta);
}

static void pay(struct books *b, const struct action_charge *c)
{
    struct error err = {0};

    if (books_charge(b, c, &err) != STATUS_OK)
        fail_msg("refused though it was accepted: %s", err.text);
    check_within(b);
}

/* --- a run --- */

struct walk {
    struct books books;
    struct party_course course;
    struct party_purse purse;
};

static void begin_walk(struct walk *w)
{
    struct policy_set set = price.set;
    struct plan *plan = &w->course.plan;
    struct agenda_releases planned;

    *plan = price.plan;
    plan->training.seed = draw(1000); /* the server's, which the price did not know */
    plan->training.seed_given = true;
    plan->training.weight_decay_given = true;
    w->course.self = in.self;
    agenda_make(&w->course.agenda, plan);
    assert_int_equal(schedule_init(&w->course.schedule, agenda_seed(plan, in.self),
                                   plan->shape.train_rows, plan->training.batch, 1),
                     STATUS_OK);
    assert_int_equal(party_purse_make_room(&w->purse, plan), STATUS_OK);
    if (persons_named(&in.persons))
        assert_int_equal(persons_together(&set.together, &in.persons, plan, in.self, NULL),
                         STATUS_OK);
    w->purse.mechanism = policy_planned(plan, &set, &planned);
    open_books(&w->books, plan);
}

static void end_walk(struct walk *w)
{
    books_close(&w->books);
    party_purse_deinit(&w->purse);
    schedule_deinit(&w->course.schedule);
    mem_free(w);
}

static void round_of(struct walk *w, struct party_task t)
{
    static struct actions actions;

    actions.n = 0;
    t.open = true;
    if (!party_reserved(&w->purse, &w->course, &t, &actions)) {
        assert_int_equal(actions.n, 1);
        pay(&w->books, &actions.item[0].charge);
    }
}

static void sweep(struct walk *w, enum wire_purpose purpose, uint64_t number)
{
    const uint32_t places = agenda_places(&w->course.plan, purpose == PURPOSE_EVALUATE_TEST);
    const uint32_t most = agenda_round_places(&w->course.plan);

    for (uint32_t at = 0; at < places; at += most)
        round_of(w, (struct party_task){.purpose = purpose,
                                        .place = at,
                                        .sweep = number,
                                        .coded = places - at < most ? places - at : most});
}

static void walk_the_plan(void)
{
    struct walk *w = mem_alloc(1, sizeof *w);
    const struct agenda *a = &w->course.agenda;
    uint64_t sweeps = 0;

    CHECK(w != NULL);
    begin_walk(w);
    for (uint64_t step = 0; step < a->steps; step++) {
        round_of(w, (struct party_task){.purpose = PURPOSE_TRAIN, .place = step});
        if (!agenda_due(a, step + 1))
            continue;
        sweeps++;
        if (w->course.plan.training.evaluate_train)
            sweep(w, PURPOSE_EVALUATE_TRAIN, sweeps);
        if (in.test.rows > 0)
            sweep(w, PURPOSE_EVALUATE_TEST, sweeps);
    }
    assert_int_equal(sweeps, a->sweeps);
    end_walk(w);
}

static void test_a_plan_that_the_price_accepts_is_paid_to_its_end(void **state)
{
    struct error err = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        unsigned persons;

        draw_party(seed);
        persons = draw(2) ? 1 + draw(TRAIN_MAX) : 0;
        for (int plan = 0; plan < PLANS; plan++) {
            draw_tables();
            group_rows(persons);
            if (price_load(&price, &in, draw_plan(), &err) != STATUS_OK)
                fail_msg("seed %d: %s", (int)seed, err.text);
            limit_to_the_price(false);
            walk_the_plan();
        }
    }
}

/* --- predictions --- */

static void predict_all(void)
{
    static const uint8_t digest[LEDGER_DIGEST_BYTES];
    static uint32_t rows[PREDICT_MAX];
    const uint32_t n = (uint32_t)in.test.rows, batch = 1 + draw(n);
    struct books b;

    for (uint32_t i = 0; i < n; i++)
        rows[i] = i;
    open_books(&b, &price.plan);
    for (uint32_t at = 0; at < n; at += batch)
        pay(&b, &(struct action_charge){.mechanism = price.entry,
                                        .purpose = PURPOSE_EVALUATE_TEST,
                                        .predicts = true,
                                        .plan = digest,
                                        .place = at,
                                        .rounds = 1,
                                        .rows = rows + at,
                                        .n = n - at < batch ? n - at : batch,
                                        .places = batch});
    books_close(&b);
}

static void test_rows_whose_prediction_the_price_accepts_are_all_predicted(void **state)
{
    struct error err = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        unsigned persons;

        draw_party(seed);
        persons = draw(2) ? 1 + draw(PREDICT_MAX) : 0;
        in.predicts = true;
        in.model.made = ACCOUNT_FROZEN;
        plan_defaults(&in.model.plan);
        in.model.plan.protocol.pbm.beta = 0.1;
        in.model.plan.protocol.pbm.trials = 4;
        in.model.plan.model.embedding = 2;
        in.model.plan.model.task = TASK_BINARY;
        in.model.plan.shape.parties = PARTIES;
        in.model.plan.shape.train_rows = in.model.plan.shape.test_rows = 100;
        in.model.plan.shape.outputs = 2;
        in.model.plan.training.batch = 10;
        for (int job = 0; job < PLANS; job++) {
            in.test = rows_of(1, 1000 + draw(PREDICT_MAX), 1 + draw(PREDICT_MAX));
            group_rows(persons);
            if (price_predictions(&price, &in, &err) != STATUS_OK)
                fail_msg("seed %d: %s", (int)seed, err.text);
            limit_to_the_price(true);
            predict_all();
        }
    }
}

static int tear_down(void **state)
{
    (void)state;
    persons_deinit(&in.persons);
    rng_deinit(&rng);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_that_the_price_accepts_is_paid_to_its_end),
        cmocka_unit_test(test_rows_whose_prediction_the_price_accepts_are_all_predicted),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
