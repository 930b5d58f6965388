/* test_message.c -- what is packed comes back, and nothing else passes for it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/mem.h"
#include "common/wire/purpose.h"
#include "tests/lib/aborts.h"
#include "tests/unit/wire/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_unpacker unpacker;
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    buf_init(&out, SAMPLE_FRAME_MAX);
    return wire_unpacker_init(&unpacker, SAMPLE_FRAME_MAX) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wire_unpacker_deinit(&unpacker);
    buf_deinit(&out);
    return 0;
}

static void expect_round_trip(const struct wire_msg *m)
{
    struct error err = {0};
    struct wire_msg back;

    assert_int_equal(wire_pack(&out, m), STATUS_OK);
    memset(&back, 0xa5, sizeof back);
    if (wire_unpack(&back, &unpacker, out.data, out.len, &err) != STATUS_OK)
        fail_msg("%s: %s", wire_kind_name(m->kind), err.text);
    if (!same_message(m, &back))
        fail_msg("%s changed on its way", wire_kind_name(m->kind));
}

static void test_every_message_comes_back_with_every_field(void **state)
{
    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);
        expect_round_trip(&m);
    }
}

static void test_numbers_come_back_at_both_ends_of_their_range(void **state)
{
    struct wire_msg m = sample(WIRE_JOIN);

    (void)state;
    m.join.version = UINT32_MAX;
    m.join.applied = m.join.kept = m.join.generation = UINT64_MAX;
    expect_round_trip(&m);
    m.join = (struct wire_join){.roster_digest = sample_bytes(1), .trail = sample_bytes(2)};
    expect_round_trip(&m);
    m = sample(WIRE_BROADCAST);
    m.broadcast.generation = m.broadcast.close_step = m.broadcast.round = UINT64_MAX;
    m.broadcast.place = m.broadcast.sweep = UINT64_MAX;
    expect_round_trip(&m);
    m.broadcast = (struct wire_broadcast){.last = true};
    expect_round_trip(&m);
    m.broadcast = (struct wire_broadcast){.opens = true};
    expect_round_trip(&m);
    m.broadcast = (struct wire_broadcast){.closes = true, .gradient = {sample_bytes(1), 4}};
    expect_round_trip(&m);
    m = sample(WIRE_UPLOAD);
    m.upload = (struct wire_upload){.payload = {sample_bytes(1), 1}};
    expect_round_trip(&m);
    m = (struct wire_msg){.kind = WIRE_BEHIND, .behind = {UINT64_MAX, UINT64_MAX}};
    expect_round_trip(&m);
    m.behind = (struct wire_behind){0, 0};
    expect_round_trip(&m);
    m = (struct wire_msg){.kind = WIRE_REPLAY,
                          .replay = {UINT64_MAX, UINT64_MAX, {sample_bytes(1), 4}}};
    expect_round_trip(&m);
    m.replay.generation = m.replay.step = 0;
    expect_round_trip(&m);
    m = (struct wire_msg){.kind = WIRE_KEPT, .kept = {UINT64_MAX}};
    expect_round_trip(&m);
    m.kept.step = 0;
    expect_round_trip(&m);
    m = sample(WIRE_SHARE);
    m.share.generation = m.share.round = UINT64_MAX;
    expect_round_trip(&m);
    m.share = (struct wire_shares){.sealed = {sample_bytes(1), 1}, .tags = {sample_bytes(2), 16}};
    expect_round_trip(&m);
    m = (struct wire_msg){.kind = WIRE_RELAY, .relay = m.share};
    expect_round_trip(&m);
    m.relay.generation = m.relay.round = UINT64_MAX;
    expect_round_trip(&m);
}

static void test_each_purpose_outcome_and_kind_comes_back(void **state)
{
    (void)state;
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
        struct wire_msg b = sample(WIRE_BROADCAST), u = sample(WIRE_UPLOAD);
        struct wire_msg s = sample(WIRE_SHARE), r = sample(WIRE_RELAY);

        b.broadcast.purpose = (enum wire_purpose)p;
        s.share.purpose = r.relay.purpose = (enum wire_purpose)p;
        expect_round_trip(&s);
        expect_round_trip(&r);
        expect_round_trip(&b);
        if (purpose_of((enum wire_purpose)p)->deals)
            continue; /* has no upload */
        u.upload.purpose = (enum wire_purpose)p;
        expect_round_trip(&u);
    }
    for (int o = OUTCOME_COMPLETED; o <= OUTCOME_FAILED; o++) {
        for (int kind = STATUS_KIND_NONE; kind <= STATUS_KIND_LOCAL; kind++) {
            struct wire_msg f = sample(WIRE_FINISH);

            f.finish.outcome = (enum wire_outcome)o;
            f.finish.kind = (enum status_kind)kind;
            expect_round_trip(&f);
        }
    }
}

