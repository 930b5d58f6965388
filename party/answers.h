/* answers.h -- what a party that stands predicts with: the rows of data.predict, read once, and the
 * model that a job asks for.
 *
 * The rows are read before anything is said to anybody, so that no answer to an offer depends on
 * whether a value of theirs can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_ANSWERS_H
#define COLONNADE_PARTY_ANSWERS_H

#include "party/books.h"
#include "party/prepare.h"
#include "party/setup.h"

struct answers {
    struct party_inputs in; /* its test table is the rows, prepared for in.model */
    float *raw;             /* the same as they were read */
    struct books books;     /* binds them in the party's ledger */
};

/* *out stays NULL where there is no data.predict.  `whole` outlives the answers. */
enum status answers_open(struct answers **out, const struct party_inputs *in,
                         const struct books *whole, struct error *err) MUST_USE;
void answers_close(struct answers *a); /* NULL is fine */

/* For the model of `run`; what *out says holds until the next call. */
enum status answers_for(struct answers *a, const char *run, struct party_answers *out,
                        struct error *err) MUST_USE;

#endif
