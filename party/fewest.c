/* fewest.c -- what fewest.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/fewest.h"

#include "common/config/aggregation.h"
#include "common/flow/prediction.h"

#include <string.h>

/* How little another one's noise is worth: the server's own nothing, that of one whose operator has
 * many parties less than others', since these may be with the server together. */
static uint32_t suspicion(const struct roster *r, uint32_t self, size_t i)
{
    const char *operator_name = r->party[i].operator_name;
    uint32_t n = 0;

    if (strcmp(operator_name, r->server.operator_name) == 0)
        return UINT32_MAX;
    if (strcmp(operator_name, r->party[self].operator_name) == 0)
        return 0;
    for (size_t k = 0; k < r->n; k++)
        n += strcmp(operator_name, r->party[k].operator_name) == 0;
    return n;
}

/* All others, the most or the least suspicious first. */
static void rank(uint8_t order[PLAN_PARTIES_MAX], const struct price *p, bool worst)
{
    const struct roster *r = p->set.roster;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        const uint32_t own = suspicion(r, p->set.self, i);
        size_t at = n;

        if (i == p->set.self)
            continue;
        while (at > 0 && (worst ? suspicion(r, p->set.self, order[at - 1]) < own
                                : suspicion(r, p->set.self, order[at - 1]) > own)) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = (uint8_t)i;
        n++;
    }
}

static struct policy_set set_of(uint8_t members[PLAN_PARTIES_MAX], const struct price *p,
                                const uint8_t order[PLAN_PARTIES_MAX], size_t n)
{
    struct policy_set set = p->set;
    bool in[PLAN_PARTIES_MAX] = {false};
    size_t k = 0;

    in[p->set.self] = true;
    for (size_t i = 0; i + 1 < n; i++)
        in[order[i]] = true;
    for (size_t i = 0; i < p->set.roster->n; i++)
        if (in[i])
            members[k++] = (uint8_t)i;
    set.members = members;
    set.n = n;
    return set;
}

size_t fewest_members(uint8_t members[PLAN_PARTIES_MAX], const struct price *p,
                      const struct config_policy *policy)
{
    const size_t all = p->set.roster->n, least = aggregation_of(&p->plan)->least(&p->plan);

    for (size_t n = least; n < all && !prediction_is_exact(&p->plan); n++) {
        for (int worst = 1; worst >= 0; worst--) {
            uint8_t order[PLAN_PARTIES_MAX];
            struct policy_set set;

            rank(order, p, worst);
            set = set_of(members, p, order, n);
            if (policy_check_set(policy, &p->plan, &set, NULL) == STATUS_OK)
                return n;
        }
    }
    return 0;
}

enum status fewest_print(const struct price *p, const struct party_inputs *in, struct buf *out)
{
    const size_t all = p->set.roster->n;
    uint8_t members[PLAN_PARTIES_MAX];
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX + 1];
    struct policy_set set = p->set;
    struct error why = {0};
    enum status s;

    if (prediction_is_exact(&p->plan))
        return buf_printf(out,
                          "# sums without noise are of all %zu parties: nobody is done "
                          "without\n",
                          all);
    set.n = fewest_members(members, p, &in->config.policy);
    set.members = members;
    if (set.n == 0)
        return buf_printf(out, "# where others are away, nothing: the policy takes all %zu alone\n",
                          all);
    memcpy(entries, p->spent, p->spent_n * sizeof *entries);
    entries[p->spent_n] = policy_predicted(&p->plan, &set, (uint32_t)in->test.rows);
    s = buf_printf(out,
                   "# the same where others are away, among %zu of %zu, the fewest that the "
                   "policy takes:\n",
                   set.n, all);
    if (s == STATUS_OK)
        s = price_print_claims(&entries[p->spent_n], p, out);
    if (s != STATUS_OK)
        return s;
    s = policy_check_entries(&in->config.policy, &p->plan, &set, entries, p->spent_n + 1, &why);
    return s == STATUS_OK
               ? buf_printf(out, "# this party's policy accepts all of them among so few, too\n")
               : buf_printf(out, "# this party's policy refuses all of them among so few: %s\n",
                            why.text);
}
