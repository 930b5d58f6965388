/* advise.c -- the recipe, its options, and what it prints.
 *
 * Each party's embedding goes by itself (fusion concat), one coin a value, so that a party whose
 * columns say little is no noise to the others, and a claim holds against everybody.  A coin is
 * worth most near its widest: so there are as many values as leave it nearly that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/price/advise.h"

#include "common/privacy/ledger.h"
#include "deploy/tools/price/refuse.h"
#include "deploy/tools/price/solve.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOOL[] = "vfl price --advise";
static const double STEPS_SHARE = 0.25; /* of epsilon, what the local steps alone may cost */
static const double BETA_LEAST = 0.44;  /* another value has to leave each coin this */
enum { STEPS = 30, EMBEDDING_MAX = 16, BATCH_LEAST = 200, BATCH_MOST = 1000, ROUNDS = 24 };

/* --- the recipe --- */

/* Is the last batch of an epoch as good as whole? */
static bool even(uint64_t rows, uint64_t batch)
{
    return rows % batch == 0 || rows % batch * 10 >= batch * 9;
}

/* Some two dozen rounds, of batches at whose size noise does not drown them; and all alike, since a
 * last one of a few rows would be nothing but noise and spoil what came before. */
static uint32_t batch_of(uint64_t rows)
{
    uint64_t batch = rows / ROUNDS, off = 0;

    batch = batch < BATCH_LEAST ? BATCH_LEAST : batch;
    batch = batch > BATCH_MOST ? BATCH_MOST : batch;
    if (rows <= batch)
        return (uint32_t)rows;
    while (!even(rows, batch + off) && (off >= batch || !even(rows, batch - off)))
        off++; /* the rows themselves would do */
    return (uint32_t)(even(rows, batch + off) ? batch + off : batch - off);
}

static struct terms terms_of(const struct advise_asked *a, double epsilon, uint32_t embedding)
{
    struct terms t = {{0}};

    t.value[TERM_EPSILON] = epsilon;
    t.value[TERM_DELTA] = a->delta;
    t.value[TERM_TRIALS] = 1;
    t.value[TERM_BETA] = term_kinds[TERM_BETA].lo;
    t.value[TERM_EMBEDDING] = embedding;
    t.value[TERM_RELEASES] = 1;
    t.value[TERM_M_EFF] = 1;
    t.value[TERM_STEPS] = STEPS;
    t.value[TERM_GROUP] = 1;
    return t;
}

/* The widest coin, to four digits behind the point; 0: there is none. */
static double beta_of(struct terms t, uint32_t embedding)
{
    t.value[TERM_EMBEDDING] = embedding;
    if (terms_solve(&t, TERM_BETA) != STATUS_OK)
        return 0;
    return floor(t.value[TERM_BETA] * 1e4) / 1e4;
}

enum status advise(struct advised *to, const struct advise_asked *asked)
{
    struct terms t = terms_of(asked, STEPS_SHARE * asked->epsilon, 1);
    uint32_t least = 1;

    if (terms_solve(&t, TERM_NOISE) != STATUS_OK)
        return STATUS_BUDGET;
    to->noise = ceil(t.value[TERM_NOISE] * 10) / 10;
    to->steps = STEPS;
    to->batch = batch_of(asked->rows);
    t.value[TERM_EPSILON] = asked->epsilon;
    t.value[TERM_NOISE] = to->noise;
    /* Coins of all parties together must at least tell classes apart. */
    while (least < EMBEDDING_MAX && ldexp(1, (int)(least * asked->parties)) < asked->classes)
        least++;
    to->embedding = EMBEDDING_MAX;
    while (to->embedding > least && beta_of(t, to->embedding) < BETA_LEAST)
        to->embedding--;
    to->beta = beta_of(t, to->embedding);
    if (!(to->beta > 0))
        return STATUS_BUDGET;
    t.value[TERM_EMBEDDING] = to->embedding;
    t.value[TERM_BETA] = to->beta;
    /* Is a step's noise longer than the gradients of a whole batch that all point one way? */
    to->cosine = to->noise * sqrt((double)to->embedding * (asked->widest + 1.0)) > to->batch;
    to->epsilon = terms_claim(&t).epsilon;
    return STATUS_OK;
}

/* --- the command line --- */

static bool whole(uint64_t *to, const char *text, const char **end, uint64_t lo, uint64_t hi)
{
    char *stop;

    errno = 0;
    *to = strtoull(text, &stop, 10);
    *end = stop;
    return *text >= '0' && *text <= '9' && errno == 0 && *to >= lo && *to <= hi;
}

