/* models.h -- the packages that a side keeps: state/models/RUN/model.safetensors, and which of them
 * is in use.
 *
 * A package whose run is over is never written over.  One that was kept before (a party's, as its
 * last step was done) has a file `open` beside it until then: what the same run keeps later,
 * because its server had lost its end and played it anew, takes its place.  So of one trail there
 * is one package.  state/models/served lists the runs that were put into use, one a line, the one
 * in use last: a run's end puts its own there, going back takes it away.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_MODELS_H
#define COLONNADE_DAEMON_MODELS_H

#include "common/daemon/package.h"

enum { MODELS_MAX = 4096 }; /* that one side keeps */

/* Writes a package (filled in but for its name, package_print).  Its run is
 * called by the first 16 digits of the plan's digest, and -2, -3, ... where another run of the same
 * plan has that name.  The same package again is the one that is there, and what this run (plan and
 * trail) has kept before it was over gives way.  over: it is over now. */
enum status models_keep(const char *state, struct package *p, const struct nn_net *n, bool over,
                        struct error *err) MUST_USE;
/* What was kept as `run` before that was over goes, and out of use: nothing, where it is over or
 * there is none. */
enum status models_withdraw(const char *state, const char *run, struct error *err) MUST_USE;
/* Of what is kept: predictions are by this one, unless another is named. */
enum status models_use(const char *state, const char *run, struct error *err) MUST_USE;

/* Is it a name that a run can have? */
bool models_name(const char *run);
/* Of a command line: "served" is the one in use, "". */
const char *models_asked(const char *run);
/* p is initialised; run "": the one in use. */
enum status models_load(const char *state, const char *run, struct package *p,
                        struct error *err) MUST_USE;
/* The one of this run, however it is called here: another side has kept more of its plan, or fewer.
 * "": there is none.  Two of one run: STATUS_CONFIG, for nobody here knows which is the others'. */
enum status models_find(const char *state, const uint8_t plan[DIGEST_BYTES],
                        const uint8_t trail[DIGEST_BYTES], char run[PACKAGE_RUN_MAX + 1],
                        struct error *err) MUST_USE;
/* The package of the run that a plan goes on from (training.from, training.from_trail): p is
 * initialised.  STATUS_CONFIG: it is not kept here.  by: as below. */
enum status models_load_from(const char *state, const struct plan *plan, const char *by,
                             struct package *p, struct error *err) MUST_USE;
/* The run of folder state/runs/`by` ("": of the state folder itself) goes on from `run`, which is
 * not removed while that has a checkpoint: a process that takes it up again reads the model anew.
 */
enum status models_need(const char *state, const char *run, const char *by,
                        struct error *err) MUST_USE;
/* "" when none is. */
enum status models_served(const char *state, char run[PACKAGE_RUN_MAX + 1],
                          struct error *err) MUST_USE;
/* Names in their order; how many, in *n. */
enum status models_list(const char *state, char (*runs)[PACKAGE_RUN_MAX + 1], size_t max, size_t *n,
                        struct error *err) MUST_USE;
/* Not the one in use, nor one that a run which is not complete needs: STATUS_CONFIG. */
enum status models_remove(const char *state, const char *run, struct error *err) MUST_USE;
/* Back to the one that was in use before, which is still there. */
enum status models_rollback(const char *state, char run[PACKAGE_RUN_MAX + 1],
                            struct error *err) MUST_USE;

#endif
