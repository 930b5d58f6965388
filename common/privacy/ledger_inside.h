/* ledger_inside.h -- the inside of a ledger, for the files of this room alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_INSIDE_H
#define COLONNADE_PRIVACY_LEDGER_INSIDE_H

#include "common/privacy/ledger_counts.h"
#include "common/privacy/ledger_history.h"
#include "common/privacy/ledger_peers.h"
#include "common/privacy/ledger_store.h"

struct ledger {
    struct ledger_store store;
    struct ledger_counts counts;
    struct ledger_history history;
    struct ledger_peers peers;
    struct account_entry mechanism[ACCOUNT_MECHANISMS_MAX];
    size_t mechanisms;
    size_t current; /* the mechanism in use; ACCOUNT_MECHANISMS_MAX when none is */
};

#endif