/* Whole numbers with commas between, one for each party. */
static bool take_columns(struct advise_asked *a, const char *text)
{
    uint64_t one;

    for (uint32_t n = 1; n <= (uint32_t)term_kinds[TERM_M_EFF].hi; n++) {
        if (!whole(&one, text, &text, 1, UINT32_MAX))
            return false;
        if (one > a->widest)
            a->widest = (uint32_t)one;
        a->parties = n;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
    return false;
}

static bool real(double *to, const char *text, double lo, double hi)
{
    char *end;

    *to = strtod(text, &end);
    return end != text && *end == '\0' && strspn(text, "0123456789.eE+-") == strlen(text) &&
           *to >= lo && *to <= hi;
}

enum { ROWS = 256, COLUMNS, CLASSES, EPSILON, DELTA, OPTIONS_END };
static const struct option options[] = {
    {"rows", required_argument, NULL, ROWS},       {"columns", required_argument, NULL, COLUMNS},
    {"classes", required_argument, NULL, CLASSES}, {"epsilon", required_argument, NULL, EPSILON},
    {"delta", required_argument, NULL, DELTA},     {NULL, 0, NULL, 0}};

static int take(struct advise_asked *a, int option, const char *text)
{
    const char *end = "";
    uint64_t n = 0;
    bool good = true;

    switch (option) {
    case ROWS: good = whole(&a->rows, text, &end, 1, UINT64_C(1) << 40); break;
    case COLUMNS: good = take_columns(a, text); break;
    case CLASSES:
        good = whole(&n, text, &end, 2, 65536);
        a->classes = (uint32_t)n;
        break;
    case EPSILON: good = real(&a->epsilon, text, 0.01, 1000); break;
    case DELTA: good = real(&a->delta, text, 1e-15, 1e-5); break;
    default: return 2;
    }
    return good && *end == '\0' ? 0
                                : refuse(TOOL, "--%s %s: not such a number (vfl price --help)",
                                         options[option - ROWS].name, text);
}

static int read_options(struct advise_asked *a, int argc, char **argv)
{
    bool given[OPTIONS_END - ROWS] = {false};
    int c;

    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (c < ROWS || c >= OPTIONS_END)
            return refuse(TOOL, "%s: %s (vfl price --help)", argv[optind - 1],
                          c == ':' ? "its value is missing" : "unknown");
        if (given[c - ROWS])
            return refuse(TOOL, "--%s %s: given before", options[c - ROWS].name, optarg);
        given[c - ROWS] = true;
        if (take(a, c, optarg) != 0)
            return 2;
    }
    if (optind != argc)
        return refuse(TOOL, "%s: not an option (vfl price --help)", argv[optind]);
    for (int i = ROWS; i < DELTA; i++) {
        if (!given[i - ROWS])
            return refuse(TOOL, "--%s is missing", options[i - ROWS].name);
    }
    if (!given[DELTA - ROWS])
        a->delta = ledger_delta(a->rows);
    return 0;
}

/* --- what it prints --- */

static void print_settings(const struct advise_asked *a, const struct advised *s)
{
    printf("# %" PRIu64 " rows, %" PRIu32 " parties, %" PRIu32 " classes.\n"
           "# One record of one party that changes: epsilon %.6g at delta %g against the server,\n"
           "# any of the others, and all of them together; for one that is trained on. For one\n"
           "# that is only predicted, once, less: it takes part in no step.\n",
           a->rows, a->parties, a->classes, s->epsilon, a->delta);
    printf(
        "# There are no masks: the server sees each party's coins, and nothing but a party's own\n"
        "# noise hides its records.\n");
    if (a->classes > 2)
        printf("# With more than two classes scores are far below central training at this "
               "epsilon.\n");
    if (s->epsilon > ACCOUNT_VACUOUS)
        printf("# Over %g an epsilon says nothing (vacuous).\n", ACCOUNT_VACUOUS);
    printf("\n# server.yaml\n"
           "model: {embedding: %" PRIu32 ", fusion: concat, head: [], init: glorot%s}\n"
           "protocol:\n"
           "  encoding: pbm\n"
           "  aggregation: clear # each party's coins by themselves: the claim counts on nobody\n"
           "  pbm: {trials: 1, beta: %.4f, wide: true, gain: 1000}\n"
           "  clip: 1\n"
           "  local_iterations: %" PRIu32 "\n"
           "training: {epochs: 1, batch: %" PRIu32 ", optimizer: adam, learning_rate: 0.03,\n"
           "           schedule: %s, class_weights: balanced, evaluate_every: 0}\n"
           "privacy: {delta: %g}\n",
           s->embedding, a->classes == 2 ? ", binary_loss: sigmoid" : "", s->beta, s->steps,
           s->batch, s->cosine ? "cosine" : "constant", a->delta);
    printf(
        "\n# party.yaml of each party; scale: none takes columns as they are, so let them be of\n"
        "# size 1 or so, or name a file of means and deviations that no record here has made\n"
        "# (data.scale, with scale_given: true)\n"
        "model: {layers: [], train: dp, clip: 0.03, noise: %.1f}\n"
        "data: {scale: none}\n"
        "policy:\n"
        "  aggregations: [clear]\n"
        "  min_parties: %" PRIu32 "\n"
        "  max_epsilon: {adversary: server, adjacency: record_dp, value: %g}\n",
        s->noise, a->parties < 3 ? a->parties : 3, a->epsilon);
}

int advise_main(int argc, char **argv)
{
    struct advise_asked asked = {0};
    struct advised settings;
    int code = read_options(&asked, argc, argv);

    if (code != 0)
        return code;
    if (advise(&settings, &asked) != STATUS_OK) {
        refuse(TOOL, "epsilon %g is too little for any coin", asked.epsilon);
        return status_exit_code(STATUS_BUDGET);
    }
    print_settings(&asked, &settings);
    return 0;
}
