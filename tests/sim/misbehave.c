/* misbehave.c -- recording a script, one act in its middle, and what is said of its end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave.h"

#include "common/base/check.h"
#include "party/core.h"
#include "server/parts.h"
#include "tests/lib/instrumented.h"
#include "tests/sim/flight.h"

#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { FRAME_MAX = 1 << 24, MMAP_MIN = 1 << 24, TOP_PAD = 1 << 26 };

/* --- frames --- */

void mis_say_elements(struct wire_hello *h, const struct sign_key *key, const uint8_t *elements,
                      struct agree_hello *made)
{
    struct buf body;

    h->elements = elements;
    buf_init(&body, WIRE_HELLO_MAX);
    CHECK(wire_pack_hello_body(&body, h) == STATUS_OK);
    memcpy(made->body, body.data, body.len);
    made->body_len = body.len;
    memcpy(made->public_key, key->public_key, sizeof made->public_key);
    CHECK(sign_make(made->signature, key, "vfl/hello/2", body.data, body.len) == STATUS_OK);
    *h = agree_show_hello(made);
    buf_deinit(&body);
}

void mis_copy(struct buf *to, const struct buf *from)
{
    if (to->max == 0)
        buf_init(to, FRAME_MAX);
    to->len = 0;
    CHECK(buf_append(to, from->data, from->len) == STATUS_OK);
}

void mis_pack(struct buf *out, const struct wire_msg *m)
{
    if (out->max == 0)
        buf_init(out, FRAME_MAX);
    CHECK(wire_pack(out, m) == STATUS_OK);
}

struct wire_msg mis_unpack(const struct buf *frame)
{
    static struct wire_unpacker u;
    struct error err = {0};
    struct wire_msg m;

    if (u.block == NULL)
        CHECK(wire_unpacker_init(&u, 1 << 20) == STATUS_OK);
    if (wire_unpack(&m, &u, frame->data, frame->len, &err) != STATUS_OK) {
        fprintf(stderr, "misbehave: an honest frame: %s\n", err.text);
        abort();
    }
    return m;
}

static void describe(struct mis_landing *l, const struct wire_msg *m)
{
    l->kind = m->kind;
    switch (m->kind) {
    case WIRE_OFFER: l->generation = m->offer.generation; break;
    case WIRE_BEHIND: l->generation = m->behind.generation; break;
    case WIRE_REPLAY: l->generation = m->replay.generation; break;
    case WIRE_HELLO: l->generation = m->hello.generation; break;
    case WIRE_HELLOS: l->generation = m->hellos.generation; break;
    case WIRE_CONFIRM: l->generation = m->confirm.generation; break;
    case WIRE_CONFIRMS: l->generation = m->confirms.generation; break;
    case WIRE_BATCH: l->generation = m->batch.generation; break;
    case WIRE_BROADCAST:
        l->generation = m->broadcast.generation;
        l->purpose = m->broadcast.purpose;
        l->round = m->broadcast.round;
        l->opens = m->broadcast.opens;
        l->closes = m->broadcast.closes;
        break;
    case WIRE_UPLOAD:
        l->generation = m->upload.generation;
        l->purpose = m->upload.purpose;
        l->round = m->upload.round;
        break;
    case WIRE_SHARE:
    case WIRE_RELAY:
        l->generation = m->share.generation;
        l->purpose = m->share.purpose;
        l->round = m->share.round;
        break;
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_KEPT:
    case WIRE_FINISH:
    case WIRE_REFUSE:
    case WIRE_KINDS: break;
    }
}

/* --- the undisturbed run --- */

static struct sim *new_sim(const struct mis_script *c, bool watch)
{
    struct sim_options o = c->options;
    struct sim *s;

    o.watch = watch;
    s = sim_new(&o);

    CHECK(c->options.parties == MIS_PARTIES);
    for (size_t i = 0; i < c->rules_n; i++)
        sim_rule(s, c->rule[i]);
    return s;
}

static void note(struct sim *s, struct flight *f, void *owner)
{
    struct mis_script *c = owner;
    struct mis_landing *l = &c->at[c->n];
    struct wire_msg m;

    if (f->party != MIS_VICTIM)
        return;
    CHECK(c->n < MIS_LANDINGS_MAX);
    *l = (struct mis_landing){.up = f->up,
                              .phase = f->up ? s->server->fed.sm.phase
                                             : s->party[f->party].session->sm.phase};
    mis_copy(&l->frame, &f->frame);
    m = mis_unpack(&l->frame);
    describe(l, &m);
    c->n++;
}

