/* test_model.c -- the model's file and its name are the same bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/file.h"
#include "common/daemon/model.h"

static void test_file_export_and_digest_agree(void **state)
{
    char dir[] = "/tmp/colonnade-model.XXXXXX", path[64], copy[64], hex[65], want[65];
    struct nn_spec spec = {.layers = 1, .width = {2, 2}, .out_scale = 1, .rows_max = 1};
    struct arena arena = {0};
    uint8_t digest[DIGEST_BYTES];
    struct error err = {0};
    struct nn_net net;
    struct buf a, b;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    snprintf(copy, sizeof copy, "%s/copy", dir);
    assert_int_equal(arena_init(&arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&net, &spec, &arena), STATUS_OK);
    assert_int_equal(model_write(&net, dir, copy, hex, &err), STATUS_OK);
    buf_init(&a, 4096);
    buf_init(&b, 4096);
    assert_int_equal(file_read(path, &a, &err), STATUS_OK);
    assert_int_equal(file_read(copy, &b, &err), STATUS_OK);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    digest_sha256(digest, a.data, a.len);
    digest_hex(want, digest, sizeof digest);
    assert_string_equal(hex, want);
    net.layer[0].w[0] += 1;
    assert_int_equal(model_write(&net, dir, NULL, hex, &err), STATUS_OK);
    assert_string_not_equal(hex, want);
    assert_int_equal(model_write(&net, "/nowhere/at/all", NULL, hex, &err), STATUS_IO);
    unlink(path);
    unlink(copy);
    rmdir(dir);
    buf_deinit(&a);
    buf_deinit(&b);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file_export_and_digest_agree)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
