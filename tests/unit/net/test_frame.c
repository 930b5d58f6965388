/* test_frame.c -- the frame parser: any split, every limit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/frame.h"

#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 1000 };

/* Frames of 1, 5, 300 and 2 bytes; frame i is filled with the byte i + 1. */
static const size_t sizes[] = {1, 5, 300, 2};
enum { FRAMES = 4, STREAM = FRAMES * FRAME_HEAD + 1 + 5 + 300 + 2 };

static void make_stream(uint8_t out[STREAM])
{
    for (size_t i = 0; i < FRAMES; i++) {
        frame_head_pack(out, sizes[i]);
        memset(out + FRAME_HEAD, (int)i + 1, sizes[i]);
        out += FRAME_HEAD + sizes[i];
    }
}

/* Feeds a piece and checks each frame that comes out against the list above. */
static void feed(struct frame_parser *p, uint8_t *in, size_t n, size_t *count)
{
    uint8_t *frame;
    size_t frame_n;

    while (n > 0) {
        assert_int_equal(frame_next(p, &frame, &frame_n, &in, &n, NULL), STATUS_OK);
        if (frame == NULL)
            continue;
        assert_true(*count < FRAMES);
        assert_int_equal(frame_n, sizes[*count]);
        for (size_t i = 0; i < frame_n; i++)
            assert_int_equal(frame[i], *count + 1);
        ++*count;
    }
}

static void test_frames_survive_every_split_in_three(void **state)
{
    uint8_t stream[STREAM];

    (void)state;
    make_stream(stream);
    for (size_t a = 0; a <= STREAM; a++)
        for (size_t b = a; b <= STREAM; b++) {
            struct frame_parser p;
            size_t count = 0;
            frame_parser_init(&p, MAX);
            feed(&p, stream, a, &count);
            feed(&p, stream + a, b - a, &count);
            feed(&p, stream + b, STREAM - b, &count);
            assert_int_equal(count, FRAMES);
            assert_false(frame_partial(&p));
            frame_parser_deinit(&p);
        }
}

static void test_frames_survive_single_bytes(void **state)
{
    uint8_t stream[STREAM];
    struct frame_parser p;
    size_t count = 0;

    (void)state;
    make_stream(stream);
    frame_parser_init(&p, MAX);
    for (size_t i = 0; i < STREAM; i++)
        feed(&p, stream + i, 1, &count);
    assert_int_equal(count, FRAMES);
    frame_parser_deinit(&p);
}

static void test_frame_cut_short_is_not_handed_out(void **state)
{
    uint8_t stream[STREAM];
    struct frame_parser p;
    size_t count = 0;

    (void)state;
    make_stream(stream);
    frame_parser_init(&p, MAX);
    feed(&p, stream, STREAM - 1, &count);
    assert_int_equal(count, FRAMES - 1);
    assert_true(frame_partial(&p));
    frame_parser_deinit(&p);
}

static enum status next_of_length(struct frame_parser *p, size_t announced, struct error *err)
{
    uint8_t bytes[FRAME_HEAD + 8] = {0};
    uint8_t *in = bytes, *frame;
    size_t n = sizeof bytes, frame_n;
    enum status s;

    for (int i = 0; i < FRAME_HEAD; i++)
        bytes[i] = (uint8_t)(announced >> (24 - 8 * i));
    s = frame_next(p, &frame, &frame_n, &in, &n, err);
    assert_null(frame);
    return s;
}

static void test_length_over_the_maximum_is_refused_before_allocation(void **state)
{
    static const size_t too_long[] = {MAX + 1, 1U << 24, 0x7fffffff, 0x80000000, 0xffffffff};

    (void)state;
    for (size_t i = 0; i < sizeof too_long / sizeof too_long[0]; i++) {
        struct frame_parser p;
        struct error err = {0};
        uint64_t before = mem_count();
        frame_parser_init(&p, MAX);
        assert_int_equal(next_of_length(&p, too_long[i], &err), STATUS_LIMIT);
        assert_non_null(strstr(err.text, "over the limit"));
        assert_int_equal(mem_count(), before);
        frame_parser_deinit(&p);
    }
}

static void test_length_of_the_maximum_is_admitted(void **state)
{
    struct frame_parser p;

    (void)state;
    frame_parser_init(&p, MAX);
    assert_int_equal(next_of_length(&p, MAX, NULL), STATUS_OK);
    assert_int_equal(p.need, MAX);
    frame_parser_deinit(&p);
}

