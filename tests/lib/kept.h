/* kept.h -- an alignment under the scratch folder, as one that was played would be.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_LIB_KEPT_H
#define COLONNADE_TESTS_LIB_KEPT_H

#include "common/daemon/roll.h"

enum { KEPT_MAX = 64 };

/* Passes of a job by all keys of the configuration, in their order, the next one from where it left
 * off: places of the entries of the pass, ALIGN_NOWHERE: none. */
struct kept {
    struct idlist ids;
    struct roll roll;
};
void kept_open(struct kept *k, const struct config_align *c, const char *name, const char *extends,
               uint32_t labelled);
void kept_pass(struct kept *k, uint32_t pass, const uint32_t *places, uint32_t common);
/* Written; transcript: its first byte. */
void kept_close(struct kept *k, uint8_t transcript);

/* One pass: of this table, whose rows come to these places; labelled: of so many rows, 0: of the
 * common ones. */
void kept_alignment(const struct config_align *c, const char *name, uint8_t transcript,
                    const uint32_t *places, uint32_t labelled);

#endif
