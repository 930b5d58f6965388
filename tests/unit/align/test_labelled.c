/* test_labelled.c -- members around a ring, when the result is the server's list: each finds its
 * own rows in it, and nobody anybody else's.
 *
 * ALIGN_CASES says how many random cases are played; without it, few.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/told.h"
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/align/ring.h"

enum { LIST_MAX = 24, CASES = 150, POINTS_MAX = 20 * 22 * LIST_MAX };

struct lists {
    uint32_t members, size[ALIGN_MEMBERS_MAX];
    uint64_t id[ALIGN_MEMBERS_MAX][LIST_MAX], *of[ALIGN_MEMBERS_MAX];
};

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

/* Numbers below `world`, each once in a list. */
static void draw(struct lists *l, uint32_t members, uint32_t most, uint32_t world)
{
    l->members = members;
    for (uint32_t i = 0; i < members; i++) {
        uint64_t first = below(world);

        l->of[i] = l->id[i];
        l->size[i] = 1 + below(most);
        for (uint32_t j = 0; j < l->size[i]; j++) { /* 7 and a prime have nothing in common */
            l->id[i][j] = first;
            first = (first + 7) % world;
        }
    }
}

static bool labelled(const struct lists *l, uint64_t id)
{
    for (uint32_t j = 0; j < l->size[0]; j++) {
        if (l->id[0][j] == id)
            return true;
    }
    return false;
}

/* Each of the server's rows has one place; a member's row has that of the same id, or none. */
static void expect_places(const struct ring *r, const struct lists *l)
{
    uint64_t at[LIST_MAX];
    bool seen[LIST_MAX] = {false};

    for (uint32_t j = 0; j < l->size[0]; j++) {
        const uint32_t place = align_member_places(r->member[0])[j];

        assert_true(place < l->size[0]);
        assert_false(seen[place]);
        seen[place] = true;
        at[place] = l->id[0][j];
    }
    for (uint32_t i = 1; i < l->members; i++) {
        for (uint32_t j = 0; j < l->size[i]; j++) {
            const uint32_t place = align_member_places(r->member[i])[j];

            assert_int_equal(place != ALIGN_NOWHERE, labelled(l, l->id[i][j]));
            assert_true(place == ALIGN_NOWHERE || at[place] == l->id[i][j]);
        }
        assert_memory_equal(align_member_transcript(r->member[i]),
                            align_member_transcript(r->member[0]), DIGEST_BYTES);
    }
}

static void test_everybody_finds_its_own_rows_among_the_labelled_ones(void **unused)
{
    const char *asked = getenv("ALIGN_CASES");
    const long cases = asked == NULL ? CASES : atol(asked);

    (void)unused;
    for (long i = 0; i < cases; i++) {
        static struct lists l;
        struct ring r;

        draw(&l, 2 + (below(40) == 0 ? below(19) : below(4)), 1 + below(i % 10 == 0 ? LIST_MAX : 6),
             i % 3 == 0 ? 97 : 31);
        ring_open(&r, l.members, l.size, l.of, 1 + below(8), true);
        assert_int_equal(ring_play(&r), STATUS_OK);
        expect_places(&r, &l);
        ring_close(&r);
    }
}

/* --- who learns whose rows those are --- */

struct heard {
    uint8_t point[POINTS_MAX][ALIGN_POINT_BYTES];
    size_t n;
};

static void hear(struct ring *r, uint32_t step)
{
    struct heard *h = r->owner;
    const struct align_at at = align_at(&r->course, step);

    for (uint32_t k = 0; k < r->course.members && at.part != ALIGN_TELL && align_hands(&at); k++) {
        uint32_t from;
        const uint32_t n = align_range(&r->course, r->course.size[align_list(&r->course, &at, k)],
                                       at.chunk, &from);

        for (uint32_t e = 0; e < n; e++) {
            assert_true(h->n < POINTS_MAX);
            memcpy(h->point[h->n++], r->given[k] + e * GROUP_BYTES, GROUP_BYTES);
        }
    }
}

/* No point that anybody is ever handed is one of those that the server tells, nor the same twice:
 * nobody can see from another's list whether, or where, its rows are among the labelled ones. */
