/* best.h -- the best evaluation so far on the rows of data.validate, and when patience is over.
 *
 * Which one it is follows from labels and released sums alone.  Parties are told its step with
 * every broadcast and every offer (clause 3.27), and keep their bottoms of then, as the head of
 * then is kept here.
 *
 * Written by best.c, and out of a checkpoint by resume.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_BEST_H
#define COLONNADE_SERVER_TRAIN_BEST_H

#include "server/setup.h"
#include "server/train/head.h"

struct server_best {
    struct server_best_of of;  /* as the report has it */
    uint32_t since;            /* evaluations since */
    size_t params;             /* of the head; 0: no patience */
    float *head;               /* its weights then */
    struct score_board tested; /* the test rows one by one */
};

/* test_rows, validation rows not among them.  b is zeroed. */
enum status server_best_init(struct server_best *b, const struct plan *p, size_t params,
                             const struct score_board *test) MUST_USE;
void server_best_deinit(struct server_best *b); /* safe on a zeroed struct */

/* An evaluation of so many steps is done, and told in m. */
void server_best_compare(struct server_best *b, struct server_measured *m, const struct plan *p,
                         const struct server_head *h, const struct score_board *test,
                         const struct server_best_of *now);
bool server_best_patience_over(const struct server_best *b, const struct plan *p);
/* The run is over: the head, and the test rows one by one, are the best one's.  Again: the same. */
void server_best_settle(const struct server_best *b, struct server_measured *m,
                        struct server_head *h, struct score_board *test);

/* For a checkpoint: the head and the test rows; nothing without patience. */
enum status server_best_print(const struct server_best *b, struct buf *out) MUST_USE;
enum status server_best_parse(struct server_best *b, const uint8_t *bytes, size_t n,
                              size_t *used) MUST_USE;

#endif
