/* encoding.c -- THE TABLE of encodings: their facts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/encoding.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/config/plan_noise.h"

#include <math.h>
#include <stddef.h>

enum { FLOAT_BITS = 32 };

#define NAME(id, name) #name,
const char *const encoding_names[PLAN_ENCODINGS + 1] = {PLAN_ENCODING_LIST(NAME) NULL};

static uint32_t pbm_max(const struct plan *p)
{
    return p->protocol.pbm.trials;
}

/* PBM-VFL, section 5: log2(b M). */
static double pbm_paper_bits(const struct plan *p, uint32_t members)
{
    return log2((double)p->protocol.pbm.trials * members);
}

static uint32_t fixed_max(const struct plan *p)
{
    return (1U << p->protocol.fixed.bits) - 1;
}

static uint64_t gaussian_span(const struct plan *p, uint32_t parties)
{
    return 2 * (uint64_t)plan_noise_reach(p, parties);
}

/* C-VFL: what a compressor leaves of a component. */
static double compressed_bits(const struct plan *p, uint32_t members)
{
    (void)members;
    return p->protocol.bits;
}

#define COMPRESSOR(name, dimensions)                                                               \
    .compresses = true, .dims = (dimensions), .head = ENCODING_##name, .paper_bits = compressed_bits

static const struct encoding rows[] = {
    [ENCODING_PBM] = {.is = "the count of `pbm.trials` biased coins, so noise and all",
                      .integers = true,
                      .noisy = true,
                      .value_max = pbm_max,
                      .paper_bits = pbm_paper_bits},
    [ENCODING_FIXED] = {.is = "the nearest of 2^`fixed.bits` points",
                        .integers = true,
                        .value_max = fixed_max},
    [ENCODING_FLOAT32] = {.is = "its bare value"},
    [ENCODING_GAUSSIAN] = {.is = "a point of a grid plus discrete Gaussian noise",
                           .integers = true,
                           .noisy = true,
                           .residues = true,
                           .span = gaussian_span},
    [ENCODING_SCALAR] = {.is = "`bits` bits of a dithered step", COMPRESSOR(SCALAR, 1)},
    [ENCODING_LATTICE] = {.is = "`bits` bits of a dithered point of the hexagonal lattice",
                          COMPRESSOR(LATTICE, 2)},
    [ENCODING_E8] = {.is = "`bits` bits of a dithered point of the lattice E8", COMPRESSOR(E8, 8)},
    [ENCODING_TOPK] = {.is = "the columns that matter most, as float32",
                       COMPRESSOR(SCALAR, 0),
                       .ranks = true},
};
_Static_assert(sizeof rows / sizeof *rows == PLAN_ENCODINGS, "each encoding has its row");

const struct encoding *encoding_row(enum plan_encoding e)
{
    CHECK((size_t)e < PLAN_ENCODINGS);
    return &rows[e];
}

const struct encoding *encoding_of(const struct plan *p)
{
    return encoding_row(p->protocol.encoding);
}

uint64_t encoding_sum_span(const struct plan *p, uint32_t parties)
{
    const struct encoding *e = encoding_of(p);

    return e->span != NULL ? e->span(p, parties) : (uint64_t)plan_value_max(p) * parties;
}

static uint32_t bits_of(uint64_t span)
{
    return span == 0 ? 0 : bits_width(span + 1);
}

uint32_t encoding_code_bits(const struct plan *p, uint32_t parties)
{
    return encoding_of(p)->residues ? encoding_sum_bits(p, parties) : bits_of(plan_value_max(p));
}

uint32_t encoding_sum_bits(const struct plan *p, uint32_t parties)
{
    return bits_of(encoding_sum_span(p, parties));
}

double encoding_paper_bits(const struct plan *p, uint32_t members)
{
    const struct encoding *e = encoding_of(p);

    return e->paper_bits != NULL ? e->paper_bits(p, members) : FLOAT_BITS;
}