static void test_nobody_is_given_a_point_that_could_be_found_among_those_told(void **unused)
{
    static struct heard h;
    struct lists l = {.members = 4, .size = {6, 6, 6, 6}};
    uint8_t told[6 * ALIGN_PREFIX_BYTES];
    struct ring r;

    (void)unused;
    for (uint32_t i = 0; i < l.members; i++) {
        l.of[i] = l.id[i];
        for (uint32_t j = 0; j < 6; j++)
            l.id[i][j] = 5 - j;
    }
    ring_open(&r, l.members, l.size, l.of, 6, true);
    r.meddle = hear;
    r.owner = &h;
    assert_int_equal(ring_play(&r), STATUS_OK);
    expect_places(&r, &l);
    assert_int_equal(align_member_tells(r.member[0], 0, told), sizeof told);
    assert_int_equal(h.n, 4 * 4 * 6);
    for (size_t i = 0; i < h.n; i++) {
        assert_int_equal(told_place(told, 6, h.point[i]), ALIGN_NOWHERE);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(h.point[i], h.point[j], GROUP_BYTES);
    }
    ring_close(&r);
}

/* --- who is wrong --- */

enum { OTHER_POINT, TWICE, NO_POINT, TOLD_TWICE, TOLD_SWAPPED };

struct lie {
    int what;
    uint32_t step, member;
};

static void lie(struct ring *r, uint32_t step)
{
    const struct lie *l = r->owner;
    uint8_t *at = r->given[l->member], moved[ALIGN_PREFIX_BYTES];

    if (step != l->step)
        return;
    switch (l->what) {
    case OTHER_POINT: assert_int_equal(group_hash(at, "another", "x", 1), STATUS_OK); break;
    case TWICE: memcpy(at, at + GROUP_BYTES, GROUP_BYTES); break;
    case NO_POINT: memset(at, 0xab, GROUP_BYTES); break;
    case TOLD_TWICE: memcpy(at, at + ALIGN_PREFIX_BYTES, ALIGN_PREFIX_BYTES); break;
    case TOLD_SWAPPED:
        memcpy(moved, at, sizeof moved);
        memcpy(at, at + ALIGN_PREFIX_BYTES, sizeof moved);
        memcpy(at + ALIGN_PREFIX_BYTES, moved, sizeof moved);
        break;
    }
}

/* Four members of six rows each, in chunks of four: two steps make a stage, and steps 8 and 9 bring
 * lists home. */
static struct ring play_lie(int what, uint32_t step, uint32_t member)
{
    struct lists l = {.members = 4, .size = {6, 6, 6, 6}};
    struct lie told = {what, step, member};
    struct ring r;

    for (uint32_t i = 0; i < l.members; i++) {
        l.of[i] = l.id[i];
        for (uint32_t j = 0; j < 6; j++)
            l.id[i][j] = j;
    }
    ring_open(&r, l.members, l.size, l.of, 4, true);
    r.meddle = lie;
    r.owner = &told;
    assert_int_equal(ring_play(&r), STATUS_PROTOCOL);
    ring_close(&r);
    return r;
}

static void test_a_list_that_was_altered_on_its_way_is_found(void **unused)
{
    static const int kinds[] = {OTHER_POINT, TWICE, NO_POINT};

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (uint32_t step = 2; step < 10; step++) {
            const struct ring r = play_lie(kinds[i], step, 2);

            if (step >= 8 || kinds[i] == NO_POINT) { /* by its owner, or who cannot raise it */
                assert_int_equal(r.refused_by, 2);
                assert_int_equal(r.blamed, 1);
            } else {
                assert_int_equal(r.step % 2, 0); /* by its tally, as the next stage begins */
                assert_int_equal(r.blamed, 2);
            }
        }
    }
}

static void test_labelled_rows_in_no_order_are_refused_by_who_is_told_them(void **unused)
{
    (void)unused;
    for (uint32_t member = 1; member < 4; member++) {
        for (int what = TOLD_TWICE; what <= TOLD_SWAPPED; what++) {
            const struct ring r = play_lie(what, 10, member);

            assert_int_equal(r.refused_by, member);
            assert_int_equal(r.blamed, 0);
            assert_int_equal(r.step, 11);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_finds_its_own_rows_among_the_labelled_ones),
        cmocka_unit_test(test_nobody_is_given_a_point_that_could_be_found_among_those_told),
        cmocka_unit_test(test_a_list_that_was_altered_on_its_way_is_found),
        cmocka_unit_test(test_labelled_rows_in_no_order_are_refused_by_who_is_told_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
