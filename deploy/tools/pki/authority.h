/* authority.h -- the folder of a CA.
 *
 *   ca.key        never leaves it            ca.crt, ca.crl   for everybody
 *   index.txt     what was issued, in the form of `openssl ca`
 *   issued/       a copy of each certificate, by serial number
 *   requests/     NAME.csr, behind a line with its role: what a renewal repeats
 *   revoked.txt   keys that do not come back, by fingerprint
 *   crlnumber     of the next revocation list, hexadecimal
 *   lock          one process at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_AUTHORITY_H
#define COLONNADE_DEPLOY_PKI_AUTHORITY_H

#include "common/base/buf.h"
#include "common/crypto/cert_make.h"
#include "deploy/tools/pki/put.h"

enum { AUTHORITY_PATH_MAX = 512 };

struct authority {
    struct put_folder folder; /* and its folders for copies */
    struct put_folder issued, requests;
    struct cert_signer signer;
    struct buf index, revoked; /* the files; written by authority_keep */
    bool index_changed, revoked_changed;
    int lock;
    int64_t now;
};

/* What one certificate is asked for with. */
struct authority_order {
    const char *name; /* cert_name.h */
    enum cert_role role;
    uint8_t public_key[SIGN_PUBLIC_BYTES];
    const struct buf *request; /* PEM, for authority_remember */
    int64_t from, until;
};

/* A new CA in `dir`; STATUS_CONFIG when there is one.  Then as authority_open. */
enum status authority_make(struct authority *a, const char *dir, const char *name,
                           const struct cert_terms *t, struct error *err) MUST_USE;
/* Waits for the lock. */
enum status authority_open(struct authority *a, const char *dir, struct error *err) MUST_USE;
void authority_close(struct authority *a); /* safe on a zeroed struct and after a failed open */

/* Signs; the copy is written, the index only by authority_keep.  STATUS_CONFIG when the key is
 * revoked. */
enum status authority_issue(struct authority *a, struct cert *out, const struct authority_order *o,
                            struct error *err) MUST_USE;
/* Keeps request and role for renewals, after authority_keep. */
enum status authority_remember(struct authority *a, const struct authority_order *o,
                               struct error *err) MUST_USE;
/* The order as it was kept, without dates; *request is initialised here and owned by the caller. */
enum status authority_recall(const struct authority *a, struct authority_order *o,
                             struct buf *request, const char *name, struct error *err) MUST_USE;
/* Marks all valid certificates of `name` revoked; STATUS_CONFIG when there is none. */
enum status authority_revoke(struct authority *a, const char *name, struct error *err) MUST_USE;
enum status authority_keep(struct authority *a, struct error *err) MUST_USE;
/* ca.crl, good for so many days. */
enum status authority_crl(struct authority *a, long days, struct error *err) MUST_USE;

#endif
