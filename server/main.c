/* main.c -- vfl-server: the command line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/process.h"
#include "common/daemon/guesses.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/models.h"
#include "common/daemon/options.h"
#include "common/nn/net.h"
#include "server/asked.h"
#include "server/contributed.h"
#include "server/loop.h"
#include "server/results.h"
#include "server/scores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINT_MAX = 1 << 20 };
enum own { OWN_PROGRESS, OWN_REPLACE };
enum own_value {
    OWN_TRANSCRIPT,
    OWN_FORGET_IDS,
    OWN_PREDICT,
    OWN_IDS,
    OWN_SCORES,
    OWN_ABSENT,
    OWN_CONTRIBUTE,
    OWN_PERMUTATIONS,
    OWN_COLUMNS,
    OWN_ALIGN,
    OWN_EXTENDS,
    OWN_ALIGNMENT
};

static const struct options_about about = {
    .program = "vfl-server",
    .usage =
        "usage: vfl-server -c FILE [options]\n"
        "  -c FILE              configuration (YAML)\n"
        "  -n                   check the configuration, print it resolved, price the plan, exit\n"
        "  --set KEY.PATH=VALUE override one key; repeatable\n"
        "  --export FILE        also write the head's weights to FILE (safetensors) at the end\n"
        "  --ids-forget NAME    forget how many other lists of ids a party has come with, exit;\n"
        "                       all: everybody\n"
        "  --predict RUN        one job of predictions by the model of RUN (served: the one in "
        "use),\n"
        "                       and end\n"
        "  --ids FILE           with --predict: of which rows, one id a line; with -n: check both "
        "only\n"
        "  --alignment NAME     with --predict: rows are asked for by their places in that "
        "alignment; ids\n"
        "                       are this side's, and without --ids all of it\n"
        "  --absent NAME,...    with --predict: these parties answer with a constant\n"
        "  --contribute RUN     like --predict, but ask for each row without each set of parties: "
        "the\n"
        "                       table of answers goes to --scores (vfl contribution)\n"
        "  --permutations N     with it: of N orders of the parties instead of all sets\n"
        "  --columns NAME=N,... with it: and with each of the first N columns of NAME mixed up\n"
        "  --scores FILE        write what is predicted to FILE, in the order of the ids; without "
        "--predict\n"
        "                       the test rows' labels and scores at the end of the run\n"
        "  --align NAME         one alignment of the ids of align.table with the parties', kept "
        "under\n"
        "                       state/alignments as NAME, and end; --replace: in the place of one "
        "of that\n"
        "                       name, on all sides\n"
        "  --extends NAME       with --align: add to the rows of that alignment, which stay as "
        "they "
        "are\n"
        "  --transcript FILE    write what the server sees and says to FILE, for audits\n"
        "  --progress           one progress line on standard output\n"
        "  --insecure-seed N    reproducible model and noise: for experiments, NOT PRIVATE\n"
        "  --log-json           log lines as JSON objects\n"
        "  -v                   log more\n"
        "  -h, -V               this text; the version\n",
    .own = {[OWN_PROGRESS] = "progress", [OWN_REPLACE] = "replace"},
    .own_value = {[OWN_TRANSCRIPT] = "transcript",
                  [OWN_FORGET_IDS] = "ids-forget",
                  [OWN_PREDICT] = "predict",
                  [OWN_IDS] = "ids",
                  [OWN_SCORES] = "scores",
                  [OWN_ABSENT] = "absent",
                  [OWN_CONTRIBUTE] = "contribute",
                  [OWN_PERMUTATIONS] = "permutations",
                  [OWN_COLUMNS] = "columns",
                  [OWN_ALIGN] = "align",
                  [OWN_EXTENDS] = "extends",
                  [OWN_ALIGNMENT] = "alignment"},
};

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

static enum status forget_ids(const struct server_inputs *in, const char *name, struct error *err)
{
    const int party = roster_find_name(&in->roster, name);
    struct sign_key key = {0};
    struct buf out;
    enum status s = sign_key_load(&key, in->config.identity.key, err);

    buf_init(&out, PRINT_MAX);
    if (s == STATUS_OK)
        s = guesses_order(in->config.state, &key, party < 0 ? NULL : in->roster.party[party].key,
                          name, &out, err);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    sign_key_deinit(&key);
    return s;
}

static enum status print_listed(const struct server_inputs *in)
{
    struct buf out;
    enum status s;

    buf_init(&out, PRINT_MAX);
    s = roll_print(&in->listed.ids, &out);
    if (s == STATUS_OK)
        s = buf_printf(&out, "# %u of them are listed\n", in->listed.roll->listed);
    if (s == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    return s;
}

static enum status serve(const struct options *o, struct server_inputs *in,
                         const struct server_options *run, struct error *err)
{
    enum status s;

    if (o->own_value[OWN_FORGET_IDS] != NULL)
        return forget_ids(in, o->own_value[OWN_FORGET_IDS], err);
    if (o->check_only && in->predicts) {
        server_asked_print(in);
        return STATUS_OK;
    }
    if (o->check_only && in->listed.aligns) {
        return print_listed(in);
    }
    if (in->predicts && in->missing.n == 0)
        return server_results_kept(in, run, err);
    /* That there is none, or another, is told before anything is said to others. */
    s = in->head.program == NULL || in->predicts || in->listed.aligns
            ? STATUS_OK
            : program_start(in->head.program, err);
    if (s != STATUS_OK)
        return s;
    return o->check_only ? print_plan(in, err) : server_loop_run(in, run, o, err);
}

