/* pack.c -- structs to protobuf bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/check.h"

#include "proto/vfl.pb-c.h"

#include <string.h>

/* protobuf-c's structs want non-const pointers but packing never writes through them. */
static ProtobufCBinaryData data_of(const uint8_t *bytes, size_t n)
{
    return (ProtobufCBinaryData){n, (uint8_t *)(uintptr_t)bytes};
}

static char *text_of(const char *text)
{
    return (char *)(uintptr_t)text;
}

static enum status pack_message(struct buf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    enum status s;

    out->len = 0;
    s = buf_reserve(out, n);
    if (s == STATUS_OK)
        out->len = protobuf_c_message_pack(m, out->data);
    return s;
}

static Vfl__Hello hello_of(const struct wire_hello *h)
{
    Vfl__Hello p = VFL__HELLO__INIT;

    p.body = data_of(h->body.data, h->body.n);
    p.public_key = data_of(h->public_key, WIRE_KEY_BYTES);
    p.signature = data_of(h->signature, WIRE_SIGNATURE_BYTES);
    return p;
}

static Vfl__Confirm confirm_of(const struct wire_confirm *c)
{
    Vfl__Confirm p = VFL__CONFIRM__INIT;

    p.sid = data_of(c->sid, WIRE_DIGEST_BYTES);
    p.proofs = data_of(c->proofs, WIRE_PROOFS_BYTES);
    p.marks = data_of(c->marks, WIRE_PROOFS_BYTES);
    p.signature = data_of(c->signature, WIRE_SIGNATURE_BYTES);
    p.generation = c->generation;
    p.seen = data_of(c->seen.data, c->seen.n);
    return p;
}

enum status wire_pack_hello_body(struct buf *out, const struct wire_hello *h)
{
    Vfl__HelloBody b = VFL__HELLO_BODY__INIT;

    b.plan_digest = data_of(h->plan_digest, WIRE_DIGEST_BYTES);
    b.generation = h->generation;
    b.name = text_of(h->name);
    b.nonce = data_of(h->nonce, WIRE_KEY_BYTES);
    b.kex_public = data_of(h->kex_public, WIRE_KEY_BYTES);
    b.train_rows = h->train_rows;
    b.test_rows = h->test_rows;
    b.features = h->features;
    b.degree = h->degree;
    b.dealing = data_of(h->dealing.data, h->dealing.n);
    b.holds = data_of(h->holds.data, h->holds.n);
    b.held = h->held;
    b.ledger = h->ledger;
    b.elements = data_of(h->elements, WIRE_ELEMENTS_BYTES);
    return pack_message(out, &b.base);
}

static enum status pack_hellos(struct buf *out, Vfl__Frame *f, const struct wire_hellos *hs)
{
    Vfl__Hello item[WIRE_MEMBERS_MAX], *list[WIRE_MEMBERS_MAX];
    Vfl__Hellos p = VFL__HELLOS__INIT;

    CHECK(hs->n <= WIRE_MEMBERS_MAX);
    for (size_t i = 0; i < hs->n; i++) {
        item[i] = hello_of(&hs->hello[i]);
        list[i] = &item[i];
    }
    p.generation = hs->generation;
    p.n_hello = hs->n;
    p.hello = list;
    f->body_case = VFL__FRAME__BODY_HELLOS;
    f->hellos = &p;
    return pack_message(out, &f->base);
}

static enum status pack_confirms(struct buf *out, Vfl__Frame *f, const struct wire_confirms *cs)
{
    Vfl__Confirm item[WIRE_MEMBERS_MAX], *list[WIRE_MEMBERS_MAX];
    Vfl__Confirms p = VFL__CONFIRMS__INIT;

    CHECK(cs->n <= WIRE_MEMBERS_MAX);
    for (size_t i = 0; i < cs->n; i++) {
        item[i] = confirm_of(&cs->confirm[i]);
        list[i] = &item[i];
    }
    p.generation = cs->generation;
    p.n_confirm = cs->n;
    p.confirm = list;
    p.proof = data_of(cs->proof, WIRE_PROOF_BYTES);
    f->body_case = VFL__FRAME__BODY_CONFIRMS;
    f->confirms = &p;
    return pack_message(out, &f->base);
}

