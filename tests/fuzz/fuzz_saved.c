/* fuzz_saved.c -- what a process saved of its session, changed, to the process after it.
 *
 * The files are sealed: who can write them has the key.  All the same a session that starts from
 * them takes nothing that could not be.
 *
 * Input: byte 0 which run (tests/sim/misbehave_scripts.h), byte 1 whose checkpoint, and whether it
 * is cut; then places (2 bytes) and what to add there.
 *
 * Laws: refused in words, and the process could begin anew; or taken, and then it is saved as it
 * was taken, the model is finite, and the session goes on to say what it has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/script.h"

#include <math.h>

enum { SAVED_MAX = 1 << 20, SELF = MIS_VICTIM };

static void check_finite(const struct nn_net *net)
{
    for (size_t k = 0; k < net->spec.layers; k++) {
        for (size_t i = 0; i < nn_layer_params(&net->layer[k]); i++)
            CHECK(isfinite(net->layer[k].w[i]));
    }
}

static void change(struct feed *f, struct buf *saved, uint8_t cut)
{
    if (cut >= 128 && saved->len > 0)
        saved->len -= 1 + feed_number(f, 2) % saved->len;
    while (f->left > 2 && saved->len > 0) {
        const size_t at = feed_number(f, 2) % saved->len;

        saved->data[at] = (uint8_t)(saved->data[at] + feed_byte(f));
    }
}

/* --- the server's --- */

static void say_again(const struct server_session *from, struct sim *s)
{
    struct buf first, second;

    buf_init(&first, SAVED_MAX);
    buf_init(&second, SAVED_MAX);
    CHECK(server_session_save(from, &first) == STATUS_OK);
    world_new_server(s);
    CHECK(server_session_restore(s->server, first.data, first.len) == STATUS_OK);
    CHECK(server_session_save(s->server, &second) == STATUS_OK);
    CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    buf_deinit(&first);
    buf_deinit(&second);
}

static void server(struct script *c, struct feed *f, uint8_t cut)
{
    struct event start = {.kind = EVENT_START};
    struct sim *s = c->sim;
    struct buf saved;

    buf_init(&saved, SAVED_MAX);
    CHECK(buf_append(&saved, s->disk.saved.data, s->disk.saved.len) == STATUS_OK);
    change(f, &saved, cut);
    script_begin(c, &s->disk);
    s->server_end = (struct sim_end){0};
    world_new_server(s);
    if (server_session_restore(s->server, saved.data, saved.len) == STATUS_OK) {
        check_finite(server_session_head(s->server));
        CHECK(server_session_report(s->server)->steps <= s->plan.training.epochs * 1000);
        say_again(s->server, s);
        world_tell_server(s, &start);
        if (s->server_end.over && s->server_end.outcome == OUTCOME_FAILED)
            feed_check_words(s->server_end.error.text);
    }
    buf_deinit(&saved);
}

/* --- a party's --- */

static void party(struct script *c, struct feed *f, uint8_t cut)
{
    struct event start = {.kind = EVENT_START}, up = {.kind = EVENT_JOINED};
    struct sim *s = c->sim;
    struct sim_party *p = &s->party[SELF];
    struct buf saved, again;

    buf_init(&saved, SAVED_MAX);
    CHECK(buf_append(&saved, p->disk.saved.data, p->disk.saved.len) == STATUS_OK);
    change(f, &saved, cut);
    script_begin(c, &p->disk);
    CHECK(buf_append(&p->disk.saved, saved.data, saved.len) == STATUS_OK);
    p->end = (struct sim_end){0};
    p->connected = p->joined = true;
    memset(p->sent, 0, sizeof p->sent);
    script_new_party(s, SELF);
    if (p->end.over) {
        CHECK(p->end.outcome == OUTCOME_FAILED);
        feed_check_words(p->end.error.text);
    } else {
        buf_init(&again, SAVED_MAX);
        CHECK(party_session_save(p->session, &again) == STATUS_OK);
        CHECK(again.len == saved.len);
        buf_deinit(&again);
        if (party_session_bottom(p->session) != NULL)
            check_finite(party_session_bottom(p->session));
        world_tell_party(s, SELF, &start);
        world_tell_party(s, SELF, &up);
        CHECK(p->sent[WIRE_JOIN] == 1);
    }
    buf_deinit(&saved);
}

/* What the recorded run left on the disks: the last checkpoint of each, or the one before. */
static struct script *fresh(enum mis_which which, bool before)
{
    static struct buf left[MIS_SCRIPTS][2][2];
    struct script *c = script_of(which);
    struct sim_disk *disk[2] = {&c->sim->disk, &c->sim->party[SELF].disk};

    for (size_t i = 0; i < 2; i++) {
        if (left[which][i][0].max == 0) {
            mis_copy(&left[which][i][0], &disk[i]->saved);
            mis_copy(&left[which][i][1],
                     disk[i]->before.len > 0 ? &disk[i]->before : &disk[i]->saved);
        }
        mis_copy(&disk[i]->saved, &left[which][i][before]);
    }
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const enum mis_which which = (enum mis_which)(feed_byte(&f) % MIS_SCRIPTS);
    const uint8_t how = feed_byte(&f);
    struct script *c = fresh(which, how & 2);

    c->sim->server_up_us = c->sim->party[SELF].up_us = 0;
    if (how % 2 == 0)
        server(c, &f, how);
    else
        party(c, &f, how);
    return 0;
}
