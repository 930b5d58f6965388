/* probe_party.c -- the table of functions that plays a probe at a party.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/probe_party.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/plan.h"
#include "common/flow/job.h"

#include <string.h>

enum { PAYLOAD_MAX = 1024, CHECK_MAX = 1024, PATIENCE_MS = 5000 };

struct probe {
    struct party_host host;
    uint32_t values;
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct secagg_shape shape;
    struct secagg_party *masks;
    struct rng noise;
    uint64_t round;
    enum status worked;
    uint8_t payload[PAYLOAD_MAX], check[CHECK_MAX];
};

void probe_shape(struct secagg_shape *shape, uint32_t n, uint32_t members, uint32_t self)
{
    struct plan plan;

    plan_defaults(&plan);
    plan.protocol.encoding = ENCODING_FIXED;
    plan.shape.parties = members;
    *shape = (struct secagg_shape){.parties = members, .self = self, .values_max = n};
    CHECK(encode_init(&shape->encode, &plan, members) == STATUS_OK);
}

static enum status new_probe(void **state, const struct party_host *host)
{
    struct probe *p = mem_alloc(1, sizeof *p);

    CHECK(p != NULL && rng_init_system(&p->noise) == STATUS_OK);
    p->host = *host;
    *state = p;
    return STATUS_OK;
}

static void lost(void *state)
{
    struct probe *p = state;

    secagg_party_free(p->masks);
    p->masks = NULL;
}

static void free_probe(void *state)
{
    struct probe *p = state;

    lost(p);
    rng_deinit(&p->noise);
    mem_free(p);
}

/* --- a set comes together --- */

static void join(const void *state, struct wire_join *j)
{
    (void)state;
    (void)j;
}

/* More than PROBE_VALUES_MAX: it is none that a probe could have. */
static uint32_t number_in(struct wire_bytes text)
{
    uint32_t n = 0;

    for (size_t i = 0; i < text.n && n <= PROBE_VALUES_MAX; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return UINT32_MAX;
        n = 10 * n + (uint32_t)(text.data[i] - '0');
    }
    return n;
}

static enum status offer(void *state, struct actions *a, const struct wire_offer *o)
{
    struct probe *p = state;

    (void)a;
    p->values = number_in(o->job.text);
    if (p->values > PROBE_VALUES_MAX)
        return error_set(p->host.error, STATUS_PROTOCOL, "a probe of no number, or too many");
    if (p->values == 0)
        return error_set(p->host.error, STATUS_POLICY, "a probe of nothing");
    job_digest(p->digest, PROBE, o->job.text.data, o->job.text.n);
    return STATUS_OK;
}

static const uint8_t *digest(const void *state)
{
    return ((const struct probe *)state)->digest;
}

static enum party_next ready(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return PARTY_READY;
}

static void say(const void *state, struct wire_hello *h)
{
    (void)state;
    (void)h;
}

static enum status begin(void *state, const struct secagg_pair *pairs)
{
    struct probe *p = state;

    probe_shape(&p->shape, p->values, p->host.set->members_n, p->host.set->self);
    return secagg_party_new(&p->masks, AGGREGATION_MASKED, &p->shape, pairs);
}

static void confirm(const void *state, struct agree_confirm *c)
{
    (void)state;
    (void)c;
}

static enum status check(void *state, const struct wire_confirms *cs)
{
    (void)state;
    (void)cs;
    return STATUS_OK;
}

static void start(void *state)
{
    struct probe *p = state;

    sm_move(p->host.sm, PHASE_ROUND, p->host.set->generation);
}

/* --- it is played --- */

static enum party_next message(void *state, struct actions *a, const struct wire_msg *m)
{
    struct probe *p = state;

    CHECK(m->kind == WIRE_BROADCAST);
    p->round = m->broadcast.round;
    actions_add(a, ACTION_WORK)->flops = 0;
    return PARTY_WAIT;
}

static void work(void *state)
{
    static const float zeros[PROBE_VALUES_MAX];
    static const uint8_t view[WIRE_DIGEST_BYTES];
    struct probe *p = state;
    const struct secagg_round r = {
        .purpose = PURPOSE_TRAIN, .round = p->round, .sid = p->host.set->sid, .broadcast = view};

    p->worked = secagg_protect(p->masks, p->payload, p->check, zeros, p->values, &r, &p->noise);
}

static enum party_next done(void *state, struct actions *a, const struct event *e)
{
    struct probe *p = state;
    struct action *send;

    CHECK(e->kind == EVENT_DONE);
    if (p->worked != STATUS_OK) {
        error_set(p->host.error, p->worked, "a probe: %s", status_words(p->worked));
        return PARTY_REFUSE;
    }
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = p->host.set->generation,
        .round = p->round,
        .purpose = PURPOSE_TRAIN,
        .payload = {p->payload, secagg_payload_bytes(AGGREGATION_MASKED, &p->shape, p->values)},
        .check = {p->check, secagg_check_bytes(AGGREGATION_MASKED, &p->shape)},
    };
    return PARTY_WAIT;
}

static enum party_next timer(void *state, bool connected)
{
    (void)state;
    (void)connected;
    return PARTY_FAIL;
}

static uint64_t patience_ms(const void *state)
{
    (void)state;
    return PATIENCE_MS;
}

/* --- its end --- */

static enum party_next dismissed(void *state, const struct wire_finish *f)
{
    (void)state;
    (void)f;
    return PARTY_DONE;
}

static void end(void *state, struct actions *a)
{
    (void)state;
    (void)a;
}

static enum status save(const void *state, struct buf *out)
{
    (void)state;
    (void)out;
    return STATUS_OK;
}

static void report(const void *state, struct party_report *r)
{
    (void)state;
    (void)r;
}

const struct party_job probe_party_job = {
    .kind = PROBE,
    .new = new_probe,
    .free = free_probe,
    .join = join,
    .offer = offer,
    .digest = digest,
    .ready = ready,
    .say = say,
    .begin = begin,
    .confirm = confirm,
    .check = check,
    .start = start,
    .message = message,
    .work = work,
    .done = done,
    .timer = timer,
    .patience_ms = patience_ms,
    .lost = lost,
    .dismissed = dismissed,
    .end = end,
    .save = save,
    .report = report,
};
