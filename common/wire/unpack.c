/* unpack.c -- protobuf bytes to checked structs, under a memory quota.
 *
 * protobuf-c's own faults that matter here (threats E2, E3): it amplifies small frames into much
 * memory, keeps unknown fields, and lets the last of repeated singular fields win.  The quota
 * bounds the first; the second and third are refused: a message must be exactly the bytes it would
 * be packed to (canonical.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/wire/canonical.h"

#include "proto/vfl.pb-c.h"

#include <stdio.h>
#include <string.h>

enum { QUOTA_ALIGNMENT = 16 };

static void *quota_alloc(void *data, size_t size)
{
    struct wire_unpacker *u = data;
    size_t start = (u->used + QUOTA_ALIGNMENT - 1) & ~(size_t)(QUOTA_ALIGNMENT - 1);

    if (start > u->size || size > u->size - start)
        return NULL;
    u->used = start + size;
    return u->block + start;
}

static void quota_free(void *data, void *block)
{
    (void)data;
    (void)block; /* the next unpack forgets everything at once */
}

enum status wire_unpacker_init(struct wire_unpacker *u, size_t frame_max)
{
    *u = (struct wire_unpacker){0};
    u->hellos = mem_alloc(WIRE_MEMBERS_MAX, sizeof *u->hellos);
    u->confirms = mem_alloc(WIRE_MEMBERS_MAX, sizeof *u->confirms);
    if (u->hellos == NULL || u->confirms == NULL || wire_unpacker_grow(u, frame_max) != STATUS_OK) {
        wire_unpacker_deinit(u);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

enum status wire_unpacker_grow(struct wire_unpacker *u, size_t frame_max)
{
    /* Large frames are one vector: twice the frame is room enough, and four times would be wasted
     * memory. */
    size_t factor = frame_max > WIRE_QUOTA_BASE ? 2 : WIRE_QUOTA_FACTOR;
    size_t size = factor * frame_max + WIRE_QUOTA_BASE;
    uint8_t *block;

    if (size <= u->size)
        return STATUS_OK;
    block = mem_alloc(1, size);
    if (block == NULL)
        return STATUS_MEMORY;
    mem_free(u->block);
    u->block = block;
    u->size = size;
    u->used = 0;
    return STATUS_OK;
}

void wire_unpacker_deinit(struct wire_unpacker *u)
{
    mem_free(u->block);
    mem_free(u->hellos);
    mem_free(u->confirms);
    *u = (struct wire_unpacker){0};
}

/* --- checks of single fields --- */

static struct wire_bytes view(const ProtobufCBinaryData *field)
{
    return (struct wire_bytes){field->data, field->len};
}

static bool bytes_of(const uint8_t **out, const ProtobufCBinaryData *field, size_t n)
{
    *out = field->data;
    return field->len == n;
}

/* A digest that may be absent. */
static bool digest_or_none(struct wire_bytes *out, const ProtobufCBinaryData *field)
{
    *out = view(field);
    return field->len == 0 || field->len == WIRE_DIGEST_BYTES;
}

/* Text of peers ends up in logs and errors: bounded, and printable ASCII or '?'. */
static bool text_of(char *out, size_t out_max, const char *text)
{
    size_t n = text == NULL ? 0 : strlen(text);

    if (n > out_max)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    out[n] = 0;
    return true;
}

static bool name_of(char out[WIRE_NAME_MAX + 1], const char *text)
{
    size_t n = strlen(text);

    if (n == 0 || n > WIRE_NAME_MAX)
        return false;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && (text[i] <= 0x20 || text[i] >= 0x7f))
            return false;
        out[i] = text[i];
    }
    return true;
}

static enum status bad(struct error *err, const char *what)
{
    return error_set(err, STATUS_PROTOCOL, "malformed message: %s", what);
}

/* Indices of members, one a byte, no two alike. */
static bool ascending(struct wire_bytes indices)
{
    for (size_t i = 1; i < indices.n; i++) {
        if (indices.data[i] <= indices.data[i - 1])
            return false;
    }
    return indices.n <= WIRE_MEMBERS_MAX;
}

/* --- one function per message --- */

