/* match.c -- sorted lists side by side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/match.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct align_match {
    struct align_course course;
    uint8_t *list[ALIGN_MEMBERS_MAX];    /* by owner */
    uint32_t *sorted[ALIGN_MEMBERS_MAX]; /* entries in the order of their points */
    uint32_t *place[ALIGN_MEMBERS_MAX];
    uint32_t *first; /* by place: the entry of list 0 */
    uint32_t common;
};

void align_match_put(struct align_match *m, const struct align_at *at, uint32_t k,
                     const uint8_t *points)
{
    const uint32_t i = align_list(&m->course, at, k);
    uint32_t from;
    const uint32_t n = align_range(&m->course, m->course.size[i], at->chunk, &from);

    if (n > 0)
        memcpy(m->list[i] + (size_t)from * ALIGN_POINT_BYTES, points,
               (size_t)n * ALIGN_POINT_BYTES);
}

const uint8_t *align_match_list(const struct align_match *m, uint32_t i)
{
    return m->list[i];
}

/* --- comparing --- */

static const uint8_t *point(const struct align_match *m, uint32_t i, uint32_t entry)
{
    return m->list[i] + (size_t)entry * ALIGN_POINT_BYTES;
}

static int by_point(const void *a, const void *b, void *list)
{
    const uint8_t *points = list;

    return memcmp(points + (size_t) * (const uint32_t *)a * ALIGN_POINT_BYTES,
                  points + (size_t) * (const uint32_t *)b * ALIGN_POINT_BYTES, ALIGN_POINT_BYTES);
}

static bool sort(struct align_match *m, uint32_t i)
{
    const uint32_t n = m->course.size[i];
    uint32_t *s = m->sorted[i];

    for (uint32_t e = 0; e < n; e++) {
        s[e] = e;
        m->place[i][e] = ALIGN_NOWHERE;
    }
    qsort_r(s, n, sizeof *s, by_point, m->list[i]);
    for (uint32_t e = 1; e < n; e++) {
        if (memcmp(point(m, i, s[e]), point(m, i, s[e - 1]), ALIGN_POINT_BYTES) == 0)
            return false;
    }
    return true;
}

/* Is p in all lists?  at: how far each has been looked through, from the least point on. */
static bool in_all(const struct align_match *m, const uint8_t *p, uint32_t *at)
{
    bool all = true;

    for (uint32_t i = 1; i < m->course.members && all; i++) {
        int order = -1;

        while (at[i] < m->course.size[i] &&
               (order = memcmp(point(m, i, m->sorted[i][at[i]]), p, ALIGN_POINT_BYTES)) < 0)
            at[i]++;
        all = order == 0;
    }
    return all;
}

enum status align_match_compare(struct align_match *m, uint32_t *whose)
{
    uint32_t at[ALIGN_MEMBERS_MAX] = {0};

    for (uint32_t i = 0; i < m->course.members; i++) {
        *whose = i;
        if (!sort(m, i))
            return STATUS_PROTOCOL;
    }
    m->common = 0;
    for (at[0] = 0; at[0] < m->course.size[0]; at[0]++) {
        if (!in_all(m, point(m, 0, m->sorted[0][at[0]]), at))
            continue;
        for (uint32_t i = 0; i < m->course.members; i++)
            m->place[i][m->sorted[i][at[i]]] = m->common;
        m->first[m->common++] = m->sorted[0][at[0]];
    }
    return STATUS_OK;
}

/* --- what is told --- */

uint32_t align_match_common(const struct align_match *m)
{
    return m->common;
}

void align_match_none(struct align_match *m)
{
    m->common = 0;
    for (uint32_t i = 0; i < m->course.members; i++) {
        for (uint32_t e = 0; e < m->course.size[i]; e++)
            m->place[i][e] = ALIGN_NOWHERE;
    }
}

size_t align_match_tell(const struct align_match *m, uint32_t chunk, uint8_t *out)
{
    uint32_t from;
    const uint32_t n = align_range(&m->course, m->common, chunk, &from);

    for (uint32_t e = 0; e < n; e++)
        memcpy(out + (size_t)e * ALIGN_PREFIX_BYTES, point(m, 0, m->first[from + e]),
               ALIGN_PREFIX_BYTES);
    return (size_t)n * ALIGN_PREFIX_BYTES;
}

size_t align_match_places(const struct align_match *m, uint32_t i, uint32_t chunk, uint8_t *out)
{
    uint32_t from;
    const uint32_t n = align_range(&m->course, m->course.size[i], chunk, &from);

    for (uint32_t e = 0; e < n; e++)
        le_put(out + (size_t)e * ALIGN_PLACE_BYTES, m->place[i][from + e], ALIGN_PLACE_BYTES);
    return (size_t)n * ALIGN_PLACE_BYTES;
}

/* --- life --- */

enum status align_match_new(struct align_match **out, const struct align_course *course)
{
    struct align_match *m = mem_alloc(1, sizeof *m);
    bool all = m != NULL;

    if (m == NULL)
        return STATUS_MEMORY;
    m->course = *course;
    for (uint32_t i = 0; i < course->members; i++) {
        m->list[i] = mem_alloc(course->size[i], ALIGN_POINT_BYTES);
        m->sorted[i] = mem_alloc(course->size[i], sizeof(uint32_t));
        m->place[i] = mem_alloc(course->size[i], sizeof(uint32_t));
        all = all && m->list[i] != NULL && m->sorted[i] != NULL && m->place[i] != NULL;
    }
    m->first = mem_alloc(course->size[0], sizeof *m->first);
    if (!all || m->first == NULL) {
        align_match_free(m);
        return STATUS_MEMORY;
    }
    *out = m;
    return STATUS_OK;
}

void align_match_free(struct align_match *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->course.members; i++) {
        mem_free(m->list[i]);
        mem_free(m->sorted[i]);
        mem_free(m->place[i]);
    }
    mem_free(m->first);
    mem_free(m);
}
