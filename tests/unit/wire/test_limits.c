/* test_limits.c -- what may be sent fits the limits that the other side sets.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/limits.h"

#include "common/base/mem.h"
#include "tests/unit/wire/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { FRAME_HEADER = 4, FRAME_COST_MAX = 96 };

static size_t packed(const struct wire_msg *m)
{
    struct buf out;
    size_t n;

    buf_init(&out, 64u << 20);
    assert_int_equal(wire_pack(&out, m), STATUS_OK);
    n = out.len;
    buf_deinit(&out);
    return n;
}

/* The longest hello there can be. */
static struct wire_hello longest_hello(struct buf *body)
{
    struct wire_hello h = sample_hello(0);

    h.generation = UINT64_MAX;
    h.train_rows = h.test_rows = h.features = h.degree = UINT32_MAX;
    h.held = h.ledger = UINT64_MAX;
    memset(h.name, 'n', WIRE_NAME_MAX);
    h.name[WIRE_NAME_MAX] = 0;
    assert_int_equal(wire_pack_hello_body(body, &h), STATUS_OK);
    h.body = (struct wire_bytes){body->data, body->len};
    return h;
}

static void test_single_messages_fit_the_limits_named_after_them(void **state)
{
    static const uint8_t plan[PLAN_TEXT_MAX], members[WIRE_MEMBERS_MAX] = {1},
                                              seen[WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX];
    struct wire_msg m = {.kind = WIRE_JOIN};
    struct buf body;

    (void)state;
    buf_init(&body, WIRE_HELLO_MAX);
    m.join = (struct wire_join){
        UINT32_MAX, sample_bytes(1), UINT64_MAX, UINT64_MAX, sample_bytes(2), true, UINT64_MAX,
        true,       UINT32_MAX,      UINT64_MAX, true};
    assert_true(packed(&m) <= WIRE_JOIN_MAX);
    m.kind = WIRE_HELLO;
    m.hello = longest_hello(&body);
    assert_true(packed(&m) <= WIRE_HELLO_MAX);
    m.kind = WIRE_CONFIRM;
    m.confirm = sample_confirm(0);
    m.confirm.generation = UINT64_MAX;
    m.confirm.seen = (struct wire_bytes){seen, sizeof seen};
    assert_true(packed(&m) <= WIRE_CONFIRM_MAX);
    m.kind = WIRE_OFFER;
    m.offer = (struct wire_offer){UINT64_MAX,
                                  UINT64_MAX,
                                  {"abcdefghijklmnop", {plan, sizeof plan}},
                                  {members, sizeof members},
                                  plan,
                                  plan,
                                  UINT64_MAX};
    assert_true(packed(&m) <= WIRE_OFFER_MAX);
    buf_deinit(&body);
}

static void test_what_may_come_before_a_plan_fits_the_limit_of_setup(void **state)
{
    struct wire_msg m = {.kind = WIRE_FINISH};

    (void)state;
    assert_true(WIRE_OFFER_MAX <= WIRE_SETUP_MAX);
    m.finish.outcome = OUTCOME_FAILED;
    m.finish.kind = STATUS_KIND_LOCAL;
    memset(m.finish.text, 'x', WIRE_TEXT_MAX);
    assert_true(packed(&m) <= WIRE_SETUP_MAX);
    m = (struct wire_msg){.kind = WIRE_REFUSE};
    m.refuse.kind = STATUS_KIND_LOCAL;
    memset(m.refuse.text, 'x', WIRE_TEXT_MAX);
    assert_true(packed(&m) <= WIRE_SETUP_MAX);
}

static struct plan plan_of(uint32_t parties, uint32_t batch, uint32_t width)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.parties = parties;
    p.training.batch = batch;
    p.model.embedding = width;
    return p;
}

static struct wire_msg largest_broadcast(const uint8_t *gradient, size_t n)
{
    struct wire_msg m = {.kind = WIRE_BROADCAST};

    m.broadcast = (struct wire_broadcast){
        UINT64_MAX, true,       true,      UINT64_MAX, {gradient, n}, PURPOSE_DEAL_DATA, UINT64_MAX,
        UINT64_MAX, UINT64_MAX, {NULL, 0}, false,      {NULL, 0},     UINT64_MAX};
    return m;
}

