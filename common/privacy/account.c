/* account.c -- who sees what, and what the composition of it all amounts to.
 *
 * An adversary is a number of colluding parties; an adjacency is what changes and how often it is
 * released. Divergences of all entries are added at equal order, then one search finds the best
 * order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/account.h"

#include "common/base/check.h"
#include "common/privacy/noise.h"
#include "common/privacy/rdp.h"

#include <math.h>

/* The terms of each entry's releases and of its steps. */
enum { TERMS_MAX = 2 * NOISE_ENTRIES_MAX };

struct composition {
    size_t n;
    struct noise_term term[TERMS_MAX];
    bool unbounded; /* something was released without noise */
    double draws;   /* of Gaussian noise that the divergence counts on */
    uint32_t m_eff;
};

static void check_entry(const struct account_entry *e)
{
    const struct noise *noise = noise_row(e->kind);

    CHECK(e->parties >= 1 && e->coordinates >= 1);
    CHECK(noise == NULL || noise->possible(e));
    CHECK(e->bottom != ACCOUNT_DP || e->step_noise > 0);
    CHECK(e->bottom != ACCOUNT_DP || e->trained_max <= e->participations_max);
}

/* Parties whose data the adversary does not hold, the target among them.  Several entries of one
 * operator are one colluder, whether it helps the server or is the curious party itself. */
static uint32_t honest_parties(const struct account_entry *e, const struct account_claim *which)
{
    uint32_t operator_entries = e->colluders > 1 ? e->colluders : 1, colluding = 0;

    switch (which->adversary) {
    case ACCOUNT_SERVER: colluding = 0; break;
    case ACCOUNT_SERVER_T:
        colluding = which->t > operator_entries ? which->t : operator_entries;
        break;
    case ACCOUNT_SERVER_1:
    case ACCOUNT_PARTY: colluding = operator_entries; break;
    case ACCOUNT_ALL_BUT_ONE: colluding = e->parties - 1; break;
    }
    return e->parties > colluding ? e->parties - colluding : 1;
}

/* Parties whose noise hides the target's upload.  A curious party receives at most the sum itself
 * (local_view refreshed) and what the server computed from it, and takes its own part out, noise
 * and all: as much as server+1.  Unless it is shown the uploads one by one. */
static uint32_t effective_parties(const struct account_entry *e, const struct account_claim *which)
{
    bool alone = e->clear && (which->adversary != ACCOUNT_PARTY || e->concat);

    return alone ? 1 : honest_parties(e, which);
}

/* Or a person. */
static bool is_record(enum account_adjacency adjacency)
{
    return adjacency != ACCOUNT_COLUMNS && adjacency != ACCOUNT_SAMPLE;
}

/* Releases that can depend on what changes.  Given the weights that a frozen bottom has, or the
 * noised trajectory of a DP one, a batch without the record does not depend on it. */
static uint64_t releases_changed(const struct account_entry *e, enum account_adjacency adjacency)
{
    if (e->bottom == ACCOUNT_STATISTICS && !is_record(adjacency))
        return 0;
    return is_record(adjacency) && e->bottom != ACCOUNT_RAW ? e->participations_max : e->releases;
}

/* Local steps that can: replacing a record moves the sum of gradients clipped to G by at most 2G,
 * and its rounding by ACCOUNT_STEP_SLACK G, under noise of deviation step_noise G.  The claim of
 * columns has no such term, because it already allows every release to change in any way. k records
 * of one person in a batch move the sum k times as far, under the same noise: k^2, summed over the
 * batches at most `together` times the participations. */
static void add_steps(struct composition *c, const struct account_entry *e)
{
    const double count = (double)e->trained_max * e->steps;

    if (count == 0)
        return;
    c->term[c->n++] = noise_gaussian(count * (e->together > 1 ? e->together : 1),
                                     2 + ACCOUNT_STEP_SLACK, e->step_noise);
    c->draws += count * ACCOUNT_STEP_DRAWS_MAX;
}

/* Adds one entry.  Feature adjacencies: the target moves across the box.  Sample: all honest
 * parties move across it at once.  Their sum is a sufficient statistic of their uploads, so it
 * makes no difference whether these are seen summed or one by one. */
