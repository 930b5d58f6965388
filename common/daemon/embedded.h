/* embedded.h -- which inputs of a bottom its schema has embedded, as its net is told.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_EMBEDDED_H
#define COLONNADE_DAEMON_EMBEDDED_H

#include "common/data/schema.h"
#include "common/nn/net.h"

/* The tables of a bottom whose inputs s has made: s is settled, and schema_check_vectors() lets it
 * pass.  NULL, and a schema that embeds nothing: n is 0. */
struct nn_embedded embedded_of(const struct schema *s);

#endif
