/* epsilon.c -- a plan and counts to an account's entry.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/epsilon.h"

#include "common/config/aggregation.h"
#include "common/config/config.h"
#include "common/config/encoding.h"
#include "common/secagg/encode.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* As every party describes it to its own ledger, when each has an operator of its own. */
static void describe(struct account_entry *e, const struct plan *p, uint32_t parties)
{
    struct encode enc;

    *e = (struct account_entry){
        .kind = ACCOUNT_NONE,
        .clip = p->protocol.clip,
        .clear = aggregation_of(p)->plaintext,
        .concat = plan_shows_each(p),
        .bottom = ACCOUNT_RAW,
        .coordinates = p->model.embedding,
        .parties = parties,
        .colluders = 1,
    };
    if (encoding_of(p)->noisy && encode_init(&enc, p, parties) == STATUS_OK)
        encode_price(&enc, e);
}

void epsilon_open(struct epsilon *e, const char *dir, const json_t *summary, const json_t *last,
                  size_t evaluations)
{
    static struct config_server config; /* large */
    const json_t *privacy = json_object_get(summary, "privacy");
    const json_t *releases = json_object_get(privacy, "releases");
    char path[PATH_MAX];

    *e = (struct epsilon){0};
    snprintf(path, sizeof path, "%s/server/resolved.yaml", dir);
    if (releases == NULL || evaluations == 0 ||
        config_load_server(&config, path, NULL, 0, NULL) != STATUS_OK)
        return;
    describe(&e->entry, &config.plan, (uint32_t)number(summary, "parties_n"));
    e->entry.participations_max = (uint64_t)number(privacy, "participations_max");
    e->train = number(releases, "train");
    e->evaluate = number(releases, "evaluate");
    e->evaluations = (double)evaluations;
    e->turns = config.plan.protocol.local_order == ORDER_SEQUENTIAL ? e->entry.parties : 1;
    e->evaluates_train = config.plan.training.evaluate_train;
    e->delta = number(privacy, "delta");
    e->epochs = number(last, "epoch");
    e->known = e->epochs > 0 && e->entry.parties > 0 && e->delta > 0 && e->delta < 1;
}

/* How often the record that took part most often has: one of the test set's, or of the training
 * set's, which is released in every turn on its batch (common/flow/agenda.h). */
static double participations(const struct epsilon *e, double epoch, double k)
{
    double train = e->turns * ceil(epoch - 1e-9) + (e->evaluates_train ? k : 0);

    return train > k ? train : k;
}

double epsilon_at(const struct epsilon *e, double epoch, size_t k, bool own)
{
    struct account_entry entry = e->entry;
    double part = (double)k / e->evaluations;
    double most = participations(e, e->epochs, e->evaluations);

    if (entry.kind == ACCOUNT_NONE)
        return INFINITY;
    entry.releases = (uint64_t)ceil(e->train * epoch / e->epochs + e->evaluate * part - 1e-6);
    entry.participations_max = (uint64_t)ceil(
        (double)entry.participations_max * participations(e, epoch, (double)k) / most - 1e-6);
    if (own)
        entry.releases = entry.participations_max;
    return account_claim(
               &entry, 1,
               &(struct account_claim){.adversary = ACCOUNT_SERVER, .adjacency = ACCOUNT_SAMPLE},
               e->delta)
        .epsilon;
}
