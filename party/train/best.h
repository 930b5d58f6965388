/* best.h -- the bottom as it was at the best evaluation, which the server names (clause 3.27).
 *
 * Which steps are evaluated is on the agenda, so a copy is made at each of them, before anybody
 * knows what it is worth; the server's word makes the last copy the one to be kept.  The word is
 * made of labels and released sums, and what this side does on it depends on no record.
 *
 * Written by best.c alone; by the work, and between two pieces of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_BEST_H
#define COLONNADE_PARTY_TRAIN_BEST_H

#include "common/base/buf.h"
#include "common/flow/agenda.h"
#include "common/nn/net.h"

/* A copy of the bottom's weights, after so many steps; 0: there is none. */
struct party_copy {
    uint64_t step;
    float *params;
};

struct party_best {
    const struct agenda *agenda; /* NULL: the plan keeps the last model */
    size_t params;
    struct party_copy last; /* of the last evaluation */
    struct party_copy kept; /* of the best one that this side was there for */
    uint64_t named; /* by the server, with each offer and since: the best one's step, or 0 */
    bool settled;   /* the run is over: the net has `kept`, and `kept` what it had */
};

/* What is wrong with a server that names such a step. */
#define PARTY_NO_EVALUATION "names as the best evaluation a step after which none was due"

/* For a net of this shape; agenda: the course's. */
enum status party_best_init(struct party_best *b, const struct plan *p, const struct agenda *agenda,
                            const struct nn_net *net) MUST_USE;
void party_best_deinit(struct party_best *b); /* safe on a zeroed struct */

/* The net has come from `before` to `now` steps, by steps or by sitting them out. */
void party_best_pass(struct party_best *b, const struct nn_net *net, uint64_t before, uint64_t now);
/* May a server name this step where the run is at `reached` steps?  False: no evaluation was due
 * there, or none ever is. */
bool party_best_may_be(const struct party_best *b, uint64_t step, uint64_t reached);
/* It does, of a run that goes on, or whose best one it was when it was over. */
void party_best_name(struct party_best *b, uint64_t step);

/* The run is over: the net becomes the best one.  False: this side was not there for that, and the
 * net stays what it is. */
bool party_best_settle(struct party_best *b, struct nn_net *net) MUST_USE;
/* It is not over after all: the net is what was trained last. */
void party_best_unsettle(struct party_best *b, struct nn_net *net);

/* For a checkpoint; nothing where the last model is kept.  Which evaluation is the best one is the
 * server's to say, and not what a checkpoint goes back to: `named` is not in it. */
enum status party_best_print(const struct party_best *b, struct buf *out) MUST_USE;
size_t party_best_bytes(const struct party_best *b);
enum status party_best_parse(struct party_best *b, const uint8_t *bytes) MUST_USE; /* so many */

#endif
