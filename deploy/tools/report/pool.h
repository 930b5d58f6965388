/* pool.h -- memory of a report: taken bit by bit, given back all at once.
 *
 * When memory is short the program says so and ends with exit code 6, so nobody here asks whether
 * an allocation worked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_POOL_H
#define COLONNADE_TOOLS_REPORT_POOL_H

#include "common/base/status.h"

#include <stddef.h>

struct pool {
    struct pool_block *newest;
};

void pool_deinit(struct pool *p); /* safe on a zeroed struct */

/* n * size zeroed bytes. */
void *pool_alloc(struct pool *p, size_t n, size_t size);
/* Room for one more behind n items of `size` bytes: `items` itself, or a larger copy. */
void *pool_more(struct pool *p, void *items, size_t n, size_t size);
const char *pool_text(struct pool *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