static enum status pack_broadcast(struct buf *out, Vfl__Frame *f, const struct wire_broadcast *b)
{
    Vfl__Broadcast p = VFL__BROADCAST__INIT;

    p.generation = b->generation;
    p.closes = b->closes;
    p.close_step = b->close_step;
    p.gradient = data_of(b->gradient.data, b->gradient.n);
    p.opens = b->opens;
    p.purpose = (Vfl__Purpose)b->purpose;
    p.round = b->round;
    p.place = b->place;
    p.sweep = b->sweep;
    p.absent = data_of(b->absent.data, b->absent.n);
    p.last = b->last;
    f->body_case = VFL__FRAME__BODY_BROADCAST;
    f->broadcast = &p;
    return pack_message(out, &f->base);
}

static enum status pack_upload(struct buf *out, Vfl__Frame *f, const struct wire_upload *w)
{
    Vfl__Upload p = VFL__UPLOAD__INIT;

    p.generation = w->generation;
    p.purpose = (Vfl__Purpose)w->purpose;
    p.round = w->round;
    p.payload = data_of(w->payload.data, w->payload.n);
    p.check = data_of(w->check.data, w->check.n);
    f->body_case = VFL__FRAME__BODY_UPLOAD;
    f->upload = &p;
    return pack_message(out, &f->base);
}

static enum status pack_share(struct buf *out, Vfl__Frame *f, const struct wire_shares *w)
{
    Vfl__Share p = VFL__SHARE__INIT;

    p.generation = w->generation;
    p.purpose = (Vfl__Purpose)w->purpose;
    p.round = w->round;
    p.sealed = data_of(w->sealed.data, w->sealed.n);
    p.tags = data_of(w->tags.data, w->tags.n);
    f->body_case = VFL__FRAME__BODY_SHARE;
    f->share = &p;
    return pack_message(out, &f->base);
}

static enum status pack_relay(struct buf *out, Vfl__Frame *f, const struct wire_shares *w)
{
    Vfl__Relay p = VFL__RELAY__INIT;

    p.generation = w->generation;
    p.purpose = (Vfl__Purpose)w->purpose;
    p.round = w->round;
    p.sealed = data_of(w->sealed.data, w->sealed.n);
    p.tags = data_of(w->tags.data, w->tags.n);
    f->body_case = VFL__FRAME__BODY_RELAY;
    f->relay = &p;
    return pack_message(out, &f->base);
}

static enum status pack_kept(struct buf *out, Vfl__Frame *f, const struct wire_kept *k)
{
    Vfl__Kept p = VFL__KEPT__INIT;

    p.step = k->step;
    p.final = k->final;
    f->body_case = VFL__FRAME__BODY_KEPT;
    f->kept = &p;
    return pack_message(out, &f->base);
}

static enum status pack_join(struct buf *out, Vfl__Frame *f, const struct wire_join *j)
{
    Vfl__Join p = VFL__JOIN__INIT;

    p.version = j->version;
    p.roster_digest = data_of(j->roster_digest, WIRE_DIGEST_BYTES);
    p.applied = j->applied;
    p.kept = j->kept;
    p.trail = data_of(j->trail, WIRE_DIGEST_BYTES);
    p.resumes = j->resumes;
    p.generation = j->generation;
    p.keeps = j->keeps;
    p.min_parties = j->min_parties;
    p.kept_before = j->kept_before;
    f->body_case = VFL__FRAME__BODY_JOIN;
    f->join = &p;
    return pack_message(out, &f->base);
}

static enum status pack_offer(struct buf *out, Vfl__Frame *f, const struct wire_offer *o)
{
    Vfl__Offer p = VFL__OFFER__INIT;
    Vfl__Job job = VFL__JOB__INIT;
    char kind[sizeof o->job.kind];

