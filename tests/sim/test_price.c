/* test_price.c -- what `vfl-party -n` says of a plan: the account's own figures, and when it
 * refuses.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/policy.h"
#include "party/price.h"
#include "common/privacy/ledger_mechanism.h"

#include "tests/lib/scratch.h"

#include "common/base/mem.h"
#include "common/privacy/ledger.h"
#include "common/privacy/ledger_key.h"
#include "common/privacy/paper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { PARTIES = 5, ROWS = 100, TEST_ROWS = 20, ROWS_MAX = 1024, ID_BYTES = 8 };

static struct party_inputs in;
static struct price price;
static char ids[2][ROWS_MAX * ID_BYTES];
static uint32_t id_at[ROWS_MAX];

/* Rows of ids from `first` on; their columns are nobody's business. */
static struct table rows_of(int which, unsigned first, size_t rows)
{
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        id_at[i] = i * ID_BYTES;
        snprintf(ids[which] + id_at[i], ID_BYTES, "%u", first + i);
    }
    return (struct table){.rows = rows, .cols = 2, .id_text = ids[which], .id_at = id_at};
}

/* Five parties of five operators. */
static int set_up(void **state)
{
    (void)state;
    memset(&in, 0, sizeof in);
    strcpy(in.roster.server.name, "hub");
    strcpy(in.roster.server.operator_name, "hub");
    for (in.roster.n = 0; in.roster.n < PARTIES; in.roster.n++) {
        struct roster_entry *e = &in.roster.party[in.roster.n];

        snprintf(e->name, sizeof e->name, "p%zu", in.roster.n + 1);
        strcpy(e->operator_name, e->name);
    }
    in.train = rows_of(0, 10000, ROWS);
    in.test = rows_of(1, 20000, TEST_ROWS);
    config_party_defaults(&in.config);
    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    return 0;
}

/* A plan's file with this text. */
static const char *plan_file(const char *text)
{
    return scratch_write_text("plan.yaml", text);
}

static void load(const char *file)
{
    struct error err = {0};

    if (price_load(&price, &in, file, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static const char small[] = "protocol: {pbm: {trials: 4, beta: 0.01}}\n"
                            "model: {embedding: 2}\n"
                            "training: {epochs: 4, batch: 10}\n"
                            "privacy: {delta: 0.000001}\n";

static void test_a_plan_is_priced_for_the_rows_and_parties_that_are_here(void **state)
{
    (void)state;
    load(plan_file(small));
    assert_int_equal(price.entry.kind, ACCOUNT_PBM);
    assert_int_equal(price.entry.trials, 4);
    assert_int_equal(price.entry.coordinates, 2);
    assert_int_equal(price.entry.parties, PARTIES);
    assert_int_equal(price.releases.train, 4 * ROWS);
    assert_int_equal(price.releases.evaluate, 4 * TEST_ROWS);
    assert_int_equal(price.entry.releases, 4 * (ROWS + TEST_ROWS));
    assert_int_equal(price.entry.participations_max, 4);
    in.train.rows = 2 * ROWS; /* another party's data */
    load(plan_file(small));
    assert_int_equal(price.releases.train, 8 * ROWS);
}

static void test_a_whole_server_file_is_a_plan_too(void **state)
{
    char text[1024], of_part[LEDGER_MECHANISM_MAX], of_whole[LEDGER_MECHANISM_MAX];
    struct price part;

    (void)state;
    load(plan_file(small));
    part = price;
    snprintf(text, sizeof text,
             "listen: \"0.0.0.0:7400\"\nidentity: {cert: a, key: b, ca: c}\nroster: r\nstate: s\n"
             "labels: {train: l}\n%s",
             small);
    load(plan_file(text));
    ledger_mechanism_print(of_part, &part.entry);
    ledger_mechanism_print(of_whole, &price.entry);
    assert_string_equal(of_whole, of_part);
    assert_int_equal(price.entry.releases, part.entry.releases);
    assert_int_equal(price.entry.participations_max, part.entry.participations_max);
    assert_int_equal(price.entry.trained_max, part.entry.trained_max);
    snprintf(text, sizeof text, "data: {train: x}\n%s", small); /* a party's is none */
    assert_int_equal(price_load(&price, &in, plan_file(text), NULL), STATUS_CONFIG);
}

static void test_without_a_file_the_plan_is_of_defaults_and_fits_the_rows(void **state)
{
    struct plan defaults;

    (void)state;
    plan_defaults(&defaults);
    in.train.rows = defaults.training.batch - 1;
    load(NULL);
    assert_int_equal(price.plan.training.batch, in.train.rows);
    assert_int_equal(price.entry.trials, defaults.protocol.pbm.trials);
    in.train.rows = defaults.training.batch + 1;
    load(NULL);
    assert_int_equal(price.plan.training.batch, defaults.training.batch);
}

static void test_plans_without_sense_are_refused_in_one_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"training: {batch: 101}\n", "at most all of the training rows (batch 101, rows 100)"},
        {"protocol: {pbm: {beta: 0.3}}\n", "protocol.pbm.beta"},
        {"protocol: {encoding: float32}\n", "encoding"},
        {"nothing: 1\n", "nothing"},
    };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (struct error){0};
        assert_int_equal(price_load(&price, &in, plan_file(cases[i].text), &err), STATUS_CONFIG);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s", err.text);
        assert_non_null(strstr(err.text, "plan.yaml"));
    }
    assert_int_equal(price_load(&price, &in, "/nowhere/plan.yaml", &err), STATUS_CONFIG);
}

