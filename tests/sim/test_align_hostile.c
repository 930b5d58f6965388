/* test_align_hostile.c -- a member, the server, or the network between them does otherwise than
 * docs/protocol.md, 3.35, has it, in one place of an alignment: a table.
 *
 * The law: whoever is right keeps nothing that is wrong, and the job ends with the name of who was
 * wrong; or what was done changes nothing; or it spoils rows, as docs/aligning.md says that it can.
 * The daemons stand, and the next alignment is what it should be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/tally.h"
#include "tests/sim/lies.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = DEVIATE_PARTIES, IDS = 6, COMMON = 4, CUT_AT = 8 };
#define HOUR_US UINT64_C(3600000000)

/* List 0 is the server's; all have 1, 2, 8 and 9. */
static const uint64_t ids[PARTIES + 1][IDS] = {
    {5, 1, 9, 3, 2, 8}, {9, 2, 4, 1, 8, 7}, {8, 1, 2, 9, 13, 6}, {2, 9, 10, 8, 1, 11}};

struct hostile_case {
    const char *name;
    struct deviation d;
    enum { FOUND, HARMLESS, SPOILS } then;
    const char *words;     /* FOUND: in those that the server ends with; | between choices */
    enum status_kind kind; /* and the kind of its end; 0: that of a peer's fault */
    uint32_t spoils;       /* rows at most that are wrong on a side that is right */
    bool last;             /* it shows to one alone, when the others have theirs */
    bool cut;              /* a connection breaks before, so that there are two generations */
    uint32_t says;         /* so many ids are in its hello; 0: as many as there are */
    bool none;             /* or none */
    bool twice;            /* it lists one id twice */
};

#define GIVES(w, s, c, lie)                                                                        \
    {                                                                                              \
        .where = DEVIATE_GIVES, .who = (w), .part = ALIGN_RAISE, .stage = (s), .chunk = (c),       \
        .bytes = (lie), .number = 77                                                               \
    }
#define SHOWS(w, lie)                                                                              \
    {                                                                                              \
        .where = DEVIATE_GIVES, .who = (w), .part = ALIGN_COLLECT, .stage = 0, .bytes = (lie),     \
        .number = 78                                                                               \
    }
#define RETURNS(w, s, lie, x)                                                                      \
    {                                                                                              \
        .where = DEVIATE_GIVES, .who = (w), .part = ALIGN_RETURN, .stage = (s), .bytes = (lie),    \
        .number = (x)                                                                              \
    }
#define SAYS_TALLY(w, s, lie, x)                                                                   \
    {                                                                                              \
        .where = DEVIATE_TALLY, .who = (w), .part = ALIGN_RAISE, .stage = (s),                     \
        .chunk = DEVIATE_EVERY, .bytes = (lie), .number = (x)                                      \
    }
#define SEALS(w, p, s, x)                                                                          \
    {                                                                                              \
        .where = DEVIATE_SEAL, .who = (w), .part = (p), .stage = (s), .bytes = lie_bit,            \
        .number = (x)                                                                              \
    }
#define COMPARES(wh, t, lie, x)                                                                    \
    {                                                                                              \
        .where = (wh), .who = SIM_SERVER, .to = (t),                                               \
        .part = (wh) == DEVIATE_TELLS ? ALIGN_TELL : ALIGN_RETURN, .bytes = (lie), .number = (x)   \
    }
#define BATCH(w, t, p, s, lie, x)                                                                  \
    {                                                                                              \
        .where = DEVIATE_MESSAGE, .who = (w), .to = (t), .part = (p), .stage = (s),                \
        .kind = WIRE_BATCH, .message = (lie), .number = (x)                                        \
    }
#define OFFER(from, to_text)                                                                       \
    {                                                                                              \
        .where = DEVIATE_MESSAGE, .who = SIM_SERVER, .to = SIM_ANY, .kind = WIRE_OFFER,            \
        .message = lie_text, .text = (from), .with = (to_text)                                     \
    }

#define NAMES(text) .then = FOUND, .words = (text)

