/* test_account.c -- claims: golden digits, who counts as what, and composition.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/account.h"

#include "common/base/mem.h"
#include "common/privacy/rdp.h"
#include "tests/unit/privacy/accounts.h"

static void test_golden_claims_match_in_every_digit(void **state)
{
    static const struct {
        uint32_t b, m, coordinates;
        double beta;
        uint64_t count;
        const char *epsilon[3], *alpha[3]; /* server, server+1, all but one */
    } rows[] = {
        {16,
         5,
         16,
         .1,
         100,
         {"569.5173837", "694.5194714", "2376.729454"},
         {"1.1607582", "1.1436515", "1.0755773"}},
        {64,
         5,
         16,
         .15,
         100,
         {"4569.399163", "5665.904771", "19917.52674"},
         {"1.0515589", "1.0459628", "1.0254470"}},
        {128,
         5,
         16,
         .25,
         100,
         {"30305.05175", "37892.24760", "114554.2437"},
         {"1.0185648", "1.0164813", "1.0111853"}},
        {8,
         4,
         16,
         .15,
         600,
         {"4319.076169", "5687.403256", "15041.96111"},
         {"1.0529641", "1.0457915", "1.0293937"}},
        {16,
         10,
         16,
         .1,
         100,
         {"311.8283819", "341.2001722", "2376.729454"},
         {"1.2280176", "1.2162446", "1.0755773"}},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct account_entry e =
            pbm(rows[r].b, rows[r].beta, rows[r].m, rows[r].coordinates, rows[r].count);
        static const enum account_adversary who[3] = {ACCOUNT_SERVER, ACCOUNT_SERVER_1,
                                                      ACCOUNT_ALL_BUT_ONE};

        for (size_t a = 0; a < 3; a++) {
            struct account_claim c = claim_of(&e, 1, who[a], ACCOUNT_RECORD_RAW);

            assert_printed(c.epsilon, rows[r].epsilon[a]);
            assert_printed(c.alpha, rows[r].alpha[a]);
        }
        assert_printed(claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_RECORD_RAW).epsilon,
                       rows[r].epsilon[1]);
    }
}

static void test_golden_claims_of_few_releases_match(void **state)
{
    static const struct {
        uint32_t b, m;
        double beta;
        const char *once, *ten, *one_coordinate; /* P = 16: E = 1, E = 10; P = 1, E = 1 */
    } rows[] = {
        {16, 5, .1, "17.5577029", "86.1896002", "3.41861559"},
        {64, 5, .15, "84.2742197", "550.998806", "13.0768252"},
        {128, 5, .25, "413.046317", "3295.81351", "48.7571983"},
        {8, 4, .15, "23.2938008", "119.068888", "4.26244317"},
        {16, 10, .1, "11.3315341", "51.5024370", "2.32857336"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct account_entry e = pbm(rows[r].b, rows[r].beta, rows[r].m, 16, 1);

        assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon, rows[r].once);
        e.releases = 10;
        assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon, rows[r].ten);
        e.releases = e.coordinates = 1;
        assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon,
                       rows[r].one_coordinate);
    }
}

static void test_golden_claims_of_larger_coalitions_and_compositions_match(void **state)
{
    struct account_entry e = pbm(16, .1, 10, 16, 100);

    (void)state;
    e.colluders = 2;
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_RECORD_RAW).epsilon, "377.580722");
    e.colluders = 8;
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_RECORD_RAW).epsilon, "1295.57759");
    e = pbm(16, .1, 5, 16, 1000000); /* 10 000 rows, 100 epochs */
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon, "4317099.07");
    e = pbm(16, .1, 5, 16, 100); /* all parties' data of one record */
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_SAMPLE).epsilon, "11056.9");
}

/* 1000 records released once each, through a bottom that trains on them: what the maximum over
 * records says, and what holds.  Others' releases alone were told apart at epsilon 8.04. */
static void test_golden_claims_of_the_distinguished_run_match(void **state)
{
    struct account_entry e = pbm(16, .1, 5, 1, 1000);

    (void)state;
    e.participations_max = 1;
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_RECORD_RAW).epsilon, "378.6");
    e.bottom = ACCOUNT_FROZEN; /* which it was not */
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_RECORD_FROZEN).epsilon, "3.42");
}

