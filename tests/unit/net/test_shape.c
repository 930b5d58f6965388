/* test_shape.c -- the timetable of the emulated link, and the link itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/shape.h"

#include "common/base/clock.h"
#include "tests/unit/net/world.h"

enum { MANY = 1000, NOW = 5000000 };

static void test_no_rules_mean_now(void **state)
{
    struct shape_plan p = {0};

    (void)state;
    assert_int_equal(shape_due(&p, NOW, 1e6, 0.7), NOW);
}

static void test_delay_is_kept_within_its_jitter(void **state)
{
    struct shape_plan p = {.rules = {.delay_ms = 20, .jitter_ms = 5}};

    (void)state;
    assert_int_equal(shape_due(&p, NOW, 800, 0.0), NOW + 15000);
    assert_int_equal(shape_due(&p, NOW, 800, 0.5), NOW + 20000);
    assert_int_equal(shape_due(&p, NOW, 800, 0.9), NOW + 24000);
}

static void test_jitter_never_reorders(void **state)
{
    struct shape_plan p = {.rules = {.delay_ms = 20, .jitter_ms = 20, .rate_mbit = 100}};
    uint64_t last = 0;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t due = shape_due(&p, NOW + i, 800, (double)(i * 37 % 100) / 100);
        assert_true(due >= last);
        last = due;
    }
}

static void test_jitter_over_the_delay_does_not_leave_before_it_came(void **state)
{
    struct shape_plan p = {.rules = {.delay_ms = 1, .jitter_ms = 10}};

    (void)state;
    assert_int_equal(shape_due(&p, NOW, 800, 0.0), NOW);
}

static void test_rate_is_kept_over_many_frames(void **state)
{
    struct shape_plan p = {.rules = {.rate_mbit = 8}};
    uint64_t due = 0;

    (void)state;
    /* 1000 frames of 1000 bytes at 8 Mbit/s: a millisecond each. */
    for (int i = 0; i < MANY; i++)
        due = shape_due(&p, NOW, 8000, 0.5);
    assert_int_equal(due, NOW + MANY * 1000);
    /* An idle link saves nothing up. */
    assert_int_equal(shape_due(&p, NOW + 5 * MANY * 1000, 8000, 0.5), NOW + 5 * MANY * 1000 + 1000);
}

static uint64_t order_seen[MANY];
static uint64_t order_n;

static void note_order(struct end *e, uint8_t *bytes, size_t n)
{
    (void)e;
    assert_int_equal(n, sizeof order_seen[0]);
    memcpy(&order_seen[order_n++], bytes, n);
}

static void test_shaped_frames_come_late_in_order_and_all_before_the_end(void **state)
{
    enum { COUNT = 40, DELAY_MS = 15 };
    struct world *w = world_new(server_tls, client_tls);
    struct net_shape link = {.delay_ms = DELAY_MS, .jitter_ms = 3, .rate_mbit = 10};
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");
    uint64_t sent_us;

    (void)state;
    w->on_frame = note_order;
    order_n = 0;
    world_until(w, &e->opened);
    world_until_count(w, &w->servers, 1);
    net_conn_shape(e->conn, &link);
    sent_us = clock_us();
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(net_send(e->conn, &i, sizeof i), STATUS_OK);
    net_conn_close(e->conn, true);
    world_until_count(w, &w->server_ends[0].frames, 1);
    assert_true(clock_us() - sent_us >= (DELAY_MS - 3) * 1000);
    world_until(w, &w->server_ends[0].closed);
    assert_int_equal(order_n, COUNT);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(order_seen[i], i);
    world_until(w, &e->closed);
    assert_int_equal(e->err.status, STATUS_OK);
    world_free(w);
}

static void test_shaped_connection_may_be_cut_with_frames_on_the_way(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct net_shape link = {.delay_ms = 60000};
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");

    (void)state;
    world_until(w, &e->opened);
    world_until_count(w, &w->servers, 1);
    net_conn_shape(e->conn, &link);
    assert_int_equal(net_send(e->conn, "late", 4), STATUS_OK);
    net_conn_close(e->conn, false);
    world_until(w, &e->closed);
    world_until(w, &w->server_ends[0].closed);
    assert_int_equal(w->server_ends[0].frames, 0);
    world_free(w);
}

static void test_queue_of_a_slow_link_is_bounded(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct net_shape link = {.delay_ms = 60000};
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");
    uint8_t bytes[4000] = {0};
    enum status s = STATUS_OK;
    int sent = 0;

    (void)state;
    world_until(w, &e->opened);
    net_conn_shape(e->conn, &link);
    net_conn_set_queue_max(e->conn, 10 * sizeof bytes);
    while (s == STATUS_OK && sent < MANY) {
        s = net_send(e->conn, bytes, sizeof bytes);
        sent++;
    }
    assert_int_equal(s, STATUS_LIMIT);
    assert_true(sent > 10 && sent <= 21);
    world_free(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_rules_mean_now),
        cmocka_unit_test(test_delay_is_kept_within_its_jitter),
        cmocka_unit_test(test_jitter_never_reorders),
        cmocka_unit_test(test_jitter_over_the_delay_does_not_leave_before_it_came),
        cmocka_unit_test(test_rate_is_kept_over_many_frames),
        cmocka_unit_test(test_shaped_frames_come_late_in_order_and_all_before_the_end),
        cmocka_unit_test(test_shaped_connection_may_be_cut_with_frames_on_the_way),
        cmocka_unit_test(test_queue_of_a_slow_link_is_bounded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
