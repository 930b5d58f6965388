/* test_statistics.c -- how far a row moves what is summed, the law of the noise, what is charged
 * for it, and what is read off.
 *
 * Draws are of keyed streams, so they are the same in every run; beside each statistic stands a
 * wrong law that it rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/statistics.h"

#include "common/base/mem.h"
#include "common/data/schema_text.h"
#include "tests/unit/privacy/accounts.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "statistics: dp\nbudget: {epsilon: 1, delta: 1e-6}\ncolumns:\n"

static struct error err;

static struct schema parsed(const char *columns)
{
    char text[2048];
    struct schema s;

    snprintf(text, sizeof text, HEAD "%s", columns);
    if (schema_parse(&s, text, strlen(text), "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return s;
}

static struct statistics begun(const struct schema *s, bool scaled)
{
    struct statistics st;

    if (statistics_init(&st, s, scaled, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return st;
}

/* --- how far a row moves a sum --- */

static void of_one_row(int64_t *out, struct statistics *st, const struct schema *s, float x)
{
    const struct table t = {.rows = 1, .cols = 1, .x = &x};

    statistics_sum(st, s, &t);
    memcpy(out, st->number, st->numbers * sizeof *out);
}

/* Over all pairs of n rows, each of `numbers` numbers: the square of the largest distance. */
static double farthest(const int64_t *rows, size_t n, size_t numbers)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double square = 0;

            for (size_t k = 0; k < numbers; k++) {
                const double d = (double)(rows[i * numbers + k] - rows[j * numbers + k]);

                square += d * d;
            }
            most = square > most ? square : most;
        }
    return most;
}

/* Every place that there is, gaps, and what is far out. */
static void test_no_row_moves_moments_by_more_than_two_units(void **state)
{
    const size_t places = 2 * STATISTICS_UNIT + 1, n = places + 4;
    const float odd[] = {NAN, -1e30f, 1e30f, 0.30001f};
    struct schema s =
        parsed("  - {name: \"a\", kind: number, missing: mean, clip: [-4096, 4096]}\n");
    struct statistics st = begun(&s, false);
    int64_t *rows = mem_alloc(n, STATISTICS_MOMENTS * sizeof *rows);

    (void)state;
    assert_non_null(rows);
    assert_int_equal(st.numbers, STATISTICS_MOMENTS);
    for (size_t i = 0; i < n; i++)
        of_one_row(rows + i * STATISTICS_MOMENTS, &st, &s,
                   i < places ? (float)i - STATISTICS_UNIT : odd[i - places]);
    assert_int_equal(rows[1], -STATISTICS_UNIT);
    assert_int_equal(rows[3 * places], 0); /* a gap is of no row */
    assert_true(farthest(rows, n, STATISTICS_MOMENTS) == 4. * STATISTICS_UNIT * STATISTICS_UNIT);
    mem_free(rows);
    statistics_deinit(&st);
    schema_deinit(&s);
}

static void test_no_row_moves_counts_by_more_than_root_eight_units(void **state)
{
    enum { N = STATISTICS_CELLS + 3 };
    static int64_t rows[N * STATISTICS_COUNTS];
    const float odd[] = {NAN, -1e30f, 1e30f};
    struct schema s =
        parsed("  - {name: \"a\", kind: number, missing: own, bins: 4, clip: [0, 256]}\n");
    struct statistics st = begun(&s, false);

    (void)state;
    assert_int_equal(st.numbers, STATISTICS_COUNTS);
    for (size_t i = 0; i < N; i++)
        of_one_row(rows + i * STATISTICS_COUNTS, &st, &s,
                   i < STATISTICS_CELLS ? (float)i + 0.5f : odd[i - STATISTICS_CELLS]);
    assert_true(farthest(rows, N, STATISTICS_COUNTS) == 8. * STATISTICS_UNIT * STATISTICS_UNIT);
    statistics_deinit(&st);
    schema_deinit(&s);
}

