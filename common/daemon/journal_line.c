/* journal_line.c -- a list that grows at its end and is cut at both.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/journal_line.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

enum { FIRST_STEPS = 1024 };

void journal_line_deinit(struct journal_line *l)
{
    mem_free(l->steps);
    *l = (struct journal_line){0};
}

uint64_t journal_line_next(const struct journal_line *l)
{
    return l->first + l->n;
}

const struct journal_step *journal_line_at(const struct journal_line *l, uint64_t step)
{
    return step >= l->first && step - l->first < l->n ? &l->steps[step - l->first] : NULL;
}

bool journal_line_trail(const struct journal_line *l, uint64_t steps_applied,
                        uint8_t trail[JOURNAL_TRAIL_BYTES])
{
    const struct journal_step *last =
        steps_applied > 0 ? journal_line_at(l, steps_applied - 1) : NULL;

    if (last != NULL)
        memcpy(trail, last->trail, JOURNAL_TRAIL_BYTES);
    else if (steps_applied == l->first && l->trail_known)
        memcpy(trail, l->trail, JOURNAL_TRAIL_BYTES);
    else
        return false;
    return true;
}

enum status journal_line_room(struct journal_line *l)
{
    const size_t cap = l->cap == 0 ? FIRST_STEPS : 2 * l->cap, size = sizeof *l->steps;
    struct journal_step *grown;

    if (l->n < l->cap)
        return STATUS_OK;
    grown = mem_grow(l->steps, l->cap * size, cap * size);
    if (grown == NULL)
        return STATUS_MEMORY;
    l->steps = grown;
    l->cap = cap;
    return STATUS_OK;
}

void journal_line_add(struct journal_line *l, uint64_t step, const struct journal_step *s)
{
    CHECK(step <= journal_line_next(l) && l->n < l->cap);
    if (step < l->first) {
        l->first = step;
        l->trail_known = false;
    }
    l->n = (size_t)(step - l->first);
    l->steps[l->n++] = *s;
}

void journal_line_forget(struct journal_line *l, uint64_t segment)
{
    size_t gone = 0;

    while (gone < l->n && l->steps[gone].segment <= segment)
        gone++;
    if (gone == 0)
        return;
    l->trail_known = true;
    memcpy(l->trail, l->steps[gone - 1].trail, sizeof l->trail);
    l->first += gone;
    l->n -= gone;
    memmove(l->steps, l->steps + gone, l->n * sizeof *l->steps);
}
