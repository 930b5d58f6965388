/* life.c -- processes that die and come back: disks, checkpoints, the server's journal.
 *
 * A disk outlives its process.  A checkpoint is durable some time after it was asked for; a death in
 * between leaves the one before.  The journal is memory here, but keeps what the real one keeps and
 * hands it out by the same rules (common/daemon/journal.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP_US = 2000 };

/* --- checkpoints --- */

void life_keep(struct sim_disk *d, const struct sim *s, const struct wire_bytes *kept)
{
    CHECK(d->durable_us == 0);
    d->writing.len = 0;
    CHECK(buf_append(&d->writing, kept->data, kept->n) == STATUS_OK);
    d->durable_us = s->now_us + (s->options.keep_us > 0 ? s->options.keep_us : KEEP_US);
}

void life_durable(struct sim *s, int who)
{
    struct sim_disk *d = who == SIM_SERVER ? &s->disk : &s->party[who].disk;
    struct error well = {0};
    struct event e = {.kind = EVENT_KEPT, .error = &well};

    d->durable_us = 0;
    d->saved.len = 0;
    CHECK(buf_append(&d->saved, d->writing.data, d->writing.len) == STATUS_OK);
    if (who == SIM_SERVER)
        world_tell_server(s, &e);
    else
        world_tell_party(s, (uint32_t)who, &e);
}

/* --- the journal --- */

static struct sim *sim_of(void *owner)
{
    return owner;
}

static float *copy(const float *from, size_t n)
{
    float *to = mem_alloc(n + 1, sizeof *to);

    CHECK(to != NULL);
    if (n > 0)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static void drop_record(struct sim *s, size_t at)
{
    mem_free(s->record[at].sum);
    mem_free(s->record[at].gradient);
    memmove(s->record + at, s->record + at + 1, (s->records_n - at - 1) * sizeof *s->record);
    s->records_n--;
}

static enum status append(void *owner, const struct journal_record *r, struct error *err)
{
    struct sim *s = sim_of(owner);

    (void)err;
    /* A step that was there before has gone back: what followed the earlier one is dead. */
    for (size_t i = 0; i < s->records_n && r->purpose == JOURNAL_TRAIN; i++) {
        if (s->record[i].r.purpose == JOURNAL_TRAIN && s->record[i].r.place == r->place) {
            while (s->records_n > i)
                drop_record(s, s->records_n - 1);
        }
    }
    if (s->records_n == s->records_max) {
        size_t more = s->records_max == 0 ? 64 : 2 * s->records_max;
        s->record = mem_grow(s->record, s->records_max * sizeof *s->record,
                             more * sizeof *s->record);
        CHECK(s->record != NULL);
        s->records_max = more;
    }
    s->record[s->records_n].r = *r;
    s->record[s->records_n].sum = copy(r->sum, r->sum_floats);
    s->record[s->records_n].gradient = copy(r->gradient, r->gradient_floats);
    s->records_n++;
    return STATUS_OK;
}

static const struct sim_record *find(const struct sim *s, uint64_t step)
{
    for (size_t i = 0; i < s->records_n; i++) {
        if (s->record[i].r.purpose == JOURNAL_TRAIN && s->record[i].r.place == step)
            return &s->record[i];
    }
    return NULL;
}

static enum status gradients(void *owner, uint64_t step, size_t bytes_max, struct buf *out,
                             uint64_t *steps, struct error *err)
{
    const struct sim_record *r = find(sim_of(owner), step);

    *steps = 0;
    while (r != NULL && (*steps == 0 || (*steps < 2 && bytes_max > 1))) { /* two at a time, no more */
        CHECK(buf_append(out, r->gradient, r->r.gradient_floats * sizeof(float)) == STATUS_OK);
        r = find(sim_of(owner), step + ++*steps);
    }
    return *steps > 0 ? STATUS_OK : error_set(err, STATUS_DATA, "no such step");
}

static bool trail(void *owner, uint64_t applied, uint8_t out[WIRE_DIGEST_BYTES])
{
    const struct sim_record *r = applied == 0 ? NULL : find(sim_of(owner), applied - 1);

    if (r != NULL)
        memcpy(out, r->r.trail, WIRE_DIGEST_BYTES);
    return r != NULL;
}

static uint64_t first(void *owner)
{
    const struct sim *s = sim_of(owner);

    for (size_t i = 0; i < s->records_n; i++) {
        if (s->record[i].r.purpose == JOURNAL_TRAIN)
            return s->record[i].r.place;
    }
    return UINT64_MAX;
}

static enum status turn(void *owner, uint64_t step, struct error *err)
{
    (void)owner, (void)step, (void)err;
    return STATUS_OK;
}

static void forget(void *owner, uint64_t before_step)
{
    struct sim *s = sim_of(owner);

    while (s->records_n > 1 && s->record[0].r.purpose == JOURNAL_TRAIN &&
           s->record[0].r.place < before_step)
        drop_record(s, 0);
}

struct server_store life_store(struct sim *s)
{
    return (struct server_store){s, append, gradients, trail, first, turn, forget};
}

void life_replay(struct sim *s)
{
    struct error err = {0};

    for (size_t i = 0; i < s->records_n; i++) {
        s->record[i].r.sum = s->record[i].sum;
        s->record[i].r.gradient = s->record[i].gradient;
        if (server_session_replay(s->server, &s->record[i].r, &err) != STATUS_OK) {
            fprintf(stderr, "sim: replay: %s\n", err.text);
            abort();
        }
    }
}

void life_free(struct sim *s)
{
    while (s->records_n > 0)
        drop_record(s, s->records_n - 1);
    mem_free(s->record);
    buf_deinit(&s->disk.saved);
    buf_deinit(&s->disk.writing);
}

/* --- deaths --- */

static void kill_party(struct sim *s, uint32_t i)
{
    struct sim_party *p = &s->party[i];

    if (p->end.over)
        return;
    p->disk.durable_us = 0;
    p->timer_us = 0;
    world_cut(s, i);
    world_new_party(s, i);
    /* Uploads of another process: its generation is a new one. */
    world_tell_party(s, i, &(struct event){.kind = EVENT_START});
}

static void kill_server(struct sim *s)
{
    if (s->server_end.over)
        return;
    s->disk.durable_us = 0;
    s->server_timer_us = 0;
    while (s->lose > 0 && s->records_n > 0) {
        drop_record(s, s->records_n - 1);
        s->lose--;
    }
    s->lose = 0;
    for (uint32_t i = 0; i < s->options.parties; i++) {
        s->party[i].joined = false; /* nobody is there to hear of it */
        world_cut(s, i);
    }
    world_new_server(s);
    world_tell_server(s, &(struct event){.kind = EVENT_START});
}

void life_kill(struct sim *s, int who)
{
    if (who == SIM_SERVER)
        kill_server(s);
    else
        kill_party(s, (uint32_t)who);
}
