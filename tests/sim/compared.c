/* compared.c -- counts of comparisons in memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/compared.h"

#include "common/base/check.h"

#include <string.h>

uint64_t compared_with(const struct compared *c, const uint8_t key[WIRE_KEY_BYTES])
{
    uint64_t count = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (memcmp(c->row[i].key, key, WIRE_KEY_BYTES) == 0)
            count += c->row[i].count;
    }
    return count;
}

static uint64_t count(void *owner, const uint8_t key[WIRE_KEY_BYTES])
{
    return compared_with(owner, key);
}

static void note_one(struct compared *c, const uint8_t *key, const uint8_t *list, bool equal)
{
    size_t i = 0;

    while (i < c->n && (memcmp(c->row[i].key, key, WIRE_KEY_BYTES) != 0 ||
                        memcmp(c->row[i].list, list, WIRE_DIGEST_BYTES) != 0))
        i++;
    if (equal && i < c->n)
        c->row[i] = c->row[--c->n];
    if (equal)
        return;
    CHECK(i < COMPARED_ROWS_MAX);
    if (i == c->n) {
        memcpy(c->row[i].key, key, WIRE_KEY_BYTES);
        memcpy(c->row[i].list, list, WIRE_DIGEST_BYTES);
        c->row[c->n++].count = 0;
    }
    c->row[i].count++;
}

static enum status note(void *owner, const uint8_t *const *keys, size_t n,
                        const uint8_t list[WIRE_DIGEST_BYTES], bool equal, struct error *err)
{
    struct compared *c = owner;

    if (c->full)
        return error_set(err, STATUS_IO, "no room on this disk");
    for (size_t i = 0; i < n; i++)
        note_one(c, keys[i], list, equal);
    return STATUS_OK;
}

struct ids_counts compared_counts(struct compared *c)
{
    return (struct ids_counts){c, count, note};
}