/* The same releases composed as distributions of the privacy loss, rounded down and up: no claim
 * may be below the first, and a few percent above the second is what Renyi's way costs. */
static void test_claims_lie_just_above_composed_loss_distributions(void **state)
{
    static const struct {
        uint32_t b, m, coordinates;
        double beta;
        uint64_t count;
        double down, up;
    } rows[] = {{16, 5, 16, .1, 100, 555.456, 555.914},
                {16, 10, 16, .1, 100, 302.212, 302.555},
                {8, 4, 16, .15, 600, 4268.48, 4277.63},
                {16, 5, 1, .1, 1, 3.147, 3.148}};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct account_entry e =
            pbm(rows[r].b, rows[r].beta, rows[r].m, rows[r].coordinates, rows[r].count);
        double epsilon = claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon;

        assert_true(epsilon > rows[r].down && epsilon < 1.1 * rows[r].up);
    }
}

/* beta for a given epsilon at b = 4, M = 5 as published, rounded: its neighbours in the last digit
 * lie on either side. */
static void test_golden_betas_cost_what_they_are_published_for(void **state)
{
    static const struct {
        uint32_t coordinates, releases;
        double beta[3]; /* for epsilon 1, 4, 10 */
    } rows[] = {{16, 100, {.00173, .00604, .01318}},
                {16, 10, {.00546, .01905, .04143}},
                {4, 10, {.01092, .03789, .08117}},
                {4, 1, {.03457, .11326, .21520}},
                {1, 1, {.07100, .23132, .25}}};
    static const double epsilon[3] = {1, 4, 10};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (size_t i = 0; i < 3; i++) {
            struct account_entry e =
                pbm(4, rows[r].beta[i] - .6e-5, 5, rows[r].coordinates, rows[r].releases);

            assert_true(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon < epsilon[i]);
            e.beta += 1.2e-5;
            if (e.beta < .25) /* the most that a plan may have, and still below 10 */
                assert_true(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon > epsilon[i]);
        }
    }
}

static void test_the_curve_is_the_divergence_behind_the_claim(void **state)
{
    static const double excess[8] = {.25, .5, 1, 3, 7, 15, 31, 63};
    static const char *const golden[8] = {"0.3375625024", "0.4067080787", "0.5464371611",
                                          "1.119450213",  "2.251419866",  "3.890286819",
                                          "5.170888213",  "5.838774935"};
    struct account_entry e = pbm(16, .1, 5, 1, 1);
    double curve[8];

    (void)state;
    for (int a = 0; a < ACCOUNT_ADVERSARIES; a++) {
        struct account_claim c = claim_of(&e, 1, (enum account_adversary)a, ACCOUNT_SAMPLE);
        double at = c.alpha - 1, point;

        account_curve(&point, &at, 1, &c, &e, 1);
        assert_close(rdp_epsilon(point, at, DELTA), c.epsilon, 1e-12);
    }
    account_curve(
        curve, excess, 8,
        &(struct account_claim){.adversary = ACCOUNT_SERVER, .adjacency = ACCOUNT_RECORD_RAW}, &e,
        1);
    for (size_t i = 0; i < 8; i++)
        assert_printed(curve[i], golden[i]);
    e.kind = ACCOUNT_NONE;
    account_curve(curve, excess, 8, &(struct account_claim){.adjacency = ACCOUNT_COLUMNS}, &e, 1);
    assert_true(isinf(curve[0]) && isinf(curve[7]));
}

/* The printed formula of the sample claim, and that its direction is M times one party alone. */
static void test_sample_claim_moves_all_honest_parties(void **state)
{
    struct account_entry e = pbm(16, .1, 5, 16, 100), alone = pbm(16, .1, 1, 16, 100);

    (void)state;
    assert_close(claim_of(&e, 1, ACCOUNT_ALL_BUT_ONE, ACCOUNT_SAMPLE).epsilon,
                 claim_of(&alone, 1, ACCOUNT_SERVER, ACCOUNT_RECORD_RAW).epsilon, 1e-12);
    alone.releases = 400; /* four honest parties: four times the coordinates */
    assert_close(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_SAMPLE).epsilon,
                 claim_of(&alone, 1, ACCOUNT_SERVER, ACCOUNT_SAMPLE).epsilon, 1e-12);
    e.clear = true; /* sums are sufficient: seeing each upload adds nothing here */
    assert_close(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_SAMPLE).epsilon,
                 claim_of(&alone, 1, ACCOUNT_SERVER, ACCOUNT_SAMPLE).epsilon, 1e-12);
}

