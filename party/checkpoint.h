/* checkpoint.h -- this party's part of a run in a sealed file of the run's folder.
 *
 * Written when the process ends before its model is final, if there is a state_key; read when the
 * party starts again; removed when the run is complete.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CHECKPOINT_H
#define COLONNADE_PARTY_CHECKPOINT_H

#include "party/prepare.h"
#include "party/session.h"

/* Has the process left something that another may go on with?  The server's word that the run is
 * over is not enough: it may lie, or be mistaken.  Only the last broadcast makes a model final.  A
 * party that its own ledger stops leaves what its operator lets that ledger go in. */
bool party_checkpoint_needed(const struct party_report *rep, enum wire_outcome outcome);

/* Leaves out empty when there is no checkpoint.  The caller ends with secret_buf_deinit, whatever
 * the answer. */
enum status party_checkpoint_load(const struct party_inputs *in, const char *folder,
                                  struct buf *out, struct error *err) MUST_USE;
/* The one before it. */
enum status party_checkpoint_load_before(const struct party_inputs *in, const char *folder,
                                         struct buf *out, struct error *err) MUST_USE;
enum status party_checkpoint_save(const struct party_inputs *in, const char *folder,
                                  const struct party_session *p, struct error *err) MUST_USE;
/* The same for bytes that the session has made already; from any thread. */
enum status party_checkpoint_write(const struct party_inputs *in, const char *folder,
                                   const struct wire_bytes *bytes, struct error *err) MUST_USE;
enum status party_checkpoint_remove(const struct party_inputs *in, const char *folder,
                                    struct error *err) MUST_USE;

#endif
