/* predicted.h -- what a party answers predictions with: a model that it has, and data.predict as
 * that model wants it, in place of the tables of a training; its rows by id, or by their places in
 * an alignment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREDICTED_H
#define COLONNADE_PARTY_PREDICTED_H

#include "party/prepare.h"

/* By the model of `run` ("": the one in use), rows by places of that alignment (NULL: by id), and
 * nothing else is read. */
enum status predicted_inputs(struct party_inputs *in, const char *run, const char *alignment,
                             struct error *err) MUST_USE;
/* That in its parts: which model; which alignment, whose places are bound to `places` (NULL: to
 * whatever it is); and the rows as the model wants them, into in->test.  Of labelled rows those
 * that are not here stand in it, too (absent.h). */
enum status predicted_model(struct party_inputs *in, const char *run, struct error *err) MUST_USE;
enum status predicted_places(struct party_inputs *in, const char *alignment, const uint8_t *places,
                             struct error *err) MUST_USE;
enum status predicted_rows(struct party_inputs *in, struct error *err) MUST_USE;

#endif
