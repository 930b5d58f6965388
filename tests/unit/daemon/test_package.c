/* test_package.c -- a package is what was written, or it is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/daemon/package_text.h"
#include "common/data/schema_text.h"
#include "common/nn/outside.h"
#include "common/nn/safetensors.h"
#include "tests/lib/seeds.h"
#include "tests/unit/daemon/packages.h"

static void test_a_bottom_comes_back_as_it_was(void **state)
{
    struct packages s = {0};
    struct package p, got;
    struct error err = {0};
    struct arena arena = {0};
    struct nn_net net;
    struct buf b;

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    packages_print(&p, &s.bottom, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_int_equal(got.role, PACKAGE_BOTTOM);
    assert_true(got.made == ACCOUNT_DP && got.noise == p.noise);
    assert_string_equal(got.run, "abc-2");
    assert_int_equal(got.cols, 3);
    assert_memory_equal(got.names, p.names, 3 * TABLE_NAME_MAX);
    assert_int_equal(got.schema.n, 3);
    assert_string_equal(got.schema.column[1].name, "a \"quoted\\ name\"");
    assert_true(got.schema.column[0].filled && got.schema.column[0].fill == 40.5F);
    assert_string_equal(levels_text(&got.schema.column[2].levels, 0), "x");
    assert_int_equal(got.scale.cols, 3);
    assert_memory_equal(got.scale.mean, p.scale.mean, 3 * sizeof(float));
    assert_memory_equal(got.scale.sd, p.scale.sd, 3 * sizeof(float));
    assert_memory_equal(got.plan_sha256, p.plan_sha256, DIGEST_BYTES);
    assert_memory_equal(got.trail, p.trail, DIGEST_BYTES);
    assert_true(got.epochs == 1.5 && got.steps == 3 && got.plan.training.seed == 7);
    assert_true(got.spec.layers == 2 && got.spec.act[0] == NN_ACT_RELU &&
                got.spec.act[1] == NN_ACT_TANH && got.spec.out_scale == 0.5F);
    got.spec.rows_max = 1;
    assert_int_equal(arena_init(&arena, nn_net_bytes(&got.spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &got.spec, &arena), STATUS_OK);
    assert_int_equal(package_weights(&got, &net, &err), STATUS_OK);
    assert_memory_equal(net.layer[1].w, s.bottom.layer[1].w, 8 * sizeof(float));
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    arena_deinit(&arena);
    packages_deinit(&s);
}

static void test_a_head_has_its_scores_and_no_columns(void **state)
{
    struct packages s = {0};
    struct package p, got;
    struct error err = {0};
    char name[16];
    struct buf b;

    (void)state;
    packages_init(&s);
    packages_head(&p);
    packages_print(&p, &s.head, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_int_equal(got.role, PACKAGE_HEAD);
    assert_int_equal(got.cols, 0);
    assert_non_null(strstr(got.score, "test.auc=0.75\n"));
    package_class(&got, 0, name, sizeof name);
    assert_string_equal(name, "no");
    package_class(&got, 1, name, sizeof name);
    assert_string_equal(name, "yes");
    mem_free(got.classes);
    got.classes = NULL;
    package_class(&got, 1, name, sizeof name);
    assert_string_equal(name, "1");
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    packages_deinit(&s);
}

/* And only such a head: of others no word is said of it, so that packages of before are read. */
static void test_a_head_of_scaled_targets_says_by_what(void **state)
{
    const struct nn_spec spec = {
        .layers = 1, .width = {2, 1}, .act = {NN_ACT_NONE}, .out_scale = 1, .rows_max = 1};
    struct arena arena = {0};
    struct nn_net net;
    struct package p, got;
    struct error err = {0};
    struct buf b, other;

    (void)state;
    assert_int_equal(arena_init(&arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &spec, &arena), STATUS_OK);
    packages_head(&p);
    mem_free(p.classes);
    p.classes = NULL;
    p.plan.model.task = TASK_REGRESSION;
    p.plan.shape.outputs = 1;
    p.plan.training.scale_targets = true;
    p.center = 1000.5F;
    p.spread = 0.25F;
    packages_print(&p, &net, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_true(got.center == p.center && got.spread == p.spread);
    buf_init(&other, SIZE_MAX);
    packages_with(&other, &b, "1000.5,0.25", "1000.5,0.00");
    assert_int_equal(packages_parse(&other, other.len), STATUS_DATA);
    buf_deinit(&other);
    buf_deinit(&b);
    p.plan.training.scale_targets = false;
    packages_print(&p, &net, &b);
    assert_null(memmem(b.data, b.len, "\"target\"", 8));
    assert_int_equal(packages_parse(&b, b.len), STATUS_OK);
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    arena_deinit(&arena);
}

/* Each bit of the metadata counts, and no length but the whole will do. */
static void test_a_changed_or_cut_package_is_refused(void **state)
{
    struct packages s = {0};
    struct package p;
    struct buf b;
    size_t header;

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    packages_print(&p, &s.bottom, &b);
    header = 8 + packages_header_bytes(&b);
    assert_int_equal(packages_parse(&b, b.len), STATUS_OK);
    for (size_t n = 0; n < b.len; n++)
        assert_int_not_equal(packages_parse(&b, n), STATUS_OK);
    for (size_t i = 8; i < header; i++) {
        const uint8_t was = b.data[i];
        const char *name = strstr((char *)b.data + 8, "abc-2");

        /* The name of the run is anybody's who may write the file; so are the tensors' places. */
        if ((const char *)b.data + i >= name && (const char *)b.data + i < name + 5)
            continue;
        if ((const char *)b.data + i >= strstr((char *)b.data + 8, "\"trail\"") &&
            (const char *)b.data + i < strstr((char *)b.data + 8, "\"fusion\""))
            continue;
        if ((const char *)b.data + i >= strstr((char *)b.data + 8, "\"activations\""))
            break;
        b.data[i] ^= 1;
        assert_int_not_equal(packages_parse(&b, b.len), STATUS_OK);
        b.data[i] = was;
    }
    package_deinit(&p);
    buf_deinit(&b);
    packages_deinit(&s);
}

/* A table as it was read becomes what the bottom is given. */
static void test_a_table_is_prepared_as_the_package_says(void **state)
{
    struct packages s = {0};
    struct package p;
    struct table t = {.rows = 2, .cols = 3};
    size_t unseen, filled;
    struct error err = {0};

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    t.x = mem_alloc(6, sizeof *t.x);
    t.names = mem_alloc(3, TABLE_NAME_MAX);
    assert_true(t.x != NULL && t.names != NULL);
    memcpy(t.x, (float[]){NAN, 2, 1, 40, 5, 0}, 6 * sizeof *t.x);
    assert_int_equal(package_prepare(&p, &t, &unseen, &filled, &err), STATUS_OK);
    assert_true(unseen == 1 && filled == 1);
    for (size_t i = 0; i < 6; i++) {
        const float was[] = {40.5F, 2, 0, 40, 5, 1};
        const double want =
            ((double)was[i] - (double)p.scale.mean[i % 3]) / (double)p.scale.sd[i % 3];

        assert_true(t.x[i] == (float)want);
    }
    mem_free(t.names);
    t.names = NULL;
    assert_int_equal(package_prepare(&p, &t, &unseen, &filled, &err), STATUS_DATA);
    table_deinit(&t);
    package_deinit(&p);
    packages_deinit(&s);
}

/* What fuzzing begins with is accepted (tests/lib/seeds.h). */
static void test_a_package_of_each_role_is_a_seed(void **state)
{
    struct packages s = {0};
    struct package p;
    struct buf b;

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    packages_print(&p, &s.bottom, &b);
    assert_int_equal(packages_parse(&b, b.len), STATUS_OK);
    seeds_hold("package", "bottom", b.data, b.len);
    package_deinit(&p);
    buf_deinit(&b);
    packages_head(&p);
    packages_print(&p, &s.head, &b);
    assert_int_equal(packages_parse(&b, b.len), STATUS_OK);
    seeds_hold("package", "head", b.data, b.len);
    package_deinit(&p);
    buf_deinit(&b);
    packages_deinit(&s);
}

static void test_weights_alone_are_no_package(void **state)
{
    struct packages s = {0};
    struct buf b;

    (void)state;
    packages_init(&s);
    buf_init(&b, 4096);
    assert_int_equal(safetensors_print(&s.head, &b), STATUS_OK);
    assert_int_equal(packages_parse(&b, b.len), STATUS_DATA);
    buf_deinit(&b);
    packages_deinit(&s);
}

/* A bottom of one column with n levels of the longest text, all of signs that are escaped in a
 * schema, and there again in a package: a feature for each, whose name is escaped once. */
static void bottom_of(struct package *p, uint32_t n)
{
    struct schema_column *c;

    packages_bottom(p);
    schema_deinit(&p->schema);
    scale_deinit(&p->scale);
    mem_free(p->names);
    assert_int_equal(schema_init(&p->schema, 1), STATUS_OK);
    c = p->schema.column;
    snprintf(c->name, sizeof c->name, "c");
    c->kind = SCHEMA_CATEGORY;
    p->cols = n;
    p->names = mem_alloc(n, TABLE_NAME_MAX);
    assert_non_null(p->names);
    for (uint32_t i = 0; i < n; i++) {
        char level[LEVELS_TEXT_MAX];
        uint32_t number;

        memset(level, '\\', sizeof level);
        for (int bit = 0; bit < 17; bit++)
            level[bit] = (i >> bit & 1) != 0 ? '"' : '\\';
        assert_int_equal(levels_add(&c->levels, level, sizeof level, &number), STATUS_OK);
        memcpy(p->names + (size_t)i * TABLE_NAME_MAX, level, TABLE_NAME_MAX - 1);
    }
    assert_int_equal(schema_place_all(c), STATUS_OK);
}

/* What is said before a run is what comes of it: a schema that is small enough for itself is not
 * always small enough for a package. */
static void test_there_is_room_before_a_run_only_if_the_package_can_be_written(void **state)
{
    static const struct {
        uint32_t levels;
        enum status kept;
    } is[] = {{1000, STATUS_OK}, {50000, STATUS_OK}, {53000, STATUS_DATA}};

    (void)state;
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        struct packages s = {0};
        struct schema copy;
        struct error err = {0};
        struct package p;
        struct buf out;

        packages_init(&s);
        bottom_of(&p, is[i].levels);
        assert_int_equal(schema_copy(&copy, &p.schema, &err), STATUS_OK);
        assert_int_equal(package_room(&p, &err), is[i].kept);
        buf_init(&out, SIZE_MAX);
        assert_int_equal(package_print(&p, &s.bottom, &out, &err),
                         is[i].kept == STATUS_OK ? STATUS_OK : STATUS_LIMIT);
        buf_deinit(&out);
        schema_deinit(&copy);
        package_deinit(&p);
        packages_deinit(&s);
    }
}

