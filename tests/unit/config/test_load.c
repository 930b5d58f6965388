/* test_load.c -- defaults, then the file, then --set; every mistake is one line that says where it
 * stands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/load.h"

#include "tests/lib/scratch.h"

#include <fcntl.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct config_server c;

/* Eight lines with everything required; what a test adds starts on line 9. */
#define GOOD                                                                                       \
    "listen: 127.0.0.1:0\n"                                                                        \
    "identity:\n"                                                                                  \
    "  cert: s.crt\n"                                                                              \
    "  key: s.key\n"                                                                               \
    "  ca: /etc/ca.crt\n"                                                                          \
    "roster: roster.txt\n"                                                                         \
    "state: state\n"                                                                               \
    "labels: {train: train.csv}\n"

static enum status load(const char *text, const char *set, struct error *err)
{
    *err = (struct error){0};
    return config_load_server(&c, scratch_write_text("server.yaml", text), &set,
                              set == NULL ? 0 : 1, err);
}

static void pass(const char *text, const char *set)
{
    struct error err;

    if (load(text, set, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Refused with DIR/server.yaml, then `message`. */
static void refuse(const char *text, const char *message)
{
    struct error err;
    char expected[640];

    if (load(text, NULL, &err) != STATUS_CONFIG)
        fail_msg("passed: %s", message);
    snprintf(expected, sizeof expected, "%s%s", scratch_path("server.yaml"), message);
    assert_string_equal(err.text, expected);
    assert_int_equal(status_exit_code(err.status), 2);
}

static void refuse_set(const char *set, const char *message)
{
    struct error err;

    if (load(GOOD, set, &err) != STATUS_CONFIG)
        fail_msg("passed: --set %s", set);
    assert_string_equal(err.text, message);
}

/* Nobody has written `key`, which is at its default: the line is that of what it does not go with.
 */
static void test_a_rule_points_at_what_was_given(void **state)
{
    (void)state;
    refuse(GOOD "model: {fusion: concat}\n",
           ":9: model.fusion: under masks and from shares the server has only sums: concat and "
           "max need "
           "aggregation clear");
    refuse(
        GOOD "training: {batch: 100}\nmodel: {embedding: 65536}\n"
             "protocol: {aggregation: clear, local_view: refreshed, straggler: drop}\n",
        ":11: protocol.local_view: refreshed puts a party's new embedding in the place of the one "
        "that the round's sum has of it, so everybody's must be there: it needs straggler wait");
    refuse(GOOD "protocol: {fedvs: {segments: 3}, aggregation: clear}\n",
           ":9: training.batch: must be a multiple of protocol.fedvs.segments (batch 50, segments "
           "3) (here: protocol.fedvs.segments)");
    refuse_set("protocol.gaussian.match=sigma",
               "--set protocol.gaussian.match=sigma: protocol.gaussian.sigma: must be given (above "
               "0) with gaussian.match sigma");
    refuse_set("protocol.pbm.beta=0.3", "--set protocol.pbm.beta=0.3: is over 0.25 (PBM-VFL): it "
                                        "needs protocol.pbm.wide true");
}

static void test_a_file_needs_only_its_required_keys(void **state)
{
    (void)state;
    pass(GOOD, NULL);
    assert_string_equal(c.listen, "127.0.0.1:0");
    assert_int_equal(c.plan.protocol.pbm.trials, 256);
    assert_string_equal(c.labels_test, "");
}

static void test_a_missing_required_key_is_named(void **state)
{
    (void)state;
    refuse("", ": listen: is required");
    refuse("listen: x:1\nidentity: {cert: a, key: b}\n", ": identity.ca: is required");
}

static void test_a_mistake_is_file_line_key_reason(void **state)
{
    (void)state;
    refuse(GOOD "protocol:\n  pbm:\n    beta: 0.5\n",
           ":11: protocol.pbm.beta: 0.5 is not in (0, 0.49]");
    pass(GOOD "protocol:\n  pbm:\n    beta: 0.2\n", NULL);
    refuse(GOOD "training: {batch: many}\n", ":9: training.batch: many is not a whole number");
    refuse(GOOD "model:\n  head:\n    - 64\n    - 0\n",
           ":12: model.head: [64, 0] is not a layer whose out is a whole number in [1, 65536]");
    pass(GOOD "model:\n  head:\n    - 64\n    - 1\n", NULL);
    refuse(GOOD "protocol: {encoding: top}\n",
           ":9: protocol.encoding: top is not one of pbm, fixed, float32, gaussian, scalar, "
           "lattice, e8, topk");
    refuse(GOOD "privacy:\n  delta: 1e-5\n  delta: 1e-6\n",
           ":11: privacy.delta: repeated, first on line 10");
    refuse(
        GOOD "privacy:\n\n  dleta: 1e-5\n",
        ":11: privacy.dleta: unknown key, is it privacy.delta? (known here: delta, max_epsilon)");
    refuse(GOOD "shape: {parties: 3}\n",
           ":9: shape: unknown key (known here: listen, identity, roster, state, "
           "state_key, checkpoint_rounds, stand, labels, insecure_peers, limits, predict, http, "
           "serve, model, protocol, training, data, privacy, align, policy, inject)");
    refuse(GOOD "privacy: 3\n", ":9: privacy: is a section: it takes keys of its own, not a value");
    refuse(GOOD "model: {head: [\n",
           ":10: did not find expected node content while parsing a flow node");
}

static void test_keys_stand_where_their_table_has_them(void **state)
{
    (void)state;
    refuse(GOOD "privacy:\n# delta: 1e-5\n", ":9: privacy: is a section without keys");
    refuse(GOOD "privacy: [1]\n",
           ":9: privacy: is a section: it takes keys of its own, not a value");
    pass(GOOD "privacy: {}\n", NULL);
    refuse(GOOD "training:\n  batch: {a: 1}\n",
           ":10: training.batch: takes a value, not keys of its own");
    refuse(GOOD "training:\n  batch:\n", ":10: training.batch: has no value");
    refuse(GOOD "state_key: \n", ":9: state_key: has no value");
    pass(GOOD "state_key: ''\n", NULL);
    refuse("- listen\n", ":1: not a list of `key: value` lines");
    refuse("listen\n", ":1: not a list of `key: value` lines");
    refuse(GOOD "\"privacy \": 1\n", ":9: a key is a name of lowercase letters, digits and _");
    refuse(GOOD "privacy: {Delta: 1}\n",
           ":9: privacy: a key is a name of lowercase letters, digits and _");
    refuse(GOOD "privacy.delta: 1\n", ":9: a key is a name of lowercase letters, digits and _");
    refuse(GOOD
           "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
           "nnnnnnnnnn: 1\n",
           ":9: a key is a name of lowercase letters, digits and _");
}

#define ONES_16 "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
static void test_a_list_has_at_most_96_single_values(void **state)
{
    (void)state;
    pass(GOOD "model: {head: [1,1,1,1,1,1,1,1]}\n", NULL);
    refuse(GOOD "model: {head: [" ONES_16 ONES_16 ONES_16 ONES_16 ONES_16 ONES_16 "\n1]}\n",
           ":10: model.head: too long, or too many items");
    refuse(GOOD "model: {head: [" ONES_16 ONES_16 "1]}\n",
           ":9: model.head: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,... is "
           "not a list of at most 32 layers");
    refuse(GOOD "model: {head: [1,\n[1]]}\n",
           ":10: model.head: a list here holds single values only");
    refuse(GOOD "training: {seed: [1, {a: 1}]}\n",
           ":9: training.seed: [1, a 1] is not a single value");
}

static void test_a_file_is_no_larger_than_its_table(void **state)
{
    static char text[40000];
    size_t n = sizeof GOOD - 1;

    (void)state;
    memcpy(text, GOOD "model: {head: [", n + 15);
    for (n += 15; n < sizeof text - 1; n += 2)
        memcpy(text + n, "1,", 3);
    refuse(text, ":9: model.head: more entries than there may be");
}

static void test_a_combination_is_blamed_on_the_line_of_its_key(void **state)
{
    (void)state;
    refuse(GOOD "protocol:\n  encoding: float32\n",
           ":10: protocol.encoding: float32 and what compresses (scalar, lattice, e8, topk) "
           "cannot be added under masks or in shares: they need aggregation clear");
    pass(GOOD "protocol:\n  encoding: float32\n  aggregation: clear\n", NULL);
    refuse(GOOD "training: {stop: {metric: auc}}\n",
           ":9: training.stop.value: must be given (above 0) with stop.metric (here: "
           "training.stop.metric)");
    refuse_set("model.fusion=concat",
               "--set model.fusion=concat: under masks and from shares the server has only sums: "
               "concat and max need aggregation clear");
    refuse_set("protocol.straggler=async",
               "--set protocol.straggler=async: async takes each party's embedding as it arrives, "
               "which is no sum: it needs aggregation clear");
    pass(GOOD "protocol: {aggregation: coded, coded: {segments: 2, privacy: 4}}\n", NULL);
}

static void test_set_comes_after_the_file_in_order(void **state)
{
    const char *const sets[] = {"training.batch=10", "training.batch=20", "model.head=[64, 32]"};
    struct error err = {0};

    (void)state;
    pass(GOOD "training: {batch: 7}\n", NULL);
    assert_int_equal(c.plan.training.batch, 7);
    assert_int_equal(config_load_server(&c, scratch_path("server.yaml"), sets, 3, &err), STATUS_OK);
    assert_int_equal(c.plan.training.batch, 20);
    assert_int_equal(c.plan.model.head.n, 2);
    assert_int_equal(c.plan.model.head.item[1].argument[LAYERS_OUT], 32);
}

static void test_set_uses_the_same_table(void **state)
{
    (void)state;
    refuse_set("protocol.pbm.beta=0.5", "--set protocol.pbm.beta=0.5: must be in (0, 0.49]");
    pass(GOOD, "protocol.pbm.beta=0.2");
    assert_true(c.plan.protocol.pbm.beta == 0.2);
    refuse_set("protocol.pbm.beta=\"0.2\"", "--set protocol.pbm.beta=\"0.2\": must be a number");
    refuse_set(
        "model.head=[64, 0]",
        "--set model.head=[64, 0]: must be a layer whose out is a whole number in [1, 65536]");
    refuse_set("model.head=64", "--set model.head=64: must be a list like [a, b]");
    refuse_set("model.head=[64",
               "--set model.head=[64: did not find expected ',' or ']' while parsing a "
               "flow sequence");
    refuse_set("model=3", "--set model=3: is a section, name one of its keys");
    refuse_set(
        "privacy.dlta=3",
        "--set privacy.dlta=3: unknown key, is it privacy.delta? (known here: delta, max_epsilon)");
    refuse_set("training.batch", "--set training.batch: must be key.path=value");
    refuse_set("=3", "--set =3: must be key.path=value");
    refuse_set("training.batch=", "--set training.batch=: must be a whole number");
    refuse_set("training.batch={a: 1}",
               "--set training.batch={a: 1}: takes a value, not keys of its own");
    refuse_set("model.head=[1, [2]]",
               "--set model.head=[1, [2]]: a list here holds single values only");
    refuse_set("training.batch=1\n---\n2",
               "--set training.batch=1\n---\n2: a second document is not accepted");
    refuse_set("training.batch=# 1", "--set training.batch=# 1: must be a whole number");
    refuse_set("training.batch=*a", "--set training.batch=*a: aliases are not accepted");
}

static void test_set_takes_paths_and_addresses_as_they_stand(void **state)
{
    char cwd[CONFIG_PATH_MAX], expected[2 * CONFIG_PATH_MAX];

    (void)state;
    assert_non_null(getcwd(cwd, sizeof cwd));
    pass(GOOD, "listen=[::1]:0");
    assert_string_equal(c.listen, "[::1]:0");
    pass(GOOD, "labels.test=/a: b #c");
    assert_string_equal(c.labels_test, "/a: b #c");
    pass(GOOD, "labels.test=x/test.csv");
    snprintf(expected, sizeof expected, "%s/x/test.csv", cwd);
    assert_string_equal(c.labels_test, expected);
    pass(GOOD "state_key: k\n", "state_key=");
    assert_string_equal(c.state_key, "");
    refuse_set("roster=", "--set roster=: must be a path");
}

static void test_relative_paths_start_at_the_files_directory(void **state)
{
    char expected[2 * CONFIG_PATH_MAX];

    (void)state;
    pass(GOOD, NULL);
    snprintf(expected, sizeof expected, "%s/train.csv", scratch_dir());
    assert_string_equal(c.labels_train, expected);
    assert_string_equal(c.identity.ca, "/etc/ca.crt");
}

static void test_a_file_named_from_the_working_directory_gives_absolute_paths(void **state)
{
    static const char *const names[] = {"server.yaml", "./server.yaml", "././server.yaml"};
    int before = open(".", O_RDONLY | O_DIRECTORY);
    char expected[2 * CONFIG_PATH_MAX], dir[CONFIG_PATH_MAX];
    struct error err = {0};

    (void)state;
    scratch_write_text("server.yaml", GOOD);
    assert_true(before >= 0);
    assert_int_equal(chdir(scratch_dir()), 0);
    assert_non_null(getcwd(dir, sizeof dir));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(config_load_server(&c, names[i], NULL, 0, &err), STATUS_OK);
        snprintf(expected, sizeof expected, "%s/state", dir);
        assert_string_equal(c.state, expected);
    }
    assert_int_equal(chdir("/"), 0);
    snprintf(expected, sizeof expected, "%s/server.yaml", dir + 1);
    assert_int_equal(config_load_server(&c, expected, NULL, 0, &err), STATUS_OK);
    snprintf(expected, sizeof expected, "%s/state", dir);
    assert_string_equal(c.state, expected);
    assert_int_equal(fchdir(before), 0);
    close(before);
}

static void test_a_file_that_cannot_be_read_is_a_mistake_of_this_side(void **state)
{
    struct error err = {0};
    static char big[65536 + 1];

    (void)state;
    assert_int_equal(config_load_server(&c, scratch_path("missing.yaml"), NULL, 0, &err),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "missing.yaml: No such file"));
    memset(big, '#', sizeof big);
    scratch_write("big.yaml", big, sizeof big);
    assert_int_equal(config_load_server(&c, scratch_path("big.yaml"), NULL, 0, &err),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "big.yaml: larger than 65536 bytes"));
    assert_int_equal(config_load_server(&c, scratch_dir(), NULL, 0, &err), STATUS_CONFIG);
}

