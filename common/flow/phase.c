/* phase.c -- the phase table and the questions asked of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/phase.h"

#include "common/base/check.h"

#define TO(p) (1u << PHASE_##p)

/* Under `wait` the phases with a deadline are bounded by patience too, and so are keys before a
 * first generation has trained, when nobody can be done without.  Whoever comes back later and says
 * nothing costs the others one deadline_ms, for its keys and its confirmation together. */
static const struct phase_row table[PHASES] = {
    {PHASE_GATHER, "gather", "2.1", WIRE_NONE, WIRE_JOIN, QUORUM_ROSTER, PHASE_PATIENCE, false,
     TO(AGREE) | TO(OVER)},
    {PHASE_AGREE, "agree", "2.2", WIRE_OFFER, WIRE_HELLO, QUORUM_MEMBERS, PHASE_ROUND_DEADLINE,
     false, TO(GATHER) | TO(AGREE) | TO(CONFIRM) | TO(OVER)},
    {PHASE_CONFIRM, "confirm", "2.5", WIRE_HELLOS, WIRE_CONFIRM, QUORUM_MEMBERS,
     PHASE_ROUND_DEADLINE, true,
     TO(GATHER) | TO(AGREE) | TO(ROUND) | TO(SHARE) | TO(STREAM) | TO(CLOSE) | TO(OVER)},
    {PHASE_ROUND, "round", "3.1", WIRE_BROADCAST, WIRE_UPLOAD, QUORUM_MEMBERS, PHASE_ROUND_DEADLINE,
     false, TO(GATHER) | TO(AGREE) | TO(STREAM) | TO(CLOSE) | TO(OVER)},
    {PHASE_SHARE, "share", "3.3", WIRE_BROADCAST, WIRE_SHARE, QUORUM_MEMBERS, PHASE_ROUND_DEADLINE,
     false, TO(GATHER) | TO(AGREE) | TO(SHARE) | TO(SUM) | TO(CLOSE) | TO(OVER)},
    {PHASE_SUM, "sum", "3.4", WIRE_RELAY, WIRE_UPLOAD, QUORUM_DECODES, PHASE_ROUND_DEADLINE, true,
     TO(GATHER) | TO(AGREE) | TO(SHARE) | TO(CLOSE) | TO(OVER)},
    {PHASE_STREAM, "stream", "3.5", WIRE_BROADCAST, WIRE_UPLOAD, QUORUM_ANY, PHASE_PATIENCE, false,
     TO(GATHER) | TO(AGREE) | TO(ROUND) | TO(CLOSE) | TO(OVER)},
    {PHASE_CLOSE, "close", "3.6", WIRE_BROADCAST, WIRE_KEPT, QUORUM_MEMBERS, PHASE_ROUND_DEADLINE,
     false, TO(GATHER) | TO(AGREE) | TO(OVER)},
    {PHASE_OVER, "over", "4.1", WIRE_FINISH, WIRE_NONE, QUORUM_NONE, PHASE_ENDLESS, false, 0},
};

const struct phase_row *phase_row(enum phase p)
{
    CHECK(p < PHASES && table[p].phase == p);
    return &table[p];
}

bool phase_allows(enum phase from, enum phase to)
{
    return (phase_row(from)->next >> to & 1u) != 0;
}

bool phase_trains(enum phase p)
{
    return p >= PHASE_ROUND && p <= PHASE_CLOSE;
}

static bool server_takes(enum phase p, enum wire_kind kind)
{
    const struct phase_row *row = phase_row(p);

    if (kind == WIRE_JOIN || kind == WIRE_KEPT)
        return true;
    if (p == PHASE_AGREE && kind == WIRE_BEHIND)
        return true;
    if ((p == PHASE_SHARE || p == PHASE_CLOSE) && kind == WIRE_UPLOAD)
        return true;
    return kind == row->member_answers && kind != WIRE_NONE;
}

bool phase_expects(enum phase p, bool to_server, enum wire_kind kind)
{
    if (kind == WIRE_REFUSE)
        return true;
    if (to_server)
        return server_takes(p, kind);
    switch (kind) {
    case WIRE_FINISH: return true;
    case WIRE_OFFER: return p != PHASE_OVER;
    case WIRE_REPLAY: return p == PHASE_AGREE;
    case WIRE_HELLOS: return p == PHASE_AGREE;     /* answered by confirm, which opens CONFIRM */
    case WIRE_CONFIRMS: return p == PHASE_CONFIRM; /* opens ROUND, SHARE or STREAM at the party */
    case WIRE_BROADCAST: return phase_trains(p) && p != PHASE_CLOSE;
    case WIRE_RELAY: return p == PHASE_SHARE; /* answered by upload, which opens SUM */
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_HELLO:
    case WIRE_BEHIND:
    case WIRE_CONFIRM:
    case WIRE_SHARE:
    case WIRE_UPLOAD:
    case WIRE_KEPT:
    case WIRE_REFUSE:
    case WIRE_KINDS: break;
    }
    return false;
}

enum status phase_print(struct buf *out)
{
    static const char *const quorums[] = {"the roster", "all members", "as many as decode",
                                          "each on its own", "-"};
    static const char *const deadlines[] = {"patience_ms", "deadline_ms (drop), patience_ms (wait)",
                                            "-"};
    enum status s =
        buf_printf(out, "| phase | clause | server says | member answers | quorum | bounded by | "
                        "next |\n|---|---|---|---|---|---|---|\n");

    for (int p = 0; p < PHASES && s == STATUS_OK; p++) {
        const struct phase_row *r = &table[p];
        s = buf_printf(out, "| %s | %s | %s | %s | %s | %s%s%s |", r->name, r->clause,
                       r->server_says == WIRE_NONE ? "-" : wire_kind_name(r->server_says),
                       r->member_answers == WIRE_NONE ? "-" : wire_kind_name(r->member_answers),
                       quorums[r->quorum], deadlines[r->deadline], r->goes_on ? ", with " : "",
                       r->goes_on ? table[p - 1].name : "");
        for (int q = 0; q < PHASES && s == STATUS_OK; q++) {
            if (phase_allows((enum phase)p, (enum phase)q))
                s = buf_printf(out, " %s", table[q].name);
        }
        if (s == STATUS_OK)
            s = buf_printf(out, " |\n");
    }
    return s;
}
