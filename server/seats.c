/* seats.c -- who is in the next set, who sits out, and until when.
 *
 * Whoever is late or lost sits out until others are let in: at the end of an epoch.  So does one of
 * two who are at odds, and then it is the other one's turn, in proportion (odds.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/seats.h"

#include "common/base/log.h"
#include "common/base/record.h"
#include "server/members.h"

#include <stdio.h>
#include <string.h>

/* --- the late --- */

void server_sits_out(struct server_federation *f, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];

    p->excluded = true;
    if (++p->losses < SERVER_LOSSES_MAX)
        return;
    p->barred = true;
    log_warn("%s was late or lost %d times in a row without a whole round; it is shut out",
             server_name(f, peer), SERVER_LOSSES_MAX);
}

void server_left_behind(struct server_federation *f, uint32_t peer)
{
    f->peer[peer].member = -1;
    f->set.left++;
    server_sits_out(f, peer);
}

void server_was_whole(struct server_federation *f, uint32_t peer)
{
    f->peer[peer].losses = 0;
    f->peer[peer].owed -= f->peer[peer].owed > 0;
}

/* --- rounds that come to nothing ---
 *
 * All members pay again for a round that one of them voids, and a party ends when it has paid again
 * for more than WIRE_AGAIN_MAX (64) of them and as many as were new (party/train/charge.c).  Who is
 * lost or late never three times in a row may void two rounds for one that is whole; so each owes
 * 2 T for each round that it voids, pays one back by each that it is whole in, and is shut out when
 * it owes more than A times 2 T, where A = max(12 / T, 3).  In W rounds that are whole with it it
 * thus voids A + 1 + W / (2 T) at most, whatever was before these; a member accuses T + 1 others
 * until it is shut out (accused.c), and sums that fail are 8 + W / 64 (train/plain.c).  T liars
 * together void
 *
 *     T (A + 1) + T (T + 1) + 8 + W / 2 + W / 64  <=  64 + W    for T = 1 to 5,
 *
 * where the left side begins with 23, 28, 35, 44 and 58.  So they end nobody who is in these rounds
 * as they are.  Whoever is lost or late once in 4 T rounds owes 4 T at most and is not shut out. */

static void owe(struct server_federation *f, uint32_t peer, uint32_t *owed, const char *for_what)
{
    const uint32_t one = 2 * server_colluders(f);
    const uint32_t most =
        SERVER_OWED_MAX / one > SERVER_LOSSES_MAX ? SERVER_OWED_MAX : SERVER_LOSSES_MAX * one;

    if (server_waits(f))
        return;
    *owed += one;
    if (*owed <= most || f->peer[peer].barred || !server_does_without(f))
        return;
    f->peer[peer].barred = true;
    log_warn("%s has %s; it is shut out", server_name(f, peer), for_what);
}

void server_voided(struct server_federation *f, uint32_t peer)
{
    owe(f, peer, &f->peer[peer].owed,
        "let too many rounds come to nothing for those that it was whole in");
}

/* --- time that the others have waited for nothing ---
 *
 * Where a round goes on without the late, nobody pays again, and yet all others have waited.  That
 * has an account of its own, by the same law.  It is paid back in what a wait is at most one of: in
 * training rounds, and under async in halts of the stream.  Rounds of an evaluation pay nothing: a
 * party that is quick in a hundred of them could be late in the last one for ever. */

void server_stalled(struct server_federation *f, uint32_t peer)
{
    owe(f, peer, &f->peer[peer].stalled,
        "kept the others waiting too often for those times that it was in time");
}

void server_was_in_time(struct server_federation *f, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];

    p->stalled -= p->stalled > 0;
}

/* --- the next set --- */

static bool here(const struct server_federation *f, uint32_t peer)
{
    return f->peer[peer].present && !f->peer[peer].barred;
}

/* A turn ends with the last who is here of those that it is against. */
static bool sits_out_for_odds(const struct server_federation *f, uint32_t peer)
{
    for (uint32_t i = 0; f->odds.out[peer] && i < f->terms.roster->n; i++) {
        if (here(f, i) && odds_between(&f->odds, peer, i))
            return true;
    }
    return false;
}

bool server_may_sit(const struct server_federation *f, uint32_t peer)
{
    return here(f, peer) && !f->peer[peer].excluded && !sits_out_for_odds(f, peer);
}

/* --- sets that were refused for a larger one ---
 *
 * What a party refuses is that set and no other: one as small may do, where fewer are perhaps with
 * the server; and the same one may, once the plan has got on and less of it is left to pay for. */

/* By the law of other waits, but paid back by whoever sits out, too: an honest party may be at work
 * on the round before, and there may be no set that it would take part in for long. */