/* Each class of what is no canonical point, in each place where points come in. */
#define NO_POINT(what, lie)                                                                        \
    {what " sealed for the next party", GIVES(0, 1, 0, lie), NAMES("p1: not all")},                \
        {what " to the server", GIVES(2, 2, 0, lie), NAMES("p3: not all")},                        \
        {what " from the server", GIVES(SIM_SERVER, 3, 0, lie), NAMES("server: not all")},         \
    {                                                                                              \
        what " where lists are shown", SHOWS(1, lie), NAMES("p2: shows another list")              \
    }

/* A list that was let go as another than its tally says: who got it knows, others know of two. */
static const char another_list[] =
    "p1: a list was let go as another|p2: a list was let go as another|"
    "p3: a list was let go as another|a list is not what the member before it made of it";
static const char no_text[] = "no text of a job of alignment";

static const struct hostile_case cases[] = {
    NO_POINT("the identity", lie_identity),
    NO_POINT("a point with its top bit set", lie_top_bit),
    NO_POINT("the modulus", lie_modulus),
    NO_POINT("a number beyond the modulus", lie_beyond),
    NO_POINT("the negative of an encoding", lie_negative),
    NO_POINT("a number of no point", lie_off_curve),

    /* lists */
    {"a list raised by another key", GIVES(1, 2, DEVIATE_EVERY, lie_key), NAMES(another_list)},
    {"a chunk raised by another key", GIVES(2, 3, 1, lie_key), NAMES(another_list)},
    {"a list of the server's own making", GIVES(SIM_SERVER, 2, 1, lie_key),
     NAMES("a list is said to be another than it was given|server: a list was let go as another")},
    {"a point put in", GIVES(0, 2, 1, lie_other), NAMES(another_list)},
    {"a point twice, and one left out", GIVES(2, 2, 0, lie_twice), NAMES(another_list)},
    {"the points of the stage before", GIVES(1, 2, 0, lie_stage_before), NAMES(another_list)},
    {"the points of the chunk before", GIVES(0, 2, 1, lie_chunk_before), NAMES(another_list)},
    {"another order than it shuffled by", GIVES(1, 2, 0, lie_order), .then = SPOILS, .spoils = 4},
    {"changes that cancel", GIVES(1, 2, 0, lie_cancel), .then = SPOILS, .spoils = 4},
    {"an own id twice", {.who = 1}, NAMES("point twice"), .twice = true},
    {"another list shown than was raised", SHOWS(0, lie_other), NAMES("p1: shows another list")},
    {"a point shown twice", SHOWS(2, lie_twice), NAMES("p3: shows another list")},
    {"a list shown as it came", SHOWS(1, lie_stage_before), NAMES("p2: shows another list")},

    /* tallies */
    {"a bit of the key", SAYS_TALLY(1, 1, lie_bit, TALLY_PUBLIC + 3), NAMES("p2: a list was rai")},
    {"a bit of the first key", SAYS_TALLY(1, 0, lie_bit, TALLY_PUBLIC + 3), NAMES("p2: no proof")},
    {"a bit of the sum that came", SAYS_TALLY(0, 2, lie_bit, TALLY_IN), NAMES("p1: no proof")},
    {"a bit of the sum that goes", SAYS_TALLY(2, 3, lie_bit, TALLY_OUT + 9), NAMES("p3: no proof")},
    {"a bit of a challenge", SAYS_TALLY(0, 1, lie_bit, TALLY_PROOF), NAMES("p1: no proof")},
    {"a bit of a response", SAYS_TALLY(1, 2, lie_bit, TALLY_PROOF + 40), NAMES("p2: no proof")},
    {"a proof of another key", SAYS_TALLY(1, 2, lie_other_key, 0), NAMES("p2: a list was raised")},
    {"a first proof of another key", SAYS_TALLY(0, 0, lie_other_key, 0),
     NAMES("p1: a list was raised by another key|p1: a list is not")},
    {"the proof of the stage before", SAYS_TALLY(2, 1, lie_tally_before, 0), NAMES("p3: no proof")},
    {"the proof of another member", SAYS_TALLY(1, 2, lie_tally_of_another, 0), NAMES("p2: ")},
    {"no proof at all", SAYS_TALLY(1, 0, lie_zeros, 0), NAMES("p2: no proof")},
    {"no proof from the server", SAYS_TALLY(SIM_SERVER, 1, lie_bit, 99), NAMES("server: no proof")},

    /* sealing: bytes 11 to 42 of the name are the session, 43 the purpose, 44 the step, 56 what was
     * shown before */
    {"sealed for another session", SEALS(0, ALIGN_RAISE, 1, 11), NAMES("what p1 sealed does not")},
    {"sealed for another purpose", SEALS(0, ALIGN_RAISE, 2, 43), NAMES("what p1 sealed does not")},
    {"sealed for another step", SEALS(1, ALIGN_RAISE, 3, 44), NAMES("what p2 sealed does not")},
    {"sealed after other tallies", SEALS(1, ALIGN_RAISE, 2, 56), NAMES("what p2 sealed does not")},
    {"places sealed after other words", SEALS(2, ALIGN_RETURN, 1, 56),
     NAMES("what p3 sealed does not")},
    {"sealed for another party",
     {.where = DEVIATE_OTHER, .who = 0, .part = ALIGN_RAISE, .stage = 1},
     NAMES("what p1 sealed does not")},

    /* who relays, or the network */
    {"a bit of what is relayed", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_entries_bit, 9),
     NAMES("p2 refuses: step 2 of the alignment: what p1 sealed does not open")},
    {"a bit of its tag", BATCH(SIM_SERVER, 2, ALIGN_RAISE, 3, lie_tag_bit, 3),
     NAMES("p3 refuses: step 6 of the alignment: what p2 sealed does not open")},
    {"a bit of places on their way", BATCH(SIM_SERVER, 0, ALIGN_RETURN, 1, lie_entries_bit, 1),
     NAMES("what p2 sealed does not open")},
    {"recipients that are swapped", BATCH(SIM_SERVER, 2, ALIGN_RAISE, 1, lie_recipient, 1),
     NAMES("what p2 sealed does not open")},
    {"what came a stage ago", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 2, lie_replay, 2),
     NAMES("what p1 sealed does not open")},
    {"what came a stage ago, of places", BATCH(SIM_SERVER, 0, ALIGN_RETURN, 2, lie_replay, 2),
     NAMES("what p2 sealed does not open")},
    {"what came a generation ago",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 1,
      .part = ALIGN_RAISE,
      .stage = 1,
      .kind = WIRE_BATCH,
      .message = lie_generation_before,
      .generation = 2},
     NAMES("what p1 sealed does not open"),
     .cut = true},
    {"what is not sealed", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_tag_size, -16),
     NAMES("p2 refuses: step 2")},
    {"entries that are too few", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_size, -32),
     NAMES("p2 refuses: step 2")},
    {"entries where none belong", BATCH(SIM_SERVER, 2, ALIGN_COLLECT, 0, lie_size, 32),
     NAMES("p3 refuses: step 8")},
    {"a step ahead", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_step, 1), NAMES("p2 refuses: step")},
    {"a step again", BATCH(SIM_SERVER, 0, ALIGN_RAISE, 2, lie_step, -1), NAMES("p1 refuses: step")},
    {"another generation's step", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_generation, 1),
     NAMES("p2 refuses: step")},
    {"its own tally as another", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_tallies_bit, 325),
     NAMES("server: its own tally is shown as another")},
    {"another's tally as another", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_tallies_bit, 165),
     NAMES("p2 refuses: step 2")},
    {"the tallies of too few", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 1, lie_tallies_size, -160),
     NAMES("p2 refuses: step 2")},
    {"tallies where none belong", BATCH(SIM_SERVER, 1, ALIGN_TELL, 0, lie_tallies_size, 160),
     NAMES("p2 refuses: step 10")},

    /* who compares */
    {"a prefix of no point", COMPARES(DEVIATE_TELLS, SIM_ANY, lie_prefix_of_none, 0),
     NAMES("server: a place is said to be of a point that is not in that list")},
    {"a prefix twice", COMPARES(DEVIATE_TELLS, SIM_ANY, lie_prefix_twice, 0),
     NAMES("server: a place is said to be of a point that is not in that list")},
    {"prefixes in another order", COMPARES(DEVIATE_TELLS, SIM_ANY, lie_prefix_order, 0),
     NAMES("server: a place is said to be of a point that is not in that list")},
    {"another order for the first alone",
     BATCH(SIM_SERVER, 0, ALIGN_TELL, 0, lie_entries_order, 16),
     NAMES("server: a place is said|sealed does not open")},
    {"another order for the second alone",
     BATCH(SIM_SERVER, 1, ALIGN_TELL, 0, lie_entries_order, 16),
     NAMES("server: a place is said|sealed does not open")},
    {"another order for the last alone", BATCH(SIM_SERVER, 2, ALIGN_TELL, 0, lie_entries_order, 16),
     NAMES("server: a place is said|sealed does not open")},
    {"places swapped of the second list", COMPARES(DEVIATE_PLACES, 0, lie_places_swapped, 0),
     NAMES("p1 refuses: step 13 of the alignment: server: a place")},
    {"places swapped of the third list", COMPARES(DEVIATE_PLACES, 1, lie_places_swapped, 0),
     NAMES("p2 refuses: step 13 of the alignment: server: a place")},
    {"places swapped of its own list", COMPARES(DEVIATE_PLACES, 2, lie_places_swapped, 0),
     NAMES("p3 refuses: step 13 of the alignment: server: a place")},
    {"a place out of range", COMPARES(DEVIATE_PLACES, 0, lie_place_beyond, COMMON),
     NAMES("server: places that are no order")},
    {"a place far out of range", COMPARES(DEVIATE_PLACES, 1, lie_place_beyond, 1 << 30),
     NAMES("server: places that are no order")},
    {"a place given twice", COMPARES(DEVIATE_PLACES, 1, lie_place_twice, 0),
     NAMES("server: places that are no order")},
    {"a place kept back", COMPARES(DEVIATE_PLACES, 2, lie_place_missing, 0),
     NAMES("server: places that are no order")},
    {"places for all", COMPARES(DEVIATE_PLACES, 0, lie_place_too_many, 0),
     NAMES("server: places that are no order")},
    {"a row that is held back from all",
     {.where = DEVIATE_COUNT, .who = SIM_SERVER},
     .then = SPOILS,
     .spoils = 1},
    {"one more than it tells", BATCH(SIM_SERVER, SIM_ANY, ALIGN_TELL, 0, lie_common, 1),
     NAMES("another number of common rows than before")},
    {"one fewer than it tells", BATCH(SIM_SERVER, 2, ALIGN_TELL, 0, lie_common, -1),
     NAMES("p3 refuses: step 10")},
    {"more than a list has", BATCH(SIM_SERVER, 1, ALIGN_TELL, 0, lie_common, IDS + 1 - COMMON),
     NAMES("p2 refuses: |more common rows than a list has")},
    {"four thousand million", BATCH(SIM_SERVER, 1, ALIGN_TELL, 0, lie_common, -5),
     NAMES("waiting for p2"), .kind = STATUS_KIND_NET},
    {"another number than before", BATCH(SIM_SERVER, 0, ALIGN_RETURN, 0, lie_common, 1),
     NAMES("another number of common rows than before")},

    {"a word of the others that is altered", BATCH(SIM_SERVER, 1, ALIGN_RETURN, 0, lie_tag_bit, 3),
     NAMES("p1 sealed does not open")},
    {"the others' words left out", BATCH(SIM_SERVER, 2, ALIGN_RETURN, 0, lie_tag_size, -16),
     NAMES("p3 refuses: step 12")},

    /* places on their way back */
    {"a place beyond, to the server", RETURNS(0, 1, lie_place_beyond, 99), NAMES("p1: places th")},
    {"a place beyond, to a party", RETURNS(1, 1, lie_place_beyond, 99), NAMES("p2: places that")},
    {"a place twice", RETURNS(2, 2, lie_place_twice, 0), NAMES("p3: places that")},
    {"a place lost", RETURNS(1, 2, lie_place_missing, 0), NAMES("p2: places that")},
    {"the places of another list",
     {.where = DEVIATE_GIVES,
      .who = 1,
      .part = ALIGN_RETURN,
      .stage = 2,
      .chunk = DEVIATE_EVERY,
      .bytes = lie_stage_before},
     .then = SPOILS,
     .spoils = IDS},
    {"half the places of another list", RETURNS(1, 2, lie_stage_before, 0),
     NAMES("p2: places that")},
    {"a place beyond, from the server", RETURNS(SIM_SERVER, 1, lie_place_beyond, 4),
     NAMES("server: places that")},
    {"a place lost at the last", RETURNS(1, 3, lie_place_missing, 0), NAMES("p2: places that"),
     .last = true},
    {"places that change places", RETURNS(1, 2, lie_places_swapped, 0), .then = SPOILS,
     .spoils = 2},

    /* the form of answers */
    {"an answer cut short", BATCH(1, 0, ALIGN_RAISE, 1, lie_size, -1), NAMES("p2: no answer to")},
    {"an answer of a point fewer", BATCH(1, 0, ALIGN_RAISE, 1, lie_size, -32), NAMES("p2: no ans")},
    {"an answer of a point more", BATCH(2, 0, ALIGN_RAISE, 1, lie_size, 32), NAMES("p3: no answ")},
    {"an answer without its tag", BATCH(1, 0, ALIGN_RAISE, 1, lie_tag_size, -16), NAMES("p2: no")},
    {"a tag where nothing is sealed", BATCH(2, 0, ALIGN_RAISE, 1, lie_tag_size, 16), NAMES("p3: ")},
    {"an answer to the step before", BATCH(0, 0, ALIGN_RAISE, 2, lie_step, -1), NAMES("p1: no an")},
    {"an answer to the step ahead", BATCH(0, 0, ALIGN_RAISE, 2, lie_step, 1), NAMES("p1: no answ")},
    {"an answer that counts", BATCH(1, 0, ALIGN_TELL, 0, lie_common, 4), NAMES("p2: no answer to")},
    {"a tally in the middle", BATCH(1, 0, ALIGN_TELL, 0, lie_tallies_size, 160),
     NAMES("p2: no an")},
    {"a later generation's answer", BATCH(1, 0, ALIGN_RAISE, 1, lie_generation, 1), NAMES("p2"),
     .kind = STATUS_KIND_NET},
    {"an upload for an answer", BATCH(1, 0, ALIGN_RAISE, 1, lie_upload, 0), NAMES("p2"),
     .kind = STATUS_KIND_NET},
    {"a word of the end for an answer", BATCH(1, 0, ALIGN_RAISE, 1, lie_kept, 0), NAMES("p2"),
     .kind = STATUS_KIND_NET},
    {"an end in the middle", BATCH(SIM_SERVER, 1, ALIGN_RAISE, 2, lie_finish, 0), NAMES("p2"),
     .kind = STATUS_KIND_NET},

    /* sizes that lie */
    {"a list of none", {.who = 1}, NAMES("p2 lists 0 ids"), .none = true},
    {"a list of too many", {.who = 1}, NAMES("p2 lists 16777217 ids"), .says = (1 << 24) + 1},
    {"a list beyond the policy",
     {.who = 1},
     NAMES("policy.align.max_ids: p2 lists 200001 ids"),
     .says = 200001,
     .kind = STATUS_KIND_POLICY},
    {"hellos that the server altered",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 2,
      .kind = WIRE_HELLOS,
      .message = lie_hello_bit,
      .number = 20},
     NAMES("p3 refuses: ")},

    /* what is offered */
    {"an offer of no ids", OFFER("\nids=6", "\nids=0"), NAMES(no_text)},
    {"an offer of too many ids", OFFER("\nids=6", "\nids=16777217"), NAMES(no_text)},
    {"an offer of ids beyond the policy", OFFER("\nids=6", "\nids=200001"),
     NAMES("policy.align.max_ids: server lists 200001 ids"), .kind = STATUS_KIND_POLICY},
    {"a number with zeros before it", OFFER("\nids=6", "\nids=06"), NAMES(no_text)},
    {"a line twice", OFFER("\nids=6", "\nids=6\nids=6"), NAMES(no_text)},
    {"a chunk of nothing", OFFER("chunk=4", "chunk=0"), NAMES(no_text)},
    {"a chunk that no message holds", OFFER("chunk=4", "chunk=16385"), NAMES(no_text)},
    {"no patience", OFFER("patience_ms=2000", "patience_ms=0"), NAMES(no_text)},
    {"a name that is a path", OFFER("name=common", "name=../../x"), NAMES(no_text)},
    {"a name that is a statement", OFFER("name=common", "name=x'; DROP TABLE t; --"),
     NAMES(no_text)},
    {"the name of the count", OFFER("name=common", "name=asked"), NAMES(no_text)},
    {"a form that is none", OFFER("unicode=0", "unicode=7"), NAMES(no_text)},
    {"another normal form", OFFER("unicode=0", "unicode=1"), NAMES("align.unicode are not those"),
     .kind = STATUS_KIND_CONFIG},
    {"capitals that count", OFFER("fold=0", "fold=1"), NAMES("align.fold and"),
     .kind = STATUS_KIND_CONFIG},
    {"a key twice", OFFER("keys=id:1", "keys=id:1,id:1"), NAMES(no_text)},
    {"more keys than there are", OFFER("keys=id:1", "keys=a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1"),
     NAMES(no_text)},
    {"an alignment that extends itself",
     OFFER("extends=.\nextended=0", "extends=common\nextended=00"), NAMES(no_text)},
    {"a digest of nothing", OFFER("extended=0", "extended=00"), NAMES(no_text)},
    {"another number of columns", OFFER("keys=id:1", "keys=id:2"), NAMES("align.key: 1 columns"),
     .kind = STATUS_KIND_CONFIG},
    {"a job that is changed in its middle",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 1,
      .kind = WIRE_OFFER,
      .generation = 2,
      .message = lie_text,
      .text = "chunk=4",
      .with = "chunk=3"},
     NAMES("p2 refuses: the server changed the job in its middle"),
     .cut = true},
    {"another chunk for one party",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 1,
      .kind = WIRE_OFFER,
      .message = lie_text,
      .text = "chunk=4",
      .with = "chunk=3"},
     NAMES("p2"),
     .kind = STATUS_KIND_NET},
    {"a set without a party",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 0,
      .kind = WIRE_OFFER,
      .message = lie_members},
     NAMES("p1 refuses: ")},
    {"a job of no kind",
     {.where = DEVIATE_MESSAGE,
      .who = SIM_SERVER,
      .to = 0,
      .kind = WIRE_OFFER,
      .message = lie_kind},
     NAMES("p1 refuses: "),
     .kind = STATUS_KIND_CONFIG},
};
enum { CASES = sizeof cases / sizeof *cases };