static enum status take_join(struct wire_join *j, const Vfl__Join *p, struct error *err)
{
    j->version = p->version;
    j->applied = p->applied;
    j->kept = p->kept;
    j->resumes = p->resumes;
    j->generation = p->generation;
    j->keeps = p->keeps;
    j->min_parties = p->min_parties;
    j->kept_before = p->kept_before;
    if (p->base.n_unknown_fields != 0 ||
        !bytes_of(&j->roster_digest, &p->roster_digest, WIRE_DIGEST_BYTES) ||
        !bytes_of(&j->trail, &p->trail, WIRE_DIGEST_BYTES))
        return bad(err, "join");
    return STATUS_OK;
}

/* A kind is compared with names: nothing but small letters, so that each has one form. */
static bool job_of(struct wire_job *j, const Vfl__Job *p)
{
    const size_t n = p == NULL ? 0 : strlen(p->kind);

    if (n == 0 || n > WIRE_JOB_KIND_MAX || strspn(p->kind, "abcdefghijklmnopqrstuvwxyz") != n)
        return false;
    memcpy(j->kind, p->kind, n + 1);
    j->text = view(&p->text);
    return j->text.n > 0 && j->text.n <= WIRE_JOB_TEXT_MAX;
}

static enum status take_offer(struct wire_offer *o, const Vfl__Offer *p, struct error *err)
{
    o->generation = p->generation;
    o->step = p->step;
    o->members = view(&p->members);
    if (!job_of(&o->job, p->job) || o->members.n == 0 || o->members.n > WIRE_MEMBERS_MAX ||
        !bytes_of(&o->element, &p->element, WIRE_ELEMENT_BYTES))
        return bad(err, "offer");
    if (!ascending(o->members))
        return bad(err, "offer: members are not ascending");
    return STATUS_OK;
}

static void take_behind(struct wire_behind *b, const Vfl__Behind *p)
{
    *b = (struct wire_behind){p->generation, p->applied};
}

/* Whether these are whole gradients, and no more than fit, is for those to say who know the plan.
 */
static enum status take_replay(struct wire_replay *r, const Vfl__Replay *p, struct error *err)
{
    *r = (struct wire_replay){p->generation, p->step, view(&p->gradient)};
    if (r->gradient.n == 0 || r->gradient.n > WIRE_PAYLOAD_MAX ||
        r->gradient.n % sizeof(float) != 0)
        return bad(err, "replay");
    return STATUS_OK;
}

static enum status take_hello(struct wire_hello *h, const Vfl__Hello *p, struct wire_unpacker *u,
                              struct error *err)
{
    ProtobufCAllocator quota = {quota_alloc, quota_free, u};
    Vfl__HelloBody *b;

    h->body = view(&p->body);
    if (p->base.n_unknown_fields != 0 ||
        !bytes_of(&h->public_key, &p->public_key, WIRE_KEY_BYTES) ||
        !bytes_of(&h->signature, &p->signature, WIRE_SIGNATURE_BYTES) || h->body.n == 0 ||
        h->body.n > WIRE_HELLO_MAX)
        return bad(err, "hello");
    b = vfl__hello_body__unpack(&quota, h->body.n, h->body.data);
    if (b == NULL || !canonical_message(&b->base, h->body.data, h->body.n) ||
        !name_of(h->name, b->name) ||
        !bytes_of(&h->plan_digest, &b->plan_digest, WIRE_DIGEST_BYTES) ||
        !bytes_of(&h->nonce, &b->nonce, WIRE_KEY_BYTES) ||
        !bytes_of(&h->kex_public, &b->kex_public, WIRE_KEY_BYTES) ||
        !digest_or_none(&h->dealing, &b->dealing) || !digest_or_none(&h->holds, &b->holds) ||
        !bytes_of(&h->elements, &b->elements, WIRE_ELEMENTS_BYTES))
        return bad(err, "hello body");
    h->generation = b->generation;
    h->train_rows = b->train_rows;
    h->test_rows = b->test_rows;
    h->features = b->features;
    h->degree = b->degree;
    h->held = b->held;
    h->ledger = b->ledger;
    return STATUS_OK;
}

static enum status take_hellos(struct wire_hellos *hs, const Vfl__Hellos *p,
                               struct wire_unpacker *u, struct error *err)
{
    if (p->n_hello == 0 || p->n_hello > WIRE_MEMBERS_MAX)
        return bad(err, "hellos");
    for (size_t i = 0; i < p->n_hello; i++) {
        enum status s = take_hello(&u->hellos[i], p->hello[i], u, err);
        if (s != STATUS_OK)
            return s;
    }
    *hs = (struct wire_hellos){p->generation, p->n_hello, u->hellos};
    return STATUS_OK;
}

