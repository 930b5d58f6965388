/* pem.h -- what reading and writing PEM has in common, for those who know OpenSSL.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_PEM_H
#define COLONNADE_CRYPTO_PEM_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>

#include <openssl/bio.h>

/* For each PEM_read_...: an encrypted text is refused.  OpenSSL's own callback would ask whoever
 * sits at the terminal for a pass phrase, and wait. */
int pem_no_password(char *out, int room, int writing, void *arg);

/* Appends what is in the memory BIO (NULL: none), wipes and frees it, and forgets OpenSSL's errors.
 * STATUS_CRYPTO unless `written`. */
enum status pem_take(struct buf *out, BIO *bio, bool written) MUST_USE;

#endif
