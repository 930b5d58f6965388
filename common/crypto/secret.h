/* secret.h -- wiping and constant-time comparison.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_SECRET_H
#define COLONNADE_CRYPTO_SECRET_H

#include "common/base/buf.h"

#include <stddef.h>

void secret_wipe(void *bytes, size_t n);                  /* never optimised away */
void secret_buf_deinit(struct buf *b);                    /* buf_deinit of what is wiped first */
int secret_equal(const void *a, const void *b, size_t n); /* constant time; 1 when equal */
void secret_harden_process(void); /* no core dumps, not ptraceable (threats F3) */

#endif
