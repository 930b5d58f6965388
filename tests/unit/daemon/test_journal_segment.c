/* test_journal_segment.c -- one segment's bytes: what can be read of them after which damage.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/journals.h"

#include <sys/mman.h>

#include "common/base/mem.h"
#include "common/daemon/journal_segment.h"
#include "tests/golden/journal.h"

enum { RECORDS = 3, FILE_MAX = 2048 };

static const uint8_t state_key[SEALED_KEY_BYTES] = "thirty-two bytes of a state key";

struct segment_file {
    size_t n, end[RECORDS]; /* ends of the records */
    uint8_t bytes[FILE_MAX];
};

/* A header with number 5 and three records: t0.0, e1.0, t1.0. */
static struct segment_file make(void)
{
    static const uint32_t purposes[RECORDS] = {0, 1, 0};
    static const uint64_t places[RECORDS] = {0, 1, 1};
    struct segment_file f = {.n = JOURNAL_HEADER_BYTES};
    struct journal_segment head = {.number = 5};
    uint8_t key[AEAD_KEY_BYTES];
    struct aead seals;

    assert_int_equal(journal_segment_print(&head, state_key, f.bytes, key), STATUS_OK);
    assert_int_equal(aead_init(&seals, true, key), STATUS_OK);
    for (uint64_t i = 0; i < RECORDS; i++) {
        float floats[SUM_FLOATS + GRADIENT_FLOATS];
        struct journal_record r = sample(floats, purposes[i], places[i], 0);

        journal_record_seal(&seals, 5, i, &r, f.bytes + f.n);
        f.n += journal_record_bytes(&r);
        f.end[i] = f.n;
    }
    aead_deinit(&seals);
    return f;
}

/* Reads the whole records into *line; *found says what comes after them. */
static enum status read_records(const uint8_t *bytes, size_t n, const uint8_t *key, uint64_t number,
                                char line[LINE_BYTES], enum journal_found *found)
{
    int fd = memfd_create("segment", MFD_CLOEXEC);
    struct aead opens = {0};
    struct journal_reader from = {&opens, fd, number, n, JOURNAL_HEADER_BYTES, 0};
    struct buf floats;
    struct error err = {0};
    enum status s;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(aead_init(&opens, false, key), STATUS_OK);
    buf_init(&floats, FILE_MAX);
    line[0] = 0;
    for (;;) {
        struct journal_record r;

        s = journal_reader_next(&from, &r, &floats, found, &err);
        if (s != STATUS_OK || *found != JOURNAL_RECORD)
            break;
        note_record(line, &r);
    }
    buf_deinit(&floats);
    aead_deinit(&opens);
    close(fd);
    return s;
}

static enum journal_found read_segment(const uint8_t *bytes, size_t n, char line[LINE_BYTES])
{
    struct journal_segment head;
    uint8_t key[AEAD_KEY_BYTES];
    enum journal_found found;

    assert_int_equal(journal_segment_parse(&head, state_key, bytes, key), STATUS_OK);
    assert_int_equal(read_records(bytes, n, key, 5, line, &found), STATUS_OK);
    return found;
}

static const char *const prefixes[RECORDS + 1] = {"", "t0.0", "t0.0 e1.0", "t0.0 e1.0 t1.0"};

/* The number of whole records in the first n bytes. */
static size_t whole(const struct segment_file *f, size_t n)
{
    size_t records = 0;

    while (records < RECORDS && f->end[records] <= n)
        records++;
    return records;
}

