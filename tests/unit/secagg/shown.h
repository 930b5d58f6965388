/* shown.h -- rounds of any shape that are shown to their parties, for tests.
 *
 * Values and noise come from keyed streams: those of member m in a round can be drawn again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_SHOWN_H
#define COLONNADE_TESTS_SECAGG_SHOWN_H

#include "tests/unit/secagg/generation.h"

enum { SHOWN_PARTIES_MAX = 7, SHOWN_WIDTH_MAX = 9 };

struct shown_case {
    enum plan_aggregation aggregation;
    enum plan_encoding encoding;
    bool concat;
    uint32_t parties, width, rows;
    uint32_t bits; /* fixed and compressors: bits; pbm: trials */
    uint32_t segments, privacy;
    double clip;
};

struct shown {
    struct shown_case c;
    struct generation g;
    size_t n;
    uint64_t number;           /* of the round */
    struct secagg_round round; /* importance and scratch are there */
    float *x[SHOWN_PARTIES_MAX];
    float *combined; /* n, or n * parties */
    uint8_t *shown;
    size_t shown_bytes;
    float importance[SHOWN_WIDTH_MAX];
};

/* Everything that exists, small, at random; chunks of 2048 values begin and end within. */
struct shown_case shown_random_case(struct rng *r, enum plan_aggregation a,
                                    enum plan_encoding encoding);
/* The shape of that, of member `self`. */
struct secagg_shape shown_shape(const struct shown_case *c, uint32_t self);

/* Keys and values from r. */
void shown_init(struct shown *w, const struct shown_case *c, struct rng *r);
void shown_deinit(struct shown *w);
/* A round: all protect, the server adds in a shuffled order, combines and shows (CHECK). */
void shown_run(struct shown *w);
/* y[n]: secagg_alone of member m in the last round. */
void shown_alone(const struct shown *w, uint32_t m, float *y);
/* Member m's codes, noise and all, as they are in clear. */
void shown_codes(const struct shown *w, uint32_t m, uint32_t *q);
/* secagg_others of member m with these bytes and its own part. */
enum status shown_others(const struct shown *w, uint32_t m, float *out, const uint8_t *bytes);

#endif
