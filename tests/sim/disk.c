/* disk.c -- what outlives a process: checkpoints, and the server's journal.
 *
 * A checkpoint is durable some time after it was asked for; a death in between leaves the one
 * before.  The journal is memory here, but keeps what the real one keeps, hands it out by the same
 * rules and refuses the same (common/daemon/journal.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/disk.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "tests/sim/during.h"
#include "tests/sim/oracle.h"

#include <string.h>

enum { KEEP_US = 2000, CHECKPOINT_MAX = 1 << 24 };

/* --- checkpoints --- */

void disk_init(struct sim_disk *d)
{
    buf_init(&d->saved, CHECKPOINT_MAX);
    buf_init(&d->before, CHECKPOINT_MAX);
    buf_init(&d->writing, CHECKPOINT_MAX);
    buf_init(&d->copy, CHECKPOINT_MAX);
}

void disk_keep(struct sim_disk *d, const struct sim *s, const struct wire_bytes *kept)
{
    CHECK(d->durable_us == 0);
    d->writing.len = 0;
    CHECK(buf_append(&d->writing, kept->data, kept->n) == STATUS_OK);
    d->durable_us = s->now_us + (s->options.keep_us > 0 ? s->options.keep_us : KEEP_US);
}

static void copy_buf(struct buf *to, const struct buf *from)
{
    to->len = 0;
    CHECK(buf_append(to, from->data, from->len) == STATUS_OK);
}

void disk_durable(struct sim *s, int who)
{
    struct sim_disk *d = who == SIM_SERVER ? &s->disk : &s->party[who].disk;
    struct error well = {0};

    d->durable_us = 0;
    if (d->saved.len > 0)
        copy_buf(&d->before, &d->saved);
    copy_buf(&d->saved, &d->writing);
    during_ends(s, who, ACTION_KEEP);
    world_kept(s, who, &well);
}

/* --- records --- */

