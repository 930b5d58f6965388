/* order.c -- sorting ids, then moving the rows of a table in place along the cycles of the
 * permutation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/order.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

enum { KEY_TEXT = 7 }; /* bytes of text in a key, below the length */

int order_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return memcmp(a, b, a_len);
}

struct order_item order_item(const char *text, uint32_t at, uint32_t row)
{
    size_t n = strlen(text + at);
    uint64_t key = n;

    CHECK(n < 256);
    for (size_t i = 0; i < KEY_TEXT; i++)
        key = key << 8 | (i < n ? (uint8_t)text[at + i] : 0);
    return (struct order_item){.key = key, .at = at, .row = row};
}

static int compare_texts(const struct order_item *a, const struct order_item *b, const char *text)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->key >> (8 * KEY_TEXT) <= KEY_TEXT)
        return 0;
    return strcmp(text + a->at + KEY_TEXT, text + b->at + KEY_TEXT);
}

static int compare_items(const struct order_item *a, const struct order_item *b, const char *text)
{
    int way = compare_texts(a, b, text);

    if (way != 0)
        return way;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Lets items[at] sink below its larger children until the heap of n items is whole again. */
static void sink(struct order_item *items, size_t at, size_t n, const char *text)
{
    struct order_item moving = items[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= n)
            break;
        if (child + 1 < n && compare_items(&items[child], &items[child + 1], text) < 0)
            child++;
        if (compare_items(&moving, &items[child], text) >= 0)
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = moving;
}

void order_sort(struct order_item *items, size_t n, const char *text)
{
    for (size_t i = n / 2; i > 0; i--)
        sink(items, i - 1, n, text);
    for (size_t i = n; i > 1; i--) {
        struct order_item largest = items[0];

        items[0] = items[i - 1];
        items[i - 1] = largest;
        sink(items, 0, i - 1, text);
    }
}

size_t order_repeated(const struct order_item *items, size_t n, const char *text)
{
    for (size_t i = 0; i + 1 < n; i++) {
        if (compare_texts(&items[i], &items[i + 1], text) == 0)
            return i;
    }
    return n;
}

/* Row i becomes the old row items[i].row.  A row that is in place is
 * marked by pointing at itself. */
static void move_rows(struct table *t, struct order_item *items, float *spare)
{
    size_t bytes = t->cols * sizeof *t->x;

    for (size_t first = 0; first < t->rows; first++) {
        size_t to = first, from = items[first].row;

        if (from == first)
            continue;
        memcpy(spare, t->x + first * t->cols, bytes);
        while (from != first) {
            memcpy(t->x + to * t->cols, t->x + from * t->cols, bytes);
            items[to].row = (uint32_t)to;
            to = from;
            from = items[to].row;
        }
        memcpy(t->x + to * t->cols, spare, bytes);
        items[to].row = (uint32_t)to;
    }
}

/* The ids into `text`, in the order of items, so that all of them in order are one run of bytes. */
static void move_ids(struct table *t, const struct order_item *items, char *text)
{
    size_t at = 0;

    for (size_t i = 0; i < t->rows; i++) {
        size_t n = strlen(t->id_text + items[i].at) + 1;

        memcpy(text + at, t->id_text + items[i].at, n);
        t->id_at[i] = (uint32_t)at;
        at += n;
    }
    mem_free(t->id_text);
    t->id_text = text;
}

/* The texts of own ids stay where they are. */
static enum status move_own(struct table *t, const struct order_item *items)
{
    uint32_t *at;

    if (!t->own.any)
        return STATUS_OK;
    at = mem_alloc(t->rows, sizeof *at);
    for (size_t i = 0; at != NULL && i < t->rows; i++)
        at[i] = t->own.at[items[i].row];
    if (at == NULL)
        return STATUS_MEMORY;
    mem_free(t->own.at);
    t->own.at = at;
    return STATUS_OK;
}

enum status order_own(struct table *t, uint32_t twice[2])
{
    struct order_item *items = mem_alloc(t->rows, sizeof *items);
    size_t repeated;

    mem_free(t->own.order);
    t->own.order = mem_alloc(t->rows, sizeof *t->own.order);
    if (items == NULL || t->own.order == NULL) {
        mem_free(items);
        return STATUS_MEMORY;
    }
    for (size_t i = 0; i < t->rows; i++)
        items[i] = order_item(t->own.text, t->own.at[i], (uint32_t)i);
    order_sort(items, t->rows, t->own.text);
    repeated = order_repeated(items, t->rows, t->own.text);
    for (size_t i = 0; i < t->rows; i++)
        t->own.order[i] = items[i].row;
    mem_free(items);
    if (repeated == t->rows)
        return STATUS_OK;
    twice[0] = t->own.order[repeated];
    twice[1] = t->own.order[repeated + 1];
    return STATUS_DATA;
}

enum status order_table(struct table *t, uint32_t twice[2])
{
    struct order_item *items = mem_alloc(t->rows, sizeof *items);
    char *text = mem_alloc(table_ids_bytes(t), 1);
    float *spare = mem_alloc(t->cols, sizeof *spare);
    enum status s = STATUS_MEMORY;
    size_t repeated;

    if (items == NULL || text == NULL || spare == NULL)
        goto out;
    for (size_t i = 0; i < t->rows; i++)
        items[i] = order_item(t->id_text, t->id_at[i], (uint32_t)i);
    order_sort(items, t->rows, t->id_text);
    repeated = order_repeated(items, t->rows, t->id_text);
    if (repeated < t->rows) {
        twice[0] = items[repeated].row;
        twice[1] = items[repeated + 1].row;
        s = STATUS_DATA;
        goto out;
    }
    s = move_own(t, items);
    if (s != STATUS_OK)
        goto out;
    move_ids(t, items, text);
    text = NULL;
    move_rows(t, items, spare);
    s = STATUS_OK;
out:
    mem_free(items);
    mem_free(text);
    mem_free(spare);
    return s;
}
