/* trace.c -- everything that a run lets out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/trace.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/wire/purpose.h"

#include <inttypes.h>
#include <string.h>

enum { FRAME_MAX = 1 << 24, HIDDEN_MAX = 1 << 20, HELLO_FRAME_MAX = 1 << 12 };

/* --- digests: of equal length bytes equal, and that by no chance that matters --- */

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *b = bytes;

    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * 0x100000001b3ull;
    return h ^ (h >> 29);
}

static uint64_t number(uint64_t h, uint64_t x)
{
    return mix(h, &x, sizeof x);
}

/* --- what does not count --- */

static const uint8_t hidden[HIDDEN_MAX];

static void hide(struct wire_bytes *b)
{
    CHECK(b->n <= sizeof hidden);
    b->data = hidden;
}

/* Which of the names it is, counted from the first that was said. */
static uint64_t which(struct trace *t, const void *bytes, size_t n)
{
    const uint64_t name = mix(0, bytes, n);
    size_t i = 0;

    if (n == 0)
        return UINT64_MAX;
    while (i < t->names && t->name[i] != name)
        i++;
    if (i == t->names && t->names < TRACE_NAMES_MAX)
        t->name[t->names++] = name;
    return i;
}

static uint64_t name_bytes(struct trace *t, struct wire_bytes *b)
{
    const uint64_t n = which(t, b->data, b->n);

    hide(b);
    return n;
}

static uint64_t name_of(struct trace *t, const uint8_t **p, size_t n)
{
    struct wire_bytes b = {*p, n};
    const uint64_t k = name_bytes(t, &b);

    *p = b.data;
    return k;
}

/* A hello's fields travel inside its signed body: the digest is of the fields, and the body is
 * packed anew without what is hidden. */
static uint64_t of_hello(struct trace *t, struct wire_hello *said, bool fedvs)
{
    struct wire_msg m = {.kind = WIRE_HELLO, .hello = *said};
    struct wire_hello *h = &m.hello;
    uint64_t names;

    if (!fedvs)
        return 0;
    t->frame.len = 0;
    CHECK(wire_pack(&t->frame, &m) == STATUS_OK &&
          wire_unpack(&m, &t->unpacker, t->frame.data, t->frame.len, NULL) == STATUS_OK);
    names = number(name_bytes(t, &h->dealing), name_bytes(t, &h->holds));
    names = number(names, name_of(t, &said->signature, WIRE_SIGNATURE_BYTES));
    t->frame.len = 0;
    CHECK(wire_pack_hello_body(&t->frame, h) == STATUS_OK);
    names = mix(names, t->frame.data, t->frame.len);
    hide(&said->body);
    return names;
}

static uint64_t of_confirm(struct trace *t, struct wire_confirm *c)
{
    uint64_t names = name_of(t, &c->sid, WIRE_DIGEST_BYTES);

    names = number(names, name_of(t, &c->proofs, WIRE_PROOFS_BYTES));
    names = number(names, name_of(t, &c->marks, WIRE_PROOFS_BYTES));
    return number(names, name_of(t, &c->signature, WIRE_SIGNATURE_BYTES));
}

/* Takes out of m what does not count; what stays of it is in the digest. */
static uint64_t without_content(struct trace *t, struct wire_msg *m, bool fedvs)
{
    switch (m->kind) {
    case WIRE_UPLOAD:
        hide(&m->upload.payload);
        if (fedvs)
            hide(&m->upload.check);
        return 0;
    case WIRE_SHARE:
        hide(&m->share.sealed);
        hide(&m->share.tags);
        return 0;
    case WIRE_HELLO: return of_hello(t, &m->hello, fedvs);
    case WIRE_CONFIRM: return fedvs ? of_confirm(t, &m->confirm) : 0;
    case WIRE_BATCH:
        hide(&m->batch.entries);
        hide(&m->batch.tag);
        hide(&m->batch.tallies);
        return 0;
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_OFFER:
    case WIRE_BEHIND:
    case WIRE_REPLAY:
    case WIRE_HELLOS:
    case WIRE_CONFIRMS:
    case WIRE_BROADCAST:
    case WIRE_RELAY:
    case WIRE_KEPT:
    case WIRE_FINISH:
    case WIRE_REFUSE:
    case WIRE_KINDS: break;
    }
    return 0;
}

/* --- events --- */

static struct trace_event *add(struct trace *t, struct sim *s, enum trace_what what, int who)
{
    static struct trace_event behind;
    struct trace_event *e = t->n < TRACE_EVENTS_MAX ? &t->event[t->n++] : &behind;

    t->too_long |= e == &behind;
    memset(e, 0, sizeof *e);
    e->what = what;
    e->who = who;
    e->at_us = sim_now_us(s);
    return e;
}

static void describe(char *out, const struct wire_msg *m)
{
    switch (m->kind) {
    case WIRE_UPLOAD:
        snprintf(out, TRACE_WORDS_MAX, "round %" PRIu64 " of generation %" PRIu64 ", %s, %zu bytes",
                 m->upload.round, m->upload.generation, purpose_of(m->upload.purpose)->name,
                 m->upload.payload.n);
        break;
    case WIRE_SHARE:
        snprintf(out, TRACE_WORDS_MAX, "round %" PRIu64 " of generation %" PRIu64 ", %s, %zu bytes",
                 m->share.round, m->share.generation, purpose_of(m->share.purpose)->name,
                 m->share.sealed.n);
        break;
    case WIRE_REFUSE: snprintf(out, TRACE_WORDS_MAX, "%.150s", m->refuse.text); break;
    case WIRE_FINISH: snprintf(out, TRACE_WORDS_MAX, "%.150s", m->finish.text); break;
    case WIRE_BATCH:
        snprintf(out, TRACE_WORDS_MAX, "step %u, %zu + %zu + %zu bytes, %u in common",
                 m->batch.step, m->batch.entries.n, m->batch.tag.n, m->batch.tallies.n,
                 m->batch.common);
        break;
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_OFFER:
    case WIRE_BEHIND:
    case WIRE_REPLAY:
    case WIRE_HELLO:
    case WIRE_HELLOS:
    case WIRE_CONFIRM:
    case WIRE_CONFIRMS:
    case WIRE_BROADCAST:
    case WIRE_RELAY:
    case WIRE_KEPT:
    case WIRE_KINDS: break;
    }
}