/* Each of these ends a run before it begins, and so they do here. */
static void test_a_plan_that_this_bottom_cannot_run_is_refused(void **state)
{
    const char *once = plan_file("training: {releases: once}\n");
    struct error err = {0};

    (void)state;
    in.train.cols = 2;
    in.config.train = TRAIN_RAW;
    assert_int_equal(price_load(&price, &in, once, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "model.train"));
    in.config.train = TRAIN_FROZEN;
    load(once);
    in.config.train = TRAIN_DP;
    in.config.noise = 1;
    load(plan_file(small));
    in.config.noise = 32768; /* and more than one weight */
    assert_int_equal(price_load(&price, &in, plan_file(small), &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "model.noise: no grid for this bottom"));
    assert_null(strstr(err.text, "32768")); /* a server is sent the same words */
}

/* --- what is printed --- */

static char *printed(void)
{
    static char text[1 << 16];
    struct buf out;

    buf_init(&out, sizeof text);
    assert_int_equal(price_print(&price, &out), STATUS_OK);
    snprintf(text, sizeof text, "%.*s", (int)out.len, (const char *)out.data);
    buf_deinit(&out);
    return text;
}

static void assert_says(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("no \"%s\" in:\n%s", line, text);
}

static void test_every_claim_is_printed_with_its_order_and_curve(void **state)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    const char *text;
    size_t n;

    (void)state;
    load(plan_file(small));
    text = printed();
    n = account_claims(claims, &price.entry, 1, 1e-6, 1);
    assert_int_equal(n, 12);
    for (size_t i = 0; i < n; i++) {
        double first = .25, last = 63, curve[2];
        char line[160];

        snprintf(line, sizeof line, "#   %-12s %-14s m_eff %-4u epsilon %-11.6g alpha %.6g%s\n",
                 account_adversary_name(claims[i].adversary),
                 account_adjacency_name(claims[i].adjacency), claims[i].m_eff, claims[i].epsilon,
                 claims[i].alpha, claims[i].epsilon > 20 ? "  (vacuous)" : "");
        assert_says(text, line);
        account_curve(&curve[0], &first, 1, &claims[i], &price.entry, 1);
        account_curve(&curve[1], &last, 1, &claims[i], &price.entry, 1);
        snprintf(line, sizeof line, "#   %-12s %-14s %9.4g ",
                 account_adversary_name(claims[i].adversary),
                 account_adjacency_name(claims[i].adjacency), curve[0]);
        assert_says(text, line);
        snprintf(line, sizeof line, " %9.4g\n", curve[1]);
        assert_says(text, line);
    }
    assert_says(text, "400 vectors of 2 coordinates in training, 80 in evaluations");
    assert_says(text, "delta 1e-06");
    for (const char *c = text; *c != '\0'; c = strchr(c, '\n') + 1)
        assert_true(*c == '#'); /* a configuration still */
}

