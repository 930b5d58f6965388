/* segments.h -- which rows stand together in one coded row: FedVS cuts N rows in K segments.
 *
 * N rows are K segments of len = ceil(N / K).  Coded row r < len stands for rows r, len + r,
 * 2 len + r, ...; places not below N are padding, rows of zeros that no loss and no score counts.
 * (FedVS, Li, Yao, Liu 2023, section 4.1: X cut in K blocks of equal height, padded with zeros.)
 *
 * The rows of n coded rows in ascending order are written segment by segment, n places each.  Coded
 * rows ascend and only the last segments end early, so the real rows are exactly the first of the
 * K n places and all padding is behind them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SEGMENTS_H
#define COLONNADE_DATA_SEGMENTS_H

#include <stdint.h>

struct segments {
    uint32_t rows, k, len; /* N, K, ceil(N / K) */
};

/* k at least 1.  N = 0 has no coded rows. */
void segments_init(struct segments *s, uint32_t rows, uint32_t k);

/* The real rows of coded[0 .. n-1], strictly ascending and below len (CHECK), segment by segment.
 * `row` has room for n k.  Returns how many there are. */
uint32_t segments_rows(const struct segments *s, uint32_t *row, const uint32_t *coded, uint32_t n);

/* The same of coded rows first .. first + n, within len (CHECK); row NULL: only how many. */
uint32_t segments_range(const struct segments *s, uint32_t *row, uint32_t first, uint32_t n);

#endif
