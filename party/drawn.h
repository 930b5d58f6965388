/* drawn.h -- statistics with noise of a party's own columns, drawn once for a table and a schema.
 *
 * Whoever sees two draws of the same sums knows their mean better than one tells.  So a draw is
 * kept, sealed, in STATE/statistics/, by the digest of all that it was made of, and every run of
 * the same rows and schema has the same one.  A draw has a number of its own, by which the ledger
 * knows whether it was charged: one that is made because the file was removed is charged anew.
 * Nothing of it leaves before that (books.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_DRAWN_H
#define COLONNADE_PARTY_DRAWN_H

#include "common/config/config.h"
#include "common/crypto/digest.h"
#include "common/privacy/statistics.h"
#include "party/persons.h"

struct drawn {
    const struct config_party *config;
    struct statistics statistics;
    double rho;
    struct account_entry entry;   /* its charge, once */
    uint8_t digest[DIGEST_BYTES]; /* of schema and rows: never leaves */
    uint8_t draw[DIGEST_BYTES];   /* its number; zeros: there is none yet (-n) */
};

/* What s leaves open, before a row is read.  Both outlive *d. */
enum status drawn_begin(struct drawn *d, const struct config_party *config, const struct schema *s,
                        struct error *err) MUST_USE;
/* Of the rows that are trained on, as they were read; s is settled then.  looks: by the draw that
 * is there, or, where there is none, by the ranges alone, and nothing is written. */
enum status drawn_make(struct drawn *d, struct schema *s, const struct table *train,
                       const struct persons *persons, bool looks, struct error *err) MUST_USE;
/* data.scale: dp, of the features of s once it is settled. */
enum status drawn_scale(const struct drawn *d, struct scale *out, const struct schema *s,
                        size_t rows, struct error *err) MUST_USE;
void drawn_deinit(struct drawn *d); /* safe on a zeroed struct */

#endif