/* --- what came of it --- */

static struct sim_list *list_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->list : &s->party[who].list;
}

static bool is_common(uint64_t id)
{
    return id == 1 || id == 2 || id == 8 || id == 9;
}

/* Rows of a side that are lost, that are there and should not be, or that stand where `of` has
 * others. */
static uint32_t wrong_rows(const struct sim_list *l, const struct sim_list *of)
{
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        const bool placed = l->places[i] != ALIGN_NOWHERE;
        bool differs = placed != is_common(l->id[i]);

        for (uint32_t j = 0; j < of->n && placed; j++)
            differs = differs || (of->places[j] == l->places[i] && of->id[j] != l->id[i]);
        wrong += differs;
    }
    return wrong;
}

/* The most of any side that is right, beside that of them whose order most others have. */
static uint32_t spoilt(struct sim *s, int liar)
{
    uint32_t least = UINT32_MAX;

    for (int of = SIM_SERVER; of < PARTIES; of++) {
        uint32_t most = 0;

        for (int who = SIM_SERVER; who < PARTIES; who++) {
            const uint32_t wrong = wrong_rows(list_of(s, who), list_of(s, of));

            most = who != liar && wrong > most ? wrong : most;
        }
        least = of != liar && most < least ? most : least;
    }
    return least;
}