static void test_lists_of_one_to_the_largest_number_of_members_come_back(void **state)
{
    static const size_t lengths[] = {1, 2, 3, 50, WIRE_MEMBERS_MAX - 1, WIRE_MEMBERS_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct wire_msg hellos = sample_lists(WIRE_HELLOS, lengths[i]);
        struct wire_msg confirms = sample_lists(WIRE_CONFIRMS, lengths[i]);

        expect_round_trip(&hellos);
        expect_round_trip(&confirms);
    }
}

/* Changed bytes are refused with a reason, or say something else: true. */
static bool expect_not(const struct wire_msg *m, const uint8_t *bytes, size_t n)
{
    struct error err = {0};
    struct wire_msg got;
    enum status s = wire_unpack(&got, &unpacker, bytes, n, &err);

    if (s == STATUS_OK) {
        if (same_message(m, &got))
            fail_msg("%s: other bytes, the same message", wire_kind_name(m->kind));
        return true;
    }
    assert_true(s == STATUS_PROTOCOL || s == STATUS_LIMIT);
    assert_int_equal(err.status, s);
    assert_true(err.text[0] != 0);
    return false;
}

/* Bytes of all samples, one of each kind. */
static size_t bytes_of_samples(void)
{
    size_t n = 0;

    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);

        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        n += out.len;
    }
    return n;
}

static void test_every_flipped_bit_is_refused_or_changes_a_field(void **state)
{
    size_t flips = 0, other = 0;

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);
        size_t say = 0;

        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        for (size_t bit = 0; bit < 8 * out.len; bit++, flips++) {
            out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            say += expect_not(&m, out.data, out.len);
            out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_true(say > 0 && say < 8 * out.len);
        other += say;
    }
    assert_true(flips == 8 * bytes_of_samples() && flips >= 20000);
    print_message("%zu flips: %zu refused, %zu say something else\n", flips, flips - other, other);
}

static void test_every_byte_set_to_any_value_is_refused_or_changes_a_field(void **state)
{
    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);

        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        for (size_t i = 0; i < out.len; i++) {
            uint8_t was = out.data[i];

            for (unsigned v = 0; v < 256; v++) {
                out.data[i] = (uint8_t)v;
                if (v != was)
                    expect_not(&m, out.data, out.len);
            }
            out.data[i] = was;
        }
    }
}

/* The cut bytes get a block of their own, so that a sanitizer sees a read past their end. */
static void test_every_cut_of_every_message_is_refused(void **state)
{
    size_t cuts = 0;

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k), got;

        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        for (size_t n = 0; n < out.len; n++, cuts++) {
            uint8_t *cut = mem_alloc(n, 1);

            assert_non_null(cut);
            memcpy(cut, out.data, n);
            assert_int_equal(wire_unpack(&got, &unpacker, cut, n, NULL), STATUS_PROTOCOL);
            mem_free(cut);
        }
    }
    assert_true(cuts == bytes_of_samples() && cuts >= 2500);
    print_message("%zu cuts, all refused\n", cuts);
}

static void test_every_missing_and_every_inserted_byte_is_refused_or_changes_a_field(void **state)
{
    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);
        uint8_t changed[4096];

        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        assert_true(out.len < sizeof changed);
        for (size_t i = 0; i < out.len; i++) {
            memcpy(changed, out.data, i);
            memcpy(changed + i, out.data + i + 1, out.len - i - 1);
            expect_not(&m, changed, out.len - 1);
        }
        for (size_t i = 0; i <= out.len; i++) {
            memcpy(changed, out.data, i);
            memcpy(changed + i + 1, out.data + i, out.len - i);
            for (unsigned v = 0; v < 256; v++) {
                changed[i] = (uint8_t)v;
                expect_not(&m, changed, out.len + 1);
            }
        }
    }
}

