/* fuzz_federation.c -- a whole run of a server and three parties, where frames are altered, lost or
 * said again on their way.
 *
 * Input: byte 0 which run (tests/sim/misbehave_scripts.c); then acts: how many frames pass before
 * it, what is done, and to what.
 *
 * Laws: those that the simulation watches (no key twice, nothing uploaded that was not charged, no
 * data before one view is confirmed), whoever lies; every process ends, with words that can be
 * printed.
 *
 * Signatures are stand-ins that cannot be forged by chance (tests/sim/fast_crypto.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/feed.h"
#include "tests/sim/flight.h"
#include "tests/sim/misbehave_scripts.h"
#include "tests/sim/mutate.h"

enum { ACTS_MAX = 8, EDITS_MAX = 8, RAW_MAX = 1024 };
static const uint64_t HOUR_US = 3600000000ull;

enum act { ACT_EDIT, ACT_FIELD, ACT_CUT, ACT_RAW, ACT_AGAIN, ACT_BEFORE, ACTS };

struct plot {
    struct feed feed;
    uint32_t wait, acts; /* frames until the next act; acts done */
    struct buf last[2];  /* the last frame that went down, and up */
};

/* A few bytes of the frame changed. */
static void edit(struct feed *f, struct buf *frame)
{
    const uint32_t n = feed_among(f, 1, EDITS_MAX);

    for (uint32_t i = 0; i < n; i++) {
        const size_t at = feed_number(f, 2) % frame->len;

        frame->data[at] ^= feed_byte(f);
    }
}

static void say_raw(struct feed *f, struct buf *frame)
{
    uint8_t bytes[RAW_MAX];
    const size_t n = 1 + feed_number(f, 2) % (RAW_MAX - 1);

    feed_bytes(f, bytes, n);
    frame->len = 0;
    CHECK(buf_append(frame, bytes, n) == STATUS_OK);
}

static void act(struct plot *p, struct sim *s, struct flight *f)
{
    const enum act what = (enum act)(feed_byte(&p->feed) % ACTS);
    char name[MUTATE_NAME_MAX];
    struct buf *other;

    switch (what) {
    case ACT_EDIT: edit(&p->feed, &f->frame); break;
    case ACT_FIELD: (void)mutate_frame(&f->frame, name, feed_number(&p->feed, 2)); break;
    case ACT_CUT: f->frame.len = feed_number(&p->feed, 2) % (f->frame.len + 1); break;
    case ACT_RAW: say_raw(&p->feed, &f->frame); break;
    case ACT_AGAIN:
    case ACT_BEFORE:
        other = &p->last[f->up ^ (feed_byte(&p->feed) & 1)];
        if (other->len > 0 && what == ACT_AGAIN)
            mis_copy(&f->frame, other);
        else if (other->len > 0)
            flight_put_before(s, f, other);
        break;
    case ACTS: break;
    }
}

static void landed(struct sim *s, struct flight *f, void *owner)
{
    struct plot *p = owner;
    const bool due = p->acts < ACTS_MAX && p->wait == 0;
    struct buf before = {0};

    mis_copy(&before, &f->frame);
    if (due) {
        act(p, s, f);
        p->acts += p->feed.left == 0 ? ACTS_MAX : 1;
        p->wait = feed_byte(&p->feed);
    } else if (p->wait > 0) {
        p->wait--;
    }
    buf_deinit(&p->last[f->up]);
    p->last[f->up] = before;
}

static void check_end(const struct sim_end *e)
{
    CHECK(e->over);
    if (e->outcome == OUTCOME_FAILED)
        feed_check_words(e->error.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plot p = {.feed = {data, size}};
    const struct mis_script *c = mis_script((enum mis_which)(feed_byte(&p.feed) % MIS_SCRIPTS));
    struct sim *s = sim_new(&c->options);
    const char *broken;

    for (size_t i = 0; i < c->rules_n; i++)
        sim_rule(s, c->rule[i]);
    p.wait = feed_byte(&p.feed);
    s->tap = (struct sim_tap){landed, &p};
    sim_run(s, HOUR_US);
    broken = sim_broken(s);
    if (broken != NULL)
        fprintf(stderr, "%s\n", broken);
    CHECK(broken == NULL);
    check_end(sim_server_end(s));
    for (uint32_t i = 0; i < MIS_PARTIES; i++)
        check_end(sim_party_end(s, i));
    sim_free(s);
    buf_deinit(&p.last[0]);
    buf_deinit(&p.last[1]);
    return 0;
}