/* A run, or a server that stands, whose jobs say what there is to do. */
static enum status load_to_play(struct server_inputs *in, const struct options *o,
                                struct error *err)
{
    enum status s = server_inputs_identify(in, o, err);

    if (s != STATUS_OK)
        return s;
    if (in->config.stand && (o->own_value[OWN_TRANSCRIPT] != NULL ||
                             o->own_value[OWN_SCORES] != NULL || o->export_file != NULL))
        return error_set(err, STATUS_CONFIG,
                         "stand: true goes without --export, --scores and --transcript");
    return in->config.stand ? s : server_inputs_load(in, o, err);
}

static bool read_orders(uint32_t *out, const char *text)
{
    const size_t n = text == NULL ? 0 : strlen(text);

    *out = n > 0 && n < 5 && strspn(text, "0123456789") == n ? (uint32_t)atoi(text) : 0;
    return text == NULL || (*out >= 1 && *out <= COALITIONS_ORDERS_MAX);
}

static enum status load_asked(struct server_inputs *in, const struct options *o, struct error *err)
{
    const bool contributes = o->own_value[OWN_CONTRIBUTE] != NULL;
    const char *run = o->own_value[contributes ? OWN_CONTRIBUTE : OWN_PREDICT];
    struct contributed_want want = {.columns = o->own_value[OWN_COLUMNS], .seed = o->seed};
    const struct server_wanted wanted = {.run = models_asked(run),
                                         .ids = o->own_value[OWN_IDS],
                                         .alignment = o->own_value[OWN_ALIGNMENT],
                                         .absent = o->own_value[OWN_ABSENT],
                                         .contributed = contributes ? &want : NULL};

    if ((wanted.ids == NULL && wanted.alignment == NULL) ||
        (contributes && (o->own_value[OWN_PREDICT] != NULL || wanted.absent != NULL)))
        return error_set(err, STATUS_CONFIG,
                         "--predict RUN, or --contribute RUN, goes with --ids FILE or --alignment "
                         "NAME, and --absent with --predict");
    if (!read_orders(&want.orders, o->own_value[OWN_PERMUTATIONS]))
        return error_set(err, STATUS_CONFIG, "--permutations: expected 1 to %d",
                         COALITIONS_ORDERS_MAX);
    if (!contributes && (want.orders > 0 || want.columns != NULL))
        return error_set(err, STATUS_CONFIG, "--permutations and --columns go with --contribute");
    if (o->own_value[OWN_TRANSCRIPT] != NULL || o->export_file != NULL ||
        o->own_value[OWN_FORGET_IDS] != NULL)
        return error_set(err, STATUS_CONFIG,
                         "--%s goes without --transcript, --export and --ids-forget",
                         contributes ? "contribute" : "predict");
    return server_asked_load(in, o, &wanted, err);
}