static enum status take_confirm(struct wire_confirm *c, const Vfl__Confirm *p, struct error *err)
{
    c->generation = p->generation;
    c->seen = view(&p->seen);
    if (!bytes_of(&c->sid, &p->sid, WIRE_DIGEST_BYTES) ||
        !bytes_of(&c->proofs, &p->proofs, WIRE_PROOFS_BYTES) ||
        !bytes_of(&c->marks, &p->marks, WIRE_PROOFS_BYTES) ||
        !bytes_of(&c->signature, &p->signature, WIRE_SIGNATURE_BYTES) || c->seen.n == 0 ||
        c->seen.n % WIRE_SEEN_BYTES != 0 || c->seen.n > WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX)
        return bad(err, "confirm");
    return STATUS_OK;
}

static enum status take_confirms(struct wire_confirms *cs, const Vfl__Confirms *p,
                                 struct wire_unpacker *u, struct error *err)
{
    const uint8_t *proof;

    if (p->n_confirm == 0 || p->n_confirm > WIRE_MEMBERS_MAX ||
        !bytes_of(&proof, &p->proof, WIRE_PROOF_BYTES))
        return bad(err, "confirms");
    for (size_t i = 0; i < p->n_confirm; i++) {
        enum status s = take_confirm(&u->confirms[i], p->confirm[i], err);
        if (s != STATUS_OK)
            return s;
    }
    *cs = (struct wire_confirms){p->generation, p->n_confirm, u->confirms, proof};
    return STATUS_OK;
}

static enum status take_broadcast(struct wire_broadcast *b, const Vfl__Broadcast *p,
                                  struct error *err)
{
    *b = (struct wire_broadcast){
        .generation = p->generation,
        .closes = p->closes,
        .opens = p->opens,
        .close_step = p->close_step,
        .gradient = view(&p->gradient),
        .purpose = (enum wire_purpose)p->purpose,
        .round = p->round,
        .place = p->place,
        .sweep = p->sweep,
        .absent = view(&p->absent),
        .last = p->last,
    };
    if ((!b->closes && !b->opens && !b->last) || (b->opens && b->last) || p->purpose < 0 ||
        p->purpose > VFL__PURPOSE__DEAL_DATA || b->gradient.n > WIRE_PAYLOAD_MAX ||
        b->gradient.n % sizeof(float) != 0 || (!b->closes && b->gradient.n > 0))
        return bad(err, "broadcast");
    if (!ascending(b->absent) || (b->absent.n > 0 && !b->closes))
        return bad(err, "broadcast: absent members");
    return STATUS_OK;
}

static enum status take_upload(struct wire_upload *w, const Vfl__Upload *p, struct error *err)
{
    *w = (struct wire_upload){
        .generation = p->generation,
        .round = p->round,
        .purpose = (enum wire_purpose)p->purpose,
        .payload = view(&p->payload),
        .check = view(&p->check),
    };
    if (p->purpose < 0 || p->purpose > VFL__PURPOSE__EVALUATE_TRAIN || w->payload.n == 0 ||
        w->payload.n > WIRE_PAYLOAD_MAX)
        return bad(err, "upload");
    return STATUS_OK;
}

/* A whole number of tags, and for each a byte of ciphertext at least; but a member that deals no
 * keys seals nothing. */
static bool shares_ok(const struct wire_shares *w)
{
    size_t n = w->tags.n / WIRE_TAG_BYTES, least = w->purpose == PURPOSE_DEAL_KEYS ? 0 : n;

    return (unsigned)w->purpose <= PURPOSE_DEAL_DATA && n > 0 && w->tags.n % WIRE_TAG_BYTES == 0 &&
           w->tags.n <= WIRE_TAGS_MAX && w->sealed.n >= least && w->sealed.n <= WIRE_PAYLOAD_MAX;
}

static enum status take_share(struct wire_shares *w, const Vfl__Share *p, struct error *err)
{
    *w = (struct wire_shares){p->generation, p->round, (enum wire_purpose)p->purpose,
                              view(&p->sealed), view(&p->tags)};
    if (!shares_ok(w) || w->sealed.n % (w->tags.n / WIRE_TAG_BYTES) != 0)
        return bad(err, "share");
    return STATUS_OK;
}

static enum status take_relay(struct wire_shares *w, const Vfl__Relay *p, struct error *err)
{
    *w = (struct wire_shares){p->generation, p->round, (enum wire_purpose)p->purpose,
                              view(&p->sealed), view(&p->tags)};
    return shares_ok(w) ? STATUS_OK : bad(err, "relay");
}

