/* fuzz_schedule.c -- schedules and segments of odd shapes: every epoch has every row once, and a
 * step the coded rows that it says it has.
 *
 * Input: rows (2 bytes), K, batch / K, epoch, seed (8 bytes).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schedule.h"
#include "tests/fuzz/feed.h"

enum { ROWS_MAX = 1 << 10 };

/* The rows of coded row r, which are no others than these. */
static void check_coded(const struct schedule *s, const uint32_t *row, uint32_t n)
{
    uint32_t expected = 0, again[ROWS_MAX + 256];

    for (uint32_t i = 0; i < s->coded_n; i++) {
        CHECK(s->coded[i] < s->segments.len);
        for (uint32_t k = 0; k < s->segments.k; k++)
            expected += s->coded[i] + (uint64_t)k * s->segments.len < s->segments.rows;
    }
    CHECK(n == expected && n <= s->coded_n * s->segments.k);
    if (s->segments.k == 1)
        return;
    CHECK(segments_rows(&s->segments, again, s->coded, s->coded_n) == n);
    CHECK(memcmp(again, row, n * sizeof *row) == 0);
}

static void check_epoch(struct schedule *s, uint64_t epoch)
{
    static uint8_t seen[ROWS_MAX];
    const uint64_t first = epoch * s->rounds_per_epoch;
    uint32_t all = 0;

    memset(seen, 0, sizeof seen);
    for (uint64_t step = first; step < first + s->rounds_per_epoch; step++) {
        uint32_t n;
        const uint32_t *row = schedule_batch(s, step, &n);

        CHECK(s->coded_n > 0 && s->coded_n <= s->coded_batch);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(row[i] < s->segments.rows && !seen[row[i]]);
            seen[row[i]] = 1;
        }
        check_coded(s, row, n);
        all += n;
    }
    CHECK(all == s->segments.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const uint32_t rows = 1 + (uint32_t)feed_number(&f, 2) % ROWS_MAX, k = feed_among(&f, 1, 32),
                   coded_batch = feed_among(&f, 1, 200);
    const uint64_t epoch = feed_number(&f, 4), seed = feed_number(&f, 8);
    struct schedule s;

    CHECK(schedule_init(&s, seed, rows, k * coded_batch, k) == STATUS_OK);
    CHECK(segments_range(&s.segments, NULL, 0, s.segments.len) == rows);
    check_epoch(&s, epoch);
    check_epoch(&s, 0);
    schedule_deinit(&s);
    return 0;
}
