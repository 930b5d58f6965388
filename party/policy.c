/* policy.c -- refusals that no peer can talk its way around.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/policy.h"

#include "common/config/aggregation.h"
#include "common/flow/mechanism.h"
#include "common/wire/limits.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of epsilon and of its parts, each of which is some 1e-15 off for each mechanism. */
#define ROUNDING 1e-12

static bool was_raw(const struct account_entry *spent, size_t n)
{
    bool raw = false;

    for (size_t i = 0; i < n; i++)
        raw |= spent[i].bottom == ACCOUNT_RAW;
    return raw;
}

const char *policy_raw_because(const struct config_party *config, const struct account_entry *spent,
                               size_t n)
{
    if (config->train == TRAIN_RAW)
        return "model.train is raw";
    if (strcmp(config->scale, "fit") == 0)
        return "data.scale is fit";
    if (strcmp(config->scale, "none") != 0 && strcmp(config->scale, "dp") != 0 &&
        !config->scale_given)
        return "data.scale is a file, and data.scale_given does not say that it was made without "
               "these records";
    if (config->load[0] != 0 && was_raw(spent, n))
        return "model.load may be of a bottom that has trained on these records raw";
    return NULL;
}

struct policy_bottom policy_bottom_of(const struct config_party *config,
                                      const struct account_entry *spent, size_t n)
{
    if (policy_raw_because(config, spent, n) != NULL)
        return (struct policy_bottom){.kind = ACCOUNT_RAW};
    if (config->train == TRAIN_FROZEN)
        return (struct policy_bottom){.kind = ACCOUNT_FROZEN};
    return (struct policy_bottom){ACCOUNT_DP, config->noise};
}

struct policy_bottom policy_bottom_kept(struct policy_bottom kept,
                                        const struct config_party *config,
                                        const struct account_entry *spent, size_t n)
{
    const struct policy_bottom now = policy_bottom_of(config, spent, n);

    if (kept.kind == ACCOUNT_RAW || now.kind == ACCOUNT_RAW || was_raw(spent, n))
        return (struct policy_bottom){.kind = ACCOUNT_RAW};
    if (kept.kind == ACCOUNT_FROZEN)
        return now;
    if (now.kind == ACCOUNT_FROZEN)
        return kept;
    return (struct policy_bottom){ACCOUNT_DP, fmin(kept.noise, now.noise)};
}

struct account_entry policy_mechanism(const struct plan *p, const struct policy_set *set)
{
    struct account_entry e = mechanism_of(p, set->roster, set->members, set->n, set->self);

    e.bottom = set->bottom.kind;
    e.persons = persons_named(set->persons);
    if (e.bottom == ACCOUNT_DP) {
        e.together = e.persons ? set->together : 1;
        e.step_noise = set->bottom.noise;
        e.steps = p->protocol.local_iterations;
    }
    return e;
}

struct account_entry policy_planned(const struct plan *p, const struct policy_set *set,
                                    struct agenda_releases *planned)
{
    struct account_entry e = policy_mechanism(p, set);
    struct agenda agenda;

    agenda_make(&agenda, p);
    agenda_price_rest(&agenda, p, set->done, planned);
    if (set->again)
        agenda_price_again(&agenda, p, set->done, planned);
    e.releases = planned->train + planned->evaluate;
    e.participations_max = agenda_record_max(planned, set->repeats);
    e.trained_max = planned->trained_max;
    if (e.persons)
        persons_releases(set->persons, planned, &e.participations_max, &e.trained_max);
    return e;
}

struct account_entry policy_contributed(const struct plan *p, const struct policy_set *set,
                                        uint32_t rows, uint32_t times)
{
    struct account_entry e = policy_predicted(p, set, rows);

    e.releases *= times;
    e.participations_max *= times;
    return e;
}

struct account_entry policy_predicted(const struct plan *p, const struct policy_set *set,
                                      uint32_t rows)
{
    struct account_entry e = policy_mechanism(p, set);

    e.releases = rows;
    e.participations_max = e.persons ? persons_predicted(set->persons, rows) : 1;
    return e;
}

_Static_assert((int)CONFIG_ADVERSARIES == (int)ACCOUNT_ADVERSARIES &&
                   (int)ADVERSARY_SERVER_1 == (int)ACCOUNT_SERVER_1 &&
                   (int)ADVERSARY_SERVER_T == (int)ACCOUNT_SERVER_T &&
                   (int)ADVERSARY_ALL_BUT_ONE == (int)ACCOUNT_ALL_BUT_ONE &&
                   (int)ADVERSARY_PARTY == (int)ACCOUNT_PARTY &&
                   (int)ADJACENCY_RECORD_RAW == (int)ACCOUNT_RECORD_RAW &&
                   (int)ADJACENCY_SAMPLE == (int)ACCOUNT_SAMPLE &&
                   (int)ADJACENCY_PERSON_RAW == (int)ACCOUNT_PERSON_RAW &&
                   (int)CONFIG_ADJACENCIES == (int)ACCOUNT_ADJACENCIES,
               "the configuration's names are the accountant's");

