/* contributed.c -- what contributed.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/contributed.h"

#include "common/base/mem.h"
#include "common/flow/contribution.h"

#include <inttypes.h>
#include <string.h>

/* Those of one job, which is of no more than COALITIONS_MAX. */
static enum status sets_of(uint32_t *out, uint32_t parties)
{
    struct coalition *list = mem_alloc(COALITIONS_MAX, sizeof *list);
    size_t n = 0;
    enum status s = STATUS_MEMORY;

    if (list != NULL)
        s = coalitions_list(list, &n, parties,
                            parties <= COALITIONS_WHOLE_MAX ? 0 : COALITIONS_ORDERS);
    mem_free(list);
    *out = (uint32_t)n;
    return s == STATUS_LIMIT ? STATUS_OK : s;
}

static enum status print_times(const struct price *p, const struct party_inputs *in, uint32_t times,
                               struct buf *out)
{
    struct account_entry all[ACCOUNT_MECHANISMS_MAX + 1];
    const struct config_policy *policy = &in->config.policy;
    const uint32_t rows = (uint32_t)in->test.rows;
    struct error why = {0};
    enum status s;

    memcpy(all, p->spent, p->spent_n * sizeof *all);
    all[p->spent_n] = policy_contributed(&p->plan, &p->set, rows, times);
    s = price_print_claims(&all[p->spent_n], p, out);
    if (s != STATUS_OK)
        return s;
    if (policy->contribute_rows < rows)
        return buf_printf(out,
                          "# this party's policy refuses that: policy.contribute.max_rows %u\n",
                          policy->contribute_rows);
    s = policy_check_entries(policy, &p->plan, &p->set, all, p->spent_n + 1, &why);
    return s == STATUS_OK ? buf_printf(out, "# this party's policy accepts that\n")
                          : buf_printf(out, "# this party's policy refuses that: %s\n", why.text);
}

enum status contributed_print(const struct price *p, const struct party_inputs *in, struct buf *out)
{
    const uint32_t parties = (uint32_t)in->roster.n, has = (uint32_t)in->model.schema.n,
                   mixed = in->config.policy.contribute_columns;
    uint32_t sets;
    enum status s;

    if (prediction_is_exact(&p->plan))
        return buf_printf(out, "# no contributions: sums are without noise\n");
    s = sets_of(&sets, parties);
    if (s == STATUS_OK)
        s = buf_printf(out,
                       "# contributions of all these rows, each %" PRIu32
                       " times, for %s of %" PRIu32 " parties:\n",
                       sets, parties <= COALITIONS_WHOLE_MAX ? "all sets" : "16 orders", parties);
    if (s == STATUS_OK)
        s = print_times(p, in, sets, out);
    if (s == STATUS_OK)
        s = buf_printf(out,
                       "# the model has %" PRIu32 " columns here, %" PRIu32 " may be mixed up\n",
                       has, mixed < has ? mixed : has);
    if (s != STATUS_OK || mixed == 0)
        return s;
    s = buf_printf(out, "# with these, each row %" PRIu32 " times:\n", sets + 2 * mixed);
    return s == STATUS_OK ? print_times(p, in, sets + 2 * mixed, out) : s;
}