static void test_each_adversary_has_its_own_effective_number(void **state)
{
    struct account_entry e = pbm(8, .15, 7, 4, 3);

    (void)state;
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).m_eff, 7);
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_COLUMNS).m_eff, 6);
    assert_int_equal(claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS).m_eff, 6);
    assert_int_equal(claim_of(&e, 1, ACCOUNT_ALL_BUT_ONE, ACCOUNT_COLUMNS).m_eff, 1);
    e.colluders = 3; /* one operator, three entries: one colluder */
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_COLUMNS).m_eff, 4);
    assert_int_equal(claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS).m_eff, 4);
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).m_eff, 7);
    e.colluders = 7; /* the target itself is never a colluder */
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER_1, ACCOUNT_COLUMNS).m_eff, 1);
}

enum { SHOWN_TRIALS = 3, SHOWN_CODES = SHOWN_TRIALS + 1, SHOWN_SUMS = 4 * SHOWN_TRIALS + 1 };

static double flips(uint32_t q, double p)
{
    static const double choose[SHOWN_CODES] = {1, 3, 3, 1};

    return choose[q] * pow(p, q) * pow(1 - p, SHOWN_TRIALS - q);
}

/* What one of four parties sees when the sum itself goes down (local_view refreshed): its own code
 * and the sum of four, from every outcome.  Divergence of the target's two ends, the others at one.
 */
static double divergence_of_own_code_and_sum(double beta, double alpha)
{
    double p[SHOWN_CODES][SHOWN_SUMS] = {{0}}, q[SHOWN_CODES][SHOWN_SUMS] = {{0}}, sum = 0;
    const double h = 0.5 + beta, l = 0.5 - beta;

    for (uint32_t i = 0; i < SHOWN_CODES * SHOWN_CODES * SHOWN_CODES * SHOWN_CODES; i++) {
        uint32_t own = i % 4, a = i / 4 % 4, b = i / 16 % 4, target = i / 64;
        double others = flips(own, h) * flips(a, h) * flips(b, h);

        p[own][own + a + b + target] += others * flips(target, h);
        q[own][own + a + b + target] += others * flips(target, l);
    }
    for (uint32_t own = 0; own < SHOWN_CODES; own++) {
        for (uint32_t s = own; s <= own + 3 * SHOWN_TRIALS; s++)
            sum += exp(alpha * log(p[own][s]) + (1 - alpha) * log(q[own][s]));
    }
    return log(sum) / (alpha - 1);
}

static void test_a_party_that_is_shown_the_sum_itself_costs_what_is_claimed(void **state)
{
    struct account_entry e = pbm(SHOWN_TRIALS, .1, 4, 1, 50);

    (void)state;
    for (double beta = .05; beta < .25; beta += .05) {
        struct account_claim c;
        double exact;

        e.beta = beta;
        c = claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS);
        exact = 50 * divergence_of_own_code_and_sum(beta, c.alpha);
        assert_int_equal(c.m_eff, 3); /* its own noise hides nobody from it */
        assert_close(c.epsilon, rdp_epsilon(exact, c.alpha - 1, DELTA), 1e-9);
        c = claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS);
        assert_true(c.epsilon < rdp_epsilon(50 * divergence_of_own_code_and_sum(beta, c.alpha),
                                            c.alpha - 1, DELTA));
    }
}

static void test_clear_uploads_hide_behind_nobody(void **state)
{
    struct account_entry e = pbm(16, .1, 10, 16, 100);

    (void)state;
    e.clear = true;
    assert_int_equal(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).m_eff, 1);
    assert_printed(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon, "2376.729454");
    assert_printed(claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS).epsilon, "341.2001722");
    e.concat = true; /* then a party's gradient is no function of the sum */
    assert_printed(claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS).epsilon, "2376.729454");
}

