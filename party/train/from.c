/* from.c -- what a plan with training.from begins with: this party's own package of that run, which
 * the others have their parts of.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/log.h"
#include "common/daemon/package.h"

#include <string.h>

/* Which columns the rows make may hang on the rows: what is said of that is said here, and to the
 * others this side is gone. */
static enum status check_columns(const struct party_setup *setup, const struct package *m,
                                 struct error *err)
{
    static const struct schema none;
    const struct schema *own = setup->data.schema != NULL ? setup->data.schema : &none;

    if (package_columns(m, own, setup->data.train, err) == STATUS_OK)
        return STATUS_OK;
    log_error("training.from: the model of run %s: %s; data.schema and data.scale can say what "
              "they were",
              m->run, err->text);
    return error_set(err, STATUS_IO, "training.from: not the columns of this party's model");
}

/* The weights of this bottom, as the file has it. */
static enum status take_weights(struct party_train *p, const struct package *m, struct error *err)
{
    struct nn_net *net = &p->learner.bottom.net;

    if (package_weights(m, net, err) == STATUS_OK) {
        nn_net_limit(net);
        return STATUS_OK;
    }
    log_error("training.from: the model of run %s is not of this bottom: %s", m->run, err->text);
    return error_set(err, STATUS_CONFIG, "training.from: not the weights of this bottom");
}

enum status party_from_load(struct party_train *p)
{
    const struct party_setup *setup = p->host->setup;
    const struct plan *plan = &p->course.plan;
    struct error *err = p->host->error;
    struct package m;
    enum status s;

    if (plan->training.from[0] == 0)
        return STATUS_OK;
    if (plan->training.from_trail[0] == 0 || setup->start.from == NULL)
        return error_set(err, STATUS_PROTOCOL, "training.from: of which playing is not said");
    if (setup->config->load[0] != 0)
        return error_set(err, STATUS_CONFIG,
                         "model.load: the plan's training.from says what every side begins with");
    package_init(&m);
    s = setup->start.from(setup->owner, plan, &m, err);
    if (s == STATUS_OK)
        s = package_continues(&m, plan, err);
    if (s == STATUS_OK)
        s = check_columns(setup, &m, err);
    if (s == STATUS_OK)
        s = take_weights(p, &m, err);
    if (s == STATUS_OK) {
        p->purse.before = (struct policy_bottom){m.made, m.noise};
        log_info("goes on from the model of run %s, after %llu steps", m.run,
                 (unsigned long long)m.steps);
    }
    package_deinit(&m);
    return s;
}