static void test_the_partys_own_bottom_says_which_claim_of_a_record_holds(void **state)
{
    (void)state;
    in.config.train = TRAIN_FROZEN;
    in.config.noise = 12;
    strcpy(in.config.scale, "fit"); /* made of the records: as good as trained on them */
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_RAW);
    assert_says(printed(), "server+1     record_raw ");
    strcpy(in.config.scale, "none");
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_FROZEN);
    assert_says(printed(), "server+1     record_frozen ");
    assert_says(printed(), "bottom: frozen");
    assert_says(printed(), "once would make them one");
    load(plan_file("protocol: {pbm: {trials: 4, beta: 0.01}, straggler: drop}\n"
                   "training: {epochs: 4, batch: 10}\n"));
    assert_null(strstr(printed(), "would make them one")); /* which drop does not allow */
    load(plan_file(small));
    in.config.train = TRAIN_DP;
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_DP);
    assert_true(price.entry.step_noise == 12);
    assert_int_equal(price.entry.steps, price.plan.protocol.local_iterations);
    assert_says(printed(), "server+1     record_dp ");
    assert_says(printed(), "1 step at noise 12 after each");
    assert_null(strstr(printed(), "record_raw"));
}

static void test_the_papers_figure_is_never_printed_as_a_guarantee(void **state)
{
    char line[160];
    double alpha, epsilon;

    (void)state;
    load(plan_file(small));
    epsilon = paper_epsilon(&price.entry, 1e-6, &alpha);
    snprintf(line, sizeof line, "the paper's figure, not a guarantee: epsilon %.6g ", epsilon);
    assert_says(printed(), line);
    load(plan_file("protocol: {encoding: fixed}\ntraining: {batch: 10}\n"));
    assert_null(strstr(printed(), "paper"));
    assert_says(printed(), "epsilon inf ");
}

/* --- the policy, on top of the ledger --- */

static void test_the_policy_judges_it_on_top_of_the_ledger(void **state)
{
    struct error err = {0};

    (void)state;
    load(plan_file(small));
    assert_int_equal(price_judge(&price, &in, NULL), STATUS_OK);
    in.config.policy.releases_total = 480;
    assert_int_equal(price_judge(&price, &in, NULL), STATUS_OK);
    in.config.policy.releases_total = 479;
    assert_int_equal(price_judge(&price, &in, &err), STATUS_BUDGET);
    assert_says(err.text, "480 releases would be made");
    in.config.policy.releases_total = 0;
    in.config.policy.encoding[ENCODING_PBM] = false;
    assert_int_equal(price_judge(&price, &in, NULL), STATUS_POLICY);
}

/* 100 records trained on raw were released 7 times each. */
static void spend_raw(void)
{
    struct account_entry spent = price.entry;
    static const uint8_t digest[LEDGER_DIGEST_BYTES] = {1};
    uint8_t key[LEDGER_KEY_BYTES];
    const char *names[ROWS];
    uint32_t *slots;
    struct ledger *l;

    for (size_t i = 0; i < ROWS; i++)
        names[i] = table_id(&in.train, i);
    spent.bottom = ACCOUNT_RAW;
    spent.step_noise = 0;
    spent.steps = 0;
    assert_int_equal(ledger_key_load(key, scratch_path("ledger.db"), "", NULL), STATUS_OK);
    assert_int_equal(ledger_open(&l, scratch_path("ledger.db"), key, NULL), STATUS_OK);
    assert_int_equal(ledger_bind(l, &slots, NULL, names, ROWS, NULL), STATUS_OK);
    assert_int_equal(ledger_use(l, &spent, NULL), STATUS_OK);
    for (int k = 0; k < 7; k++) {
        struct ledger_block b = {.plan = digest,
                                 .data = digest,
                                 .purpose = LEDGER_TRAIN,
                                 .rounds = 1,
                                 .slots = slots,
                                 .n = ROWS};

        assert_int_equal(ledger_reserve(l, &b, NULL, NULL), STATUS_OK);
    }
    mem_free(slots);
    ledger_close(l);
}

static void test_a_damaged_ledger_prices_nothing(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES];

    (void)state;
    assert_int_equal(ledger_key_load(key, scratch_path("ledger.db"), "", NULL), STATUS_OK);
    assert_int_equal(chmod(scratch_write_text("ledger.db", "no ledger"), 0600), 0);
    assert_int_equal(price_load(&price, &in, plan_file(small), NULL), STATUS_IO);
    remove(scratch_path("ledger.db"));
    remove(scratch_path("ledger.begun"));
}

