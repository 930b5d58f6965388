/* main.c -- vfl-server: the command line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/log.h"
#include "common/base/process.h"
#include "common/crypto/secret.h"
#include "common/nn/net.h"
#include "server/loop.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETS_MAX = 256, PRINT_MAX = 1 << 20 };
enum { OPT_SET = 256, OPT_LOG_JSON, OPT_SEED, OPT_EXPORT, OPT_PROGRESS };

static const struct option long_options[] = {
    {"set", required_argument, NULL, OPT_SET},
    {"log-json", no_argument, NULL, OPT_LOG_JSON},
    {"insecure-seed", required_argument, NULL, OPT_SEED},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: vfl-server -c FILE [options]\n"
    "  -c FILE              configuration (YAML)\n"
    "  -n                   check the configuration, print it resolved, price the plan, exit\n"
    "  --set KEY.PATH=VALUE override one key; repeatable\n"
    "  --export FILE        also write the head's weights to FILE (safetensors) at the end\n"
    "  --progress           one progress line on standard output\n"
    "  --insecure-seed N    reproducible model and noise: for experiments, NOT PRIVATE\n"
    "  --log-json           log lines as JSON objects\n"
    "  -v                   log more\n"
    "  -h, -V               this text; the version\n";

struct arguments {
    const char *file;
    const char *sets[SETS_MAX];
    size_t sets_n;
    bool check_only, log_json;
    enum log_level level;
    struct server_options options;
};

static bool parse_seed(const char *text, uint64_t *seed)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && text[0] != '-';
}

/* -1: go on; else the exit code. */
static int parse(struct arguments *a, int argc, char **argv)
{
    int c;

    while ((c = getopt_long(argc, argv, "c:nvhV", long_options, NULL)) != -1) {
        switch (c) {
        case 'c': a->file = optarg; break;
        case 'n': a->check_only = true; break;
        case 'v': a->level = LOG_LEVEL_DEBUG; break;
        case 'h': fputs(usage, stdout); return 0;
        case 'V': puts("vfl-server " VFL_VERSION); return 0;
        case OPT_SET:
            if (a->sets_n == SETS_MAX) {
                fprintf(stderr, "vfl-server: more than %d --set\n", SETS_MAX);
                return 2;
            }
            a->sets[a->sets_n++] = optarg;
            break;
        case OPT_LOG_JSON: a->log_json = true; break;
        case OPT_EXPORT: a->options.export_file = optarg; break;
        case OPT_PROGRESS: a->options.progress = true; break;
        case OPT_SEED:
            a->options.seeded = true;
            if (!parse_seed(optarg, &a->options.seed)) {
                fprintf(stderr, "vfl-server: --insecure-seed %s: a whole number expected\n",
                        optarg);
                return 2;
            }
            break;
        default: fputs(usage, stderr); return 2;
        }
    }
    if (a->file == NULL || optind != argc) {
        fputs(usage, stderr);
        return 2;
    }
    return -1;
}

static enum status print_plan(const struct server_inputs *in, struct error *err)
{
    struct buf out;
    enum status s;

    buf_init(&out, PRINT_MAX);
    s = server_inputs_print(in, &out);
    if (s == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    else
        error_set(err, s, "%s", status_words(s));
    buf_deinit(&out);
    return s;
}

int main(int argc, char **argv)
{
    struct arguments a = {.level = LOG_LEVEL_INFO};
    struct error err = {0};
    struct server_inputs in;
    enum status s;
    int code;

    if (nn_blas_environment())
        process_exec_again(argv); /* OpenBLAS reads its environment when it is loaded */
    code = parse(&a, argc, argv);
    if (code >= 0)
        return code;
    log_init("server", a.level, a.log_json);
    signal(SIGPIPE, SIG_IGN);
    secret_harden_process();
    if (a.options.seeded && !a.check_only)
        log_warn("--insecure-seed: model and noise are reproducible, this run is NOT PRIVATE");
    s = server_inputs_load(&in, a.file, a.sets, a.sets_n, a.options.seeded, a.options.seed, &err);
    if (s == STATUS_OK)
        s = a.check_only ? print_plan(&in, &err) : server_loop_run(&in, &a.options, &err);
    if (s != STATUS_OK)
        log_error("%s", err.text);
    server_inputs_deinit(&in);
    return status_exit_code(s);
}