/* What is summed of a row is the same whatever rows are beside it: no rounding tells of them. */
static void test_a_sum_is_that_of_each_row_alone(void **state)
{
    struct schema s = parsed("  - {name: \"a\", kind: number, missing: mean, clip: [0, 9], log: "
                             "true}\n"
                             "  - {name: \"b\", kind: ordered, levels: [\"x\", \"y\"], missing: "
                             "median}\n");
    struct statistics st = begun(&s, true);
    float x[200];
    const struct table all = {.rows = 100, .cols = 2, .x = x};
    int64_t sum[2 * STATISTICS_MOMENTS + STATISTICS_COUNTS] = {0}, order[2] = {0, 0};

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        x[2 * i] = i % 7 == 0 ? NAN : (float)i * 0.173f;
        x[2 * i + 1] = (float)(i % 3);
        statistics_sum(&st, &s, &(struct table){.rows = 1, .cols = 2, .x = x + 2 * i});
        assert_int_equal(st.numbers, sizeof sum / sizeof sum[0]);
        for (size_t k = 0; k < st.numbers; k++)
            sum[k] += st.number[k];
        order[0] += i % 7 != 0;
        order[1] += 1;
    }
    statistics_sum(&st, &s, &all);
    assert_memory_equal(st.number, sum, sizeof sum);
    assert_int_equal(sum[0], order[0] * STATISTICS_UNIT);
    assert_int_equal(sum[STATISTICS_MOMENTS], order[1] * STATISTICS_UNIT);
    statistics_deinit(&st);
    schema_deinit(&s);
}

/* --- noise --- */

static struct rng keyed(uint8_t last)
{
    uint8_t key[RNG_KEY_BYTES] = "statistics";
    struct rng r;

    key[RNG_KEY_BYTES - 1] = last;
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    return r;
}

/* Pearson's statistic of n values in 64 cells of equal weight under N(0, sigma^2), in standard
 * deviations from its mean.  Here sigma is thousands of steps: the discrete law is that. */
static double deviation(const int64_t *z, size_t n, double sigma)
{
    double seen[64] = {0}, chi = 0;

    for (size_t i = 0; i < n; i++)
        seen[(size_t)fmin(64 * erfc(-(double)z[i] / sigma / sqrt(2)) / 2, 63)]++;
    for (int c = 0; c < 64; c++)
        chi += (seen[c] - (double)n / 64) * (seen[c] - (double)n / 64) / ((double)n / 64);
    return (chi - 63) / sqrt(2. * 63);
}

enum { TIMES = 2000 };

/* Number `at` of many draws on nothing. */
static void check_number(struct statistics *st, size_t at, double sigma)
{
    static int64_t z[TIMES];
    struct rng r = keyed((uint8_t)at);

    for (size_t i = 0; i < TIMES; i++) {
        memset(st->number, 0, st->numbers * sizeof *st->number);
        assert_int_equal(statistics_draw(st, &r, &err), STATUS_OK);
        z[i] = st->number[at];
    }
    assert_true(fabs(deviation(z, TIMES, sigma)) < 4);
    assert_true(deviation(z, TIMES, sigma * 1.25) > 6);
    assert_true(deviation(z, TIMES, sigma / 1.25) > 6);
    rng_deinit(&r);
}

static void test_each_number_has_the_noise_that_is_charged(void **state)
{
    struct schema s =
        parsed("  - {name: \"a\", kind: number, missing: mean, clip: [0, 9]}\n"
               "  - {name: \"i\", kind: ignored}\n"
               "  - {name: \"b\", kind: number, missing: median, clip: [0, 9]}\n"
               "  - {name: \"c\", kind: time, missing: mean, bins: 3, clip: [0, 9]}\n");
    struct statistics st = begun(&s, false);
    const size_t means = STATISTICS_MOMENTS, counts = STATISTICS_COUNTS;
    const size_t at[] = {0,
                         1,
                         2,
                         means,
                         means + counts - 1,
                         means + counts,
                         2 * means + counts,
                         2 * means + 2 * counts - 1};

    (void)state;
    assert_int_equal(st.queries, 4);
    assert_int_equal(st.numbers, 2 * means + 2 * counts);
    assert_int_equal(statistics_spend(&st, 0.5, 3, &err), STATUS_OK);
    /* Of 4 queries each has an eighth of rho: move / sqrt(2 rho / 4), three rows at once. */
    assert_close(st.sigma[STATISTICS_OF_MOMENTS], 3 * 2 * 4096. * 2, 1e-9);
    assert_close(st.sigma[STATISTICS_OF_COUNTS], 3 * sqrt(8) * 4096. * 2, 1e-9);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        const bool moments =
            at[i] < means || (at[i] >= means + counts && at[i] < 2 * means + counts);

        check_number(&st, at[i], st.sigma[moments ? STATISTICS_OF_MOMENTS : STATISTICS_OF_COUNTS]);
    }
    statistics_deinit(&st);
    schema_deinit(&s);
}

/* --- what it costs --- */

