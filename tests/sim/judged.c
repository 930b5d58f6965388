/* judged.c -- what a party's records have spent, and whether a charge is within its policy's
 * limits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/judged.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/mechanism.h"
#include "common/privacy/ledger_mechanism.h"
#include "common/wire/purpose.h"
#include "party/policy.h"

enum { MECHANISMS_MAX = 32, ROWS_MAX = 64 };

/* Releases of each record by one mechanism: all, and those in training. */
struct page {
    struct account_entry mechanism;
    uint64_t all[ROWS_MAX], trained[ROWS_MAX], nobody;
};

struct judged {
    struct page page[MECHANISMS_MAX];
    size_t n;
};

struct judged *judged_new(void)
{
    struct judged *b = mem_alloc(1, sizeof *b);

    CHECK(b != NULL);
    return b;
}

void judged_free(struct judged *b)
{
    mem_free(b);
}

static uint64_t most_of(const uint64_t count[ROWS_MAX])
{
    uint64_t most = 0;

    for (size_t r = 0; r < ROWS_MAX; r++)
        most = count[r] > most ? count[r] : most;
    return most;
}

size_t judged_entries(const struct judged *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    size_t n = 0;

    for (size_t m = 0; m < b->n; m++) {
        const struct page *page = &b->page[m];
        struct account_entry e = page->mechanism;

        e.releases = page->nobody;
        for (size_t r = 0; r < ROWS_MAX; r++)
            e.releases += page->all[r];
        e.participations_max = most_of(page->all);
        e.trained_max = most_of(page->trained);
        if (e.releases > 0)
            out[n++] = e;
    }
    return n;
}

static struct page *page_of(struct judged *b, const struct account_entry *mechanism)
{
    size_t m = 0;

    while (m < b->n && !ledger_mechanism_same(&b->page[m].mechanism, mechanism))
        m++;
    if (m == b->n) {
        CHECK(b->n < MECHANISMS_MAX);
        b->page[b->n++].mechanism = *mechanism;
    }
    return &b->page[m];
}

static void count(struct judged *b, const struct action_charge *c, bool back)
{
    struct page *page = page_of(b, &c->mechanism);
    const bool trains = !c->predicts && purpose_of(c->purpose)->trains;

    for (size_t i = 0; i < c->n; i++) {
        const uint32_t row = c->rows[i];

        if (c->spared != NULL && c->spared[i] != 0) {
            page->nobody += back ? UINT64_MAX : 1;
            continue;
        }
        CHECK(row < ROWS_MAX && (!back || page->all[row] > 0));
        page->all[row] += back ? UINT64_MAX : 1;
        page->trained[row] += !trains ? 0 : back ? UINT64_MAX : 1;
    }
}

static enum status judge_releases(const struct judged *b, const struct config_policy *policy,
                                  struct error *err)
{
    uint64_t total = 0, most = 0;

    for (size_t r = 0; r < ROWS_MAX; r++) {
        uint64_t record = 0;

        for (size_t m = 0; m < b->n; m++)
            record += b->page[m].all[r];
        total += record;
        most = record > most ? record : most;
    }
    for (size_t m = 0; m < b->n; m++)
        total += b->page[m].nobody;
    if (policy->releases_record > 0 && most > policy->releases_record)
        return error_set(err, STATUS_BUDGET, "policy.max_releases.record: the ledger says no");
    if (policy->releases_total > 0 && total > policy->releases_total)
        return error_set(err, STATUS_BUDGET, "policy.max_releases.total: the ledger says no");
    return STATUS_OK;
}

/* Which records have no more to spend is given (sim_party.spent). */
static enum status judge(const struct judged *b, const struct sim_party *p, bool spares,
                         struct error *err)
{
    const struct config_policy *policy = &p->config.policy;
    const struct plan *plan = &p->world->plan;
    const struct policy_terms terms = {
        .delta = mechanism_delta(plan, p->train.rows + p->test.rows + p->predicted.rows),
        .withstands = plan_withstands(plan)};
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    const size_t n = judged_entries(b, entries);
    struct policy_excess e;

    if (spares)
        policy_of_no_record(entries, n);
    if (policy_exceeded(&e, policy, entries, n, &terms))
        return error_set(err, STATUS_BUDGET, "policy.max_epsilon: the ledger says no");
    return judge_releases(b, policy, err);
}

enum status judged_charge(struct judged *b, const struct sim_party *p,
                          const struct action_charge *c, struct error *err)
{
    enum status s;

    count(b, c, c->give_back);
    if (c->give_back || c->n == 0)
        return STATUS_OK;
    s = judge(b, p, c->spared != NULL, err);
    if (s != STATUS_OK)
        count(b, c, true);
    return s;
}
