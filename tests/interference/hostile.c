/* hostile.c -- scripted gradients, scripted sums, and messages that say something else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/hostile.h"

#include "common/base/check.h"

#include <float.h>
#include <string.h>

enum {
    DRAW_HEAD = 50,
    DRAW_SHOW,
    DRAW_PACK,
    DRAW_ALTER,
    DRAW_BEST,
    ALTERED_MAX = 1 << 16,
    MISNAMES_ONE_OF = 16
};

static struct {
    uint64_t seed;
    double clip;
    uint32_t parties;
    uint64_t largest; /* sum of codes */
    uint64_t trained, shown, packed, altered, named;
    bool misnames; /* steps as the best one's that no honest server would */
} script;

void hostile_begin(const struct pair *p)
{
    memset(&script, 0, sizeof script);
    script.seed = p->seed;
    script.clip = p->plan.protocol.clip;
    script.parties = p->options.parties;
    script.largest = (uint64_t)plan_value_max(&p->plan) * p->options.parties;
    script.misnames = p->seed % MISNAMES_ONE_OF == 0;
}

/* --- numbers --- */

enum tone { TONE_USUAL, TONE_ZERO, TONE_ALL_ONE, TONE_ALTERNATING, TONE_MIXED, TONES };

static float size_of(struct dice *d)
{
    static const float sizes[] = {1e-3F,  1,     1,           1e4F,    1e19F,  1e30F,
                                  1e-42F, 1e38F, FLT_MAX / 2, FLT_MAX, 1e-30F, 0.1F};

    return DICE_PICK(d, sizes);
}

static void fill(float *x, size_t n, struct dice *d)
{
    const enum tone tone = (enum tone)(dice_next(d) % TONES);
    const float size = size_of(d);

    for (size_t i = 0; i < n; i++) {
        switch (tone) {
        case TONE_USUAL: x[i] = (float)(2 * dice_real(d) - 1); break;
        case TONE_ZERO: x[i] = 0; break;
        case TONE_ALL_ONE: x[i] = size; break;
        case TONE_ALTERNATING: x[i] = i % 2 == 0 ? size : -size; break;
        case TONE_MIXED: x[i] = dice_percent(d, 50) ? size_of(d) : -size_of(d); break;
        case TONES: break;
        }
    }
}

/* --- in place of the server's own arithmetic --- */

/* What was added up is of no interest, nor whether it is one. */
enum status __wrap_secagg_combine(struct secagg_server *p, float *out, uint32_t width,
                                  struct error *err)
{
    (void)__real_secagg_combine(p, out, width, err);
    *err = (struct error){0};
    return STATUS_OK;
}

/* server_head_show, which comes behind it, says what is shown. */
void __wrap_secagg_show(const struct secagg_server *p, uint8_t *out)
{
    (void)p;
    (void)out;
}

double __wrap_server_head_evaluate(struct server_head *h, uint32_t rows)
{
    memset(h->prob, 0, (size_t)rows * h->top.outputs * sizeof *h->prob);
    h->top.logits = h->prob; /* rows to choose by are scored one by one, by these */
    return 0.5;
}

double __wrap_server_head_train(struct server_head *h, const struct plan *p, uint64_t step,
                                uint32_t rows)
{
    struct dice d = dice_of(script.seed, DRAW_HEAD, script.trained++);

    (void)step;
    (void)__wrap_server_head_evaluate(h, rows);
    if (h->down.with_gradient)
        fill(h->values,
             gradient_values(&h->down.gradient, rows) * (h->top.apart ? p->shape.parties : 1), &d);
    return 0.5;
}

void __wrap_server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r)
{
    static const uint32_t broken[] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0xffffffffu};
    struct dice d = dice_of(script.seed, DRAW_PACK, script.packed++);

    __real_server_head_pack(h, rows, blocks, r);
    if (h->down.with_gradient && dice_percent(&d, 2))
        h->blob[0] = DICE_PICK(&d, broken);
}