static enum status take_finish(struct wire_finish *f, const Vfl__Finish *p, struct error *err)
{
    f->outcome = (enum wire_outcome)p->outcome;
    f->kind = (enum status_kind)p->kind;
    if (p->kind > STATUS_KIND_LOCAL || p->outcome < 0 || p->outcome > VFL__OUTCOME__FAILED ||
        !text_of(f->text, WIRE_TEXT_MAX, p->text))
        return bad(err, "finish");
    return STATUS_OK;
}

static enum status take_refuse(struct wire_refuse *r, const Vfl__Refuse *p, struct error *err)
{
    r->kind = (enum status_kind)p->kind;
    r->accused = p->accused;
    if (p->kind > STATUS_KIND_LOCAL || p->kind == STATUS_KIND_NONE ||
        p->accused > WIRE_MEMBERS_MAX || !text_of(r->text, WIRE_TEXT_MAX, p->text))
        return bad(err, "refuse");
    return STATUS_OK;
}

static enum status take(struct wire_msg *m, const Vfl__Frame *f, struct wire_unpacker *u,
                        struct error *err)
{
    switch (f->body_case) {
    case VFL__FRAME__BODY_JOIN: m->kind = WIRE_JOIN; return take_join(&m->join, f->join, err);
    case VFL__FRAME__BODY_OFFER: m->kind = WIRE_OFFER; return take_offer(&m->offer, f->offer, err);
    case VFL__FRAME__BODY_BEHIND:
        m->kind = WIRE_BEHIND;
        take_behind(&m->behind, f->behind);
        return STATUS_OK;
    case VFL__FRAME__BODY_REPLAY:
        m->kind = WIRE_REPLAY;
        return take_replay(&m->replay, f->replay, err);
    case VFL__FRAME__BODY_HELLO:
        m->kind = WIRE_HELLO;
        return take_hello(&m->hello, f->hello, u, err);
    case VFL__FRAME__BODY_HELLOS:
        m->kind = WIRE_HELLOS;
        return take_hellos(&m->hellos, f->hellos, u, err);
    case VFL__FRAME__BODY_CONFIRM:
        m->kind = WIRE_CONFIRM;
        return take_confirm(&m->confirm, f->confirm, err);
    case VFL__FRAME__BODY_CONFIRMS:
        m->kind = WIRE_CONFIRMS;
        return take_confirms(&m->confirms, f->confirms, u, err);
    case VFL__FRAME__BODY_BROADCAST:
        m->kind = WIRE_BROADCAST;
        return take_broadcast(&m->broadcast, f->broadcast, err);
    case VFL__FRAME__BODY_UPLOAD:
        m->kind = WIRE_UPLOAD;
        return take_upload(&m->upload, f->upload, err);
    case VFL__FRAME__BODY_SHARE: m->kind = WIRE_SHARE; return take_share(&m->share, f->share, err);
    case VFL__FRAME__BODY_RELAY: m->kind = WIRE_RELAY; return take_relay(&m->relay, f->relay, err);
    case VFL__FRAME__BODY_KEPT:
        m->kind = WIRE_KEPT;
        m->kept = (struct wire_kept){f->kept->step, f->kept->final};
        return STATUS_OK;
    case VFL__FRAME__BODY_FINISH:
        m->kind = WIRE_FINISH;
        return take_finish(&m->finish, f->finish, err);
    case VFL__FRAME__BODY_REFUSE:
        m->kind = WIRE_REFUSE;
        return take_refuse(&m->refuse, f->refuse, err);
    case VFL__FRAME__BODY__NOT_SET: break;
    case _VFL__FRAME__BODY__CASE_IS_INT_SIZE: break;
    }
    return bad(err, "no body");
}

enum status wire_unpack(struct wire_msg *m, struct wire_unpacker *u, const uint8_t *bytes, size_t n,
                        struct error *err)
{
    ProtobufCAllocator quota = {quota_alloc, quota_free, u};
    Vfl__Frame *f;

    u->used = 0;
    m->kind = WIRE_NONE;
    f = vfl__frame__unpack(&quota, n, bytes);
    if (f == NULL)
        return bad(err, "not a frame, or over its memory quota");
    if (!canonical_message(&f->base, bytes, n))
        return bad(err, "unknown, repeated or disordered fields");
    return take(m, f, u, err);
}
