/* test_misbehave_bytes.c -- gradients that are no numbers, or hardly, in every form in which they
 * go down; frames that would be more in memory than they are, and frames that are none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "party/core.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

/* --- gradients --- */

enum { BLOB_MAX = 4096, FORMS = 6 };

static const char *const forms[FORMS][2] = {
    {"protocol.gradient.type=float32", "protocol.gradient.form=full"},
    {"protocol.gradient.type=bfloat16", "protocol.gradient.form=full"},
    {"protocol.gradient.type=int8", "protocol.gradient.form=full"},
    {"protocol.gradient.type=float32", "protocol.gradient.form=factored"},
    {"protocol.gradient.type=bfloat16", "protocol.gradient.form=factored"},
    {"protocol.gradient.type=int8", "protocol.gradient.form=factored"},
};

/* A number as float32; its upper half is the same as bfloat16. */
static const struct {
    const char *name;
    uint32_t bits;
    bool number;
} numbers[] = {
    {"NaN", 0x7fc00000, false},        {"-NaN", 0xffc00000, false},
    {"signalling", 0x7fa00000, false}, {"NaN of ones", 0xffffffff, false},
    {"infinity", 0x7f800000, false},   {"-infinity", 0xff800000, false},
    {"denormal", 0x00010000, true},    {"-0", 0x80000000, true},
    {"the largest", 0x7f7f0000, true}, {"-the largest", 0xff7f0000, true},
};

/* What to put where: the k-th number of the blob. */
struct spoil {
    enum plan_gradient_type type;
    size_t which;
    bool last;
    uint8_t blob[BLOB_MAX];
};

/* Under int8 rows begin with a float32; the rest are bytes. */
static void spoil_blob(struct spoil *p, size_t n)
{
    const uint32_t bits = numbers[p->which].bits;
    size_t size = p->type == GRADIENT_BFLOAT16 ? 2 : 4,
           at = p->last && p->type != GRADIENT_INT8 ? n - size : 0;

    if (size == 2) {
        p->blob[at] = (uint8_t)(bits >> 16);
        p->blob[at + 1] = (uint8_t)(bits >> 24);
    } else {
        memcpy(p->blob + at, &bits, sizeof bits);
    }
}

static void spoil_frame(struct spoil *p, struct buf *frame)
{
    struct wire_msg msg = mis_unpack(frame);

    CHECK(msg.broadcast.closes && msg.broadcast.gradient.n <= BLOB_MAX);
    memcpy(p->blob, msg.broadcast.gradient.data, msg.broadcast.gradient.n);
    spoil_blob(p, msg.broadcast.gradient.n);
    msg.broadcast.gradient.data = p->blob;
    mis_pack(frame, &msg);
}

static void spoil(struct mis *m, struct flight *f)
{
    spoil_frame(m->owner, &f->frame);
}

/* A scale below 0, and the byte that no rounding gives. */
static void spoil_int8(struct mis *m, struct flight *f)
{
    struct spoil *p = m->owner;
    struct wire_msg msg = mis_unpack(&f->frame);
    const float below = -1;

    memcpy(p->blob, msg.broadcast.gradient.data, msg.broadcast.gradient.n);
    if (p->which == 0)
        memcpy(p->blob, &below, sizeof below);
    else
        p->blob[sizeof below] = 0x80;
    msg.broadcast.gradient.data = p->blob;
    mis_pack(&f->frame, &msg);
}

static enum plan_gradient_type type_of(size_t form)
{
    return (enum plan_gradient_type)(form % 3);
}

static struct mis_script with_form(enum mis_which which, size_t form, char name[64])
{
    struct mis_script c = *mis_script(which);
    size_t n = 0;

    while (c.options.sets[n] != NULL)
        n++;
    c.options.sets[n] = forms[form][0];
    c.options.sets[n + 1] = forms[form][1];
    snprintf(name, 64, "%s, %s, %s", c.name, forms[form][0] + 18, forms[form][1] + 18);
    c.name = name;
    return c;
}

static size_t closing(const struct mis_script *c)
{
    size_t at = 0;

    while (!(c->at[at].closes && !c->at[at].up))
        at++;
    return at;
}