static void models(struct sim *s, char out[MIS_PARTIES + 1][65])
{
    for (int who = SIM_SERVER; who < MIS_PARTIES; who++)
        sim_model(s, who, out[who + 1]);
}

static bool completed(const struct sim *s)
{
    bool all = sim_server_end(s)->over && sim_server_end(s)->outcome == OUTCOME_COMPLETED;

    for (uint32_t i = 0; i < MIS_PARTIES; i++)
        all = all && sim_party_end(s, i)->over && sim_party_end(s, i)->outcome == OUTCOME_COMPLETED;
    return all;
}

/* Thousands of worlds are made and freed: without this half of the time goes into pages that are
 * given back to the system and come again. */
static void keep_pages(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_MIN);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    (void)mallopt(M_TOP_PAD, TOP_PAD);
}

void mis_record(struct mis_script *c)
{
    struct sim *s;

    keep_pages();
    s = new_sim(c, true);
    c->n = 0;
    s->tap = (struct sim_tap){note, c};
    sim_run(s, HOUR_US);
    if (!completed(s)) {
        fprintf(stderr, "misbehave: %s: %s; p2: %s\n", c->name, sim_server_end(s)->error.text,
                sim_party_end(s, MIS_VICTIM)->error.text);
        abort();
    }
    models(s, c->model);
    sim_free(s);
}

void mis_forget(struct mis_script *c)
{
    for (size_t i = 0; i < c->n; i++)
        buf_deinit(&c->at[i].frame);
    c->n = 0;
}

/* --- the disturbed one --- */

static uint32_t data_said(const struct sim *s)
{
    return sim_sent(s, MIS_VICTIM, WIRE_UPLOAD) + sim_sent(s, MIS_VICTIM, WIRE_SHARE);
}

static void landed(struct sim *s, struct flight *f, void *owner)
{
    struct mis *m = owner;
    struct wire_msg msg;

    if (m->done && m->also == NULL)
        return;
    msg = mis_unpack(&f->frame);
    mis_copy(&m->last[f->party][f->up][msg.kind], &f->frame);
    if (f->party != MIS_VICTIM)
        return;
    CHECK(m->landed < m->script->n);
    mis_copy(&m->frame[m->landed], &f->frame);
    if (m->landed == m->at) {
        m->done = true;
        m->up = f->up;
        m->late = sim_sent(s, SIM_SERVER, WIRE_FINISH) > 0;
        m->said = data_said(s);
        m->charged = sim_charged(s, MIS_VICTIM);
        m->act(m, f);
    } else if (m->done && m->landed == m->also_at) {
        m->also(m, f);
        m->also = NULL;
    }
    m->landed++;
}

static const char *const end_names[] = {
    [MIS_REFUSED] = "refused",
    [MIS_DATA] = "refused as data",
    [MIS_POLICY] = "refused by policy",
    [MIS_VOID] = "noise",
    [MIS_UNOPENED] = "a share that does not open",
    [MIS_PATIENCE] = "patience",
    [MIS_CLOSED] = "closed",
    [MIS_SAME] = "as undisturbed",
    [MIS_TOLD] = "an outcome taken over",
    [MIS_SPOKEN] = "a refusal put into p2's mouth",
    [MIS_OTHER] = "completed with other models",
    [MIS_WRONG] = "WRONG",
};

const char *mis_end_name(enum mis_end e)
{
    return end_names[e];
}

PRINTF_LIKE(2, 3) static enum mis_end wrong(struct mis *m, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(m->words, sizeof m->words, fmt, args);
    va_end(args);
    return MIS_WRONG;
}

static bool says(const struct sim_end *e, const char *what)
{
    return strstr(e->error.text, what) != NULL;
}

static enum mis_end of_kind(enum status_kind k)
{
    return k == STATUS_KIND_POLICY ? MIS_POLICY : k == STATUS_KIND_CONFIG ? MIS_DATA : MIS_REFUSED;
}

