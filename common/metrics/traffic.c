/* traffic.c -- the byte counters.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/traffic.h"

#include "common/base/check.h"
#include "common/base/mem.h"

enum { PLACES = TRAFFIC_DIRECTIONS * TRAFFIC_PHASES };

enum status traffic_init(struct traffic *t, uint32_t parties, const char *const *names,
                         uint32_t kinds)
{
    CHECK(parties > 0 && kinds > 0 && kinds <= TRAFFIC_KINDS_MAX);
    *t = (struct traffic){.parties = parties, .kinds = kinds, .names = names};
    t->cell = mem_alloc(parties, sizeof *t->cell * PLACES * kinds);
    t->tls = mem_alloc(parties, sizeof *t->tls * PLACES);
    if (t->cell != NULL && t->tls != NULL)
        return STATUS_OK;
    traffic_deinit(t);
    return STATUS_MEMORY;
}

void traffic_deinit(struct traffic *t)
{
    mem_free(t->cell);
    mem_free(t->tls);
    *t = (struct traffic){0};
}

static size_t place(const struct traffic *t, uint32_t party, enum traffic_direction d,
                    enum traffic_phase p)
{
    CHECK(party < t->parties && d < TRAFFIC_DIRECTIONS && p < TRAFFIC_PHASES);
    return ((size_t)party * TRAFFIC_DIRECTIONS + d) * TRAFFIC_PHASES + p;
}

void traffic_add(struct traffic *t, struct traffic_at at, uint64_t payload, uint64_t frame)
{
    struct traffic_cell *c;

    CHECK(at.kind < t->kinds && payload <= frame);
    c = &t->cell[place(t, at.party, at.direction, at.phase) * t->kinds + at.kind];
    c->count++;
    c->payload += payload;
    c->frame += frame;
}

void traffic_add_tls(struct traffic *t, struct traffic_at at, uint64_t bytes)
{
    t->tls[place(t, at.party, at.direction, at.phase)] += bytes;
}

static void add_place(struct traffic_sum *sum, const struct traffic *t, size_t at)
{
    for (uint32_t kind = 0; kind < t->kinds; kind++) {
        const struct traffic_cell *c = &t->cell[at * t->kinds + kind];

        sum->count += c->count;
        sum->payload += c->payload;
        sum->frame += c->frame;
    }
    sum->tls += t->tls[at];
}

struct traffic_sum traffic_of_phase(const struct traffic *t, enum traffic_direction d,
                                    enum traffic_phase p)
{
    struct traffic_sum sum = {0};

    for (uint32_t party = 0; party < t->parties; party++)
        add_place(&sum, t, place(t, party, d, p));
    return sum;
}

struct traffic_sum traffic_of_party(const struct traffic *t, uint32_t party,
                                    enum traffic_direction d)
{
    struct traffic_sum sum = {0};

    for (int p = 0; p < TRAFFIC_PHASES; p++)
        add_place(&sum, t, place(t, party, d, (enum traffic_phase)p));
    return sum;
}

struct traffic_cell traffic_of_kind(const struct traffic *t, uint32_t kind)
{
    struct traffic_cell sum = {0};

    CHECK(kind < t->kinds);
    for (size_t at = 0; at < (size_t)t->parties * PLACES; at++) {
        const struct traffic_cell *c = &t->cell[at * t->kinds + kind];

        sum.count += c->count;
        sum.payload += c->payload;
        sum.frame += c->frame;
    }
    return sum;
}