/* tests/golden/statistics.txt */
static void check_spend(struct schema *s, size_t means, size_t counts, uint32_t together,
                        const double want[3])
{
    struct statistics st = {.queries = means + counts,
                            .numbers = means * STATISTICS_MOMENTS + counts * STATISTICS_COUNTS};
    const double rho = statistics_rho(&st, s);

    assert_close(rho, want[0], 1e-8);
    assert_int_equal(statistics_spend(&st, rho, together, &err), STATUS_OK);
    assert_close(st.sigma[STATISTICS_OF_MOMENTS], want[1], 1e-8);
    assert_close(st.sigma[STATISTICS_OF_COUNTS], want[2], 1e-8);
}

static void test_an_independent_budget_matches(void **state)
{
    FILE *file = fopen("tests/golden/statistics.txt", "r");
    size_t means, counts, found = 0;
    char line[256];

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct schema s = {.dp = true};
        uint32_t together;
        double want[3];

        if (sscanf(line, "spend %lf %lf %zu %zu %u %lf %lf %lf", &s.epsilon, &s.delta, &means,
                   &counts, &together, &want[0], &want[1], &want[2]) != 8)
            continue;
        check_spend(&s, means, counts, together, want);
        found++;
    }
    fclose(file);
    assert_int_equal(found, 5);
}

/* For a record, under each bottom; the block of columns and the record of all parties are seen in
 * releases alone, which count as if they changed in any way. */
static void test_a_claim_for_records_has_its_cost_and_no_other(void **state)
{
    const struct schema s = {.dp = true, .epsilon = 0.7, .delta = 1e-5};
    const struct statistics st = {.queries = 2, .numbers = 343};
    const double rho = statistics_rho(&st, &s), excess = 1.5;

    (void)state;
    for (int bottom = ACCOUNT_RAW; bottom <= ACCOUNT_DP; bottom++)
        for (int a = 0; a < ACCOUNT_ADVERSARIES; a++) {
            struct account_claim which = {.adversary = (enum account_adversary)a};
            struct account_entry e[2] = {pbm(8, 0.1, 4, 3, 10), statistics_entry(&st, rho, false)};
            double with, without;

            e[0].bottom = (enum account_bottom)bottom;
            e[0].step_noise = 8;
            e[0].steps = 2;
            e[0].participations_max = e[0].trained_max = 5;
            e[1].releases = 1000;
            which.adjacency = ACCOUNT_RECORD_RAW;
            account_curve(&with, &excess, 1, &which, e, 2);
            account_curve(&without, &excess, 1, &which, e, 1);
            assert_close(with, without + (1 + excess) * rho, 1e-12);
            assert_int_equal(account_record_adjacency(e, 2), account_record_adjacency(e, 1));
            assert_close(account_claim(e + 1, 1, &which, s.delta).epsilon, 0.7, 1e-9);
            for (int adjacency = ACCOUNT_COLUMNS; adjacency <= ACCOUNT_SAMPLE; adjacency++) {
                which.adjacency = (enum account_adjacency)adjacency;
                account_curve(&with, &excess, 1, &which, e, 2);
                account_curve(&without, &excess, 1, &which, e, 1);
                assert_true(with == without && without > 0);
                assert_int_equal(account_claim(e, 2, &which, 1e-5).m_eff,
                                 account_claim(e, 1, &which, 1e-5).m_eff);
            }
        }
}

static void test_more_noise_than_can_be_drawn_is_refused(void **state)
{
    struct statistics st = {.queries = 1, .numbers = 3};

    (void)state;
    assert_int_equal(statistics_spend(&st, 1e-4, 1, &err), STATUS_OK);
    assert_int_equal(statistics_spend(&st, 1e-4, 100000, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "too small for 1 statistics"));
}

/* --- what is read off --- */

enum { ROWS = 4000 };
static float cells[ROWS];

/* As many rows, skewed, of which every fifth lacks the value; *values: those that have it. */
static struct table people(double *mean, double *sd, float sorted[ROWS], size_t *values)
{
    double sum = 0, square = 0;

    *values = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const double u = ((double)i + 0.5) / ROWS;

        cells[i] = i % 5 == 0 ? NAN : (float)(100 * u * u);
        if (i % 5 == 0)
            continue;
        sorted[(*values)++] = cells[i];
        sum += (double)cells[i];
        square += (double)cells[i] * (double)cells[i];
    }
    *mean = sum / (double)*values;
    *sd = sqrt(square / (double)*values - *mean * *mean);
    return (struct table){.rows = ROWS, .cols = 1, .x = cells};
}