static bool waits(const struct mis *m)
{
    return m->sim->plan.protocol.straggler == STRAGGLER_WAIT;
}

/* The server has lied to p2: it ends by itself, tells the server why, and the run is over. */
static enum mis_end party_refused(struct mis *m)
{
    const struct sim_end *p = sim_party_end(m->sim, MIS_VICTIM), *server = sim_server_end(m->sim);
    enum status_kind kind = status_kind(p->error.status), of_server;

    of_server = status_kind(server->error.status);
    if (m->late || (server->outcome == OUTCOME_COMPLETED && !waits(m)))
        of_server = kind; /* it had ended by then, or goes on without p2 */
    else if (!says(server, "p2"))
        return wrong(m, "the server does not name p2: %s", server->error.text);
    if (data_said(m->sim) != m->said + m->answers)
        return wrong(m, "p2 still sends data, then: %s", p->error.text);
    if (kind != of_server && of_server != STATUS_KIND_NET)
        return wrong(m, "the server ends with %d: %s", status_exit_code(server->error.status),
                     server->error.text);
    return of_kind(kind);
}

/* The server has offered a job that p2 knows nothing of: it says so, and all are told. */
static enum mis_end job_refused(struct mis *m)
{
    if (data_said(m->sim) != m->said + m->answers)
        return wrong(m, "p2 still sends data: %s", sim_party_end(m->sim, MIS_VICTIM)->error.text);
    return of_kind(status_kind(sim_party_end(m->sim, MIS_VICTIM)->error.status));
}

/* p2 has lied to the server: it is told so and goes, and under `wait` the others wait in vain. */
static enum mis_end party_dropped(struct mis *m)
{
    const struct sim_end *p = sim_party_end(m->sim, MIS_VICTIM), *server = sim_server_end(m->sim);
    enum status_kind kind = status_kind(p->error.status);

    if (server->outcome == OUTCOME_FAILED && !says(server, "p2"))
        return wrong(m, "the server does not name p2: %s", server->error.text);
    if (server->outcome == OUTCOME_FAILED && status_kind(server->error.status) != kind &&
        status_kind(server->error.status) != STATUS_KIND_NET)
        return wrong(m, "the server ends with %d: %s", status_exit_code(server->error.status),
                     server->error.text);
    return of_kind(kind);
}

static bool same_models(struct mis *m, struct sim *s)
{
    char now[MIS_PARTIES + 1][65];

    models(s, now);
    return memcmp(now, m->script->model, sizeof now) == 0;
}

static enum mis_end all_completed(struct mis *m)
{
    const struct server_report *r = sim_server_report(m->sim);
    bool same = same_models(m, m->sim);

    if (r->integrity_failures > 0 && same)
        return MIS_VOID;
    if (!same)
        return MIS_OTHER;
    return sim_unpack_failures(m->sim) > 0 ? MIS_CLOSED : MIS_SAME;
}

static enum mis_end ending(struct mis *m)
{
    struct sim *s = m->sim;
    const struct sim_end *p = sim_party_end(s, MIS_VICTIM), *server = sim_server_end(s);
    const char *broken = sim_broken(s);

