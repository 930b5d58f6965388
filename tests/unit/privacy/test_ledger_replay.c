/* test_ledger_replay.c -- records that do not fit together are refused even when they are sealed: a
 * program with a fault has the key.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_replay.h"

#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/sealed_ledger.h"

#include <unistd.h>

#define PLAN "0101010101010101010101010101010101010101010101010101010101010101"
#define DATA "0202020202020202020202020202020202020202020202020202020202020202"
#define SIX                                                                                        \
    "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"                           \
    "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"                             \
    "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f'"

/* A whole log, by hand: text and bytes of each record after the first. */
static const char *const good[][2] = {
    {"ids 0", SIX},
    {"set 0", "x'0000000006000000'"},
    {"set 4", "x'020000000200000002000000010000000200000001000000'"}, /* 2 3 2 2 */
    {"mechanism 0 pbm trials=16 beta=0.1 clear=0 concat=0 coordinates=16 parties=5 colluders=1 "
     "persons=0 raw",
     "x''"},
    {"law 0 steps/1 seed=7 rows=6 batch=2 segments=1 turns=1", "x''"},
    {"work 1 " PLAN " " DATA, "x''"},
    {"peer 0 " DATA, "x''"},
    {"count 0 train 0 902", "x'800701020300'"}, /* 896 + 1 + 2 + 3 + 0 */
    {"tally 1 train 2 3 902 100 200", "x''"},
    {"pay 3 3 300 1 train 0 6 0 law 0 0 3", "x''"},
    {"seen", "x'000000000900000000000000'"},
    {"pay 4 1 400 1 predict 0 3 0 listed", "x'02000000020000000200000001000000'"},
    {"law 1 places/1 rows=4 segments=2", "x''"},
    {"pay 5 1 500 1 align 0 4 0 law 1 4 2", "x''"},
    {"back 6 1 600 1 train 0 2 2 law 0 0 1", "x''"},
    {"forget 0", "x''"},
    {"align 0 285 700 " PLAN " q3", "x''"},
    {"align 1 286 800 " PLAN " q3", "x''"},
    {"told 7 1", "x''"},
};
enum { GOOD = sizeof good / sizeof *good, NUMBER = 7 };

/* A ledger of these records, with one replaced (text NULL: left out; at GOOD: added). */
static const char *log_with(size_t at, const char *text, const char *bytes)
{
    const char *path = scratch_path("sealed.db");
    char sql[1024];

    remove_ledger(path);
    ledger_close(open_at(path));
    for (size_t i = 0; i < GOOD + 1; i++) {
        const char *t = i == at ? text : i < GOOD ? good[i][0] : NULL;
        const char *b = i == at ? bytes : i < GOOD ? good[i][1] : NULL;

        if (t == NULL)
            continue;
        snprintf(sql, sizeof sql,
                 "INSERT INTO log VALUES ((SELECT max(serial) + 1 FROM log), '%s', %s, "
                 "zeroblob(32))",
                 t, b);
        sealed_run(path, sql);
    }
    sealed_anew(path, KEY, NUMBER);
    return path;
}

static void test_a_log_by_hand_says_what_it_should(void **state)
{
    struct ledger *l = open_at(log_with(GOOD, NULL, NULL));
    struct ledger_totals t;
    uint8_t peer[LEDGER_DIGEST_BYTES];

    (void)state;
    memset(peer, 2, sizeof peer);
    ledger_totals(l, &t);
    assert_int_equal(t.records, 6);
    assert_int_equal(t.releases[LEDGER_TRAIN], 902 + 6 - 2);
    assert_int_equal(t.releases[LEDGER_PREDICT], 3);
    assert_int_equal(t.releases[LEDGER_ALIGN], 4);
    assert_int_equal(ledger_sequence(l), NUMBER);
    assert_int_equal(ledger_seen(l, peer), 0);
    assert_int_equal(l->sets.next, 5);
    ledger_close(l);
}