/* After any evaluation so far, or none, whatever it was worth: to each broadcast and offer another.
 */
static uint64_t some_evaluation(const struct server_trainer *t, struct dice *d)
{
    uint64_t step = dice_between(d, 0, t->steps_done);

    while (step > 0 && !agenda_due(&t->agenda, step))
        step--;
    return step;
}

/* In offers and broadcasts. */
uint64_t __wrap_server_trainer_best(const struct server_trainer *t)
{
    struct dice d = dice_of(script.seed, DRAW_BEST, script.named++);
    const uint64_t own = __real_server_trainer_best(t);

    if (script.misnames && dice_percent(&d, 15)) {
        const uint64_t any[] = {0,         1, t->steps_done, t->steps_done + 1, t->agenda.steps,
                                UINT64_MAX};

        return DICE_PICK(&d, any);
    }
    if (t->plan->training.patience == 0 || t->stored != NULL || dice_percent(&d, 40))
        return own;
    return some_evaluation(t, &d);
}

/* A sum of codes, each in its range; floats below what M embeddings can be; zeros for payloads. */
static void show_sums(const struct server_head *h, uint32_t rows, struct dice *d)
{
    uint8_t *to = (uint8_t *)(h->blob + down_shown_at(&h->down, rows));
    const size_t n = (size_t)rows * h->down.width, bytes = down_shown_bytes(&h->down, rows);
    const uint32_t width = h->down.sum_bits;
    const uint64_t all = ((uint64_t)1 << width) - 1,
                   most = script.largest > 0 && script.largest < all ? script.largest : all;

    memset(to, 0, bytes);
    if (dice_percent(d, 25) || h->down.shown == DOWN_SHOWN_PAYLOADS)
        return;
    for (size_t i = 0; i < n; i++) {
        const float x = (float)((2 * dice_real(d) - 1) * script.clip * script.parties);
        const uint64_t code = dice_between(d, 0, most);

        if (h->down.shown == DOWN_SHOWN_FLOATS) {
            memcpy(to + i * sizeof x, &x, sizeof x);
            continue;
        }
        for (uint32_t bit = 0; bit < width; bit++)
            to[(i * width + bit) / 8] |= (uint8_t)((code >> bit & 1) << (i * width + bit) % 8);
    }
}

bool __wrap_server_head_show(struct server_head *h, uint32_t rows, const uint8_t *dither,
                             struct rng *r)
{
    struct dice d = dice_of(script.seed, DRAW_SHOW, script.shown++);
    struct nn_net *net = &h->top.net;

    for (size_t i = 0; i < net->spec.layers; i++)
        fill(net->layer[i].w, nn_layer_params(&net->layer[i]), &d);
    show_sums(h, rows, &d);
    return __real_server_head_show(h, rows, dither, r);
}

/* --- other words --- */

static void shift(uint64_t *x, struct dice *d)
{
    static const uint64_t by[] = {1, 1, 2, UINT64_MAX, UINT64_MAX, 1000, UINT64_MAX / 2};

    *x += DICE_PICK(d, by);
}

/* The same bytes but for one, or fewer of them. */
static void spoil(struct wire_bytes *b, struct dice *d)
{
    static uint8_t room[ALTERED_MAX];

    if (b->n == 0 || b->n > sizeof room)
        return;
    memcpy(room, b->data, b->n);
    if (dice_percent(d, 60))
        room[dice_between(d, 0, b->n - 1)] ^= (uint8_t)dice_between(d, 1, 255);
    else
        b->n -= dice_percent(d, 50) || b->n < 4 ? 1 : 4;
    b->data = room;
}

static void spoil_fixed(const uint8_t **bytes, size_t n, struct dice *d)
{
    static uint8_t room[WIRE_ELEMENT_BYTES + WIRE_PROOF_BYTES];

    if (*bytes == NULL)
        return;
    memcpy(room, *bytes, n);
    room[dice_between(d, 0, n - 1)] ^= (uint8_t)dice_between(d, 1, 255);
    *bytes = room;
}

