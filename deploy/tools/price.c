/* price.c -- vfl-price: given all but one of epsilon, delta, trials, beta, embedding, releases,
 * m-eff and noise, the missing one.
 *
 *   vfl-price --epsilon 4 --trials 4 --embedding 4 --releases 1 --m-eff 5
 *
 * With --advise in front: settings for a federation of such sizes (price/advise.h).
 *
 * It computes with what the parties' accounts compute with, and says of what it is a price.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/status.h"
#include "common/privacy/paper.h"
#include "deploy/tools/price/advise.h"
#include "deploy/tools/price/refuse.h"
#include "deploy/tools/price/solve.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOOL[] = "vfl price";
static const double DELTA_DEFAULT = 1e-5;

struct request {
    struct terms terms;
    bool given[TERMS];
    enum term missing;
};

/* --- the command line --- */

/* A finite number in the range of its kind; noise may also be 0, which is none. */
static int take(struct request *r, enum term term, const char *text)
{
    const struct term_kind *kind = &term_kinds[term];
    char *end;
    double value = strtod(text, &end);
    bool none = value == 0 && (term == TERM_NOISE || term == TERM_STEPS || term == TERM_STATISTICS);

    if (r->given[term])
        return refuse(TOOL, "--%s %s: given before", kind->name, text);
    if (end == text || *end != '\0' || strspn(text, "0123456789.eE+-") != strlen(text) ||
        !isfinite(value) || (kind->whole && value != floor(value)))
        return refuse(TOOL, "--%s %s: expected a %snumber", kind->name, text,
                      kind->whole ? "whole " : "");
    if (!none && (value < kind->lo || value > kind->hi))
        return refuse(TOOL, "--%s %s: expected %.6g to %.6g", kind->name, text, kind->lo, kind->hi);
    r->terms.value[term] = value;
    r->given[term] = true;
    return 0;
}

static int read_options(struct request *r, int argc, char **argv)
{
    struct option all[TERMS + 1] = {{NULL, 0, NULL, 0}};
    int c, code;

    for (int i = 0; i < TERMS; i++)
        all[i] = (struct option){term_kinds[i].name, required_argument, NULL, 256 + i};
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", all, NULL)) != -1) {
        if (c < 256 || c >= 256 + TERMS)
            return refuse(TOOL, "%s: %s (vfl price --help)", argv[optind - 1],
                          c == ':' ? "its value is missing" : "unknown");
        code = take(r, (enum term)(c - 256), optarg);
        if (code != 0)
            return code;
    }
    return optind == argc ? 0 : refuse(TOOL, "%s: not an option (vfl price --help)", argv[optind]);
}

/* Which one is sought?  Steps without a noise leave the noise open, a noise without steps means
 * one; without both the bottom is frozen.  delta is sought only when all else is there, and the
 * noise of one step when delta is there, too. */
static int complete(struct request *r)
{
    static const enum term always[] = {TERM_EPSILON,   TERM_TRIALS,   TERM_BETA,
                                       TERM_EMBEDDING, TERM_RELEASES, TERM_M_EFF};
    double *noise = &r->terms.value[TERM_NOISE], *steps = &r->terms.value[TERM_STEPS];
    enum term open[TERMS];
    size_t n = 0;

    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (!r->given[always[i]])
            open[n++] = always[i];
    }
    if (*noise > 0 && !r->given[TERM_STEPS])
        *steps = 1;
    if (*noise > 0 && *steps == 0)
        return refuse(TOOL, "--noise %g with --steps 0: a bottom that takes no steps is frozen",
                      *noise);
    if (r->given[TERM_NOISE] && *noise == 0 && *steps > 0)
        return refuse(
            TOOL,
            "--steps %g without noise: that is training on raw data; leave --steps out and "
            "give all of a run's releases",
            *steps);
    if (*steps > 0 && !r->given[TERM_NOISE])
        open[n++] = TERM_NOISE;
    if (n == 0 && !r->given[TERM_DELTA])
        open[n++] = TERM_DELTA;
    if (n == 0 && !r->given[TERM_NOISE] && !r->given[TERM_STEPS]) {
        *steps = 1;
        open[n++] = TERM_NOISE;
    }
    if (!r->given[TERM_DELTA])
        r->terms.value[TERM_DELTA] = DELTA_DEFAULT;
    if (!r->given[TERM_GROUP])
        r->terms.value[TERM_GROUP] = 1;
    if (n == 0)
        return refuse(TOOL,
                      "nothing is missing: leave out what you want to know (vfl price --help)");
    if (n > 1)
        return refuse(TOOL,
                      "%zu are missing, --%s and --%s among them: one is the most (vfl price "
                      "--help)",
                      n, term_kinds[open[0]].name, term_kinds[open[1]].name);
    r->missing = open[0];
    return 0;
}