static const struct {
    size_t at;
    const char *text, *bytes;
} wrong[] = {
    {16, "align 1 285 700 " PLAN " q3", "x''"},
    {16, "align 0 4294967296 700 " PLAN " q3", "x''"},
    {16, "align 0 285 700 " PLAN " Q3", "x''"},
    {16, "align 0 285 700 " PLAN " ", "x''"},
    {16, "align 0 285 700 q3", "x''"},
    {16, "align 0 285 700 " PLAN " q3", "x'00'"},
    {16, "align 0 285 700 " PLAN " a234567890123456789012345678901234567890x", "x''"},
    {18, "told 8 1", "x''"},
    {18, "told 6 1", "x''"},
    {18, "told 7 0", "x''"},
    {18, "told 7 2", "x''"},
    {GOOD, "told 0 1", "x''"},
    {17, NULL, NULL},
    {0, "ids 1", SIX},
    {0, "ids 0", "x'0001'"},
    {0, "ids 0", "x''"},
    {0, "ids 0", "zeroblob(32)"}, /* one twice */
    {0, NULL, NULL},
    {1, "set 0", "x'0000000007000000'"},
    {1, "set 0", "x'ffffffff01000000'"},
    {1, "set 0", "x'0000000000000000'"},
    {1, "set 0", "x'00000000'"},
    {1, "set 0", "x''"},
    {1, "set 0", "x'00000000030000000300000003000000'"}, /* not the shortest */
    {1, "set 4294967295", "x'0000000006000000'"},
    {2, "set 0", "x'0000000002000000'"},
    {3, "mechanism 1 none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 raw",
     "x''"},
    {3, "mechanism 0 none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 good",
     "x''"},
    {3, "mechanism 0 none clear=1 concat=1 coordinates=1 parties=1 colluders=1 persons=0 raw",
     "x'00'"},
    {3, NULL, NULL},
    {4, "law 1 steps/1 seed=7 rows=6 batch=2 segments=1 turns=1", "x''"},
    {4, "law 0 steps/2 seed=7 rows=6 batch=2 segments=1 turns=1", "x''"},
    {4, "law 0 steps/1 seed=7 rows=5 batch=2 segments=1 turns=1", "x''"}, /* not of its set */
    {4, NULL, NULL},
    {5, "work 0 " PLAN " " DATA, "x''"},
    {5, "work 1 " PLAN " " DATA "00", "x''"},
    {5, "work 1 " PLAN, "x''"},
    {5, NULL, NULL},
    {6, "peer 1 " DATA, "x''"},
    {6, NULL, NULL},
    {7, "count 0 train 0 903", "x'800701020300'"},
    {7, "count 1 train 0 902", "x'800701020300'"},
    {7, "count 0 dance 0 902", "x'800701020300'"},
    {7, "count 0 train 2 902", "x'800701020300'"},
    {7, "count 0 train 0 902", "x'8007010203000000'"},
    {7, "count 0 train 0 902", "x'800701020380'"},
    {7, "count 0 train 0 902", "x'80070102038000'"}, /* not the shortest */
    {7, "count 0 train 0 4294967296", "x'8080808010'"},
    {8, "tally 2 train 2 3 902 100 200", "x''"},
    {8, "tally 1 train 2 3 -902 100 200", "x''"},
    {9, "pay 4 3 300 1 train 0 6 0 law 0 0 3", "x''"},
    {9, "pay 3 2 300 1 train 0 6 0 law 0 0 3", "x''"},
    {9, "pay 3 0 300 1 train 0 6 0 law 0 0 3", "x''"},
    {9, "pay 3 3 300 1 statistics 0 6 0 law 0 0 3", "x''"}, /* which takes no number */
    {9, "pay 3 3 300 0 train 0 6 0 law 0 0 3", "x''"},
    {9, "pay 3 3 300 2 train 0 6 0 law 0 0 3", "x''"},
    {9, "pay 3 3 300 1 train 1 6 0 law 0 0 3", "x''"},
    {9, "pay 3 3 300 1 train 0 5 0 law 0 0 3", "x''"},
    {9, "pay 3 3 300 1 train 0 6 0 law 1 0 3", "x''"},
    {9, "pay 3 3 300 1 train 0 6 0 law 0 4 3", "x''"},
    {9, "pay 3 3 300 1 train 0 6 0 law 0 3 3", "x''"},
    {9, "pay 3 3 300 1 train 0 6 0 law 0 0 2", "x''"},
    {9, "pay 3 3 300 1 train 0 6 0 law 0 0 3", "x'00'"},
    {9, "pay 3 3 300 1 train 0 4294967295 0 law 0 0 4294967295", "x''"},
    {9, NULL, NULL},
    {10, "seen", "x'00000000090000000000000000'"},
    {10, "seen", "x'010000000900000000000000'"},
    {10, "seen", "x'000000000000000000000000'"},
    {10, "seen", "x'0000000000000000000000ff'"},
    {10, "seen 1", "x'000000000900000000000000'"},
    {11, "pay 4 1 400 1 predict 0 3 0 listed", "x'0200000002000000'"},
    {11, "pay 4 1 400 1 predict 0 3 0 listed", "x'05000000020000000200000001000000'"},
    {11, "pay 4 1 400 1 predict 0 3 0 listed", "x'020000000200000002000000'"},
    {11, "pay 4 1 400 1 predict 0 3 0 told", "x'02000000020000000200000001000000'"},
    {13, "pay 5 1 500 1 align 0 4 0 law 1 4 3", "x''"},
    {14, "back 6 1 600 1 evaluate 0 2 2 law 0 0 1", "x''"}, /* there is less */
    {14, "back 7 1 600 1 train 0 2 2 law 0 0 1", "x''"},
    {15, "forget 1", "x''"},
    {15, "forget 0 ", "x''"},
    {GOOD, "begin/1 00112233445566778899aabbccddeeff 6 4", "x''"},
    {GOOD, "members", "x''"},
    {GOOD, "members", "zeroblob(19)"},
    {GOOD, "members", "x'0000000000000000000000000000000006000000'"}, /* slot 6 of 0 to 5 */
    {GOOD, "members 0", "x'0000000000000000000000000000000005000000'"},
    {GOOD, "later 1", "x''"},
    {GOOD, "", "x''"},
    {GOOD, "pay 7 1 700 1 train 0 0 0 listed", "x''"}, /* the head says six */
};

static void test_one_record_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *path = log_with(wrong[i].at, wrong[i].text, wrong[i].bytes);
        struct error err = {0};
        struct ledger *l;

        if (ledger_open(&l, path, KEY, &err) != STATUS_IO || strstr(err.text, "damaged") == NULL)
            fail_msg("%zu, '%s': '%s'", wrong[i].at, wrong[i].text, err.text);
    }
}

static void test_a_log_without_its_beginning_is_refused(void **state)
{
    const char *path = log_with(GOOD, NULL, NULL);
    struct error err = {0};
    struct ledger *l;

    (void)state;
    sealed_run(path, "DELETE FROM log WHERE serial = 1");
    sealed_anew(path, KEY, NUMBER);
    assert_int_equal(ledger_open(&l, path, KEY, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "no beginning"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_log_by_hand_says_what_it_should),
        cmocka_unit_test(test_one_record_that_does_not_fit_is_refused),
        cmocka_unit_test(test_a_log_without_its_beginning_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
