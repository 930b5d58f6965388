/* loop.h -- the party's session under libuv: one connection, timers, signals, a worker thread, the
 * ledger.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_LOOP_H
#define COLONNADE_PARTY_LOOP_H

#include "party/prepare.h"

/* Dials (again and again, until patience ends), runs the session to its end, writes summary.json
 * and model.safetensors into the state directory.  Returns the run's own status. */
enum status party_loop_run(const struct party_inputs *in, const struct party_options *o,
                           struct error *err) MUST_USE;

#endif
