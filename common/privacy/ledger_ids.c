/* ledger_ids.c -- digests by slot, and a table to find them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_ids.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

enum { PLACES_MIN = 64 };

void ledger_ids_deinit(struct ledger_ids *ids)
{
    digest_mac_deinit(&ids->mac);
    mem_free(ids->digest);
    mem_free(ids->place);
    *ids = (struct ledger_ids){0};
}

enum status ledger_ids_digest(struct digest_mac *mac, const char *id, uint8_t out[LEDGER_ID_BYTES])
{
    uint8_t whole[DIGEST_BYTES];
    enum status s = digest_mac_of(mac, whole, id, strlen(id));

    memcpy(out, whole, LEDGER_ID_BYTES);
    return s;
}

static const uint8_t *digest_of(const struct ledger_ids *ids, size_t slot)
{
    return ids->digest + slot * LEDGER_ID_BYTES;
}

/* Where a digest is, or the free place that it would take. */
static size_t look_up(const struct ledger_ids *ids, const uint8_t *digest)
{
    uint64_t first;
    size_t at;

    memcpy(&first, digest, sizeof first);
    at = (size_t)first & (ids->places - 1);
    while (ids->place[at] != 0 &&
           memcmp(digest_of(ids, ids->place[at] - 1), digest, LEDGER_ID_BYTES) != 0)
        at = (at + 1) & (ids->places - 1);
    return at;
}

uint32_t ledger_ids_find(const struct ledger_ids *ids, const uint8_t digest[LEDGER_ID_BYTES])
{
    uint32_t found = ids->places == 0 ? 0 : ids->place[look_up(ids, digest)];

    return found == 0 ? UINT32_MAX : found - 1;
}

static void fill_places(struct ledger_ids *ids)
{
    memset(ids->place, 0, ids->places * sizeof *ids->place);
    for (size_t i = 0; i < ids->n; i++)
        ids->place[look_up(ids, digest_of(ids, i))] = (uint32_t)i + 1;
}

/* Room for one more, in both. */
static enum status grow_by_one(struct ledger_ids *ids)
{
    uint8_t *room = mem_room(ids->digest, &ids->max, ids->n + 1, LEDGER_ID_BYTES);

    if (room == NULL)
        return STATUS_MEMORY;
    ids->digest = room;
    if (ids->n + 1 > ids->places / 4 * 3) {
        size_t more = ids->places == 0 ? PLACES_MIN : 2 * ids->places;
        uint32_t *place = mem_alloc(more, sizeof *place);

        if (place == NULL)
            return STATUS_MEMORY;
        mem_free(ids->place);
        ids->place = place;
        ids->places = more;
        fill_places(ids);
    }
    return STATUS_OK;
}

enum status ledger_ids_add(struct ledger_ids *ids, const uint8_t digest[LEDGER_ID_BYTES])
{
    enum status s;
    size_t at;

    if (ids->n >= LEDGER_SLOTS_MAX)
        return STATUS_LIMIT;
    s = grow_by_one(ids);
    if (s != STATUS_OK)
        return s;
    at = look_up(ids, digest);
    CHECK(ids->place[at] == 0);
    memcpy(ids->digest + ids->n * LEDGER_ID_BYTES, digest, LEDGER_ID_BYTES);
    ids->n++;
    ids->place[at] = (uint32_t)ids->n;
    return STATUS_OK;
}

void ledger_ids_cut(struct ledger_ids *ids, size_t n)
{
    if (n >= ids->n)
        return;
    ids->n = n;
    fill_places(ids);
}