static void test_a_segment_by_other_means_is_read(void **state)
{
    struct journal_segment head;
    struct aead opens;
    uint8_t key[AEAD_KEY_BYTES];
    struct journal_record r;
    struct journal_reader from = {
        &opens, -1, 0x0102030405, sizeof golden_segment, JOURNAL_HEADER_BYTES, 0};
    enum journal_found found;
    struct error err = {0};
    struct buf floats;

    (void)state;
    from.fd = memfd_create("golden", MFD_CLOEXEC);
    assert_int_equal(write(from.fd, golden_segment, sizeof golden_segment), sizeof golden_segment);
    assert_int_equal(journal_segment_parse(&head, golden_state_key, golden_segment, key),
                     STATUS_OK);
    assert_int_equal(head.number, 0x0102030405);
    assert_int_equal(head.first_step, 700);
    assert_int_equal(head.before_records, 65);
    assert_true(head.trail_known);
    assert_memory_equal(head.check, golden_segment + JOURNAL_HEADER_BYTES - 32, 32);
    assert_int_equal(aead_init(&opens, false, key), STATUS_OK);
    buf_init(&floats, FILE_MAX);

    assert_int_equal(journal_reader_next(&from, &r, &floats, &found, &err), STATUS_OK);
    assert_int_equal(found, JOURNAL_RECORD);
    assert_int_equal(r.purpose, 2);
    assert_int_equal(r.round, 81);
    assert_int_equal(r.place, 2048);
    assert_int_equal(r.sweep, 3);
    assert_int_equal(r.generation, 6);
    assert_int_equal(r.rows, 1024);
    assert_int_equal(r.present, 4);
    assert_int_equal(r.sum_floats, 3);
    assert_true(r.sum[0] == 0.5F && r.sum[1] == -1.25F && r.sum[2] == 3e8F);
    assert_int_equal(r.gradient_words, 0);
    assert_null(r.gradient);

    assert_int_equal(journal_reader_next(&from, &r, &floats, &found, &err), STATUS_OK);
    assert_int_equal(found, JOURNAL_RECORD);
    assert_int_equal(r.purpose, JOURNAL_TRAIN);
    assert_int_equal(r.place, 700);
    assert_int_equal(r.sum_floats, 2);
    assert_int_equal(r.gradient_words, 3);
    assert_memory_equal(r.gradient, ((const float[]){-0.75F, 1e-3F, 42.0F}), 3 * sizeof(float));
    assert_int_equal(journal_reader_next(&from, &r, &floats, &found, &err), STATUS_OK);
    assert_int_equal(found, JOURNAL_END);
    buf_deinit(&floats);
    aead_deinit(&opens);
    close(from.fd);
}

static void test_a_header_says_what_was_put_into_it(void **state)
{
    struct journal_segment in = {.number = 77,
                                 .first_step = 1234567,
                                 .trail_known = true,
                                 .trail = {1, 2, 3},
                                 .label = {4, 5},
                                 .before_records = 9,
                                 .before_check = {6}},
                           again = in, out;
    uint8_t one[JOURNAL_HEADER_BYTES], two[JOURNAL_HEADER_BYTES], key[AEAD_KEY_BYTES],
        key_again[AEAD_KEY_BYTES], other[AEAD_KEY_BYTES];

    (void)state;
    assert_int_equal(journal_segment_print(&in, state_key, one, key), STATUS_OK);
    assert_int_equal(journal_segment_parse(&out, state_key, one, key_again), STATUS_OK);
    assert_memory_equal(key, key_again, sizeof key);
    assert_int_equal(out.number, 77);
    assert_int_equal(out.first_step, 1234567);
    assert_int_equal(out.before_records, 9);
    assert_true(out.trail_known);
    assert_memory_equal(out.trail, in.trail, sizeof in.trail);
    assert_memory_equal(out.label, in.label, sizeof in.label);
    assert_memory_equal(out.before_check, in.before_check, sizeof in.before_check);
    assert_memory_equal(out.check, in.check, sizeof in.check);
    /* Never the same key, whatever is the same. */
    assert_int_equal(journal_segment_print(&again, state_key, two, other), STATUS_OK);
    assert_memory_not_equal(key, other, sizeof key);
    assert_memory_not_equal(one, two, sizeof one);
}

