/* fuzz_bits.c -- any bytes as a run of w-bit values: every kernel reads what one bit at a time
 * reads, and a clean run packs to the very same bytes.
 *
 * Input: byte 0 the width, byte 1 how many of the last byte's bits are not used; the rest is the
 * run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "tests/fuzz/feed.h"

enum { RUN_MAX = 1 << 10, VALUES_MAX = 8 * RUN_MAX };

static uint32_t naive[VALUES_MAX], wide[VALUES_MAX], sum[VALUES_MAX];
static uint16_t narrow[VALUES_MAX], narrow_sum[VALUES_MAX];

static void check_wide(const uint8_t *run, size_t n, uint32_t w)
{
    const uint32_t mask = w == 32 ? UINT32_MAX : (1U << w) - 1;

    bits_unpack32(wide, run, n, w);
    CHECK(memcmp(wide, naive, n * sizeof *wide) == 0);
    for (size_t i = 0; i < n; i++)
        sum[i] = (uint32_t)i & mask;
    bits_add32(sum, run, n, w);
    for (size_t i = 0; i < n; i++)
        CHECK(sum[i] == (((uint32_t)i + naive[i]) & mask));
}

static void check_narrow(const uint8_t *run, size_t n, uint32_t w)
{
    const uint16_t mask = (uint16_t)((1U << w) - 1);

    bits_unpack16(narrow, run, n, w);
    for (size_t i = 0; i < n; i++) {
        CHECK(narrow[i] == naive[i]);
        narrow_sum[i] = (uint16_t)(i & mask);
    }
    bits_add16(narrow_sum, run, n, w);
    for (size_t i = 0; i < n; i++)
        CHECK(narrow_sum[i] == ((i + naive[i]) & mask));
}

static void check_back(const uint8_t *run, size_t n, uint32_t w)
{
    static uint8_t again[RUN_MAX];
    const size_t bytes = bits_bytes(n, w);

    bits_naive_pack(again, naive, n, w);
    CHECK((memcmp(again, run, bytes) == 0) == bits_clean(run, n, w));
    bits_pack32(again, naive, n, w);
    CHECK((memcmp(again, run, bytes) == 0) == bits_clean(run, n, w));
    if (w > 16)
        return;
    bits_pack16(again, narrow, n, w);
    CHECK((memcmp(again, run, bytes) == 0) == bits_clean(run, n, w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const uint32_t w = feed_among(&f, 1, 32), unused = feed_among(&f, 0, 7);
    size_t n;

    if (f.left == 0 || f.left > RUN_MAX)
        return 0;
    n = (8 * f.left - unused) / w;
    if (bits_bytes(n, w) != f.left)
        n = 8 * f.left / w;
    if (bits_bytes(n, w) > f.left)
        return 0;
    bits_naive_unpack(naive, f.at, n, w);
    check_wide(f.at, n, w);
    if (w <= 16)
        check_narrow(f.at, n, w);
    check_back(f.at, n, w);
    return 0;
}
