/* phase.c -- the phase table and the questions asked of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/phase.h"

#include "common/base/check.h"

#define TO(p) (1u << PHASE_##p)
#define IT(k) (1u << WIRE_##k)

/* Joins come at any time, as do the news that a checkpoint is durable; either side may refuse. */
#define ALWAYS_UP (IT(JOIN) | IT(KEPT) | IT(REFUSE))
#define ALWAYS_DOWN (IT(FINISH) | IT(REFUSE))
/* A new generation begins in any phase but the last. */
#define BEGINS (ALWAYS_DOWN | IT(OFFER))

#define PATIENCE                                                                                   \
    {                                                                                              \
        LIMIT_PATIENCE, LIMIT_PATIENCE                                                             \
    }
/* Nobody waits longer for who can be done without. */
#define DEADLINE                                                                                   \
    {                                                                                              \
        LIMIT_PATIENCE, LIMIT_DEADLINE                                                             \
    }
#define ALWAYS(quorum)                                                                             \
    {                                                                                              \
        quorum, quorum                                                                             \
    }

/* Each phase has a clock of its own: an answer may have waited for another member's in the phase
 * before, and nobody can use up the time of the others. */
static const struct phase_row table[PHASES] = {
    {.phase = PHASE_GATHER,
     .name = "gather",
     .clause = "2.1",
     .member_answers = WIRE_JOIN,
     .to_server = ALWAYS_UP,
     .to_member = BEGINS,
     .quorum = {QUORUM_ROSTER, QUORUM_PRESENT},
     .limit = PATIENCE,
     .patiences = 1,
     .next = TO(AGREE) | TO(OVER)},
    /* A member that the offer finds behind catches up, gradient by gradient. */
    {.phase = PHASE_AGREE,
     .name = "agree",
     .clause = "2.2",
     .server_says = WIRE_OFFER,
     .member_answers = WIRE_HELLO,
     .to_server = ALWAYS_UP | IT(HELLO) | IT(BEHIND),
     .to_member = BEGINS | IT(REPLAY) | IT(HELLOS), /* answered by confirm, which opens CONFIRM */
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = DEADLINE,
     .patiences = 10,
     .next = TO(GATHER) | TO(AGREE) | TO(CONFIRM) | TO(OVER)},
    {.phase = PHASE_CONFIRM,
     .name = "confirm",
     .clause = "2.5",
     .server_says = WIRE_HELLOS,
     .member_answers = WIRE_CONFIRM,
     .to_server = ALWAYS_UP | IT(CONFIRM),
     .to_member = BEGINS | IT(CONFIRMS), /* opens ROUND, SHARE or STREAM at the party */
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = DEADLINE,
     .patiences = 1,
     .next = TO(GATHER) | TO(AGREE) | TO(ROUND) | TO(SHARE) | TO(STREAM) | TO(ALIGN) | TO(CLOSE) |
             TO(OVER)},
    {.phase = PHASE_ROUND,
     .name = "round",
     .clause = "3.1",
     .server_says = WIRE_BROADCAST,
     .member_answers = WIRE_UPLOAD,
     .to_server = ALWAYS_UP | IT(UPLOAD),
     .to_member = BEGINS | IT(BROADCAST),
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = DEADLINE,
     .patiences = 1,
     .spares = SPARES_PARTIAL,
     .next = TO(GATHER) | TO(AGREE) | TO(STREAM) | TO(CLOSE) | TO(OVER)},
    /* An upload that the round before did not wait for may still come. */
    {.phase = PHASE_SHARE,
     .name = "share",
     .clause = "3.3",
     .server_says = WIRE_BROADCAST,
     .member_answers = WIRE_SHARE,
     .to_server = ALWAYS_UP | IT(SHARE) | IT(UPLOAD),
     .to_member = BEGINS | IT(BROADCAST) | IT(RELAY), /* answered by upload, which opens SUM */
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = DEADLINE,
     .patiences = 1,
     .spares = SPARES_SHARED,
     .next = TO(GATHER) | TO(AGREE) | TO(SHARE) | TO(SUM) | TO(CLOSE) | TO(OVER)},
    {.phase = PHASE_SUM,
     .name = "sum",
     .clause = "3.4",
     .server_says = WIRE_RELAY,
     .member_answers = WIRE_UPLOAD,
     .to_server = ALWAYS_UP | IT(UPLOAD),
     .to_member = BEGINS | IT(BROADCAST),
     .quorum = ALWAYS(QUORUM_DECODES),
     .limit = DEADLINE,
     .patiences = 1,
     .spares = SPARES_DECODES,
     .next = TO(GATHER) | TO(AGREE) | TO(SHARE) | TO(CLOSE) | TO(OVER)},
    {.phase = PHASE_STREAM,
     .name = "stream",
     .clause = "3.5",
     .server_says = WIRE_BROADCAST,
     .member_answers = WIRE_UPLOAD,
     .to_server = ALWAYS_UP | IT(UPLOAD),
     .to_member = BEGINS | IT(BROADCAST),
     .quorum = ALWAYS(QUORUM_ANY),
     .limit = PATIENCE,
     .patiences = 1,
     .spares = SPARES_ANYBODY,
     .next = TO(GATHER) | TO(AGREE) | TO(ROUND) | TO(CLOSE) | TO(OVER)},
    {.phase = PHASE_ALIGN,
     .name = "align",
     .clause = "3.35",
     .server_says = WIRE_BATCH,
     .member_answers = WIRE_BATCH,
     .to_server = ALWAYS_UP | IT(BATCH),
     .to_member = BEGINS | IT(BATCH),
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = PATIENCE,
     .patiences = 1,
     .next = TO(GATHER) | TO(AGREE) | TO(OVER)},
    {.phase = PHASE_CLOSE,
     .name = "close",
     .clause = "3.6",
     .server_says = WIRE_BROADCAST,
     .member_answers = WIRE_KEPT,
     .to_server = ALWAYS_UP | IT(UPLOAD),
     .to_member = BEGINS,
     .quorum = ALWAYS(QUORUM_MEMBERS),
     .limit = DEADLINE,
     .patiences = 1,
     .spares = SPARES_ANSWERED,
     .next = TO(GATHER) | TO(AGREE) | TO(OVER)},
    {.phase = PHASE_OVER,
     .name = "over",
     .clause = "4.1",
     .server_says = WIRE_FINISH,
     .to_server = ALWAYS_UP,
     .to_member = ALWAYS_DOWN,
     .quorum = ALWAYS(QUORUM_NONE),
     .limit = {LIMIT_NONE, LIMIT_NONE},
     .patiences = 1,
     .next = TO(GATHER)},
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

uint64_t phase_limit_ms(enum phase p, bool does_without, uint32_t patience_ms, uint32_t deadline_ms)
{
    switch (phase_row(p)->limit[does_without]) {
    case LIMIT_PATIENCE: return patience_ms;
    case LIMIT_DEADLINE: return deadline_ms;
    case LIMIT_NONE: break;
    }
    return UINT64_MAX;
}

bool phase_plays(enum phase p)
{
    return p >= PHASE_ROUND && p <= PHASE_CLOSE;
}

bool phase_expects(enum phase p, bool to_server, enum wire_kind kind)
{
    const struct phase_row *row = phase_row(p);

    return ((to_server ? row->to_server : row->to_member) >> kind & 1u) != 0;
}

/* What differs where parties are done without is said in brackets. */
static enum status print_both(struct buf *out, const char *const names[], int waits, int drops)
{
    if (waits == drops)
        return buf_printf(out, " %s |", names[waits]);
    return buf_printf(out, " %s (drop: %s) |", names[waits], names[drops]);
}

static enum status print_limit(struct buf *out, const struct phase_row *r)
{
    static const char *const limits[] = {"patience_ms", "deadline_ms", "-"};
    enum status s = buf_printf(out, " %s", limits[r->limit[0]]);

    if (s == STATUS_OK && r->limit[0] != r->limit[1])
        s = buf_printf(out, " (drop: %s)", limits[r->limit[1]]);
    if (s == STATUS_OK && r->patiences > 1)
        s = buf_printf(out, ", again at progress, %u times", r->patiences);
    return s == STATUS_OK ? buf_printf(out, " |") : s;
}

static enum status print_row(struct buf *out, const struct phase_row *r)
{
    static const char *const quorums[] = {"the roster",        "those present",   "all members",
                                          "as many as decode", "each on its own", "-"};
    static const char *const spares[] = {
        "-",
        "anybody, of a partial sum",
        "who has shared, if the rest decodes",
        "anybody, if the rest decodes",
        "anybody",
        "who has answered (drop: anybody)",
    };
    enum status s =
        buf_printf(out, "| %s | %s | %s | %s |", r->name, r->clause,
                   r->server_says == WIRE_NONE ? "-" : wire_kind_name(r->server_says),
                   r->member_answers == WIRE_NONE ? "-" : wire_kind_name(r->member_answers));

    if (s == STATUS_OK)
        s = print_both(out, quorums, r->quorum[0], r->quorum[1]);
    if (s == STATUS_OK)
        s = print_limit(out, r);
    if (s == STATUS_OK)
        s = buf_printf(out, " %s |", spares[r->spares]);
    for (int q = 0; q < PHASES && s == STATUS_OK; q++) {
        if (phase_allows(r->phase, (enum phase)q))
            s = buf_printf(out, " %s", table[q].name);
    }
    return s == STATUS_OK ? buf_printf(out, " |\n") : s;
}

enum status phase_print(struct buf *out)
{
    enum status s =
        buf_printf(out, "| phase | clause | server says | member answers | quorum | bounded by | "
                        "may lose | next |\n|---|---|---|---|---|---|---|---|\n");

    for (int p = 0; p < PHASES && s == STATUS_OK; p++)
        s = print_row(out, &table[p]);
    return s;
}