/* alpha (2C)^2 / (2 M_eff sigma^2) a coordinate; for a linear divergence the best order is known.
 */
static void test_gaussian_claim_follows_its_formula(void **state)
{
    struct account_entry e = {.kind = ACCOUNT_GAUSSIAN,
                              .sigma = 90,
                              .step = 10,
                              .clip = 1.5,
                              .clear = true,
                              .coordinates = 16,
                              .parties = 5,
                              .colluders = 1,
                              .releases = 40,
                              .participations_max = 7};
    struct account_claim server = claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS);
    struct account_claim party = claim_of(&e, 1, ACCOUNT_PARTY, ACCOUNT_COLUMNS);
    struct account_claim sample = claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_SAMPLE);
    double one = 9.0 / (2 * 8100.0);

    (void)state;
    assert_close(server.epsilon, rdp_epsilon(40 * 16 * one * server.alpha, server.alpha - 1, DELTA),
                 1e-9);
    assert_close(party.epsilon,
                 rdp_epsilon(40 * 16 * one / 4 * party.alpha, party.alpha - 1, DELTA), 1e-9);
    assert_close(sample.epsilon,
                 rdp_epsilon(40 * 16 * one * 5 * sample.alpha, sample.alpha - 1, DELTA), 1e-9);
    assert_true(server.epsilon > party.epsilon);
}

static void test_no_noise_is_infinite_and_vacuous(void **state)
{
    struct account_entry e = {.kind = ACCOUNT_NONE,
                              .coordinates = 1,
                              .parties = 3,
                              .releases = 1,
                              .participations_max = 1};
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n = account_claims(claims, &e, 1, DELTA, 1);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_true(isinf(claims[i].epsilon) && claims[i].alpha == 0 && claims[i].vacuous);
        assert_true(claims[i].m_eff >= 1);
    }
    e.releases = e.participations_max = 0; /* nothing released, nothing said */
    n = account_claims(claims, &e, 1, DELTA, 1);
    for (size_t i = 0; i < n; i++)
        assert_true(claims[i].epsilon == 0 && !claims[i].vacuous);
}

static void test_vacuous_begins_above_twenty(void **state)
{
    struct account_entry low = pbm(16, .1, 5, 16, 1), high = pbm(8, .15, 4, 16, 1);

    (void)state;
    assert_false(claim_of(&low, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).vacuous); /* 17.56 */
    assert_true(claim_of(&high, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).vacuous); /* 23.29 */
}

static void test_splitting_one_mechanism_changes_nothing(void **state)
{
    struct account_entry whole = pbm(16, .1, 5, 16, 100);
    struct account_entry parts[2] = {pbm(16, .1, 5, 16, 30), pbm(16, .1, 5, 16, 70)};

    (void)state;
    assert_close(claim_of(parts, 2, ACCOUNT_SERVER, ACCOUNT_RECORD_RAW).epsilon,
                 claim_of(&whole, 1, ACCOUNT_SERVER, ACCOUNT_RECORD_RAW).epsilon, 1e-12);
}

/* Terms are added at equal order: never more than adding the epsilons, never less than the worse
 * part. */
static void test_different_mechanisms_compose_at_equal_order(void **state)
{
    struct account_entry e[3] = {pbm(16, .1, 5, 16, 10),
                                 pbm(8, .15, 4, 16, 20),
                                 {.kind = ACCOUNT_GAUSSIAN,
                                  .sigma = 20,
                                  .step = 1,
                                  .clip = 1,
                                  .clear = true,
                                  .coordinates = 16,
                                  .parties = 3,
                                  .colluders = 1,
                                  .releases = 5,
                                  .participations_max = 5}};
    struct account_claim all = claim_of(e, 3, ACCOUNT_SERVER, ACCOUNT_COLUMNS);
    struct rdp_pbm first, second;
    double sum = 0, excess = all.alpha - 1;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        double one = claim_of(&e[i], 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon;

        assert_true(one < all.epsilon);
        sum += one;
    }
    assert_true(all.epsilon < sum);
    assert_int_equal(all.m_eff, 1);
    assert_int_equal(claim_of(e, 2, ACCOUNT_SERVER, ACCOUNT_COLUMNS).m_eff, 4);
    assert_int_equal(rdp_pbm_init(&first, 16, .1, 5), STATUS_OK);
    assert_int_equal(rdp_pbm_init(&second, 8, .15, 4), STATUS_OK);
    assert_close(all.epsilon,
                 rdp_epsilon(160 * rdp_pbm(&first, excess) + 320 * rdp_pbm(&second, excess) +
                                 80 * rdp_gaussian(2, 20, excess),
                             excess, DELTA),
                 1e-9);
    rdp_pbm_deinit(&first);
    rdp_pbm_deinit(&second);
}

