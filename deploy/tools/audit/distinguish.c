/* distinguish.c -- each adversary's view, its best threshold, and the claims beside it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/distinguish.h"

#include "common/privacy/account.h"
#include "deploy/tools/audit/bound.h"
#include "deploy/tools/audit/lowbits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE_MIN = 20 };     /* canaries */
#define ROUNDED (1 + 1e-12) /* a summary's numbers have 15 digits */

/* --- summaries --- */

static const char *word_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text == NULL ? "?" : text;
}

static const json_t *claims_of(const json_t *summary)
{
    return json_object_get(json_object_get(summary, "privacy"), "claims");
}

/* Its claims for one record are of this adjacency; NULL: it has none. */
static const char *record_adjacency(const json_t *summary)
{
    const json_t *claim;
    size_t i;

    json_array_foreach(claims_of(summary), i, claim)
    {
        if (strncmp(word_of(claim, "adjacency"), "record_", 7) == 0)
            return word_of(claim, "adjacency");
    }
    return NULL;
}

static double delta_of(const json_t *summary)
{
    return json_number_value(json_object_get(json_object_get(summary, "privacy"), "delta"));
}

/* A claim of infinity is one without an epsilon (common/metrics/report.c). */
static double epsilon_of(const json_t *claim)
{
    const json_t *epsilon = json_object_get(claim, "epsilon");

    return epsilon == NULL ? INFINITY : json_number_value(epsilon);
}

static bool is_adversary(const char *name)
{
    for (int a = 0; a < ACCOUNT_ADVERSARIES; a++)
        if (strcmp(name, account_adversary_name((enum account_adversary)a)) == 0)
            return true;
    return false;
}

static bool is_adjacency(const char *name)
{
    for (int a = 0; a < ACCOUNT_ADJACENCIES; a++)
        if (strcmp(name, account_adjacency_name((enum account_adjacency)a)) == 0)
            return true;
    return false;
}

/* What cannot be judged must not look as if it held. */
static enum status check_claim(const json_t *claim, size_t number, uint32_t parties,
                               struct error *err)
{
    const json_t *m_eff = json_object_get(claim, "m_eff");
    const json_t *epsilon = json_object_get(claim, "epsilon");

    if (!is_adversary(word_of(claim, "adversary")))
        return error_set(err, STATUS_DATA, "claim %zu: no adversary that is known", number);
    if (!is_adjacency(word_of(claim, "adjacency")))
        return error_set(err, STATUS_DATA, "claim %zu: no adjacency that is known", number);
    if (!json_is_integer(m_eff) || json_integer_value(m_eff) < 1 ||
        json_integer_value(m_eff) > (json_int_t)parties)
        return error_set(err, STATUS_DATA, "claim %zu: m_eff: 1 to %u expected", number, parties);
    if (epsilon != NULL && !(json_is_number(epsilon) && json_number_value(epsilon) >= 0))
        return error_set(err, STATUS_DATA,
                         "claim %zu: epsilon: a number expected (none at all is infinity)", number);
    return STATUS_OK;
}

static enum status check_claims(const json_t *summary, const struct plan *p, struct error *err)
{
    const double delta = delta_of(summary);
    enum status s = STATUS_OK;
    const json_t *claim;
    size_t i;

    if (!(delta > 0 && delta <= p->privacy.delta * ROUNDED))
        return error_set(err, STATUS_DATA,
                         "the summary's delta is %g: above 0 and at most the plan's %g expected",
                         delta, p->privacy.delta);
    json_array_foreach(claims_of(summary), i, claim)
    {
        if (s == STATUS_OK)
            s = check_claim(claim, i + 1, p->shape.parties, err);
    }
    return s;
}

static enum status check_summary(const json_t *summary, struct error *err)
{
    if (json_array_size(json_object_get(summary, "parties")) != 1)
        return error_set(err, STATUS_DATA,
                         "a summary of several parties: claims are judged by the target's own");
    if (record_adjacency(summary) == NULL)
        return error_set(err, STATUS_DATA, "the summary claims nothing for a record");
    return STATUS_OK;
}

static enum status check_summaries(const struct distinguish_summaries *by, const struct plan *p,
                                   struct error *err)
{
    enum status s = check_summary(by->own, err);

    if (s == STATUS_OK)
        s = check_summary(by->claims, err);
    if (s == STATUS_OK && strcmp(record_adjacency(by->own), "record_raw") == 0)
        s = error_set(err, STATUS_DATA,
                      "record_raw: the bottom learns from raw records, each shows in the releases "
                      "of all others, and none is a trial of its own: nothing is judged "
                      "(vfl audit --control)");
    if (s == STATUS_OK)
        s = check_claims(by->own, p, err);
    return s == STATUS_OK ? check_claims(by->claims, p, err) : s;
}

/* --- the attack --- */

/* What was found by whom, so that no view is judged twice. */
struct found {
    double delta; /* the claims', at which they are judged */
    bool known[PLAN_PARTIES_MAX];
    /* By parties held; negative: not attacked. */
    double epsilon[PLAN_PARTIES_MAX], bits[PLAN_PARTIES_MAX];
};

