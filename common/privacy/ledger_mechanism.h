/* ledger_mechanism.h -- a mechanism as text, and back: the ledger keeps it so that a later kind or
 * parameter needs no other layout.
 *
 *     pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 raw
 *     gaussian sigma=2.5 clip=1 step=0.0625 clear=1 concat=0 coordinates=16 parties=5
 *         colluders=2 frozen
 *     none clear=1 concat=1 coordinates=4 parties=3 colluders=1 dp noise=1.5 steps=5
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_MECHANISM_H
#define COLONNADE_PRIVACY_LEDGER_MECHANISM_H

#include "common/privacy/account.h"

#include <stdbool.h>

enum { LEDGER_MECHANISM_MAX = 256 }; /* with the final 0 */

/* Parameters without a meaning for its kind are left out, and so are releases and participations:
 * one mechanism, one text.  What no mechanism can be is a programmer's mistake. */
void ledger_mechanism_print(char out[LEDGER_MECHANISM_MAX], const struct account_entry *m);
/* Only what _print gives: false for anything else. */
bool ledger_mechanism_read(struct account_entry *out, const char *text);
/* Whether the ledger keeps one account for both: of any two, also those that are not possible. */
bool ledger_mechanism_same(const struct account_entry *a, const struct account_entry *b);

/* The word for a bottom. */
const char *ledger_mechanism_bottom(enum account_bottom bottom);

#endif
