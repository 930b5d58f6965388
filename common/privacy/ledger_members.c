/* ledger_members.c -- slots beside a table of digests.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_members.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"

#include <string.h>

void ledger_members_deinit(struct ledger_members *m)
{
    ledger_ids_deinit(&m->row);
    mem_free(m->slot);
    mem_free(m->held);
    *m = (struct ledger_members){0};
}

uint32_t ledger_members_find(const struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES])
{
    const uint32_t i = ledger_ids_find(&m->row, row);

    return i == UINT32_MAX ? UINT32_MAX : m->slot[i];
}

enum status ledger_members_put(struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES],
                               uint32_t slot)
{
    const uint32_t i = ledger_ids_find(&m->row, row);
    uint32_t *room;

    if (i != UINT32_MAX) {
        m->slot[i] = slot;
        return STATUS_OK;
    }
    room = mem_room(m->slot, &m->slot_max, m->row.n + 1, sizeof *room);
    if (room == NULL)
        return STATUS_MEMORY;
    m->slot = room;
    room = mem_room(m->held, &m->held_max, m->row.n + 1, sizeof *room);
    if (room == NULL)
        return STATUS_MEMORY;
    m->held = room;
    m->slot[m->row.n] = slot;
    m->held[m->row.n] = 0;
    return ledger_ids_add(&m->row, row);
}

void ledger_members_hold(struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES])
{
    const uint32_t i = ledger_ids_find(&m->row, row);

    CHECK(i != UINT32_MAX);
    if (m->held[i] == 0)
        m->held[i] = m->turn;
}

bool ledger_members_held(const struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES])
{
    const uint32_t i = ledger_ids_find(&m->row, row);

    return i != UINT32_MAX && m->held[i] > 0;
}

void ledger_members_let_go(struct ledger_members *m, uint32_t turn)
{
    for (size_t i = 0; i < m->row.n; i++) {
        if (m->held[i] > turn)
            m->held[i] = 0;
    }
}

void ledger_members_cut(struct ledger_members *m, size_t n)
{
    ledger_ids_cut(&m->row, n);
    ledger_members_let_go(m, m->turn - 1);
}

uint8_t *ledger_members_print(const struct ledger_members *m, size_t i, uint8_t *to)
{
    memcpy(to, m->row.digest + i * LEDGER_ID_BYTES, LEDGER_ID_BYTES);
    return le_put(to + LEDGER_ID_BYTES, m->slot[i], 4);
}