static void test_frame_of_no_bytes_is_refused(void **state)
{
    struct frame_parser p;

    (void)state;
    frame_parser_init(&p, MAX);
    assert_int_equal(next_of_length(&p, 0, NULL), STATUS_PROTOCOL);
    frame_parser_deinit(&p);
}

static void test_maximum_moves_for_the_next_header(void **state)
{
    struct frame_parser p;

    (void)state;
    frame_parser_init(&p, MAX);
    frame_parser_set_max(&p, 2 * MAX);
    assert_int_equal(next_of_length(&p, 2 * MAX, NULL), STATUS_OK);
    frame_parser_deinit(&p);
    frame_parser_init(&p, MAX);
    frame_parser_set_max(&p, 10);
    assert_int_equal(next_of_length(&p, 11, NULL), STATUS_LIMIT);
    frame_parser_deinit(&p);
}

static void test_buffer_grows_with_bytes_received_only(void **state)
{
    static uint8_t some[1000];
    struct frame_parser p;
    uint8_t *in = some, *frame;
    size_t n = sizeof some, frame_n;

    (void)state;
    frame_parser_init(&p, (size_t)1 << 30);
    frame_head_pack(some, (size_t)1 << 30);
    assert_int_equal(frame_next(&p, &frame, &frame_n, &in, &n, NULL), STATUS_OK);
    assert_null(frame);
    assert_true(p.body.cap <= 2 * sizeof some);
    frame_parser_deinit(&p);
}

static void test_frames_after_the_first_allocate_nothing(void **state)
{
    uint8_t stream[STREAM];
    struct frame_parser p;
    size_t count = 0;
    uint64_t before;

    (void)state;
    make_stream(stream);
    frame_parser_init(&p, MAX);
    for (size_t i = 0; i < STREAM; i++)
        feed(&p, stream + i, 1, &count);
    before = mem_count();
    count = 0;
    for (size_t i = 0; i < STREAM; i++)
        feed(&p, stream + i, 1, &count);
    assert_int_equal(mem_count(), before);
    frame_parser_deinit(&p);
}

static void test_big_buffer_is_given_back_when_frames_stay_small(void **state)
{
    enum { BIG = 4 * FRAME_KEEP };
    uint8_t small[FRAME_HEAD + 1] = {0, 0, 0, 1, 1};
    static uint8_t big[FRAME_HEAD + BIG];
    struct frame_parser p;
    size_t n;

    (void)state;
    frame_parser_init(&p, BIG);
    frame_head_pack(big, BIG);
    for (size_t at = 0; at < sizeof big; at += n) {
        uint8_t *in = big + at, *frame;
        size_t left, frame_n;
        n = sizeof big - at < 1000 ? sizeof big - at : 1000;
        left = n;
        while (left > 0)
            assert_int_equal(frame_next(&p, &frame, &frame_n, &in, &left, NULL), STATUS_OK);
    }
    assert_true(p.body.cap >= BIG);
    for (int i = 0; i < FRAME_IDLE_FRAMES; i++) {
        uint8_t *in = small, *frame;
        size_t left = sizeof small, frame_n;
        while (left > 0)
            assert_int_equal(frame_next(&p, &frame, &frame_n, &in, &left, NULL), STATUS_OK);
    }
    assert_int_equal(p.body.cap, 0);
    frame_parser_deinit(&p);
}

static void test_short_memory_is_a_status(void **state)
{
    uint8_t bytes[] = {0, 0, 0, 9, 1, 2};
    struct frame_parser p;
    uint8_t *in = bytes, *frame;
    size_t n = sizeof bytes, frame_n;

    (void)state;
    frame_parser_init(&p, MAX);
    mem_fail_at(1);
    assert_int_equal(frame_next(&p, &frame, &frame_n, &in, &n, NULL), STATUS_MEMORY);
    mem_fail_at(0);
    frame_parser_deinit(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_survive_every_split_in_three),
        cmocka_unit_test(test_frames_survive_single_bytes),
        cmocka_unit_test(test_frame_cut_short_is_not_handed_out),
        cmocka_unit_test(test_length_over_the_maximum_is_refused_before_allocation),
        cmocka_unit_test(test_length_of_the_maximum_is_admitted),
        cmocka_unit_test(test_frame_of_no_bytes_is_refused),
        cmocka_unit_test(test_maximum_moves_for_the_next_header),
        cmocka_unit_test(test_buffer_grows_with_bytes_received_only),
        cmocka_unit_test(test_frames_after_the_first_allocate_nothing),
        cmocka_unit_test(test_big_buffer_is_given_back_when_frames_stay_small),
        cmocka_unit_test(test_short_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