static void add_entry(struct composition *c, struct noise_tables *tables,
                      const struct account_entry *e, const struct account_claim *which)
{
    const uint64_t count = releases_changed(e, which->adjacency);
    const struct noise *noise = noise_row(e->kind);
    struct noise_sight s = {.releases = (double)count,
                            .sample = which->adjacency == ACCOUNT_SAMPLE,
                            .honest = honest_parties(e, which),
                            .m_eff = effective_parties(e, which)};

    check_entry(e);
    if (count > 0 && noise == NULL)
        c->unbounded = true;
    if (noise != NULL) {
        const struct noise_term t = noise->term(e, &s, tables);

        if (count > 0)
            c->term[c->n++] = t;
        c->draws += noise->inexact ? (double)count * e->coordinates * e->parties : 0;
    }
    if (e->bottom != ACCOUNT_STATISTICS && (c->m_eff == 0 || s.m_eff < c->m_eff))
        c->m_eff = s.m_eff;
    if (is_record(which->adjacency) && e->bottom == ACCOUNT_DP)
        add_steps(c, e);
}

/* The divergence of the whole composition at one order (rdp_minimise). */
static double total_divergence(const void *context, double excess)
{
    const struct composition *c = context;
    double sum = 0;

    for (size_t i = 0; i < c->n; i++)
        sum += c->term[i].scale * c->term[i].divergence(&c->term[i], excess);
    return sum;
}

/* With draws that are eta in all from the exact law, (epsilon, delta') becomes (epsilon, delta' +
 * (1 + e^epsilon) eta): P(S) <= P'(S) + eta <= e^epsilon Q'(S) + delta' + eta, and Q'(S) <= Q(S) +
 * eta.  Set aside is twice what seems needed, and if that does not do, half of delta.  Where that
 * does not do either and epsilon excludes nothing anyway, it is that of the exact law. */
static double spend_delta(const struct composition *c, double delta, double *excess)
{
    const double eta = ldexp(c->draws, -ACCOUNT_DISTANCE_BITS);
    const double exact = rdp_minimise(total_divergence, c, delta, excess), order = *excess;
    double aside = fmin(2 * (1 + exp(exact)) * eta, delta / 2), epsilon;

    if (eta == 0)
        return exact;
    for (int attempt = 0; attempt < 2; attempt++, aside = delta / 2) {
        epsilon = rdp_minimise(total_divergence, c, delta - aside, excess);
        if ((1 + exp(epsilon)) * eta <= aside)
            return epsilon;
    }
    *excess = exact > ACCOUNT_VACUOUS ? order : -1;
    return exact > ACCOUNT_VACUOUS ? exact : INFINITY;
}

static void conclude(struct account_claim *out, const struct composition *c, double delta)
{
    double excess = 0;

    out->m_eff = c->m_eff;
    out->alpha = 0;
    out->epsilon = c->unbounded ? INFINITY : 0;
    if (!c->unbounded && c->n > 0) {
        out->epsilon = spend_delta(c, delta, &excess);
        out->alpha = isfinite(out->epsilon) ? 1 + excess : 0;
    }
    out->vacuous = out->epsilon > ACCOUNT_VACUOUS;
}

static void compose(struct composition *c, struct noise_tables *tables,
                    const struct account_entry *entries, size_t n,
                    const struct account_claim *which)
{
    CHECK(n <= NOISE_ENTRIES_MAX);
    *c = (struct composition){.n = 0};
    for (size_t i = 0; i < n; i++)
        add_entry(c, tables, &entries[i], which);
}

static struct account_claim make_claim(struct noise_tables *tables,
                                       const struct account_entry *entries, size_t n,
                                       const struct account_claim *which, double delta)
{
    struct account_claim out = *which;
    struct composition c;

    CHECK(delta > 0 && delta < 1);
    if (is_record(which->adjacency))
        out.adjacency = account_record_adjacency(entries, n);
    compose(&c, tables, entries, n, which);
    conclude(&out, &c, delta);
    return out;
}

enum account_adjacency account_record_adjacency(const struct account_entry *entries, size_t n)
{
    static const enum account_adjacency names[2][3] = {
        {ACCOUNT_RECORD_FROZEN, ACCOUNT_RECORD_DP, ACCOUNT_RECORD_RAW},
        {ACCOUNT_PERSON_FROZEN, ACCOUNT_PERSON_DP, ACCOUNT_PERSON_RAW}};
    bool persons = n > 0;
    int weakest = 0;