/* What the command line asks for: a run, or predictions, or contributions. */
static enum status load(struct server_inputs *in, const struct options *o, struct error *err)
{
    static const enum own_value theirs[] = {OWN_IDS, OWN_ABSENT, OWN_PERMUTATIONS, OWN_COLUMNS,
                                            OWN_ALIGNMENT};

    const char *name = o->own_value[OWN_ALIGN], *extends = o->own_value[OWN_EXTENDS];
    struct alignment_order order = {.replace = o->own[OWN_REPLACE]};

    if (o->own_value[OWN_PREDICT] != NULL || o->own_value[OWN_CONTRIBUTE] != NULL)
        return name == NULL ? load_asked(in, o, err)
                            : error_set(err, STATUS_CONFIG,
                                        "--align goes without --predict and --contribute");
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (o->own_value[theirs[i]] != NULL)
            return error_set(err, STATUS_CONFIG, "--%s goes with --predict or --contribute",
                             about.own_value[theirs[i]]);
    if (name != NULL) {
        snprintf(order.name, sizeof order.name, "%s", name);
        if (strlen(name) >= sizeof order.name)
            order.name[0] = 0; /* which is no name either */
        snprintf(order.extends, sizeof order.extends, "%s", extends != NULL ? extends : "");
        if (extends != NULL && strcmp(order.extends, extends) != 0)
            return error_set(err, STATUS_CONFIG, "--extends: no name of an alignment");
        return server_inputs_align(in, o, &order, err);
    }
    if (order.replace || extends != NULL)
        return error_set(err, STATUS_CONFIG, "--%s goes with --align",
                         order.replace ? "replace" : "extends");
    return !o->check_only && o->own_value[OWN_FORGET_IDS] == NULL ? load_to_play(in, o, err)
                                                                  : server_inputs_load(in, o, err);
}

int main(int argc, char **argv)
{
    struct server_options run = {0};
    struct error err = {0};
    struct server_inputs in = {0};
    struct options o;
    enum status s;
    int code;

    if (nn_blas_environment())
        process_exec_again(argv); /* OpenBLAS reads its environment when it is loaded */
    code = options_parse(&o, &about, argc, argv);
    if (code >= 0)
        return code;
    s = options_begin(&o, "server", &err);
    run.export_file = o.export_file;
    run.transcript = o.own_value[OWN_TRANSCRIPT];
    run.scores = o.own_value[OWN_SCORES];
    run.progress = o.own[OWN_PROGRESS] && o.own_value[OWN_PREDICT] == NULL &&
                   o.own_value[OWN_CONTRIBUTE] == NULL && o.own_value[OWN_ALIGN] == NULL;
    run.seeded = o.seeded;
    run.seed = o.seed;
    if (s == STATUS_OK)
        s = load(&in, &o, &err);
    if (s == STATUS_OK && !o.check_only && !in.predicts && !in.listed.aligns && !in.config.stand)
        server_targets_show(&in.target);
    if (s == STATUS_OK && run.scores != NULL && !o.check_only)
        s = scores_check(run.scores, &err);
    if (s == STATUS_OK && o.check_only)
        s = keyfiles_check(&in.config.identity, true, in.config.state_key, &err);
    if (s == STATUS_OK)
        s = serve(&o, &in, &run, &err);
    if (s != STATUS_OK)
        log_error("%s", err.text);
    server_inputs_deinit(&in);
    program_free(in.head.program);
    return status_exit_code(s);
}
