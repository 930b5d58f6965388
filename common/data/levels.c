/* levels.c -- an open table over texts that lie one behind the other.
 *
 * The hash only spreads; whoever fills a column on purpose with texts that fall on one another
 * makes their own reading slow, and LEVELS_MAX bounds by how much.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/levels.h"

#include "common/base/mem.h"
#include "common/data/text.h"

#include <string.h>

enum { BUCKETS_FIRST = 64 };

/* FNV-1a, 64 bits. */
static uint64_t spread(const char *text, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

const char *levels_text(const struct levels *l, uint32_t number)
{
    return (const char *)l->text.data + l->level[number].at;
}

/* The bucket that holds the text, or the empty one where it would be. */
static uint32_t *find(const struct levels *l, const char *text, size_t n)
{
    uint32_t at = (uint32_t)spread(text, n) & (l->buckets - 1);

    for (;; at = (at + 1) & (l->buckets - 1)) {
        uint32_t *b = &l->bucket[at];
        const char *there = *b == 0 ? NULL : levels_text(l, *b - 1);

        if (there == NULL || (strncmp(there, text, n) == 0 && there[n] == 0))
            return b;
    }
}

/* At most half of the buckets are ever full. */
static enum status grow(struct levels *l)
{
    const uint32_t buckets = l->buckets == 0 ? BUCKETS_FIRST : 2 * l->buckets;
    uint32_t *fresh = mem_alloc(buckets, sizeof *fresh);

    if (fresh == NULL)
        return STATUS_MEMORY;
    mem_free(l->bucket);
    l->bucket = fresh;
    l->buckets = buckets;
    for (uint32_t i = 0; i < l->n; i++)
        *find(l, levels_text(l, i), strlen(levels_text(l, i))) = i + 1;
    return STATUS_OK;
}

static enum status add_new(struct levels *l, const char *text, size_t n, uint32_t *number)
{
    struct level *level;
    enum status s = STATUS_OK;

    if (l->n == LEVELS_MAX)
        return STATUS_LIMIT;
    if (!text_is_name(text, n, LEVELS_TEXT_MAX))
        return STATUS_DATA;
    if (2 * (l->n + 1) > l->buckets)
        s = grow(l);
    if (s != STATUS_OK)
        return s;
    level = mem_room(l->level, &l->room, l->n + (size_t)1, sizeof *level);
    if (level == NULL)
        return STATUS_MEMORY;
    l->level = level;
    if (l->text.max == 0)
        buf_init(&l->text, (size_t)LEVELS_MAX * (LEVELS_TEXT_MAX + 1));
    level[l->n] = (struct level){.at = (uint32_t)l->text.len, .count = 1};
    s = buf_append(&l->text, text, n);
    if (s == STATUS_OK)
        s = buf_append(&l->text, "", 1);
    if (s != STATUS_OK)
        return s;
    *find(l, text, n) = l->n + 1;
    *number = l->n++;
    return STATUS_OK;
}

enum status levels_add(struct levels *l, const char *text, size_t n, uint32_t *number)
{
    *number = levels_find(l, text, n);
    if (*number == LEVELS_NONE)
        return add_new(l, text, n, number);
    l->level[*number].count += l->level[*number].count != UINT32_MAX;
    return STATUS_OK;
}

uint32_t levels_find(const struct levels *l, const char *text, size_t n)
{
    const uint32_t *b;

    if (l->buckets == 0 || memchr(text, 0, n) != NULL)
        return LEVELS_NONE;
    b = find(l, text, n);
    return *b == 0 ? LEVELS_NONE : *b - 1;
}

void levels_deinit(struct levels *l)
{
    mem_free(l->level);
    mem_free(l->bucket);
    buf_deinit(&l->text);
    *l = (struct levels){0};
}