static uint32_t late_max(const struct server_federation *f)
{
    return 2 * server_colluders(f) * SERVER_REFUSED_MAX;
}

void server_wished_late(struct server_federation *f, uint32_t peer)
{
    uint32_t *late = &f->peer[peer].refused.late;

    *late = *late < late_max(f) ? *late + 2 * server_colluders(f) : *late;
}

void server_refuses_set(struct server_federation *f, uint32_t peer)
{
    struct server_refused *r = &f->peer[peer].refused;
    uint64_t *set;

    if (r->n == SERVER_REFUSED_MAX)
        return;
    set = r->set[r->n++];
    memset(set, 0, sizeof r->set[0]);
    for (uint32_t m = 0; m < f->set.n; m++)
        set[f->set.member[m] / 64] |= 1ull << f->set.member[m] % 64;
}

void server_step_forward(struct server_federation *f)
{
    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        f->peer[i].refused.n = f->peer[i].refused.since = 0;
}

void server_late_wishes_repaid(struct server_federation *f)
{
    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        f->peer[i].refused.late -= f->peer[i].refused.late > 0;
}

/* The set of n parties that are `in`. */
static bool has_refused(const struct server_federation *f, uint32_t peer, const bool *in,
                        uint32_t n)
{
    const struct server_refused *r = &f->peer[peer].refused;
    uint64_t set[WIRE_MEMBERS_MAX / 64] = {0};

    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        set[i / 64] |= (uint64_t)in[i] << i % 64;
    for (uint32_t k = r->since; k < r->n; k++) {
        if (memcmp(set, r->set[k], sizeof set) == 0)
            return true;
    }
    return (r->n == SERVER_REFUSED_MAX || r->late >= late_max(f)) && n < f->terms.roster->n;
}

/* --- the seats --- */

/* Whoever asks for more than there are does not play, so that nobody makes room for it either. */
static uint32_t seat_all(const struct server_federation *f, bool of_all, bool by_turns,
                         enum server_seat seat[WIRE_MEMBERS_MAX])
{
    const uint32_t roster_n = (uint32_t)f->terms.roster->n;
    bool may[WIRE_MEMBERS_MAX] = {false}, in[WIRE_MEMBERS_MAX], again;
    uint32_t n;

    for (uint32_t i = 0; i < roster_n; i++) {
        may[i] = of_all ? here(f, i) : server_may_sit(f, i);
        seat[i] = SEAT_NONE;
    }
    do {
        memcpy(in, may, sizeof in);
        odds_part(&f->odds, in, roster_n, by_turns);
        n = 0;
        for (uint32_t i = 0; i < roster_n; i++)
            n += in[i];
        again = false;
        for (uint32_t i = 0; i < roster_n; i++) {
            if (in[i] && (f->peer[i].min_parties > n || has_refused(f, i, in, n))) {
                seat[i] = SEAT_TOO_FEW;
                may[i] = false;
                again = true;
            }
        }
    } while (again);
    for (uint32_t i = 0; i < roster_n; i++)
        seat[i] = in[i] ? SEAT_TAKEN : may[i] ? SEAT_AT_ODDS : seat[i];
    return n;
}

/* Nobody has a turn at the price of the job. */
uint32_t server_seats(const struct server_federation *f, bool of_all,
                      enum server_seat seat[WIRE_MEMBERS_MAX])
{
    const uint32_t n = seat_all(f, of_all, true, seat);

    return n >= f->terms.smallest ? n : seat_all(f, of_all, false, seat);
}

void server_take_seats(struct server_federation *f, const enum server_seat seat[WIRE_MEMBERS_MAX])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        n += seat[i] == SEAT_TAKEN;
    for (uint32_t i = 0; i < f->terms.roster->n; i++) {
        struct server_peer *p = &f->peer[i];

        if (seat[i] == SEAT_TAKEN) {
            p->excluded = f->odds.out[i] = false;
        } else if (seat[i] == SEAT_AT_ODDS && !f->odds.out[i]) {
            log_warn("going on without %s: it is at odds with another party, and one of the two "
                     "sits out in turn",
                     server_name(f, i));
            f->odds.out[i] = true;
            f->odds.turns[i]++;
        } else if (seat[i] == SEAT_TOO_FEW && !p->excluded) {
            if (p->min_parties > n)
                log_warn("going on without %s: it takes part among %u parties or more; the others "
                         "are %u",
                         server_name(f, i), p->min_parties, n);
            p->excluded = true;
        }
    }
}

/* --- who comes in --- */

static bool come_in(const struct server_federation *f, enum server_seat seat[WIRE_MEMBERS_MAX])
{
    const uint32_t n = server_seats(f, true, seat);

    for (uint32_t i = 0; i < f->terms.roster->n && n >= f->terms.smallest; i++) {
        if (seat[i] == SEAT_TAKEN && f->peer[i].member < 0)
            return true;
    }
    return false;
}

