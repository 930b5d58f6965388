/* fuzz_package.c -- any bytes as a model package: refused, or a package that is written again as it
 * was read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/daemon/package.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARAMS_MAX = 1 << 16 };

/* Its weights, and all that they are for, as a file of their own. */
static void print_again(struct package *p, struct buf *out)
{
    struct arena arena;
    struct error err;
    struct nn_net net;

    p->spec.rows_max = 1;
    CHECK(arena_init(&arena, nn_net_bytes(&p->spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &p->spec, &arena) == STATUS_OK);
    if (package_weights(p, &net, &err) == STATUS_OK)
        CHECK(package_print(p, &net, out, &err) == STATUS_OK);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct package p, again;
    struct buf out;
    struct error err;

    package_init(&p);
    package_init(&again);
    buf_init(&out, SIZE_MAX);
    if (package_parse(&p, data, size, &err) == STATUS_OK && nn_spec_params(&p.spec) < PARAMS_MAX)
        print_again(&p, &out);
    if (out.len > 0) {
        CHECK(package_parse(&again, out.data, out.len, &err) == STATUS_OK);
        CHECK(strcmp(again.run, p.run) == 0 && again.cols == p.cols);
        CHECK(memcmp(again.plan_sha256, p.plan_sha256, DIGEST_BYTES) == 0);
    }
    buf_deinit(&out);
    package_deinit(&again);
    package_deinit(&p);
    return 0;
}
