/* sample.h -- numbers for the tests of common/nn: a small stream of its own, tolerances, golden
 * vectors.
 *
 * Not common/crypto/rng: a test's inputs should not move when the generator does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_NN_SAMPLE_H
#define COLONNADE_TESTS_NN_SAMPLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

/* Uniform on (-amplitude, amplitude); Knuth's MMIX constants. */
static inline void sample_fill(float *out, size_t n, float amplitude, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        *state = *state * 6364136223846793005U + 1442695040888963407U;
        out[i] = amplitude * (float)((double)(*state >> 11) / 4503599627370496.0 - 1.0);
    }
}

static inline int sample_close(double got, double want, double relative, double absolute)
{
    return fabs(got - want) <= absolute + relative * fabs(want); /* false for a NaN */
}

/* How many of n values are not close. */
static inline size_t sample_misses(const float *got, const double *want, size_t n, double relative,
                                   double absolute)
{
    size_t misses = 0;

    for (size_t i = 0; i < n; i++)
        misses += !sample_close((double)got[i], want[i], relative, absolute);
    return misses;
}

/* The numbers of a JSON list; returns how many, at most `max`. */
static inline size_t sample_doubles(double *out, size_t max, const json_t *list)
{
    size_t n = json_array_size(list);

    for (size_t i = 0; i < n && i < max; i++)
        out[i] = json_number_value(json_array_get(list, i));
    return n < max ? n : max;
}

static inline size_t sample_floats(float *out, size_t max, const json_t *list)
{
    size_t n = json_array_size(list);

    for (size_t i = 0; i < n && i < max; i++)
        out[i] = (float)json_number_value(json_array_get(list, i));
    return n < max ? n : max;
}

#endif
