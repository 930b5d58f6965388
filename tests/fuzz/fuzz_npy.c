/* fuzz_npy.c -- any bytes as an array of NumPy, and a header that is written back says the same.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/npy.h"
#include "tests/fuzz/table_feed.h"

#include <float.h>
#include <string.h>

static void check_header(const char *bytes, size_t n)
{
    char text[NPY_TEXT_MAX];
    struct array a, back;
    const char *reason;

    if (!npy_parse(&a, bytes, n, &reason))
        return;
    CHECK(a.dim[0] > 0 && a.dim[0] <= TABLE_ROWS_MAX && a.dim[0] <= TABLE_VALUES_MAX / a.columns);
    n = npy_header(text, &a);
    CHECK(n % 64 == 0 && npy_parse(&back, text + 10, n - 10, &reason));
    CHECK(back.kind == a.kind && back.element == a.element && back.rank == a.rank);
    CHECK(memcmp(back.dim, a.dim, a.rank * sizeof *a.dim) == 0 && back.columns == a.columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct table_reader npy = {
        .format = &NPY_FORMAT, .least = -FLT_MAX, .most = FLT_MAX, .most_label = FLT_MAX};

    if (size > 0)
        check_header((const char *)data + 1, size - 1);
    return table_feed(&npy, data, size);
}
