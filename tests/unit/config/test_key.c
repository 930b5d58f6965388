/* test_key.c -- the tables are sound, and an unknown key is answered with what is known.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key.h"

#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/plan_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const struct key_table *table;
    size_t size;
} tables[] = {{&config_keys_server, sizeof(struct config_server)},
              {&config_keys_party, sizeof(struct config_party)},
              {&plan_keys_text, sizeof(struct plan)}};

static void test_every_key_is_described_and_lies_inside_its_struct(void **state)
{
    const struct key *k;
    size_t offset;

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; (k = key_at(tables[t].table, i, &offset)) != NULL; i++) {
            assert_true(i < KEY_TABLE_MAX);
            assert_non_null(k->path);
            assert_true(strlen(k->path) < KEY_PATH_MAX);
            assert_true(k->help != NULL && k->help[strlen(k->help) - 1] == '.');
            assert_null(strchr(k->help, '|'));
            assert_true(offset < tables[t].size);
            assert_int_equal(key_find(tables[t].table, k->path), i);
        }
    }
}

/* Printing opens a section once, so its keys must stand together; and no key is also a section. */
static void test_the_keys_of_a_section_stand_together(void **state)
{
    const struct key *k, *other;
    size_t offset;

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; (k = key_at(tables[t].table, i, &offset)) != NULL; i++) {
            assert_false(key_is_section(tables[t].table, k->path));
            for (const char *dot = strchr(k->path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
                size_t n = (size_t)(dot + 1 - k->path);
                bool left = false;

                for (size_t j = i; (other = key_at(tables[t].table, j, &offset)) != NULL; j++) {
                    bool in = strncmp(k->path, other->path, n) == 0;

                    assert_false(in && left);
                    left = !in;
                }
            }
        }
    }
}

static void test_an_unknown_key_is_answered_with_the_nearest_and_its_neighbours(void **state)
{
    static const struct {
        const char *path, *answer;
    } cases[] = {
        {"protocol.pbm.trails",
         "unknown key, is it protocol.pbm.trials? (known here: trials, beta, wide, gain)"},
        {"privacy.beta", "unknown key, is it protocol.pbm.beta? (known here: delta, max_epsilon)"},
        {"training.stop.xyzzy", "unknown key (known here: metric, split, value)"},
        {"prvacy",
         "unknown key, is it privacy? (known here: listen, identity, roster, state, state_key, "
         "checkpoint_rounds, stand, labels, insecure_peers, limits, predict, http, serve, model, "
         "protocol, training, data, privacy, align, policy, inject)"},
    };
    char out[384];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        key_unknown(&config_keys_server, cases[i].path, out, sizeof out);
        assert_string_equal(out, cases[i].answer);
    }
}

static void test_keys_of_later_versions_are_unknown_today(void **state)
{
    static const char *const later[] = {"protocol.dither", "protocol.topk.k", "model.polynomial"};

    (void)state;
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        assert_int_equal(key_find(&config_keys_server, later[i]), -1);
    assert_int_equal(key_find(&config_keys_party, "data.labels"), -1);
    assert_true(key_find(&config_keys_server, "protocol.coded.segments") >= 0);
    assert_true(key_find(&config_keys_server, "protocol.fedvs.prime") >= 0);
    assert_true(key_find(&config_keys_server, "protocol.bits") >= 0);
    assert_true(key_find(&config_keys_server, "protocol.proximal") >= 0);
    assert_true(key_find(&config_keys_party, "data.labels.train") >= 0);
    assert_int_equal(key_find(&config_keys_server, "data.labels.train"), -1);
    assert_int_equal(key_find(&config_keys_server, "shape.parties"), -1);
    assert_true(key_find(&plan_keys_text, "shape.parties") >= 0);
}

static void test_sections_are_prefixes_up_to_a_dot(void **state)
{
    (void)state;
    assert_true(key_is_section(&config_keys_server, "protocol.pbm"));
    assert_false(key_is_section(&config_keys_server, "protocol.pb"));
    assert_false(key_is_section(&config_keys_server, "listen"));
    assert_false(key_is_section(&config_keys_server, "nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_described_and_lies_inside_its_struct),
        cmocka_unit_test(test_the_keys_of_a_section_stand_together),
        cmocka_unit_test(test_an_unknown_key_is_answered_with_the_nearest_and_its_neighbours),
        cmocka_unit_test(test_keys_of_later_versions_are_unknown_today),
        cmocka_unit_test(test_sections_are_prefixes_up_to_a_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
