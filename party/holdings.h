/* holdings.h -- where the shares of everybody's data lie (fedvs): a mapped file of the run's
 * folder.
 *
 * With a state_key it is `shares` there, and a later process finds them; it goes when the run is
 * complete, when it ends before all of them are here, and when the next one does not go on with
 * them.  Without one it has no name and ends with the process.  What is in it is, for any T parties
 * together, uniform noise; of T + 1 parties together it is their data: it is the owner's to read
 * alone (0600), like the party's own data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_HOLDINGS_H
#define COLONNADE_PARTY_HOLDINGS_H

#include "common/base/mapped.h"
#include "party/session.h"

struct holdings {
    const struct config_party *config;
    const char *folder; /* of the run */
    struct mapped file;
};

/* Of a zeroed struct, or of another run's holdings, whose file stays. */
void holdings_init(struct holdings *h, const struct config_party *config, const char *folder);
void holdings_deinit(struct holdings *h); /* the file stays; safe on a zeroed struct */
struct party_holdings holdings_for_session(struct holdings *h);
/* Nobody needs them again; no file is fine. */
enum status holdings_remove(struct holdings *h, struct error *err) MUST_USE;

#endif
