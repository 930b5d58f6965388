/* ledger_aligned.h -- alignments of ids that this party has taken part in (docs/aligning.md): they
 * release no record, but each may tell others which ids it holds.
 *
 * One that has begun is noted before this side says how many ids it lists, and is told once others
 * may have compared something with its list, which is noted before that and takes a number like an
 * entry: who puts an older ledger back is seen by those who have seen that one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_ALIGNED_H
#define COLONNADE_PRIVACY_LEDGER_ALIGNED_H

#include "common/privacy/ledger.h"

enum { LEDGER_ALIGNMENTS_MAX = 1 << 16, LEDGER_ALIGNMENT_NAME_MAX = 40 };

struct ledger_alignment {
    char name[LEDGER_ALIGNMENT_NAME_MAX + 1]; /* a-z, 0-9 and '-' (CHECK) */
    uint8_t job[LEDGER_DIGEST_BYTES];         /* of its text */
    uint32_t ids;                             /* that this side listed */
    int64_t at_s;                             /* since 1970, UTC */
    bool told;
};

struct ledger_alignments {
    struct ledger_alignment *one; /* in their order */
    size_t n, n_max, told;
};
const struct ledger_alignments *ledger_alignments(const struct ledger *l);

/* Both durably.  `told` of it is ignored.  STATUS_BUDGET: it would be one of more than
 * LEDGER_ALIGNMENTS_MAX, or numbers have run out. */
enum status ledger_align_begin(struct ledger *l, const struct ledger_alignment *a,
                               struct error *err) MUST_USE;
/* The one that has begun last, and was not told (CHECK). */
enum status ledger_align_tell(struct ledger *l, struct error *err) MUST_USE;

#endif
