/* ledger_history.c -- tallies of entries.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_history.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <stdbool.h>
#include <string.h>

enum status ledger_history_init(struct ledger_history *h)
{
    const struct ledger_work unknown = {.plan = {0}};

    *h = (struct ledger_history){0};
    return ledger_history_add(h, &unknown);
}

void ledger_history_deinit(struct ledger_history *h)
{
    mem_free(h->work);
    mem_free(h->tally);
    *h = (struct ledger_history){0};
}

enum status ledger_history_copy(struct ledger_history *to, const struct ledger_history *h)
{
    *to = *h;
    to->work = mem_alloc(h->works_max, sizeof *to->work);
    to->tally = mem_alloc(h->tallies_max, sizeof *to->tally);
    if (to->work == NULL || to->tally == NULL) {
        ledger_history_deinit(to);
        return STATUS_MEMORY;
    }
    memcpy(to->work, h->work, h->works * sizeof *to->work);
    if (h->tallies > 0)
        memcpy(to->tally, h->tally, h->tallies * sizeof *to->tally);
    return STATUS_OK;
}

uint32_t ledger_history_find(const struct ledger_history *h, const struct ledger_work *w)
{
    for (size_t i = h->works; i > 1; i--) { /* mostly the last one; 0 is nobody's */
        if (memcmp(&h->work[i - 1], w, sizeof *w) == 0)
            return (uint32_t)i - 1;
    }
    return UINT32_MAX;
}

enum status ledger_history_reserve(struct ledger_history *h)
{
    struct ledger_tally *room = mem_room(h->tally, &h->tallies_max, h->tallies + 1, sizeof *room);

    if (room == NULL)
        return STATUS_MEMORY;
    h->tally = room;
    return STATUS_OK;
}

enum status ledger_history_add(struct ledger_history *h, const struct ledger_work *w)
{
    struct ledger_work *room = mem_room(h->work, &h->works_max, h->works + 1, sizeof *room);

    if (room == NULL)
        return STATUS_MEMORY;
    h->work = room;
    CHECK(h->works < UINT32_MAX - 1);
    h->work[h->works++] = *w;
    return ledger_history_reserve(h);
}

static void merge_tallies(struct ledger_tally *into, const struct ledger_tally *more)
{
    into->entries += more->entries;
    into->rounds += more->rounds;
    into->releases += more->releases;
    if (more->first_s != 0 && (into->first_s == 0 || more->first_s < into->first_s))
        into->first_s = more->first_s;
    if (more->last_s > into->last_s)
        into->last_s = more->last_s;
}

static struct ledger_tally *find_tally(struct ledger_history *h, uint32_t work,
                                       enum ledger_purpose purpose, size_t n)
{
    for (size_t i = n; i > 0; i--) {
        if (h->tally[i - 1].work == work && h->tally[i - 1].purpose == purpose)
            return &h->tally[i - 1];
    }
    return NULL;
}

void ledger_history_enter(struct ledger_history *h, const struct ledger_tally *more)
{
    struct ledger_tally *t = find_tally(h, more->work, more->purpose, h->tallies);

    if (t != NULL) {
        merge_tallies(t, more);
        return;
    }
    CHECK(h->tallies < h->tallies_max && more->work < h->works);
    h->tally[h->tallies++] = *more;
}

/* Works in the order of their tallies, those without one left out. */
static void renumber(struct ledger_history *h)
{
    size_t kept = 1;

    for (size_t w = 1; w < h->works; w++) {
        bool used = false;

        for (size_t i = 0; i < h->tallies; i++) {
            if (h->tally[i].work == w) {
                h->tally[i].work = (uint32_t)kept; /* kept <= w: met by no later w */
                used = true;
            }
        }
        if (used)
            h->work[kept++] = h->work[w];
    }
    h->works = kept;
}

void ledger_history_shorten(struct ledger_history *h)
{
    size_t old = h->tallies > LEDGER_TALLIES_MAX ? h->tallies / 2 : 0, kept = 0;

    for (size_t i = 0; i < h->tallies; i++) {
        struct ledger_tally t = h->tally[i], *known = NULL;

        if (i < old) {
            t.work = 0;
            known = find_tally(h, 0, t.purpose, kept);
        }
        if (known != NULL)
            merge_tallies(known, &t);
        else
            h->tally[kept++] = t;
    }
    h->tallies = kept;
    renumber(h);
}
