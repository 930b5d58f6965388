/* export.c -- a package read, said in ONNX's words, and written.
 *
 * What is not in the file is said in it: a bottom's columns are taken as prepared, and neither
 * noise nor rounding is put on embeddings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/models/export.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/daemon/models.h"
#include "common/nn/head.h"
#include "common/onnx/onnx.h"

#include <stdio.h>
#include <string.h>

static const char about_bottom[] =
    "The bottom of one party: prepared columns to its embedding.  Preparation (texts, gaps, "
    "scaling) is left out: the model package has it.  So are the noise and the rounding of the "
    "embedding on its way.";
static const char about_head[] =
    "The head of a model whose bottoms are with the parties: the embeddings of all of them, in the "
    "order of the roster, to scores.  Of a party that is missing its input is its row of stand_in "
    "in the model package, or zeros where that has none.";

static void note(struct onnx_model *m, const char *key, const char *value)
{
    if (value[0] != 0)
        m->note[m->notes++] = (struct onnx_note){key, value};
}

/* Names in their order, one a line; "" where the data had none. */
static enum status print_names(const struct package *p, struct buf *out)
{
    enum status s = STATUS_OK;

    for (size_t c = 0; p->names != NULL && c < p->cols && s == STATUS_OK; c++)
        s = buf_printf(out, "%s%s", c > 0 ? "\n" : "", p->names + c * TABLE_NAME_MAX);
    return s == STATUS_OK ? buf_append(out, "", 1) : s;
}

static enum status load_net(const struct package *p, struct nn_net *net, struct arena *arena,
                            struct error *err)
{
    struct nn_spec spec = p->spec;
    enum status s;

    spec.rows_max = 1;
    s = arena_init(arena, nn_net_bytes(&spec));
    if (s == STATUS_OK)
        s = nn_net_init(net, &spec, arena);
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    return package_weights(p, net, err);
}

/* What coins are tossed for is so many times what a bottom computes, cut off (common/pbm/pbm.h). */
static float gain_of(const struct package *p)
{
    return p->role == PACKAGE_BOTTOM ? (float)plan_gain(&p->plan) : 1.0F;
}

/* Where predictions cut a bottom's outputs off, but where it ends in C tanh. */
static float limit_of(const struct package *p)
{
    if (gain_of(p) > 1.0F)
        return (float)p->plan.protocol.clip;
    if (p->role == PACKAGE_HEAD || p->spec.act[p->spec.layers - 1] != NN_ACT_NONE)
        return 0.0F;
    return (float)(p->reach > 0 ? p->reach : p->plan.protocol.clip);
}

static void describe(struct onnx_model *m, const struct package *p, const struct nn_net *net)
{
    struct nn_head head;

    *m = (struct onnx_model){.net = net, .gain = gain_of(p), .limit = limit_of(p)};
    m->name = p->role == PACKAGE_HEAD ? "head" : "bottom";
    m->about = p->role == PACKAGE_HEAD ? about_head : about_bottom;
    if (p->role == PACKAGE_BOTTOM)
        return;
    nn_head_shape(&head, &p->plan);
    m->parties = head.parties;
    m->width = head.width;
    m->mean = head.mean;
    m->concat = head.apart && !head.max;
    m->max = head.max;
    m->loss = head.loss;
    m->center = p->center;
    m->spread = p->spread;
    m->temperature = p->temperature;
}

static enum status print_file(const struct package *p, struct buf *out, struct error *err)
{
    char plan[DIGEST_HEX_CHARS + 1], trail[DIGEST_HEX_CHARS + 1];
    struct arena arena = {0};
    struct onnx_model m;
    struct nn_net net;
    struct buf names;
    enum status s =
        p->spec.layer[0].kind != NN_OUTSIDE
            ? load_net(p, &net, &arena, err)
            : error_set(err, STATUS_CONFIG, "run %s: its %s is a program's, which is no graph",
                        p->run, p->role == PACKAGE_HEAD ? "head" : "bottom");

    buf_init(&names, PACKAGE_TEXT_MAX);
    if (s == STATUS_OK && (s = print_names(p, &names)) != STATUS_OK)
        error_set(err, s, "%s", status_words(s));
    if (s == STATUS_OK) {
        describe(&m, p, &net);
        digest_hex(plan, p->plan_sha256, sizeof p->plan_sha256);
        digest_hex(trail, p->trail, sizeof p->trail);
        note(&m, "role", m.name);
        note(&m, "run", p->run);
        note(&m, "plan_sha256", plan);
        note(&m, "trail", trail);
        if (p->role == PACKAGE_BOTTOM)
            note(&m, "preparation", "left out");
        note(&m, "columns", (const char *)names.data);
        if (p->classes != NULL)
            note(&m, "classes", p->classes);
        s = onnx_print(&m, out, err);
    }
    buf_deinit(&names);
    arena_deinit(&arena);
    return s;
}

enum status export_onnx(const char *state, const char *run, const char *path, struct error *err)
{
    struct package p;
    struct buf file;
    enum status s;

    package_init(&p);
    buf_init(&file, ONNX_FILE_MAX);
    s = models_load(state, run, &p, err);
    if (s == STATUS_OK)
        s = print_file(&p, &file, err);
    if (s == STATUS_OK)
        s = file_write_atomic(path, file.data, file.len, 0600, err);
    if (s == STATUS_OK)
        printf("%s of run %s: %s (ONNX, opset %d)\n", p.role == PACKAGE_HEAD ? "head" : "bottom",
               p.run, path, ONNX_OPSET);
    if (s == STATUS_OK && p.role == PACKAGE_BOTTOM)
        printf("it takes %zu prepared columns: preparation is left out\n", p.cols);
    buf_deinit(&file);
    package_deinit(&p);
    return s;
}