static float *copy_floats(const float *from, size_t n)
{
    float *to = mem_alloc(n + 1, sizeof *to);

    CHECK(to != NULL);
    if (n > 0)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static void add_record(struct sim_records *to, const struct journal_record *r, uint64_t applied)
{
    struct sim_record *new;

    if (to->n == to->max) {
        size_t more = to->max == 0 ? 16 : 2 * to->max;
        to->record = mem_grow(to->record, to->max * sizeof *new, more * sizeof *new);
        CHECK(to->record != NULL);
        to->max = more;
    }
    new = &to->record[to->n++];
    *new = (struct sim_record){*r, copy_floats(r->sum, r->sum_floats),
                               copy_floats(r->gradient, r->gradient_words), applied};
    new->r.sum = new->sum;
    new->r.gradient = new->gradient;
}

static void drop_record(struct sim_records *from, size_t at)
{
    mem_free(from->record[at].sum);
    mem_free(from->record[at].gradient);
    memmove(from->record + at, from->record + at + 1, (from->n - at - 1) * sizeof *from->record);
    from->n--;
}

static void copy_records(struct sim_records *to, const struct sim_records *from)
{
    while (to->n > 0)
        drop_record(to, to->n - 1);
    for (size_t i = 0; i < from->n; i++)
        add_record(to, &from->record[i].r, from->record[i].applied);
}

static bool trains(const struct sim_record *r)
{
    return r->r.purpose == JOURNAL_TRAIN;
}

static const struct sim_record *find(const struct sim *s, uint64_t step)
{
    for (size_t i = 0; i < s->disk.journal.n; i++) {
        const struct sim_record *r = &s->disk.journal.record[i];
        if (trains(r) && r->r.place == step)
            return r;
    }
    return NULL;
}

/* The step that comes next. */
static uint64_t line_next(const struct sim *s)
{
    const struct sim_records *j = &s->disk.journal;

    return j->n == 0 ? server_session_report(s->server)->steps : j->record[j->n - 1].applied;
}

/* --- the journal --- */

static struct sim *sim_of(void *owner)
{
    return owner;
}

static void append(struct sim *s, const struct journal_record *r)
{
    struct sim_records *j = &s->disk.journal;
    bool train = r->purpose == JOURNAL_TRAIN;
    /* A session tells its own step in the middle of it. */
    uint64_t next = j->n == 0 ? (train ? r->place : line_next(s)) : line_next(s);

    CHECK(!train || r->place <= next);
    /* A step that was there before has gone back: what followed the earlier one is dead. */
    while (train && j->n > 0 && j->record[j->n - 1].applied > r->place)
        drop_record(j, j->n - 1);
    add_record(j, r, train ? r->place + 1 : next);
    oracle_appended(s, r);
}

void disk_write(struct sim *s, const struct actions *written, struct error *err)
{
    if (written->n > 0 && s->disk.full) {
        error_set(err, STATUS_IO, "journal: no space left");
        return;
    }
    for (size_t i = 0; i < written->n; i++) {
        const struct action *a = &written->item[i];
        if (a->kind == ACTION_APPEND)
            append(s, a->record);
        else
            CHECK(a->kind == ACTION_TURN && a->step == line_next(s));
    }
}

/* Two at a time, no more. */
void disk_recall(struct sim *s, const struct action *a, struct error *err)
{
    const struct sim_record *r = find(s, a->step);
    uint64_t n = 0;

    for (; r != NULL && (n == 0 || (n < 2 && a->recall.bytes_max > 1)); n++) {
        enum status st =
            buf_append(a->recall.out, r->gradient, r->r.gradient_words * sizeof(float));

        if (st != STATUS_OK)
            error_set(err, st, "journal: %s", status_words(st));
        r = find(s, a->step + n + 1);
    }
    *a->recall.steps = n;
    if (n == 0)
        error_set(err, STATUS_DATA, "no such step");
}

static bool trail(void *owner, uint64_t applied, uint8_t out[WIRE_DIGEST_BYTES])
{
    const struct sim_record *r = applied == 0 ? NULL : find(sim_of(owner), applied - 1);

    if (r != NULL)
        memcpy(out, r->r.trail, WIRE_DIGEST_BYTES);
    return r != NULL;
}

static uint64_t first_of(const struct sim_records *j)
{
    for (size_t i = 0; i < j->n; i++) {
        if (trains(&j->record[i]))
            return j->record[i].r.place;
    }
    return UINT64_MAX;
}

static uint64_t first(void *owner)
{
    return first_of(&sim_of(owner)->disk.journal);
}

/* The real one forgets whole segments; here nothing is kept that it need not keep. */
void disk_forget(struct sim *s, uint64_t before_step)
{
    struct sim_records *j = &s->disk.journal;

    while (j->n > 1 &&
           (trains(&j->record[0]) ? j->record[0].r.place : j->record[0].applied) < before_step)
        drop_record(j, 0);
}

struct server_store disk_store(struct sim *s)
{
    return (struct server_store){s, trail, first};
}

static enum status raise_floor(void *owner, uint64_t to, struct error *err)
{
    struct sim_disk *d = owner;

    if (d->full)
        return error_set(err, STATUS_IO, "generation: no space left");
    d->floor = to;
    return STATUS_OK;
}

struct generation_floor disk_floor(struct sim_disk *d)
{
    return (struct generation_floor){d, d->floor, raise_floor};
}

static bool refuse(struct sim *s, const char *why)
{
    s->server_end.over = true;
    s->server_end.outcome = OUTCOME_FAILED;
    error_set(&s->server_end.error, STATUS_IO, "journal: %s", why);
    return false;
}

/* What was written at or after the checkpoint's step. */
bool disk_replay(struct sim *s)
{
    const struct sim_records *j = &s->disk.journal;
    uint64_t step = server_session_report(s->server)->steps;
    struct error err = {0};

    if (j->n == 0)
        return step == 0 || !s->lost ? true : refuse(s, "its records are gone");
    if (j->record[j->n - 1].applied < step)
        return refuse(s, "it ends before the checkpoint");
    if (first_of(j) != UINT64_MAX && first_of(j) > step)
        return refuse(s, "it begins after the checkpoint");
    for (size_t i = 0; i < j->n; i++) {
        const struct sim_record *r = &j->record[i];
        if ((trains(r) ? r->r.place : r->applied) >= step &&
            server_session_replay(s->server, &r->r, &err) != STATUS_OK)
            return refuse(s, err.text);
    }
    return true;
}

/* --- shares of data: a mapped file, which is there whenever the process dies --- */

static void resize_shares(struct sim_shares *f, size_t n)
{
    uint8_t *data = n == 0 ? NULL : mem_alloc(n, 1);

    CHECK(n == 0 || data != NULL);
    if (n > 0 && f->n > 0)
        memcpy(data, f->data, f->n < n ? f->n : n);
    mem_free(f->data);
    *f = (struct sim_shares){data, n};
}

static enum status map_shares(void *owner, uint8_t **memory, size_t *bytes, struct error *err)
{
    struct sim_disk *d = owner;

    (void)err;
    if (!d->keeps_shares)
        disk_lose_shares(d);
    if (*bytes > 0)
        resize_shares(&d->shares, *bytes);
    *memory = d->shares.data;
    *bytes = d->shares.n;
    return STATUS_OK;
}

static enum status sync_shares(void *owner, struct error *err)
{
    (void)owner;
    (void)err;
    return STATUS_OK;
}

struct party_holdings disk_holdings(struct sim_disk *d)
{
    return (struct party_holdings){d, map_shares, sync_shares};
}

void disk_lose_shares(struct sim_disk *d)
{
    resize_shares(&d->shares, 0);
}

static void copy_shares(struct sim_shares *to, const struct sim_shares *from)
{
    resize_shares(to, from->n);
    if (from->n > 0)
        memcpy(to->data, from->data, from->n);
}

void disk_copy_shares(struct sim_disk *to, const struct sim_disk *from)
{
    copy_shares(&to->shares, &from->shares);
}

/* --- disks that go back --- */

static struct sim_disk *disk_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->disk : &s->party[who].disk;
}

void disk_copy(struct sim *s, int who)
{
    struct sim_disk *d = disk_of(s, who);

    copy_buf(&d->copy, &d->saved);
    copy_records(&d->journal_copy, &d->journal);
    copy_shares(&d->shares_copy, &d->shares);
    d->ledger_copy = d->ledger;
}

void disk_copy_journal(struct sim_disk *to, const struct sim_disk *from)
{
    copy_records(&to->journal, &from->journal);
}

void disk_put_back(struct sim *s, int who)
{
    struct sim_disk *d = disk_of(s, who);

    copy_buf(&d->saved, &d->copy);
    d->before.len = 0;
    copy_records(&d->journal, &d->journal_copy);
    copy_shares(&d->shares, &d->shares_copy);
}

void disk_lose_records(struct sim *s, size_t n)
{
    struct sim_records *j = &s->disk.journal;

    for (; n > 0 && j->n > 0; n--) {
        drop_record(j, j->n - 1);
        s->lost = true;
    }
}

static void free_records(struct sim_records *r)
{
    while (r->n > 0)
        drop_record(r, r->n - 1);
    mem_free(r->record);
}

void disk_deinit(struct sim_disk *d)
{
    buf_deinit(&d->saved);
    buf_deinit(&d->before);
    buf_deinit(&d->writing);
    buf_deinit(&d->copy);
    free_records(&d->journal);
    free_records(&d->journal_copy);
    mem_free(d->shares.data);
    mem_free(d->shares_copy.data);
}