static void test_a_header_with_any_bit_changed_is_refused(void **state)
{
    struct segment_file f = make();
    struct journal_segment head;
    uint8_t key[AEAD_KEY_BYTES], other_key[SEALED_KEY_BYTES];

    (void)state;
    for (size_t bit = 0; bit < 8 * (size_t)JOURNAL_HEADER_BYTES; bit++) {
        f.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_equal(journal_segment_parse(&head, state_key, f.bytes, key), STATUS_INTEGRITY);
        f.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    memcpy(other_key, state_key, sizeof other_key);
    other_key[31] ^= 1;
    assert_int_equal(journal_segment_parse(&head, other_key, f.bytes, key), STATUS_INTEGRITY);
    assert_int_equal(journal_segment_parse(&head, state_key, f.bytes, key), STATUS_OK);
}

static void test_what_is_cut_off_anywhere_leaves_the_whole_records_before(void **state)
{
    struct segment_file f = make();
    char line[LINE_BYTES];

    (void)state;
    for (size_t n = JOURNAL_HEADER_BYTES; n <= f.n; n++) {
        const size_t records = whole(&f, n);
        const bool ends = n == JOURNAL_HEADER_BYTES || f.end[records - (records > 0)] == n;

        assert_int_equal(read_segment(f.bytes, n, line), ends ? JOURNAL_END : JOURNAL_TORN);
        assert_string_equal(line, prefixes[records]);
    }
}

static void test_a_changed_byte_is_damage_or_the_last_record_s_torn_end(void **state)
{
    struct segment_file f = make();
    const size_t last_floats = f.end[1] + JOURNAL_HEAD_BYTES + AEAD_TAG_BYTES;
    char line[LINE_BYTES];

    (void)state;
    for (size_t at = JOURNAL_HEADER_BYTES; at < f.n; at++) {
        enum journal_found found;

        f.bytes[at] ^= 0x10;
        found = read_segment(f.bytes, f.n, line);
        assert_int_equal(found, at >= last_floats ? JOURNAL_TORN : JOURNAL_DAMAGED);
        assert_string_equal(line, prefixes[whole(&f, at)]);
        f.bytes[at] ^= 0x10;
    }
    assert_int_equal(read_segment(f.bytes, f.n, line), JOURNAL_END);
    assert_string_equal(line, prefixes[RECORDS]);
}

/* What some file systems leave after the power has failed. */
static void test_zeros_up_to_the_end_are_a_torn_end_and_zeros_before_it_are_not(void **state)
{
    struct segment_file f = make();
    char line[LINE_BYTES];

    (void)state;
    memset(f.bytes + f.end[1], 0, sizeof f.bytes - f.end[1]);
    assert_int_equal(read_segment(f.bytes, f.n, line), JOURNAL_TORN);
    assert_string_equal(line, prefixes[2]);
    assert_int_equal(read_segment(f.bytes, FILE_MAX, line), JOURNAL_TORN);
    f.bytes[f.n - 1] = 1;
    assert_int_equal(read_segment(f.bytes, f.n, line), JOURNAL_DAMAGED);
    f = make();
    memset(f.bytes + f.end[0], 0, f.end[1] - f.end[0]);
    assert_int_equal(read_segment(f.bytes, f.n, line), JOURNAL_DAMAGED);
    assert_string_equal(line, prefixes[1]);
}

static void test_records_cannot_change_places_or_be_left_out_or_repeated(void **state)
{
    const struct segment_file f = make();
    const size_t first = f.end[0] - JOURNAL_HEADER_BYTES, third = f.end[2] - f.end[1];
    struct segment_file g = f;
    char line[LINE_BYTES];

    (void)state;
    assert_int_equal(first, third); /* both are training steps */
    memcpy(g.bytes + JOURNAL_HEADER_BYTES, f.bytes + f.end[1], third);
    memcpy(g.bytes + f.end[1], f.bytes + JOURNAL_HEADER_BYTES, first);
    assert_int_equal(read_segment(g.bytes, g.n, line), JOURNAL_DAMAGED);
    assert_string_equal(line, "");
    g = f;
    memcpy(g.bytes + f.end[0], f.bytes + f.end[1], third);
    assert_int_equal(read_segment(g.bytes, f.end[0] + third, line), JOURNAL_DAMAGED);
    assert_string_equal(line, prefixes[1]);
    memcpy(g.bytes + f.n, f.bytes + f.end[1], third);
    memcpy(g.bytes, f.bytes, f.n);
    assert_int_equal(read_segment(g.bytes, f.n + third, line), JOURNAL_DAMAGED);
    assert_string_equal(line, prefixes[3]);
}

static void test_a_record_belongs_to_its_segment_and_its_key(void **state)
{
    struct segment_file f = make();
    uint8_t key[AEAD_KEY_BYTES];
    struct journal_segment head;
    enum journal_found found;
    char line[LINE_BYTES];

    (void)state;
    assert_int_equal(journal_segment_parse(&head, state_key, f.bytes, key), STATUS_OK);
    assert_int_equal(read_records(f.bytes, f.n, key, 5, line, &found), STATUS_OK);
    assert_int_equal(found, JOURNAL_END);
    assert_int_equal(read_records(f.bytes, f.n, key, 6, line, &found), STATUS_OK);
    assert_int_equal(found, JOURNAL_DAMAGED);
    assert_string_equal(line, "");
    key[0] ^= 1;
    assert_int_equal(read_records(f.bytes, f.n, key, 5, line, &found), STATUS_OK);
    assert_int_equal(found, JOURNAL_DAMAGED);
}

/* Heads that carry our tag, but that no journal writes. */
static void test_lengths_are_checked_though_they_are_authenticated(void **state)
{
    static const uint64_t bad[][2] = {
        /* floats of sum and gradient, of a training step */
        {(uint64_t)JOURNAL_FLOATS_MAX + 1, 1},
        {0, (uint64_t)JOURNAL_FLOATS_MAX + 1},
        {JOURNAL_FLOATS_MAX, 1},
        {UINT64_MAX, 2},
        {2, UINT64_MAX},
    };
    enum { SUM_AT = 48, GRADIENT_AT = 56 };

    (void)state;
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        uint8_t key[AEAD_KEY_BYTES] = {0}, file[FILE_MAX] = {0}, aad[16] = {5};
        uint8_t *head = file + JOURNAL_HEADER_BYTES;
        const struct aead_name name = {.aad = aad, .aad_n = sizeof aad};
        enum journal_found found;
        char line[LINE_BYTES];
        struct aead seals;

        /* Little-endian as in the file; the last case is a right one, whose floats are missing. */
        if (i < sizeof bad / sizeof *bad) {
            memcpy(head + SUM_AT, &bad[i][0], 8);
            memcpy(head + GRADIENT_AT, &bad[i][1], 8);
        } else {
            head[GRADIENT_AT] = 1;
        }
        assert_int_equal(aead_init(&seals, true, key), STATUS_OK);
        aead_seal(&seals, head, JOURNAL_HEAD_BYTES, head + JOURNAL_HEAD_BYTES, &name);
        aead_deinit(&seals);
        assert_int_equal(read_records(file, JOURNAL_HEADER_BYTES + JOURNAL_RECORD_BYTES_MIN, key, 5,
                                      line, &found),
                         STATUS_OK);
        assert_int_equal(found, i < sizeof bad / sizeof *bad ? JOURNAL_DAMAGED : JOURNAL_TORN);
    }
}

