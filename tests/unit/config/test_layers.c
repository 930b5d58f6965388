/* test_layers.c -- layers as a file lists them: what is read, with which defaults, and what is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"

#include "common/base/check.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct config_party party;

static enum status load_two(const char *one, const char *two, struct error *err)
{
    const char *const sets[] = {"server=127.0.0.1:1",
                                "roster=r",
                                "state=s",
                                "identity.cert=c",
                                "identity.key=k",
                                "identity.ca=a",
                                "data.train=t",
                                one,
                                two};

    *err = (struct error){0};
    return config_load_party(&party, NULL, sets, sizeof sets / sizeof *sets, err);
}

static enum status load(const char *set, struct error *err)
{
    return load_two(set, "data.train=t", err);
}

static void assert_layer(size_t i, enum layers_word word, const uint32_t *argument)
{
    assert_int_equal(party.layers.item[i].word, word);
    assert_memory_equal(party.layers.item[i].argument, argument,
                        sizeof party.layers.item[i].argument);
}

static void test_words_take_what_is_said_and_their_defaults(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load("model.layers=[{conv2d: {padding: 1, out: 16, kernel: 3}}, relu, "
                          "{maxpool: 2}, {avgpool: {size: 3, stride: 1}}, {groupnorm: 4}, flatten, "
                          "64]",
                          &err),
                     STATUS_OK);
    assert_int_equal(party.layers.n, 7);
    assert_layer(0, LAYERS_CONV2D, (const uint32_t[LAYERS_ARGUMENTS_MAX]){16, 3, 1, 1, 1, 1});
    assert_layer(1, LAYERS_RELU, (const uint32_t[LAYERS_ARGUMENTS_MAX]){0});
    assert_layer(2, LAYERS_MAXPOOL, (const uint32_t[LAYERS_ARGUMENTS_MAX]){2, 2, 0});
    assert_layer(3, LAYERS_AVGPOOL, (const uint32_t[LAYERS_ARGUMENTS_MAX]){3, 1, 0});
    assert_layer(4, LAYERS_GROUPNORM, (const uint32_t[LAYERS_ARGUMENTS_MAX]){4});
    assert_layer(5, LAYERS_FLATTEN, (const uint32_t[LAYERS_ARGUMENTS_MAX]){0});
    assert_layer(6, LAYERS_UNITS, (const uint32_t[LAYERS_ARGUMENTS_MAX]){64});
}

static void test_what_is_no_layer_is_refused_in_words(void **state)
{
    static const struct {
        const char *set, *says;
    } bad[] = {
        {"model.layers=[{conv2d: {out: 16}}]", "a layer that says its kernel"},
        {"model.layers=[conv2d]", "a layer that says its out"},
        {"model.layers=[{conv2d: {out: 16, kernel: 3, kernel: 3}}]", "kernel"},
        {"model.layers=[{conv2d: {out: 16, kernel: 3, colour: 1}}]", "an argument of conv2d"},
        {"model.layers=[{conv2d: {out: 65537, kernel: 3}}]", "a whole number in [1, 65536]"},
        {"model.layers=[{conv2d: {out: 4294967297, kernel: 3}}]", "a whole number in [1, 65536]"},
        {"model.layers=[{maxpool: {size: [2, 2]}}]", "in a list stands a value"},
        {"model.layers=[{maxpool: 2, relu: 1}]", "in a list stands a value"},
        {"model.layers=[\"relu\"]", "a layer: a number of units, or one of conv2d"},
        {"model.layers=[{relu: 1}]", "an argument of relu"},
        {"model.layers=[{64: 1}]", "a layer: a number of units, or one of conv2d"},
        {"model.layers=[0]", "a whole number in [1, 65536]"},
        {"policy.aggregations=[{masked: 1}]", "a list of single values"},
        {"data.shape=[5]", "must be [C, H, W], [T, C] or []"},
        {"data.shape=[1, 2, 3, 4]", "must be [C, H, W], [T, C] or []"},
    };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(load(bad[i].set, &err), STATUS_CONFIG);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].set, err.text);
    }
}

static void test_a_preset_is_its_layers(void **state)
{
    struct config_layers cnn;
    struct error err;

    (void)state;
    layers_of_preset(&cnn, PRESET_CNN);
    assert_int_equal(load("model.preset=cnn", &err), STATUS_OK);
    assert_memory_equal(&cnn, &party.layers, sizeof cnn);
    layers_of_preset(&cnn, PRESET_RESNET18);
    assert_int_equal(load("model.preset=resnet18", &err), STATUS_OK);
    assert_memory_equal(&cnn, &party.layers, sizeof cnn);
    assert_int_equal(load("model.preset=none", &err), STATUS_OK);
    assert_int_equal(party.layers.n, 1);
}

static void test_beside_a_preset_stand_its_own_layers_alone(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load_two("model.preset=lstm", "model.layers=[{lstm: 64}]", &err), STATUS_OK);
    assert_int_equal(load_two("model.preset=lstm", "model.layers=[{lstm: 63}]", &err),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "model.layers says other layers: leave one out"));
    assert_int_equal(load_two("model.preset=lstm", "model.polynomial.degree=2", &err),
                     STATUS_CONFIG);
    assert_int_equal(load_two("data.shape=[2, 3]", "model.polynomial.degree=2", &err), STATUS_OK);
}

static void test_a_bottom_is_layered_unless_it_has_a_degree(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load("data.train=t", &err), STATUS_OK);
    assert_true(party.degree == 0 && party.layers.n == 1 && party.layers.item[0].argument[0] == 64);
    assert_int_equal(load("model.polynomial.degree=8", &err), STATUS_OK);
    assert_true(party.degree == 8 && party.layers.n == 0);
    assert_int_equal(load_two("model.layers=[9]", "model.polynomial.degree=0", &err), STATUS_OK);
    assert_true(party.degree == 0 && party.layers.n == 1 && party.layers.item[0].argument[0] == 9);
    assert_int_equal(load("model.polynomial.degree=9", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "in [0, 8]"));
}

static void test_dropout_is_of_hidden_layers_that_train(void **state)
{
    static const char *const none[] = {"model.layers=[]", "model.polynomial.degree=2",
                                       "model.train=frozen", "model.dropout=0.95"};
    struct error err = {0};

    (void)state;
    assert_int_equal(load("model.dropout=0.5", &err), STATUS_OK);
    assert_true(party.dropout == 0.5);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(load_two("model.dropout=0.5", none[i], &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, "model.dropout"));
    }
}

static void test_images_alone_are_moved_and_not_out_of_sight(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load_two("data.shape=[3,8,6]", "data.augment.crop=5", &err), STATUS_OK);
    assert_int_equal(load_two("data.shape=[3,8,6]", "data.augment.flip=true", &err), STATUS_OK);
    assert_int_equal(load_two("data.shape=[3,8,6]", "data.augment.crop=6", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "would move images of data.shape out of sight"));
    assert_int_equal(load_two("data.shape=[6,3]", "data.augment.crop=1", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "data.augment.crop=1: is of images"));
    assert_int_equal(load("data.augment.flip=true", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "data.augment.flip=true: is of images"));
}

static void test_a_program_is_the_whole_bottom_and_trains_raw(void **state)
{
    static const char one[] = "model.program=[python3, beside.py, -x, /beside.py, a b]";
    static const char *const others[] = {"model.layers=[5]", "model.preset=cnn",
                                         "model.polynomial.degree=2", "model.train=frozen",
                                         "model.dropout=0.5"};
    char here[CONFIG_PATH_MAX];
    struct error err = {0};

    (void)state;
    scratch_write_text("beside.py", "");
    CHECK(chdir(scratch_dir()) == 0 && getcwd(here, sizeof here) != NULL);
    assert_int_equal(load(one, &err), STATUS_OK);
    assert_int_equal(party.program.command.n, 5);
    assert_int_equal(party.layers.n, 0);
    assert_string_equal(party.program.command.arg[0], "python3");
    assert_memory_equal(party.program.command.arg[1], here,
                        strlen(here)); /* a file that is there */
    assert_string_equal(party.program.command.arg[1] + strlen(here), "/beside.py");
    assert_string_equal(party.program.command.arg[2], "-x");
    assert_string_equal(party.program.command.arg[3], "/beside.py");
    assert_string_equal(party.program.command.arg[4], "a b");
    assert_int_equal(load_two(one, "model.layers=[]", &err), STATUS_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *key =
            strstr(load_two(one, others[i], &err) == STATUS_CONFIG ? err.text : "", "model.");

        if (key == NULL || strncmp(key, others[i], strcspn(others[i], "=")) != 0)
            fail_msg("%s: %s", others[i], err.text);
    }
    assert_int_equal(load("model.program=[]", &err), STATUS_OK);
    assert_int_equal(party.layers.n, 1);
    assert_int_equal(load("model.program=python3", &err), STATUS_CONFIG);
    assert_int_equal(load("model.program=[\"\", a]", &err), STATUS_CONFIG);
}