static void try_numbers(struct mis_tally *t, size_t form)
{
    struct mis m = {.at = closing(t->script), .unwatched = true};
    struct spoil p = {.type = type_of(form)};

    m.owner = &p;
    for (size_t i = 0; i < 2 * sizeof numbers / sizeof *numbers; i++) {
        p.which = i / 2;
        p.last = i % 2 > 0;
        m.act = spoil;
        m.mute = !numbers[p.which].number;
        snprintf(m.name, sizeof m.name, "%s, %s", p.last ? "last" : "first", numbers[p.which].name);
        /* A number is one, however small or large: it is noise to whom it was told alone. */
        mis_expect(t, &m,
                   numbers[p.which].number && (p.type != GRADIENT_INT8 || p.which < 8)
                       ? MIS(VOID) | MIS(UNOPENED) | MIS(OTHER) | MIS(SAME) | MIS(REFUSED)
                       : MIS(REFUSED));
    }
    for (p.which = 0; p.which < 2 && p.type == GRADIENT_INT8; p.which++) {
        m.act = spoil_int8;
        m.mute = true;
        snprintf(m.name, sizeof m.name, "%s", p.which == 0 ? "a scale below 0" : "-128");
        mis_expect(t, &m, MIS(REFUSED));
    }
}

static void gradients_of(enum mis_which which)
{
    for (size_t form = 0; form < FORMS; form++) {
        char name[64];
        struct mis_script c = with_form(which, form, name);
        struct mis_tally t = {.script = &c, .what = "gradients"};

        mis_record(&c);
        try_numbers(&t, form);
        mis_forget(&c);
        mis_close(&t, 12);
    }
}

static void test_no_gradient_that_is_no_number_is_taken(void **state)
{
    (void)state;
    gradients_of(MIS_MASKED);
    gradients_of(MIS_CODED);
    gradients_of(MIS_CLEAR);
}

/* Told to all alike, so that nothing comes to light: the party's own clip bounds what it does. */
static void spoil_all(struct sim *s, struct flight *f, void *owner)
{
    struct wire_msg msg = mis_unpack(&f->frame);

    (void)s;
    if (!f->up && msg.kind == WIRE_BROADCAST && msg.broadcast.closes)
        spoil_frame(owner, &f->frame);
}

static bool all_finite(const struct nn_net *net)
{
    bool good = true;

    for (size_t k = 0; k < net->spec.layers; k++) {
        const struct nn_layer *l = &net->layer[k];

        for (size_t i = 0; i < (size_t)l->in * l->out; i++)
            good = good && isfinite(l->w[i]);
        for (size_t i = 0; i < l->out; i++)
            good = good && isfinite(l->b[i]);
    }
    return good;
}

static void test_the_largest_gradient_told_to_all_leaves_finite_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sim_options o = mis_script(MIS_MASKED)->options;
        struct spoil p = {.type = GRADIENT_FLOAT32, .which = i};
        struct sim *s;

        if (!numbers[i].number)
            continue;
        s = sim_new(&o);
        s->tap = (struct sim_tap){spoil_all, &p};
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        for (uint32_t k = 0; k < MIS_PARTIES; k++)
            assert_true(all_finite(party_session_bottom(s->party[k].session)));
        sim_free(s);
    }
}

/* --- frames --- */

enum { BOMB_BYTES = 12000 };

/* How a frame is put together: `head`, then `unit` over and over; `field`: as the content of this
 * field of the frame. */