static void alter_broadcast(struct wire_broadcast *b, struct dice *d)
{
    if (b->ids.n > 0 && dice_percent(d, 50)) { /* rows are predicted */
        spoil(&b->ids, d);
        return;
    }
    switch (dice_next(d) % 9) {
    case 0: shift(&b->generation, d); break;
    case 1: shift(&b->round, d); break;
    case 2: shift(&b->place, d); break;
    case 3: shift(&b->sweep, d); break;
    case 4: shift(&b->close_step, d); break;
    case 5: b->last = b->closes = true; break;
    case 6: b->opens = !b->opens; break;
    case 7: b->purpose = (enum wire_purpose)(dice_next(d) % (PURPOSE_DEAL_DATA + 1)); break;
    default: spoil(&b->gradient, d); break;
    }
}

/* Out of the blue: the end, or a refusal. */
static void end_it(struct wire_msg *m, struct dice *d)
{
    const bool finish = dice_percent(d, 70);

    *m = (struct wire_msg){.kind = finish ? WIRE_FINISH : WIRE_REFUSE};
    if (finish) {
        m->finish.outcome = (enum wire_outcome)(dice_next(d) % (OUTCOME_FAILED + 1));
        m->finish.kind = m->finish.outcome >= OUTCOME_BUDGET ? STATUS_KIND_PEER : STATUS_KIND_NONE;
        strcpy(m->finish.text, "as the script has it");
    } else {
        m->refuse.kind = STATUS_KIND_PEER;
        strcpy(m->refuse.text, "as the script has it");
    }
}

void hostile_alter(struct wire_msg *m, void *owner)
{
    struct dice d = dice_of(script.seed, DRAW_ALTER, script.altered++);

    (void)owner;
    if (dice_percent(&d, 10)) {
        end_it(m, &d);
        return;
    }
    switch (m->kind) {
    case WIRE_OFFER:
        if (dice_percent(&d, 20))
            spoil_fixed(&m->offer.element, WIRE_ELEMENT_BYTES, &d);
        else if (dice_percent(&d, 50))
            shift(dice_percent(&d, 50) ? &m->offer.generation : &m->offer.step, &d);
        else
            spoil(dice_percent(&d, 50) ? &m->offer.job.text : &m->offer.members, &d);
        break;
    case WIRE_HELLOS:
        if (dice_percent(&d, 50))
            m->hellos.n--;
        else
            shift(&m->hellos.generation, &d);
        break;
    case WIRE_CONFIRMS:
        if (dice_percent(&d, 40))
            spoil_fixed(&m->confirms.proof, WIRE_PROOF_BYTES, &d);
        else if (dice_percent(&d, 50))
            m->confirms.n--;
        else
            shift(&m->confirms.generation, &d);
        break;
    case WIRE_BROADCAST: alter_broadcast(&m->broadcast, &d); break;
    case WIRE_RELAY:
        if (dice_percent(&d, 40))
            shift(dice_percent(&d, 50) ? &m->relay.round : &m->relay.generation, &d);
        else
            spoil(dice_percent(&d, 50) ? &m->relay.sealed : &m->relay.tags, &d);
        break;
    case WIRE_REPLAY:
        if (dice_percent(&d, 50))
            shift(dice_percent(&d, 50) ? &m->replay.step : &m->replay.generation, &d);
        else
            spoil(&m->replay.gradient, &d);
        break;
    case WIRE_NONE:
    case WIRE_BATCH: /* no job of these aligns */
    case WIRE_JOIN:
    case WIRE_BEHIND:
    case WIRE_HELLO:
    case WIRE_CONFIRM:
    case WIRE_UPLOAD:
    case WIRE_SHARE:
    case WIRE_KEPT:
    case WIRE_FINISH:
    case WIRE_REFUSE:
    case WIRE_KINDS: break;
    }
}