    if (m->skipped)
        return MIS_SAME;
    if (broken != NULL)
        return wrong(m, "%s", broken);
    if (!m->done || !server->over)
        return wrong(m, "%s", m->done ? "the server does not end" : "the landing never came");
    for (uint32_t i = 0; i < MIS_PARTIES; i++) {
        if (!sim_party_end(s, i)->over)
            return wrong(m, "p%u does not end", i + 1);
    }
    if (m->mute && data_said(s) > m->said + m->answers)
        return wrong(m, "p2 sends more, then: %s", p->error.text);
    if (m->mute && m->answers == 0 && sim_charged(s, MIS_VICTIM) > m->charged)
        return wrong(m, "p2 charges more, then: %s", p->error.text);
    if (m->names != NULL && !says(server, m->names))
        return wrong(m, "the server does not say %s: %s", m->names, server->error.text);
    if (completed(s))
        return all_completed(m);
    if (server->error.status == STATUS_INTEGRITY)
        return MIS_VOID;
    if (m->late && (p->error.text[0] == 0 || says(p, "the server ends the run: ")))
        return MIS_TOLD;
    for (uint32_t i = 0; i < MIS_PARTIES; i++) {
        if (sim_party_end(s, i)->error.status == STATUS_AUTH &&
            says(sim_party_end(s, i), "the share of p") && says(server, "the share of p"))
            return MIS_UNOPENED;
    }
    if (m->up && says(server, "p2 refuses: ") && says(p, "the server ends the run: p2 refuses: "))
        return MIS_SPOKEN;
    if (!m->up && says(server, "p2 refuses: a job of kind ") &&
        says(p, "the server ends the run: p2 "))
        return job_refused(m);
    if (p->outcome == OUTCOME_FAILED && says(p, "the server refuses: "))
        return m->alone ? wrong(m, "p2 did not see it: %s", p->error.text) : party_dropped(m);
    if (p->outcome == OUTCOME_FAILED && !says(p, "the server ends the run: ") &&
        status_kind(p->error.status) != STATUS_KIND_NET)
        return party_refused(m);
    if (server->error.status == STATUS_PATIENCE && says(server, "p2"))
        return MIS_PATIENCE;
    if (server->outcome == OUTCOME_COMPLETED && !waits(m) && p->error.status == STATUS_PATIENCE)
        return MIS_PATIENCE; /* the others went on without it, to the end */
    return wrong(m, "the server: %d %s; p2: %d %s", status_exit_code(server->error.status),
                 server->error.text, status_exit_code(p->error.status), p->error.text);
}

/* Nothing was lost: the same federation without the lie comes to the models it would have. */
static enum mis_end started_again(struct mis *m, enum mis_end was)
{
    struct sim *again = sim_resume(m->sim);
    const char *broken;

    sim_run(again, HOUR_US);
    broken = sim_broken(again);
    if (broken != NULL)
        was = wrong(m, "started again: %s", broken);
    else if (!completed(again))
        was = wrong(m, "started again: the server: %s; p2: %s", sim_server_end(again)->error.text,
                    sim_party_end(again, MIS_VICTIM)->error.text);
    else if (!same_models(m, again))
        was = wrong(m, "started again: other models");
    sim_free(again);
    return was;
}

/* Is there something to go on from, and was it not tampered with? */
static bool leaves_state(const struct mis *m, enum mis_end e)
{
    bool refused = e <= MIS_POLICY || e == MIS_PATIENCE || e == MIS_UNOPENED;

    return refused && waits(m) && !m->unwatched && !m->taken && !m->late;
}

static void forget_frames(struct mis *m)
{
    for (size_t i = 0; i < MIS_LANDINGS_MAX; i++)
        buf_deinit(&m->frame[i]);
    for (size_t i = 0; i < MIS_PARTIES; i++) {
        for (size_t k = 0; k < WIRE_KINDS; k++) {
            buf_deinit(&m->last[i][0][k]);
            buf_deinit(&m->last[i][1][k]);
        }
    }
    memset(m->frame, 0, sizeof m->frame);
    memset(m->last, 0, sizeof m->last);
}

enum mis_end mis_run(struct mis *m)
{
    enum mis_end e;

    m->landed = 0;
    m->done = m->skipped = false;
    m->sim = new_sim(m->script, !m->unwatched);
    m->sim->tap = (struct sim_tap){landed, m};
    sim_run(m->sim, HOUR_US);
    snprintf(m->words, sizeof m->words, "%.300s | %.300s", sim_server_end(m->sim)->error.text,
             sim_party_end(m->sim, MIS_VICTIM)->error.text);
    e = ending(m);
    if (leaves_state(m, e))
        e = started_again(m, e);
    sim_free(m->sim);
    m->sim = NULL;
    forget_frames(m);
    return e;
}

/* --- many of them --- */

enum { EVERY = INSTRUMENTED ? 29 : 1 };

void mis_expect(struct mis_tally *t, struct mis *m, unsigned may)
{
    enum mis_end e;

    if (t->asked++ % EVERY != 0)
        return;
    m->script = t->script;
    e = mis_run(m);
    if (m->skipped)
        return;
    t->run++;
    if (getenv("MIS_SHOW") != NULL)
        print_message("%s: %s: %s: %s\n", t->script->name, m->name, mis_end_name(e), m->words);
    if ((may >> e & 1u) == 0) {
        t->wrong++;
        print_error("%s: %s: %s: %s\n", t->script->name, m->name, mis_end_name(e), m->words);
    } else if (e == MIS_SAME || e == MIS_OTHER) {
        t->harmless++;
    } else {
        t->refused++;
    }
}

