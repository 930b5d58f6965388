/* encoding.c -- THE TABLE of encodings: their facts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/encoding.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/config/aggregation.h"
#include "common/config/plan_noise.h"
#include "common/config/plan_rules_groups.h"

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

/* --- what does not fit --- */

/* The sum of all parties' codes is held in 32 bits with one to spare. */
#define RULES_SUM_MAX ((uint64_t)1 << 31)

/* The prime is above max(value M, M + K + T).  With K + T <= M <= 256 the second is never the one
 * that passes PLAN_PRIME_MAX. */
static bool coded_beyond_prime(const struct plan *p, enum plan_encoding encoding, uint64_t value)
{
    const uint32_t prime = aggregation_of(p)->prime_max;

    return prime > 0 && p->protocol.encoding == encoding && value * p->shape.parties >= prime;
}

static bool coded_pbm_too_large(const struct plan *p)
{
    return coded_beyond_prime(p, ENCODING_PBM, p->protocol.pbm.trials);
}

static bool coded_fixed_too_large(const struct plan *p)
{
    return coded_beyond_prime(p, ENCODING_FIXED, ((uint64_t)1 << p->protocol.fixed.bits) - 1);
}

static bool fixed_sum_too_large(const struct plan *p)
{
    return p->protocol.encoding == ENCODING_FIXED && !aggregation_of(p)->polynomial &&
           !plan_keeps_apart(p) &&
           ((uint64_t)1 << p->protocol.fixed.bits) * p->shape.parties > RULES_SUM_MAX;
}

static bool beta_wide(const struct plan *p)
{
    return p->protocol.pbm.beta > 0.25 && !p->protocol.pbm.wide;
}

/* 1/2 +- beta must differ in units of 2^-16, or every coin is fair and the sum says nothing. */
static bool beta_too_small(const struct plan *p)
{
    return p->protocol.encoding == ENCODING_PBM && p->protocol.pbm.beta < 1.0 / 65536;
}

static const struct plan_rule rules[] = {
    {.broken = coded_pbm_too_large,
     .key = "protocol.pbm.trials",
     .with = {"protocol.aggregation"},
     .reason = "the sum over all parties must stay below 65521, the largest prime of coded shares"},
    {.broken = coded_fixed_too_large,
     .key = "protocol.fixed.bits",
     .with = {"protocol.aggregation"},
     .reason = "the sum over all parties must stay below 65521, the largest prime of coded shares"},
    {.broken = fixed_sum_too_large,
     .key = "protocol.fixed.bits",
     .reason = "the sum over all parties must stay within 2^31"},
    {.broken = beta_wide,
     .key = "protocol.pbm.beta",
     .with = {"protocol.pbm.wide"},
     .reason = "is over 0.25 (PBM-VFL): it needs protocol.pbm.wide true"},
    {.broken = beta_too_small,
     .key = "protocol.pbm.beta",
     .reason = "below 2^-16 every coin is fair and the sums say nothing"},
};
const struct plan_rules encoding_rules = PLAN_RULES(rules);
