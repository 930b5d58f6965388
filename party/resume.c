/* resume.c -- a session to bytes and back.
 *
 * Kept: which plan, how many steps are applied, the bottom with its optimiser.  Not kept: keys and
 * masks.  An upload whose gradient had not come yet may have been summed all the same: its batch is
 * known from the schedule, so the gradient can still be applied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/nn/state.h"

#include <string.h>

enum { RESUME_VERSION = 1 };

struct kept {
    uint64_t version, applied;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
};

enum status party_session_save(const struct party_session *p, struct buf *out)
{
    struct kept k = {.version = RESUME_VERSION, .applied = p->applied};
    enum status s;

    if (!p->planned || (p->applied == 0 && !p->pending))
        return STATUS_OK; /* nothing that another start would not make as well */
    memcpy(k.plan_digest, p->plan_digest, sizeof k.plan_digest);
    s = buf_append(out, &k, sizeof k);
    return s == STATUS_OK ? nn_state_print(&p->bottom.net, out) : s;
}

static bool read_kept(struct kept *k, const struct party_setup *setup)
{
    if (setup->saved == NULL || setup->saved_n < sizeof *k)
        return false;
    memcpy(k, setup->saved, sizeof *k);
    return k->version == RESUME_VERSION;
}

uint64_t party_saved_steps(const struct party_setup *setup)
{
    struct kept k;

    return read_kept(&k, setup) ? k.applied : 0;
}

enum status party_restore(struct party_session *p)
{
    struct kept k;
    uint32_t rows;
    const uint32_t *row;

    if (p->setup.saved == NULL)
        return STATUS_OK;
    if (!read_kept(&k, &p->setup) ||
        memcmp(k.plan_digest, p->plan_digest, sizeof k.plan_digest) != 0)
        return error_set(&p->error, STATUS_CONFIG,
                         "state: holds a run of another plan; use another state directory");
    if (k.applied > p->agenda.steps || nn_state_parse(&p->bottom.net, p->setup.saved + sizeof k,
                                                      p->setup.saved_n - sizeof k) != STATUS_OK)
        return error_set(&p->error, STATUS_CONFIG,
                         "state: the saved model does not fit model.layers and the data");
    p->applied = k.applied;
    if (k.applied == p->agenda.steps)
        return STATUS_OK;
    row = schedule_batch(&p->schedule, k.applied, &rows);
    party_bottom_train(&p->bottom, p->setup.train, row, rows);
    p->pending = true;
    return STATUS_OK;
}