void mis_close(const struct mis_tally *t, size_t least)
{
    print_message("%s: %s: %zu misbehaviours, %zu refused, %zu without effect\n", t->script->name,
                  t->what, t->run, t->refused, t->harmless);
    if (t->wrong > 0)
        fail_msg("%zu of %zu did not end as they should", t->wrong, t->run);
    assert_true(t->refused >= least / (EVERY == 1 ? 1 : 2 * EVERY));
}

/* --- a message of every kind --- */

void mis_template(struct wire_msg *m, enum wire_kind kind, uint64_t generation)
{
    static const uint8_t some[WIRE_SIGNATURE_BYTES] = {1, 2, 3}, members[] = {0, 1, 2};
    static const float numbers[16];
    static struct wire_hello hello[MIS_PARTIES];
    static struct wire_confirm confirm[MIS_PARTIES];
    static uint8_t bytes[WIRE_HELLO_MAX];
    const struct wire_bytes gradient = {(const uint8_t *)numbers, sizeof numbers};
    struct wire_hello h = {.plan_digest = some,
                           .nonce = some,
                           .kex_public = some,
                           .elements = some,
                           .generation = generation,
                           .name = "p2",
                           .train_rows = 6};
    struct buf body;

    buf_init(&body, WIRE_HELLO_MAX);
    CHECK(wire_pack_hello_body(&body, &h) == STATUS_OK);
    memcpy(bytes, body.data, body.len);
    h = (struct wire_hello){.body = {bytes, body.len}, .public_key = some, .signature = some};
    buf_deinit(&body);
    for (size_t i = 0; i < MIS_PARTIES; i++) {
        hello[i] = h;
        confirm[i] = (struct wire_confirm){.sid = some,
                                           .proofs = some,
                                           .marks = some,
                                           .signature = some,
                                           .generation = generation,
                                           .seen = {some, MIS_PARTIES * WIRE_SEEN_BYTES}};
    }
    *m = (struct wire_msg){.kind = kind};
    switch (kind) {
    case WIRE_JOIN:
        m->join = (struct wire_join){
            .version = WIRE_VERSION, .roster_digest = some, .trail = some, .min_parties = 2};
        break;
    case WIRE_OFFER:
        m->offer = (struct wire_offer){
            generation, 0, {"train", {some, 8}}, {members, sizeof members}, some, some, 0};
        break;
    case WIRE_BATCH: m->batch = (struct wire_batch){generation, .entries = {some, 32}}; break;
    case WIRE_BEHIND: m->behind = (struct wire_behind){generation, 0}; break;
    case WIRE_REPLAY: m->replay = (struct wire_replay){generation, 0, gradient}; break;
    case WIRE_HELLO: m->hello = h; break;
    case WIRE_HELLOS: m->hellos = (struct wire_hellos){generation, MIS_PARTIES, hello}; break;
    case WIRE_CONFIRM: m->confirm = confirm[0]; break;
    case WIRE_CONFIRMS:
        m->confirms = (struct wire_confirms){generation, MIS_PARTIES, confirm, some};
        break;
    case WIRE_BROADCAST:
        m->broadcast = (struct wire_broadcast){.generation = generation, .opens = true, .round = 1};
        break;
    case WIRE_UPLOAD:
        m->upload = (struct wire_upload){.generation = generation, .round = 1, .payload = gradient};
        break;
    case WIRE_SHARE:
    case WIRE_RELAY:
        m->share = (struct wire_shares){.generation = generation,
                                        .round = 1,
                                        .sealed = {some, 8},
                                        .tags = {some, 2 * WIRE_TAG_BYTES}};
        break;
    case WIRE_KEPT: m->kept = (struct wire_kept){1, false}; break;
    case WIRE_FINISH: m->finish = (struct wire_finish){.outcome = OUTCOME_COMPLETED}; break;
    case WIRE_REFUSE: m->refuse.kind = STATUS_KIND_PEER; break;
    case WIRE_NONE:
    case WIRE_KINDS: CHECK(!"no message has this kind");
    }
}