static void test_every_word_is_read_back_as_it_was_printed(void **state)
{
    static const char *const items[] = {
        "64",
        "{conv2d: {out: 16, kernel: 3, stride: 2, padding: 1, groups: 4, bias: 0}}",
        "{conv1d: {out: 5, kernel: 255}}",
        "{maxpool: {size: 3, stride: 1, padding: 2}}",
        "{avgpool: 2}",
        "globalpool",
        "{groupnorm: 4}",
        "batchnorm",
        "{lstm: {units: 5, whole: 1}}",
        "{gru: 3}",
        "residual",
        "shortcut",
        "add",
        "flatten",
        "relu",
        "tanh",
        "sigmoid",
    };
    bool seen[LAYERS_WORDS] = {false};
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        char set[256];
        struct config_layers was;
        struct buf out;

        snprintf(set, sizeof set, "model.layers=[7, %s]", items[i]);
        assert_int_equal(load(set, &err), STATUS_OK);
        was = party.layers;
        seen[was.item[1].word] = true;
        buf_init(&out, 4096);
        assert_int_equal(layers_print(&was, &out), STATUS_OK);
        snprintf(set, sizeof set, "model.layers=%.*s", (int)out.len, (const char *)out.data);
        assert_int_equal(load(set, &err), STATUS_OK);
        assert_memory_equal(&was, &party.layers, sizeof was);
        buf_deinit(&out);
    }
    for (size_t w = 0; w < LAYERS_WORDS; w++)
        assert_true(seen[w]);
}

