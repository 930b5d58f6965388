/* cell.h -- what a process gives up before it becomes the program of model.program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_CELL_H
#define COLONNADE_COMMON_PROGRAM_CELL_H

#include "common/config/config.h"

#include <sys/types.h>

enum { CELL_FD = 3 };

/* What could not be done, for a message. */
enum cell_step {
    CELL_DESCRIPTORS,
    CELL_MEMORY,
    CELL_PRIVILEGES,
    CELL_NETWORK,
    CELL_COMMAND,
    CELL_STEPS
};

const char *cell_step_words(enum cell_step step);

/* What it comes with: descriptors, of which it keeps its end of the socket, and where it prints;
 * and whom it may not stop. */
struct cell {
    int fd, said, prints;
    pid_t keeper, daemon;
};

/* Becomes the program, whose descriptor CELL_FD is cell->fd.  Returns only if that fails, with
 * what, and errno; `said` stays open meanwhile, and closes when it does not fail. */
enum cell_step cell_enter(const struct config_program *c, const struct cell *cell);

#endif
