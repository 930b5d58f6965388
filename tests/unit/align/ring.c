/* ring.c -- all members, one after another, step by step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/align/ring.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"

#include <string.h>

void ring_open(struct ring *r, uint32_t members, const uint32_t *size, uint64_t *const *ids,
               uint32_t chunk, bool labelled)
{
    static const uint8_t session[DIGEST_BYTES] = "one session";

    *r = (struct ring){.step = 0};
    align_course_init(&r->course, members, size, chunk, labelled);
    CHECK(align_match_new(&r->match, &r->course) == STATUS_OK);
    for (uint32_t i = 0; i < members; i++) {
        struct align_setup setup = {&r->course, i, NULL, session, 2};

        r->rows[i] = mem_alloc(size[i], ALIGN_ROW_BYTES);
        r->given[i] = mem_alloc(chunk, ALIGN_POINT_BYTES);
        r->shown[i] = mem_alloc(chunk, ALIGN_POINT_BYTES);
        for (uint32_t j = 0; j < size[i]; j++)
            le_put(r->rows[i] + (size_t)j * ALIGN_ROW_BYTES, ids[i][j], 8);
        setup.rows = r->rows[i];
        CHECK(align_member_new(&r->member[i], &setup) == STATUS_OK);
    }
}

void ring_close(struct ring *r)
{
    for (uint32_t i = 0; i < r->course.members; i++) {
        align_member_free(r->member[i]);
        mem_free(r->rows[i]);
        mem_free(r->given[i]);
        mem_free(r->shown[i]);
    }
    align_match_free(r->match);
}

static enum status refused(struct ring *r, uint32_t by)
{
    r->refused_by = by;
    r->blamed = align_member_blamed(r->member[by]);
    return STATUS_PROTOCOL;
}

/* What everybody gives for this step. */
static void hand_over(struct ring *r, const struct align_at *at)
{
    for (uint32_t k = 0; k < r->course.members && align_hands(at); k++)
        (void)align_member_gives(
            r->member[k], r->step,
            at->part == ALIGN_COLLECT ? r->shown[k] : r->given[align_receiver(&r->course, at, k)]);
    for (uint32_t k = 0; k < r->course.members; k++) {
        if (at->part == ALIGN_TELL && r->course.labelled)
            (void)align_member_tells(r->member[0], at->chunk, r->given[k]);
        else if (at->part == ALIGN_TELL)
            (void)align_match_tell(r->match, at->chunk, r->given[k]);
        if (at->part == ALIGN_RETURN && at->stage == 0)
            (void)align_match_places(r->match, align_list(&r->course, at, k), at->chunk,
                                     r->given[k]);
    }
}

/* A stage that raised is over. */
static enum status check_tallies(struct ring *r, uint32_t stage)
{
    for (uint32_t k = 0; k < r->course.members; k++) {
        if (align_member_check(r->member[k], stage, r->tallies, &r->error) != STATUS_OK)
            return refused(r, k);
    }
    return STATUS_OK;
}

static enum status begin_stage(struct ring *r, const struct align_at *at)
{
    const uint32_t told = r->course.labelled ? r->course.size[0] : align_match_common(r->match);
    uint32_t stage;
    enum status s = STATUS_OK;

    if (align_shows_tallies(&r->course, at, &stage))
        s = check_tallies(r, stage);
    for (uint32_t k = 0; k < r->course.members && s == STATUS_OK && at->part == ALIGN_TELL; k++) {
        s = align_member_common(r->member[k], told, &r->error);
        if (s != STATUS_OK)
            return refused(r, k);
    }
    return s;
}

static enum status take(struct ring *r, const struct align_at *at)
{
    for (uint32_t k = 0; k < r->course.members; k++) {
        if (align_member_take(r->member[k], r->step, r->given[k],
                              align_member_expects(r->member[k], r->step), &r->error) != STATUS_OK)
            return refused(r, k);
        if (at->part == ALIGN_COLLECT)
            align_match_put(r->match, at, k, r->shown[k]);
        if (at->part == ALIGN_RAISE && at->last)
            memcpy(r->tallies + (size_t)k * TALLY_BYTES, align_member_tally(r->member[k]),
                   TALLY_BYTES);
    }
    if (at->part == ALIGN_COLLECT && at->last &&
        align_match_compare(r->match, &r->blamed) != STATUS_OK) {
        r->refused_by = 0;
        return error_set(&r->error, STATUS_PROTOCOL, "a point twice");
    }
    return STATUS_OK;
}

enum status ring_play(struct ring *r)
{
    const uint32_t steps = align_steps(&r->course);
    enum status s = STATUS_OK;

    for (r->step = 0; r->step < steps && s == STATUS_OK; r->step++) {
        const struct align_at at = align_at(&r->course, r->step);

        hand_over(r, &at);
        if (r->meddle != NULL)
            r->meddle(r, r->step);
        if (at.first)
            s = begin_stage(r, &at);
        if (s == STATUS_OK)
            s = take(r, &at);
        if (s != STATUS_OK)
            break;
    }
    return s;
}
