/* alignment.h -- what a job of alignment is about: its canonical text.
 *
 * The text is what every member signs (job.h): the name that the result is kept by, how many ids
 * the server lists, and how ids are made of cells, which has to be the same on all sides.  How many
 * a party lists is in its hello (train_rows).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_ALIGNMENT_H
#define COLONNADE_FLOW_ALIGNMENT_H

#include "common/align/course.h"
#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/wire/message.h"

#define JOB_ALIGN "align"

enum {
    ALIGNMENT_KEYS_MAX = 8, /* of one alignment, and bytes of their names: */
    ALIGNMENT_KEY_NAME_MAX = 16,
    ALIGNMENT_PATIENCE_LEAST_MS = 1000,
    ALIGNMENT_PATIENCE_MOST_MS = 604800000,
};

/* What ids are made of: each side has columns of its own that are called so. */
struct alignment_key {
    char name[ALIGNMENT_KEY_NAME_MAX + 1]; /* a-z, 0-9 and '-' */
    uint32_t columns;                      /* that make one id */
};

struct alignment {
    char name[CONFIG_ALIGN_NAME_MAX + 1]; /* a-z, 0-9 and '-' */
    /* The alignment whose rows stay as they are, and which others are added to; "": none. */
    char extends[CONFIG_ALIGN_NAME_MAX + 1];
    uint8_t extended[WIRE_DIGEST_BYTES]; /* its transcript */
    uint32_t ids;                        /* of the server's list */
    uint32_t keys_n;                     /* tried in this order, a pass each; of labelled rows 1 */
    struct alignment_key key[ALIGNMENT_KEYS_MAX];
    uint32_t result_min; /* fewer new rows in common, by one key, are told to nobody */
    bool replace;        /* what is kept by that name */
    bool trim, fold;
    enum config_unicode unicode;
    enum config_rows rows;
    uint32_t chunk;       /* entries of one step */
    uint32_t patience_ms; /* for it */
};

/* What is counted, durably and before it happens: that an alignment has begun, which tells the
 * lengths of lists (again, by a job that has kept its result here in a playing that others lost;
 * of a pass behind the first one, each of which is an alignment of its own to who counts them),
 * and that something may be compared with this side's list from now on. */
enum alignment_count { ALIGNMENT_BEGUN, ALIGNMENT_AGAIN, ALIGNMENT_PASS, ALIGNMENT_TOLD };
/* A side's list, pass by pass (common/daemon/roll.h).  All of it on any thread. */
struct alignment_list {
    void *owner;
    /* The rows of a pass, as many as are left: they stay until the next. */
    enum status (*rows)(void *owner, uint32_t pass, const uint8_t **rows, struct error *err);
    /* What has come of it: `common` rows, and for each of its own its place or ALIGN_NOWHERE. */
    enum status (*take)(void *owner, uint32_t pass, uint32_t common, const uint32_t *places,
                        struct error *err);
    /* Durably, before that happens: one more.  STATUS_POLICY: that is too many.  STATUS_CONFIG: one
     * has begun of a name that is there. */
    enum status (*count)(void *owner, const struct alignment *about, enum alignment_count what,
                         struct error *err);
};

/* Of a member in that step: is what it is about to say the first that its key has made of
 * another's list?  Before that nobody can tell points of its own list from any others. */
bool alignment_tells(const struct align_at *at);

/* Lines `key=value` in this order: name, extends, extended, ids, keys, min_result, replace, trim,
 * fold, unicode, rows, chunk, patience_ms. */
enum status alignment_print(const struct alignment *a, struct buf *out) MUST_USE;
/* Just what alignment_print writes: STATUS_PROTOCOL else. */
enum status alignment_parse(struct alignment *a, const uint8_t *text, size_t n,
                            struct error *err) MUST_USE;
/* How many rows one of labelled rows ends with; 0: that is not known before. */
uint32_t alignment_labelled(const struct alignment *a);
/* What an operator asks for: `name: NAME`, `extends: NAME` of one that rows are added to, `rows:
 * common` or `rows: labelled`, and `replace: true` where there may be one of that name, each on a
 * line of its own, beside empty ones and comments (#).  STATUS_DATA. */
struct alignment_order {
    char name[CONFIG_ALIGN_NAME_MAX + 1], extends[CONFIG_ALIGN_NAME_MAX + 1];
    bool replace;
    bool rows_given; /* else as the server's file says */
    enum config_rows rows;
};
enum status alignment_asked(struct alignment_order *o, const uint8_t *text, size_t n,
                            struct error *err) MUST_USE;

#endif
