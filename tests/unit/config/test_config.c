/* test_config.c -- printing loads back to the same struct; examples and reference are those of the
 * tables.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/config/config_keys.h"
#include "common/config/key_print.h"
#include "common/config/load.h"
#include "common/config/plan_head.h"
#include "common/config/plan_matrix.h"
#include "tests/lib/scratch.h"
#include "tests/lib/page.h"
#include "tests/unit/config/head_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TEXT_MAX = 1 << 20, DRAWS = 300 };

static struct config_server server, server_back;
static struct config_party party, party_back;

/* --- print, then load --- */

static uint64_t draw_state = 1;

static uint32_t draw(uint32_t below)
{
    draw_state = draw_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(draw_state >> 33) % below;
}

static double draw_real(const struct key *k)
{
    double unit = ((double)draw(1u << 30) + 1) / (1u << 30); /* (0, 1] */

    return draw(8) == 0 ? k->hi : k->lo + unit * (k->hi - k->lo);
}

static void draw_text(char *out, const char *first)
{
    static const char *const bits[] = {"a",  "/", "\"",       "\\", " ", "#",
                                       ": ", "'", "\xc3\xa9", "[",  "%", "&"};
    size_t n = (size_t)sprintf(out, "%s", first);

    for (uint32_t i = draw(40); i > 0; i--)
        n += (size_t)sprintf(out + n, "%s", bits[draw(12)]);
}

static uint32_t choices(const struct key *k)
{
    uint32_t n = 0;

    while (k->choices[n] != NULL)
        n++;
    return n;
}

static void draw_list(const struct key *k, char *field)
{
    if (k->type == KEY_WIDTHS) {
        struct plan_widths *w = (struct plan_widths *)field;

        *w = (struct plan_widths){.n = draw(PLAN_LAYERS_MAX + 1)};
        for (size_t i = 0; i < w->n; i++)
            w->width[i] = 1 + draw(PLAN_WIDTH_MAX);
    } else if (k->type == KEY_NAMES) {
        struct config_names *names = (struct config_names *)field;

        *names = (struct config_names){.n = draw(CONFIG_LIST_MAX + 1)};
        for (size_t i = 0; i < names->n; i++)
            snprintf(names->name[i], CONFIG_NAME_MAX, "%u:Host-_.x", draw(1000));
    } else if (k->type == KEY_COMMAND) {
        struct config_command *c = (struct config_command *)field;

        *c = (struct config_command){.n = draw(CONFIG_LIST_MAX + 1)};
        for (size_t i = 0; i < c->n; i++)
            snprintf(c->arg[i], CONFIG_PATH_MAX, "--x=%u \"a, b\" \\", draw(1000));
        if (draw(2) == 0) /* as most are */
            c->n = 0;
        memset(c->arg[c->n], 0, (CONFIG_LIST_MAX - c->n) * sizeof c->arg[0]);
    } else {
        bool *set = (bool *)field;

        for (uint32_t i = 0; i < choices(k); i++)
            set[i] = draw(2) == 0;
        set[0] = true;
    }
}

/* Any value the type allows, written into the field without passing through text. */
static void draw_field(const struct key *k, char *field)
{
    switch (k->type) {
    case KEY_U32: *(uint32_t *)field = (uint32_t)draw_real(k); break;
    case KEY_U64: *(uint64_t *)field = (uint64_t)draw_real(k); break;
    case KEY_REAL: *(double *)field = draw_real(k); break;
    case KEY_AUTO:
        *(bool *)(field + k->given) = draw(4) > 0;
        *(double *)field = *(bool *)(field + k->given) ? draw_real(k) : k->open;
        break;
    case KEY_BOOL: *(bool *)field = draw(2) == 0; break;
    case KEY_CHOICE: *(uint32_t *)field = draw(choices(k)); break;
    case KEY_SEED:
        *(bool *)(field + k->given) = draw(4) > 0;
        *(uint64_t *)field = *(bool *)(field + k->given) ? (uint64_t)draw(1u << 30) << 34 | 1 : 0;
        break;
    case KEY_PATH:
    case KEY_SOURCE: draw_text(field, "/"); break;
    case KEY_SCALE:
        draw(2) == 0 ? draw_text(field, "/") : (void)strcpy(field, k->choices[draw(2)]);
        break;
    case KEY_ADDRESS: sprintf(field, "h%u.example:%u", draw(100), 1 + draw(65535)); break;
    case KEY_SHA256:
        sprintf(field, "%.*s", draw(2) == 0 ? 0 : 64,
                "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
        break;
    case KEY_ALIGNMENT: strcpy(field, draw(2) == 0 ? "q-3" : ""); break;
    case KEY_COLUMN: strcpy(field, draw(2) == 0 ? "a 'column': #1" : ""); break;
    case KEY_TEXT: strcpy(field, draw(2) == 0 ? "<=50K, \"say 'no'\": #1 \xc3\xa4" : ""); break;
    case KEY_WIDTHS:
    case KEY_NAMES:
    case KEY_COMMAND:
    case KEY_SET: draw_list(k, field); break;
    case KEY_LAYERS: head_draw(k, (void *)field, draw); break;
    case KEY_DELAY: {
        struct config_inject *inject = (struct config_inject *)field;

        inject->delay = (enum config_delay_kind)draw(4);
        inject->delay_s = inject->delay == DELAY_NONE ? 0 : draw_real(k);
        break;
    }
    }
}

static void draw_table(const struct key_table *t, void *base)
{
    const struct key *k;
    size_t offset;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++)
        draw_field(k, (char *)base + offset);
}

