/* compared.c -- counts of comparisons in memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/compared.h"

#include "common/base/check.h"
#include "tests/sim/world.h"

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

uint64_t compared_between(const struct sim *s, int who, int other)
{
    const struct compared *c = who == SIM_SERVER ? &s->disk.compared : &s->party[who].disk.compared;

    return compared_with(c,
                         other == SIM_SERVER ? s->roster.server.key : s->roster.party[other].key);
}

static uint64_t count(void *owner, const uint8_t key[WIRE_KEY_BYTES])
{
    return compared_with(owner, key);
}

static struct compared_row *find(struct compared *c, const uint8_t *key, const uint8_t *list)
{
    for (size_t i = 0; i < c->n; i++) {
        if (memcmp(c->row[i].key, key, WIRE_KEY_BYTES) == 0 &&
            memcmp(c->row[i].list, list, WIRE_DIGEST_BYTES) == 0)
            return &c->row[i];
    }
    return NULL;
}

static bool known(void *owner, const uint8_t key[WIRE_KEY_BYTES],
                  const uint8_t list[WIRE_DIGEST_BYTES], const uint8_t element[EQUALITY_BYTES])
{
    const struct compared_row *r = find(owner, key, list);

    return r != NULL && memcmp(r->element, element, EQUALITY_BYTES) == 0;
}

static void note_one(struct compared *c, const uint8_t *key, const uint8_t *element,
                     const uint8_t *list)
{
    struct compared_row *r = find(c, key, list);

    if (r == NULL) {
        CHECK(c->n < COMPARED_ROWS_MAX);
        r = &c->row[c->n++];
        *r = (struct compared_row){.count = 0};
        memcpy(r->key, key, WIRE_KEY_BYTES);
        memcpy(r->list, list, WIRE_DIGEST_BYTES);
    }
    if (memcmp(r->element, element, EQUALITY_BYTES) != 0)
        r->count++;
    memcpy(r->element, element, EQUALITY_BYTES);
}

static enum status note(void *owner, const uint8_t *const *keys, const uint8_t *const *elements,
                        size_t n, const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    struct compared *c = owner;

    if (c->full)
        return error_set(err, STATUS_IO, "no room on this disk");
    for (size_t i = 0; i < n; i++)
        note_one(c, keys[i], elements[i], list);
    return STATUS_OK;
}

static enum status equal(void *owner, const uint8_t *const *keys, size_t n,
                         const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    struct compared *c = owner;

    if (c->full)
        return error_set(err, STATUS_IO, "no room on this disk");
    for (size_t i = 0; i < n; i++) {
        struct compared_row *r = find(c, keys[i], list);

        if (r != NULL)
            r->count = 0;
    }
    return STATUS_OK;
}

void compared_init(struct compared *c, int who)
{
    c->secret[0] = (uint8_t)(who + 2);
}

struct ids_counts compared_counts(struct compared *c)
{
    return (struct ids_counts){c, c->secret, count, known, note, equal};
}
