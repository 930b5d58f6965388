/* noise.h -- the laws of noise that an upload may carry: one row for each, which the accountant,
 * the ledger and the price of a plan ask.  A law is known by the word of its encoding.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_NOISE_H
#define COLONNADE_PRIVACY_NOISE_H

#include "common/base/buf.h"
#include "common/privacy/account.h"
#include "common/privacy/rdp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A full ledger and what is about to be added; each entry needs at most the tables of M,
 * M - colluders, M - t and 1. */
enum { NOISE_ENTRIES_MAX = ACCOUNT_MECHANISMS_MAX + 1, NOISE_TABLES_MAX = 4 * NOISE_ENTRIES_MAX };
enum { NOISE_LABEL_MAX = 64 };

/* Tables of pbm, built once for all claims and all orders. */
struct noise_tables {
    size_t n;
    uint64_t outcomes;
    uint32_t wanted[NOISE_TABLES_MAX]; /* M_eff asked for; the table's own when memory sufficed */
    struct rdp_pbm table[NOISE_TABLES_MAX];
};
void noise_tables_free(struct noise_tables *t);

/* What is added to the divergence of a composition: scale * divergence(excess). */
struct noise_term {
    double scale;
    double (*divergence)(const struct noise_term *t, double excess);
    /* Whichever of these the divergence reads. */
    const struct rdp_pbm *table;
    double beta;
    double shift, sigma;     /* Gaussian: releases, or steps */
    double tau, coordinates; /* of the sum of several */
};

/* How a claim looks at an entry's uploads. */
struct noise_sight {
    double releases; /* vectors that can depend on what changes */
    bool sample;     /* every honest party's upload changes, not the target's alone */
    uint32_t honest; /* parties whose data the adversary does not hold */
    uint32_t m_eff;  /* parties whose noise hides the target; a term may make it fewer */
};

enum noise_type { NOISE_WHOLE, NOISE_REAL, NOISE_FLAG };
struct noise_parameter {
    const char *name;
    enum noise_type type;
    size_t at; /* in struct account_entry */
};

struct noise {
    bool inexact; /* draws are off their law by 2^-ACCOUNT_DISTANCE_BITS each, which costs delta */
    /* As a ledger keeps them, in this order. */
    const struct noise_parameter *parameter;
    size_t parameters;
    bool (*possible)(const struct account_entry *e);
    struct noise_term (*term)(const struct account_entry *e, struct noise_sight *s,
                              struct noise_tables *t);
    /* In a ledger's list of mechanisms, and what is drawn with, in the price of a plan. */
    void (*label)(const struct account_entry *e, char out[NOISE_LABEL_MAX]);
    enum status (*describe)(const struct account_entry *e, struct buf *out);
};

/* Whole numbers and flags (0, 1) are exact in it. */
double noise_value(const struct noise_parameter *p, const struct account_entry *e);

/* NULL: no noise. */
const struct noise *noise_row(enum account_kind kind);
/* In the order of the enum; the last is that of ACCOUNT_NONE. */
enum { NOISE_KINDS = ACCOUNT_NONE + 1 };
extern const char *const noise_names[NOISE_KINDS];

/* What `count` vectors of discrete or continuous Gaussian noise of deviation sigma cost when their
 * values move by `shift`: a term for steps. */
struct noise_term noise_gaussian(double count, double shift, double sigma);

#endif
