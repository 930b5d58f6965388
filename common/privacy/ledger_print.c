/* ledger_print.c -- the ledger for people.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_print.h"

#include "common/crypto/digest.h"
#include "common/privacy/ledger_inside.h"
#include "common/privacy/noise.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static enum status print_releases(const struct ledger *l, const struct ledger_totals *t,
                                  struct buf *out)
{
    uint64_t total = 0;
    enum status s = buf_printf(out, "records         %" PRIu64 "\nreleases        ", t->records);

    for (int p = 0; p < LEDGER_PURPOSES && s == STATUS_OK; p++) {
        total += t->releases[p];
        s = buf_printf(out, "%s %" PRIu64 "  ", ledger_purpose_name((enum ledger_purpose)p),
                       t->releases[p]);
    }
    return s != STATUS_OK
               ? s
               : buf_printf(out,
                            "total %" PRIu64 "\n"
                            "participations  at most %" PRIu64 " of one record\n"
                            "entries         %" PRIu64 ", the last one is number %" PRIu64 "\n",
                            total, t->participations_max, l->history.entries, l->history.number);
}

void ledger_histogram(const struct ledger *l, struct ledger_histogram *out)
{
    struct ledger_totals t;

    ledger_totals(l, &t);
    *out = (struct ledger_histogram){.width = t.participations_max / (LEDGER_BINS - 1) + 1};
    for (uint32_t slot = 0; slot < l->counts.records; slot++) {
        const size_t i = (size_t)(ledger_spent(l, slot) / out->width);

        if (ledger_counts_is_nobody(&l->counts, slot))
            continue;
        out->records[i]++;
        out->n = i >= out->n ? i + 1 : out->n;
    }
}

static enum status print_histogram(const struct ledger *l, struct buf *out)
{
    struct ledger_histogram h;
    enum status s = buf_printf(out, "\n  participations       records\n");

    ledger_histogram(l, &h);
    for (uint64_t i = 0; i < h.n && s == STATUS_OK; i++) {
        char range[48];

        if (h.records[i] == 0)
            continue;
        if (h.width == 1)
            snprintf(range, sizeof range, "%" PRIu64, i);
        else
            snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, i * h.width,
                     (i + 1) * h.width - 1);
        s = buf_printf(out, "  %-16s  %10" PRIu64 "\n", range, h.records[i]);
    }
    return s;
}

/* --- entries --- */

enum { SHORT_BYTES = 6, DAY_CHARS = 16 };

static void day_of(char out[DAY_CHARS], uint64_t at_s)
{
    time_t t = (time_t)at_s;
    struct tm utc;

    snprintf(out, DAY_CHARS, "-");
    if (at_s > 0 && gmtime_r(&t, &utc) != NULL)
        (void)strftime(out, DAY_CHARS, "%Y-%m-%d", &utc);
}

/* Of the first work with the same data. */
static size_t data_number(const struct ledger_history *h, uint32_t work)
{
    size_t i = 1;

    while (memcmp(h->work[i].data, h->work[work].data, sizeof h->work[i].data) != 0)
        i++;
    return i;
}

static enum status print_tally(const struct ledger *l, const struct ledger_tally *t,
                               struct buf *out)
{
    const struct ledger_work *w = &l->history.work[t->work];
    char plan[2 * SHORT_BYTES + 1] = "earlier", data[24] = "-";
    char first[DAY_CHARS], last[DAY_CHARS];

    if (t->work != 0) { /* which is known */
        digest_hex(plan, w->plan, SHORT_BYTES);
        snprintf(data, sizeof data, "%zu", data_number(&l->history, t->work));
    }
    day_of(first, t->first_s);
    day_of(last, t->last_s);
    return buf_printf(
        out, "  %-12s  %4s  %-10s %8" PRIu64 " %8" PRId64 " %12" PRId64 "  %-10s  %-10s\n", plan,
        data, ledger_purpose_name(t->purpose), t->entries, t->rounds, t->releases, first, last);
}

/* What was paid for, by plan and data set, in the order of its first entry. */
static enum status print_entries(const struct ledger *l, struct buf *out)
{
    enum status s = buf_printf(out, "\n  %-12s  %4s  %-10s %8s %8s %12s  %-10s  %-10s\n", "plan",
                               "data", "purpose", "entries", "rounds", "releases", "first", "last");

    for (size_t i = 0; i < l->history.tallies && s == STATUS_OK; i++)
        s = print_tally(l, &l->history.tally[i], out);
    return s;
}

/* Which others may have tried ids on this party's list. */
static enum status print_alignments(const struct ledger *l, struct buf *out)
{
    const struct ledger_alignments *all = &l->alignments;
    enum status s = buf_printf(out, "\n  %-40s  %-12s %8s  %-10s  %s\n", "alignment", "job", "ids",
                               "begun", "told");