static void test_without_a_file_assignments_are_enough(void **state)
{
    const char *const sets[] = {"listen=h:1",     "identity.cert=/c", "identity.key=/k",
                                "identity.ca=/a", "roster=/r",        "state=/s",
                                "labels.train=/l"};
    struct error err = {0};

    (void)state;
    assert_int_equal(config_load_server(&c, NULL, sets, 7, &err), STATUS_OK);
    assert_int_equal(config_load_server(&c, NULL, sets, 6, &err), STATUS_CONFIG);
    assert_string_equal(err.text, "server: labels.train: is required");
}

static void test_hostile_bytes_do_not_reach_a_message(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(load(GOOD "training: {batch: \"\\e[31m\\r\\nx\"}\n", NULL, &err),
                     STATUS_CONFIG);
    assert_non_null(
        strstr(err.text, ":9: training.batch: a text of several lines, or with control"));
    assert_int_equal(load(GOOD "training: {batch: \"\\u00e9\"}\n", NULL, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, ":9: training.batch: \"??\" is not a whole number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rule_points_at_what_was_given),
        cmocka_unit_test(test_a_file_needs_only_its_required_keys),
        cmocka_unit_test(test_a_missing_required_key_is_named),
        cmocka_unit_test(test_a_mistake_is_file_line_key_reason),
        cmocka_unit_test(test_keys_stand_where_their_table_has_them),
        cmocka_unit_test(test_a_list_has_at_most_96_single_values),
        cmocka_unit_test(test_a_file_is_no_larger_than_its_table),
        cmocka_unit_test(test_a_combination_is_blamed_on_the_line_of_its_key),
        cmocka_unit_test(test_set_comes_after_the_file_in_order),
        cmocka_unit_test(test_set_uses_the_same_table),
        cmocka_unit_test(test_set_takes_paths_and_addresses_as_they_stand),
        cmocka_unit_test(test_relative_paths_start_at_the_files_directory),
        cmocka_unit_test(test_a_file_named_from_the_working_directory_gives_absolute_paths),
        cmocka_unit_test(test_a_file_that_cannot_be_read_is_a_mistake_of_this_side),
        cmocka_unit_test(test_without_a_file_assignments_are_enough),
        cmocka_unit_test(test_hostile_bytes_do_not_reach_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
