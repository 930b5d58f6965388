/* test_report.c -- summary.json has the names of the interface, and only what applies.
 *
 * The documents are read back by a JSON parser, not compared as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/metrics/report.h"
#include "tests/lib/scratch.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { KINDS = 3 };
static const char *const names[KINDS] = {"none", "upload", "broadcast"};

struct fixture {
    struct summary r;
    struct traffic traffic;
    struct spans spans;
};

static struct fixture f;

static void make_slow(struct report_party *p)
{
    p->has_shares = p->can_miss = p->can_be_absent = true;
    p->slowest_rounds = 39;
    p->share_wait_s = 0.5;
    p->slowest_shares = 11;
    p->missing_uploads = 12;
    p->late_uploads = 3;
    p->absent_rounds = 4;
}

/* A whole run of two parties. */
static int fill(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    assert_int_equal(traffic_init(&f.traffic, 2, names, KINDS), STATUS_OK);
    for (uint32_t p = 0; p < 2; p++) {
        traffic_add(&f.traffic, (struct traffic_at){p, TRAFFIC_UP, TRAFFIC_TRAIN, 1}, 100 + p,
                    150 + p);
        traffic_add_tls(&f.traffic, (struct traffic_at){p, TRAFFIC_UP, TRAFFIC_TRAIN, 0}, 200);
        traffic_add(&f.traffic, (struct traffic_at){p, TRAFFIC_DOWN, TRAFFIC_EVALUATE, 2}, 0, 30);
    }
    spans_phase(&f.spans, TRAFFIC_SETUP, 0);
    spans_phase(&f.spans, TRAFFIC_TRAIN, 500000);
    spans_stop(&f.spans, 2500000);
    spans_add(&f.spans, SPAN_HEAD, 250000);
    f.r = (struct summary){
        .status = "completed",
        .rounds = 40,
        .rounds_before = 10,
        .void_rounds = 1,
        .epochs = 2.5,
        .parties_n = 2,
        .train = {.value[SCORE_LOSS] = 0.5, .has[SCORE_LOSS] = true},
        .test = {.value[SCORE_LOSS] = 0.25,
                 .value[SCORE_ACCURACY] = 0.75,
                 .value[SCORE_AUC] = 0.875,
                 .value[SCORE_AUPRC] = 0.9,
                 .value[SCORE_F1] = 0.5,
                 .has[SCORE_LOSS] = true,
                 .has[SCORE_ACCURACY] = true,
                 .has[SCORE_AUC] = true,
                 .has[SCORE_AUPRC] = true,
                 .has[SCORE_F1] = true},
        .reached = {.metric = "auprc",
                    .split = "test",
                    .value = 0.9,
                    .epoch = 2,
                    .round = 32,
                    .seconds = 1.5,
                    .payload_bytes = 12345},
        .total_s = 3,
        .spans = &f.spans,
        .traffic = &f.traffic,
        .has_formula = true,
        .formula_up = 201,
        .formula_down = 7,
        .party_n = 2,
        .privacy = {.mechanism = "pbm",
                    .delta = 1e-5,
                    .train = 4000,
                    .evaluate = 114,
                    .participations_max = 40,
                    .m_min = 2,
                    .claims_n = 2,
                    .claim = {{"server", "record_raw", 2, 3.5, 0.125, false},
                              {"all_but_one", "sample", 1, 2, INFINITY, true}}},
    };
    for (size_t i = 0; i < 2; i++) {
        snprintf(f.r.party[i].name, sizeof f.r.party[i].name, "p%zu", i + 1);
        memset(f.r.party[i].model_sha256, 'a' + (int)i, REPORT_HEX_CHARS);
    }
    make_slow(&f.r.party[1]);
    report_degraded_set(&f.r.degraded, REPORT_MISSING_UPLOADS, 12);
    report_degraded_set(&f.r.degraded, REPORT_VOID_ROUNDS, 0);
    f.r.party[1].has_usage = true;
    f.r.party[1].max_rss_kb = 4096;
    memset(f.r.head_sha256, '7', REPORT_HEX_CHARS);
    return 0;
}