bool policy_limits_epsilon(const struct config_policy *policy)
{
    bool any = policy->epsilon_value > 0;

    for (size_t a = 0; a < CONFIG_ADVERSARIES; a++)
        for (size_t of = 0; of < CONFIG_LIMITED; of++)
            any |= policy->epsilon_max[a][of] > 0;
    return any;
}

static bool exceeds(struct policy_excess *out, const struct account_entry *entries, size_t n,
                    const struct policy_terms *terms)
{
    const double spare = terms->ahead ? ROUNDING * (1 + out->most) : 0;

    if (out->most <= 0)
        return false;
    out->claim.t = terms->withstands;
    out->claim = account_claim(entries, n, &out->claim, terms->delta);
    return !(out->claim.epsilon <= out->most - spare);
}

bool policy_exceeded(struct policy_excess *out, const struct config_policy *policy,
                     const struct account_entry *entries, size_t n,
                     const struct policy_terms *terms)
{
    static const enum account_adjacency limited[CONFIG_LIMITED] = {
        [LIMITED_RECORD] = ACCOUNT_RECORD_RAW,
        [LIMITED_COLUMNS] = ACCOUNT_COLUMNS,
        [LIMITED_SAMPLE] = ACCOUNT_SAMPLE,
    };

    *out = (struct policy_excess){
        .claim = {.adversary = (enum account_adversary)policy->epsilon_adversary,
                  .adjacency = (enum account_adjacency)policy->epsilon_adjacency},
        .most = policy->epsilon_value,
    };
    if (exceeds(out, entries, n, terms))
        return true;
    for (size_t a = 0; a < CONFIG_ADVERSARIES; a++) {
        for (size_t of = 0; of < CONFIG_LIMITED; of++) {
            *out = (struct policy_excess){
                .claim = {.adversary = (enum account_adversary)a, .adjacency = limited[of]},
                .most = policy->epsilon_max[a][of]};
            if (exceeds(out, entries, n, terms))
                return true;
        }
    }
    return false;
}

enum status policy_check_set(const struct config_policy *policy, const struct plan *p,
                             const struct policy_set *set, struct error *err)
{
    uint32_t colluders = roster_colluders(set->roster, set->members, set->n, set->self);
    const struct aggregation *a = aggregation_of(p);

    if (set->n < policy->min_parties)
        return error_set(err, STATUS_POLICY,
                         "policy.min_parties: %zu parties where %u are the least", set->n,
                         policy->min_parties);
    /* Under `clear` nothing is hidden among others; whoever admits it has said so. */
    if (!a->plaintext && set->n < (size_t)policy->min_m_eff + colluders)
        return error_set(
            err, STATUS_POLICY,
            "policy.min_m_eff: %zu parties, %u of them perhaps with the server, leave less than %u",
            set->n, colluders, policy->min_m_eff);
    if (a->shares && colluders > plan_withstands(p))
        return error_set(err, STATUS_POLICY,
                         "the plan's %s: shares of %u parties open %s, and %u may be in one hand",
                         a->privacy_key, plan_withstands(p) + 1, a->opens, colluders);
    return STATUS_OK;
}

static enum status check_terms(const struct config_policy *policy, const struct plan *p,
                               struct error *err)
{
    if (!policy->aggregation[p->protocol.aggregation])
        return error_set(err, STATUS_POLICY,
                         "policy.aggregations: the plan's aggregation is not among them");
    if (!policy->encoding[p->protocol.encoding])
        return error_set(err, STATUS_POLICY,
                         "policy.encodings: the plan's encoding is not among them");
    /* A delta of 1/N lets a mechanism publish one record whole and still keep its promise (threats
     * B13). */
    if (p->privacy.delta * ((double)p->shape.train_rows + p->shape.test_rows) >= 1)
        return error_set(err, STATUS_POLICY,
                         "the plan's privacy.delta %g is not below one over its %" PRIu64 " rows",
                         p->privacy.delta, (uint64_t)p->shape.train_rows + p->shape.test_rows);
    if (policy->max_learning_rate > 0 && p->training.learning_rate > policy->max_learning_rate)
        return error_set(err, STATUS_POLICY, "policy.max_learning_rate: %g is over %g",
                         p->training.learning_rate, policy->max_learning_rate);
    return STATUS_OK;
}

static enum status check_releases(const struct config_policy *policy,
                                  const struct account_entry *entries, size_t n, struct error *err)
{
    uint64_t total = 0, record = 0;

    for (size_t i = 0; i < n; i++) {
        total += entries[i].releases;
        record += entries[i].participations_max;
    }
    if (policy->releases_record > 0 && record > policy->releases_record)
        return error_set(
            err, STATUS_BUDGET,
            "policy.max_releases.record: a record would be released %llu times, %llu is the most",
            (unsigned long long)record, (unsigned long long)policy->releases_record);
    if (policy->releases_total > 0 && total > policy->releases_total)
        return error_set(err, STATUS_BUDGET,
                         "policy.max_releases.total: %llu releases would be made, %llu is the most",
                         (unsigned long long)total, (unsigned long long)policy->releases_total);
    return STATUS_OK;
}

