/* test_package_layers.c -- what a package says of layers that are not of units, from a hand that
 * means well and from others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/package_layers.h"

#include "tests/unit/daemon/packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct nn_spec SPEC = {
    .layers = 3,
    .width = {3, 4, 4, 2},
    .act = {NN_ACT_RELU, NN_ACT_NONE, NN_ACT_TANH},
    .out_scale = 0.5F,
    .rows_max = 2,
    .layer =
        {{.kind = NN_CONV, .shape = {3, 1, 1}, .window = {{1, 1}, {1, 1}, {0, 0}}, .groups = 1},
         {.kind = NN_TURN, .shape = {4, 1, 1}, .flattens = true}},
};
#define CONV "conv 3 1 1 1 1 1 1 0 0 1 0 0"
#define TURN "turn 4 1 1 0 0 0 0 0 0 0 0 1"

static struct arena arena;
static struct nn_net net;
static struct package package;
static struct buf file;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(arena_init(&arena, nn_net_bytes(&SPEC)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &SPEC, &arena), STATUS_OK);
    packages_bottom(&package);
    packages_print(&package, &net, &file);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    package_deinit(&package);
    buf_deinit(&file);
    arena_deinit(&arena);
    return 0;
}

static void test_each_layer_is_read_as_it_was_written(void **state)
{
    struct error err = {0};
    struct package got;

    (void)state;
    assert_non_null(
        strstr((const char *)file.data + 8, "\"layers\":\"" CONV "\\n" TURN "\\ndense\\n\""));
    package_init(&got);
    assert_int_equal(package_parse(&got, file.data, file.len, &err), STATUS_OK);
    for (size_t i = 0; i < SPEC.layers; i++) {
        const struct nn_layer_spec *is = &got.spec.layer[i], *was = &SPEC.layer[i];

        assert_int_equal(is->kind, was->kind);
        assert_memory_equal(&is->shape, &was->shape, sizeof is->shape);
        assert_memory_equal(&is->window, &was->window, sizeof is->window);
        assert_int_equal(is->groups, was->groups);
        assert_int_equal(is->flattens, was->flattens);
    }
    assert_int_equal(package_weights(&got, &net, &err), STATUS_OK);
    package_deinit(&got);
}

/* Texts of a package, and what no package says in their place. */
static const char *const changes[][2] = {
    /* no kind, and kinds that are told by other keys */
    {"conv 3", "cone 3"},
    {"conv 3", "con 3"},
    {"conv 3", "polynomial 3"},
    {"conv 3", "embedding 3"},
    {"conv 3", "lstm 3"},
    /* windows that fit in nowhere */
    {CONV, "conv 3 1 1 0 1 1 1 0 0 1 0 0"},
    {CONV, "conv 3 1 1 1 1 1 0 0 0 1 0 0"},
    {CONV, "conv 3 1 1 1 1 1 1 1 0 1 0 0"},
    {CONV, "conv 3 1 1 2 1 1 1 0 0 1 0 0"},
    {CONV, "conv 3 1 1 4294967295 1 1 1 4294967294 0 1 0 0"},
    {CONV, "conv 3 1 1 1 1 1 1 0 0 0 0 0"},
    {CONV, "conv 3 1 1 1 1 1 1 0 0 2 0 0"},
    {CONV, "conv 3 1 1 1 1 1 1 0 0 4294967295 0 0"},
    /* shapes of another row, with as many weights, and of none */
    {CONV, "conv 6 1 1 1 1 1 1 0 0 2 0 0"},
    {"conv 3 1 1", "conv 1 3 3"},
    {"conv 3 1 1", "conv 0 1 1"},
    {"conv 3 1 1", "conv 3 0 1"},
    {"conv 3 1 1", "conv 4294967295 1 1"},
    {"conv 3 1 1", "conv 65536 65536 3"},
    {"turn 4 1 1", "turn 3 1 1"},
    {TURN, "max_pool 4 1 1 0 0 0 0 0 0 0 0 0"},
    {TURN, "group_norm 4 1 1 0 0 0 0 0 0 0 0 0"},
    {TURN, "lstm 4 1 1 0 0 0 0 0 0 0 4294967295 0"},
    /* numbers that are none, too many, or too few */
    {"conv 3", "conv 4294967299"},
    {"conv 3", "conv -3"},
    {"conv 3", "conv +3"},
    {"conv 3", "conv 03"},
    {"conv 3", "conv  3"},
    {CONV, CONV " 0"},
    {CONV, "conv 3 1 1 1 1 1 1 0 0 1 0"},
    {TURN, "turn 4 1 1 0 0 0 0 0 0 0 0 2"},
    {TURN "\\n", TURN},
    {"\\ndense", "\\ndense 1"},
    /* ways from nowhere, to nowhere, and past a sum */
    {TURN, TURN " 2"},
    {TURN, TURN " 1"},
    {TURN, TURN " 0 1"},
    {TURN, TURN " 0 0"},
    {TURN, "add 0 0 0 0 0 0 0 0 0 0 0 0"},
    {TURN, "add 0 0 0 0 0 0 0 0 0 0 0 0 0 2"},
    {TURN, "add 0 0 0 0 0 0 0 0 0 0 0 0 4294967295 1"},
    {TURN, "add 0 0 0 0 0 0 0 0 0 0 0 0 1 4294967295"},
    {CONV, CONV " 0 0 1"},
    {CONV, CONV " 0 0 2"},
    /* too many lines, or too few */
    {"\\ndense", ""},
    {"\\ndense", "\\ndense\\ndense"},
    {CONV "\\n", ""},
    {CONV "\\n" TURN "\\n", ""},
    {CONV "\\n" TURN "\\ndense\\n", ""},
    {CONV "\\n" TURN, "dense\\ndense"},
};

static void test_layers_that_cannot_be_are_refused(void **state)
{
    struct buf other;

    (void)state;
    assert_int_equal(packages_parse(&file, file.len), STATUS_OK);
    buf_init(&other, SIZE_MAX);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        packages_with(&other, &file, changes[i][0], changes[i][1]);
        if (packages_parse(&other, other.len) != STATUS_DATA)
            fail_msg("%s: not refused", changes[i][1]);
    }
    buf_deinit(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_layer_is_read_as_it_was_written, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_layers_that_cannot_be_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
