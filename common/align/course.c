/* course.c -- steps, stages and the ring.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/course.h"

#include "common/base/check.h"

#include <string.h>

/* 0: a list is empty, or too long. */
static uint32_t longest(uint32_t members, const uint32_t *size)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < members; i++) {
        if (size[i] < 1 || size[i] > ALIGN_IDS_MAX)
            return 0;
        most = size[i] > most ? size[i] : most;
    }
    return most;
}

bool align_course_fits(uint32_t members, const uint32_t *size, uint32_t chunk)
{
    uint32_t most = 0;

    if (members < 2 || members > ALIGN_MEMBERS_MAX || chunk < 1 || chunk > ALIGN_CHUNK)
        return false;
    most = longest(members, size);
    return most > 0 && ((uint64_t)most + chunk - 1) / chunk * (2 * members + 2) <= ALIGN_STEPS_MAX;
}

void align_course_init(struct align_course *c, uint32_t members, const uint32_t *size,
                       uint32_t chunk, bool labelled)
{
    CHECK(align_course_fits(members, size, chunk));
    *c = (struct align_course){.members = members, .chunk = chunk, .labelled = labelled};
    memcpy(c->size, size, members * sizeof *size);
    c->chunks = (longest(members, size) + chunk - 1) / chunk;
}

uint32_t align_steps(const struct align_course *c)
{
    return (c->labelled ? c->members + 3 : 2 * c->members + 2) * c->chunks;
}

struct align_at align_at(const struct align_course *c, uint32_t step)
{
    const uint32_t stage = step / c->chunks, chunk = step % c->chunks, n = c->members;
    struct align_at at = {
        .chunk = chunk, .first = chunk == 0, .last = chunk == c->chunks - 1, .stage = 0};

    if (stage < n) {
        at.part = ALIGN_RAISE;
        at.stage = stage;
    } else if (stage == n && c->labelled) {
        at.part = ALIGN_HOME;
        at.stage = n;
    } else if (stage == n) {
        at.part = ALIGN_COLLECT;
    } else if (stage == n + 1) {
        at.part = ALIGN_TELL;
    } else if (stage == n + 2 && c->labelled) {
        at.part = ALIGN_AGREE;
    } else if (stage < 2 * n + 2 && !c->labelled) {
        at.part = ALIGN_RETURN;
        at.stage = stage - n - 2;
    } else {
        at.part = ALIGN_OVER;
    }
    return at;
}

/* Lists go forward around the ring in these, and backward in RETURN. */
static bool goes_forward(const struct align_at *at)
{
    return at->part == ALIGN_RAISE || at->part == ALIGN_HOME;
}

uint32_t align_list(const struct align_course *c, const struct align_at *at, uint32_t k)
{
    const uint32_t n = c->members;

    if (goes_forward(at))
        return (k + n - at->stage) % n;
    return (k + 1 + at->stage) % n; /* in COLLECT stage is 0 */
}

uint32_t align_receiver(const struct align_course *c, const struct align_at *at, uint32_t k)
{
    if (goes_forward(at))
        return (k + 1) % c->members;
    return at->part == ALIGN_COLLECT ? 0 : (k + c->members - 1) % c->members;
}

uint32_t align_sender(const struct align_course *c, const struct align_at *at, uint32_t k)
{
    CHECK(goes_forward(at) || at->part == ALIGN_RETURN);
    return goes_forward(at) ? (k + c->members - 1) % c->members : (k + 1) % c->members;
}

bool align_hands(const struct align_at *at)
{
    return at->part == ALIGN_COLLECT ||
           ((goes_forward(at) || at->part == ALIGN_RETURN) && at->stage > 0);
}

bool align_shows_tallies(const struct align_course *c, const struct align_at *at, uint32_t *stage)
{
    *stage = at->part == ALIGN_COLLECT ? c->members - 1 : at->stage - 1;
    return at->first && (at->part == ALIGN_COLLECT || (goes_forward(at) && at->stage > 0));
}

bool align_shows_words(const struct align_at *at)
{
    return at->first && (at->part == ALIGN_AGREE || (at->part == ALIGN_RETURN && at->stage == 0));
}

uint32_t align_range(const struct align_course *c, uint32_t size, uint32_t chunk, uint32_t *from)
{
    const uint64_t at = (uint64_t)chunk * c->chunk;

    *from = at < size ? (uint32_t)at : size;
    return size - *from < c->chunk ? size - *from : c->chunk;
}

size_t align_entry_bytes(enum align_part part)
{
    switch (part) {
    case ALIGN_RAISE:
    case ALIGN_HOME:
    case ALIGN_COLLECT: return ALIGN_POINT_BYTES;
    case ALIGN_TELL: return ALIGN_PREFIX_BYTES;
    case ALIGN_RETURN: return ALIGN_PLACE_BYTES;
    case ALIGN_AGREE:
    case ALIGN_OVER: break;
    }
    return 0;
}

bool align_left(uint32_t members, uint32_t *size, uint32_t common, uint32_t least)
{
    bool all = true;

    for (uint32_t i = 0; i < members; i++) {
        CHECK(size[i] >= common);
        size[i] -= common;
        all = all && size[i] >= 1 && size[i] >= least;
    }
    return all;
}
