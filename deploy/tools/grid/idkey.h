/* idkey.h -- the secret of a folder of runs: their ids tell nobody else what is in the data.
 *
 * An id has digits by which other data are another run.  Of a plain digest of the data they would
 * let anybody who sees an id, as in results.csv, try what the data may be; so they are under a key,
 * DIR/id.key, which stays beside the runs and goes into no table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_IDKEY_H
#define COLONNADE_TOOLS_GRID_IDKEY_H

#include "common/crypto/digest.h"
#include "deploy/tools/grid/grid.h"

/* Into g->key.  Without a file there is none, unless it is to `begin`: then it is made. */
enum status idkey_load(struct grid *g, const char *dir, bool begin, struct error *err) MUST_USE;
/* What goes into an id of a file with this digest: its digest under the key; without one, nothing.
 */
enum status idkey_digest(uint8_t out[DIGEST_BYTES], const struct grid *g,
                         const uint8_t content[DIGEST_BYTES]) MUST_USE;

#endif
