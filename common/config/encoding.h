/* encoding.h -- what is known of an encoding from a plan alone: one row for each, which rules of
 * plans, widths and sessions ask instead of a name.
 *
 * What an encoding does to values is behind the same name in common/secagg (encode_ops.h); what its
 * noise hides is priced by common/privacy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_ENCODING_H
#define COLONNADE_CONFIG_ENCODING_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct encoding {
    const char *is;  /* for the reference: what an embedding becomes */
    bool integers;   /* codes, which add up exactly; others are floats, or bytes of their own */
    bool noisy;      /* the same value gives other codes with other noise; integers only */
    bool residues;   /* codes of either sign, of which any residue will do */
    bool compresses; /* bytes of its own, decoded one upload at a time */
    bool ranks;      /* compresses: keeps the columns that matter most, float32 */
    uint32_t dims;   /* compresses otherwise: of the lattice */
    enum plan_encoding head; /* compresses: for the weights of a head, on their way down */
    /* Integers but residues: the largest code of one party. */
    uint32_t (*value_max)(const struct plan *p);
    /* Residues: how many different sums of `parties` codes there are, less one; 0: too many. */
    uint64_t (*span)(const struct plan *p, uint32_t parties);
    /* Bits of a value on its way up as its paper counts them; NULL: those of a float. */
    double (*paper_bits)(const struct plan *p, uint32_t members);
};

/* In the order of the enum, NULL at the end. */
extern const char *const encoding_names[PLAN_ENCODINGS + 1];

const struct encoding *encoding_row(enum plan_encoding e);
const struct encoding *encoding_of(const struct plan *p);

/* How many different sums of `parties` codes there are, less one: value_max M, or the row's span; 0
 * where embeddings are no integers. */
uint64_t encoding_sum_span(const struct plan *p, uint32_t parties);
/* Bits of a code of one party in clear, and of a sum; both 0 where embeddings are no integers.  A
 * code that is a residue like the sums has their width. */
uint32_t encoding_code_bits(const struct plan *p, uint32_t parties);
uint32_t encoding_sum_bits(const struct plan *p, uint32_t parties);
/* Bits of a value on its way up as the papers count them. */
double encoding_paper_bits(const struct plan *p, uint32_t members);

#endif
