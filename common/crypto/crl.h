/* crl.h -- revocation lists, made and looked at.  Who is on one is asked in cert.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_CRL_H
#define COLONNADE_CRYPTO_CRL_H

#include "common/base/buf.h"
#include "common/crypto/cert.h"
#include "common/crypto/cert_make.h"
#include "common/crypto/sign.h"

/* A certificate that is no longer good: its serial number, and since when. */
struct crl_entry {
    char serial[CERT_SERIAL_HEX_MAX + 1]; /* hexadecimal */
    int64_t when;
};

struct crl_facts {
    int64_t from, until; /* of this list; the next one is due at `until` */
    size_t revoked;
};

/* PEM of a list of n entries, good from t->from to t->until; `number` grows from list to list. */
enum status crl_make(struct buf *pem, const struct cert_signer *ca, uint64_t number,
                     const struct crl_entry *revoked, size_t n,
                     const struct cert_terms *t) MUST_USE;

/* Looks at a list; *pem (NULL: not wanted) becomes the list alone, without what stood around it.
 * STATUS_CONFIG when the text is none. */
enum status crl_read(struct crl_facts *f, struct buf *pem, const void *text, size_t n,
                     struct error *err) MUST_USE;

#endif
