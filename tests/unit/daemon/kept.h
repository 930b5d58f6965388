/* kept.h -- an alignment under the scratch folder, as one that was played would be.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_DAEMON_KEPT_H
#define COLONNADE_TESTS_UNIT_DAEMON_KEPT_H

#include "common/daemon/roll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"

/* Passes of a job by all keys of the configuration, in their order. */
struct kept {
    struct idlist ids;
    struct roll roll;
};

static inline void kept_well(enum status s, const struct error *err)
{
    if (s != STATUS_OK)
        fail_msg("%s", err->text);
}

static inline void kept_open(struct kept *k, const struct config_align *c, const char *name,
                             const char *extends, uint32_t labelled)
{
    struct alignment about = {.ids = labelled,
                              .rows = labelled > 0 ? CONFIG_ROWS_LABELLED : CONFIG_ROWS_COMMON};
    struct aligned old = {.n = 0};
    struct error err = {0};

    kept_well(idlist_read(&k->ids, c, &err), &err);
    strcpy(about.name, name);
    strcpy(about.extends, extends);
    about.keys_n = k->ids.keys_n;
    for (uint32_t i = 0; i < about.keys_n; i++) {
        strcpy(about.key[i].name, k->ids.key[i].name);
        about.key[i].columns = k->ids.key[i].form.columns;
    }
    if (extends[0] != 0) {
        kept_well(aligned_load(&old, scratch_dir(), extends, &err), &err);
        memcpy(about.extended, old.transcript, sizeof about.extended);
        aligned_deinit(&old);
    }
    kept_well(roll_open(&k->roll, &k->ids, scratch_dir(), &about, false, &err), &err);
}

/* Places of the entries of the pass, ALIGN_NOWHERE: none. */
static inline void kept_pass(struct kept *k, uint32_t pass, const uint32_t *places, uint32_t common)
{
    struct error err = {0};

    kept_well(roll_pass(&k->roll, pass, &err), &err);
    kept_well(roll_take(&k->roll, pass, common, places, &err), &err);
}

/* Written; transcript: its first byte. */
static inline void kept_close(struct kept *k, uint8_t transcript)
{
    const uint8_t digest[32] = {transcript};
    struct error err = {0};

    kept_well(roll_keep(&k->roll, scratch_dir(), digest, &err), &err);
    roll_close(&k->roll);
    idlist_deinit(&k->ids);
}

/* One pass: of this table, whose rows come to these places; labelled: of so many rows, 0: of the
 * common ones. */
static inline void kept_alignment(const struct config_align *c, const char *name,
                                  uint8_t transcript, const uint32_t *places, uint32_t labelled)
{
    uint32_t common = 0;
    struct kept k;

    kept_open(&k, c, name, "", labelled);
    for (uint32_t i = 0; i < k.roll.n; i++)
        common += places[i] != ALIGN_NOWHERE;
    kept_pass(&k, 0, places, labelled > 0 ? labelled : common);
    kept_close(&k, transcript);
}

#endif