/* Without noise: what it is, to the grid. */
static void test_sums_give_means_deviations_and_quantiles(void **state)
{
    struct schema s[3] = {
        parsed("  - {name: \"a\", kind: number, missing: mean, clip: [0, 100]}\n"),
        parsed("  - {name: \"a\", kind: number, missing: median, clip: [0, 100]}\n"),
        parsed("  - {name: \"a\", kind: number, missing: own, bins: 5, clip: [0, 100]}\n")};
    static float sorted[ROWS];
    struct scale scale = {0};
    double mean, sd;
    size_t n;
    const struct table t = people(&mean, &sd, sorted, &n);

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct statistics st = begun(&s[i], i == 0);

        statistics_sum(&st, &s[i], &t);
        assert_int_equal(statistics_settle(&st, &s[i], ROWS), STATUS_OK);
        if (i == 0) {
            assert_int_equal(statistics_scale(&st, &s[i], ROWS, &scale), STATUS_OK);
            assert_true(fabs((double)s[i].column[0].fill - mean) < 0.02);
            /* With a fifth of the rows at the mean. */
            assert_true(fabs((double)scale.mean[0] - mean) < 0.02);
            assert_true(fabs((double)scale.sd[0] - sd * sqrt(0.8)) < 0.02);
        }
        statistics_deinit(&st);
    }
    assert_true(fabsf(s[1].column[0].fill - sorted[n / 2]) < 100. / STATISTICS_CELLS);
    assert_int_equal(s[2].column[0].bins, 5);
    for (size_t i = 1; i < 5; i++)
        assert_true(fabsf(s[2].column[0].edge[i - 1] - sorted[n * i / 5]) <
                    100. / STATISTICS_CELLS);
    for (int i = 0; i < 3; i++) {
        assert_false(schema_is_open(&s[i].column[0]));
        schema_deinit(&s[i]);
    }
    scale_deinit(&scale);
}

/* A value that stands in is behind the logarithm what the mean is there; parts of a time are
 * standardised by their ranges, which are nobody's. */
static void test_logarithms_and_parts_have_scales_of_their_own(void **state)
{
    struct schema s = parsed("  - {name: \"a\", kind: number, missing: mean, clip: [0, 100], log: "
                             "true}\n"
                             "  - {name: \"t\", kind: time, missing: refused, clip: [0, 3653], "
                             "parts: [year, month], indicator: true}\n");
    float x[] = {0, 0, 9, 100, 99, 2000};
    const struct table t = {.rows = 3, .cols = 2, .x = x};
    struct statistics st = begun(&s, true);
    struct scale scale = {0};
    const double mean = (log(10) + log(100)) / 3;

    (void)state;
    assert_int_equal(st.queries, 1);
    statistics_sum(&st, &s, &t);
    assert_int_equal(statistics_settle(&st, &s, 3), STATUS_OK);
    assert_int_equal(statistics_scale(&st, &s, 3, &scale), STATUS_OK);
    assert_true(fabs((double)s.column[0].fill - expm1(mean)) < 0.02);
    assert_int_equal(scale.cols, 4);
    assert_true(fabs((double)scale.mean[0] - mean) < 0.002);
    assert_close((double)scale.mean[1], 2005, 1e-6); /* 2000 to 2010 */
    assert_close((double)scale.mean[2], 6.5, 1e-6);
    assert_close((double)scale.sd[2], 11 / sqrt(12), 1e-6);
    assert_true(scale.mean[3] == 0 && scale.sd[3] == 1);
    scale_deinit(&scale);
    statistics_deinit(&st);
    schema_deinit(&s);
}

/* One that rows decided would tell them to whoever is told the number of features. */
static void test_noise_decides_no_number_of_features(void **state)
{
    (void)state;
    for (uint8_t seed = 0; seed < 50; seed++) {
        struct schema s =
            parsed("  - {name: \"a\", kind: number, missing: own, bins: 64, clip: [0, "
                   "100], indicator: true}\n"
                   "  - {name: \"b\", kind: number, missing: mean, clip: [-5, 5]}\n");
        struct statistics st = begun(&s, true);
        struct rng r = keyed(seed);
        struct scale scale = {0};
        struct schema again;

        assert_int_equal(statistics_spend(&st, 1e-3, 1, &err), STATUS_OK);
        assert_int_equal(statistics_draw(&st, &r, &err), STATUS_OK); /* of one row: noise alone */
        assert_int_equal(statistics_settle(&st, &s, 1), STATUS_OK);
        assert_int_equal(statistics_scale(&st, &s, 1, &scale), STATUS_OK);
        assert_int_equal(scale.cols, 66);
        assert_true(isfinite(scale.mean[65]) && scale.sd[65] > 0 && scale.sd[65] < 10);
        assert_true(s.column[1].fill >= -5 && s.column[1].fill <= 5);
        assert_int_equal(schema_copy(&again, &s, &err), STATUS_OK); /* each edge above the last */
        assert_int_equal(again.column[0].bins, 64);
        assert_true(again.dp && again.epsilon == 1 && again.delta == 1e-6);
        schema_deinit(&again);
        scale_deinit(&scale);
        rng_deinit(&r);
        statistics_deinit(&st);
        schema_deinit(&s);
    }
}

