/* transcript.h -- --transcript FILE: what the server saw and said, for whoever audits a run.
 *
 * The file (mode 0600) holds everything that a curious server could keep, labels left out: treat it
 * as the data itself.  A process that goes on with a run appends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_TRANSCRIPT_H
#define COLONNADE_SERVER_TRAIN_TRANSCRIPT_H

#include "common/base/status.h"
#include "common/wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One JSON object a line; numbers have nine digits, enough to read the same float32 again:
 *
 *   {"kind":"plan","text":"..."}                     first: the canonical text of the plan
 *   {"kind":"ask","round":7,"generation":1,"purpose":"train","place":3,"sweep":0,"rows":[...]}
 *        before it is broadcast: the rows by their place in the label file; under async with a
 *        "party", who alone is asked, and that party's own place
 *   {"kind":"upload","round":7,"party":1,"late":false,"values":[...]}
 *        clear aggregation only: the embeddings of the roster's first party as decoded, rows x P;
 *        late: the round did not wait for it; then they are [] when it does not open, any more (64
 *        rounds later, or with a compressor in another generation) or at all
 *   {"kind":"sum","round":7,"sum":[...],"gradient":[...]}
 *        what the head took (rows x inputs), and in training what went down in the plan's form
 *        (rows x P, or D and W); a round without it came to nothing
 *   {"kind":"arrival","round":7,"party":1,"bytes":96,"us":1250}
 *        an upload (or a share, sealed) of so many bytes of content came from this party, so many
 *        microseconds after the last round was opened; whether or not it was taken
 *   {"kind":"end","outcome":"completed","exit":0}
 *        how this process ended; one that was killed has no such line
 *   {"kind":"again","party":2,"step":5,"steps":3}
 *        what went down for these steps was sent to this party once more
 *
 * A round's number names the last ask that has it: a server that was killed may use one again.
 */
struct transcript;

struct transcript_ask {
    uint64_t round, generation, place, sweep;
    enum wire_purpose purpose;
    int party; /* roster index; -1: all members */
    uint32_t rows;
    const uint32_t *row; /* NULL: place .. place + rows */
};

struct transcript_upload {
    uint64_t round;
    uint32_t party; /* roster index */
    bool late;
    const float *values;
    size_t n;
};

struct transcript_sum {
    uint64_t round;
    const float *sum, *gradient;
    size_t sum_n, gradient_n; /* gradient_n 0: nothing went down */
};

struct transcript_again {
    uint32_t party;
    uint64_t step, steps;
};

struct transcript_arrival {
    uint64_t round;
    uint32_t party; /* roster index */
    size_t bytes;
    uint64_t us;
};

struct transcript_end {
    enum wire_outcome outcome;
    int exit_code;
};

/* STATUS_IO with the file's name, here and below. */
enum status transcript_open(struct transcript **out, const char *path, struct error *err) MUST_USE;
void transcript_close(struct transcript *t); /* NULL is fine */

enum status transcript_plan(struct transcript *t, const void *text, size_t n,
                            struct error *err) MUST_USE;
enum status transcript_ask(struct transcript *t, const struct transcript_ask *a,
                           struct error *err) MUST_USE;
enum status transcript_upload(struct transcript *t, const struct transcript_upload *u,
                              struct error *err) MUST_USE;
enum status transcript_sum(struct transcript *t, const struct transcript_sum *m,
                           struct error *err) MUST_USE;
enum status transcript_again(struct transcript *t, const struct transcript_again *g,
                             struct error *err) MUST_USE;
enum status transcript_arrival(struct transcript *t, const struct transcript_arrival *r,
                               struct error *err) MUST_USE;
enum status transcript_end(struct transcript *t, const struct transcript_end *e,
                           struct error *err) MUST_USE;

#endif