static enum status check_epsilon(const struct config_policy *policy, const struct plan *p,
                                 uint64_t records, const struct account_entry *entries, size_t n,
                                 struct error *err)
{
    const struct policy_terms terms = {
        .delta = mechanism_delta(p, records), .withstands = plan_withstands(p), .ahead = true};
    struct policy_excess e;

    if (!policy_exceeded(&e, policy, entries, n, &terms))
        return STATUS_OK;
    return error_set(
        err, STATUS_BUDGET,
        "policy.max_epsilon: against %s (%s) the plan costs epsilon %.4g, %.4g is the most",
        account_adversary_name(e.claim.adversary), account_adjacency_name(e.claim.adjacency),
        e.claim.epsilon, e.most);
}

void policy_of_no_record(struct account_entry *spent, size_t n)
{
    for (size_t i = 0; i < n; i++)
        spent[i].participations_max = spent[i].trained_max = 0;
}

bool policy_limits_record(const struct config_policy *policy)
{
    return policy->releases_record > 0 || policy_limits_epsilon(policy);
}

enum status policy_full(struct error *err)
{
    return error_set(err, STATUS_BUDGET,
                     "the ledger has accounts for %d mechanisms, the most there can be, and none "
                     "for the plan's: see --ledger for those that it goes on with",
                     ACCOUNT_MECHANISMS_MAX);
}

enum status policy_check_entries(const struct config_policy *policy, const struct plan *p,
                                 const struct policy_set *set, struct account_entry *entries,
                                 size_t n, struct error *err)
{
    enum status s = policy_check_set(policy, p, set, err);

    if (set->lacking)
        policy_of_no_record(entries, n - 1);
    if (s == STATUS_OK)
        s = check_terms(policy, p, err);
    if (s == STATUS_OK)
        s = check_releases(policy, entries, n, err);
    if (s == STATUS_OK)
        s = check_epsilon(policy, p, set->records, entries, n, err);
    return s;
}

static struct account_entry released(const struct account_entry *planned, uint64_t times)
{
    struct account_entry e = *planned;

    e.trained_max += times - e.participations_max;
    e.participations_max = times;
    return e;
}

/* Of a record that has spent nothing. */
static bool has_room(const struct account_entry *of, const struct config_policy *policy,
                     const struct plan *p, const struct policy_set *set)
{
    return (policy->releases_record == 0 || of->participations_max <= policy->releases_record) &&
           check_epsilon(policy, p, set->records, of, 1, NULL) == STATUS_OK;
}

void policy_repetitions(struct account_entry *planned, const struct config_policy *policy,
                        const struct plan *p, const struct policy_set *set)
{
    const uint64_t rest = planned->participations_max;
    struct policy_set from_start = *set;
    struct agenda_releases releases;
    struct account_entry eight;

    from_start.done = 0;
    from_start.again = false;
    eight = policy_planned(p, &from_start, &releases);
    eight = released(&eight, 8 * (2 * eight.participations_max + WIRE_AGAIN_MAX));
    if (has_room(&eight, policy, p, set))
        *planned = released(planned, 2 * rest + WIRE_AGAIN_MAX - (set->done > 0 ? 4 : 0));
    else
        *planned = released(planned, rest + rest / 8 + (set->done > 0 ? 1 : 4));
}

/* Who is left out is settled before the first release, by what each later one costs: so that has to
 * be settled, too, and nothing of a record may have been dealt to others. */
static enum status check_spares(const struct plan *p, struct error *err)
{
    if (p->protocol.straggler == STRAGGLER_WAIT && !aggregation_of(p)->deals)
        return STATUS_OK;
    return error_set(err, STATUS_POLICY,
                     "policy.max_releases.record, policy.max_epsilon: labelled rows, some of which "
                     "may not be here, are released within limits of one record only under "
                     "straggler wait, and not by fedvs");
}

enum status policy_check(const struct config_policy *policy, const struct plan *p,
                         const struct policy_set *set, const struct account_entry *spent,
                         size_t spent_n, struct error *err)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX + 1];
    struct agenda_releases planned;

    memcpy(entries, spent, spent_n * sizeof *spent);
    entries[spent_n] = policy_planned(p, set, &planned);
    if (set->lacking && policy_limits_record(policy)) {
        const enum status s = check_spares(p, err);

        if (s != STATUS_OK)
            return s;
        policy_repetitions(&entries[spent_n], policy, p, set);
    }
    return policy_check_entries(policy, p, set, entries, spent_n + 1, err);
}