    for (size_t i = 0; i < n; i++) {
        const int bottom = entries[i].bottom == ACCOUNT_RAW ? 2 : entries[i].bottom == ACCOUNT_DP;

        weakest = bottom > weakest ? bottom : weakest;
        persons = persons && entries[i].persons;
    }
    return names[persons][weakest];
}

struct account_entry account_group(const struct account_entry *entry, uint32_t g, uint32_t batch)
{
    struct account_entry e = *entry;
    const uint64_t together = (uint64_t)g * (e.together > 1 ? e.together : 1);

    CHECK(g >= 1 && batch >= 1);
    if (e.participations_max > UINT64_MAX / g)
        e.participations_max = e.trained_max = UINT64_MAX;
    else
        e.participations_max *= g;
    if (e.trained_max <= UINT64_MAX / g)
        e.trained_max *= g;
    e.together = (uint32_t)(together < batch ? together : batch);
    if (e.participations_max > e.releases)
        e.participations_max = e.releases; /* more than all cannot change */
    if (e.trained_max > e.participations_max)
        e.trained_max = e.participations_max;
    return e;
}

/* Then a record shows in the same releases as the whole column block. */
static bool all_raw(const struct account_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (entries[i].bottom != ACCOUNT_RAW)
            return false;
    }
    return true;
}

size_t account_claims(struct account_claim out[ACCOUNT_CLAIMS_MAX],
                      const struct account_entry *entries, size_t n, double delta, uint32_t t)
{
    static const enum account_adjacency claimed[] = {ACCOUNT_RECORD_RAW, ACCOUNT_COLUMNS,
                                                     ACCOUNT_SAMPLE};
    struct noise_tables tables = {.n = 0};
    const bool raw = all_raw(entries, n);
    size_t claims = 0;

    for (int adversary = 0; adversary < ACCOUNT_ADVERSARIES; adversary++) {
        for (size_t i = 0; i < sizeof claimed / sizeof claimed[0]; i++) {
            struct account_claim which = {
                .adversary = (enum account_adversary)adversary, .adjacency = claimed[i], .t = t};

            if (adversary == ACCOUNT_SERVER_T && t <= 1)
                continue;
            if (claimed[i] == ACCOUNT_COLUMNS && raw) { /* the record's, just before */
                out[claims] = out[claims - 1];
                out[claims].adjacency = ACCOUNT_COLUMNS;
            } else {
                out[claims] = make_claim(&tables, entries, n, &which, delta);
            }
            claims++;
        }
    }
    noise_tables_free(&tables);
    return claims;
}

struct account_claim account_claim(const struct account_entry *entries, size_t n,
                                   const struct account_claim *which, double delta)
{
    struct noise_tables tables = {.n = 0};
    struct account_claim out = make_claim(&tables, entries, n, which, delta);

    noise_tables_free(&tables);
    return out;
}

void account_curve(double *out, const double *excess, size_t orders,
                   const struct account_claim *which, const struct account_entry *entries, size_t n)
{
    struct noise_tables tables = {.n = 0};
    struct composition c;

    compose(&c, &tables, entries, n, which);
    for (size_t i = 0; i < orders; i++)
        out[i] = c.unbounded ? INFINITY : total_divergence(&c, excess[i]);
    noise_tables_free(&tables);
}

const char *account_adversary_name(enum account_adversary a)
{
    static const char *const names[] = {
        [ACCOUNT_SERVER] = "server",     [ACCOUNT_SERVER_1] = "server+1",
        [ACCOUNT_SERVER_T] = "server+t", [ACCOUNT_ALL_BUT_ONE] = "all_but_one",
        [ACCOUNT_PARTY] = "party",
    };

    return names[a];
}

const char *account_adjacency_name(enum account_adjacency a)
{
    static const char *const names[] = {
        [ACCOUNT_RECORD_FROZEN] = "record_frozen",
        [ACCOUNT_RECORD_DP] = "record_dp",
        [ACCOUNT_RECORD_RAW] = "record_raw",
        [ACCOUNT_COLUMNS] = "columns",
        [ACCOUNT_SAMPLE] = "sample",
        [ACCOUNT_PERSON_FROZEN] = "person_frozen",
        [ACCOUNT_PERSON_DP] = "person_dp",
        [ACCOUNT_PERSON_RAW] = "person_raw",
    };

    return names[a];
}
