/* words.h -- what of an error of this side's the server may read.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_WORDS_H
#define COLONNADE_PARTY_WORDS_H

#include "common/base/status.h"
#include "common/wire/limits.h"

/* What failed on this machine, and where its files lie (`state`), is in the own log and no matter
 * of the server's.  Figures of a budget come from the ledger: other runs, and whose rows are
 * together, are in them. */
void words_for_server(char to[WIRE_TEXT_MAX + 1], const struct error *e, const char *state);

#endif