static bool says_one_of(const char *text, const char *words)
{
    char word[128];

    while (words != NULL && *words != 0) {
        const size_t n = strcspn(words, "|");

        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (strstr(text, word) != NULL)
            return true;
        words += n + (words[n] == '|');
    }
    return false;
}

static const char *judge_found(struct sim *s, const struct hostile_case *c, int liar)
{
    const struct error *err = &sim_server_end(s)->error;

    if (sim_server_end(s)->outcome == OUTCOME_COMPLETED)
        return "nobody has found it";
    if (!says_one_of(err->text, c->words))
        return "other words were expected";
    if (status_kind(err->status) != (c->kind != 0 ? c->kind : STATUS_KIND_PEER))
        return "it is the fault of somebody else";
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (who != liar && list_of(s, who)->kept > 0 &&
            (!c->last || wrong_rows(list_of(s, who), list_of(s, who)) > 0))
            return "somebody keeps a result";
        if (who >= 0 && who != liar && !c->last && sim_party_end(s, (uint32_t)who)->jobs > 0 &&
            sim_party_end(s, (uint32_t)who)->outcome == OUTCOME_COMPLETED)
            return "somebody believes that it is complete";
    }
    return NULL;
}

static const char *judge_kept(struct sim *s, const struct hostile_case *c, int liar)
{
    const uint32_t wrong = spoilt(s, liar);

    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        return "it should have come to its end";
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (list_of(s, who)->kept == 0)
            return "somebody keeps nothing";
        if (memcmp(list_of(s, who)->transcript, s->list.transcript, DIGEST_BYTES) != 0)
            return "two have been told different things";
    }
    if (c->then == HARMLESS)
        return wrong == 0 ? NULL : "rows are spoilt";
    return wrong == 0 ? "nothing is spoilt" : wrong <= c->spoils ? NULL : "too much is spoilt";
}

