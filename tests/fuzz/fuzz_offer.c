/* fuzz_offer.c -- any plan offered to a party: refused, with nothing spent, or taken as it was said
 * and within the party's policy; and what is taken has a price.
 *
 * Input: how it is offered, a plan's choices (plan_feed.h), and changes in its text.
 *
 * Keys and signatures are stand-ins (tests/sim/fast_crypto.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/mechanism.h"
#include "common/flow/job.h"
#include "tests/fuzz/plan_feed.h"
#include "tests/sim/world.h"

enum { PARTIES = 3, SELF = 1, VALUES_MAX = 1 << 16 };

static struct sim *world(void)
{
    static const struct sim_options o = {
        .parties = PARTIES,
        .train_rows = 9,
        .test_rows = 3,
        .quiet = true,
        .party_sets = {"policy.encodings=[pbm, fixed, float32, gaussian, scalar, lattice, e8, "
                       "topk]",
                       "policy.max_learning_rate=0.5"}};
    static struct sim *s;

    if (s == NULL)
        s = sim_new(&o);
    return s;
}

/* What a plan asks of memory is bounded by its rules, but not to what a fuzzer has. */
static bool modest(const struct plan *p)
{
    size_t values = (size_t)p->model.embedding * p->training.batch;

    for (size_t i = 0; i < p->model.head.n; i++)
        values += (size_t)p->model.head.item[i].argument[LAYERS_OUT] * p->model.embedding * PARTIES;
    return values <= VALUES_MAX && p->model.embedding <= 1024;
}

static void write_plan(struct feed *f, struct plan *p, struct buf *text)
{
    uint32_t changes;

    plan_feed(f, p);
    p->training.learning_rate = feed_among(f, 1, 8) / 8.0;
    p->shape.parties = PARTIES + feed_byte(f) % 16 / 15;
    p->shape.train_rows = 9 + feed_byte(f) % 16 / 15;
    p->shape.test_rows = 3 + feed_byte(f) % 16 / 15;
    p->shape.outputs = feed_among(f, 1, 4);
    plan_feed_noise(f, p);
    CHECK(plan_print(p, text) == STATUS_OK);
    for (changes = 0; changes < 4 && f->left > 2; changes++) {
        const size_t at = feed_number(f, 2) % text->len;

        text->data[at] = (uint8_t)(text->data[at] + feed_byte(f));
    }
}

/* Told to a party as a server would. */
static void offer(struct sim *s, const struct buf *text, uint8_t how)
{
    static const uint8_t sets[][4] = {{0, 1, 2}, {0, 1}, {0, 2}, {0, 1, 9}};
    static const size_t members[] = {3, 2, 2, 3};
    static const uint8_t element[WIRE_ELEMENT_BYTES] = {1};
    struct event e = {.kind = EVENT_START};
    struct wire_msg m = {.kind = WIRE_OFFER};
    struct wire_msg got;
    struct error err = {0};
    struct buf frame;

    world_tell_party(s, SELF, &e);
    e.kind = EVENT_JOINED;
    world_tell_party(s, SELF, &e);
    m.offer = (struct wire_offer){.generation = how % 8 < 7,
                                  .step = how % 16 == 15,
                                  .job = {JOB_TRAIN, {text->data, text->len}},
                                  .members = {sets[how / 64], members[how / 64]},
                                  .element = element,
                                  .playing = element};
    buf_init(&frame, WIRE_OFFER_MAX);
    CHECK(wire_pack(&frame, &m) == STATUS_OK);
    CHECK(wire_unpack(&got, &s->party[SELF].unpacker, frame.data, frame.len, &err) == STATUS_OK);
    e = (struct event){.kind = EVENT_MESSAGE, .msg = &got};
    world_tell_party(s, SELF, &e);
    buf_deinit(&frame);
}

/* Every claim of a release under the mechanism is a figure, and for noise a finite one. */
static void check_price(const struct plan *p, struct account_entry entry)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n;

    entry.releases = 1 + p->shape.train_rows;
    entry.participations_max = entry.trained_max = 1;
    n = account_claims(claims, &entry, 1, mechanism_delta(p, p->shape.train_rows),
                       plan_withstands(p));
    CHECK(n > 0);
    for (size_t i = 0; i < n; i++) {
        CHECK(claims[i].epsilon >= 0);
        CHECK(isfinite(claims[i].epsilon) == (entry.kind != ACCOUNT_NONE));
    }
}

static void check_taken(const struct sim_party *p, const struct buf *text)
{
    const struct config_policy *policy = &p->config.policy;
    const struct party_report *r = party_session_report(p->session);
    struct buf again;

    CHECK(r->planned && r->generation == 1 && r->phase == PHASE_AGREE);
    buf_init(&again, PLAN_TEXT_MAX);
    CHECK(plan_print(&r->plan, &again) == STATUS_OK && again.len == text->len);
    CHECK(memcmp(again.data, text->data, text->len) == 0);
    buf_deinit(&again);
    CHECK(policy->aggregation[r->plan.protocol.aggregation]);
    CHECK(policy->encoding[r->plan.protocol.encoding]);
    CHECK(r->plan.training.learning_rate <= policy->max_learning_rate);
    CHECK(r->plan.shape.train_rows == p->train.rows && r->plan.shape.test_rows == p->test.rows);
    CHECK(r->mechanism.parties >= policy->min_parties && r->down_max > 0);
    check_price(&r->plan, r->mechanism);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim *s = world();
    struct sim_party *p = &s->party[SELF];
    struct feed f = {data, size};
    const uint8_t how = feed_byte(&f);
    struct plan plan;
    struct buf text;

    buf_init(&text, PLAN_TEXT_MAX);
    write_plan(&f, &plan, &text);
    if (modest(&plan)) {
        world_new_party(s, SELF);
        p->end = (struct sim_end){0};
        memset(p->sent, 0, sizeof p->sent);
        offer(s, &text, how);
        CHECK(p->charged == 0 && p->sent[WIRE_UPLOAD] == 0 && p->sent[WIRE_SHARE] == 0);
        if (p->end.over) {
            CHECK(p->end.outcome == OUTCOME_FAILED && p->sent[WIRE_HELLO] == 0);
            CHECK(p->sent[WIRE_REFUSE] == 1);
            CHECK(status_kind(p->end.error.status) != STATUS_KIND_LOCAL);
            feed_check_words(p->end.error.text);
        } else {
            CHECK(p->sent[WIRE_HELLO] + p->sent[WIRE_BEHIND] == 1);
            check_taken(p, &text);
        }
    }
    buf_deinit(&text);
    return 0;
}
