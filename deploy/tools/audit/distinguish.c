/* distinguish.c -- each adversary's view, its best threshold, and the claims beside it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/distinguish.h"

#include "deploy/tools/audit/bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE_MIN = 20 }; /* canaries */

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

static enum status check_summary(const json_t *summary, struct error *err)
{
    if (json_array_size(json_object_get(summary, "parties")) != 1)
        return error_set(err, STATUS_DATA,
                         "a summary of several parties: claims are judged by the target's own");
    if (record_adjacency(summary) == NULL)
        return error_set(err, STATUS_DATA, "the summary claims nothing for a record");
    return STATUS_OK;
}

static enum status check_summaries(const struct distinguish_summaries *by, struct error *err)
{
    enum status s = check_summary(by->own, err);

    if (s == STATUS_OK)
        s = check_summary(by->claims, err);
    if (s == STATUS_OK && strcmp(record_adjacency(by->own), "record_raw") == 0)
        s = error_set(err, STATUS_DATA,
                      "record_raw: the bottom learns from raw records, each shows in the releases "
                      "of all others, and none is a trial of its own: nothing is judged "
                      "(vfl audit --control)");
    return s;
}

/* --- the attack --- */

/* What was found by whom, so that no view is judged twice. */
struct found {
    bool known[PLAN_PARTIES_MAX];
    double epsilon[PLAN_PARTIES_MAX]; /* by parties held; negative: not attacked */
};

static enum status attack(struct found *f, const struct view_of *of, uint32_t held,
                          struct error *err)
{
    struct view v = {0};
    struct bound_test t;
    enum status s;

    if (f->known[held])
        return STATUS_OK;
    f->known[held] = true;
    f->epsilon[held] = -1;
    if (held > 0 && of->seen->part == NULL)
        return STATUS_OK;
    s = view_make(&v, of, held, err);
    if (s == STATUS_OK && (v.n < SIDE_MIN || v.m < SIDE_MIN))
        s = error_set(err, STATUS_DATA, "%zu and %zu canaries of a side were released, too few",
                      v.n, v.m);
    if (s == STATUS_OK) {
        t = bound_by_threshold(v.d, v.n, v.d_prime, v.m, of->seen->plan.privacy.delta);
        f->epsilon[held] = t.epsilon;
        printf("m_eff %-5u %zu and %zu judged, %zu taken for the other side, %zu missed: epsilon "
               "at least %.4g\n",
               of->seen->plan.shape.parties - held, t.n, t.m, t.false_hits, t.misses, t.epsilon);
    }
    view_deinit(&v);
    return s;
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
    const json_int_t m_eff = json_integer_value(json_object_get(claim, "m_eff"));

    return m_eff < 1 || m_eff > (json_int_t)parties ? 0 : parties - (uint32_t)m_eff;
}

static bool print_claim(const json_t *claim, double bound)
{
    const json_t *epsilon = json_object_get(claim, "epsilon");
    const double claimed = epsilon == NULL ? INFINITY : json_number_value(epsilon);
    const bool over = bound > claimed;
    char text[32] = "-";

    if (bound >= 0)
        snprintf(text, sizeof text, "%.4g", bound);
    printf("%-12s %-14s %6lld %12.4g %12s  %s\n", word_of(claim, "adversary"),
           word_of(claim, "adjacency"), json_integer_value(json_object_get(claim, "m_eff")),
           claimed, text,
           bound < 0 ? "not attacked"
           : over    ? "BROKEN"
                     : "holds");
    return over;
}

enum status distinguish(const struct view_of *of, const struct distinguish_summaries *by,
                        bool *broken, struct error *err)
{
    const uint32_t parties = of->seen->plan.shape.parties;
    const json_t *claims = claims_of(by->claims), *self, *claim;
    struct found found = {{false}, {0}};
    enum status s = check_summaries(by, err);
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
           of->seen->plan.privacy.delta, "adversary", "adjacency", "m_eff", "claimed", "at least");
    *broken = false;
    json_array_foreach(claims, i, claim)
    {
        const uint32_t held = held_by(claim, parties);

        *broken |= print_claim(claim, sees_sums(of, claim) ? found.epsilon[held] : -1);
    }
    return STATUS_OK;
}