static void test_every_broadcast_of_a_plan_fits_what_its_parties_take(void **state)
{
    static const uint32_t shapes[][2] = {{1, 1}, {100, 16}, {1000, 16}, {4096, 1024}, {65536, 64}};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct plan p = plan_of(WIRE_MEMBERS_MAX, shapes[i][0], shapes[i][1]);
        size_t n = sizeof(float) * shapes[i][0] * shapes[i][1], least = WIRE_REPLAY_MAX;
        uint8_t *gradient = mem_alloc(n, 1), absent[WIRE_MEMBERS_MAX] = {0};
        struct wire_msg m = largest_broadcast(gradient, n);

        assert_non_null(gradient);
        m.broadcast.absent = (struct wire_bytes){absent, sizeof absent};
        assert_true(packed(&m) <= wire_down_max(&p, 0));
        assert_true(wire_down_max(&p, 0) <= (n > least ? n : least) + WIRE_SETUP_MAX);
        mem_free(gradient);
    }
}

static void test_a_replay_carries_one_gradient_at_least_and_fits_what_its_parties_take(void **state)
{
    static const struct {
        uint32_t batch, width;
        size_t most;
    } cases[] = {
        {1, 1, WIRE_REPLAY_MAX},           {100, 16, WIRE_REPLAY_MAX},
        {4096, 64, WIRE_REPLAY_MAX}, /* exactly one */
        {4097, 64, WIRE_REPLAY_MAX + 256}, {65536, 64, 1 << 24},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan p = plan_of(1, cases[i].batch, cases[i].width);
        size_t n = wire_replay_max(&p);
        uint8_t *gradient = mem_alloc(n, 1);
        struct wire_msg m = {.kind = WIRE_REPLAY}, got;
        struct wire_unpacker u;
        struct buf out;

        assert_non_null(gradient);
        assert_int_equal(n, cases[i].most);
        assert_true(n >= sizeof(float) * cases[i].batch * cases[i].width);
        m.replay = (struct wire_replay){UINT64_MAX, UINT64_MAX, {gradient, n}};
        buf_init(&out, wire_down_max(&p, 0));
        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        assert_true(FRAME_HEADER + out.len <= n + FRAME_COST_MAX);
        assert_int_equal(wire_unpacker_init(&u, wire_down_max(&p, 0)), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_OK);
        assert_true(same_message(&m, &got));
        wire_unpacker_deinit(&u);
        buf_deinit(&out);
        mem_free(gradient);
    }
}

static void test_shares_fit_the_room_made_for_them(void **state)
{
    static const size_t part[] = {1, 100, 4096, 1 << 16};
    static const uint8_t tags[WIRE_TAGS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        for (size_t n = 1; n < WIRE_MEMBERS_MAX; n = n * 3 + 2) {
            size_t sealed = n * part[i], tagged = n * WIRE_TAG_BYTES;
            struct plan p = plan_of((uint32_t)n + 1, 1, 1);
            uint8_t *bytes = mem_alloc(sealed, 1);
            struct wire_msg m = {.kind = WIRE_SHARE}, got;
            size_t room = wire_share_max(sealed, tagged);
            struct wire_unpacker u;
            struct buf out;

            assert_non_null(bytes);
            m.share = (struct wire_shares){
                UINT64_MAX, UINT64_MAX, PURPOSE_DEAL_DATA, {bytes, sealed}, {tags, tagged}};
            buf_init(&out, room);
            assert_int_equal(wire_unpacker_init(&u, room), STATUS_OK);
            assert_int_equal(wire_pack(&out, &m), STATUS_OK);
            assert_true(FRAME_HEADER + out.len <= sealed + tagged + FRAME_COST_MAX);
            assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_OK);
            assert_true(same_message(&m, &got));
            m = (struct wire_msg){.kind = WIRE_RELAY, .relay = got.share};
            assert_int_equal(packed(&m), out.len);
            assert_true(wire_down_max(&p, room) >= room);
            assert_true(wire_down_max(&p, room) == room ||
                        wire_down_max(&p, room) == wire_down_max(&p, 0));
            wire_unpacker_deinit(&u);
            buf_deinit(&out);
            mem_free(bytes);
        }
    }
}

