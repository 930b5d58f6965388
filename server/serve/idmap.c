/* idmap.c -- open addressing, linear probing, at most half full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/idmap.h"

#include "common/base/mem.h"

#include <string.h>

enum { ROOM_FIRST = 64 };

struct idmap_slot {
    const char *id;
    size_t n;
    void *value; /* NULL: free */
};

/* Fowler, Noll and Vo's: who may ask has a token, and what waits or is kept is bounded. */
static size_t place_of(const struct idmap *m, const char *id, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)id[i]) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32) & (m->room - 1);
}

/* Where it is, or would be. */
static struct idmap_slot *find(const struct idmap *m, const char *id, size_t n)
{
    size_t at = place_of(m, id, n);

    while (m->slot[at].value != NULL && (m->slot[at].n != n || memcmp(m->slot[at].id, id, n) != 0))
        at = (at + 1) & (m->room - 1);
    return &m->slot[at];
}

static enum status grow(struct idmap *m)
{
    struct idmap larger = {.n = m->n, .room = m->room == 0 ? ROOM_FIRST : 2 * m->room};

    larger.slot = mem_alloc(larger.room, sizeof *larger.slot);
    if (larger.slot == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < m->room; i++)
        if (m->slot[i].value != NULL)
            *find(&larger, m->slot[i].id, m->slot[i].n) = m->slot[i];
    mem_free(m->slot);
    *m = larger;
    return STATUS_OK;
}

void idmap_deinit(struct idmap *m)
{
    mem_free(m->slot);
    *m = (struct idmap){0};
}

enum status idmap_put(struct idmap *m, const char *id, size_t n, void *value)
{
    const enum status s = 2 * (m->n + 1) > m->room ? grow(m) : STATUS_OK;

    if (s != STATUS_OK)
        return s;
    *find(m, id, n) = (struct idmap_slot){id, n, value};
    m->n++;
    return STATUS_OK;
}

void *idmap_get(const struct idmap *m, const char *id, size_t n)
{
    return m->room == 0 ? NULL : find(m, id, n)->value;
}

/* Those behind it that would not be found over the gap move up. */
void idmap_remove(struct idmap *m, const char *id, size_t n)
{
    struct idmap_slot *gap = m->room == 0 ? NULL : find(m, id, n);
    size_t at;

    if (gap == NULL || gap->value == NULL)
        return;
    m->n--;
    gap->value = NULL;
    for (at = (size_t)(gap - m->slot + 1) & (m->room - 1); m->slot[at].value != NULL;
         at = (at + 1) & (m->room - 1)) {
        const struct idmap_slot moved = m->slot[at];

        m->slot[at].value = NULL;
        *find(m, moved.id, moved.n) = moved;
    }
}
