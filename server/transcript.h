/* transcript.h -- --transcript FILE: what the server saw and said, for whoever audits a run.
 *
 * One JSON object a line; numbers have nine digits, enough to read the same float32 again:
 *
 *   {"kind":"plan","text":"..."}                     first: the canonical text of the plan
 *   {"kind":"upload","round":7,"party":1,"values":[...]}
 *        clear aggregation only: the embeddings of the roster's first party as decoded, rows x P
 *   {"kind":"round","round":7,"generation":1,"purpose":"train","place":3,"sweep":0,"rows":[...],
 *    "sum":[...],"gradient":[...]}
 *        after its uploads: the rows by their place in the label file, what the head took (rows x
 *        inputs), and in training what went down in the plan's form (rows x P, or D and W)
 *
 * The file (mode 0600) holds everything that a curious server could keep, labels left out: treat it
 * as the data itself.  A process that goes on with a run appends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRANSCRIPT_H
#define COLONNADE_SERVER_TRANSCRIPT_H

#include "common/base/status.h"
#include "common/wire/message.h"

#include <stddef.h>
#include <stdint.h>

struct transcript;

struct transcript_upload {
    uint64_t round;
    uint32_t party; /* roster index */
    const float *values;
    size_t n;
};

struct transcript_round {
    uint64_t round, generation, place, sweep;
    enum wire_purpose purpose;
    uint32_t rows;
    const uint32_t *row; /* NULL: place .. place + rows */
    const float *sum, *gradient;
    size_t sum_n, gradient_n; /* gradient_n 0: nothing went down */
};

/* STATUS_IO with the file's name, here and below. */
enum status transcript_open(struct transcript **out, const char *path, struct error *err) MUST_USE;
void transcript_close(struct transcript *t); /* NULL is fine */

enum status transcript_plan(struct transcript *t, const void *text, size_t n,
                            struct error *err) MUST_USE;
enum status transcript_upload(struct transcript *t, const struct transcript_upload *u,
                              struct error *err) MUST_USE;
enum status transcript_round(struct transcript *t, const struct transcript_round *r,
                             struct error *err) MUST_USE;

#endif
