/* options.h -- the command line that both daemons share, and how a daemon begins.
 *
 *   -c FILE  -n  -v  -h  -V  --set KEY.PATH=VALUE  --log-json  --insecure-seed N  --export FILE
 *
 * and up to OPTIONS_OWN_MAX options of the daemon's own without a value, and as many with one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_OPTIONS_H
#define COLONNADE_DAEMON_OPTIONS_H

#include "common/base/log.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_SETS_MAX = 256, OPTIONS_OWN_MAX = 16 };

struct options {
    const char *file; /* -c */
    const char *sets[OPTIONS_SETS_MAX];
    size_t sets_n;
    bool check_only, log_json, seeded;
    enum log_level level;
    uint64_t seed;
    const char *export_file; /* NULL: none */
    bool own[OPTIONS_OWN_MAX];
    const char *own_value[OPTIONS_OWN_MAX]; /* NULL: not given */
};

struct options_about {
    const char *program;                    /* "vfl-server" */
    const char *usage;                      /* the whole text of -h */
    const char *own[OPTIONS_OWN_MAX];       /* names of its own flags; NULL ends the list */
    const char *own_value[OPTIONS_OWN_MAX]; /* and of its own options with a value */
};

/* -1: go on; otherwise the exit code (usage errors are said on stderr). */
int options_parse(struct options *o, const struct options_about *about, int argc, char **argv);

/* Before the first secret is read: starts logging as `who`, hardens the process, makes the arena of
 * secrets (a warning where it may be swapped out), ignores SIGPIPE, holds SIGHUP back, warns of
 * --insecure-seed.  STATUS_MEMORY: no arena. */
enum status options_begin(const struct options *o, const char *who, struct error *err) MUST_USE;

/* SIGHUP is handled from here on: one that came while files were being read comes now. */
void options_heed_reload(void);
/* The end is being written down: another order to stop, or new files, must not cut it short. */
void options_heed_nothing(void);

#endif
