/* test_partners.c -- what two members that work together can try on a third one's list, and what
 * one alone cannot: the known attack on sums, played, so that its bound is measured.
 *
 * Members 1 and 3 are partners, and 2 between them is the one whose list they try ids on.  1 hands
 * 2 points of its own choice in the place of somebody else's list, but for one, which mends the
 * sum. 2 raises them by its key and hands them to 3, as it has its own list: equal points are hits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/member.h"
#include "common/align/tally.h"
#include "common/base/le.h"
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/align/ring.h"

enum { MEMBERS = 5, FIRST = 1, TARGET = 2, SECOND = 3, IDS = 12, VIEWS = 64 };

/* Member i lists 100 i, 100 i + 1, ...: nothing is common, but the target's are 0 to 11. */
static uint64_t id[MEMBERS][IDS], *of[MEMBERS];
static uint32_t size[MEMBERS];

struct attack {
    uint64_t next;     /* number that is tried next, from 0 */
    uint32_t tried;    /* in all */
    uint32_t unmended; /* points of the list that are put in over what the sum allows: 0 or 1 */
    bool puts_in;      /* of this member's stages beyond the first */
    uint8_t seen[VIEWS * IDS * GROUP_BYTES];  /* of the second partner: what the target gave it */
    uint32_t seen_n, own_n;                   /* own: of the target's own list, which came first */
    uint8_t given[VIEWS * IDS * GROUP_BYTES]; /* of the first partner */
    uint32_t given_n;
};

static void point_of(uint8_t out[GROUP_BYTES], uint64_t number)
{
    uint8_t row[ALIGN_ROW_BYTES] = {0};

    le_put(row, number, 8);
    assert_int_equal(group_hash(out, "vfl/align/point/1", row, sizeof row), STATUS_OK);
}

/* Points of the attacker's instead of n: their sum stays, unless one too many is put in. */
static void put_in(struct attack *a, uint8_t *points, uint32_t n)
{
    uint8_t left[GROUP_BYTES];

    assert_true(group_sum(left, points, n));
    for (uint32_t i = 0; i + 1 < n + a->unmended; i++) {
        uint8_t *p = points + (size_t)i * GROUP_BYTES;

        point_of(p, a->next++);
        a->tried++;
        if (i + 1 < n)
            assert_true(group_subtract(left, left, p));
    }
    if (a->unmended == 0)
        memcpy(points + (size_t)(n - 1) * GROUP_BYTES, left, GROUP_BYTES);
}

static void meddle(struct ring *r, uint32_t step)
{
    struct attack *a = r->owner;
    const struct align_at at = align_at(&r->course, step);
    uint32_t n;

    if (at.part != ALIGN_RAISE || at.stage == 0)
        return;
    n = size[align_list(&r->course, &at, FIRST)];
    memcpy(a->given + (size_t)a->given_n * GROUP_BYTES, r->given[FIRST], (size_t)n * GROUP_BYTES);
    a->given_n += n;
    n = size[align_list(&r->course, &at, TARGET)];
    if (a->puts_in && at.stage > 1)
        put_in(a, r->given[TARGET], n);
    n = size[align_list(&r->course, &at, SECOND)];
    memcpy(a->seen + (size_t)a->seen_n * GROUP_BYTES, r->given[SECOND], (size_t)n * GROUP_BYTES);
    a->seen_n += n;
    if (at.stage == 1)
        a->own_n = n;
}

static void open_ring(struct ring *r, struct attack *a, bool puts_in, uint64_t first_guess)
{
    for (uint32_t i = 0; i < MEMBERS; i++) {
        of[i] = id[i];
        size[i] = IDS - i;
        for (uint32_t j = 0; j < IDS; j++)
            id[i][j] = (i == TARGET ? 0 : 100 * (i + 1)) + j;
    }
    *a = (struct attack){.next = first_guess, .puts_in = puts_in};
    ring_open(r, MEMBERS, size, of, IDS, false);
    r->meddle = meddle;
    r->owner = a;
}

/* How many points of a view are twice in it. */
static uint32_t hits(const uint8_t *seen, uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < i; j++)
            found += memcmp(seen + (size_t)i * GROUP_BYTES, seen + (size_t)j * GROUP_BYTES,
                            GROUP_BYTES) == 0;
    }
    return found;
}

/* Each list but the target's own and the first partner's passes 1 and then 2, and gives as many
 * guesses as it is long, less one; the first partner's own, which need not be mended, would give
 * all of its own: it lists what it likes.  So all that is tried is bounded by what all others list.
 */
