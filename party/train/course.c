/* course.c -- a plan's text read and checked, and small things that follow from it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/course.h"

#include "common/wire/limits.h"

void party_course_deinit(struct party_course *c)
{
    schedule_deinit(&c->schedule);
    buf_deinit(&c->text);
    c->planned = false;
}

/* --- a plan --- */

enum status party_course_keeps_back(const struct plan *p, const struct config_party *c,
                                    struct error *err)
{
    if (p->data.validate < c->validate || p->data.validate > c->validate)
        return error_set(err, STATUS_DATA,
                         "data.validate: the server's plan keeps %g of the training rows back, "
                         "this side's data.validate %g",
                         p->data.validate, c->validate);
    if (p->data.validate_by == c->validate_by)
        return STATUS_OK;
    return error_set(
        err, STATUS_DATA,
        "data.validate_by: the server's plan keeps training rows back by %s, this side "
        "by %s",
        plan_validates[p->data.validate_by], plan_validates[c->validate_by]);
}

static enum status check_shape(const struct plan *p, const struct party_setup *setup,
                               struct error *err)
{
    if (!wire_fits(p))
        return error_set(err, STATUS_PROTOCOL,
                         "the server's plan: a step's message would have %zu bytes",
                         wire_blob_max(p));
    if (p->shape.parties != setup->roster->n)
        return error_set(err, STATUS_PROTOCOL,
                         "the server's plan: for %u parties, the roster has %zu", p->shape.parties,
                         setup->roster->n);
    if (party_course_keeps_back(p, setup->config, err) != STATUS_OK)
        return err->status;
    if (p->shape.train_rows == setup->data.train->rows &&
        p->shape.test_rows == setup->data.test->rows)
        return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "rows do not match: this side has %zu training and %zu test rows, the server "
                     "%u and %u: %s",
                     setup->data.train->rows, setup->data.test->rows, p->shape.train_rows,
                     p->shape.test_rows, ids_advice(setup->data.train));
}

enum status party_course_read(struct party_course *c, const struct party_setup *setup,
                              const uint8_t *text, size_t n, struct error *err)
{
    enum status s = plan_parse(&c->plan, (const char *)text, n, err);

    if (s != STATUS_OK) {
        error_wrap(err, "the server's plan");
        if (status_kind(s) != STATUS_KIND_LOCAL) /* what is short here is no fault of the server */
            err->status = s = STATUS_PROTOCOL;
        return s;
    }
    s = check_shape(&c->plan, setup, err);
    if (s != STATUS_OK)
        return s;
    c->self = setup->self;
    c->does_without = c->plan.protocol.straggler != STRAGGLER_WAIT;
    agenda_make(&c->agenda, &c->plan);
    digest_sha256(c->digest, text, n);
    return STATUS_OK;
}

enum status party_course_make_room(struct party_course *c, const uint8_t *text, size_t n)
{
    enum status s;

    buf_init(&c->text, PLAN_TEXT_MAX);
    s = buf_append(&c->text, text, n);
    return s == STATUS_OK ? schedule_init(&c->schedule, agenda_seed(&c->plan, c->self),
                                          c->plan.shape.train_rows, c->plan.training.batch,
                                          c->plan.protocol.fedvs.segments)
                          : s;
}

/* --- small things --- */

/* The server gives up on others after its patience and then says so: this side waits longer than
 * that. */
uint64_t party_patience_ms(const struct party_course *c)
{
    return c->planned ? 2 * (uint64_t)c->plan.protocol.patience_ms + 10000 : 0;
}

void party_arm(const struct party_course *c, struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms = party_patience_ms(c);
}

const uint32_t *party_batch(struct party_course *c, uint64_t step, uint32_t *rows)
{
    return schedule_batch(&c->schedule, agenda_batch(&c->agenda, step), rows);
}

enum status party_violation(struct error *err, const char *what, uint64_t number)
{
    return error_set(err, STATUS_PROTOCOL, "the server: %s (%llu)", what,
                     (unsigned long long)number);
}
