/* equality.h -- are two secrets equal, without a way to guess either offline.
 *
 * One-element Diffie-Hellman whose base point is what is compared: SPEKE (Jablon 1996) over
 * ristretto255 (RFC 9496), with the amendments of Hao and Shahandashti, "The SPEKE protocol
 * revisited" (2014): who compares with whom, and all that was said, are part of the base point or
 * of what the caller derives from the result.
 *
 *   base     hash_to_ristretto255(secret) of RFC 9380, appendix B, under a label
 *   element  r base, r a secret scalar, to the other end
 *   result   r * other's element: the same at both ends when the secrets were, and otherwise not
 *
 * An element alone says nothing: it is uniform over the group but the identity, whatever the
 * secret.  The two elements and anything derived from the result let nobody but the two ends try a
 * guess, as long as computational Diffie-Hellman is hard; an end can try the one that its own
 * element was made of (MacKenzie 2001, "On the security of the SPEKE password-authenticated key
 * exchange protocol"), and no other one however often it shows that element: all that the other
 * end's secret answers it with are multiples of one element, so two guesses by one element in two
 * exchanges would be two in one.  Over libsodium.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_EQUALITY_H
#define COLONNADE_CRYPTO_EQUALITY_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EQUALITY_BYTES = 32, EQUALITY_LABEL_MAX = 64, EQUALITY_RANDOM_BYTES = 64 };

/* One comparison at one end. */
struct equality {
    uint8_t scalar[EQUALITY_BYTES];  /* until equality_end */
    uint8_t element[EQUALITY_BYTES]; /* for the other end */
};

/* Of the n bytes of a secret; nothing of it is kept.  The scalar is `random` modulo the group's
 * order: as uniform, and as secret, as those bytes are, which serve for this secret alone. */
enum status equality_begin(struct equality *e, const char *label, const void *secret, size_t n,
                           const uint8_t random[EQUALITY_RANDOM_BYTES]) MUST_USE;
/* The result, which is a secret; the scalar is wiped whatever the answer.  STATUS_AUTH when the
 * other's element is none (not canonical, the identity).  The own one come back is an element as
 * any other: of r^2 base whoever has copied it knows nothing. */
enum status equality_end(uint8_t result[EQUALITY_BYTES], struct equality *e,
                         const uint8_t element[EQUALITY_BYTES]) MUST_USE;

/* Is this an element that equality_end takes? */
bool equality_is_element(const uint8_t element[EQUALITY_BYTES]);

#endif