/* By mechanisms that released nothing, but for one. */
static void fill_ledger(size_t n)
{
    struct account_entry m = price.entry;
    uint8_t key[LEDGER_KEY_BYTES];
    struct ledger *l;

    assert_int_equal(ledger_key_load(key, scratch_path("ledger.db"), "", NULL), STATUS_OK);
    assert_int_equal(ledger_open(&l, scratch_path("ledger.db"), key, NULL), STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        m.coordinates = 1000 + (uint32_t)i;
        assert_int_equal(ledger_use(l, &m, NULL), STATUS_OK);
    }
    ledger_close(l);
}

/* By what is said of a plan, or of predictions. */
static bool says_room(bool predictions, size_t n)
{
    char words[64];
    struct buf out;
    bool said;

    snprintf(words, sizeof words, "accounts for %zu mechanisms of at most 1024", n);
    buf_init(&out, 1 << 20);
    assert_int_equal(predictions ? price_print_predictions(&price, &in, &out)
                                 : price_print(&price, &out),
                     STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    said = strstr((char *)out.data, words) != NULL;
    buf_deinit(&out);
    return said;
}

/* With one place left, too, which a plan may still take. */
static void test_a_ledger_full_of_mechanisms_is_told_before_and_refuses(void **state)
{
    static const size_t full[] = {LEDGER_NEARLY_FULL - 1, LEDGER_NEARLY_FULL,
                                  ACCOUNT_MECHANISMS_MAX - 1, ACCOUNT_MECHANISMS_MAX};
    struct error err = {0};

    (void)state;
    load(plan_file(small));
    for (int i = 0; i < 4; i++) {
        fill_ledger(full[i]);
        load(plan_file(small));
        assert_int_equal(says_room(false, full[i]), i > 0);
        assert_int_equal(says_room(true, full[i]), i > 0);
        assert_int_equal(price_judge(&price, &in, &err), i < 3 ? STATUS_OK : STATUS_BUDGET);
    }
    assert_says(err.text, "accounts for 1024 mechanisms, the most there can be");
    remove(scratch_path("ledger.db"));
    remove(scratch_path("ledger.begun"));
}

/* As in a run: weights that this ledger's records may have made are no frozen bottom. */
static void test_loaded_weights_are_raw_where_the_ledger_has_raw_training(void **state)
{
    struct error err = {0};

    (void)state;
    strcpy(in.config.scale, "none");
    strcpy(in.config.load, "model.safetensors");
    in.config.train = TRAIN_FROZEN;
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_FROZEN);
    spend_raw();
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_RAW);
    assert_int_equal(price.spent_n, 1);
    in.config.policy.releases_record = 10;
    assert_int_equal(price_judge(&price, &in, &err), STATUS_BUDGET);
    assert_says(err.text, "a record would be released 11 times");
    in.config.load[0] = 0;
    load(plan_file(small));
    assert_int_equal(price.entry.bottom, ACCOUNT_FROZEN);
    remove(scratch_path("ledger.db"));
    remove(scratch_path("ledger.begun"));
}

static void test_a_record_in_both_splits_is_released_by_both(void **state)
{
    (void)state;
    in.test = rows_of(1, 10000 + ROWS, TEST_ROWS);
    load(plan_file(small));
    assert_int_equal(price.entry.participations_max, 4);
    in.test = rows_of(1, 10000 + ROWS - 1, TEST_ROWS); /* one of them */
    load(plan_file(small));
    assert_int_equal(price.entry.participations_max, 8);
    in.config.train = TRAIN_DP;
    in.config.noise = 10;
    strcpy(in.config.scale, "none");
    load(plan_file(small));
    assert_int_equal(price.entry.trained_max, 4);
}

/* --- the accountant --- */

static void too_little(const struct corners *c, double out[CORNERS_ORDERS])
{
    corners_figure(c, out);
    if (c->m_eff == PARTIES - 1)
        out[5] *= 0.99;
}