    memcpy(kind, o->job.kind, sizeof kind);
    job.kind = kind;
    job.text = data_of(o->job.text.data, o->job.text.n);
    p.generation = o->generation;
    p.job = &job;
    p.members = data_of(o->members.data, o->members.n);
    p.step = o->step;
    p.element = data_of(o->element, WIRE_ELEMENT_BYTES);
    f->body_case = VFL__FRAME__BODY_OFFER;
    f->offer = &p;
    return pack_message(out, &f->base);
}

static enum status pack_behind(struct buf *out, Vfl__Frame *f, const struct wire_behind *b)
{
    Vfl__Behind p = VFL__BEHIND__INIT;

    p.generation = b->generation;
    p.applied = b->applied;
    f->body_case = VFL__FRAME__BODY_BEHIND;
    f->behind = &p;
    return pack_message(out, &f->base);
}

static enum status pack_replay(struct buf *out, Vfl__Frame *f, const struct wire_replay *r)
{
    Vfl__Replay p = VFL__REPLAY__INIT;

    p.generation = r->generation;
    p.step = r->step;
    p.gradient = data_of(r->gradient.data, r->gradient.n);
    f->body_case = VFL__FRAME__BODY_REPLAY;
    f->replay = &p;
    return pack_message(out, &f->base);
}

static enum status pack_end(struct buf *out, Vfl__Frame *f, const struct wire_msg *m)
{
    Vfl__Finish finish = VFL__FINISH__INIT;
    Vfl__Refuse refuse = VFL__REFUSE__INIT;

    if (m->kind == WIRE_FINISH) {
        finish.outcome = (Vfl__Outcome)m->finish.outcome;
        finish.text = text_of(m->finish.text);
        finish.kind = (uint32_t)m->finish.kind;
        f->body_case = VFL__FRAME__BODY_FINISH;
        f->finish = &finish;
    } else {
        refuse.kind = (uint32_t)m->refuse.kind;
        refuse.text = text_of(m->refuse.text);
        refuse.accused = m->refuse.accused;
        f->body_case = VFL__FRAME__BODY_REFUSE;
        f->refuse = &refuse;
    }
    return pack_message(out, &f->base);
}

enum status wire_pack(struct buf *out, const struct wire_msg *m)
{
    Vfl__Frame f = VFL__FRAME__INIT;
    Vfl__Hello hello;
    Vfl__Confirm confirm;

    switch (m->kind) {
    case WIRE_JOIN: return pack_join(out, &f, &m->join);
    case WIRE_OFFER: return pack_offer(out, &f, &m->offer);
    case WIRE_BEHIND: return pack_behind(out, &f, &m->behind);
    case WIRE_REPLAY: return pack_replay(out, &f, &m->replay);
    case WIRE_HELLO:
        hello = hello_of(&m->hello);
        f.body_case = VFL__FRAME__BODY_HELLO;
        f.hello = &hello;
        return pack_message(out, &f.base);
    case WIRE_HELLOS: return pack_hellos(out, &f, &m->hellos);
    case WIRE_CONFIRM:
        confirm = confirm_of(&m->confirm);
        f.body_case = VFL__FRAME__BODY_CONFIRM;
        f.confirm = &confirm;
        return pack_message(out, &f.base);
    case WIRE_CONFIRMS: return pack_confirms(out, &f, &m->confirms);
    case WIRE_BROADCAST: return pack_broadcast(out, &f, &m->broadcast);
    case WIRE_UPLOAD: return pack_upload(out, &f, &m->upload);
    case WIRE_SHARE: return pack_share(out, &f, &m->share);
    case WIRE_RELAY: return pack_relay(out, &f, &m->relay);
    case WIRE_KEPT: return pack_kept(out, &f, &m->kept);
    case WIRE_FINISH:
    case WIRE_REFUSE: return pack_end(out, &f, m);
    case WIRE_NONE:
    case WIRE_KINDS: break;
    }
    CHECK(!"a message of no kind");
}