static void test_a_head_that_a_program_computes_goes_with_no_other(void **state)
{
    static const char program[] = "model.head_program=[true]";
    static const struct {
        const char *set, *says;
    } beside[] = {
        {"model.head=[8]", "not beside model.head_program"},
        {"model.output=identity", "identity has no head"},
        {"model.head_dropout=0.5", "model.head_dropout=0.5: "},
        {"protocol.local_view=refreshed", "refreshed sends the head"},
        {"protocol.proximal=0.5", "draws the head back"},
        {"protocol.gradient.form=factored", "factored takes the head's first layer"},
        {"training.party_dropout=0.5", "trains stand-ins"},
    };
    static struct config_server server;
    struct error err = {0};
    const char *sets[] = {"listen=127.0.0.1:1", "roster=r",       "state=s",
                          "identity.cert=c",    "identity.key=k", "identity.ca=a",
                          "labels.train=t",     program,          NULL};
    enum { SETS = sizeof sets / sizeof *sets };

    (void)state;
    assert_int_equal(config_load_server(&server, NULL, sets, SETS - 1, &err), STATUS_OK);
    assert_string_equal(server.head.command.arg[0], "true");
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        sets[SETS - 1] = beside[i].set;
        assert_int_equal(config_load_server(&server, NULL, sets, SETS, &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, beside[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_take_what_is_said_and_their_defaults),
        cmocka_unit_test(test_what_is_no_layer_is_refused_in_words),
        cmocka_unit_test(test_a_preset_is_its_layers),
        cmocka_unit_test(test_beside_a_preset_stand_its_own_layers_alone),
        cmocka_unit_test(test_a_bottom_is_layered_unless_it_has_a_degree),
        cmocka_unit_test(test_dropout_is_of_hidden_layers_that_train),
        cmocka_unit_test(test_images_alone_are_moved_and_not_out_of_sight),
        cmocka_unit_test(test_a_program_is_the_whole_bottom_and_trains_raw),
        cmocka_unit_test(test_every_word_is_read_back_as_it_was_printed),
        cmocka_unit_test(test_a_head_that_a_program_computes_goes_with_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
