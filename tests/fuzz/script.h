/* script.h -- one session of a run played again alone, its frames as they were recorded, until the
 * input has other ideas.
 *
 * A run of a script of tests/sim/misbehave_scripts.h is recorded once: every frame as it lands, and
 * when.  Whatever a party draws depends on its events so far alone (fast_crypto.h), so that one
 * that is told the same says the same again, and the recorded answers of all others stay true. From
 * where the input departs from it, nothing is true any more but what the session says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FUZZ_SCRIPT_H
#define COLONNADE_TESTS_FUZZ_SCRIPT_H

#include "party/core.h"
#include "server/parts.h"
#include "tests/fuzz/feed.h"
#include "tests/sim/disk.h"
#include "tests/sim/fast_crypto.h"
#include "tests/sim/misbehave_scripts.h"
#include "tests/sim/mutate.h"
#include "tests/sim/oracle.h"

enum {
    SCRIPT_LANDINGS_MAX = 400,
    SCRIPT_RAW_MAX = 512,
    SCRIPT_EDITS_MAX = 8,
    SCRIPT_STEPS_MAX = 200
};

struct script_landing {
    bool up;
    uint32_t party;
    uint64_t now_us;
    struct buf frame;
};

struct script {
    struct sim *sim;
    struct script_landing at[SCRIPT_LANDINGS_MAX];
    size_t n;
};

/* Linked with --wrap for it: what comes of a party's event is drawn from a place of its own. */
void __real_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out);
void __wrap_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out);

static uint64_t script_events[MIS_PARTIES];

void __wrap_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out)
{
    const uint32_t self = p->setup.self;

    fast_crypto_place(script_events[self]++ * MIS_PARTIES + self);
    __real_party_session_step(p, now_us, e, out);
}

/* The server's element is that of its generation. */
void __real_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out);
void __wrap_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out);

void __wrap_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out)
{
    fast_crypto_place(UINT64_MAX / 2 + s->fed.set.generation);
    __real_server_session_step(s, now_us, e, out);
}

/* The number of a playing is drawn with the session, in a recording and in each run of it again. */
enum status __real_server_session_new(struct server_session **out, const struct server_setup *setup,
                                      struct error *err);
enum status __wrap_server_session_new(struct server_session **out, const struct server_setup *setup,
                                      struct error *err);

enum status __wrap_server_session_new(struct server_session **out, const struct server_setup *setup,
                                      struct error *err)
{
    fast_crypto_place(UINT64_MAX - 1);
    return __real_server_session_new(out, setup, err);
}

/* A new session begins where the first one began. */
static inline void script_new_party(struct sim *s, uint32_t party)
{
    script_events[party] = 0;
    fast_crypto_place(UINT64_MAX);
    world_new_party(s, party);
}

static inline void script_note(struct sim *s, struct flight *f, void *owner)
{
    struct script *c = owner;
    struct script_landing *l = &c->at[c->n];

    CHECK(c->n < SCRIPT_LANDINGS_MAX);
    *l = (struct script_landing){.up = f->up, .party = f->party, .now_us = s->now_us};
    mis_copy(&l->frame, &f->frame);
    c->n++;
}

/* The script, recorded when it is first asked for. */
static inline struct script *script_of(enum mis_which which)
{
    static struct script scripts[MIS_SCRIPTS];
    struct script *c = &scripts[which];

    if (c->sim != NULL)
        return c;
    memset(script_events, 0, sizeof script_events);
    fast_crypto_place(UINT64_MAX);
    c->sim = sim_new(&mis_script(which)->options);
    c->sim->tap = (struct sim_tap){script_note, c};
    sim_run(c->sim, 3600000000ull);
    CHECK(sim_server_end(c->sim)->outcome == OUTCOME_COMPLETED);
    c->sim->tap = (struct sim_tap){0};
    return c;
}

/* The oracle and a disk as at the beginning; nothing is under way. */
static inline void script_begin(struct script *c, struct sim_disk *disk)
{
    struct sim *s = c->sim;
    struct compared compared = {.n = 0};

    for (size_t i = 0; i < s->flights_n; i++)
        s->flight[i].frame.len = 0;
    s->flights_n = 0;
    s->now_us = 1000;
    oracle_free(s->oracle);
    s->oracle = oracle_new(s);
    s->broken[0] = 0;
    memcpy(compared.secret, disk->compared.secret, sizeof compared.secret);
    disk_deinit(disk);
    *disk = (struct sim_disk){.compared = compared};
    disk_init(disk);
}