/* The tags and the absentees of a message are not counted; a vector is one allocation of this size.
 */
static void set_vector(struct wire_msg *m, const uint8_t *bytes, size_t n)
{
    static const uint8_t tag[WIRE_TAG_BYTES];
    struct wire_shares shares = {.sealed = {bytes, n}, .tags = {tag, sizeof tag}};

    if (m->kind == WIRE_BROADCAST)
        m->broadcast = (struct wire_broadcast){.closes = true, .gradient = {bytes, n}};
    else if (m->kind == WIRE_UPLOAD)
        m->upload = (struct wire_upload){.payload = {bytes, n}};
    else if (m->kind == WIRE_REPLAY)
        m->replay = (struct wire_replay){.gradient = {bytes, n}};
    else if (m->kind == WIRE_SHARE)
        m->share = shares;
    else
        m->relay = shares;
}

static void test_no_vector_is_longer_than_the_limit(void **state)
{
    static const enum wire_kind kinds[] = {WIRE_BROADCAST, WIRE_UPLOAD, WIRE_REPLAY, WIRE_SHARE,
                                           WIRE_RELAY};
    size_t n = WIRE_PAYLOAD_MAX + sizeof(float), frame = n + WIRE_OVERHEAD_MAX;
    uint8_t *bytes = mem_alloc(n, 1);
    struct wire_unpacker u;
    struct buf out;

    (void)state;
    assert_non_null(bytes);
    buf_init(&out, frame);
    assert_int_equal(wire_unpacker_init(&u, frame), STATUS_OK);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct wire_msg m = {.kind = kinds[i]}, got;

        set_vector(&m, bytes, WIRE_PAYLOAD_MAX);
        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_OK);
        set_vector(&m, bytes, n);
        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_PROTOCOL);
    }
    wire_unpacker_deinit(&u);
    buf_deinit(&out);
    mem_free(bytes);
}

static void test_the_lists_of_a_plan_fit_what_its_parties_take(void **state)
{
    static const uint8_t seen[WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX];
    static struct wire_hello hello[WIRE_MEMBERS_MAX];
    static struct wire_confirm confirm[WIRE_MEMBERS_MAX];
    struct buf body;

    (void)state;
    buf_init(&body, WIRE_HELLO_MAX);
    for (uint32_t n = 1; n <= WIRE_MEMBERS_MAX; n = n < 64 ? n * 2 : n + 64) {
        size_t lists_max = n * WIRE_HELLO_MAX + WIRE_OVERHEAD_MAX;
        struct plan p = plan_of(n, 1, 1);
        struct wire_msg m = {.kind = WIRE_CONFIRMS, .confirms = {UINT64_MAX, n, confirm, seen}},
                        got;
        struct wire_unpacker u;
        struct buf out;

        for (uint32_t i = 0; i < n; i++) {
            confirm[i] = sample_confirm(0);
            confirm[i].generation = UINT64_MAX;
            confirm[i].seen = (struct wire_bytes){seen, WIRE_SEEN_BYTES * n};
        }
        assert_true(packed(&m) <= n * WIRE_CONFIRM_MAX + WIRE_OVERHEAD_MAX);
        assert_true(packed(&m) <= wire_down_max(&p, 0));
        assert_true(lists_max <= wire_down_max(&p, 0));
        for (uint32_t i = 0; i < n; i++)
            hello[i] = longest_hello(&body);
        m = (struct wire_msg){.kind = WIRE_HELLOS, .hellos = {UINT64_MAX, n, hello}};
        buf_init(&out, lists_max);
        assert_int_equal(wire_pack(&out, &m), STATUS_OK);
        /* And the memory that goes with that limit is enough to read them. */
        assert_int_equal(wire_unpacker_init(&u, lists_max), STATUS_OK);
        assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_OK);
        assert_true(same_message(&m, &got));
        wire_unpacker_deinit(&u);
        buf_deinit(&out);
    }
    buf_deinit(&body);
}