bool server_may_come_in(const struct server_federation *f)
{
    enum server_seat seat[WIRE_MEMBERS_MAX];

    return come_in(f, seat);
}

bool server_let_in(struct server_federation *f)
{
    enum server_seat seat[WIRE_MEMBERS_MAX];
    const bool somebody = come_in(f, seat);

    for (uint32_t i = 0; i < f->terms.roster->n; i++) {
        if (seat[i] == SEAT_AT_ODDS && f->peer[i].member < 0) {
            f->odds.out[i] = true;
            f->odds.turns[i]++;
        }
    }
    if (somebody)
        server_take_seats(f, seat);
    return somebody;
}

/* --- what a later process has to know --- */

uint32_t server_marks(const struct server_federation *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        n += f->peer[i].barred + f->odds.others[i];
    return n;
}

static const struct record_field mark_field[] = {
    RECORD_FIELD(struct server_peer, barred),
    RECORD_FIELD(struct server_peer, losses),
    RECORD_FIELD(struct server_peer, owed),
    RECORD_FIELD(struct server_peer, stalled),
};
enum { MARK_FIELDS = sizeof mark_field / sizeof mark_field[0] };

enum status server_marks_print(const struct server_federation *f, struct buf *out)
{
    const uint32_t n = (uint32_t)f->terms.roster->n;
    enum status st = STATUS_OK;

    for (uint32_t i = 0; i < n && st == STATUS_OK; i++)
        st = record_print(out, mark_field, MARK_FIELDS, &f->peer[i]);
    return st == STATUS_OK ? odds_print(&f->odds, n, out) : st;
}

/* Whoever starts a run again for which too few are left wants it to go on, and it can do so with
 * all of them only. */
static void forgive_where_too_few_are_left(struct server_federation *f)
{
    const uint32_t n = (uint32_t)f->terms.roster->n;
    bool in[WIRE_MEMBERS_MAX];
    uint32_t left = 0;

    for (uint32_t i = 0; i < n; i++)
        in[i] = !f->peer[i].barred;
    odds_part(&f->odds, in, n, false);
    for (uint32_t i = 0; i < n; i++)
        left += in[i];
    if (left >= f->terms.smallest)
        return;
    log_warn("%u parties are left without those who are shut out or at odds, and the run needs %u: "
             "all are let in again",
             left, f->terms.smallest);
    for (uint32_t i = 0; i < n; i++) {
        f->peer[i].barred = false;
        f->peer[i].losses = f->peer[i].owed = f->peer[i].stalled = 0;
    }
    f->odds = (struct odds){0};
}

enum status server_marks_parse(struct server_federation *f, const uint8_t *bytes, size_t n,
                               size_t *used)
{
    const size_t each = record_bytes(mark_field, MARK_FIELDS);
    const uint32_t parties = (uint32_t)f->terms.roster->n;
    enum status st;

    if (n < parties * each)
        return STATUS_DATA;
    for (uint32_t i = 0; i < parties; i++) {
        if (!record_parse(&f->peer[i], mark_field, MARK_FIELDS, bytes + i * each))
            return STATUS_DATA;
    }
    f->odds = (struct odds){0};
    st = odds_parse(&f->odds, parties, bytes + parties * each, n - parties * each, used);
    if (st != STATUS_OK)
        return st;
    *used += parties * each;
    forgive_where_too_few_are_left(f);
    return STATUS_OK;
}

/* --- shut out --- */

static void name_those_at_odds(const struct server_federation *f, uint32_t peer, char *out,
                               size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < f->terms.roster->n && used < n; i++) {
        int w;

        if (!odds_between(&f->odds, peer, i))
            continue;
        w = snprintf(out + used, n - used, "%s%s", used == 0 ? "" : ", ", server_name(f, i));
        used += w > 0 ? (size_t)w : 0;
    }
}

void server_say_barred(struct server_federation *f, uint32_t peer)
{
    const uint32_t most = server_colluders(f);
    char others[200];

    name_those_at_odds(f, peer, others, sizeof others);
    if (f->odds.others[peer] <= most)
        error_set(&f->error, STATUS_PROTOCOL, "%s: was lost too often in this run",
                  server_name(f, peer));
    else if (odds_about(&f->odds, peer) == ODDS_IDS)
        error_set(
            &f->error, STATUS_DATA,
            "the ids of %s are not those of %s, of whom no more than %u can be wrong: it is shut "
            "out of this run",
            server_name(f, peer), others, most);
    else
        error_set(
            &f->error, STATUS_PROTOCOL,
            "%s is at odds with %s about shares that do not open, and no more than %u of them "
            "can lie: it is shut out of this run",
            server_name(f, peer), others, most);
}