static void test_two_partners_try_as_many_ids_as_pass_between_them(void **state)
{
    static struct attack a;
    struct ring r;
    uint32_t others = 0;

    (void)state;
    open_ring(&r, &a, true, 0);
    assert_int_equal(ring_play(&r), STATUS_OK); /* nobody hears of it */
    for (uint32_t i = 0; i < MEMBERS; i++)
        others += i == TARGET ? 0 : size[i];
    assert_int_equal(a.tried, others - size[FIRST] - (MEMBERS - 2));
    assert_int_equal(hits(a.seen, a.seen_n), size[TARGET]); /* 0 to 9 were tried, among others */
    ring_close(&r);
    open_ring(&r, &a, true, 5000); /* and of ids that it has not got none */
    assert_int_equal(ring_play(&r), STATUS_OK);
    assert_int_equal(hits(a.seen, a.seen_n), 0);
    ring_close(&r);
}

static void meddle_once_too_often(struct ring *r, uint32_t step)
{
    const struct align_at at = align_at(&r->course, step);
    struct attack *a = r->owner;

    a->unmended = at.part == ALIGN_RAISE && at.stage == 2;
    meddle(r, step);
}

static void test_one_guess_more_shows_in_the_tallies(void **state)
{
    static struct attack a;
    struct ring r;

    (void)state;
    open_ring(&r, &a, true, 0);
    r.meddle = meddle_once_too_often;
    assert_int_equal(ring_play(&r), STATUS_PROTOCOL);
    assert_int_equal(align_at(&r.course, r.step).stage, 3);
    ring_close(&r);
}

/* One that has no partner is given nothing that it could compare: no point of what it was given is
 * that of an id or another that it was given, and the end is the same whatever it has put in. */
static void test_changes_that_cancel_tell_one_member_alone_nothing(void **state)
{
    static struct attack a;
    uint32_t common[2];

    (void)state;
    for (int holds = 0; holds < 2; holds++) {
        struct ring r;
        uint8_t guess[GROUP_BYTES];

        open_ring(&r, &a, true, holds == 1 ? 0 : 5000);
        assert_int_equal(ring_play(&r), STATUS_OK);
        assert_true(a.given_n > 0);
        assert_int_equal(hits(a.given, a.given_n), 0);
        for (uint64_t g = 0; g < IDS; g++) {
            point_of(guess, g);
            for (uint32_t i = 0; i < a.given_n; i++)
                assert_memory_not_equal(a.given + (size_t)i * GROUP_BYTES, guess, GROUP_BYTES);
        }
        common[holds] = align_match_common(r.match);
        ring_close(&r);
    }
    assert_int_equal(common[0], common[1]);
}

/* A point and its opposite in one list come to nothing on the way: that is nobody's fault but of
 * who has put them there, and no reason to blame who hands them on. */
static void test_a_sum_may_be_nothing_on_its_way_and_a_point_may_not(void **state)
{
    uint8_t points[3 * GROUP_BYTES], sum[GROUP_BYTES];

    (void)state;
    assert_int_equal(group_open(), STATUS_OK);
    point_of(points, 1);
    point_of(points + 64, 2);
    /* (2 - 1) - 2 */
    assert_true(group_subtract(points + 32, points + 64, points));
    assert_true(group_subtract(points + 32, points + 32, points + 64));
    assert_true(align_sum(sum, points, 3, 1));
    assert_memory_equal(sum, points + 64, GROUP_BYTES);
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t with[3 * GROUP_BYTES];

        memcpy(with, points, sizeof with);
        memset(with + (size_t)i * GROUP_BYTES, 0, GROUP_BYTES);
        assert_false(align_sum(sum, with, 3, 1));
        memcpy(with, points, sizeof with);
        with[(size_t)i * GROUP_BYTES + 31] |= 0x80;
        assert_false(align_sum(sum, with, 3, 1));
    }
}

static void meddle_with_one(struct ring *r, uint32_t step)
{
    if (align_at(&r->course, step).part == ALIGN_RAISE && align_at(&r->course, step).stage == 2)
        point_of(r->given[TARGET], 77);
}

/* Of a list that was let go as another than is said the one who gets it knows who it was. */
static void test_who_let_a_list_go_as_another_is_blamed_by_who_got_it(void **state)
{
    struct ring r;
    static struct attack a;

    (void)state;
    open_ring(&r, &a, false, 0);
    r.meddle = meddle_with_one;
    assert_int_equal(ring_play(&r), STATUS_PROTOCOL);
    r.error = (struct error){0};
    assert_int_equal(align_member_check(r.member[TARGET], 2, r.tallies, &r.error), STATUS_PROTOCOL);
    assert_int_equal(align_member_blamed(r.member[TARGET]), FIRST);
    assert_int_equal(align_member_check(r.member[FIRST], 2, r.tallies, &r.error), STATUS_PROTOCOL);
    assert_int_equal(align_member_blamed(r.member[FIRST]), TARGET);
    ring_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_partners_try_as_many_ids_as_pass_between_them),
        cmocka_unit_test(test_one_guess_more_shows_in_the_tallies),
        cmocka_unit_test(test_changes_that_cancel_tell_one_member_alone_nothing),
        cmocka_unit_test(test_a_sum_may_be_nothing_on_its_way_and_a_point_may_not),
        cmocka_unit_test(test_who_let_a_list_go_as_another_is_blamed_by_who_got_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