/* Local steps, compressors and a model without a head, as far as they go with the straggler. */
static void make_local_sense(struct plan *p)
{
    bool wait = p->protocol.straggler == STRAGGLER_WAIT;

    if (!wait) {
        p->protocol.local_view = VIEW_STALE;
        p->protocol.local_order = ORDER_PARALLEL;
    }
    if (p->protocol.local_view == VIEW_STALE || plan_keeps_apart(p))
        p->protocol.label_holders = 0;
    if (p->protocol.local_iterations == 1)
        p->protocol.proximal = 0;
    head_make_sense(p);
    if (!plan_head_lists(p, LAYERS_UNITS) || p->protocol.local_view == VIEW_REFRESHED)
        p->model.head_dropout = 0;
    if (p->training.learning_rate * p->protocol.proximal > 1)
        p->protocol.proximal = 0.5 / p->training.learning_rate;
    if (p->training.learning_rate * p->training.weight_decay > 1)
        p->training.weight_decay = 0.5 / p->training.learning_rate;
    if (p->training.warmup > p->training.epochs)
        p->training.warmup = p->training.epochs;
    if ((p->training.schedule == SCHEDULE_STEP) != (p->training.step.epochs > 0))
        p->training.step.epochs = p->training.schedule == SCHEDULE_STEP ? 1 : 0;
    if (!wait || !plan_compresses(p))
        p->protocol.error_feedback = false;
    if (p->protocol.encoding != ENCODING_SCALAR)
        p->protocol.code_range = CODE_RANGE_MESSAGE;
    if (p->model.head.n > 0 || plan_keeps_apart(p) ||
        p->protocol.gradient.form == GRADIENT_FACTORED)
        p->model.output = OUTPUT_LINEAR;
    if (!wait || p->protocol.local_view != VIEW_STALE ||
        p->protocol.local_order != ORDER_PARALLEL || p->training.evaluate_train ||
        p->model.output == OUTPUT_IDENTITY)
        p->training.releases = RELEASES_EVERY_EPOCH;
    if (!wait || plan_compresses(p) || p->protocol.local_view != VIEW_STALE ||
        p->protocol.local_order != ORDER_PARALLEL || p->training.releases == RELEASES_ONCE ||
        p->model.output == OUTPUT_IDENTITY)
        p->training.party_dropout = 0;
    if (p->model.output == OUTPUT_IDENTITY && p->model.task == TASK_BINARY)
        p->model.embedding = 2;
    if (p->model.output == OUTPUT_IDENTITY && p->model.task == TASK_REGRESSION)
        p->model.embedding = 1;
}