static int empty(void **state)
{
    (void)state;
    traffic_deinit(&f.traffic);
    return 0;
}

static json_t *written(void)
{
    struct error err = {0};
    const char *path = scratch_path("summary.json");
    json_t *root;

    assert_int_equal(report_write(&f.r, path, &err), STATUS_OK);
    root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static json_t *follow(json_t *o, const char *path)
{
    char key[64];

    while (*path != 0) {
        size_t n = strcspn(path, ".");

        memcpy(key, path, n);
        key[n] = 0;
        o = json_is_array(o) ? json_array_get(o, (size_t)strtoul(key, NULL, 10))
                             : json_object_get(o, key);
        path += n + (path[n] == '.');
    }
    return o;
}

static void assert_number(json_t *root, const char *path, double want)
{
    json_t *v = follow(root, path);

    if (!json_is_number(v))
        fail_msg("%s is missing or no number", path);
    if (fabs(json_number_value(v) - want) > 1e-12)
        fail_msg("%s is %.17g, not %.17g", path, json_number_value(v), want);
}

static void assert_text(json_t *root, const char *path, const char *want)
{
    assert_true(json_is_string(follow(root, path)));
    assert_string_equal(json_string_value(follow(root, path)), want);
}

static void assert_absent(json_t *root, const char *path)
{
    if (follow(root, path) != NULL)
        fail_msg("%s should be absent", path);
}

static const struct {
    const char *path;
    double want;
} NUMBERS[] = {
    {"rounds", 40},
    {"void_rounds", 1},
    {"epochs", 2.5},
    {"parties_n", 2},
    {"degraded.missing_uploads", 12},
    {"degraded.void_rounds", 0},
    {"train.loss", 0.5},
    {"test.loss", 0.25},
    {"test.accuracy", 0.75},
    {"test.auc", 0.875},
    {"test.auprc", 0.9},
    {"test.f1", 0.5},
    {"reached.value", 0.9},
    {"reached.epoch", 2},
    {"reached.round", 32},
    {"reached.seconds", 1.5},
    {"reached.payload_bytes", 12345},
    {"time.setup_s", 0.5},
    {"time.train_s", 2},
    {"time.evaluate_s", 0},
    {"time.total_s", 3},
    {"time.rounds_per_s", 15},
    {"time.spans.compute", 0},
    {"time.spans.protect", 0},
    {"time.spans.serialise", 0},
    {"time.spans.wait", 0},
    {"time.spans.combine", 0},
    {"time.spans.head", 0.25},
    {"bytes.setup.payload_up", 0},
    {"bytes.setup.tls_down", 0},
    {"bytes.train.payload_up", 201},
    {"bytes.train.frame_up", 301},
    {"bytes.train.tls_up", 400},
    {"bytes.train.payload_down", 0},
    {"bytes.train.formula_up", 201},
    {"bytes.train.formula_down", 7},
    {"bytes.evaluate.frame_down", 60},
    {"bytes.total.frame_down", 60},
    {"bytes.total.frame_up", 301},
    {"bytes.total.payload_up", 201},
    {"bytes.total.tls_up", 400},
    {"bytes.by_message.upload.count", 2},
    {"bytes.by_message.upload.payload", 201},
    {"bytes.by_message.upload.frame", 301},
    {"bytes.by_message.broadcast.frame", 60},
    {"parties.0.frame_up", 150},
    {"parties.1.frame_up", 151},
    {"parties.0.frame_down", 30},
    {"parties.0.wait_s", 0},
    {"parties.1.slowest_rounds", 39},
    {"parties.0.lost", 0},
    {"parties.0.rejoined", 0},
    {"parties.1.share_wait_s", 0.5},
    {"parties.1.slowest_shares", 11},
    {"parties.1.missing_uploads", 12},
    {"parties.1.late_uploads", 3},
    {"parties.1.absent_rounds", 4},
    {"parties.1.max_rss_kb", 4096},
    {"parties.1.cpu_s", 0},
    {"privacy.delta", 1e-5},
    {"privacy.releases.train", 4000},
    {"privacy.releases.evaluate", 114},
    {"privacy.releases.predict", 0},
    {"privacy.participations_max", 40},
    {"privacy.m_min", 2},
    {"privacy.claims.0.m_eff", 2},
    {"privacy.claims.0.alpha", 3.5},
    {"privacy.claims.0.epsilon", 0.125},
};

static void test_report_has_every_name_of_the_interface(void **state)
{
    json_t *root = written();

    (void)state;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++)
        assert_number(root, NUMBERS[i].path, NUMBERS[i].want);
    assert_text(root, "status", "completed");
    assert_text(root, "reached.metric", "auprc");
    assert_text(root, "reached.split", "test");
    assert_text(root, "parties.1.name", "p2");
    assert_text(root, "privacy.mechanism", "pbm");
    assert_text(root, "privacy.claims.0.adversary", "server");
    assert_text(root, "privacy.claims.0.adjacency", "record_raw");
    assert_true(json_is_false(follow(root, "plaintext")));
    assert_true(json_is_false(follow(root, "insecure_seed")));
    assert_true(json_is_false(follow(root, "privacy.claims.0.vacuous")));
    assert_text(root, "model_sha256.head", f.r.head_sha256);
    assert_text(root, "model_sha256.parties.1", f.r.party[1].model_sha256);
    json_decref(root);
}

