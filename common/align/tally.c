/* tally.c -- equal logarithms.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/tally.h"

#include "common/base/le.h"
#include "common/crypto/secret.h"

#include <string.h>

enum { CHALLENGE_AT = TALLY_PROOF, RESPONSE_AT = TALLY_PROOF + GROUP_BYTES };

enum status tally_key_init(struct tally_key *k, const uint8_t random[GROUP_RANDOM_BYTES])
{
    group_scalar(k->secret, random);
    if (group_raise_base(k->public, k->secret))
        return STATUS_OK;
    tally_key_wipe(k);
    return STATUS_CRYPTO;
}

enum status tally_key_product(struct tally_key *k, const uint8_t a[GROUP_BYTES],
                              const uint8_t b[GROUP_BYTES])
{
    static const uint8_t nothing[GROUP_BYTES];

    group_scalar_add_product(k->secret, nothing, a, b);
    if (group_raise_base(k->public, k->secret))
        return STATUS_OK;
    tally_key_wipe(k);
    return STATUS_CRYPTO;
}

void tally_key_wipe(struct tally_key *k)
{
    secret_wipe(k, sizeof *k);
}

void tally_context(uint8_t out[TALLY_CONTEXT_BYTES], const uint8_t session[32], uint32_t stage,
                   uint32_t member)
{
    memcpy(out, session, 32);
    le_put(out + 32, stage, 4);
    le_put(out + 36, member, 4);
}

enum status tally_origin(uint8_t out[GROUP_BYTES], const uint8_t session[32])
{
    return group_hash(out, "vfl/align/origin/1", session, 32);
}

static void challenge(uint8_t c[GROUP_BYTES], const uint8_t tally[TALLY_BYTES],
                      const uint8_t context[TALLY_CONTEXT_BYTES],
                      const uint8_t commitment[2 * GROUP_BYTES])
{
    uint8_t text[TALLY_CONTEXT_BYTES + TALLY_PROOF + 2 * GROUP_BYTES];

    memcpy(text, context, TALLY_CONTEXT_BYTES);
    memcpy(text + TALLY_CONTEXT_BYTES, tally, TALLY_PROOF);
    memcpy(text + TALLY_CONTEXT_BYTES + TALLY_PROOF, commitment, 2 * GROUP_BYTES);
    group_scalar_hash(c, "vfl/align/proof/1", text, sizeof text);
}

enum status tally_make(uint8_t out[TALLY_BYTES], const struct tally_key *k,
                       const uint8_t in[GROUP_BYTES], const uint8_t context[TALLY_CONTEXT_BYTES],
                       const uint8_t random[GROUP_RANDOM_BYTES])
{
    uint8_t nonce[GROUP_BYTES], commitment[2 * GROUP_BYTES];
    bool good;

    group_scalar(nonce, random);
    memcpy(out + TALLY_PUBLIC, k->public, GROUP_BYTES);
    memcpy(out + TALLY_IN, in, GROUP_BYTES);
    good = group_raise(out + TALLY_OUT, k->secret, in) && group_raise_base(commitment, nonce) &&
           group_raise(commitment + GROUP_BYTES, nonce, in);
    if (good) {
        challenge(out + CHALLENGE_AT, out, context, commitment);
        group_scalar_add_product(out + RESPONSE_AT, nonce, out + CHALLENGE_AT, k->secret);
    }
    secret_wipe(nonce, sizeof nonce);
    return good ? STATUS_OK : STATUS_CRYPTO;
}

/* z P - c Q, which is k P where Q is x P. */
static bool commitment_of(uint8_t out[GROUP_BYTES], const uint8_t tally[TALLY_BYTES],
                          const uint8_t *p, const uint8_t *q)
{
    uint8_t back[GROUP_BYTES];
    const bool raised = p == NULL ? group_raise_base(out, tally + RESPONSE_AT)
                                  : group_raise(out, tally + RESPONSE_AT, p);

    return raised && group_raise(back, tally + CHALLENGE_AT, q) && group_subtract(out, out, back);
}

bool tally_holds(const uint8_t tally[TALLY_BYTES], const uint8_t context[TALLY_CONTEXT_BYTES])
{
    uint8_t commitment[2 * GROUP_BYTES], c[GROUP_BYTES];

    if (!commitment_of(commitment, tally, NULL, tally + TALLY_PUBLIC) ||
        !commitment_of(commitment + GROUP_BYTES, tally, tally + TALLY_IN, tally + TALLY_OUT))
        return false;
    challenge(c, tally, context, commitment);
    return secret_equal(c, tally + CHALLENGE_AT, sizeof c);
}