static void test_a_frame_costs_little_over_its_payload(void **state)
{
    static const size_t sizes[] = {4, 128, 16384, 1 << 20, (1 << 24) - 4};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *bytes = mem_alloc(sizes[i], 1);
        struct wire_msg m = largest_broadcast(bytes, sizes[i]);

        assert_non_null(bytes);
        assert_true(FRAME_HEADER + packed(&m) <= sizes[i] + FRAME_COST_MAX);
        /* The check elements of masks are ceil(64 / w) w bits: at most 12 bytes. */
        m.kind = WIRE_UPLOAD;
        m.upload = (struct wire_upload){UINT64_MAX,
                                        UINT64_MAX,
                                        PURPOSE_EVALUATE_TEST,
                                        {bytes, sizes[i]},
                                        {sample_bytes(1), 12}};
        assert_true(FRAME_HEADER + packed(&m) <= sizes[i] + FRAME_COST_MAX);
        assert_true(packed(&m) <= wire_up_max(sizes[i], 12));
        mem_free(bytes);
    }
}

static void test_a_member_may_always_send_what_setup_needs(void **state)
{
    (void)state;
    assert_int_equal(wire_up_max(0, 0), WIRE_SETUP_MAX);
    assert_int_equal(wire_up_max(WIRE_SETUP_MAX - WIRE_OVERHEAD_MAX - 8, 8), WIRE_SETUP_MAX);
    assert_int_equal(wire_up_max(WIRE_SETUP_MAX - WIRE_OVERHEAD_MAX - 8, 9), WIRE_SETUP_MAX + 1);
}

static void test_evaluation_rounds_are_a_batch_at_least_and_no_wider_than_needed(void **state)
{
    for (uint32_t batch = 1; batch <= PLAN_WIDTH_MAX; batch = batch * 3 + 1) {
        for (uint32_t width = 1; width <= PLAN_WIDTH_MAX; width = width * 5 + 1) {
            struct plan p = plan_of(2, batch, width);
            uint32_t rows = wire_evaluate_rows(&p);

            assert_true(rows >= batch);
            assert_true(rows == batch || rows <= WIRE_EVALUATE_ROWS);
            assert_true(rows == batch || (size_t)rows * width <= 1u << 18);
            if (batch < WIRE_EVALUATE_ROWS && WIRE_EVALUATE_ROWS * width <= 1u << 18)
                assert_int_equal(rows, WIRE_EVALUATE_ROWS);
        }
    }
    (void)state;
}

static void test_evaluation_rounds_of_fedvs_are_whole_coded_rows(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 40; k++) {
        for (uint32_t width = 1; width <= PLAN_WIDTH_MAX; width = width * 5 + 1) {
            struct plan p = plan_of(100, 3 * k, width);
            uint32_t plain = wire_evaluate_rows(&p), rows;

            p.protocol.fedvs.segments = k;
            p.protocol.aggregation = AGGREGATION_CLEAR;
            assert_int_equal(wire_evaluate_rows(&p), plain);
            p.protocol.aggregation = AGGREGATION_FEDVS;
            rows = wire_evaluate_rows(&p);
            assert_int_equal(rows % k, 0);
            assert_true(rows >= p.training.batch && rows <= plain && rows + k > plain);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_messages_fit_the_limits_named_after_them),
        cmocka_unit_test(test_what_may_come_before_a_plan_fits_the_limit_of_setup),
        cmocka_unit_test(test_every_broadcast_of_a_plan_fits_what_its_parties_take),
        cmocka_unit_test(
            test_a_replay_carries_one_gradient_at_least_and_fits_what_its_parties_take),
        cmocka_unit_test(test_shares_fit_the_room_made_for_them),
        cmocka_unit_test(test_no_vector_is_longer_than_the_limit),
        cmocka_unit_test(test_the_lists_of_a_plan_fit_what_its_parties_take),
        cmocka_unit_test(test_a_frame_costs_little_over_its_payload),
        cmocka_unit_test(test_a_member_may_always_send_what_setup_needs),
        cmocka_unit_test(test_evaluation_rounds_are_a_batch_at_least_and_no_wider_than_needed),
        cmocka_unit_test(test_evaluation_rounds_of_fedvs_are_whole_coded_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
