/* idmap.c -- open addressing, linear probing, at most half full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/idmap.h"

#include "common/base/mem.h"
#include "common/crypto/rng.h"

#include <string.h>

enum { ROOM_FIRST = 64 };

struct idmap_slot {
    const char *id;
    size_t n;
    void *value; /* NULL: free */
};

/* Clients choose the ids: under a key of this table none of them finds many for one place. */
static size_t place_of(const struct idmap *m, const char *id, size_t n)
{
    return (size_t)siphash_of(m->key, id, n) & (m->room - 1);
}

/* Where it is, or would be. */
static struct idmap_slot *find(const struct idmap *m, const char *id, size_t n)
{
    size_t at = place_of(m, id, n);

    while (m->slot[at].value != NULL && (m->slot[at].n != n || memcmp(m->slot[at].id, id, n) != 0))
        at = (at + 1) & (m->room - 1);
    return &m->slot[at];
}

static enum status draw_key(struct idmap *m)
{
    struct rng rng;
    enum status s = rng_init_system(&rng);

    if (s != STATUS_OK)
        return s;
    rng_fill(&rng, m->key, sizeof m->key);
    rng_deinit(&rng);
    return STATUS_OK;
}

static enum status grow(struct idmap *m)
{
    struct idmap larger = {.n = m->n, .room = m->room == 0 ? ROOM_FIRST : 2 * m->room};

    if (m->room == 0 && draw_key(m) != STATUS_OK)
        return STATUS_CRYPTO;
    memcpy(larger.key, m->key, sizeof larger.key);
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