/* Whatever the plan is: what a run adds is less than is kept free for it. */
static void test_what_a_run_adds_has_room_beside_the_columns(void **state)
{
    struct packages s = {0};
    struct package p;
    struct buf all, columns;
    struct error err = {0};

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    p.spec = s.bottom.spec;
    buf_init(&all, SIZE_MAX);
    buf_init(&columns, SIZE_MAX);
    assert_int_equal(package_room(&p, &err), STATUS_OK);
    assert_int_equal(package_text_print(&p, &all), STATUS_OK);
    assert_int_equal(package_text_print_columns(&p, &columns), STATUS_OK);
    assert_true(all.len > columns.len && all.len - columns.len < PACKAGE_RUN_TEXT_MAX / 16);
    all.data[all.len - 2] = 0; /* its brace */
    columns.data[columns.len - 1] = 0;
    assert_non_null(strstr((const char *)all.data, (const char *)columns.data));
    package_deinit(&p);
    buf_deinit(&all);
    buf_deinit(&columns);
    packages_deinit(&s);
}

static void test_a_head_of_classes_may_have_a_temperature(void **state)
{
    const struct nn_spec spec = {
        .layers = 1, .width = {2, 2}, .act = {NN_ACT_NONE}, .out_scale = 1, .rows_max = 1};
    struct arena arena = {0};
    struct nn_net net;
    struct package p, got;
    struct error err = {0};
    struct buf b, other;

    (void)state;
    assert_int_equal(arena_init(&arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &spec, &arena), STATUS_OK);
    packages_head(&p);
    p.temperature = 1.75F;
    packages_print(&p, &net, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_true(got.temperature > 1.74F && got.temperature < 1.76F);
    buf_init(&other, SIZE_MAX);
    for (size_t i = 0; i < 3; i++) { /* "temperature":"1.75" */
        static const char *const wrong[] = {":\"0.00", ":\"1.00", ":\"-1.7"};

        packages_with(&other, &b, ":\"1.75", wrong[i]);
        assert_int_equal(packages_parse(&other, other.len), STATUS_DATA);
    }
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&other);
    buf_deinit(&b);
    arena_deinit(&arena);
}