static const struct bomb {
    const char *name;
    uint8_t field; /* 0: as it is */
    uint8_t unit[16], unit_n;
    uint32_t times; /* 0: as often as there is room */
} bombs[] = {
    {"many empty hellos", 4, {0x12, 0x00}, 2, 0},
    {"many empty confirmations", 6, {0x12, 0x00}, 2, 0},
    {"many unknown numbers", 7, {0xa0, 0x06, 0x01}, 3, 0},
    {"many unknown empty texts", 7, {0xa2, 0x06, 0x00}, 3, 0},
    {"one number over and over", 7, {0x08, 0x01}, 2, 0},
    {"one text over and over", 9, {0x12, 0x01, 0x61}, 3, 0},
    {"an empty vector over and over", 8, {0x22, 0x00}, 2, 0},
    {"bodies one after another", 0, {0x0a, 0x00}, 2, 0},
    {"one body within another", 0, {0x0a, 0x7e}, 2, 0},
    {"groups that never end", 0, {0x0b}, 1, 0},
    {"ends of groups", 0, {0x0c}, 1, 0},
    {"a length beyond all", 0, {0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f}, 6, 1},
    {"a length beyond 64 bits",
     0,
     {0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
     11,
     1},
    {"a vector longer than its message", 7, {0x22, 0xff, 0xff, 0x03}, 4, 1},
    {"a number that never ends", 7, {0xff}, 1, 0},
    {"the field 0", 0, {0x00, 0x00}, 2, 0},
    {"zeros", 0, {0x00}, 1, 0},
    {"ones", 0, {0xff}, 1, 0},
    {"text", 0, "GET / HTTP/1.1\r", 15, 0},
    {"a fixed number", 0, {0x39, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 1},
    {"a number spelt long", 7, {0x08, 0x81, 0x80, 0x00}, 4, 1},
    {"an empty body of a join", 1, {0}, 0, 1},
    {"an empty body of an offer", 2, {0}, 0, 1},
    {"an empty body of a hello", 3, {0}, 0, 1},
    {"an empty body of hellos", 4, {0}, 0, 1},
    {"an empty body of a confirmation", 5, {0}, 0, 1},
    {"an empty body of confirmations", 6, {0}, 0, 1},
    {"an empty body of a broadcast", 7, {0}, 0, 1},
    {"an empty body of an upload", 8, {0}, 0, 1},
    {"an empty body of a replay", 12, {0}, 0, 1},
    {"an empty body of shares", 13, {0}, 0, 1},
    {"an empty body of a relay", 14, {0}, 0, 1},
    {"a body that there is not", 63, {0}, 0, 1},
};

static void put(struct buf *to, const void *bytes, size_t n)
{
    CHECK(buf_append(to, bytes, n) == STATUS_OK);
}

static void make_bomb(struct buf *to, const struct bomb *b)
{
    size_t times = b->times > 0 ? b->times : BOMB_BYTES / b->unit_n, n = times * b->unit_n;
    const uint8_t tag[2] = {(uint8_t)((b->field << 3 | 2) | (b->field > 15 ? 0x80 : 0)),
                            (uint8_t)(b->field >> 4)},
                  length[2] = {(uint8_t)(n | 0x80), (uint8_t)(n >> 7)};

    if (to->max == 0)
        buf_init(to, 1 << 16);
    to->len = 0;
    if (b->field > 0) {
        put(to, tag, b->field > 15 ? 2 : 1);
        if (n < 0x80)
            put(to, &(uint8_t){(uint8_t)n}, 1);
        else
            put(to, length, sizeof length);
    }
    for (size_t i = 0; i < times; i++)
        put(to, b->unit, b->unit_n);
}

static void throw(struct mis * m, struct flight *f)
{
    make_bomb(&f->frame, m->owner);
}

static void try_bombs(struct mis_tally *t, size_t at)
{
    const struct mis_landing *l = &t->script->at[at];

    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        struct mis m = {.at = at, .act = throw, .owner = (void *)(uintptr_t)&bombs[i]};

        m.mute = !l->up;
        snprintf(m.name, sizeof m.name, "%s %zu, %s: %s", l->up ? "up" : "down", at,
                 phase_row(l->phase)->name, bombs[i].name);
        mis_expect(t, &m, MIS(REFUSED) | (l->up ? MIS(CLOSED) : 0));
    }
}

static void frames_of(enum mis_which which, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "frames"};
    bool seen[2][PHASES] = {0};

    mis_record(c);
    for (size_t i = 0; i < c->n; i++) {
        bool *known = &seen[c->at[i].up][c->at[i].phase];

        if (!*known)
            try_bombs(&t, i);
        *known = true;
    }
    mis_forget(c);
    mis_close(&t, least);
}

static void test_no_frame_is_taken_that_is_none(void **state)
{
    (void)state;
    frames_of(MIS_MASKED, 200);
    frames_of(MIS_FEDVS, 200);
}

/* Whatever is in a frame, unpacking takes no memory but its own. */
static void test_no_frame_takes_memory(void **state)
{
    struct wire_unpacker u;
    struct buf frame = {0};
    struct error err = {0};
    struct wire_msg msg;

    (void)state;
    assert_int_equal(wire_unpacker_init(&u, BOMB_BYTES), STATUS_OK);
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        uint64_t blocks;

        make_bomb(&frame, &bombs[i]);
        blocks = mem_count();
        if (wire_unpack(&msg, &u, frame.data, frame.len, &err) == STATUS_OK)
            fail_msg("%s is taken", bombs[i].name);
        assert_true(mem_count() == blocks);
        assert_true(u.used <= u.size);
    }
    buf_deinit(&frame);
    wire_unpacker_deinit(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_gradient_that_is_no_number_is_taken),
        cmocka_unit_test(test_the_largest_gradient_told_to_all_leaves_finite_models),
        cmocka_unit_test(test_no_frame_is_taken_that_is_none),
        cmocka_unit_test(test_no_frame_takes_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
