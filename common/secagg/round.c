/* round.c -- the name of a round, hashed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/round.h"

#include "common/base/le.h"

#include <string.h>

void round_iv(struct digest *d, uint8_t iv[PRG_IV_BYTES], const char *label,
              const struct secagg_round *r)
{
    uint8_t name[9], digest[DIGEST_BYTES];

    name[0] = r->purpose;
    le_put(name + 1, r->round, 8);
    digest_begin(d);
    digest_update(d, label, strlen(label));
    digest_update(d, name, sizeof name);
    digest_update(d, r->sid, DIGEST_BYTES);
    digest_update(d, r->broadcast, DIGEST_BYTES);
    digest_final(d, digest);
    memcpy(iv, digest, PRG_IV_BYTES);
}
