/* mechanism.c -- a plan's noise, and among whom it is added.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/mechanism.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/privacy/ledger.h"
#include "common/secagg/encode.h"

struct account_entry mechanism_of(const struct plan *p, const struct roster *r,
                                  const uint8_t *members, size_t n, uint32_t self)
{
    uint32_t colluders = roster_colluders(r, members, n, self);
    uint32_t servers = roster_servers(r, members, n, self);
    struct account_entry e = {
        .kind = ACCOUNT_NONE,
        .clip = p->protocol.clip,
        .clear = aggregation_of(p)->plaintext,
        .concat = plan_shows_each(p),
        .coordinates = p->model.embedding,
        /* threats 1.2 */
        .parties = (uint32_t)n - servers,
        .colluders = colluders > servers ? colluders - servers : 1,
    };
    struct encode encode;

    if (encoding_of(p)->noisy && encode_init(&encode, p, (uint32_t)n) == STATUS_OK)
        encode_price(&encode, &e);
    return e;
}

double mechanism_delta(const struct plan *p, uint64_t records)
{
    const double most = ledger_delta(records);

    return p->privacy.delta < most ? p->privacy.delta : most;
}