/* --- what the input makes of a frame --- */

static inline void script_edit(struct feed *f, struct buf *frame)
{
    const uint32_t n = feed_among(f, 1, SCRIPT_EDITS_MAX);

    for (uint32_t i = 0; i < n && frame->len > 0; i++) {
        const size_t at = feed_number(f, 2) % frame->len;

        frame->data[at] ^= feed_byte(f);
    }
}

static inline void script_raw(struct feed *f, struct buf *frame)
{
    uint8_t bytes[SCRIPT_RAW_MAX];
    const size_t n = 1 + feed_byte(f);

    feed_bytes(f, bytes, n);
    frame->len = 0;
    CHECK(buf_append(frame, bytes, n) == STATUS_OK);
}

/* One hello of the frame says something else, under a signature that holds. */
static inline void script_sign(struct feed *f, struct buf *frame)
{
    struct wire_msg m = mis_unpack(frame);
    const uint32_t which = feed_byte(f);
    struct wire_hello list[MIS_PARTIES], *h = &m.hello;
    struct sign_key key = {0};
    uint8_t signature[WIRE_SIGNATURE_BYTES];
    char name[MUTATE_NAME_MAX];
    struct buf body;

    if (m.kind == WIRE_HELLOS) {
        memcpy(list, m.hellos.hello, m.hellos.n * sizeof *list);
        m.hellos.hello = list;
        h = &list[which % m.hellos.n];
    } else if (m.kind != WIRE_HELLO) {
        return;
    }
    buf_init(&body, MUTATE_FRAME_MAX);
    CHECK(buf_append(&body, h->body.data, h->body.n) == STATUS_OK);
    if (mutate_hello_body(&body, name, feed_number(f, 2)) && body.len <= SIGN_MESSAGE_MAX) {
        memcpy(key.public_key, h->public_key, sizeof key.public_key);
        CHECK(sign_make(signature, &key, "vfl/hello/2", body.data, body.len) == STATUS_OK);
        h->body = (struct wire_bytes){body.data, body.len};
        h->signature = signature;
        mis_pack(frame, &m);
    }
    buf_deinit(&body);
}

enum script_deed {
    SCRIPT_HONEST, /* so many frames as recorded */
    SCRIPT_EDIT,
    SCRIPT_FIELD,
    SCRIPT_SIGN,
    SCRIPT_AGAIN, /* some other frame of the record */
    SCRIPT_RAW,
    SCRIPT_SKIP,
    SCRIPT_EVENT,
    SCRIPT_DEEDS
};

/* Makes *frame, which begins as the recorded one.  False: it is left out. */
static inline bool script_change(struct script *c, struct feed *f, enum script_deed deed, bool up,
                                 struct buf *frame)
{
    char name[MUTATE_NAME_MAX];
    size_t other;

    switch (deed) {
    case SCRIPT_EDIT: script_edit(f, frame); break;
    case SCRIPT_FIELD: (void)mutate_frame(frame, name, feed_number(f, 2)); break;
    case SCRIPT_SIGN: script_sign(f, frame); break;
    case SCRIPT_AGAIN:
        other = feed_number(f, 2) % c->n;
        while (c->at[other].up != up)
            other = (other + 1) % c->n;
        mis_copy(frame, &c->at[other].frame);
        break;
    case SCRIPT_RAW: script_raw(f, frame); break;
    case SCRIPT_SKIP: return false;
    case SCRIPT_HONEST:
    case SCRIPT_EVENT:
    case SCRIPT_DEEDS: break;
    }
    return true;
}

/* A run whose end was told in words, and whose invariants held. */
static inline void script_check(struct sim *s, const struct sim_end *e)
{
    if (s->broken[0] != 0)
        fprintf(stderr, "%s\n", s->broken);
    CHECK(s->broken[0] == 0);
    if (e->over && e->outcome == OUTCOME_FAILED)
        feed_check_words(e->error.text);
}

#endif
