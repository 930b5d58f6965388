/* compared.h -- what common/daemon/guesses keeps, of a simulated process: it outlives it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_COMPARED_H
#define COLONNADE_TESTS_SIM_COMPARED_H

#include "common/flow/ids.h"

enum { COMPARED_ROWS_MAX = 256 };

struct compared {
    uint8_t secret[IDS_SECRET_BYTES];
    size_t n;
    struct compared_row {
        uint8_t key[WIRE_KEY_BYTES], list[WIRE_DIGEST_BYTES], element[EQUALITY_BYTES];
        uint64_t count;
    } row[COMPARED_ROWS_MAX];
    bool full; /* a disk that takes nothing more */
};

void compared_init(struct compared *c, int who);
struct ids_counts compared_counts(struct compared *c);
uint64_t compared_with(const struct compared *c, const uint8_t key[WIRE_KEY_BYTES]);

struct sim;
/* How often `who` has compared with `other` in vain, of SIM_SERVER and parties. */
uint64_t compared_between(const struct sim *s, int who, int other);

#endif
