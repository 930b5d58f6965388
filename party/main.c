/* main.c -- vfl-party: the command line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/process.h"
#include "common/crypto/digest.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/models.h"
#include "common/daemon/options.h"
#include "common/daemon/roll.h"
#include "common/daemon/survey.h"
#include "common/nn/net.h"
#include "party/books.h"
#include "party/contributed.h"
#include "party/fewest.h"
#include "party/loop.h"
#include "party/predicted.h"
#include "party/price.h"
#include "party/statement.h"
#include "party/train/layers.h"

#include <stdio.h>

enum { PRINT_MAX = 1 << 20, STATEMENT_MAX = 16 << 20 };
enum own { OWN_LEDGER, OWN_FINGERPRINT, OWN_VERIFY, OWN_ALIGN, OWN_FORGET_ASKED };
enum own_value { OWN_PLAN, OWN_FORGET, OWN_FORGET_IDS, OWN_PREDICT, OWN_ALIGNMENT };

static const struct options_about about = {
    .program = "vfl-party",
    .usage =
        "usage: vfl-party -c FILE [options]\n"
        "  -c FILE              configuration (YAML)\n"
        "  -n                   check configuration, roster, key and data, print it resolved and "
        "what\n"
        "                       a plan would cost, exit\n"
        "  --plan FILE          with -n: that plan, of a server's configuration or the part of it "
        "that\n"
        "                       is the plan; refused as in a run. Without it one of defaults\n"
        "  --verify-accountant  with -n: compute every corner of what the other parties can do; "
        "seconds\n"
        "                       up to b M = 2000, some minutes at most\n"
        "  --set KEY.PATH=VALUE override one key; repeatable\n"
        "  --ledger             print what this party's records have spent, exit\n"
        "  --ledger-forget NAME forget how far the ledger of another party had come (this one's\n"
        "                       own name: by its checkpoint), exit: when it is lost for good\n"
        "  --ids-forget NAME    forget how many other lists of ids another party, or the server,\n"
        "                       has come with, exit; all: everybody\n"
        "  --asked-forget       forget how many unknown ids, and rows of today, predictions have "
        "asked\n"
        "                       for, exit\n"
        "  --predict RUN        answer one job of predictions by the model of RUN (served: the one "
        "in\n"
        "                       use), for rows of data.predict, and end; with -n: check and "
        "price\n"
        "                       them only\n"
        "  --alignment NAME     with --predict: rows are asked for by their places in that "
        "alignment\n"
        "  --align              take part in one alignment with the ids of align.table, and end;\n"
        "                       with -n: check that table only\n"
        "  --fingerprint        print this party's key fingerprint and the roster's digest, exit\n"
        "  --export FILE        also write the bottom's weights to FILE (safetensors) at the end\n"
        "  --insecure-seed N    reproducible model and noise: for experiments, NOT PRIVATE\n"
        "  --log-json           log lines as JSON objects\n"
        "  -v                   log more\n"
        "  -h, -V               this text; the version\n",
    .own = {[OWN_LEDGER] = "ledger",
            [OWN_FINGERPRINT] = "fingerprint",
            [OWN_VERIFY] = "verify-accountant",
            [OWN_ALIGN] = "align",
            [OWN_FORGET_ASKED] = "asked-forget"},
    .own_value = {[OWN_PLAN] = "plan",
                  [OWN_FORGET] = "ledger-forget",
                  [OWN_FORGET_IDS] = "ids-forget",
                  [OWN_PREDICT] = "predict",
                  [OWN_ALIGNMENT] = "alignment"},
};

static void print_fingerprint(const struct party_inputs *in)
{
    char key[DIGEST_HEX_CHARS + 1], roster[DIGEST_HEX_CHARS + 1];

    digest_hex(key, in->roster.party[in->self].key, ROSTER_KEY_BYTES);
    digest_hex(roster, in->roster.digest, sizeof in->roster.digest);
    printf("name    %s\nkey     %s\nroster  %s\n", in->roster.party[in->self].name, key, roster);
}

static enum status print_statement(const struct options *o, const struct party_inputs *in,
                                   struct error *err)
{
    const char *forget = o->own_value[OWN_FORGET], *ids = o->own_value[OWN_FORGET_IDS];
    struct buf out;
    enum status s;

    buf_init(&out, STATEMENT_MAX);
    if (ids != NULL)
        s = statement_forget_ids(in, ids, &out, err);
    else if (o->own[OWN_FORGET_ASKED])
        s = statement_forget_asked(in, &out, err);
    else if (forget != NULL)
        s = statement_forget(in, forget, &out, err);
    else
        s = statement_print(in, &out, err);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    return s;
}

static enum status print_surveys(const struct party_inputs *in, struct buf *out)
{
    const struct config_party *c = &in->config;
    const struct survey train = {c->state, "data.alignment", c->data_alignment, c->data_train,
                                 &in->train},
                        test = {c->state, "data.alignment_test", c->data_alignment_test,
                                c->data_test, &in->test};

    return survey_print(&train, &test, out);
}

/* Of an alignment of labelled rows. */
static enum status print_lacks(const struct table *t, const char *what, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; t->lacks != NULL && i < t->rows; i++)
        n += t->lacks[i];
    return t->lacks == NULL
               ? STATUS_OK
               : buf_printf(out,
                            "# %zu of the %zu %s rows are not here, and an absent constant stands "
                            "in\n",
                            n, t->rows, what);
}

