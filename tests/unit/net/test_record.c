/* test_record.c -- counting records, however the stream is cut.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/record.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Records of 3, 0 and 258 bytes. */
enum { RECORDS = 3, STREAM = RECORDS * RECORD_HEAD + 3 + 0 + 258 };

static void make_stream(uint8_t out[STREAM])
{
    static const size_t sizes[RECORDS] = {3, 0, 258};

    for (int i = 0; i < RECORDS; i++) {
        const uint8_t head[RECORD_HEAD] = {23, 3, 3, (uint8_t)(sizes[i] >> 8), (uint8_t)sizes[i]};
        for (size_t j = 0; j < RECORD_HEAD; j++)
            *out++ = head[j];
        for (size_t j = 0; j < sizes[i]; j++)
            *out++ = 0xff;
    }
}

static void test_records_are_counted_over_every_cut(void **state)
{
    uint8_t stream[STREAM];

    (void)state;
    make_stream(stream);
    for (size_t cut = 0; cut <= STREAM; cut++) {
        struct record_counter r = {0};
        record_pass(&r, stream, cut);
        record_pass(&r, stream + cut, STREAM - cut);
        assert_int_equal(r.n, RECORDS);
        assert_int_equal(r.left + r.head_n, 0);
    }
}

static void test_record_counts_once_its_header_is_whole(void **state)
{
    uint8_t stream[STREAM];
    struct record_counter r = {0};

    (void)state;
    make_stream(stream);
    record_pass(&r, stream, RECORD_HEAD - 1);
    assert_int_equal(r.n, 0);
    record_pass(&r, stream + RECORD_HEAD - 1, 1);
    assert_int_equal(r.n, 1);
    record_pass(&r, stream + RECORD_HEAD, 3 + RECORD_HEAD - 1);
    assert_int_equal(r.n, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_counted_over_every_cut),
        cmocka_unit_test(test_record_counts_once_its_header_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