static void test_unpacking_allocates_nothing_and_packing_once_per_new_size(void **state)
{
    uint64_t before = mem_count();
    struct buf fresh;

    (void)state;
    buf_init(&fresh, SAMPLE_FRAME_MAX);
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k), got;

        before = mem_count();
        assert_int_equal(wire_pack(&fresh, &m), STATUS_OK);
        assert_true(mem_count() <= before + 1);
        before = mem_count();
        assert_int_equal(wire_unpack(&got, &unpacker, fresh.data, fresh.len, NULL), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &unpacker, fresh.data, fresh.len - 1, NULL),
                         STATUS_PROTOCOL);
        assert_int_equal(wire_pack(&fresh, &m), STATUS_OK);
        assert_int_equal(mem_count(), before);
    }
    buf_deinit(&fresh);
}

static void test_a_message_that_does_not_fit_its_buffer_is_not_packed(void **state)
{
    struct wire_msg m = sample(WIRE_UPLOAD);
    struct buf small;

    (void)state;
    assert_int_equal(wire_pack(&out, &m), STATUS_OK);
    buf_init(&small, out.len - 1);
    assert_int_equal(wire_pack(&small, &m), STATUS_LIMIT);
    assert_int_equal(small.len, 0);
    buf_deinit(&small);
    buf_init(&small, out.len);
    mem_fail_at(1);
    assert_int_equal(wire_pack(&small, &m), STATUS_MEMORY);
    assert_int_equal(wire_pack(&small, &m), STATUS_OK);
    assert_memory_equal(small.data, out.data, out.len);
    buf_deinit(&small);
}

static void pack_it(void *m)
{
    (void)!wire_pack(&out, m);
}

static void test_packing_no_message_or_too_many_members_aborts(void **state)
{
    struct wire_msg m = sample_lists(WIRE_HELLOS, 2);

    (void)state;
    assert_false(aborts(pack_it, &m));
    m.hellos.n = WIRE_MEMBERS_MAX + 1;
    assert_true(aborts(pack_it, &m));
    m = sample_lists(WIRE_CONFIRMS, 2);
    m.confirms.n = WIRE_MEMBERS_MAX + 1;
    assert_true(aborts(pack_it, &m));
    m.kind = WIRE_NONE;
    assert_true(aborts(pack_it, &m));
}

static void test_each_kind_and_purpose_and_outcome_has_its_name(void **state)
{
    static const char *const kinds[WIRE_KINDS] = {
        "none",   "join",    "offer",    "behind",    "replay", "hello",
        "hellos", "confirm", "confirms", "broadcast", "upload", "share",
        "relay",  "kept",    "batch",    "finish",    "refuse"};

    (void)state;
    for (int k = 0; k < WIRE_KINDS; k++)
        assert_string_equal(wire_kind_name((enum wire_kind)k), kinds[k]);
    assert_string_equal(purpose_of(PURPOSE_TRAIN)->name, "train");
    assert_string_equal(purpose_of(PURPOSE_EVALUATE_TEST)->name, "evaluate test");
    assert_string_equal(purpose_of(PURPOSE_EVALUATE_TRAIN)->name, "evaluate train");
    assert_string_equal(purpose_of(PURPOSE_DEAL_KEYS)->name, "deal_keys");
    assert_string_equal(purpose_of(PURPOSE_DEAL_DATA)->name, "deal_data");
    assert_string_equal(wire_outcome_name(OUTCOME_COMPLETED), "completed");
    assert_string_equal(wire_outcome_name(OUTCOME_TARGET), "target");
    assert_string_equal(wire_outcome_name(OUTCOME_BUDGET), "budget");
    assert_string_equal(wire_outcome_name(OUTCOME_STOPPED), "stopped");
    assert_string_equal(wire_outcome_name(OUTCOME_FAILED), "failed");
}

static void test_only_embeddings_shares_gradients_and_points_are_payload(void **state)
{
    static const size_t bytes[WIRE_KINDS] = {
        [WIRE_BROADCAST] = 24, [WIRE_UPLOAD] = 33, [WIRE_SHARE] = 21,
        [WIRE_RELAY] = 21,     [WIRE_REPLAY] = 48, [WIRE_BATCH] = 64};

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        struct wire_msg m = sample((enum wire_kind)k);

        assert_int_equal(wire_payload_bytes(&m), bytes[k]);
    }
}

