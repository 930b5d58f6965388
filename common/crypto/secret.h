/* secret.h -- where secrets lie, how they are wiped and compared, and a process that keeps them.
 *
 * Keys that outlive a call lie in one arena (OpenSSL's secure heap): locked into memory, left out
 * of core dumps, between guard pages, gone in a child after fork, wiped block by block when freed.
 * The library puts private keys there by itself.  What a round makes and forgets -- noisy codes,
 * key streams, shares -- stays in the buffers of the round and is wiped in them, which costs less;
 * docs/hardening.md says which is where.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_SECRET_H
#define COLONNADE_CRYPTO_SECRET_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* All of one process: a session takes 32 KiB, a generation at most 16 KiB for each of four kinds of
 * keys. */
enum { SECRET_ARENA_BYTES = 1 << 20 };

void secret_wipe(void *bytes, size_t n);                  /* never optimised away */
void secret_buf_deinit(struct buf *b);                    /* buf_deinit of what is wiped first */
int secret_equal(const void *a, const void *b, size_t n); /* constant time; 1 when equal */

/* Makes the arena, before the first secret and before there are threads; again: changes nothing.
 * *locked: false when the limit on
 * locked memory (RLIMIT_MEMLOCK) is too small, and the arena may be swapped out; everything else
 * holds.  STATUS_MEMORY: there is none. */
enum status secret_arena_open(bool *locked) MUST_USE;

/* n * size zeroed bytes; from the heap where no arena was opened (tests).  NULL when there is no
 * room, n * size overflows, or mem_fail_at() says so.  Alignment: 16 bytes. */
void *secret_alloc(size_t n, size_t size);
/* Wipes all n * size bytes, whatever was asked for; NULL is fine. */
void secret_free(void *block, size_t n, size_t size);

void secret_harden_process(void); /* no core dumps, not ptraceable (threats F3) */

#endif
