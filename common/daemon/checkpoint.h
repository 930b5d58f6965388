/* checkpoint.h -- a process's part of an unfinished run, in a sealed file of its state directory.
 *
 * Written again and again during a run, if there is a state_key; read when the process starts
 * again; removed when the run is complete.  What is in it is the session's business.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_CHECKPOINT_H
#define COLONNADE_DAEMON_CHECKPOINT_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/crypto/sealed.h"

/* Where it is, and the key that seals it ("": none is configured). */
struct checkpoint_place {
    const char *state, *state_key;
};

/* Initialises out; leaves it and the label empty when there is no checkpoint.  STATUS_CONFIG when
 * there is one that cannot be opened, or a key that cannot be used.  The caller ends with
 * secret_buf_deinit, whatever the answer.
 */
enum status checkpoint_load(const struct checkpoint_place *at, char label[SEALED_LABEL_MAX],
                            struct buf *out, struct error *err) MUST_USE;
/* The same of the one before the last (threats F1: two generations are kept). */
enum status checkpoint_load_before(const struct checkpoint_place *at, char label[SEALED_LABEL_MAX],
                                   struct buf *out, struct error *err) MUST_USE;
/* The last one becomes the one before.  Without a key: a warning that the run cannot be continued,
 * and STATUS_OK. */
enum status checkpoint_save(const struct checkpoint_place *at, const char *label, const void *bytes,
                            size_t n, struct error *err) MUST_USE;
/* STATUS_IO when there is one and it stays: another run could not begin here. */
enum status checkpoint_remove(const struct checkpoint_place *at, struct error *err) MUST_USE;

#endif
