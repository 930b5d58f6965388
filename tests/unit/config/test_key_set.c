/* test_key_set.c -- each type takes what it should, refuses its neighbours, and prints what it
 * took.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_set.h"

#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/key_print.h"
#include "common/config/tree.h"

#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Sets `path` of a party (or server) from text; quoted scalars are written with quotes. */
static bool set(const struct key_table *t, void *base, const char *path, const char *text,
                struct key_set_fault *f)
{
    int i = key_find(t, path);
    struct key_value v = {0};
    const struct key *k;
    size_t offset, n = strlen(text);

    assert_true(i >= 0);
    k = key_at(t, (size_t)i, &offset);
    if (n >= 2 && text[0] == '"')
        assert_true(key_value_add(&v, text + 1, n - 2, true, 3));
    else
        assert_true(key_value_split(&v, text, n));
    return key_set(k, (char *)base + offset, &v, "/dir", f);
}

static const struct key_table *table_of(const char *path)
{
    return key_find(&config_keys_server, path) >= 0 ? &config_keys_server : &config_keys_party;
}

static union {
    struct config_server server;
    struct config_party party;
} c;

/* The value is taken, and printed as `printed`. */
static void take(const char *path, const char *text, const char *printed)
{
    const struct key_table *t = table_of(path);
    struct key_set_fault f;
    const struct key *k;
    struct buf out;
    size_t offset;

    key_set_defaults(t, &c);
    if (!set(t, &c, path, text, &f))
        fail_msg("%s=%s: %s is not %s", path, text, f.value, f.want);
    k = key_at(t, (size_t)key_find(t, path), &offset);
    buf_init(&out, 1024);
    assert_int_equal(key_print(k, (char *)&c + offset, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_string_equal((char *)out.data, printed);
    buf_deinit(&out);
}

/* The value is refused with these words, and the field keeps what it had. */
static void refuse(const char *path, const char *text, const char *want)
{
    static union {
        struct config_server server;
        struct config_party party;
    } before;
    const struct key_table *t = table_of(path);
    struct key_set_fault f;

    memset(&c, 0, sizeof c);
    key_set_defaults(t, &c);
    memcpy(&before, &c, sizeof c);
    if (set(t, &c, path, text, &f))
        fail_msg("%s=%s passed", path, text);
    if (strcmp(f.want, want) != 0)
        fail_msg("%s=%s: is not %s", path, text, f.want);
    assert_memory_equal(&before, &c, sizeof c);
}

static void test_whole_numbers_keep_their_range(void **state)
{
    (void)state;
    take("model.embedding", "1", "1");
    take("model.embedding", "65536", "65536");
    refuse("model.embedding", "0", "in [1, 65536]");
    refuse("model.embedding", "65537", "in [1, 65536]");
    refuse("model.embedding", "18446744073709551615", "in [1, 65536]");
    refuse("model.embedding", "16.0", "a whole number");
    refuse("model.embedding", "-1", "a whole number");
    refuse("model.embedding", "\"16\"", "a whole number");
    refuse("model.embedding", "[16]", "a single value");
    take("protocol.pbm.trials", "1024", "1024");
    refuse("protocol.pbm.trials", "1025", "in [1, 1024]");
    take("protocol.fixed.bits", "24", "24");
    refuse("protocol.fixed.bits", "25", "in [2, 24]");
    refuse("protocol.fixed.bits", "1", "in [2, 24]");
    take("protocol.coded.segments", "1", "1");
    take("protocol.coded.segments", "256", "256");
    refuse("protocol.coded.segments", "0", "in [1, 256]");
    refuse("protocol.coded.segments", "257", "in [1, 256]");
    take("protocol.coded.privacy", "256", "256");
    refuse("protocol.coded.privacy", "0", "in [1, 256]");
    refuse("protocol.coded.privacy", "257", "in [1, 256]");
    take("policy.max_releases.total", "9007199254740992", "9007199254740992");
    refuse("policy.max_releases.total", "9007199254740994", "in [0, 9007199254740992]");
}

static void test_both_daemons_say_how_often_they_checkpoint(void **state)
{
    const struct key_table *tables[] = {&config_keys_server, &config_keys_party};
    struct key_set_fault f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t *rounds = i == 0 ? &c.server.checkpoint_rounds : &c.party.checkpoint_rounds;

        memset(&c, 0xa5, sizeof c);
        key_set_defaults(tables[i], &c);
        assert_int_equal(*rounds, 256);
        assert_true(set(tables[i], &c, "checkpoint_rounds", "1", &f));
        assert_int_equal(*rounds, 1);
        assert_true(set(tables[i], &c, "checkpoint_rounds", "8192", &f));
        assert_int_equal(*rounds, 8192);
        assert_false(set(tables[i], &c, "checkpoint_rounds", "0", &f));
        assert_string_equal(f.want, "in [1, 8192]");
        assert_false(set(tables[i], &c, "checkpoint_rounds", "8193", &f));
        assert_int_equal(*rounds, 8192);
    }
}

static void test_numbers_keep_their_range(void **state)
{
    (void)state;
    take("protocol.pbm.beta", "0.25", "0.25");
    take("protocol.pbm.beta", "1e-300", "1e-300");
    refuse("protocol.pbm.beta", "0.5", "in (0, 0.49]");
    refuse("protocol.pbm.beta", "0.49000000000000005", "in (0, 0.49]");
    refuse("protocol.pbm.beta", "0", "in (0, 0.49]");
    refuse("protocol.pbm.beta", "1e-999", "in (0, 0.49]");
    refuse("protocol.pbm.beta", "-0.1", "in (0, 0.49]");
    refuse("protocol.pbm.beta", "nan", "a number");
    refuse("protocol.pbm.beta", "\"0.1\"", "a number");
    take("privacy.delta", "0.001", "0.001");
    refuse("privacy.delta", "0.0011", "in (0, 0.001]");
    take("protocol.clip", "1.0", "1");
    refuse("protocol.clip", "0", "in [1e-6, 1000000]");
    refuse("training.learning_rate", "0", "in (0, 1000]");
    refuse("training.epochs", "0", "in (0, 100000]");
    take("protocol.proximal", "0", "0");
    take("protocol.proximal", "1e6", "1000000");
    refuse("protocol.proximal", "1000001", "in [0, 1000000]");
    take("training.evaluate_every", "0", "0");
    take("training.evaluate_every", "0.5", "0.5");
}

static void test_truth_values_are_true_and_false(void **state)
{
    (void)state;
    take("training.evaluate_train", "true", "true");
    take("training.evaluate_train", "false", "false");
    refuse("training.evaluate_train", "yes", "true or false");
    refuse("training.evaluate_train", "\"true\"", "true or false");
}

static void test_choices_are_listed_when_refused(void **state)
{
    static const char *const compressors[] = {"scalar", "lattice", "e8", "topk"};

    (void)state;
    take("protocol.encoding", "gaussian", "gaussian");
    take("protocol.encoding", "\"pbm\"", "pbm");
    for (size_t i = 0; i < 4; i++)
        take("protocol.encoding", compressors[i], compressors[i]);
    refuse("protocol.encoding", "hexagonal",
           "one of pbm, fixed, float32, gaussian, scalar, lattice, e8, topk");
    refuse("protocol.encoding", "PBM",
           "one of pbm, fixed, float32, gaussian, scalar, lattice, e8, topk");
    take("protocol.aggregation", "coded", "coded");
    take("protocol.aggregation", "fedvs", "fedvs");
    refuse("protocol.aggregation", "lcc", "one of masked, coded, fedvs, clear");
    take("protocol.fedvs.prime", "2^31-1", "2^31-1");
    take("protocol.fedvs.prime", "\"2^61-1\"", "2^61-1");
    take("protocol.fedvs.prime", "auto", "auto");
    refuse("protocol.fedvs.prime", "2147483647", "one of auto, 2^31-1, 2^61-1");
    take("protocol.straggler", "async", "async");
    refuse("protocol.straggler", "ignore", "one of wait, drop, async");
    take("inject.before", "share", "share");
    take("inject.before", "first", "first");
    take("inject.before", "model_share", "model_share");
    take("inject.before", "result", "result");
    refuse("inject.before", "results",
           "one of upload, share, hello, confirm, first, model_share, result, any");
    take("training.stop.metric", "f1", "f1");
    take("policy.max_epsilon.adversary", "server+1", "server+1");
}

static void test_a_single_choice_is_taken_and_its_absent_rivals_refused(void **state)
{
    (void)state;
    take("protocol.gradient.form", "factored", "factored");
    refuse("protocol.gradient.form", "half", "one of full, factored");
    take("protocol.gradient.type", "int8", "int8");
    refuse("protocol.gradient.type", "int4", "one of float32, bfloat16, int8");
    take("protocol.local_view", "refreshed", "refreshed");
    refuse("protocol.local_view", "fresh", "one of stale, refreshed");
    take("protocol.local_order", "sequential", "sequential");
    refuse("protocol.local_order", "serial", "one of parallel, sequential");
    take("model.output", "identity", "identity");
    refuse("model.output", "none", "one of linear, identity");
    take("training.schedule", "inverse_sqrt_parties", "inverse_sqrt_parties");
    refuse("training.schedule", "linear",
           "one of constant, inverse_sqrt, inverse_sqrt_parties, cosine, step");
    take("model.train", "raw", "raw");
    refuse("model.train", "thawed", "one of raw, frozen, dp");
}

static void test_a_seed_is_64_bits_or_random(void **state)
{
    (void)state;
    take("training.seed", "18446744073709551615", "18446744073709551615");
    assert_true(c.server.plan.training.seed_given);
    take("training.seed", "0", "0");
    assert_true(c.server.plan.training.seed_given);
    take("training.seed", "random", "random");
    assert_false(c.server.plan.training.seed_given);
    refuse("training.seed", "18446744073709551616", "a whole number below 2^64, or random");
    refuse("training.seed", "\"random\"", "a whole number below 2^64, or random");
}

static void test_a_delta_is_a_number_or_follows_the_rows(void **state)
{
    const struct plan *p = &c.server.plan;

    (void)state;
    take("privacy.delta", "1e-06", "1e-6");
    assert_true(p->privacy.delta_given && p->privacy.delta == 1e-6);
    take("privacy.delta", "auto", "auto");
    assert_true(!p->privacy.delta_given && p->privacy.delta == 1e-5);
    refuse("privacy.delta", "\"auto\"", "a number");
    refuse("privacy.delta", "automatic", "a number");
    refuse("privacy.delta", "0", "in (0, 0.001]");
}

static void test_paths_start_at_the_directory_given(void **state)
{
    (void)state;
    take("roster", "roster.txt", "\"/dir/roster.txt\"");
    take("roster", "./roster.txt", "\"/dir/roster.txt\"");
    take("roster", "../roster.txt", "\"/dir/../roster.txt\"");
    take("roster", "/etc/roster.txt", "\"/etc/roster.txt\"");
    take("roster", "a \"b\"\\c", "\"/dir/a \\\"b\\\"\\\\c\"");
    take("roster", "r\xc3\xb6ster", "\"/dir/r\xc3\xb6ster\"");
    take("state_key", "\"\"", "\"\"");
    take("data.scale", "fit", "\"fit\"");
    take("data.scale", "none", "\"none\"");
    take("data.scale", "./fit", "\"/dir/fit\"");
    take("data.labels.train", "labels.csv", "\"/dir/labels.csv\"");
    take("data.train", "postgres:s/t", "\"postgres:s/t\"");
    take("data.predict", "odbc:s/a/b", "\"odbc:s/a/b\"");
    take("data.test", "./postgres:s", "\"/dir/./postgres:s\"");
    take("roster", "postgres:s", "\"/dir/postgres:s\"");
}

static void test_paths_that_would_not_read_back_are_refused(void **state)
{
    static const char *const bad[] = {"a\nb",         "a\tb",
                                      "a\x7f",        "a\xc2\x85",
                                      "a\xff",        "\xc0\x80",
                                      "\xe2\x80\xa8", "\xef\xbb\xbf",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbd",
                                      "a\xc3"};
    char longest[CONFIG_PATH_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse("roster", bad[i], "a path of printable UTF-8 characters");
    refuse("roster", "\"\"", "a path");
    refuse("identity.crl", "~", "a path (leave the key out to say nothing)");
    refuse("roster", "null", "a path (leave the key out to say nothing)");
    refuse("data.scale", "\"\"", "one of fit, none, dp or a path");
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[CONFIG_PATH_MAX] = 0;
    refuse("roster", longest, "a path of fewer than 512 bytes with its directory");
    longest[CONFIG_PATH_MAX - 1] = 0;
    key_set_defaults(&config_keys_server, &c);
    assert_true(set(&config_keys_server, &c, "roster", longest, &(struct key_set_fault){0}));
    longest[0] = 'a';
    refuse("roster", longest, "a path of fewer than 512 bytes with its directory");
}

static void test_addresses_are_host_and_port(void **state)
{
    static const char *const bad[] = {"host",    ":1",        "host:", "host:65536",
                                      "host:-1", "a b:1",     "::1:5", "[::1:5",
                                      "host:01", "[ho/st]:1", "\"\"",  "http://x:1"};

    (void)state;
    take("listen", "127.0.0.1:0", "\"127.0.0.1:0\"");
    take("listen", "[::1]:65535", "\"[::1]:65535\"");
    take("server", "vfl.example.org:7400", "\"vfl.example.org:7400\"");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse("listen", bad[i], "host:port (an IPv6 address in brackets, port 0 to 65535)");
    refuse("server", "host:0", "host:port (an IPv6 address in brackets, port 1 to 65535)");
}

static void test_a_digest_is_64_lowercase_hex_digits(void **state)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    (void)state;
    take("policy.roster_sha256", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"");
    refuse("policy.roster_sha256", hex + 1, "64 lowercase hex digits");
    refuse("policy.roster_sha256",
           "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
           "64 lowercase hex digits");
    take("policy.roster_sha256", "\"\"", "\"\"");
}

static void test_layers_of_a_head_are_up_to_32(void **state)
{
    (void)state;
    take("model.head", "[]", "[]");
    take("model.head", "[64, 32]", "[64,32]");
    take("model.head", "[1,2,3,4,5,6,7,8]", "[1,2,3,4,5,6,7,8]");
    take("model.head", "[1, batchnorm , relu]", "[1,batchnorm,relu]");
    take("model.head", "[{groupnorm: {groups: 2}},4]", "[{groupnorm: {groups: 2}},4]");
    refuse("model.head", "[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6]",
           "a list of at most 32 layers");
    refuse(
        "model.head", "[batchnom]",
        "a layer: a number of units, or one of conv2d, conv1d, maxpool, avgpool, globalpool, "
        "groupnorm, batchnorm, lstm, gru, residual, shortcut, add, flatten, relu, tanh, sigmoid");
    refuse("model.head", "[{groupnorm: {groups: 0}}]",
           "a layer whose groups is a whole number in [1, 65536]");
    refuse("model.head", "[0]", "a layer whose out is a whole number in [1, 65536]");
    refuse(
        "model.head", "[64,]",
        "a layer: a number of units, or one of conv2d, conv1d, maxpool, avgpool, globalpool, "
        "groupnorm, batchnorm, lstm, gru, residual, shortcut, add, flatten, relu, tanh, sigmoid");
    refuse("model.head", "64", "a list like [a, b]");
}

static void test_names_are_plain_and_short(void **state)
{
    const char *want = "a list of names or addresses (letters, digits, . - _ :, below 64 bytes)";

    (void)state;
    take("insecure_peers", "[10.0.0.1, ::1, host-2.lan]",
         "[\"10.0.0.1\", \"::1\", \"host-2.lan\"]");
    take("insecure_peers", "[]", "[]");
    refuse("insecure_peers", "[a b]", want);
    refuse("insecure_peers", "[a,]", want);
    refuse("insecure_peers", "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]",
           want);
}

static void test_sets_name_each_choice_at_most_once(void **state)
{
    (void)state;
    take("policy.encodings", "[gaussian, pbm]", "[pbm, gaussian]");
    take("policy.encodings", "[topk, lattice, e8, scalar]", "[scalar, lattice, e8, topk]");
    refuse("policy.encodings", "[pbm, pbm]", "a list without repetitions");
    refuse("policy.encodings", "[]", "a list of at least one");
    refuse("policy.encodings", "[hexagonal]",
           "one of pbm, fixed, float32, gaussian, scalar, lattice, e8, topk");
    refuse("policy.encodings", "pbm", "a list like [a, b]");
    take("policy.aggregations", "[clear, fedvs, coded, masked]", "[masked, coded, fedvs, clear]");
    take("policy.aggregations", "[coded]", "[coded]");
    assert_true(c.party.policy.aggregation[AGGREGATION_CODED]);
    assert_false(c.party.policy.aggregation[AGGREGATION_MASKED]);
    assert_false(c.party.policy.aggregation[AGGREGATION_CLEAR]);
    assert_false(c.party.policy.aggregation[AGGREGATION_FEDVS]);
    refuse("policy.aggregations", "[lcc]", "one of masked, coded, fedvs, clear");
}

static void test_the_fixed_point_of_fedvs_has_ranges_that_fit_64_bits(void **state)
{
    (void)state;
    take("protocol.fedvs.segments", "256", "256");
    refuse("protocol.fedvs.segments", "0", "in [1, 256]");
    take("protocol.fedvs.privacy", "256", "256");
    refuse("protocol.fedvs.privacy", "0", "in [1, 256]");
    take("protocol.fedvs.x_bits", "1", "1");
    take("protocol.fedvs.x_bits", "20", "20");
    refuse("protocol.fedvs.x_bits", "0", "in [1, 20]");
    refuse("protocol.fedvs.x_bits", "21", "in [1, 20]");
    take("protocol.fedvs.w_bits", "30", "30");
    refuse("protocol.fedvs.w_bits", "0", "in [1, 30]");
    refuse("protocol.fedvs.w_bits", "31", "in [1, 30]");
    take("protocol.fedvs.x_max", "32", "32");
    take("protocol.fedvs.x_max", "0.5", "0.5");
    refuse("protocol.fedvs.x_max", "0", "in (0, 32]");
    refuse("protocol.fedvs.x_max", "32.1", "in (0, 32]");
    take("protocol.fedvs.w_max", "1024", "1024");
    refuse("protocol.fedvs.w_max", "0", "in (0, 1024]");
    refuse("protocol.fedvs.w_max", "1025", "in (0, 1024]");
    /* The largest power of the largest input, and the largest weight. */
    assert_true(ldexp(pow(32, CONFIG_DEGREE_MAX), 20) < ldexp(1, 62));
    assert_true(ldexp(1024, 30) < ldexp(1, 62));
}

static void test_a_delay_is_none_const_exp_or_fedvs(void **state)
{
    const char *want =
        "none, const:S, exp:MEAN, fedvs:SCALE (above 0) or S with numbers in [0, 3600]";

    (void)state;
    take("inject.delay", "none", "none");
    take("inject.delay", "0.5", "const:0.5");
    take("inject.delay", "const:2", "const:2");
    take("inject.delay", "exp:0.1", "exp:0.1");
    refuse("inject.delay", "exp:", want);
    refuse("inject.delay", "exp:-1", want);
    refuse("inject.delay", "3601", want);
    take("inject.delay", "fedvs:0.05", "fedvs:0.05");
    assert_int_equal(c.party.inject.delay, DELAY_FEDVS);
    assert_true(c.party.inject.delay_s == 0.05);
    take("inject.delay", "fedvs:3600", "fedvs:3600");
    refuse("inject.delay", "fedvs:0", want);
    refuse("inject.delay", "fedvs:-1", want);
    refuse("inject.delay", "fedvs:3601", want);
    refuse("inject.delay", "fedvs:", want);
    refuse("inject.delay", "fedvs", want);
    refuse("inject.delay", "exp:fedvs:1", want);
    take("inject.delay", "exp:0", "exp:0");
    assert_int_equal(c.party.inject.delay, DELAY_EXP);
    take("inject.delay", "0", "const:0");
    assert_int_equal(c.party.inject.delay, DELAY_CONST);
}

static void test_defaults_are_those_of_the_design(void **state)
{
    const struct plan *p = &c.server.plan;

    (void)state;
    memset(&c, 0xa5, sizeof c);
    key_set_defaults(&config_keys_server, &c);
    assert_int_equal(p->model.embedding, 16);
    assert_int_equal(p->model.fusion, FUSION_SUM);
    assert_int_equal(p->model.head.n, 0);
    assert_int_equal(p->model.head_activation, ACTIVATION_RELU);
    assert_int_equal(p->protocol.encoding, ENCODING_PBM);
    assert_int_equal(p->protocol.aggregation, AGGREGATION_MASKED);
    assert_int_equal(p->protocol.pbm.trials, 256);
    assert_true(p->protocol.pbm.beta == 0.25 && p->protocol.clip == 1);
    assert_int_equal(p->protocol.fixed.bits, 16);
    assert_int_equal(p->protocol.coded.segments, 1);
    assert_int_equal(p->protocol.coded.privacy, 1);
    assert_int_equal(p->protocol.fedvs.segments, 1);
    assert_int_equal(p->protocol.fedvs.privacy, 1);
    assert_int_equal(p->protocol.fedvs.prime, PRIME_AUTO);
    assert_int_equal(p->protocol.fedvs.x_bits, 12);
    assert_int_equal(p->protocol.fedvs.w_bits, 20);
    assert_true(p->protocol.fedvs.x_max == 8 && p->protocol.fedvs.w_max == 8);
    assert_int_equal(p->protocol.straggler, STRAGGLER_WAIT);
    assert_int_equal(p->protocol.deadline_ms, 5000);
    assert_int_equal(p->protocol.patience_ms, 60000);
    assert_int_equal(p->protocol.local_iterations, 1);
    assert_true(p->training.epochs == 10 && p->training.batch == 50);
    assert_true(p->training.learning_rate == 0.003 && p->training.evaluate_every == 1);
    assert_false(p->training.evaluate_train || p->training.seed_given);
    assert_int_equal(p->training.stop.metric, METRIC_NONE);
    assert_true(p->privacy.delta == 1e-5 && !p->privacy.delta_given && p->privacy.max_epsilon == 0);
    assert_true(p->training.warmup == 0 && p->training.scale_targets);
    assert_int_equal(p->training.optimizer, OPTIMIZER_ADAMW);
    assert_int_equal(p->training.schedule, SCHEDULE_COSINE);
    assert_false(p->training.weight_decay_given);
    assert_true(plan_weight_decay(p) == PLAN_ADAMW_DECAY);
    assert_int_equal(c.server.connections_per_address, 4);
    assert_int_equal(c.server.inject.crash_at_round, 0);
    assert_string_equal(c.server.listen, "");
}

static void test_the_default_policy_admits_what_can_be_hidden_and_nothing_else(void **state)
{
    const struct config_policy *p = &c.party.policy;

    (void)state;
    memset(&c, 0xa5, sizeof c);
    key_set_defaults(&config_keys_party, &c);
    assert_int_equal(p->min_parties, 3);
    assert_int_equal(p->min_m_eff, 2);
    assert_true(p->encoding[ENCODING_PBM] && p->encoding[ENCODING_FIXED] &&
                p->encoding[ENCODING_GAUSSIAN]);
    assert_false(p->encoding[ENCODING_FLOAT32]);
    assert_true(p->aggregation[AGGREGATION_MASKED] && p->aggregation[AGGREGATION_CODED]);
    assert_true(p->aggregation[AGGREGATION_FEDVS]);
    assert_false(p->aggregation[AGGREGATION_CLEAR]);
    assert_string_equal(p->roster_sha256, "");
    assert_string_equal(c.party.scale, "fit");
    assert_int_equal(c.party.layers.n, 1);
    assert_int_equal(c.party.layers.item[0].argument[0], 64);
}

/* The one way into YAML for text of others. */
static void test_quoted_text_is_read_back_and_control_characters_are_refused(void **state)
{
    static const char *const good[] = {"h.example:7400", "[::1]:1", "a\"b\\c", "h\xc3\xb6",
                                       "{a: b}",         "# x",     "'",       "$(id)"};
    static const struct tree_limits limits = {.bytes = 64, .nodes = 1, .text_max = 64};
    static const char *const bad[] = {"h\nx: 1", "a\tb", "\x1b[31m", "a\rb",
                                      "\x7f",    "\xc3", "\xc2\x85", "\xe2\x80\xa8"};
    const struct tree *root;
    struct tree_fault f;
    const char *why;
    struct arena a;
    int line;
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct key_value v = {0};

        out.len = 0;
        assert_int_equal(key_print_quoted(good[i], &out), STATUS_OK);
        assert_int_equal(tree_read(&root, &a, (const char *)out.data, out.len, &limits, &f),
                         STATUS_OK);
        assert_true(key_value_read(&v, root, &line, &why));
        assert_string_equal(v.item[0].text, good[i]);
        arena_deinit(&a);
    }
    out.len = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(key_print_quoted(bad[i], &out), STATUS_CONFIG);
    assert_int_equal(out.len, 0);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers_keep_their_range),
        cmocka_unit_test(test_both_daemons_say_how_often_they_checkpoint),
        cmocka_unit_test(test_numbers_keep_their_range),
        cmocka_unit_test(test_truth_values_are_true_and_false),
        cmocka_unit_test(test_choices_are_listed_when_refused),
        cmocka_unit_test(test_a_single_choice_is_taken_and_its_absent_rivals_refused),
        cmocka_unit_test(test_a_seed_is_64_bits_or_random),
        cmocka_unit_test(test_a_delta_is_a_number_or_follows_the_rows),
        cmocka_unit_test(test_paths_start_at_the_directory_given),
        cmocka_unit_test(test_paths_that_would_not_read_back_are_refused),
        cmocka_unit_test(test_addresses_are_host_and_port),
        cmocka_unit_test(test_a_digest_is_64_lowercase_hex_digits),
        cmocka_unit_test(test_layers_of_a_head_are_up_to_32),
        cmocka_unit_test(test_names_are_plain_and_short),
        cmocka_unit_test(test_the_fixed_point_of_fedvs_has_ranges_that_fit_64_bits),
        cmocka_unit_test(test_sets_name_each_choice_at_most_once),
        cmocka_unit_test(test_a_delay_is_none_const_exp_or_fedvs),
        cmocka_unit_test(test_defaults_are_those_of_the_design),
        cmocka_unit_test(test_the_default_policy_admits_what_can_be_hidden_and_nothing_else),
        cmocka_unit_test(test_quoted_text_is_read_back_and_control_characters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