/* --- one case --- */

static void play(struct sim *s)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = DEVIATE_CHUNK};

    for (int who = SIM_SERVER; who < PARTIES; who++)
        list_of(s, who)->kept = 0;
    standing_play(s, &job);
    sim_run(s, HOUR_US);
}

static const char *judge_next(struct sim *s)
{
    play(s);
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if ((who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who))->over)
            return "a daemon has ended";
        if (list_of(s, who)->kept != 1)
            return "the next alignment comes to nothing";
    }
    return spoilt(s, SIM_ANY) == 0 ? NULL : "the next alignment is wrong";
}

static bool holds(const struct hostile_case *c)
{
    static struct deviation d;
    const struct sim_options o = {
        .parties = PARTIES,
        .stands = true,
        .checkpoint_rounds = 2,
        .quiet = true,
        .party_sets = {"policy.align.min_result=0", "policy.align.max_ids=200000"}};
    struct sim *s = sim_new(&o);
    const char *fault;
    char words[ERROR_TEXT_MAX];

    d = c->d;
    for (int who = SIM_SERVER; who < PARTIES; who++)
        aligning_list(list_of(s, who), ids[who + 1], IDS);
    s->list.result_min = 0;
    if (c->twice)
        memcpy(s->party[d.who].list.rows, s->party[d.who].list.rows + ALIGN_ROW_BYTES,
               ALIGN_ROW_BYTES);
    if (c->none || c->says > 0) {
        s->party[d.who].list.lies = true;
        s->party[d.who].list.says = c->says;
    }
    if (c->cut) /* p3 has its link cut before its answer to that step */
        sim_rule(s, (struct sim_rule){
                        .act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_BATCH, .nth = CUT_AT});
    deviate(s, &d);
    play(s);
    fault = c->then == FOUND ? judge_found(s, c, d.who) : judge_kept(s, c, d.who);
    if (fault == NULL && d.where != DEVIATE_NOWHERE && d.done == 0)
        fault = "nothing was done";
    snprintf(words, sizeof words, "%s", sim_server_end(s)->error.text);
    if (d.who >= 0)
        aligning_list(&s->party[d.who].list, ids[d.who + 1], IDS);
    deviate(s, NULL);
    if (fault == NULL)
        fault = judge_next(s);
    if (fault != NULL)
        print_error("%s: %s [%s]\n", c->name, fault, words);
    sim_free(s);
    return fault == NULL;
}

static void test_whoever_deviates_is_found_or_spoils_what_is_said(void **state)
{
    uint32_t failed = 0;

    (void)state;
    assert_true(CASES >= 60);
    for (size_t i = 0; i < CASES; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(cases[i].name, cases[j].name);
        failed += !holds(&cases[i]);
    }
    print_message("%d cases\n", CASES);
    assert_int_equal(failed, 0);
}

/* The table's twin: with nothing in it everybody has the common rows. */
static void test_nobody_deviates(void **state)
{
    const struct hostile_case none = {"nothing", {.who = SIM_ANY}, .then = HARMLESS};

    (void)state;
    assert_true(holds(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_deviates),
        cmocka_unit_test(test_whoever_deviates_is_found_or_spoils_what_is_said),
    };

    sim_keep_pages();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
