/* test_quota.c -- unpacking takes no more memory than was made for it, whatever a frame says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/mem.h"
#include "tests/unit/wire/raw.h"

#include <string.h>

/* Empty messages in a list take 2 bytes each and 80 or more of memory. */
static void fill_with_empty(struct raw *list, size_t n)
{
    list->n = 0;
    while (list->n + 2 <= n)
        put_bytes(list, 2, NULL, 0);
}

static void test_amplifying_frames_are_refused_within_the_quota(void **state)
{
    struct wire_unpacker small, vast;
    struct raw list;
    const struct raw *f;
    struct error err = {0};
    struct wire_msg m;
    uint64_t before;

    (void)state;
    assert_int_equal(wire_unpacker_init(&small, WIRE_SETUP_MAX), STATUS_OK);
    assert_int_equal(wire_unpacker_init(&vast, 100 * WIRE_SETUP_MAX), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        fill_with_empty(&list, WIRE_SETUP_MAX - 16);
        f = framed(i == 0 ? WIRE_HELLOS : WIRE_CONFIRMS, &list);
        before = mem_count();
        assert_int_equal(wire_unpack(&m, &small, f->bytes, f->n, &err), STATUS_PROTOCOL);
        assert_non_null(strstr(err.text, "memory quota"));
        assert_true(small.used <= small.size);
        assert_true(small.size <= WIRE_QUOTA_FACTOR * WIRE_SETUP_MAX + WIRE_QUOTA_BASE);
        assert_int_equal(mem_count(), before);
        /* The same bytes do amplify: with memory for it they would be read, then found wanting. */
        assert_int_equal(wire_unpack(&m, &vast, f->bytes, f->n, &err), STATUS_PROTOCOL);
        assert_null(strstr(err.text, "memory quota"));
        assert_true(vast.used > 30 * f->n);
    }
    wire_unpacker_deinit(&small);
    wire_unpacker_deinit(&vast);
}

static void test_unknown_fields_cannot_use_up_memory(void **state)
{
    struct raw frame = {.n = 0};
    struct error err = {0};
    struct wire_msg m;

    (void)state;
    while (frame.n + 3 <= WIRE_SETUP_MAX)
        put_value(&frame, 20, 0);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, &err), STATUS_PROTOCOL);
    assert_true(unpacker.used <= unpacker.size);
}

static void test_a_quota_that_runs_out_anywhere_is_a_clean_refusal(void **state)
{
    struct buf packed;

    (void)state;
    buf_init(&packed, SAMPLE_FRAME_MAX);
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k), got;
        bool fits = false;

        assert_int_equal(wire_pack(&packed, &m), STATUS_OK);
        for (size_t size = 0; !fits; size += 8) {
            struct wire_unpacker u = unpacker;
            struct error err = {0};
            uint64_t before;

            u.block = mem_alloc(size, 1);
            u.size = size;
            before = mem_count();
            fits = wire_unpack(&got, &u, packed.data, packed.len, &err) == STATUS_OK;
            assert_true(fits || err.status == STATUS_PROTOCOL);
            assert_int_equal(mem_count(), before);
            assert_true(u.used <= size);
            if (fits)
                assert_true(same_message(&m, &got));
            mem_free(u.block);
            assert_true(size < 4 * packed.len + 4096);
        }
    }
    buf_deinit(&packed);
}

static void test_an_unpacker_takes_the_largest_frames_it_was_made_for(void **state)
{
    static const size_t frames[] = {WIRE_JOIN_MAX, WIRE_SETUP_MAX, WIRE_QUOTA_BASE,
                                    WIRE_QUOTA_BASE + 1, 1 << 20};
    struct wire_unpacker u = {0};

    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        size_t payload = frames[i] - WIRE_OVERHEAD_MAX;
        struct wire_msg m = sample(WIRE_UPLOAD), got;
        struct buf packed;
        uint8_t *bytes = mem_alloc(payload, 1);

        buf_init(&packed, frames[i]);
        m.upload.payload = (struct wire_bytes){bytes, payload};
        assert_int_equal(wire_pack(&packed, &m), STATUS_OK);
        if (u.block == NULL)
            assert_int_equal(wire_unpacker_init(&u, frames[i]), STATUS_OK);
        else
            assert_int_equal(wire_unpacker_grow(&u, frames[i]), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &u, packed.data, packed.len, NULL), STATUS_OK);
        assert_true(same_message(&m, &got));
        assert_int_equal(wire_unpacker_grow(&u, 10), STATUS_OK); /* never shrinks */
        assert_int_equal(wire_unpack(&got, &u, packed.data, packed.len, NULL), STATUS_OK);
        buf_deinit(&packed);
        mem_free(bytes);
    }
    wire_unpacker_deinit(&u);
    wire_unpacker_deinit(&u);
}

static void test_an_unpacker_that_finds_no_memory_leaves_nothing_behind(void **state)
{
    struct wire_unpacker u;
    uint64_t need = mem_count();

    (void)state;
    assert_int_equal(wire_unpacker_init(&u, 100), STATUS_OK);
    need = mem_count() - need;
    wire_unpacker_deinit(&u);
    for (uint64_t n = 1; n <= need; n++) {
        mem_fail_at(n);
        assert_int_equal(wire_unpacker_init(&u, 100), STATUS_MEMORY);
        assert_null(u.block);
        assert_null(u.hellos);
        assert_null(u.confirms);
    }
    assert_int_equal(wire_unpacker_init(&u, 100), STATUS_OK);
    mem_fail_at(1);
    assert_int_equal(wire_unpacker_grow(&u, 1 << 20), STATUS_MEMORY);
    assert_non_null(u.block);
    wire_unpacker_deinit(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amplifying_frames_are_refused_within_the_quota),
        cmocka_unit_test(test_unknown_fields_cannot_use_up_memory),
        cmocka_unit_test(test_a_quota_that_runs_out_anywhere_is_a_clean_refusal),
        cmocka_unit_test(test_an_unpacker_takes_the_largest_frames_it_was_made_for),
        cmocka_unit_test(test_an_unpacker_that_finds_no_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