/* Whether model.layers and data.shape are a bottom is told before data is read, and before others
 * are. */
static enum status read_inputs(struct party_inputs *in, bool looks, struct error *err)
{
    enum status s = party_layers_check(&in->config, 0, NULL, err);

    if (s == STATUS_OK)
        s = party_inputs_read(in, looks, err);
    return s == STATUS_OK
               ? party_layers_check(&in->config, (uint32_t)in->train.cols, &in->schema, err)
               : s;
}

/* That there is none, or another, is told before anything is said to others. */
static enum status start_program(struct party_inputs *in, struct error *err)
{
    return in->bottom.program != NULL ? program_start(in->bottom.program, err) : STATUS_OK;
}

static enum status print_config(struct party_inputs *in, struct error *err)
{
    struct buf out;
    enum status s = read_inputs(in, true, err);

    if (s == STATUS_OK)
        s = start_program(in, err);
    if (s != STATUS_OK)
        return s;
    buf_init(&out, PRINT_MAX);
    s = config_print_party(&in->config, &out);
    if (s == STATUS_OK)
        s = buf_printf(&out, "# %zu training and %zu test rows of %zu columns\n", in->train.rows,
                       in->test.rows, in->train.cols);
    if (s == STATUS_OK)
        s = print_surveys(in, &out);
    if (s == STATUS_OK)
        s = print_lacks(&in->train, "training", &out);
    if (s == STATUS_OK)
        s = print_lacks(&in->test, "test", &out);
    if (s == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    else
        error_set(err, s, "%s", status_words(s));
    buf_deinit(&out);
    return s;
}

/* What a plan costs.  A plan of defaults that does not fit here is no mistake of anybody. */
static enum status print_price(const struct options *o, const struct party_inputs *in,
                               struct error *err)
{
    const char *file = o->own_value[OWN_PLAN];
    struct price price;
    struct buf out;
    enum status s = price_load(&price, in, file, err);

    if (s != STATUS_OK && file == NULL && !o->own[OWN_VERIFY]) {
        printf("# no price: a plan of defaults does not fit here (--plan FILE): %s\n", err->text);
        *err = (struct error){0};
        return STATUS_OK;
    }
    if (s != STATUS_OK)
        return s;
    buf_init(&out, PRINT_MAX);
    s = price_print(&price, &out);
    if (s == STATUS_OK && o->own[OWN_VERIFY])
        s = price_verify(&price, corners_figure, &out, err);
    if (s == STATUS_OK && file != NULL) {
        s = price_judge(&price, in, err);
        if (s == STATUS_OK)
            s = buf_printf(&out, "# this party's policy accepts it\n");
    }
    fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    return s;
}

static enum status read_predicted(const struct options *o, struct party_inputs *in,
                                  struct error *err)
{
    return predicted_inputs(in, models_asked(o->own_value[OWN_PREDICT]),
                            o->own_value[OWN_ALIGNMENT], err);
}

/* -n --predict: all that this side can see to before the server asks. */
static enum status check_predictions(const struct options *o, struct party_inputs *in,
                                     struct error *err)
{
    struct price price;
    struct buf out;
    enum status s = keyfiles_check(&in->config.identity, false, in->config.state_key, err);

    buf_init(&out, PRINT_MAX);
    if (s == STATUS_OK)
        s = read_predicted(o, in, err);
    if (s == STATUS_OK)
        s = print_lacks(&in->test, "aligned", &out);
    if (s == STATUS_OK)
        s = price_predictions(&price, in, err);
    if (s == STATUS_OK)
        s = price_print_predictions(&price, in, &out);
    if (s == STATUS_OK)
        s = fewest_print(&price, in, &out);
    if (s == STATUS_OK)
        s = contributed_print(&price, in, &out);
    if (s == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    return s;
}

/* What one more alignment may cost. */
static enum status print_alignments(const struct party_inputs *in, struct error *err)
{
    const struct config_align *c = &in->config.align;
    struct aligned_counts counts;
    struct ledger *l;
    struct buf keys;
    enum status s = books_open_ledger(&l, &in->config, false, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&keys, PRINT_MAX);
    s = books_aligned(&in->config, l, &counts, err);
    ledger_close(l);
    if (s == STATUS_OK)
        s = roll_print(&in->listed.ids, &keys);
    if (s == STATUS_OK)
        printf("%.*s"
               "# alignments so far: %llu of %u told something, %llu of %llu have begun\n"
               "# ids that may be tried on these in one more: %u by one side, %u by several that "
               "work together\n",
               (int)keys.len, (const char *)keys.data, (unsigned long long)counts.told,
               c->times_max, (unsigned long long)counts.begun,
               (unsigned long long)ALIGNED_BEGUN * c->times_max, c->ids_max, c->all_max);
    buf_deinit(&keys);
    return s;
}

/* --align: the ids alone, in one job, and an end. */
static enum status align(const struct options *o, const struct party_options *how,
                         struct party_inputs *in, struct error *err)
{
    enum status s = party_inputs_listed(in, true, err);

