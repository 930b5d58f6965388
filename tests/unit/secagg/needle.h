/* needle.h -- is something still in this process's memory?
 *
 * All of it is searched, as somebody would who stole it, for bytes that the test knows.  What the
 * test knows it keeps inverted, so as not to find itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_NEEDLE_H
#define COLONNADE_TESTS_SECAGG_NEEDLE_H

#include <stddef.h>
#include <stdint.h>

enum { NEEDLE_BYTES = 80 };

struct needle {
    uint8_t inverted[NEEDLE_BYTES];
};

/* The first NEEDLE_BYTES of these, which the caller wipes. */
struct needle needle_of(const void *bytes);
/* How often it is in memory that this process may write. */
size_t needle_count(const struct needle *x);

#endif
