/* agenda.h -- what a plan amounts to: how many steps, which evaluations when, how many releases.
 *
 * The server walks it; each party prices it before it agrees and refuses rounds that are not on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_AGENDA_H
#define COLONNADE_FLOW_AGENDA_H

#include "common/config/plan.h"
#include "common/data/segments.h"
#include "common/data/validate.h"

#include <stdbool.h>
#include <stdint.h>

struct agenda {
    uint32_t coded_rows;       /* ceil(rows / K): the rows themselves when there is one segment */
    uint32_t rounds_per_epoch; /* R = ceil(coded_rows / (batch / K)) */
    uint32_t turns;            /* M under sequential, otherwise 1 */
    uint64_t steps;            /* T turns, of T = ceil(epochs R) batches */
    uint64_t party_steps;      /* that one party may take part in: T turns, under async M T */
    double every;              /* batches: evaluate_every R; 0: only at the end */
    bool evaluates;            /* there is something to evaluate on */
    uint64_t sweeps;           /* evaluations of the whole run */
};

/* What the parties take part in: under training.releases once one epoch, and an evaluation at its
 * end. */
void agenda_make(struct agenda *a, const struct plan *p);
/* The head's own way: the same, but under once through all epochs on what was kept. */
void agenda_make_head(struct agenda *a, const struct plan *p);

/* Seed of the schedule that party `party` (roster index) walks: the plan's, under async its own. */
uint64_t agenda_seed(const struct plan *p, uint32_t party);

/* A step is one turn: step u is on batch u / turns, and under sequential the party u % turns
 * (roster index) alone applies its gradient; the head steps in the last turn, with
 * the gradient of that turn's sum: nothing is carried over from the turns before. */
static inline uint64_t agenda_batch(const struct agenda *a, uint64_t step)
{
    return step / a->turns;
}

/* Steps of a whole epoch; and how many passes over the rows `done` steps are. */
static inline uint64_t agenda_epoch_steps(const struct agenda *a)
{
    return (uint64_t)a->rounds_per_epoch * a->turns;
}
static inline double agenda_epochs(const struct agenda *a, uint64_t done)
{
    return (double)done / (double)agenda_epoch_steps(a);
}

/* Is an evaluation due once `done` steps are done (after batch ceil(k e R) and all its turns, and
 * at the end)? */
bool agenda_due(const struct agenda *a, uint64_t done);

/* Evaluations due once `done` steps are done, this one included: the number of a sweep. */
uint64_t agenda_sweeps_until(const struct agenda *a, uint64_t done);
/* After which of the first `done` steps the last of these was; 0: none yet. */
uint64_t agenda_last_due(const struct agenda *a, uint64_t done);

/* Rows of training step `step`, padding included: at most K - 1 for each coded row more than
 * schedule_batch gives, and exactly as many with one segment. */
uint32_t agenda_batch_rows(const struct agenda *a, const struct plan *p, uint64_t step);

/* Learning rate of local iteration `local` (0 .. Q-1) of `step`, with r the local iteration counted
 * over the run's batches, of R: eta0; eta0 / sqrt(r + 1) (FedBCD, section VII); eta0 / sqrt((r + 1)
 * M); cosine: eta0 (1 + cos(pi r / R)) / 2 (Loshchilov & Hutter 2017, without restarts); step: eta0
 * factor^floor(epochs done / step.epochs).  While r + 1 is below the local iterations of the
 * warm-up it is that part of them. */
float agenda_rate(const struct plan *p, uint64_t step, uint32_t local);

/* A sweep goes over rows in order, under fedvs over coded rows (common/data/segments.h): how many
 * such places a split has, and how many of them one round takes. */
void agenda_segments(struct segments *s, const struct plan *p, bool test);
uint32_t agenda_places(const struct plan *p, bool test); /* the segments' len */
uint32_t agenda_round_places(const struct plan *p);

struct agenda_releases {
    uint64_t train, evaluate;  /* released vectors */
    uint64_t train_record_max; /* releases of one training record, evaluation included */
    uint64_t trained_max;      /* of these, those in training */
    uint64_t test_record_max;
};
/* Releases of one record, at most. */
uint64_t agenda_record_max(const struct agenda_releases *r, struct validate_repeats repeats);
/* Without repeats: what the plan releases when no round is void; every turn releases its batch.
 * With several segments the epoch that is not walked to its end counts the padding of its steps:
 * never too little. */
void agenda_price(const struct agenda *a, const struct plan *p, struct agenda_releases *out);
/* The same for what is left once `done` steps are done. */
void agenda_price_rest(const struct agenda *a, const struct plan *p, uint64_t done,
                       struct agenda_releases *out);
/* On top of that: the sweep that is due after `done` steps, if one is, whole. */
void agenda_price_again(const struct agenda *a, const struct plan *p, uint64_t done,
                        struct agenda_releases *out);

#endif