static void test_room_is_made_without_keeping_and_refused_without_memory(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    assert_int_equal(journal_room(&b, 1000), STATUS_OK);
    assert_true(b.cap >= 1000 && b.len == 0);
    b.len = 1000;
    assert_int_equal(journal_room(&b, 10), STATUS_OK);
    assert_int_equal(b.len, 0);
    mem_fail_at(1);
    assert_int_equal(journal_room(&b, 3000), STATUS_MEMORY);
    assert_int_equal(journal_room(&b, 4096), STATUS_OK);
    assert_int_equal(journal_room(&b, 4097), STATUS_LIMIT);
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_segment_by_other_means_is_read),
        cmocka_unit_test(test_a_header_says_what_was_put_into_it),
        cmocka_unit_test(test_a_header_with_any_bit_changed_is_refused),
        cmocka_unit_test(test_what_is_cut_off_anywhere_leaves_the_whole_records_before),
        cmocka_unit_test(test_a_changed_byte_is_damage_or_the_last_record_s_torn_end),
        cmocka_unit_test(test_zeros_up_to_the_end_are_a_torn_end_and_zeros_before_it_are_not),
        cmocka_unit_test(test_records_cannot_change_places_or_be_left_out_or_repeated),
        cmocka_unit_test(test_a_record_belongs_to_its_segment_and_its_key),
        cmocka_unit_test(test_lengths_are_checked_though_they_are_authenticated),
        cmocka_unit_test(test_room_is_made_without_keeping_and_refused_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
