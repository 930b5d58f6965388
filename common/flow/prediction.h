/* prediction.h -- what a job of predictions is about: its canonical text, and by which plan its
 * rounds are computed.
 *
 * The text is what every member signs (job.h): which model, how many rows (or, of an open job, how
 * many at most), who is left out, for whom, and what rows are called by.  The ids come with the
 * rounds, and are part of what masks and shares hang on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_PREDICTION_H
#define COLONNADE_FLOW_PREDICTION_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/crypto/cert_name.h"
#include "common/wire/message.h"

#include <stdbool.h>

#define JOB_PREDICT "predict"

enum { PREDICTION_RUN_MAX = 40, PREDICTION_ROWS_MAX = 1 << 24 };

struct prediction {
    char run[PREDICTION_RUN_MAX + 1]; /* of the model, a-z, 0-9 and '-' */
    uint8_t plan[WIRE_DIGEST_BYTES];  /* SHA-256 of the plan that it was trained by */
    uint8_t trail[WIRE_DIGEST_BYTES]; /* of that run; zeros where it tells nothing */
    uint32_t rows, batch;             /* in all; of each round but the last */
    bool absent[WIRE_MEMBERS_MAX];    /* by roster index: uploads a constant for every row */
    char by[CERT_NAME_MAX + 1]; /* for whom, by the server's word alone; a name (cert_name.h) */
    /* Rows are asked for as they come: a round is of as many ids as it carries, `batch` at most,
     * and all rounds together are of `rows` at most. */
    bool open;
    /* Ids are places, 0, 1, ..., of the alignment of that name, which are bound to this digest
     * (common/data/places.h).  "": they are ids that all sides have in one form. */
    char alignment[CONFIG_ALIGN_NAME_MAX + 1];
    uint8_t places[WIRE_DIGEST_BYTES];
};

/* Lines `key=value` in this order: run, plan, trail, rows, batch, absent (indices, or nothing), by,
 * open (0 or 1), alignment (name,digest, or nothing). */
enum status prediction_print(const struct prediction *p, struct buf *out) MUST_USE;
/* Just what prediction_print writes: STATUS_PROTOCOL else. */
enum status prediction_parse(struct prediction *p, const uint8_t *text, size_t n,
                             struct error *err) MUST_USE;
bool prediction_leaves_out(const struct prediction *p);
/* Are rows called by places of an alignment? */
static inline bool prediction_is_placed(const struct prediction *p)
{
    return p->alignment[0] != 0;
}

/* Why exact sums are of no alignment of labelled rows: a format with its name. */
#define PREDICTION_LABELLED                                                                        \
    "alignment %s: its rows are labelled ones, of which a party may lack some, and the encoding "  \
    "has no noise: beside what the others have it would show whose they are"

/* How the model of a plan predicts: by its encoding and aggregation, in rounds of rows, and waiting
 * for everybody.  Under fedvs only training and test rows were dealt in shares: other rows go in
 * masked sums, as integers of as many bits as there may be, of what lies within `reach`, the
 * package's.  STATUS_CONFIG: that is not known. */
enum status prediction_plan(struct plan *out, const struct plan *of, double reach,
                            struct error *err) MUST_USE;
/* Rows of a round at most. */
uint32_t prediction_batch_max(const struct plan *p);
/* Has its encoding no noise, and hides a party only among others? */
bool prediction_is_exact(const struct plan *p);

/* How many ids a round carries, if they are ids. */
uint32_t prediction_ids(const struct wire_bytes *ids);
/* The ids of a round, with a line end behind each.  The next one from *at on: its length, or 0 when
 * there is none, or what there is is no id. */
size_t prediction_next_id(const struct wire_bytes *ids, size_t *at);

#endif