static void test_messages_count_in_the_phase_they_serve(void **state)
{
    struct wire_msg m;

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        m = sample((enum wire_kind)k);
        if (k != WIRE_BROADCAST && k != WIRE_UPLOAD && k != WIRE_SHARE && k != WIRE_RELAY)
            assert_int_equal(wire_phase_of(&m), WIRE_PHASE_SETUP);
    }
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
        static const enum wire_phase phases[] = {
            [PURPOSE_TRAIN] = WIRE_PHASE_TRAIN,
            [PURPOSE_EVALUATE_TEST] = WIRE_PHASE_EVALUATE,
            [PURPOSE_EVALUATE_TRAIN] = WIRE_PHASE_EVALUATE,
            [PURPOSE_DEAL_KEYS] = WIRE_PHASE_SETUP,
            [PURPOSE_DEAL_DATA] = WIRE_PHASE_SETUP,
        };
        enum wire_phase opened = phases[p];

        assert_int_equal(purpose_of((enum wire_purpose)p)->phase, opened);
        assert_int_equal(purpose_of((enum wire_purpose)p)->deals, opened == WIRE_PHASE_SETUP);
        m = sample(WIRE_UPLOAD);
        m.upload.purpose = (enum wire_purpose)p;
        assert_int_equal(wire_phase_of(&m), opened);
        m = sample(WIRE_SHARE);
        m.share.purpose = (enum wire_purpose)p;
        assert_int_equal(wire_phase_of(&m), opened);
        m = sample(WIRE_RELAY);
        m.relay.purpose = (enum wire_purpose)p;
        assert_int_equal(wire_phase_of(&m), opened);
        m = sample(WIRE_BROADCAST);
        m.broadcast.purpose = (enum wire_purpose)p;
        m.broadcast.closes = false;
        assert_int_equal(wire_phase_of(&m), opened);
        m.broadcast.opens = false; /* the last one, perhaps: after the evaluations */
        assert_int_equal(wire_phase_of(&m), WIRE_PHASE_EVALUATE);
        m.broadcast.closes = true; /* carries a training gradient, whatever it opens */
        assert_int_equal(wire_phase_of(&m), WIRE_PHASE_TRAIN);
    }
}

/* A seed that a later field made invalid would still replay, and teach nothing. */
static void test_each_kind_has_a_valid_seed_of_its_name_in_the_fuzz_corpus(void **state)
{
    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        uint8_t bytes[4096];
        struct error err = {0};
        struct wire_msg m;
        char path[128];
        FILE *seed;
        size_t n;

        snprintf(path, sizeof path, "tests/fuzz/corpus/message/%s",
                 wire_kind_name((enum wire_kind)k));
        seed = fopen(path, "rb");
        if (seed == NULL)
            fail_msg("no %s", path);
        n = fread(bytes, 1, sizeof bytes, seed);
        fclose(seed);
        if (wire_unpack(&m, &unpacker, bytes, n, &err) != STATUS_OK)
            fail_msg("%s: %s", path, err.text);
        assert_int_equal(m.kind, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_message_comes_back_with_every_field),
        cmocka_unit_test(test_numbers_come_back_at_both_ends_of_their_range),
        cmocka_unit_test(test_each_purpose_outcome_and_kind_comes_back),
        cmocka_unit_test(test_lists_of_one_to_the_largest_number_of_members_come_back),
        cmocka_unit_test(test_every_flipped_bit_is_refused_or_changes_a_field),
        cmocka_unit_test(test_every_byte_set_to_any_value_is_refused_or_changes_a_field),
        cmocka_unit_test(test_every_cut_of_every_message_is_refused),
        cmocka_unit_test(test_every_missing_and_every_inserted_byte_is_refused_or_changes_a_field),
        cmocka_unit_test(test_unpacking_allocates_nothing_and_packing_once_per_new_size),
        cmocka_unit_test(test_a_message_that_does_not_fit_its_buffer_is_not_packed),
        cmocka_unit_test(test_packing_no_message_or_too_many_members_aborts),
        cmocka_unit_test(test_each_kind_and_purpose_and_outcome_has_its_name),
        cmocka_unit_test(test_only_embeddings_shares_gradients_and_points_are_payload),
        cmocka_unit_test(test_messages_count_in_the_phase_they_serve),
        cmocka_unit_test(test_each_kind_has_a_valid_seed_of_its_name_in_the_fuzz_corpus),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