static void test_one_claim_is_the_same_as_among_all(void **state)
{
    struct account_entry e = pbm(16, .1, 5, 16, 100);
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n = account_claims(claims, &e, 1, DELTA, 1);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct account_claim one = account_claim(&e, 1, &claims[i], DELTA);

        assert_true(one.epsilon == claims[i].epsilon && one.alpha == claims[i].alpha);
        assert_int_equal(one.m_eff, claims[i].m_eff);
    }
}

/* They would take minutes: M_eff = 1 is told, which costs more. */
static void test_tables_beyond_the_limit_are_taken_for_m_eff_1(void **state)
{
    struct account_entry e[2] = {pbm(ACCOUNT_OUTCOMES_MAX / 16, 1e-5, 32, 1, 1),
                                 pbm(16, .01, 32, 1, 1)};
    struct account_claim claim = claim_of(e, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS);

    (void)state;
    assert_int_equal(claim.m_eff, 1);
    assert_true(claim.epsilon == claim_of(e, 1, ACCOUNT_ALL_BUT_ONE, ACCOUNT_COLUMNS).epsilon);
    assert_int_equal(claim_of(e + 1, 1, ACCOUNT_SERVER, ACCOUNT_COLUMNS).m_eff, 32);
    assert_true(claim_of(e, 2, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon >= claim.epsilon);
}

static void test_a_full_list_of_mechanisms_has_claims(void **state)
{
    static struct account_entry e[ACCOUNT_MECHANISMS_MAX + 1];
    struct account_claim limit;

    (void)state;
    for (uint32_t i = 0; i < ACCOUNT_MECHANISMS_MAX; i++)
        e[i] = pbm(2 + i % 8, .01 / (1 + i / 8), 3 + i % 8, 1, 1);
    limit = claim_of(e, ACCOUNT_MECHANISMS_MAX, ACCOUNT_SERVER_1, ACCOUNT_COLUMNS);
    assert_int_equal(limit.m_eff, 2);
    assert_true(claim_of(e, ACCOUNT_MECHANISMS_MAX, ACCOUNT_SERVER, ACCOUNT_COLUMNS).epsilon <
                limit.epsilon);
    e[ACCOUNT_MECHANISMS_MAX] = pbm(64, .2, 2, 16, 1); /* a full ledger and a plan */
    assert_true(claim_of(e, ACCOUNT_MECHANISMS_MAX + 1, ACCOUNT_SERVER_1, ACCOUNT_COLUMNS).epsilon >
                limit.epsilon + 10);
}

/* Whatever allocation fails, a claim is either unchanged or larger, and says M_eff = 1 then. */
static void test_short_memory_never_makes_a_claim_smaller(void **state)
{
    struct account_entry e[2] = {pbm(16, .1, 5, 16, 100), pbm(8, .15, 4, 16, 100)};
    struct account_claim good[ACCOUNT_CLAIMS_MAX], poor[ACCOUNT_CLAIMS_MAX];
    size_t n = account_claims(good, e, 2, DELTA, 1), larger = 0;

    (void)state;
    for (uint64_t at = 1; at <= 10; at++) {
        mem_fail_at(at);
        assert_int_equal(account_claims(poor, e, 2, DELTA, 1), n);
        mem_fail_at(0);
        for (size_t i = 0; i < n; i++) {
            if (poor[i].epsilon == good[i].epsilon)
                continue;
            assert_true(poor[i].epsilon > good[i].epsilon);
            assert_int_equal(poor[i].m_eff, 1);
            larger++;
        }
    }
    assert_true(larger > 0);
}

static void test_names_are_those_of_the_summary(void **state)
{
    (void)state;
    assert_string_equal(account_adversary_name(ACCOUNT_SERVER), "server");
    assert_string_equal(account_adversary_name(ACCOUNT_SERVER_1), "server+1");
    assert_string_equal(account_adversary_name(ACCOUNT_SERVER_T), "server+t");
    assert_string_equal(account_adversary_name(ACCOUNT_ALL_BUT_ONE), "all_but_one");
    assert_string_equal(account_adversary_name(ACCOUNT_PARTY), "party");
    assert_string_equal(account_adjacency_name(ACCOUNT_RECORD_FROZEN), "record_frozen");
    assert_string_equal(account_adjacency_name(ACCOUNT_RECORD_DP), "record_dp");
    assert_string_equal(account_adjacency_name(ACCOUNT_RECORD_RAW), "record_raw");
    assert_string_equal(account_adjacency_name(ACCOUNT_COLUMNS), "columns");
    assert_string_equal(account_adjacency_name(ACCOUNT_SAMPLE), "sample");
}

/* What the plan's shares withstand, or an operator's entries where these are more. */
static void test_a_server_with_t_parties_is_claimed_where_shares_withstand_so_many(void **state)
{
    struct account_entry e = pbm(4, .05, 8, 2, 10);
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];

    (void)state;
    assert_int_equal(account_claims(claims, &e, 1, DELTA, 1), (ACCOUNT_ADVERSARIES - 1) * 3);
    for (uint32_t t = 2; t <= 9; t++) {
        struct account_claim alone;
        size_t n = account_claims(claims, &e, 1, DELTA, t), found = 0;

        assert_int_equal(n, ACCOUNT_ADVERSARIES * 3);
        for (size_t i = 0; i < n; i++) {
            if (claims[i].adversary != ACCOUNT_SERVER_T)
                continue;
            assert_int_equal(claims[i].m_eff, t < 8 ? 8 - t : 1);
            found++;
        }
        assert_int_equal(found, 3);
        e.colluders = 5;
        alone =
            account_claim(&e, 1,
                          &(struct account_claim){
                              .adversary = ACCOUNT_SERVER_T, .adjacency = ACCOUNT_COLUMNS, .t = t},
                          DELTA);
        assert_int_equal(alone.m_eff, t < 5 ? 3 : t < 8 ? 8 - t : 1);
        e.colluders = 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_with_t_parties_is_claimed_where_shares_withstand_so_many),
        cmocka_unit_test(test_golden_claims_match_in_every_digit),
        cmocka_unit_test(test_golden_claims_of_few_releases_match),
        cmocka_unit_test(test_golden_claims_of_larger_coalitions_and_compositions_match),
        cmocka_unit_test(test_golden_claims_of_the_distinguished_run_match),
        cmocka_unit_test(test_claims_lie_just_above_composed_loss_distributions),
        cmocka_unit_test(test_golden_betas_cost_what_they_are_published_for),
        cmocka_unit_test(test_the_curve_is_the_divergence_behind_the_claim),
        cmocka_unit_test(test_sample_claim_moves_all_honest_parties),
        cmocka_unit_test(test_each_adversary_has_its_own_effective_number),
        cmocka_unit_test(test_a_party_that_is_shown_the_sum_itself_costs_what_is_claimed),
        cmocka_unit_test(test_clear_uploads_hide_behind_nobody),
        cmocka_unit_test(test_gaussian_claim_follows_its_formula),
        cmocka_unit_test(test_no_noise_is_infinite_and_vacuous),
        cmocka_unit_test(test_vacuous_begins_above_twenty),
        cmocka_unit_test(test_splitting_one_mechanism_changes_nothing),
        cmocka_unit_test(test_different_mechanisms_compose_at_equal_order),
        cmocka_unit_test(test_one_claim_is_the_same_as_among_all),
        cmocka_unit_test(test_tables_beyond_the_limit_are_taken_for_m_eff_1),
        cmocka_unit_test(test_a_full_list_of_mechanisms_has_claims),
        cmocka_unit_test(test_short_memory_never_makes_a_claim_smaller),
        cmocka_unit_test(test_names_are_those_of_the_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