/* Of the state that a program has saved. */
static void test_a_program_is_a_bottom_or_a_head_whose_plan_needs_no_layers(void **state)
{
    struct nn_spec spec = {.layers = 1,
                           .width = {3, 2},
                           .act = {NN_ACT_TANH},
                           .out_scale = 0.5F,
                           .rows_max = 1,
                           .layer = {{.kind = NN_OUTSIDE, .shape = {3, 1, 1}}}};
    struct arena arena = {0};
    struct nn_net net;
    struct package p, got;
    struct error err = {0};
    struct buf b;

    (void)state;
    spec.layer[0].units = (uint32_t)outside_floats(5);
    assert_int_equal(arena_init(&arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &spec, &arena), STATUS_OK);
    outside_pack(net.layer[0].w, net.layer[0].params, (const uint8_t *)"saved", 5);
    packages_bottom(&p);
    packages_print(&p, &net, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_memory_equal(&got.spec.layer[0], &spec.layer[0], sizeof spec.layer[0]);
    outside_pack_lost(net.layer[0].w, net.layer[0].params);
    assert_int_equal(package_weights(&got, &net, &err), STATUS_OK);
    assert_true(net.layer[0].w[0] == 0 && net.layer[0].w[1] == 5);
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    arena_deinit(&arena);

    spec.width[0] = 2;
    spec.act[0] = NN_ACT_NONE;
    spec.out_scale = 1;
    assert_int_equal(arena_init(&arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &spec, &arena), STATUS_OK);
    packages_head(&p);
    p.plan.model.head = (struct config_layers){0};
    packages_print(&p, &net, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);

    packages_head(&p);
    p.plan.model.head = (struct config_layers){1, {{LAYERS_UNITS, {8}}}};
    packages_print(&p, &net, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "a program computes its head, and its plan needs layers"));
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    arena_deinit(&arena);
}