    for (size_t i = 0; i < all->n && s == STATUS_OK; i++) {
        const struct ledger_alignment *a = &all->one[i];
        char job[2 * SHORT_BYTES + 1], day[DAY_CHARS];

        digest_hex(job, a->job, SHORT_BYTES);
        day_of(day, (uint64_t)a->at_s);
        s = buf_printf(out, "  %-40s  %-12s %8" PRIu32 "  %-10s  %s\n", a->name, job, a->ids, day,
                       a->told ? "yes" : "no");
    }
    return s;
}

/* --- mechanisms --- */

static enum status print_mechanisms(const struct account_entry *entries, size_t n, struct buf *out)
{
    enum status s =
        buf_printf(out, "\n  %-40s  %-20s %8s %9s %11s %12s %10s\n", "mechanism", "bottom",
                   "parties", "colluders", "coordinates", "releases", "per record");

    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        const struct account_entry *e = &entries[i];
        const char *seen = e->concat ? ", clear, concat" : e->clear ? ", clear" : "";
        const struct noise *noise = noise_row(e->kind);
        char label[NOISE_LABEL_MAX] = "no noise", name[96] = "", bottom[64] = "";

        if (noise != NULL)
            noise->label(e, label);
        snprintf(name, sizeof name, "%s%s", label, seen);
        snprintf(bottom, sizeof bottom, "%s", ledger_mechanism_bottom(e->bottom));
        if (e->bottom == ACCOUNT_DP)
            snprintf(bottom, sizeof bottom, "dp noise=%g steps=%" PRIu32, e->step_noise, e->steps);
        if (e->bottom == ACCOUNT_DP && e->together > 1)
            snprintf(bottom + strlen(bottom), sizeof bottom - strlen(bottom), " x%" PRIu32,
                     e->together);
        s = buf_printf(out,
                       "  %-40s  %-20s %8" PRIu32 " %9" PRIu32 " %11" PRIu32 " %12" PRIu64
                       " %10" PRIu64 "\n",
                       name, bottom, e->parties, e->colluders, e->coordinates, e->releases,
                       e->participations_max);
    }
    return s;
}

static enum status print_room(const struct ledger *l, struct buf *out)
{
    if (ledger_mechanisms(l) < LEDGER_NEARLY_FULL)
        return STATUS_OK;
    return buf_printf(
        out,
        "  WARNING: accounts for %zu mechanisms of at most %d: plans with another one "
        "will be refused\n",
        ledger_mechanisms(l), ACCOUNT_MECHANISMS_MAX);
}

static enum status print_claims(const struct account_entry *entries, size_t n, double delta,
                                struct buf *out)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t claims_n = account_claims(claims, entries, n, delta, 0);
    enum status s = buf_printf(out, "\n  claims at delta %g\n  %-12s %-13s %6s %12s %14s\n", delta,
                               "adversary", "adjacency", "M_eff", "alpha", "epsilon");

    for (size_t i = 0; i < claims_n && s == STATUS_OK; i++) {
        const struct account_claim *c = &claims[i];

        s = buf_printf(out, "  %-12s %-13s %6" PRIu32 " %12.8g %14.8g%s\n",
                       account_adversary_name(c->adversary), account_adjacency_name(c->adjacency),
                       c->m_eff, c->alpha, c->epsilon, c->vacuous ? "  vacuous" : "");
    }
    return s;
}

double ledger_delta(uint64_t records)
{
    uint64_t over = 100000;

    while (over <= records && over <= UINT64_MAX / 10)
        over *= 10;
    return 1 / (double)over;
}

enum status ledger_print(const struct ledger *l, struct buf *out)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    size_t n = ledger_entries(l, entries);
    struct ledger_totals totals;
    enum status s;

    ledger_totals(l, &totals);
    s = print_releases(l, &totals, out);
    if (s == STATUS_OK && totals.records > 0)
        s = print_histogram(l, out);
    if (s == STATUS_OK && l->history.entries > 0)
        s = print_entries(l, out);
    if (s == STATUS_OK && l->alignments.n > 0)
        s = print_alignments(l, out);
    if (s == STATUS_OK && n > 0)
        s = print_mechanisms(entries, n, out);
    if (s == STATUS_OK)
        s = print_room(l, out);
    if (s == STATUS_OK && n > 0)
        s = print_claims(entries, n, ledger_delta(totals.records), out);
    if (s == STATUS_OK && n > 0)
        s = buf_printf(out, "  delta is below one over the %" PRIu64 " records\n", totals.records);
    return s;
}
