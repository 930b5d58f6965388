/* test_layers.c -- layers as a file lists them: what is read, with which defaults, and what is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct config_party party;

static enum status load(const char *set, struct error *err)
{
    const char *const sets[] = {
        "server=127.0.0.1:1", "roster=r",      "state=s",      "identity.cert=c",
        "identity.key=k",     "identity.ca=a", "data.train=t", set};

    *err = (struct error){0};
    return config_load_party(&party, NULL, sets, sizeof sets / sizeof *sets, err);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_take_what_is_said_and_their_defaults),
        cmocka_unit_test(test_what_is_no_layer_is_refused_in_words),
        cmocka_unit_test(test_a_preset_is_its_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