/* A sum over half of the leaves has the noise of a hundred and more; by the tree, of a few nodes.
 */
static void test_a_median_has_the_noise_of_few_counts(void **state)
{
    const double rows = 1 << 16;
    double square = 0;

    (void)state;
    for (uint8_t seed = 0; seed < 60; seed++) {
        struct schema s =
            parsed("  - {name: \"a\", kind: number, missing: median, clip: [0, 1]}\n");
        struct statistics st = begun(&s, false);
        struct rng r = keyed(seed);
        double off;

        for (size_t level = 0, nodes = 4; nodes <= STATISTICS_CELLS; level += nodes, nodes *= 4)
            for (size_t i = 0; i < nodes; i++)
                st.number[level + i] = (int64_t)(rows / (double)nodes) * STATISTICS_UNIT;
        st.sigma[0] = 4;
        st.sigma[1] = 1000. * STATISTICS_UNIT;
        assert_int_equal(statistics_draw(&st, &r, &err), STATUS_OK);
        assert_int_equal(statistics_settle(&st, &s, (size_t)rows), STATUS_OK);
        off = ((double)s.column[0].fill - 0.5) * rows;
        square += off * off;
        rng_deinit(&r);
        statistics_deinit(&st);
        schema_deinit(&s);
    }
    /* Of leaves alone sqrt(256) / 2 sigma: 8000 rows. */
    assert_true(sqrt(square / 60) < 2500);
}

/* --- what is refused --- */

static void refused(const char *columns, const char *expected)
{
    struct schema s = parsed(columns);
    struct statistics st;

    assert_int_equal(statistics_init(&st, &s, true, &err), STATUS_CONFIG);
    if (strstr(err.text, expected) == NULL)
        fail_msg("%s", err.text);
    assert_null(st.number);
    schema_deinit(&s);
}

static void test_what_has_no_range_or_no_levels_is_refused_by_name(void **state)
{
    (void)state;
    refused("  - {name: \"age\", kind: number, missing: mean}\n",
            "column \"age\": statistics: dp, but no clip");
    refused("  - {name: \"age\", kind: number, missing: refused}\n", "no clip"); /* for its scale */
    refused("  - {name: \"since\", kind: time, missing: refused, parts: [year]}\n", "no clip");
    refused("  - {name: \"job\", kind: category}\n",
            "column \"job\": statistics: dp, but its levels");
    refused("  - {name: \"age\", kind: number, missing: mean, clip: [1, 1]}\n", "too narrow");
    refused("  - {name: \"age\", kind: number, bins: 3, missing: own, clip: [1e9, 1000001000]}\n",
            "too narrow");
}

static void test_what_is_given_takes_no_noise(void **state)
{
    struct schema s = parsed("  - {name: \"a\", kind: number, missing: mean, fill: 2}\n"
                             "  - {name: \"b\", kind: number, missing: own, edges: [1, 2]}\n"
                             "  - {name: \"c\", kind: category, levels: [\"x\"]}\n"
                             "  - {name: \"d\", kind: ignored}\n");
    struct statistics st = begun(&s, false);

    (void)state;
    assert_int_equal(st.queries, 0);
    assert_int_equal(statistics_settle(&st, &s, 1), STATUS_OK);
    assert_true(s.column[0].fill == 2 && s.column[1].bins == 3);
    statistics_deinit(&st);
    schema_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_row_moves_moments_by_more_than_two_units),
        cmocka_unit_test(test_no_row_moves_counts_by_more_than_root_eight_units),
        cmocka_unit_test(test_a_sum_is_that_of_each_row_alone),
        cmocka_unit_test(test_each_number_has_the_noise_that_is_charged),
        cmocka_unit_test(test_an_independent_budget_matches),
        cmocka_unit_test(test_a_claim_for_records_has_its_cost_and_no_other),
        cmocka_unit_test(test_more_noise_than_can_be_drawn_is_refused),
        cmocka_unit_test(test_sums_give_means_deviations_and_quantiles),
        cmocka_unit_test(test_logarithms_and_parts_have_scales_of_their_own),
        cmocka_unit_test(test_noise_decides_no_number_of_features),
        cmocka_unit_test(test_a_median_has_the_noise_of_few_counts),
        cmocka_unit_test(test_what_has_no_range_or_no_levels_is_refused_by_name),
        cmocka_unit_test(test_what_is_given_takes_no_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