    in->config.stand = false;
    if (s != STATUS_OK)
        return s;
    return o->check_only ? print_alignments(in, err) : party_loop_run(in, how, err);
}

static enum status run(const struct options *o, struct party_inputs *in, struct error *err)
{
    struct party_options how = {o->export_file, o->seeded, o->seed};
    enum status s;

    if (o->own[OWN_FINGERPRINT]) {
        print_fingerprint(in);
        return STATUS_OK;
    }
    if (o->own[OWN_LEDGER] || o->own_value[OWN_FORGET] != NULL ||
        o->own_value[OWN_FORGET_IDS] != NULL)
        return print_statement(o, in, err);
    if (o->own[OWN_ALIGN])
        return align(o, &how, in, err);
    if (o->check_only && o->own_value[OWN_PREDICT] != NULL)
        return check_predictions(o, in, err);
    if (o->check_only) {
        s = keyfiles_check(&in->config.identity, false, in->config.state_key, err);
        if (s == STATUS_OK)
            s = print_config(in, err);
        return s == STATUS_OK ? print_price(o, in, err) : s;
    }
    if (o->own_value[OWN_PREDICT] != NULL)
        in->config.stand = false; /* one job, and an end */
    if (o->own_value[OWN_PREDICT] != NULL)
        s = read_predicted(o, in, err);
    else
        s = read_inputs(in, false, err);
    if (s == STATUS_OK && in->config.stand)
        s = party_inputs_listed(in, false, err);
    if (s == STATUS_OK)
        s = start_program(in, err);
    return s == STATUS_OK ? party_loop_run(in, &how, err) : s;
}

/* What of the command line would be passed over in silence beside the rest of it; NULL: nothing. */
static const char *at_odds(const struct options *o)
{
    const bool plan = o->own_value[OWN_PLAN] != NULL || o->own[OWN_VERIFY],
               predicts = o->own_value[OWN_PREDICT] != NULL;
    const int orders = o->own[OWN_LEDGER] + o->own[OWN_FINGERPRINT] + o->own[OWN_FORGET_ASKED] +
                       (o->own_value[OWN_FORGET] != NULL) + (o->own_value[OWN_FORGET_IDS] != NULL);

    if (orders > 1 || (orders > 0 && (o->check_only || predicts || o->export_file != NULL)))
        return "--ledger, --ledger-forget, --ids-forget, --asked-forget and --fingerprint go "
               "alone, without -n, --predict and --export";
    if (o->own[OWN_ALIGN] && (orders > 0 || plan || predicts || o->export_file != NULL))
        return "--align goes alone, or with -n";
    if (plan && !o->check_only)
        return "--plan and --verify-accountant go with -n";
    if (predicts && (plan || o->export_file != NULL))
        return "--predict goes without --plan, --verify-accountant and --export: plan and weights "
               "are the model's";
    if (o->own_value[OWN_ALIGNMENT] != NULL && !predicts)
        return "--alignment goes with --predict";
    return NULL;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct party_inputs in = {0};
    struct options o;
    enum status s;
    int code;

    if (nn_blas_environment())
        process_exec_again(argv); /* OpenBLAS reads its environment when it is loaded */
    code = options_parse(&o, &about, argc, argv);
    if (code >= 0)
        return code;
    if (at_odds(&o) != NULL) {
        fprintf(stderr, "vfl-party: %s\n", at_odds(&o));
        return 2;
    }
    s = options_begin(&o, "party", &err); /* until its name is known */
    if (s == STATUS_OK)
        s = party_inputs_identify(&in, o.file, o.sets, o.sets_n, &err);
    if (s == STATUS_OK) {
        log_init(in.roster.party[in.self].name, o.level, o.log_json);
        s = run(&o, &in, &err);
    }
    if (s != STATUS_OK)
        log_error("%s", err.text);
    party_inputs_deinit(&in);
    return status_exit_code(s);
}