/* A drawn plan need not make sense, so its combinations are set to ones that do. */
static void make_sense(struct plan *p)
{
    struct plan fresh;

    plan_defaults(&fresh);
    p->protocol.encoding = (enum plan_encoding)draw(PLAN_ENCODINGS);
    p->protocol.aggregation = AGGREGATION_CLEAR;
    p->protocol.straggler = draw(2) == 0 ? STRAGGLER_WAIT : STRAGGLER_ASYNC;
    if (p->protocol.straggler == STRAGGLER_ASYNC)
        p->protocol.local_iterations = 1;
    p->protocol.gaussian = fresh.protocol.gaussian;
    p->protocol.pbm.beta = p->protocol.pbm.beta < 1e-4 ? 1e-4 : p->protocol.pbm.beta;
    p->protocol.pbm.wide |= p->protocol.pbm.beta > 0.25;
    p->protocol.pbm.gain = p->protocol.local_view == VIEW_STALE ? p->protocol.pbm.gain : 1;
    p->model.embedding = 1 + draw(256);
    p->model.binary_loss = BINARY_SOFTMAX;
    p->training.stop = fresh.training.stop;
    p->training.patience = fresh.training.patience;
    p->training.best_by = fresh.training.best_by;
    memset(p->training.from, 0, sizeof p->training.from);
    if (p->training.from_trail[0] != 0)
        strcpy(p->training.from, "0123456789abcdef-2");
    p->training.scale_targets = p->protocol.local_view == VIEW_STALE;
    if (p->model.task == TASK_REGRESSION)
        p->training.class_weights = CLASS_WEIGHTS_NONE;
    while (p->training.batch % p->protocol.fedvs.segments != 0)
        p->protocol.fedvs.segments--;
    make_local_sense(p);
    if (p->model.task == TASK_MULTILABEL && p->protocol.local_view == VIEW_REFRESHED)
        p->model.task = TASK_MULTICLASS;
    if (!(p->data.validate > 0))
        p->data.validate_by = VALIDATE_ID;
}

static void suit_head_program(struct plan *p)
{
    p->model.head = (struct config_layers){.n = 0};
    p->protocol.label_holders = p->protocol.local_view = 0; /* stale */
    p->model.head_dropout = p->protocol.proximal = p->training.party_dropout = 0;
    p->model.output = OUTPUT_LINEAR;
    p->protocol.gradient.form = GRADIENT_FULL;
}

static void test_a_printed_server_loads_back_to_the_same_struct(void **state)
{
    struct error err = {0};
    struct buf out;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        memset(&server, 0, sizeof server);
        draw_table(&config_keys_server, &server);
        make_sense(&server.plan);
        memset(server.http, 0, sizeof server.http); /* of loopback, where it stands */
        strcpy(server.http, server.stand ? "[::1]:8080" : "");
        if (server.labels_group[0] == 0 || server.labels_time[0] == 0)
            server.plan.data.validate_by = VALIDATE_ID;
        if (i % 2 == 0) /* else nearly every plan is refused beside one */
            server.head.command = (struct config_command){0};
        else
            suit_head_program(&server.plan);
        if (server.plan.model.task == TASK_MULTILABEL)
            memset(server.labels_positive, 0, sizeof server.labels_positive);
        buf_init(&out, TEXT_MAX);
        assert_int_equal(config_print_server(&server, &out), STATUS_OK);
        scratch_write("s.yaml", out.data, out.len);
        if (config_load_server(&server_back, scratch_path("s.yaml"), NULL, 0, &err) != STATUS_OK)
            fail_msg("%s\n%.*s", err.text, (int)out.len, (const char *)out.data);
        assert_memory_equal(&server, &server_back, sizeof server);
        buf_deinit(&out);
    }
}

static void test_a_printed_party_loads_back_to_the_same_struct(void **state)
{
    struct error err = {0};
    struct buf out;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        memset(&party, 0, sizeof party);
        draw_table(&config_keys_party, &party);
        if (party.group[0] == 0 || party.time[0] == 0)
            party.validate_by = VALIDATE_ID;
        party.shape = party.degree > 0 ? (struct plan_widths){0} : (struct plan_widths){2, {4, 3}};
        if (party.degree == 0 && i % 2 == 0)
            party.shape = (struct plan_widths){3, {1, 300, 257}};
        party.augment_crop *= party.shape.n == 3;
        party.augment_flip &= party.shape.n == 3;
        party.preset = PRESET_NONE;
        if (party.program.command.n > 0) {
            party.degree = 0;
            party.train = TRAIN_RAW;
        }
        if (party.degree > 0 || party.program.command.n > 0)
            party.layers = (struct config_layers){0};
        if (party.degree == 0) /* fedvs alone would want a polynomial */
            party.policy.aggregation[AGGREGATION_MASKED] = true;
        if (party.layers.n != 8 || party.train == TRAIN_FROZEN) /* the CNN's, which has units */
            party.dropout = 0;
        if (party.train != TRAIN_DP || party.noise == 0)
            party.noise = party.train == TRAIN_DP ? 1 : 0;
        buf_init(&out, TEXT_MAX);
        assert_int_equal(config_print_party(&party, &out), STATUS_OK);
        scratch_write("p.yaml", out.data, out.len);
        if (config_load_party(&party_back, scratch_path("p.yaml"), NULL, 0, &err) != STATUS_OK)
            fail_msg("%s\n%.*s", err.text, (int)out.len, (const char *)out.data);
        assert_memory_equal(&party, &party_back, sizeof party);
        buf_deinit(&out);
    }
}

