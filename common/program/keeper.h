/* keeper.h -- the process that starts the program of model.program, and ends it.
 *
 * It is forked off before this party has read a key, so that nothing that is started from it has
 * ever had one in its memory.  What it starts has no network (seccomp: no socket can be made but
 * pairs that lead nowhere), no descriptors of this process, no privileges, an environment of a few
 * names, a limit of memory, and on its descriptor 3 the one end of a socket.  What it prints is
 * read by the keeper, who passes on some of it (printed.h).  It ends with this process, however
 * sudden that is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_KEEPER_H
#define COLONNADE_COMMON_PROGRAM_KEEPER_H

#include "common/base/status.h"
#include "common/config/config.h"

#include <sys/types.h>

enum { KEEPER_ENDED_MAX = 64 };

struct keeper {
    int fd; /* -1: there is none */
    pid_t pid;
    uint32_t due; /* answers of it that were not waited for to their end */
};

/* The command and its limits are those of c, as they are now. */
enum status keeper_fork(struct keeper *k, const struct config_program *c,
                        struct error *err) MUST_USE;
/* Starts the program anew, whether or not it is at work; *fd: this side's end of the socket.
 * STATUS_CONFIG: it cannot be started, or not without network; STATUS_IO: nor in some time.  *fd is
 * -1 then. */
enum status keeper_start(struct keeper *k, int *fd, struct error *err) MUST_USE;
/* It is no more, or will be, after limit_ms at most; and how it ended, or was ended. */
void keeper_kill(struct keeper *k, uint32_t limit_ms, char ended[KEEPER_ENDED_MAX]);
/* It ends, and whatever it has started; some seconds are waited for that. */
void keeper_close(struct keeper *k);

/* One message, with a descriptor unless that is -1; flags: of send, besides MSG_NOSIGNAL. */
bool keeper_send(int to, const void *bytes, size_t n, int fd, int flags);
/* Until there is something to read from fd, or its end; false after limit_ms. */
bool keeper_await(int fd, uint32_t limit_ms);

#endif
