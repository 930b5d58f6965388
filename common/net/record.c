/* record.c -- counts TLS records.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/record.h"

#include <string.h>

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

void record_pass(struct record_counter *r, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        size_t k = r->left > 0 ? less(r->left, n) : less(RECORD_HEAD - r->head_n, n);

        if (r->left > 0) {
            r->left -= k;
        } else {
            memcpy(r->head + r->head_n, bytes, k);
            r->head_n += (unsigned)k;
            if (r->head_n == RECORD_HEAD) {
                r->n++;
                r->head_n = 0;
                r->left = (size_t)r->head[3] << 8 | r->head[4];
            }
        }
        bytes += k;
        n -= k;
    }
}