static bool of_records(const struct wire_msg *m)
{
    return m->kind == WIRE_UPLOAD ||
           (m->kind == WIRE_SHARE && m->share.purpose != PURPOSE_DEAL_KEYS);
}

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct trace *t = owner;
    struct trace_event *e = add(t, s, TRACE_SAID, who);
    struct wire_msg counts = *m;
    uint64_t names = 0;

    e->kind = m->kind;
    e->to = who == SIM_SERVER ? to : 0;
    describe(e->words, m);
    if (who != SIM_SERVER) {
        names = without_content(t, &counts, s->plan.protocol.aggregation == AGGREGATION_FEDVS);
        t->released |= of_records(m);
    }
    t->frame.len = 0;
    CHECK(wire_pack(&t->frame, &counts) == STATUS_OK);
    e->size = t->frame.len;
    if (who != SIM_SERVER)
        e->digest = mix(number(0, names), t->frame.data, t->frame.len);
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    struct trace_event *e = add(owner, s, TRACE_CHARGED, (int)party);
    uint64_t h = mix(0, c->plan, c->plan == NULL ? 0 : WIRE_DIGEST_BYTES);

    e->size = c->n;
    h = number(h, (uint64_t)c->purpose);
    h = number(h, (uint64_t)c->give_back);
    h = number(h, c->place);
    h = number(h, c->rounds);
    h = number(h, c->predicts);
    h = number(h, c->contributes);
    h = number(h, c->asked);
    h = number(h, c->unknown);
    h = mix(h, c->rows, c->n * sizeof *c->rows);
    h = mix(h, c->seen, c->seen_n * sizeof *c->seen);
    e->digest = h;
    snprintf(e->words, sizeof e->words, "%s%u rounds from %" PRIu64 ", %zu releases, %s",
             c->give_back ? "gives back " : "", c->rounds, c->place, c->n,
             purpose_of(c->purpose)->name);
}

/* The words of an end stand in the log of who ends: others see its exit code alone. */
static void ended(struct sim *s, int who, void *owner)
{
    const struct sim_end *end =
        who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);
    struct trace *t = owner;
    struct trace_event *e = add(t, s, TRACE_ENDED, who);

    e->digest = number((uint64_t)end->outcome, (uint64_t)status_exit_code(end->error.status));
    t->failed |= end->outcome == OUTCOME_FAILED || end->outcome == OUTCOME_BUDGET;
    snprintf(e->words, sizeof e->words, "%s, exit %d, %.120s", wire_outcome_name(end->outcome),
             status_exit_code(end->error.status), end->error.text);
}

/* --- life --- */

void trace_init(struct trace *t)
{
    memset(t, 0, sizeof *t);
    t->event = mem_alloc(TRACE_EVENTS_MAX, sizeof *t->event);
    CHECK(t->event != NULL);
    buf_init(&t->frame, FRAME_MAX);
    CHECK(wire_unpacker_init(&t->unpacker, HELLO_FRAME_MAX) == STATUS_OK);
}

void trace_deinit(struct trace *t)
{
    mem_free(t->event);
    buf_deinit(&t->frame);
    wire_unpacker_deinit(&t->unpacker);
}

void trace_begin(struct trace *t, struct sim *s)
{
    t->n = t->names = 0;
    t->too_long = t->released = t->failed = false;
    s->ear = (struct sim_ear){.said = said, .charged = charged, .ended = ended, .owner = t};
}

static bool same(const struct trace_event *a, const struct trace_event *b)
{
    return a->what == b->what && a->who == b->who && a->to == b->to && a->kind == b->kind &&
           a->at_us == b->at_us && a->size == b->size && a->digest == b->digest;
}

size_t trace_differ(const struct trace *a, const struct trace *b)
{
    const size_t most = a->n > b->n ? a->n : b->n;

    for (size_t i = 0; i < most; i++) {
        if (i >= a->n || i >= b->n || !same(&a->event[i], &b->event[i]))
            return i;
    }
    return SIZE_MAX;
}

static void print_event(const struct trace_event *e, FILE *out)
{
    static const char *const whats[] = {"says", "charges", "ends"};
    char who[16] = "the server", to[16] = "";

    if (e->who != SIM_SERVER)
        snprintf(who, sizeof who, "p%d", e->who + 1);
    else if (e->what == TRACE_SAID)
        snprintf(to, sizeof to, " to p%u", e->to + 1);
    fprintf(out, "    %10.3f ms  %s %s %s%s (%" PRIu64 ", %016" PRIx64 ") %s\n",
            (double)e->at_us / 1000, who, whats[e->what],
            e->what == TRACE_SAID ? wire_kind_name(e->kind) : "", to, e->size, e->digest, e->words);
}

void trace_print(const struct trace *t, size_t from, size_t to, FILE *out)
{
    for (size_t i = from; i < to && i < t->n; i++)
        print_event(&t->event[i], out);
    if (from >= t->n)
        fprintf(out, "    (nothing more)\n");
}
