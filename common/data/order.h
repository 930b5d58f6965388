/* order.h -- the one order of ids: shorter first, then bytewise, which is the order of decimal
 * numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_ORDER_H
#define COLONNADE_DATA_ORDER_H

#include "common/base/status.h"
#include "common/data/table.h"

#include <stddef.h>
#include <stdint.h>

/* One text to sort: where it stands, whose it is, and its length and first bytes as a number, so
 * that most comparisons touch no text.  Texts are shorter than 256 bytes. */
struct order_item {
    uint64_t key;
    uint32_t at, row;
};

/* < 0, 0, > 0 as a stands before, equals, stands behind b. */
int order_compare(const char *a, size_t a_len, const char *b, size_t b_len);

struct order_item order_item(const char *text, uint32_t at, uint32_t row);
/* Heap sort: no scratch memory, n log n for any input.  Equal texts end up neighbours, lower row
 * first. */
void order_sort(struct order_item *items, size_t n, const char *text);
/* The first i with items[i] and items[i + 1] of one text; n when all differ. */
size_t order_repeated(const struct order_item *items, size_t n, const char *text);

/* Brings rows and ids of t, which may have none, into order.  When an id occurs twice: STATUS_DATA,
 * and twice[] its first two rows. */
enum status order_table(struct table *t, uint32_t twice[2]) MUST_USE;
/* Makes t->own.order.  STATUS_DATA likewise. */
enum status order_own(struct table *t, uint32_t twice[2]) MUST_USE;

#endif