static void test_report_leaves_out_what_does_not_apply(void **state)
{
    json_t *root = written();

    (void)state;
    assert_absent(root, "error");
    assert_absent(root, "train.accuracy");
    assert_absent(root, "bytes.by_message.none");
    assert_absent(root, "bytes.setup.formula_up");
    assert_absent(root, "parties.0.max_rss_kb");
    assert_absent(root, "parties.0.share_wait_s");
    assert_absent(root, "parties.0.slowest_shares");
    assert_absent(root, "parties.0.missing_uploads");
    assert_absent(root, "parties.0.late_uploads");
    assert_absent(root, "parties.0.absent_rounds");
    assert_absent(root, "degraded.late_uploads");
    assert_absent(root, "server");
    json_decref(root);

    f.r.error = "party p1: out of patience";
    f.r.status = "failed";
    f.r.reached.metric = NULL;
    f.r.privacy.mechanism = NULL;
    f.r.head_sha256[0] = 0;
    f.r.party_n = 0;
    f.r.has_formula = false;
    f.r.degraded = (struct report_degraded){0};
    f.r.test = f.r.train = (struct score){0};
    root = written();
    assert_text(root, "error", "party p1: out of patience");
    assert_absent(root, "reached");
    assert_absent(root, "degraded");
    assert_absent(root, "privacy");
    assert_absent(root, "model_sha256");
    assert_absent(root, "bytes.train.formula_up");
    assert_absent(root, "test");
    assert_absent(root, "train");
    assert_number(root, "bytes.train.payload_up", 201);
    json_decref(root);
}

