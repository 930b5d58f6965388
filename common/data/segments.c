/* segments.c -- coded rows to rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/segments.h"

#include "common/base/check.h"

void segments_init(struct segments *s, uint32_t rows, uint32_t k)
{
    CHECK(k > 0);
    *s = (struct segments){.rows = rows, .k = k, .len = rows / k + (rows % k != 0)};
}

uint32_t segments_rows(const struct segments *s, uint32_t *row, const uint32_t *coded, uint32_t n)
{
    uint32_t written = 0;

    for (uint32_t i = 0; i < n; i++)
        CHECK(coded[i] < s->len && (i == 0 || coded[i - 1] < coded[i]));
    for (uint64_t base = 0; base < s->rows; base += s->len) {
        for (uint32_t i = 0; i < n && base + coded[i] < s->rows; i++)
            row[written++] = (uint32_t)base + coded[i];
    }
    return written;
}

uint32_t segments_range(const struct segments *s, uint32_t *row, uint32_t first, uint32_t n)
{
    uint32_t written = 0;

    CHECK(first <= s->len && n <= s->len - first);
    for (uint64_t base = first; base < s->rows; base += s->len) {
        for (uint32_t i = 0; i < n && base + i < s->rows; i++, written++) {
            if (row != NULL)
                row[written] = (uint32_t)base + i;
        }
    }
    return written;
}
