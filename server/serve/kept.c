/* kept.c -- pages of answers, an index over them, and lines for the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/kept.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_BYTES = 1 << 18 };

struct kept_page {
    struct kept_page *next;
    size_t used;
    uint8_t bytes[PAGE_BYTES];
};

/* --- in memory --- */

static void forget(struct kept_index *x)
{
    while (x->page != NULL) {
        struct kept_page *next = x->page->next;

        mem_free(x->page);
        x->page = next;
    }
    idmap_deinit(&x->of);
    *x = (struct kept_index){.page = NULL};
}

/* Scores, and behind them the id; NULL: there is no memory, or no more may be taken. */
static float *room_for(struct kept_index *x, size_t bytes, size_t bytes_max)
{
    const size_t whole = (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    float *at;

    if (x->page == NULL || PAGE_BYTES - x->page->used < whole) {
        const bool fits = whole <= PAGE_BYTES && x->bytes + sizeof *x->page <= bytes_max;
        struct kept_page *p = fits ? mem_alloc(1, sizeof *p) : NULL;

        if (p == NULL)
            return NULL;
        p->next = x->page;
        x->page = p;
        x->bytes += sizeof *p;
    }
    at = (float *)(void *)(x->page->bytes + x->page->used);
    x->page->used += whole;
    return at;
}

/* One that there is no memory for is asked for again. */
static void put(struct kept_index *x, const struct kept *k, const char *id, size_t n,
                const float *scores)
{
    const uint32_t outputs = k->key.outputs;
    float *known = idmap_get(&x->of, id, n);

    if (known == NULL && x->of.n < KEPT_ROWS_MAX) {
        float *at = room_for(x, outputs * sizeof *at + n, k->bytes_max);

        if (at == NULL)
            return;
        memcpy(at + outputs, id, n);
        if (idmap_put(&x->of, (const char *)(at + outputs), n, at) == STATUS_OK)
            known = at;
    }
    if (known != NULL)
        memcpy(known, scores, outputs * sizeof *scores);
}

const float *kept_find(const struct kept *k, const char *id, size_t n)
{
    return idmap_get(&k->index.of, id, n);
}

void kept_add(struct kept *k, const char *id, size_t n, const float *scores, const bool *missing)
{
    struct answers_key key = k->key;
    enum status s = STATUS_OK;

    answers_missing(key.absent, missing, k->parties);
    if (k->lines.len < KEPT_LINES_MAX / 2)
        s = answers_print(&k->lines, &key, id, n, scores);
    if (s != STATUS_OK) /* half a line, perhaps: nothing of what waits is written */
        k->lines.len = 0;
    if (key.absent[0] == 0)
        put(&k->index, k, id, n, scores);
}

/* --- on the disk --- */

bool kept_changed(const struct kept *k)
{
    struct answers_file now;

    answers_stand(k->state, k->run, &now);
    return !answers_same(&now, &k->index.file);
}

bool kept_due(const struct kept *k)
{
    return !k->syncing && k->run[0] != 0 && (k->lines.len > 0 || kept_changed(k));
}

void kept_sync_begin(struct kept *k)
{
    const struct buf empty = k->writing;

    CHECK(!k->syncing && k->writing.len == 0);
    k->syncing = true;
    k->why = (struct error){0};
    k->writing = k->lines;
    k->lines = empty;
    k->reads = kept_changed(k);
    k->fresh.file = k->index.file;
}

static void visit(void *owner, const char *id, size_t n, const float *scores)
{
    struct kept *k = owner;

    put(&k->fresh, k, id, n, scores);
}

static enum status read_all(struct kept *k, struct error *err)
{
    struct answers all = {.path = NULL};
    enum status s = answers_open(&all, k->state, k->run, &k->key, err);

    answers_stand(k->state, k->run, &k->fresh.file);
    if (s == STATUS_OK)
        answers_each(&all, k, visit);
    answers_close(&all);
    return s;
}

void kept_sync_work(struct kept *k)
{
    enum status s = STATUS_OK;

    if (k->writing.len > 0)
        s = answers_append(k->state, k->run, &k->writing, &k->fresh.file, &k->why);
    if (s == STATUS_OK && k->reads)
        s = read_all(k, &k->why);
    k->why.status = s;
}

/* Somebody has the file: the next sync writes them, and behind them what was added meanwhile. */
static void put_back(struct kept *k)
{
    const struct buf lines = k->lines;

    if (buf_append(&k->writing, lines.data, lines.len) != STATUS_OK)
        return; /* more than there may be: what was added last stays */
    k->lines = k->writing;
    k->writing = lines;
}

enum status kept_sync_end(struct kept *k, struct error *err)
{
    CHECK(k->syncing);
    k->syncing = false;
    if (k->why.status == STATUS_CONFIG)
        put_back(k);
    k->writing.len = 0;
    if (k->why.status != STATUS_OK) {
        forget(&k->fresh);
        *err = k->why;
        return err->status;
    }
    if (k->reads) {
        forget(&k->index);
        k->index = k->fresh;
        if (k->lines.len > 0) /* added meanwhile: read again, once they are written */
            k->index.file.there = !k->index.file.there;
    } else {
        k->index.file = k->fresh.file;
    }
    k->fresh = (struct kept_index){.page = NULL};
    return STATUS_OK;
}

/* --- life --- */

void kept_init(struct kept *k, const char *state, uint64_t epoch, size_t parties)
{
    *k = (struct kept){.parties = parties, .bytes_max = KEPT_BYTES_MAX, .key.epoch = epoch};
    snprintf(k->state, sizeof k->state, "%s", state);
    buf_init(&k->lines, KEPT_LINES_MAX);
    buf_init(&k->writing, KEPT_LINES_MAX);
}

void kept_deinit(struct kept *k)
{
    forget(&k->index);
    forget(&k->fresh);
    buf_deinit(&k->lines);
    buf_deinit(&k->writing);
}

void kept_turn(struct kept *k, const char *run, uint32_t outputs)
{
    CHECK(!k->syncing && k->lines.len == 0);
    forget(&k->index);
    snprintf(k->run, sizeof k->run, "%s", run);
    k->key.outputs = outputs;
}