/* The twin of the two above: a print that lost one value would be seen. */
static void test_a_changed_print_loads_to_another_struct(void **state)
{
    struct error err = {0};
    struct buf out;
    char *beta;

    (void)state;
    assert_int_equal(config_load_server(&server, "deploy/examples/server.yaml", NULL, 0, &err),
                     STATUS_OK);
    buf_init(&out, TEXT_MAX);
    assert_int_equal(config_print_server(&server, &out), STATUS_OK);
    beta = memmem(out.data, out.len, "beta: 0.25", 10);
    assert_non_null(beta);
    beta[9] = '4';
    scratch_write("s.yaml", out.data, out.len);
    assert_int_equal(config_load_server(&server_back, scratch_path("s.yaml"), NULL, 0, &err),
                     STATUS_OK);
    assert_memory_not_equal(&server, &server_back, sizeof server);
    buf_deinit(&out);
}

/* --- examples and reference --- */

/* Every key stands in the example, and the value shown is the default where there is one. */
static void check_example(const struct key_table *t, void *base, void *defaults, const char *file)
{
    struct load l = {.table = t, .base = base, .file = file};
    struct error err = {0};
    const struct key *k;
    size_t offset;

    if (load_run(&l, NULL, 0, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        struct buf shown, expected;

        if (l.origin[i].line == 0)
            fail_msg("%s: %s is not shown", file, k->path);
        if (k->fallback == NULL || k->fallback[0] == 0)
            continue;
        buf_init(&shown, TEXT_MAX);
        buf_init(&expected, TEXT_MAX);
        assert_int_equal(key_print(k, (char *)base + offset, &shown), STATUS_OK);
        assert_int_equal(key_print(k, (char *)defaults + offset, &expected), STATUS_OK);
        if (shown.len != expected.len || memcmp(shown.data, expected.data, shown.len) != 0)
            fail_msg("%s: %s does not show its default", file, k->path);
        buf_deinit(&shown);
        buf_deinit(&expected);
    }
}

static void test_the_examples_show_every_key_with_its_default(void **state)
{
    struct error err = {0};

    (void)state;
    config_server_defaults(&server_back);
    check_example(&config_keys_server, &server, &server_back, "deploy/examples/server.yaml");
    config_party_defaults(&party_back);
    check_example(&config_keys_party, &party, &party_back, "deploy/examples/party.yaml");
    assert_int_equal(config_load_server(&server, "deploy/examples/server.yaml", NULL, 0, &err),
                     STATUS_OK);
    assert_int_equal(config_load_party(&party, "deploy/examples/party.yaml", NULL, 0, &err),
                     STATUS_OK);
}

static void test_the_documented_reference_is_that_of_the_program(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, TEXT_MAX);
    assert_int_equal(config_reference(&out), STATUS_OK);
    assert_int_equal(plan_matrix(&out), STATUS_OK);
    page_expect("docs/configuration.md", "vfl-reference", &out);
    buf_deinit(&out);
}

/* --- bottoms --- */

#define PARTY                                                                                      \
    "server: h:1\nidentity: {cert: a, key: b, ca: c}\nroster: r\nstate: s\ndata: {train: t}\n"

static enum status load_bottom(const char *model, const char *set, struct error *err)
{
    char text[512];

    *err = (struct error){0};
    snprintf(text, sizeof text, PARTY "%s", model);
    scratch_write("p.yaml", text, strlen(text));
    return config_load_party(&party, scratch_path("p.yaml"), &set, set == NULL ? 0 : 1, err);
}

/* Names of files in it would be cut, and so others'. */
static void test_a_state_leaves_room_for_the_names_in_it(void **state)
{
    char set[CONFIG_STATE_MAX + 16] = "state=/";
    const char *const sets[] = {set};
    struct error err;

    (void)state;
    memset(set + 7, 's', CONFIG_STATE_MAX - 1);
    assert_int_equal(load_bottom("", set, &err), STATUS_OK);
    assert_int_equal(strlen(party.state), CONFIG_STATE_MAX);
    set[strlen(set)] = 's';
    assert_int_equal(load_bottom("", set, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "state"));
    assert_non_null(strstr(err.text, "at most 384 bytes"));
    scratch_write_text("s.yaml", "listen: h:1\nidentity: {cert: a, key: b, ca: c}\nroster: r\n"
                                 "state: s\nlabels: {train: t}\n");
    assert_int_equal(config_load_server(&server, scratch_path("s.yaml"), sets, 1, &err),
                     STATUS_CONFIG);
    set[strlen(set) - 1] = 0;
    assert_int_equal(config_load_server(&server, scratch_path("s.yaml"), sets, 1, &err), STATUS_OK);
}