/* --- the answer --- */

static void print_term(const struct request *r, enum term term)
{
    const struct term_kind *kind = &term_kinds[term];
    double value = r->terms.value[term];
    const char *note = "";

    if (term == r->missing && term != TERM_EPSILON) {
        if (value == (kind->grows ? kind->hi : kind->lo))
            note = kind->grows ? "  (the most there may be)" : "  (the least there may be)";
        else
            note = kind->grows ? "  (the largest)" : "  (the smallest)";
    }
    printf(kind->whole ? "%-10s %.0f%s%s\n" : "%-10s %.6g%s%s\n", kind->name, value, note,
           term == TERM_BETA && value > 0.25 ? "  (with protocol.pbm.wide)" : "");
}

static void print_meaning(const struct account_entry *e, const struct account_claim *c)
{
    const bool frozen = c->adjacency == ACCOUNT_RECORD_FROZEN;

    printf("\nadjacency  %s: one record of one party changes; what counts %s its %" PRIu64
           " release%s%s.\n",
           account_adjacency_name(c->adjacency),
           e->participations_max == 1 && frozen ? "is" : "are", e->participations_max,
           e->participations_max == 1 ? "" : "s",
           frozen ? "" : ", and the noised steps on it after each");
    if (frozen)
        printf("           With a bottom that trains on raw data the same number holds for "
               "record_raw and columns\n"
               "           when --releases is of all releases of the run.\n");
    printf("adversary  whoever sees sums in which %" PRIu32
           " part%s of which it holds none add%s noise: the server\n"
           "           alone among %" PRIu32 ", the server and one of them, or one curious party, "
           "among %" PRIu32 ".\n",
           e->parties, e->parties == 1 ? "y" : "ies", e->parties == 1 ? "s" : "", e->parties,
           e->parties + 1);
}

/* What one more or less of a family costs is no multiple of epsilon where they share a batch. */
static void print_group(const struct request *r, const struct account_entry *e)
{
    const double g = r->terms.value[TERM_GROUP];

    if (g <= 1)
        return;
    printf("group      all of %.0f records that change together: %.0f times as many releases%s\n",
           g, g, e->bottom == ACCOUNT_DP ? "," : ".");
    if (e->bottom == ACCOUNT_DP)
        printf("           and each step up to %.0f times its price (g^2: they may be in one "
               "batch).\n",
               g * g);
}

static void print_answer(const struct request *r)
{
    static const enum term shown[] = {TERM_TRIALS,   TERM_BETA,  TERM_EMBEDDING,
                                      TERM_RELEASES, TERM_M_EFF, TERM_DELTA};
    struct account_entry e = terms_entry(&r->terms);
    struct account_claim c = terms_claim(&r->terms);
    double order, paper = paper_epsilon(&e, r->terms.value[TERM_DELTA], &order);

    printf("%-10s %.6g%s\n", "epsilon", c.epsilon, c.vacuous ? "  (vacuous)" : "");
    printf("%-10s %.6g\n", "alpha", c.alpha);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        print_term(r, shown[i]);
    if (e.bottom == ACCOUNT_DP) {
        print_term(r, TERM_NOISE);
        print_term(r, TERM_STEPS);
    }
    if (r->terms.value[TERM_STATISTICS] > 0)
        print_term(r, TERM_STATISTICS);
    /* sd of C/(beta b) (sum of q - b M/2), where every q has at most the variance b/4. */
    printf("%-10s standard deviation %.3g C in each coordinate of a sum of at most %" PRIu32 " C\n",
           "error", sqrt(e.parties / (4.0 * e.trials)) / e.beta, e.parties);
    printf("%-10s %.6g by Theorem 6.1 of PBM-VFL with its open constant taken as 1%s: no "
           "guarantee\n",
           "paper", paper, e.bottom == ACCOUNT_DP ? ", without steps" : "");
    print_meaning(&e, &c);
    print_group(r, &e);
}

int main(int argc, char **argv)
{
    struct request r = {.missing = TERM_EPSILON};
    const struct term_kind *kind;
    int code;

    if (argc > 1 && strcmp(argv[1], "--advise") == 0)
        return advise_main(argc - 1, argv + 1);
    code = read_options(&r, argc, argv);

    if (code == 0)
        code = complete(&r);
    if (code != 0)
        return code;
    kind = &term_kinds[r.missing];
    if (terms_solve(&r.terms, r.missing) != STATUS_OK) {
        refuse(TOOL, "no --%s does it: at %.6g epsilon still is %.6g", kind->name,
               r.terms.value[r.missing], terms_claim(&r.terms).epsilon);
        return status_exit_code(STATUS_BUDGET);
    }
    print_answer(&r);
    return 0;
}
