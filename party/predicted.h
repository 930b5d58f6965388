/* predicted.h -- what a party answers predictions with: a model that it has, and data.predict as
 * that model wants it, in place of the tables of a training.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREDICTED_H
#define COLONNADE_PARTY_PREDICTED_H

#include "party/prepare.h"

/* By the model of `run` ("": the one in use), and nothing else is read. */
enum status predicted_inputs(struct party_inputs *in, const char *run, struct error *err) MUST_USE;
/* That in its two parts: which model, and the rows as it wants them, into in->test. */
enum status predicted_model(struct party_inputs *in, const char *run, struct error *err) MUST_USE;
enum status predicted_rows(struct party_inputs *in, struct error *err) MUST_USE;

#endif
