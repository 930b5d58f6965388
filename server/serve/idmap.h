/* idmap.h -- from ids to what is known of them: a hash table, whose keys stay where they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_IDMAP_H
#define COLONNADE_SERVER_SERVE_IDMAP_H

#include "common/base/status.h"
#include "common/crypto/siphash.h"

#include <stddef.h>
#include <stdint.h>

struct idmap_slot;

/* Zero-initialised: empty. */
struct idmap {
    struct idmap_slot *slot;
    size_t n, room; /* room: a power of two */
    uint8_t key[SIPHASH_KEY_BYTES];
};

void idmap_deinit(struct idmap *m); /* safe on a zeroed struct */
/* The id of n bytes is not in it; it and `value` outlive the map, or the id's removal. */
enum status idmap_put(struct idmap *m, const char *id, size_t n, void *value) MUST_USE;
void *idmap_get(const struct idmap *m, const char *id, size_t n); /* NULL: there is none */
void idmap_remove(struct idmap *m, const char *id, size_t n);     /* where there is one */

#endif