/* A bottom whose third column is embedded, as `rest` of its schema says; its net has two levels in
 * vectors of two. */
static void embedded_bottom(struct package *p, const char *rest)
{
    char text[400];
    struct error err = {0};

    packages_bottom(p);
    schema_deinit(&p->schema);
    snprintf(text, sizeof text,
             "statistics: fit\ncolumns:\n"
             "  - {name: \"age\", kind: number, missing: mean, fill: 40.5}\n"
             "  - {name: \"b\", kind: number, missing: refused}\n"
             "  - {name: \"c\", kind: category, levels: [x, y], %s}\n",
             rest);
    assert_int_equal(schema_parse(&p->schema, text, strlen(text), "s", &err), STATUS_OK);
    snprintf(p->names + TABLE_NAME_MAX, TABLE_NAME_MAX, "b");
    snprintf(p->names + 2 * (size_t)TABLE_NAME_MAX, TABLE_NAME_MAX, "c");
    p->scale.mean[2] = 0;
    p->scale.sd[2] = 1;
}

static const struct nn_spec EMBEDDED = {.layers = 2,
                                        .width = {3, 4, 2},
                                        .act = {NN_ACT_NONE, NN_ACT_TANH},
                                        .out_scale = 0.5F,
                                        .rows_max = 2,
                                        .layer = {{.kind = NN_EMBEDDING}},
                                        .embedded = {1, {{2, 2, 2}}}};
/* One whose layers a package has to list, behind that of its tables. */
static const struct nn_spec EMBEDDED_LIST = {
    .layers = 3,
    .width = {3, 4, 4, 2},
    .act = {NN_ACT_NONE, NN_ACT_RELU, NN_ACT_TANH},
    .out_scale = 0.5F,
    .rows_max = 2,
    .layer = {{.kind = NN_EMBEDDING}, {.kind = NN_ACTIVATION}},
    .embedded = {1, {{2, 2, 2}}}};

