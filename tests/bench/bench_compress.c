/* bench_compress.c -- what a message costs its packer and each of its readers, beside a naive twin.
 *
 * The twin does what pack does with a scale that is already there, one block after the other: the
 * nearest point by looking at all corners around it (2 x 2^8 of E8), one code after the other into
 * the payload.  The search for the scale is shown on its own.  Values: tanh of normal numbers, as
 * embeddings are.  Medians, in processor time; ratios are taken within each turn, since the machine
 * may be shared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/compress/compress.h"
#include "common/compress/lattice.h"
#include "common/compress/lattice_scale.h"
#include "common/compress/lattice_stream.h"
#include "common/crypto/rng.h"
#include "tests/lib/median.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPETITIONS = 9, VALUES_MAX = 25600, DIMS = 8 };

struct bench {
    struct compress c;
    struct lattice_fit fit;
    size_t n, turns;
};

static float x[VALUES_MAX], y[VALUES_MAX];
static uint8_t payload[VALUES_MAX * 4 + 64];
static uint32_t codes[VALUES_MAX];
static uint16_t t[VALUES_MAX];
static const uint8_t key[32] = {7};

static void pack(struct bench *b)
{
    compress_pack(&b->c, payload, x, b->n, &(struct compress_round){.dither = key});
}

static void unpack(struct bench *b)
{
    CHECK(compress_unpack(&b->c, y, payload, b->n, &(struct compress_round){.dither = key}));
}

static void search(struct bench *b)
{
    lattice_scale_fit(&b->fit, b->c.kind, b->c.bits, x, b->n);
}

static void quantise(struct bench *b)
{
    lattice_pack_as(&b->fit, payload, x, b->n, key);
}

/* --- the twin: round regions of Z, A2, E8, blocks that overload left as they are --- */

static void dither_of(uint32_t dims, double *u, const uint16_t *from)
{
    double v[DIMS];

    for (uint32_t i = 0; i < dims; i++)
        v[i] = (from[i] + 0.5) / 65536;
    if (dims == 1) {
        u[0] = v[0];
    } else if (dims == 2) {
        u[0] = v[0] + v[1] / 2;
        u[1] = sqrt(3) / 2 * v[1];
    } else {
        u[0] = 2 * v[0] - v[1] + v[7] / 2;
        for (int i = 1; i < 6; i++)
            u[i] = v[i] - v[i + 1] + v[7] / 2;
        u[6] = v[6] + v[7] / 2;
        u[7] = v[7] / 2;
    }
}

static void keep_if_nearer(double *best, double *point, const double *at, const double *from,
                           uint32_t dims)
{
    double sum = 0;

    for (uint32_t i = 0; i < dims; i++)
        sum += (at[i] - from[i]) * (at[i] - from[i]);
    if (sum < *best) {
        *best = sum;
        memcpy(point, at, dims * sizeof *at);
    }
}

static void nearest(uint32_t dims, double *point, const double *from)
{
    double best = INFINITY, at[DIMS];

    for (int half = 0; half < (dims == 1 ? 1 : 2); half++)
        for (unsigned corner = 0; corner < 1U << dims; corner++) {
            int sum = 0;

            for (uint32_t i = 0; i < dims; i++) {
                const double side = dims == 2 && i == 1 ? sqrt(3) : 1;
                const int low = (int)floor(from[i] / side - 0.5 * half) + (int)(corner >> i & 1);

                sum += low;
                at[i] = side * (low + 0.5 * half);
            }
            if (dims < DIMS || sum % 2 == 0)
                keep_if_nearer(&best, point, at, from, dims);
        }
}

static void encode(uint32_t dims, uint32_t *code, const double *point)
{
    int v[DIMS], h;

    if (dims == 1) {
        code[0] = (uint32_t)(int)point[0];
    } else if (dims == 2) {
        const double j = round(point[1] / (sqrt(3) / 2));

        code[0] = (uint32_t)(int)round(point[0] - j / 2);
        code[1] = (uint32_t)(int)j;
    } else {
        h = (int)round(2 * point[7]);
        for (int i = 0; i < DIMS; i++)
            v[i] = (int)round(point[i] - h / 2.0);
        for (int i = 5; i >= 0; i--)
            v[i] += v[i + 1];
        v[0] /= 2;
        v[7] = h;
        for (int i = 0; i < DIMS; i++)
            code[i] = (uint32_t)v[i];
    }
}

static void naive(struct bench *b)
{
    const uint32_t dims = lattice_dims(b->c.kind);
    double u[DIMS], at[DIMS], point[DIMS];
    struct prg stream;

    lattice_stream_begin(&stream, key);
    lattice_stream_fill(&stream, t, b->n);
    lattice_stream_end(&stream);
    for (size_t k = 0; k < b->n; k += dims) {
        dither_of(dims, u, t + k);
        for (uint32_t i = 0; i < dims; i++)
            at[i] = (double)(x[k + i] / b->fit.scale) + u[i];
        nearest(dims, point, at);
        encode(dims, codes + k, point);
    }
    bits_naive_pack(payload, codes, b->n, b->c.bits);
}

/* --- measuring --- */

static double time_of(void (*work)(struct bench *), struct bench *b, size_t turns)
{
    const double start = clock_cpu_s();

    for (size_t k = 0; k < turns; k++)
        work(b);
    return 1e6 * (clock_cpu_s() - start) / (double)turns;
}

static void compare(const char *name, enum plan_encoding kind, uint32_t bits, size_t n)
{
    struct bench b = {.c = {kind, bits, kind == ENCODING_TOPK ? 64 : 0}, .n = n};
    const size_t turns = 200000 / n + 1;
    double all[REPETITIONS], found[REPETITIONS], back[REPETITIONS], gain[REPETITIONS];

    for (int k = 0; k < REPETITIONS; k++) {
        all[k] = time_of(pack, &b, turns);
        back[k] = time_of(unpack, &b, turns);
        if (kind == ENCODING_TOPK)
            continue;
        found[k] = time_of(search, &b, turns);
        b.fit.square = false;
        const double ours = time_of(quantise, &b, turns);
        gain[k] = time_of(naive, &b, turns / 20 + 1) / ours;
    }
    printf("%-7s b = %u, %5zu values: pack %6.1f us", name, bits, n, median(all, REPETITIONS));
    if (kind != ENCODING_TOPK)
        printf(" (scale %6.1f)", median(found, REPETITIONS));
    printf(", unpack %6.1f us", median(back, REPETITIONS));
    if (kind != ENCODING_TOPK)
        printf("; naive twin %5.1f x", median(gain, REPETITIONS));
    printf("\n");
}

int main(void)
{
    static const char *const name[] = {"scalar", "lattice", "e8", "topk"};
    static const size_t sizes[] = {1600, 25600};
    static const uint32_t bits[] = {2, 4, 8};
    struct rng r;

    CHECK(rng_init_key(&r, key) == STATUS_OK);
    for (size_t i = 0; i < VALUES_MAX; i++)
        x[i] = (float)tanh(rng_normal(&r));
    rng_deinit(&r);
    printf("compressors, medians of %d\n", REPETITIONS);
    for (int kind = 0; kind < 4; kind++)
        for (size_t s = 0; s < 2; s++)
            for (size_t k = 0; k < 3; k++)
                compare(name[kind], (enum plan_encoding)(ENCODING_SCALAR + kind), bits[k],
                        sizes[s]);
    return 0;
}
