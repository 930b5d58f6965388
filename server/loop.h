/* loop.h -- the server's session under libuv: sockets, timers, signals, worker threads.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_LOOP_H
#define COLONNADE_SERVER_LOOP_H

#include "server/prepare.h"

/* Listens, runs the session to its end, writes summary.json, metrics.jsonl and model.safetensors
 * into the state directory.  Returns the run's own status.  With `stand` it plays the jobs of its
 * queue one after another until it is told to stop, each from `command` and a plan of its own. */
enum status server_loop_run(const struct server_inputs *in, const struct server_options *o,
                            const struct options *command, struct error *err) MUST_USE;

#endif