static void embeds_and_says_so(const struct nn_spec *spec)
{
    static const struct {
        const char *rest;
        enum status want;
    } cases[] = {
        {"encode: embedding, width: 2", STATUS_OK},
        {"encode: embedding, width: 3", STATUS_DATA},
        {"encode: embedding, width: 2, other: true", STATUS_DATA},
    };
    struct arena arena = {0};
    struct nn_net net;
    struct package p, got;
    struct error err = {0};
    struct buf b;

    assert_int_equal(arena_init(&arena, nn_net_bytes(spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, spec, &arena), STATUS_OK);
    net.layer[0].w[3] = 0.25F;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        embedded_bottom(&p, cases[i].rest);
        packages_print(&p, &net, &b);
        package_init(&got);
        assert_int_equal(package_parse(&got, b.data, b.len, &err), cases[i].want);
        if (i == 0) {
            for (size_t k = 0; k < spec->layers; k++)
                assert_int_equal(got.spec.layer[k].kind, spec->layer[k].kind);
            assert_memory_equal(&got.spec.embedded, &spec->embedded, sizeof spec->embedded);
            net.layer[0].w[3] = 0;
            assert_int_equal(package_weights(&got, &net, &err), STATUS_OK);
            assert_true(net.layer[0].w[3] == 0.25F);
        }
        package_deinit(&got);
        package_deinit(&p);
        buf_deinit(&b);
    }
    embedded_bottom(&p, cases[0].rest);
    p.scale.mean[2] = 0.5F; /* a level's number is none of these */
    packages_print(&p, &net, &b);
    assert_int_equal(packages_parse(&b, b.len), STATUS_DATA);
    buf_deinit(&b);
    package_deinit(&p);
    arena_deinit(&arena);
}

static void test_a_bottom_says_what_it_embeds_and_how(void **state)
{
    (void)state;
    embeds_and_says_so(&EMBEDDED);
    embeds_and_says_so(&EMBEDDED_LIST);
}

/* Tables of other levels are other weights, whatever their size. */
static void test_a_bottom_is_for_no_other_levels(void **state)
{
    static const char *const levels[] = {"x, y", "y, x", "x, z"};
    struct table t = {.cols = 3};
    struct package p;

    (void)state;
    embedded_bottom(&p, "encode: embedding, width: 2");
    t.names = p.names;
    for (size_t i = 0; i < 3; i++) {
        struct error err = {0};
        struct schema own;
        char text[300];

        snprintf(text, sizeof text,
                 "statistics: fit\ncolumns:\n  - {name: \"c\", kind: category, levels: [%s], "
                 "encode: embedding, width: 2}\n",
                 levels[i]);
        assert_int_equal(schema_parse(&own, text, strlen(text), "s", &err), STATUS_OK);
        assert_int_equal(package_columns(&p, &own, &t, &err), i == 0 ? STATUS_OK : STATUS_DATA);
        schema_deinit(&own);
    }
    package_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bottom_says_what_it_embeds_and_how),
        cmocka_unit_test(test_a_bottom_is_for_no_other_levels),
        cmocka_unit_test(test_a_head_of_classes_may_have_a_temperature),
        cmocka_unit_test(test_a_program_is_a_bottom_or_a_head_whose_plan_needs_no_layers),
        cmocka_unit_test(test_a_bottom_comes_back_as_it_was),
        cmocka_unit_test(test_a_head_has_its_scores_and_no_columns),
        cmocka_unit_test(test_a_head_of_scaled_targets_says_by_what),
        cmocka_unit_test(test_a_changed_or_cut_package_is_refused),
        cmocka_unit_test(test_a_table_is_prepared_as_the_package_says),
        cmocka_unit_test(test_a_package_of_each_role_is_a_seed),
        cmocka_unit_test(test_weights_alone_are_no_package),
        cmocka_unit_test(test_there_is_room_before_a_run_only_if_the_package_can_be_written),
        cmocka_unit_test(test_what_a_run_adds_has_room_beside_the_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
