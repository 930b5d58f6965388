/* kept.h -- kept answers of one model, in memory: found at once, added at once, and on the disk a
 * moment later, by a thread of its own.
 *
 * The file is nobody's in between: a person who is taken out of it (`vfl models forget`) is gone
 * from here with the next kept_changed.  What a crash loses between memory and disk is asked for
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_KEPT_H
#define COLONNADE_SERVER_SERVE_KEPT_H

#include "common/config/config.h"
#include "common/daemon/answers.h"
#include "common/daemon/package.h"
#include "common/wire/limits.h"
#include "server/serve/idmap.h"

enum {
    KEPT_ROWS_MAX = 1 << 22,  /* in memory; of more, the file alone knows, ... */
    KEPT_BYTES_MAX = 1 << 29, /* ... and of more than fit */
    KEPT_LINES_MAX = 1 << 26  /* bytes on their way to the disk; beyond, answers are not kept */
};

struct kept_page;

struct kept_index {
    struct idmap of;
    struct kept_page *page;   /* ids and scores */
    size_t bytes;             /* of all pages */
    struct answers_file file; /* that it was read from */
};

struct kept {
    char state[CONFIG_PATH_MAX], run[PACKAGE_RUN_MAX + 1]; /* run "": none */
    struct answers_key key;
    size_t parties, bytes_max;      /* bytes_max: KEPT_BYTES_MAX, or less in tests */
    struct kept_index index, fresh; /* fresh: read meanwhile */
    struct buf lines, writing;
    bool syncing, reads; /* reads: a fresh index is being made */
    struct error why;    /* of the last sync */
};

void kept_init(struct kept *k, const char *state, uint64_t epoch, size_t parties);
void kept_deinit(struct kept *k); /* nothing is being written; safe on a zeroed struct */

/* For another model, whose answers are read by the next sync; all that was added is on the disk. */
void kept_turn(struct kept *k, const char *run, uint32_t outputs);
/* Has its file become another, or was it never read? */
bool kept_changed(const struct kept *k);
bool kept_due(const struct kept *k); /* is there something to write, or to read? */
/* begin and end by the loop, work on any thread in between. */
void kept_sync_begin(struct kept *k);
void kept_sync_work(struct kept *k);
enum status kept_sync_end(struct kept *k, struct error *err) MUST_USE;

const float *kept_find(const struct kept *k, const char *id, size_t n); /* or NULL */
/* Where somebody is missing it is kept under those names, and not found again (predicting.md). */
void kept_add(struct kept *k, const char *id, size_t n, const float *scores, const bool *missing);

#endif
