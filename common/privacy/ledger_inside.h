/* ledger_inside.h -- the inside of a ledger, for the files of this room alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_INSIDE_H
#define COLONNADE_PRIVACY_LEDGER_INSIDE_H

#include "common/privacy/ledger_aligned.h"
#include "common/privacy/ledger_counts.h"
#include "common/privacy/ledger_history.h"
#include "common/privacy/ledger_ids.h"
#include "common/privacy/ledger_law.h"
#include "common/privacy/ledger_mechanism.h"
#include "common/privacy/ledger_members.h"
#include "common/privacy/ledger_peers.h"
#include "common/privacy/ledger_sets.h"
#include "common/privacy/ledger_store.h"

enum { LEDGER_SALT_BYTES = 16, LEDGER_BLOCK_MAX = 1 << 28 };

struct ledger {
    struct ledger_store store;
    struct ledger_counts counts;
    struct ledger_history history;
    struct ledger_peers peers;
    struct ledger_alignments alignments;
    struct ledger_ids ids;
    struct ledger_members members;
    struct ledger_sets sets;
    struct ledger_asked asked;
    uint8_t nobody[LEDGER_ID_BYTES]; /* digest of LEDGER_NOBODY */
    struct digest_mac persons;       /* names those that have rows */
    struct digest_mac data;          /* what names data in the file: nobody can try values on it */
    uint8_t salt[LEDGER_SALT_BYTES]; /* of the keys of digests */

    /* Releases and participations: what was summed up (ledger_past.h). */
    struct account_entry mechanism[ACCOUNT_MECHANISMS_MAX];
    char mechanism_text[ACCOUNT_MECHANISMS_MAX][LEDGER_MECHANISM_MAX];
    size_t mechanisms;
    size_t current;              /* the mechanism in use; ACCOUNT_MECHANISMS_MAX when none is */
    struct account_entry wanted; /* for it, as it was asked */

    struct ledger_law *law;
    size_t laws, laws_max;
    struct ledger_walk walk;

    uint32_t *slots; /* of the block that is worked out */
    size_t slots_max;
    uint64_t records, releases_since; /* of the log, about; that an opening has to work out */
};

#endif