static void test_a_polynomial_with_layers_is_refused_where_the_layers_stand(void **state)
{
    static const char both[] = "model:\n  polynomial: {degree: 2}\n  layers: [64, 64]\n";
    struct error err;
    char where[600];

    (void)state;
    assert_int_equal(load_bottom(both, NULL, &err), STATUS_CONFIG);
    snprintf(where, sizeof where, "%s:8: model.layers: a polynomial", scratch_path("p.yaml"));
    if (strstr(err.text, where) != err.text)
        fail_msg("%s", err.text);
    assert_int_equal(load_bottom("model: {layers: [5]}\n", "model.polynomial.degree=1", &err),
                     STATUS_CONFIG);
    assert_int_equal(load_bottom("model: {polynomial: {degree: 1}}\n", "model.layers=[5]", &err),
                     STATUS_CONFIG);
    assert_true(strstr(err.text, "--set model.layers=[5]: a polynomial") == err.text);
    assert_int_equal(load_bottom(both, "model.layers=[]", &err), STATUS_OK);
    assert_int_equal(load_bottom(both, "model.polynomial.degree=0", &err), STATUS_OK);
    assert_true(party.layers.n == 2);
}

/* --- memory --- */

static void test_any_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    bool done = false;

    (void)state;
    for (uint64_t n = 1; !done; n++) {
        struct error err = {0};
        enum status loaded, printed = STATUS_OK;
        struct buf out;

        buf_init(&out, TEXT_MAX);
        mem_fail_at(n);
        loaded = config_load_server(&server, "deploy/examples/server.yaml", NULL, 0, &err);
        if (loaded == STATUS_OK)
            printed = config_print_server(&server, &out);
        if (printed == STATUS_OK && loaded == STATUS_OK)
            printed = config_reference(&out);
        mem_fail_at(0);
        buf_deinit(&out);
        done = loaded == STATUS_OK && printed == STATUS_OK;
        assert_true(done || loaded == STATUS_MEMORY || printed == STATUS_MEMORY);
        assert_true(n > 3 || !done);
    }
}

static void test_a_party_that_admits_fedvs_alone_needs_a_polynomial(void **state)
{
    static const char alone[] = "policy: {aggregations: [fedvs]}\n";
    struct error err;
    char where[600];

    (void)state;
    assert_int_equal(load_bottom(alone, NULL, &err), STATUS_CONFIG);
    snprintf(where, sizeof where, "%s: model.polynomial.degree: is 0, a layered bottom",
             scratch_path("p.yaml"));
    if (strstr(err.text, where) != err.text)
        fail_msg("%s", err.text);
    assert_int_equal(load_bottom(alone, "model.polynomial.degree=2", &err), STATUS_OK);
    assert_int_equal(load_bottom(alone, "policy.aggregations=[fedvs, masked]", &err), STATUS_OK);
    assert_int_equal(load_bottom(alone, "policy.aggregations=[fedvs, coded]", &err), STATUS_OK);
    assert_int_equal(load_bottom(alone, "policy.aggregations=[fedvs, clear]", &err), STATUS_OK);
    assert_int_equal(load_bottom("", "policy.aggregations=[clear]", &err), STATUS_OK);
    assert_int_equal(load_bottom(alone, "model.polynomial.degree=0", &err), STATUS_CONFIG);
    assert_true(strstr(err.text, "--set model.polynomial.degree=0: is 0") == err.text);
}

/* --- the encoding that fedvs implies --- */

#define SERVER                                                                                     \
    "listen: h:1\nidentity: {cert: a, key: b, ca: c}\nroster: r\nstate: s\nlabels: {train: t}\n"

static enum status load_plan(const char *protocol, const char *set, struct error *err)
{
    char text[512];

    *err = (struct error){0};
    snprintf(text, sizeof text, SERVER "%s", protocol);
    scratch_write("s.yaml", text, strlen(text));
    return config_load_server(&server, scratch_path("s.yaml"), &set, set == NULL ? 0 : 1, err);
}

