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
    ALIGNMENT_PATIENCE_LEAST_MS = 1000,
    ALIGNMENT_PATIENCE_MOST_MS = 604800000,
};

struct alignment {
    char name[CONFIG_ALIGN_NAME_MAX + 1]; /* a-z, 0-9 and '-' */
    uint32_t ids, columns;                /* of the server's list; that make one id */
    uint32_t result_min;                  /* fewer rows in common are told to nobody */
    bool replace;                         /* what is kept by that name */
    bool trim, fold;
    enum config_unicode unicode;
    enum config_rows rows;
    uint32_t chunk;       /* entries of one step */
    uint32_t patience_ms; /* for it */
};

/* What is counted, durably and before it happens: that an alignment has begun, which tells the
 * lengths of lists (again, by a job that has kept its result here in a playing that others lost),
 * and that something may be compared with this side's list from now on. */
enum alignment_count { ALIGNMENT_BEGUN, ALIGNMENT_AGAIN, ALIGNMENT_TOLD };
/* Of a member in that step: is what it is about to say the first that its key has made of
 * another's list?  Before that nobody can tell points of its own list from any others. */
bool alignment_tells(const struct align_at *at);

/* Lines `key=value` in this order: name, ids, columns, min_result, replace, trim, fold, unicode,
 * rows, chunk, patience_ms. */
enum status alignment_print(const struct alignment *a, struct buf *out) MUST_USE;
/* Just what alignment_print writes: STATUS_PROTOCOL else. */
enum status alignment_parse(struct alignment *a, const uint8_t *text, size_t n,
                            struct error *err) MUST_USE;
/* How many rows one of labelled rows ends with; 0: that is not known before. */
uint32_t alignment_labelled(const struct alignment *a);
/* What an operator asks for: `name: NAME`, `rows: common` or `rows: labelled`, and `replace: true`
 * where there may be one of that name, each on a line of its own, beside empty ones and comments
 * (#).  STATUS_DATA. */
struct alignment_order {
    char name[CONFIG_ALIGN_NAME_MAX + 1];
    bool replace;
    bool rows_given; /* else as the server's file says */
    enum config_rows rows;
};
enum status alignment_asked(struct alignment_order *o, const uint8_t *text, size_t n,
                            struct error *err) MUST_USE;

#endif
