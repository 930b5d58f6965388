/* test_traffic.c -- every byte is counted once, where it belongs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/metrics/traffic.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PARTIES = 3, KINDS = 4 };

static const char *const names[KINDS] = {"none", "hello", "upload", "broadcast"};

static struct traffic made(void)
{
    struct traffic t;

    assert_int_equal(traffic_init(&t, PARTIES, names, KINDS), STATUS_OK);
    return t;
}

static struct traffic_at at(uint32_t party, enum traffic_direction d, enum traffic_phase p,
                            uint32_t kind)
{
    return (struct traffic_at){.party = party, .direction = d, .phase = p, .kind = kind};
}

/* Each place gets frames of a power of two of its own, so that any sum shows what went into it. */
static void test_traffic_sums_hold_exactly_their_own_places(void **state)
{
    struct traffic t = made();
    uint64_t of_phase[2][3] = {{0}}, of_party[PARTIES][2] = {{0}}, of_kind[KINDS] = {0}, bit = 1;

    (void)state;
    for (uint32_t party = 0; party < PARTIES; party++)
        for (uint32_t d = 0; d < 2; d++)
            for (uint32_t p = 0; p < 3; p++, bit <<= 1) {
                uint32_t kind = (party + d + p) % KINDS;

                traffic_add(&t, at(party, d, p, kind), bit / 2, bit);
                of_phase[d][p] += bit;
                of_party[party][d] += bit;
                of_kind[kind] += bit;
            }
    for (uint32_t d = 0; d < 2; d++) {
        for (uint32_t p = 0; p < 3; p++) {
            assert_int_equal(traffic_of_phase(&t, d, p).frame, of_phase[d][p]);
            assert_int_equal(traffic_of_phase(&t, d, p).count, PARTIES);
        }
        for (uint32_t party = 0; party < PARTIES; party++)
            assert_int_equal(traffic_of_party(&t, party, d).frame, of_party[party][d]);
    }
    for (uint32_t kind = 0; kind < KINDS; kind++)
        assert_int_equal(traffic_of_kind(&t, kind).frame, of_kind[kind]);
    traffic_deinit(&t);
}

static void test_traffic_keeps_payload_frame_and_tls_apart(void **state)
{
    struct traffic t = made();
    struct traffic_sum up;

    (void)state;
    traffic_add(&t, at(1, TRAFFIC_UP, TRAFFIC_TRAIN, 2), 1000, 1060);
    traffic_add(&t, at(2, TRAFFIC_UP, TRAFFIC_TRAIN, 1), 0, 40);
    traffic_add_tls(&t, at(1, TRAFFIC_UP, TRAFFIC_TRAIN, 0), 1100);
    traffic_add_tls(&t, at(1, TRAFFIC_UP, TRAFFIC_TRAIN, 0), 33);
    up = traffic_of_phase(&t, TRAFFIC_UP, TRAFFIC_TRAIN);
    assert_int_equal(up.count, 2);
    assert_int_equal(up.payload, 1000);
    assert_int_equal(up.frame, 1100);
    assert_int_equal(up.tls, 1133);
    /* The twin: nothing leaked into the other direction, phase, party or kind. */
    assert_int_equal(traffic_of_phase(&t, TRAFFIC_DOWN, TRAFFIC_TRAIN).tls, 0);
    assert_int_equal(traffic_of_phase(&t, TRAFFIC_UP, TRAFFIC_EVALUATE).frame, 0);
    assert_int_equal(traffic_of_party(&t, 0, TRAFFIC_UP).frame, 0);
    assert_int_equal(traffic_of_party(&t, 2, TRAFFIC_UP).tls, 0);
    assert_int_equal(traffic_of_kind(&t, 3).count, 0);
    traffic_deinit(&t);
}

static void test_traffic_counts_past_four_gibibytes(void **state)
{
    struct traffic t = made();

    (void)state;
    for (int i = 0; i < 5; i++)
        traffic_add(&t, at(0, TRAFFIC_DOWN, TRAFFIC_TRAIN, 3), 1u << 31, UINT64_C(1) << 32);
    assert_int_equal(traffic_of_party(&t, 0, TRAFFIC_DOWN).frame, UINT64_C(5) << 32);
    assert_int_equal(traffic_of_party(&t, 0, TRAFFIC_DOWN).payload, UINT64_C(5) << 31);
    traffic_deinit(&t);
}

static void test_traffic_adds_and_sums_without_the_heap(void **state)
{
    struct traffic t = made();
    uint64_t before = mem_count();

    (void)state;
    traffic_add(&t, at(0, TRAFFIC_UP, TRAFFIC_SETUP, 1), 0, 100);
    traffic_add_tls(&t, at(0, TRAFFIC_UP, TRAFFIC_SETUP, 1), 100);
    (void)traffic_of_phase(&t, TRAFFIC_UP, TRAFFIC_SETUP);
    assert_int_equal(mem_count(), before);
    traffic_deinit(&t);
}

static void test_traffic_init_survives_each_failing_allocation(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 3; n++) {
        struct traffic t;
        enum status s;

        mem_fail_at(n);
        s = traffic_init(&t, PARTIES, names, KINDS);
        mem_fail_at(0);
        assert_int_equal(s, n <= 2 ? STATUS_MEMORY : STATUS_OK);
        assert_true((t.cell == NULL) == (n <= 2));
        traffic_deinit(&t);
    }
}

static void aborts(struct traffic *t, struct traffic_at where, uint64_t payload, uint64_t frame)
{
    int how;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        traffic_add(t, where, payload, frame);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

static void test_traffic_refuses_places_that_do_not_exist(void **state)
{
    struct traffic t = made();

    (void)state;
    traffic_add(&t, at(PARTIES - 1, TRAFFIC_DOWN, TRAFFIC_EVALUATE, KINDS - 1), 7, 7);
    aborts(&t, at(PARTIES, TRAFFIC_DOWN, TRAFFIC_EVALUATE, 0), 7, 7);
    aborts(&t, at(0, TRAFFIC_DIRECTIONS, TRAFFIC_EVALUATE, 0), 7, 7);
    aborts(&t, at(0, TRAFFIC_DOWN, TRAFFIC_PHASES, 0), 7, 7);
    aborts(&t, at(0, TRAFFIC_DOWN, TRAFFIC_EVALUATE, KINDS), 7, 7);
    aborts(&t, at(0, TRAFFIC_DOWN, TRAFFIC_EVALUATE, 0), 8, 7); /* content beyond its frame */
    traffic_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic_sums_hold_exactly_their_own_places),
        cmocka_unit_test(test_traffic_keeps_payload_frame_and_tls_apart),
        cmocka_unit_test(test_traffic_counts_past_four_gibibytes),
        cmocka_unit_test(test_traffic_adds_and_sums_without_the_heap),
        cmocka_unit_test(test_traffic_init_survives_each_failing_allocation),
        cmocka_unit_test(test_traffic_refuses_places_that_do_not_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
