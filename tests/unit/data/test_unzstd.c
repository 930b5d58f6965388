/* test_unzstd.c -- what was packed comes out again, and nothing that was not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/unzstd.h"

#include "common/data/source.h"
#include "common/data/stream.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

enum { TEXT = 300000 };

static struct error err;
static char text[TEXT], back[TEXT];

static void make_text(void)
{
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (char)('a' + (i * i / 7 + i) % 26);
}

/* One frame, with a checksum; window_log 0: what the level has. */
static size_t pack(char *out, size_t room, const char *from, size_t n, int window_log)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_inBuffer in = {from, n, 0};
    ZSTD_outBuffer to = {out, room, 0};

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    /* In two calls, so that the frame says its window and not its length. */
    assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &in, ZSTD_e_flush)));
    assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
    ZSTD_freeCCtx(c);
    return to.pos;
}

/* All of the file, in pieces of that size; *n of it. */
static enum status unpack(const char *path, size_t piece, size_t *n)
{
    struct stream s;
    size_t got = piece;
    enum status status = stream_open(&s, path, &err);

    *n = 0;
    while (status == STATUS_OK && got == piece && *n + piece <= TEXT) {
        status = stream_read(&s, back + *n, piece, &got, &err);
        *n += got;
    }
    stream_close(&s);
    return status;
}

static void test_frames_come_out_as_they_went_in(void **state)
{
    static const size_t pieces[] = {1, 7, 4096, 65536, TEXT};
    char *packed = malloc(2 * TEXT);
    struct stream s;
    const char *path;
    size_t n, first, half = TEXT / 2 + 3;

    (void)state;
    first = pack(packed, 2 * TEXT, text, half, 0);
    n = first + pack(packed + first, 2 * TEXT - first, text + half, TEXT - half, 20);
    path = scratch_write("t.csv.zst", packed, n);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_int_equal(unpack(path, pieces[i], &n), STATUS_OK);
        assert_true(n + pieces[i] > TEXT);
        assert_memory_equal(back, text, n);
    }
    assert_int_equal(stream_open(&s, path, &err), STATUS_OK);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(stream_read(&s, back, 1000, &n, &err), STATUS_OK);
        assert_true(n == 1000 && memcmp(back, text, n) == 0);
        assert_int_equal(stream_rewind(&s, &err), STATUS_OK);
    }
    stream_close(&s);
    free(packed);
}

static void refused(const char *path, const char *expected)
{
    size_t n;

    err = (struct error){0};
    assert_int_equal(unpack(path, 4096, &n), STATUS_DATA);
    if (strstr(err.text, expected) == NULL)
        fail_msg("%s", err.text);
}

static void test_cut_or_changed_data_is_refused(void **state)
{
    char packed[8192];
    const size_t n = pack(packed, sizeof packed, text, 3000, 0);

    (void)state;
    for (size_t cut = 4; cut < n; cut++)
        refused(scratch_write("t.zst", packed, cut), "t.zst: zstd data ends too early");
    for (size_t at = 4; at < n; at++) {
        size_t got;

        packed[at] ^= 0x10;
        err = (struct error){0};
        if (unpack(scratch_write("t.zst", packed, n), 4096, &got) == STATUS_OK)
            assert_true(got == 3000 && memcmp(back, text, got) == 0); /* the window alone */
        else
            assert_true(err.status == STATUS_DATA && strstr(err.text, "zstd data") != NULL);
        packed[at] ^= 0x10;
    }
    memcpy(packed + n, "more", 4);
    refused(scratch_write("t.zst", packed, n + 4), "t.zst: damaged zstd data");
}

static void test_a_window_has_a_maximum(void **state)
{
    char *packed = malloc(2 * TEXT);
    size_t n = pack(packed, 2 * TEXT, text, TEXT, UNZSTD_WINDOW_LOG);

    (void)state;
    assert_int_equal(unpack(scratch_write("t.zst", packed, n), 65536, &n), STATUS_OK);
    n = pack(packed, 2 * TEXT, text, TEXT, UNZSTD_WINDOW_LOG + 1);
    refused(scratch_write("t.zst", packed, n), "t.zst: zstd data with a window over 128 MiB");
    free(packed);
}

/* A gigabyte of one letter in some 30 KiB is given up where a line is too long. */
static void test_a_bomb_ends_where_a_line_does(void **state)
{
    const struct source_options o = {0};
    const size_t part = 1 << 24;
    char *letters = malloc(part), *packed = malloc(1 << 20);
    struct source s;
    size_t n = 0;

    (void)state;
    memset(letters, 'x', part);
    for (int i = 0; i < 64; i++)
        n += pack(packed + n, ((size_t)1 << 20) - n, letters, part, 0);
    err = (struct error){0};
    assert_int_equal(source_open(&s, scratch_write("t.csv.zst", packed, n), &o, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv.zst:1: line over 16777216 bytes"));
    free(letters);
    free(packed);
}

static void test_an_empty_frame_is_an_empty_file(void **state)
{
    char packed[64];
    size_t n = pack(packed, sizeof packed, text, 0, 0);

    (void)state;
    assert_int_equal(unpack(scratch_write("t.zst", packed, n), 4096, &n), STATUS_OK);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_come_out_as_they_went_in),
        cmocka_unit_test(test_cut_or_changed_data_is_refused),
        cmocka_unit_test(test_a_window_has_a_maximum),
        cmocka_unit_test(test_a_bomb_ends_where_a_line_does),
        cmocka_unit_test(test_an_empty_frame_is_an_empty_file),
    };

    make_text();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
