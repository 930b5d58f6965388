/* options.c -- getopt_long for both daemons.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/options.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_SET = 256,
    OPT_LOG_JSON,
    OPT_SEED,
    OPT_EXPORT,
    OPT_OWN,
    OPT_OWN_VALUE = OPT_OWN + OPTIONS_OWN_MAX
};

static const struct option common_options[] = {
    {"set", required_argument, NULL, OPT_SET},
    {"log-json", no_argument, NULL, OPT_LOG_JSON},
    {"insecure-seed", required_argument, NULL, OPT_SEED},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
};

enum { COMMON_OPTIONS = sizeof common_options / sizeof *common_options };

static bool parse_seed(const char *text, uint64_t *seed)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && text[0] >= '0' && text[0] <= '9';
}

static int wrong(const struct options_about *about, const char *what, const char *value)
{
    fprintf(stderr, "%s: %s%s\n", about->program, what, value);
    return 2;
}

/* One option; -1: go on. */
static int take(struct options *o, const struct options_about *about, int c)
{
    switch (c) {
    case 'c': o->file = optarg; break;
    case 'n': o->check_only = true; break;
    case 'v': o->level = LOG_LEVEL_DEBUG; break;
    case 'h': fputs(about->usage, stdout); return 0;
    case 'V': printf("%s " VFL_VERSION "\n", about->program); return 0;
    case OPT_SET:
        if (o->sets_n == OPTIONS_SETS_MAX)
            return wrong(about, "too many --set: ", optarg);
        o->sets[o->sets_n++] = optarg;
        break;
    case OPT_LOG_JSON: o->log_json = true; break;
    case OPT_EXPORT: o->export_file = optarg; break;
    case OPT_SEED:
        o->seeded = true;
        if (!parse_seed(optarg, &o->seed))
            return wrong(about, "--insecure-seed: a whole number expected, not ", optarg);
        break;
    default:
        if (c < OPT_OWN || c >= OPT_OWN_VALUE + OPTIONS_OWN_MAX) {
            fputs(about->usage, stderr);
            return 2;
        }
        if (c >= OPT_OWN_VALUE)
            o->own_value[c - OPT_OWN_VALUE] = optarg;
        else
            o->own[c - OPT_OWN] = true;
    }
    return -1;
}

int options_parse(struct options *o, const struct options_about *about, int argc, char **argv)
{
    struct option all[COMMON_OPTIONS + 2 * OPTIONS_OWN_MAX + 1] = {{NULL, 0, NULL, 0}};
    int c, code, n = COMMON_OPTIONS;

    *o = (struct options){.level = LOG_LEVEL_INFO};
    memcpy(all, common_options, sizeof common_options);
    for (int i = 0; i < OPTIONS_OWN_MAX && about->own[i] != NULL; i++)
        all[n++] = (struct option){about->own[i], no_argument, NULL, OPT_OWN + i};
    for (int i = 0; i < OPTIONS_OWN_MAX && about->own_value[i] != NULL; i++)
        all[n++] = (struct option){about->own_value[i], required_argument, NULL, OPT_OWN_VALUE + i};
    optind = 0; /* glibc: start anew, so that tests may call this twice */
    while ((c = getopt_long(argc, argv, "c:nvhV", all, NULL)) != -1) {
        code = take(o, about, c);
        if (code >= 0)
            return code;
    }
    if (o->file == NULL || optind != argc) {
        fputs(about->usage, stderr);
        return 2;
    }
    return -1;
}

static void mask_reload(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

void options_heed_reload(void)
{
    mask_reload(SIG_UNBLOCK);
}

void options_heed_nothing(void)
{
    static const int orders[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        signal(orders[i], SIG_IGN);
}

enum status options_begin(const struct options *o, const char *who, struct error *err)
{
    bool locked;

    mask_reload(SIG_BLOCK);
    log_init(who, o->level, o->log_json);
    signal(SIGPIPE, SIG_IGN);
    secret_harden_process();
    if (secret_arena_open(&locked) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "no memory for keys");
    if (!locked)
        log_warn("keys may be swapped to disk: the limit on locked memory is under %d KiB "
                 "(ulimit -l, LimitMEMLOCK=)",
                 SECRET_ARENA_BYTES / 1024);
    if (o->seeded && !o->check_only)
        log_warn("--insecure-seed: model and noise are reproducible, this run is NOT PRIVATE");
    return STATUS_OK;
}
