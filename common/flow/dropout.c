/* dropout.c -- a hash of the step and the party.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dropout.h"

#include "common/base/le.h"
#include "common/crypto/digest.h"

#include <string.h>

static const char domain[] = "vfl/dropout/1";

static bool drawn(const struct plan *p, uint64_t step, uint32_t party)
{
    uint8_t text[sizeof domain - 1 + 8 + 8 + 2], out[DIGEST_BYTES], *to = text + sizeof domain - 1;
    const uint8_t *from = out;

    memcpy(text, domain, sizeof domain - 1);
    to = le_put(to, p->training.seed, 8);
    to = le_put(to, step, 8);
    le_put(to, party, 2);
    digest_sha256(out, text, sizeof text);
    return (double)(le_take(&from, 8) >> 11) < p->training.party_dropout * 0x1p53;
}

bool dropout_of(bool missing[PLAN_PARTIES_MAX], const struct plan *p, uint64_t step)
{
    uint32_t n = 0;

    memset(missing, 0, PLAN_PARTIES_MAX * sizeof *missing);
    if (!(p->training.party_dropout > 0))
        return false;
    for (uint32_t i = 0; i < p->shape.parties; i++)
        n += missing[i] = drawn(p, step, i);
    if (n == p->shape.parties)
        memset(missing, 0, PLAN_PARTIES_MAX * sizeof *missing);
    return n > 0 && n < p->shape.parties;
}

bool dropout_leaves_out(const struct plan *p, uint64_t step, uint32_t party)
{
    bool missing[PLAN_PARTIES_MAX];

    return dropout_of(missing, p, step) && missing[party];
}
