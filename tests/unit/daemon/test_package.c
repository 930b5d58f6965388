/* test_package.c -- a package is what was written, or it is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/nn/safetensors.h"
#include "tests/unit/daemon/packages.h"

static size_t header_bytes(const struct buf *b)
{
    const uint8_t *at = b->data;

    return (size_t)le_take(&at, 8);
}

static void print(struct package *p, const struct nn_net *n, struct buf *out)
{
    struct error err = {0};

    buf_init(out, PACKAGE_FILE_MAX);
    assert_int_equal(package_print(p, n, out, &err), STATUS_OK);
}

static enum status parse(const struct buf *b, size_t n)
{
    struct package p;
    struct error err = {0};
    enum status s;

    package_init(&p);
    s = package_parse(&p, b->data, n, &err);
    package_deinit(&p);
    return s;
}

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
    print(&p, &s.bottom, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_int_equal(got.role, PACKAGE_BOTTOM);
    assert_string_equal(got.run, "abc-2");
    assert_int_equal(got.cols, 3);
    assert_memory_equal(got.names, p.names, 3 * TABLE_NAME_MAX);
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
    struct buf b;

    (void)state;
    packages_init(&s);
    packages_head(&p);
    print(&p, &s.head, &b);
    package_init(&got);
    assert_int_equal(package_parse(&got, b.data, b.len, &err), STATUS_OK);
    assert_int_equal(got.role, PACKAGE_HEAD);
    assert_int_equal(got.cols, 0);
    assert_non_null(strstr(got.score, "test.auc=0.75\n"));
    package_deinit(&got);
    package_deinit(&p);
    buf_deinit(&b);
    packages_deinit(&s);
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
    print(&p, &s.bottom, &b);
    header = 8 + header_bytes(&b);
    assert_int_equal(parse(&b, b.len), STATUS_OK);
    for (size_t n = 0; n < b.len; n++)
        assert_int_not_equal(parse(&b, n), STATUS_OK);
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
        assert_int_not_equal(parse(&b, b.len), STATUS_OK);
        b.data[i] = was;
    }
    package_deinit(&p);
    buf_deinit(&b);
    packages_deinit(&s);
}

static void with(struct buf *out, const struct buf *b, const char *from, const char *to)
{
    const size_t header = header_bytes(b);
    const char *text = (const char *)b->data + 8, *at = strstr(text, from);

    assert_non_null(at);
    out->len = 0;
    assert_int_equal(buf_append(out, b->data, 8), STATUS_OK);
    assert_int_equal(buf_append(out, text, (size_t)(at - text)), STATUS_OK);
    assert_int_equal(buf_append(out, to, strlen(to)), STATUS_OK);
    assert_int_equal(
        buf_append(out, at + strlen(from), header - (size_t)(at - text) - strlen(from)), STATUS_OK);
    le_put(out->data, out->len - 8, 8);
    assert_int_equal(buf_append(out, text + header, b->len - 8 - header), STATUS_OK);
}

static void test_what_does_not_fit_together_is_refused(void **state)
{
    static const char *const change[][2] = {
        {"\"widths\":\"3,4,2\"", "\"widths\":\"3,16777216,2\""}, /* before there is memory for it */
        {"\"widths\":\"3,4,2\"", "\"widths\":\"2,4,2\""},
        {"\"widths\":\"3,4,2\"", "\"widths\":\"3,04,2\""},
        {"\"activations\":\"relu,tanh\"", "\"activations\":\"relu\""},
        {"\"activations\":\"relu,tanh\"", "\"activations\":\"relu,gelu\""},
        {"age\\n", "age\\nsex\\n"},
        {"age\\n", "\\u0061ge\\n"},
        {"\"loss\":\"softmax\"", "\"loss\":\"sigmoid\""},
        {"\"run\":\"abc-2\"", "\"run\":\"../abc\""},
        {"\"role\":\"bottom\"", "\"role\":\"head\""},
        {"\"degree\":\"0\"", "\"degree\":\"0\",\"more\":\"\""},
        {"\"degree\":\"0\"", "\"degree\":\"9\""},
        {"\"out_scale\":\"0.5\"", "\"out_scale\":\"inf\""},
        /* Said again, when there is memory for as many as were said first. */
        {"\"standardise\"", "\"widths\":\"65536,4,2\",\"standardise\""},
        {"training.batch=4", "training.batch=0"},
        {"colonnade-model/1", "colonnade-model/2"},
    };
    struct packages s = {0};
    struct package p;
    struct buf b, other;

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    print(&p, &s.bottom, &b);
    buf_init(&other, PACKAGE_FILE_MAX);
    with(&other, &b, "abc-2", "abc-2");
    assert_int_equal(parse(&other, other.len), STATUS_OK);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        with(&other, &b, change[i][0], change[i][1]);
        if (parse(&other, other.len) != STATUS_DATA)
            fail_msg("\"%s\" was taken for \"%s\"", change[i][1], change[i][0]);
    }
    package_deinit(&p);
    buf_deinit(&b);
    buf_deinit(&other);
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
    assert_int_equal(parse(&b, b.len), STATUS_DATA);
    buf_deinit(&b);
    packages_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bottom_comes_back_as_it_was),
        cmocka_unit_test(test_a_head_has_its_scores_and_no_columns),
        cmocka_unit_test(test_a_changed_or_cut_package_is_refused),
        cmocka_unit_test(test_what_does_not_fit_together_is_refused),
        cmocka_unit_test(test_weights_alone_are_no_package),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
