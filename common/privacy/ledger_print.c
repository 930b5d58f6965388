/* ledger_print.c -- the ledger for people.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_print.h"

#include "common/privacy/ledger.h"

#include <inttypes.h>
#include <stdio.h>

enum { BINS = 12 };

static enum status print_releases(const struct ledger_totals *t, struct buf *out)
{
    return buf_printf(out,
                      "records         %" PRIu64 "\n"
                      "releases        train %" PRIu64 "  evaluate %" PRIu64 "  predict %" PRIu64
                      "  total %" PRIu64 "\n"
                      "participations  at most %" PRIu64 " of one record\n",
                      t->records, t->releases[LEDGER_TRAIN], t->releases[LEDGER_EVALUATE],
                      t->releases[LEDGER_PREDICT],
                      t->releases[LEDGER_TRAIN] + t->releases[LEDGER_EVALUATE] +
                          t->releases[LEDGER_PREDICT],
                      t->participations_max);
}

/* How many records were released how often, in at most BINS + 1 ranges of one width. */
static enum status print_histogram(const struct ledger *l, const struct ledger_totals *t,
                                   struct buf *out)
{
    uint64_t width = t->participations_max / BINS + 1, bin[BINS + 1] = {0};
    enum status s = buf_printf(out, "\n  participations       records\n");

    for (uint32_t slot = 0; slot < t->records; slot++)
        bin[ledger_spent(l, slot) / width]++;
    for (uint64_t i = 0; i <= BINS && s == STATUS_OK; i++) {
        char range[48];

        if (bin[i] == 0)
            continue;
        if (width == 1)
            snprintf(range, sizeof range, "%" PRIu64, i);
        else
            snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, i * width, (i + 1) * width - 1);
        s = buf_printf(out, "  %-16s  %10" PRIu64 "\n", range, bin[i]);
    }
    return s;
}

static enum status print_mechanisms(const struct account_entry *entries, size_t n, struct buf *out)
{
    enum status s = buf_printf(out, "\n  %-40s %8s %9s %11s %12s %10s\n", "mechanism", "parties",
                               "colluders", "coordinates", "releases", "per record");

    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        const struct account_entry *e = &entries[i];
        const char *seen = e->concat ? ", clear, concat" : e->clear ? ", clear" : "";
        char name[96] = "";

        switch (e->kind) {
        case ACCOUNT_PBM:
            snprintf(name, sizeof name, "pbm b=%" PRIu32 " beta=%g%s", e->trials, e->beta, seen);
            break;
        case ACCOUNT_GAUSSIAN:
            snprintf(name, sizeof name, "gaussian sigma=%g C=%g%s", e->sigma, e->clip, seen);
            break;
        case ACCOUNT_NONE: snprintf(name, sizeof name, "no noise%s", seen); break;
        }
        s = buf_printf(
            out, "  %-40s %8" PRIu32 " %9" PRIu32 " %11" PRIu32 " %12" PRIu64 " %10" PRIu64 "\n",
            name, e->parties, e->colluders, e->coordinates, e->releases, e->participations_max);
    }
    return s;
}

enum status ledger_print_claims(const struct account_entry *entries, size_t n, double delta,
                                struct buf *out)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t claims_n = account_claims(claims, entries, n, delta);
    enum status s = buf_printf(out, "\n  claims at delta %g\n  %-12s %-11s %6s %12s %14s\n", delta,
                               "adversary", "adjacency", "M_eff", "alpha", "epsilon");

    for (size_t i = 0; i < claims_n && s == STATUS_OK; i++) {
        const struct account_claim *c = &claims[i];

        s = buf_printf(out, "  %-12s %-11s %6" PRIu32 " %12.8g %14.8g%s\n",
                       account_adversary_name(c->adversary), account_adjacency_name(c->adjacency),
                       c->m_eff, c->alpha, c->epsilon, c->vacuous ? "  vacuous" : "");
    }
    return s;
}

enum status ledger_print(const struct ledger *l, double delta, struct buf *out)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    size_t n = ledger_entries(l, entries);
    struct ledger_totals totals;
    enum status s;

    ledger_totals(l, &totals);
    s = print_releases(&totals, out);
    if (s == STATUS_OK && totals.records > 0)
        s = print_histogram(l, &totals, out);
    if (s == STATUS_OK && n > 0)
        s = print_mechanisms(entries, n, out);
    if (s == STATUS_OK && n > 0)
        s = ledger_print_claims(entries, n, delta, out);
    return s;
}
