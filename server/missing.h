/* missing.h -- who is missing from the answers of a job of predictions: what is kept stands under
 * the set that has answered it, and what is written names who was not in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_MISSING_H
#define COLONNADE_SERVER_MISSING_H

#include "server/predict/predict.h"
#include "server/prepare.h"

/* What a job has scored, into in->answers, each row with who was missing from its round. */
enum status missing_keep(const struct server_inputs *in, const struct predict_scored *p,
                         struct error *err) MUST_USE;
/* By roster index, from any answer to what is wanted. */
void missing_from(bool out[WIRE_MEMBERS_MAX], const struct server_inputs *in);
/* Their names between commas, cut to n bytes. */
void missing_names(char *out, size_t n, const struct server_inputs *in);
/* SCORES.without: `id,without` and a line for each row that is without more parties than those that
 * were left out, their names with + between; no such file where there is no such row. */
enum status missing_write(const struct server_inputs *in, const char *scores,
                          struct error *err) MUST_USE;

#endif
