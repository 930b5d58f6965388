/* fuzz_idx.c -- any bytes as an IDX file (plain or gzip).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/idx.h"
#include "tests/fuzz/table_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct table_reader idx = {
        .format = &IDX_FORMAT, .least = 0, .most = 1, .most_label = 255};

    return table_feed(&idx, data, size);
}
