/* asked.h -- what a party that stands predicts with in one job: the model that it is about, and
 * data.predict as that wants it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_ASKED_H
#define COLONNADE_PARTY_ASKED_H

#include "common/flow/prediction.h"
#include "party/books.h"
#include "party/prepare.h"
#include "party/setup.h"

struct asked {
    struct party_inputs in; /* its test table is the rows */
    struct books books;     /* binds them in the party's ledger */
};

/* For the model of that run, and by the alignment, instead of what was there; what *out says holds
 * until the next call. out->silent: the model is there, and its rows cannot be read, which may be
 * for what is in them.
 */
enum status asked_for(struct asked *a, const struct party_inputs *party, const struct books *whole,
                      const struct prediction *about, struct party_answers *out,
                      struct error *err) MUST_USE;
void asked_deinit(struct asked *a); /* safe on a zeroed struct */

#endif
