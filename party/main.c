/* main.c -- vfl-party: the command line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/log.h"
#include "common/base/process.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/nn/net.h"
#include "common/privacy/ledger.h"
#include "party/loop.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SETS_MAX = 256, PRINT_MAX = 1 << 20 };
enum { OPT_SET = 256, OPT_LOG_JSON, OPT_SEED, OPT_EXPORT, OPT_LEDGER, OPT_FINGERPRINT };
enum task { TASK_RUN, TASK_CHECK, TASK_LEDGER, TASK_FINGERPRINT };

static const struct option long_options[] = {
    {"set", required_argument, NULL, OPT_SET},
    {"log-json", no_argument, NULL, OPT_LOG_JSON},
    {"insecure-seed", required_argument, NULL, OPT_SEED},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"ledger", no_argument, NULL, OPT_LEDGER},
    {"fingerprint", no_argument, NULL, OPT_FINGERPRINT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: vfl-party -c FILE [options]\n"
    "  -c FILE              configuration (YAML)\n"
    "  -n                   check configuration, roster, key and data, print it resolved, exit\n"
    "  --set KEY.PATH=VALUE override one key; repeatable\n"
    "  --ledger             print what this party's records have spent, exit\n"
    "  --fingerprint        print the fingerprint of this party's key and the roster's digest, "
    "exit\n"
    "  --export FILE        also write the bottom's weights to FILE (safetensors) at the end\n"
    "  --insecure-seed N    reproducible model and noise: for experiments, NOT PRIVATE\n"
    "  --log-json           log lines as JSON objects\n"
    "  -v                   log more\n"
    "  -h, -V               this text; the version\n";

struct arguments {
    const char *file;
    const char *sets[SETS_MAX];
    size_t sets_n;
    enum task task;
    bool log_json;
    enum log_level level;
    struct party_options options;
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
        case 'n': a->task = TASK_CHECK; break;
        case 'v': a->level = LOG_LEVEL_DEBUG; break;
        case 'h': fputs(usage, stdout); return 0;
        case 'V': puts("vfl-party " VFL_VERSION); return 0;
        case OPT_SET:
            if (a->sets_n == SETS_MAX) {
                fprintf(stderr, "vfl-party: more than %d --set\n", SETS_MAX);
                return 2;
            }
            a->sets[a->sets_n++] = optarg;
            break;
        case OPT_LOG_JSON: a->log_json = true; break;
        case OPT_EXPORT: a->options.export_file = optarg; break;
        case OPT_LEDGER: a->task = TASK_LEDGER; break;
        case OPT_FINGERPRINT: a->task = TASK_FINGERPRINT; break;
        case OPT_SEED:
            a->options.seeded = true;
            if (!parse_seed(optarg, &a->options.seed)) {
                fprintf(stderr, "vfl-party: --insecure-seed %s: a whole number expected\n", optarg);
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

static void print_fingerprint(const struct party_inputs *in)
{
    char key[DIGEST_HEX_CHARS + 1], roster[DIGEST_HEX_CHARS + 1];

    digest_hex(key, in->roster.party[in->self].key, ROSTER_KEY_BYTES);
    digest_hex(roster, in->roster.digest, sizeof in->roster.digest);
    printf("name    %s\nkey     %s\nroster  %s\n", in->roster.party[in->self].name, key, roster);
}

static enum status print_ledger(const struct party_inputs *in, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct ledger *ledger;
    struct buf out;
    enum status s;

    snprintf(path, sizeof path, "%.*s/ledger.db", CONFIG_PATH_MAX - 16, in->config.state);
    if (access(path, F_OK) != 0) {
        printf("%s: nothing has been released yet\n", path);
        return STATUS_OK;
    }
    s = ledger_open(&ledger, path, err);
    if (s != STATUS_OK)
        return s;
    buf_init(&out, PRINT_MAX);
    s = ledger_print(ledger, 1e-5, &out);
    if (s == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    buf_deinit(&out);
    ledger_close(ledger);
    return s;
}

static enum status print_config(struct party_inputs *in, struct error *err)
{
    struct buf out;
    enum status s = party_inputs_read(in, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&out, PRINT_MAX);
    s = config_print_party(&in->config, &out);
    if (s == STATUS_OK) {
        fwrite(out.data, 1, out.len, stdout);
        printf("# %zu training and %zu test rows of %zu columns\n", in->train.rows, in->test.rows,
               in->train.cols);
    } else {
        error_set(err, s, "%s", status_words(s));
    }
    buf_deinit(&out);
    return s;
}

static enum status run(struct arguments *a, struct party_inputs *in, struct error *err)
{
    enum status s;

    switch (a->task) {
    case TASK_FINGERPRINT: print_fingerprint(in); return STATUS_OK;
    case TASK_LEDGER: return print_ledger(in, err);
    case TASK_CHECK: return print_config(in, err);
    case TASK_RUN: break;
    }
    if (a->options.seeded)
        log_warn("--insecure-seed: model and noise are reproducible, this run is NOT PRIVATE");
    s = party_inputs_read(in, err);
    return s == STATUS_OK ? party_loop_run(in, &a->options, err) : s;
}

int main(int argc, char **argv)
{
    struct arguments a = {.level = LOG_LEVEL_INFO};
    struct error err = {0};
    struct party_inputs in;
    enum status s;
    int code;

    if (nn_blas_environment())
        process_exec_again(argv); /* OpenBLAS reads its environment when it is loaded */
    code = parse(&a, argc, argv);
    if (code >= 0)
        return code;
    log_init("party", a.level, a.log_json);
    signal(SIGPIPE, SIG_IGN);
    secret_harden_process();
    s = party_inputs_identify(&in, a.file, a.sets, a.sets_n, &err);
    if (s == STATUS_OK) {
        log_init(in.roster.party[in.self].name, a.level, a.log_json);
        s = run(&a, &in, &err);
    }
    if (s != STATUS_OK)
        log_error("%s", err.text);
    party_inputs_deinit(&in);
    return status_exit_code(s);
}
