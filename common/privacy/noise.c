/* noise.c -- THE TABLE of the laws of noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/noise.h"

#include "common/base/check.h"
#include "common/pbm/pbm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARAMETER(name, type)                                                                      \
    {                                                                                              \
#name, NOISE_##type, offsetof(struct account_entry, name)                                  \
    }
#define PARAMETERS(list) .parameter = (list), .parameters = sizeof(list) / sizeof(list)[0]

static bool positive(double v)
{
    return isfinite(v) && v > 0;
}

/* --- pbm --- */

static const struct noise_parameter pbm_parameters[] = {PARAMETER(trials, WHOLE),
                                                        PARAMETER(beta, REAL)};

static bool pbm_possible(const struct account_entry *e)
{
    return e->trials >= 1 && e->beta > 0 && e->beta < 0.5;
}

/* The table for (b, beta, m_eff).  Short of memory or of time it is that of M_eff = 1, which needs
 * none and bounds every larger set (the others' noise is post-processing). */
static const struct rdp_pbm *find_table(struct noise_tables *tables, const struct account_entry *e,
                                        uint32_t m_eff)
{
    const uint64_t outcomes = (uint64_t)e->trials * m_eff;
    const bool fits = outcomes <= ACCOUNT_OUTCOMES_MAX - tables->outcomes;
    struct rdp_pbm *t;

    for (size_t i = 0; i < tables->n; i++) {
        t = &tables->table[i];
        if (t->trials == e->trials && t->beta == e->beta && tables->wanted[i] == m_eff)
            return t;
    }
    CHECK(tables->n < NOISE_TABLES_MAX);
    t = &tables->table[tables->n];
    tables->wanted[tables->n++] = m_eff;
    if (fits && rdp_pbm_init(t, e->trials, e->beta, m_eff) == STATUS_OK) {
        tables->outcomes += outcomes;
    } else {
        enum status s = rdp_pbm_init(t, e->trials, e->beta, 1);

        CHECK(s == STATUS_OK);
    }
    return t;
}

void noise_tables_free(struct noise_tables *tables)
{
    for (size_t i = 0; i < tables->n; i++)
        rdp_pbm_deinit(&tables->table[i]);
    tables->n = 0;
}

static double pbm_of_sum(const struct noise_term *t, double excess)
{
    return rdp_pbm(t->table, excess);
}

static double pbm_of_trial(const struct noise_term *t, double excess)
{
    return rdp_trial(t->beta, excess);
}

/* Every coordinate moves across the box: count P eps_1(M_eff), and under sample, where those of all
 * honest parties do, count P honest eps_1(1). */
static struct noise_term pbm_term(const struct account_entry *e, struct noise_sight *s,
                                  struct noise_tables *tables)
{
    struct noise_term t = {.scale = s->releases * e->coordinates};

    if (s->sample) {
        t.scale *= (double)s->honest * e->trials;
        t.beta = e->beta;
        t.divergence = pbm_of_trial;
    } else {
        t.table = find_table(tables, e, s->m_eff);
        t.divergence = pbm_of_sum;
        s->m_eff = t.table->m_eff;
    }
    return t;
}

static void pbm_label(const struct account_entry *e, char out[NOISE_LABEL_MAX])
{
    snprintf(out, NOISE_LABEL_MAX, "pbm b=%" PRIu32 " beta=%g", e->trials, e->beta);
}

/* Thresholds are rounded inwards, so beta bounds them. */
static enum status pbm_describe(const struct account_entry *e, struct buf *out)
{
    struct pbm pbm;

    if (pbm_init(&pbm, e->trials, e->beta, 1) != STATUS_OK)
        return STATUS_OK;
    return buf_printf(out,
                      "pbm, b %" PRIu32 ", beta %g: thresholds %" PRIu32 " to %" PRIu32 " of 65536",
                      e->trials, e->beta, pbm.t_lo, pbm.t_hi);
}

/* --- gaussian --- */

static const struct noise_parameter gaussian_parameters[] = {
    PARAMETER(sigma, REAL), PARAMETER(clip, REAL), PARAMETER(step, REAL)};

static bool gaussian_possible(const struct account_entry *e)
{
    return positive(e->sigma) && positive(e->clip) && positive(e->step);
}

static double gaussian_divergence(const struct noise_term *t, double excess)
{
    return rdp_discrete(t->shift, t->sigma, t->tau, t->coordinates, excess);
}

struct noise_term noise_gaussian(double count, double shift, double sigma)
{
    return (struct noise_term){
        .scale = count, .divergence = gaussian_divergence, .shift = shift, .sigma = sigma};
}

/* A release is one vector of the sum of m discrete Gaussians in each coordinate, and all
 * coordinates may move across the box; under sample each honest party's is one of its own. */
static struct noise_term gaussian_term(const struct account_entry *e, struct noise_sight *s,
                                       struct noise_tables *tables)
{
    struct noise_term t = noise_gaussian(s->releases * (s->sample ? s->honest : 1),
                                         2 * e->clip * sqrt(e->coordinates),
                                         s->sample ? e->sigma : e->sigma * sqrt(s->m_eff));

    (void)tables;
    t.tau = s->sample ? 0 : rdp_discrete_tau(e->sigma / e->step, s->m_eff);
    t.coordinates = e->coordinates;
    return t;
}

static void gaussian_label(const struct account_entry *e, char out[NOISE_LABEL_MAX])
{
    snprintf(out, NOISE_LABEL_MAX, "gaussian sigma=%g C=%g", e->sigma, e->clip);
}

static enum status gaussian_describe(const struct account_entry *e, struct buf *out)
{
    return buf_printf(out, "gaussian, sigma %g: %g steps of %g, of which C is %g", e->sigma,
                      e->sigma / e->step, e->step, e->clip / e->step);
}

/* --- the table --- */

static const struct noise rows[] = {
    [ACCOUNT_PBM] = {PARAMETERS(pbm_parameters), .possible = pbm_possible, .term = pbm_term,
                     .label = pbm_label, .describe = pbm_describe},
    [ACCOUNT_GAUSSIAN] = {PARAMETERS(gaussian_parameters), .inexact = true,
                          .possible = gaussian_possible, .term = gaussian_term,
                          .label = gaussian_label, .describe = gaussian_describe},
};
_Static_assert(sizeof rows / sizeof *rows == ACCOUNT_NONE, "each law has its row");

#define NAME(id, name) #name,
const char *const noise_names[NOISE_KINDS] = {PLAN_NOISE_LIST(NAME) "none"};

double noise_value(const struct noise_parameter *p, const struct account_entry *e)
{
    const unsigned char *at = (const unsigned char *)e + p->at;
    uint32_t whole;
    double real;
    bool flag;

    switch (p->type) {
    case NOISE_WHOLE: memcpy(&whole, at, sizeof whole); return whole;
    case NOISE_REAL: memcpy(&real, at, sizeof real); return real;
    case NOISE_FLAG: memcpy(&flag, at, sizeof flag); return flag;
    }
    CHECK(false);
}

const struct noise *noise_row(enum account_kind kind)
{
    CHECK((size_t)kind < NOISE_KINDS);
    return kind == ACCOUNT_NONE ? NULL : &rows[kind];
}