static void test_each_adversarys_corners_are_swept_once(void **state)
{
    struct buf out;
    const char *text;

    (void)state;
    load(plan_file(small));
    buf_init(&out, 1 << 16);
    assert_int_equal(price_verify(&price, corners_figure, &out, NULL), STATUS_OK);
    assert_int_equal(buf_printf(&out, "%c", 0), STATUS_OK);
    text = (const char *)out.data;
    assert_says(text, "m_eff 5: 17 of 17 corners");
    assert_says(text, "m_eff 4: 13 of 13 corners");
    assert_says(text, "m_eff 1: 1 of 1 corners");
    text = strstr(text, "m_eff 4") + 1;
    assert_null(strstr(text, "m_eff 4"));
    buf_deinit(&out);
}

static void test_an_accountant_that_under_reports_is_a_fault(void **state)
{
    struct error err = {0};
    struct buf out;

    (void)state;
    load(plan_file(small));
    buf_init(&out, 1 << 16);
    assert_int_equal(price_verify(&price, too_little, &out, &err), STATUS_FAULT);
    assert_says(err.text, "at m_eff 4, alpha 2 the corner k = 12 ");
    assert_int_equal(status_exit_code(STATUS_FAULT), 6);
    load(plan_file("protocol: {encoding: fixed}\ntraining: {batch: 10}\n"));
    assert_int_equal(price_verify(&price, too_little, &out, &err), STATUS_OK); /* no corners */
    buf_deinit(&out);
}

/* Made so, and the configuration says now: it costs this. */
static void expect_costs(struct policy_bottom made, struct policy_bottom now,
                         struct policy_bottom costs)
{
    const struct config_party c = {.train = now.kind == ACCOUNT_FROZEN ? TRAIN_FROZEN : TRAIN_DP,
                                   .noise = now.noise,
                                   .scale = "none"};
    const struct account_entry raw = {.bottom = ACCOUNT_RAW};
    const struct policy_bottom got = policy_bottom_kept(made, &c, NULL, 0);

    assert_int_equal(got.kind, costs.kind);
    assert_true(got.noise == costs.noise);
    assert_int_equal(policy_bottom_kept(made, &c, &raw, 1).kind, ACCOUNT_RAW);
}

static void test_a_bottom_costs_what_it_was_made_with_whatever_the_configuration_says(void **state)
{
    const struct policy_bottom raw = {ACCOUNT_RAW, 0}, frozen = {ACCOUNT_FROZEN, 0},
                               loud = {ACCOUNT_DP, 50}, low = {ACCOUNT_DP, 5};

    (void)state;
    expect_costs(frozen, frozen, frozen);
    expect_costs(raw, frozen, raw);
    expect_costs(raw, low, raw);
    expect_costs(low, frozen, low);
    expect_costs(frozen, low, low);
    expect_costs(low, loud, low);
    expect_costs(loud, low, low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bottom_costs_what_it_was_made_with_whatever_the_configuration_says),
        cmocka_unit_test_setup(test_a_plan_is_priced_for_the_rows_and_parties_that_are_here,
                               set_up),
        cmocka_unit_test_setup(test_a_whole_server_file_is_a_plan_too, set_up),
        cmocka_unit_test_setup(test_without_a_file_the_plan_is_of_defaults_and_fits_the_rows,
                               set_up),
        cmocka_unit_test_setup(test_a_plan_that_this_bottom_cannot_run_is_refused, set_up),
        cmocka_unit_test_setup(test_plans_without_sense_are_refused_in_one_line, set_up),
        cmocka_unit_test_setup(test_every_claim_is_printed_with_its_order_and_curve, set_up),
        cmocka_unit_test_setup(test_the_partys_own_bottom_says_which_claim_of_a_record_holds,
                               set_up),
        cmocka_unit_test_setup(test_the_papers_figure_is_never_printed_as_a_guarantee, set_up),
        cmocka_unit_test_setup(test_the_policy_judges_it_on_top_of_the_ledger, set_up),
        cmocka_unit_test_setup(test_a_damaged_ledger_prices_nothing, set_up),
        cmocka_unit_test_setup(test_a_ledger_full_of_mechanisms_is_told_before_and_refuses, set_up),
        cmocka_unit_test_setup(test_loaded_weights_are_raw_where_the_ledger_has_raw_training,
                               set_up),
        cmocka_unit_test_setup(test_a_record_in_both_splits_is_released_by_both, set_up),
        cmocka_unit_test_setup(test_each_adversarys_corners_are_swept_once, set_up),
        cmocka_unit_test_setup(test_an_accountant_that_under_reports_is_a_fault, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