static void test_fedvs_implies_its_encoding_unless_one_is_given(void **state)
{
    static const char fedvs[] = "protocol: {aggregation: fedvs}\n",
                      pbm[] = "protocol: {encoding: pbm}\n";
    struct error err;

    (void)state;
    assert_int_equal(load_plan(fedvs, NULL, &err), STATUS_OK);
    assert_int_equal(server.plan.protocol.encoding, ENCODING_FIXED);
    assert_int_equal(load_plan("", "protocol.aggregation=fedvs", &err), STATUS_OK);
    assert_int_equal(server.plan.protocol.encoding, ENCODING_FIXED);
    assert_int_equal(load_plan(fedvs, "protocol.encoding=fixed", &err), STATUS_OK);
    assert_int_equal(load_plan(fedvs, "protocol.encoding=pbm", &err), STATUS_CONFIG);
    assert_true(strstr(err.text, "--set protocol.encoding=pbm: fedvs multiplies") == err.text);
    assert_int_equal(load_plan(pbm, "protocol.aggregation=fedvs", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "s.yaml:6: protocol.encoding: fedvs multiplies"));
    assert_int_equal(load_plan(pbm, "protocol.aggregation=coded", &err), STATUS_OK);
    assert_int_equal(server.plan.protocol.encoding, ENCODING_PBM);
    assert_int_equal(load_plan(fedvs, "protocol.aggregation=masked", &err), STATUS_OK);
    assert_int_equal(server.plan.protocol.encoding, ENCODING_PBM);
}

static void test_a_refused_plan_says_the_numbers_where_the_key_stands(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load_plan("protocol: {aggregation: fedvs, fedvs: {segments: 3}}\n"
                               "training: {batch: 10}\n",
                               NULL, &err),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "s.yaml:7: training.batch: must be a multiple of "
                                     "protocol.fedvs.segments (batch 10, segments 3)"));
    assert_int_equal(load_plan("protocol: {aggregation: fedvs, fedvs: {segments: 3}}\n"
                               "training: {batch: 12}\n",
                               NULL, &err),
                     STATUS_OK);
}

/* What a file gives of a plan, and nothing else, in the words in which this program prints it. */
static void test_of_a_plan_file_the_given_keys_are_printed_and_others_refused(void **state)
{
    static const char *const bad[] = {
        "listen: \"0.0.0.0:1\"\n", "identity: {key: x}\n", "roster: x\n",
        "training: {epoch: 2}\n",  "training: [\n",        "protocol: {encoding: float32}\n",
        "shape: {parties: 2}\n"};
    struct error err = {0};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    scratch_write_text("plan.yaml", "# mine\nprotocol:\n  pbm: {beta: 0.250, trials: 16}\n"
                                    "training:\n  epochs: 2\nprivacy: {delta: 1.0e-5}\n");
    assert_int_equal(config_print_plan_file(scratch_path("plan.yaml"), &out, &err), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_string_equal((const char *)out.data,
                        "protocol:\n  pbm:\n    trials: 16\n    beta: 0.25\n"
                        "training:\n  epochs: 2\nprivacy:\n  delta: 1e-5\n");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        out.len = 0;
        scratch_write_text("plan.yaml", bad[i]);
        assert_int_equal(config_print_plan_file(scratch_path("plan.yaml"), &out, &err),
                         STATUS_CONFIG);
        assert_int_equal(out.len, 0);
    }
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_printed_server_loads_back_to_the_same_struct),
        cmocka_unit_test(test_a_printed_party_loads_back_to_the_same_struct),
        cmocka_unit_test(test_a_changed_print_loads_to_another_struct),
        cmocka_unit_test(test_the_examples_show_every_key_with_its_default),
        cmocka_unit_test(test_the_documented_reference_is_that_of_the_program),
        cmocka_unit_test(test_a_state_leaves_room_for_the_names_in_it),
        cmocka_unit_test(test_a_polynomial_with_layers_is_refused_where_the_layers_stand),
        cmocka_unit_test(test_a_party_that_admits_fedvs_alone_needs_a_polynomial),
        cmocka_unit_test(test_fedvs_implies_its_encoding_unless_one_is_given),
        cmocka_unit_test(test_a_refused_plan_says_the_numbers_where_the_key_stands),
        cmocka_unit_test(test_any_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(test_of_a_plan_file_the_given_keys_are_printed_and_others_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