/* Where the bottom learns, what tells of a canary is in other records' values. */
static enum status attack_bits(struct found *f, const struct view_of *of, uint32_t held,
                               struct error *err)
{
    const unsigned m_eff = of->seen->plan.shape.parties - held;
    struct bound_test t;
    enum status s;

    if (of->probes != NULL) {
        printf("low bits  not looked at: with --dp a canary shows in the values of others\n");
        return STATUS_OK;
    }
    s = lowbits(&t, of, held, f->delta, err);
    if (s != STATUS_OK)
        return s;
    if (t.n == 0 || t.m == 0) {
        printf("low bits  not looked at, m_eff %u: too few records were released exactly once\n",
               m_eff);
        return STATUS_OK;
    }
    f->bits[held] = t.epsilon;
    printf("low bits  m_eff %u: %zu and %zu judged, %zu taken for the other side, %zu missed: "
           "epsilon at least %.4g\n",
           m_eff, t.n, t.m, t.false_hits, t.misses, t.epsilon);
    return STATUS_OK;
}

static enum status attack(struct found *f, const struct view_of *of, uint32_t held,
                          struct error *err)
{
    struct view v = {0};
    struct bound_test t;
    enum status s;

    if (f->known[held])
        return STATUS_OK;
    f->known[held] = true;
    f->epsilon[held] = f->bits[held] = -1;
    if (held > 0 && of->seen->part == NULL)
        return STATUS_OK;
    s = view_make(&v, of, held, err);
    if (s == STATUS_OK && (v.n < SIDE_MIN || v.m < SIDE_MIN))
        s = error_set(err, STATUS_DATA, "%zu and %zu canaries of a side were released, too few",
                      v.n, v.m);
    if (s == STATUS_OK) {
        t = bound_by_threshold(v.d, v.n, v.d_prime, v.m, f->delta);
        f->epsilon[held] = t.epsilon;
        printf("m_eff %-5u %zu and %zu judged, %zu taken for the other side, %zu missed: epsilon "
               "at least %.4g\n",
               of->seen->plan.shape.parties - held, t.n, t.m, t.false_hits, t.misses, t.epsilon);
    }
    view_deinit(&v);
    return s == STATUS_OK ? attack_bits(f, of, held, err) : s;
}

/* A curious party sees what the server and that party do where it is shown the training rounds'
 * sums, and these are all that there is to see; otherwise nobody knows here what it sees. */
static bool sees_sums(const struct view_of *of, const json_t *claim)
{
    const struct plan *p = &of->seen->plan;

    return strcmp(word_of(claim, "adversary"), "party") != 0 ||
           (p->protocol.local_view == VIEW_REFRESHED && of->probes == NULL &&
            !p->training.evaluate_train);
}

static uint32_t held_by(const json_t *claim, uint32_t parties)
{
    return parties - (uint32_t)json_integer_value(json_object_get(claim, "m_eff"));
}

static bool print_claim(const json_t *claim, double bound, double bits)
{
    const double claimed = epsilon_of(claim);
    const bool over = bound > claimed;
    const bool told = bits > claimed;
    char text[32] = "-";

    if (bound >= 0)
        snprintf(text, sizeof text, "%.4g", bound);
    printf("%-12s %-14s %6lld %12.4g %12s  %s\n", word_of(claim, "adversary"),
           word_of(claim, "adjacency"), json_integer_value(json_object_get(claim, "m_eff")),
           claimed, text,
           bound < 0 ? "not attacked"
           : over    ? "BROKEN"
           : told    ? "BROKEN by low bits"
                     : "holds");
    return over || told;
}

enum status distinguish(const struct view_of *of, const struct distinguish_summaries *by,
                        bool *broken, struct error *err)
{
    const uint32_t parties = of->seen->plan.shape.parties;
    const json_t *claims = claims_of(by->claims), *self, *claim;
    struct found found = {.delta = delta_of(by->claims)};
    enum status s = check_summaries(by, &of->seen->plan, err);
    size_t i;

    json_array_foreach(claims, i, claim)
    {
        if (s == STATUS_OK && sees_sums(of, claim))
            s = attack(&found, of, held_by(claim, parties), err);
    }
    if (s != STATUS_OK)
        return s;
    self = json_array_get(json_object_get(by->claims, "parties"), 0);
    printf("claims of %s, delta %g\n%-12s %-14s %6s %12s %12s\n", word_of(self, "name"),
           found.delta, "adversary", "adjacency", "m_eff", "claimed", "at least");
    *broken = false;
    json_array_foreach(claims, i, claim)
    {
        const uint32_t held = held_by(claim, parties);

        const bool sees = sees_sums(of, claim);

        *broken |=
            print_claim(claim, sees ? found.epsilon[held] : -1, sees ? found.bits[held] : -1);
    }
    return STATUS_OK;
}