static void test_report_writes_no_infinity_but_says_vacuous(void **state)
{
    struct buf text;
    json_t *root;

    (void)state;
    f.r.test.value[SCORE_LOSS] = NAN;
    f.r.train.value[SCORE_LOSS] = -INFINITY;
    root = written();
    assert_absent(root, "privacy.claims.1.epsilon");
    assert_true(json_is_true(follow(root, "privacy.claims.1.vacuous")));
    assert_absent(root, "test.loss");
    assert_number(root, "test.accuracy", 0.75);
    json_decref(root);
    buf_init(&text, 1 << 20);
    assert_int_equal(report_print(&f.r, &text), STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    assert_null(strcasestr((char *)text.data, "inf"));
    assert_null(strcasestr((char *)text.data, "nan"));
    buf_deinit(&text);
}

static void test_report_makes_valid_json_of_a_peers_words(void **state)
{
    json_t *root;

    (void)state;
    f.r.error = "party \"p\\1\": \xff\xfe broke\nit";
    root = written();
    assert_text(root, "error", "party \"p\\1\": ?? broke\nit");
    json_decref(root);
}

static void test_report_keeps_the_old_file_when_it_cannot_write(void **state)
{
    struct error err = {0};
    char path[512];
    enum status s;
    json_t *root;

    (void)state;
    snprintf(path, sizeof path, "%s/no/such/summary.json", scratch_dir());
    assert_int_equal(report_write(&f.r, path, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "summary.json"));
    root = written();
    json_decref(root);
    f.r.rounds = 41;
    mem_fail_at(1);
    s = report_write(&f.r, scratch_path("summary.json"), &err);
    mem_fail_at(0);
    assert_int_equal(s, STATUS_MEMORY);
    root = json_load_file(scratch_path("summary.json"), 0, NULL);
    assert_number(root, "rounds", 40);
    json_decref(root);
}

static void test_report_appends_one_object_per_evaluation(void **state)
{
    const char *path = scratch_path("metrics.jsonl");
    struct report_evaluation e = {.epoch = 1,
                                  .round = 16,
                                  .seconds = 0.5,
                                  .train_s = 0.375,
                                  .bytes = 1000,
                                  .test = {.value[SCORE_LOSS] = 0.5, .has[SCORE_LOSS] = true}};
    struct error err = {0};
    FILE *file;
    json_t *line;

    (void)state;
    unlink(path);
    assert_int_equal(report_append(path, &e, &err), STATUS_OK);
    e.epoch = 2.5;
    report_degraded_set(&e.degraded, REPORT_STALE_EMBEDDINGS, 7);
    assert_int_equal(report_append(path, &e, &err), STATUS_OK);
    file = fopen(path, "r");
    assert_non_null(file);
    line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
    assert_number(line, "epoch", 1);
    assert_number(line, "round", 16);
    assert_number(line, "seconds", 0.5);
    assert_number(line, "train_s", 0.375);
    assert_number(line, "bytes", 1000);
    assert_number(line, "test.loss", 0.5);
    assert_absent(line, "train");
    assert_absent(line, "degraded");
    json_decref(line);
    line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
    assert_number(line, "epoch", 2.5);
    assert_number(line, "degraded.stale_embeddings", 7);
    json_decref(line);
    fclose(file);
    assert_int_equal(report_append(scratch_dir(), &e, &err), STATUS_IO);
}

static void test_report_says_what_went_over_the_wire_until_an_evaluation(void **state)
{
    const char *path = scratch_path("metrics.jsonl");
    struct report_evaluation e = {.epoch = 1, .round = 16, .bytes = 201};
    struct error err = {0};
    json_t *line;

    (void)state;
    unlink(path);
    assert_int_equal(report_append(path, &e, &err), STATUS_OK);
    line = json_load_file(path, 0, NULL);
    assert_absent(line, "traffic");
    json_decref(line);
    unlink(path);
    e.traffic = &f.traffic;
    assert_int_equal(report_append(path, &e, &err), STATUS_OK);
    line = json_load_file(path, 0, NULL);
    assert_number(line, "traffic.train.payload_up", 201);
    assert_number(line, "traffic.train.frame_up", 301);
    assert_number(line, "traffic.train.tls_up", 400);
    assert_number(line, "traffic.train.frame_down", 0);
    assert_number(line, "traffic.total.frame_up", 301);
    assert_number(line, "traffic.total.frame_down", 60);
    assert_number(line, "traffic.total.payload_down", 0);
    json_decref(line);
}

static size_t lines_of(const char *path, char *text, size_t max)
{
    FILE *file = fopen(path, "r");
    size_t n, lines = 0;

    assert_non_null(file);
    n = fread(text, 1, max - 1, file);
    fclose(file);
    text[n] = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static void test_report_cuts_half_a_line_before_it_appends(void **state)
{
    const char *path = scratch_path("metrics.jsonl");
    struct report_evaluation e = {
        .epoch = 1, .round = 16, .test = {.value[SCORE_LOSS] = 0.5, .has[SCORE_LOSS] = true}};
    struct error err = {0};
    char one[2048], two[2048];
    FILE *file;

    (void)state;
    unlink(path);
    assert_int_equal(report_append(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, one, sizeof one), 1);
    for (size_t n = 0; n < strlen(one);
         n++) { /* killed after n bytes of a first, or a later, line */
        for (int later = 0; later < 2; later++) {
            file = fopen(path, "w");
            assert_non_null(file);
            fprintf(file, "%s%.*s", later ? one : "", (int)n, one);
            fclose(file);
            assert_int_equal(report_append(path, &e, &err), STATUS_OK);
            assert_int_equal(lines_of(path, two, sizeof two), 1 + later);
            assert_string_equal(two + (later ? strlen(one) : 0), one);
        }
    }
}

static void test_report_appends_once_what_an_earlier_process_may_have_written(void **state)
{
    const char *path = scratch_path("metrics.jsonl");
    struct report_evaluation e = {.epoch = 1,
                                  .round = 16,
                                  .seconds = 0.5,
                                  .bytes = 1000,
                                  .train = {.value[SCORE_LOSS] = 0.75, .has[SCORE_LOSS] = true},
                                  .test = {.value[SCORE_LOSS] = 0.5, .has[SCORE_LOSS] = true}};
    struct error err = {0};
    char text[4096];

    (void)state;
    unlink(path);
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 1);
    e.epoch = 2;
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 2);
    e.epoch = 1;
    e.seconds = e.train_s = 0.125; /* another process's clock and bytes */
    e.bytes = 0;
    e.traffic = &f.traffic;
    report_degraded_set(&e.degraded, REPORT_VOID_ROUNDS, 1);
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 2);
    e.round = 1; /* each alone makes it another one; 1 is how 16 begins */
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 3);
    e.round = 16;
    e.train.value[SCORE_LOSS] = 0.875;
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 4);
    e.train.value[SCORE_LOSS] = 0.75;
    e.test.value[SCORE_LOSS] = 0.25;
    assert_int_equal(report_append_once(path, &e, &err), STATUS_OK);
    assert_int_equal(lines_of(path, text, sizeof text), 5);
    assert_int_equal(report_append_once(scratch_dir(), &e, &err), STATUS_IO);
}

static void test_predictions_name_whom_they_do_without(void **state)
{
    json_t *root, *list;

    (void)state;
    root = written();
    assert_null(json_object_get(root, "without"));
    json_decref(root);
    f.r.without[f.r.without_n++] = "p2";
    f.r.without[f.r.without_n++] = "p5";
    root = written();
    list = json_object_get(root, "without");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_array_get(list, 1)), "p5");
    json_decref(root);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, fill, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_report_has_every_name_of_the_interface),
        EACH(test_report_leaves_out_what_does_not_apply),
        EACH(test_report_writes_no_infinity_but_says_vacuous),
        EACH(test_report_makes_valid_json_of_a_peers_words),
        EACH(test_report_keeps_the_old_file_when_it_cannot_write),
        EACH(test_report_appends_one_object_per_evaluation),
        EACH(test_report_says_what_went_over_the_wire_until_an_evaluation),
        EACH(test_report_cuts_half_a_line_before_it_appends),
        EACH(test_report_appends_once_what_an_earlier_process_may_have_written),
        EACH(test_predictions_name_whom_they_do_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
