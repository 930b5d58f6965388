/* fuzz_agenda.c -- any plan that makes sense: its steps and evaluations counted one by one are what
 * the agenda says, and its price is never less than what they release.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agenda.h"
#include "common/secagg/encode.h"
#include "common/wire/message.h"
#include "tests/fuzz/plan_feed.h"

#include <math.h>

enum { WALK_MAX = 4096 /* steps that are counted one by one */ };

/* What one party releases from step `from` on, and evaluations due after it. */
struct walk {
    uint64_t rows, sweeps;
};

static struct walk walk(const struct agenda *a, const struct plan *p, uint64_t from)
{
    struct walk w = {0};

    for (uint64_t step = from; step < a->party_steps; step++)
        w.rows += agenda_batch_rows(a, p, step);
    for (uint64_t done = from + 1; done <= a->steps; done++)
        w.sweeps += agenda_due(a, done);
    return w;
}

static void check_price(const struct agenda *a, const struct plan *p, uint64_t done)
{
    const struct walk left = walk(a, p, done);
    const uint64_t per_sweep =
        (p->training.evaluate_train ? p->shape.train_rows : 0) + (uint64_t)p->shape.test_rows;
    /* Rows of none that steps of several segments count, of all epochs that are touched. */
    const uint64_t padding =
        ((uint64_t)a->coded_rows * p->protocol.fedvs.segments - p->shape.train_rows) *
        (a->party_steps / agenda_epoch_steps(a) + 1) * a->turns;
    const bool apart = a->party_steps != a->steps; /* async: sweeps are not of its own steps */
    struct agenda_releases r;

    agenda_price_rest(a, p, done, &r);
    CHECK(r.train + padding >= left.rows);
    CHECK(p->protocol.fedvs.segments > 1 || r.train == left.rows);
    CHECK(r.evaluate >= left.sweeps * per_sweep);
    CHECK(apart || r.evaluate == left.sweeps * per_sweep);
    CHECK(r.train_record_max <= r.train + r.evaluate + p->shape.train_rows + a->turns);
    CHECK((uint64_t)p->shape.train_rows * r.train_record_max + padding >= left.rows);
}

static void check_sweeps(const struct agenda *a)
{
    uint64_t until = 0;

    for (uint64_t done = 0; done <= a->steps; done++) {
        until += agenda_due(a, done);
        CHECK(agenda_sweeps_until(a, done) == until);
    }
    CHECK(until == a->sweeps && (!a->evaluates || until > 0));
}

/* Of plans of any size: nothing wraps. */
static void check_sizes(const struct agenda *a, const struct plan *p)
{
    struct agenda_releases r;
    struct encode e;

    CHECK(a->steps > 0 && a->party_steps >= a->steps && a->rounds_per_epoch > 0);
    CHECK(a->sweeps <= a->steps && a->coded_rows <= p->shape.train_rows);
    agenda_price(a, p, &r);
    CHECK((double)r.train >=
          floor((double)a->party_steps / (double)agenda_epoch_steps(a)) * p->shape.train_rows);
    CHECK(r.train < UINT64_C(1) << 62 && r.evaluate < UINT64_C(1) << 62);
    CHECK(r.train_record_max <= a->party_steps + a->sweeps && r.test_record_max <= a->sweeps);
    CHECK((uint64_t)wire_evaluate_rows(p) * p->model.embedding <= UINT32_MAX);
    CHECK(!wire_fits(p) || wire_down_max(p, 0) > wire_blob_max(p));
    CHECK(encode_init(&e, p, p->shape.parties) == STATUS_OK || plan_compresses(p));
    for (uint64_t step = 0; step < 3; step++) {
        const float rate = agenda_rate(p, step * (a->steps - 1) / 2, p->protocol.local_iterations);

        CHECK(isfinite(rate) && rate >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    struct error err = {0};
    struct agenda a;
    struct plan p;
    uint64_t done;

    plan_feed(&f, &p);
    p.shape.parties = plan_feed_size(&f, 1, 8, PLAN_PARTIES_MAX);
    p.shape.train_rows = plan_feed_size(&f, 1, 200, PLAN_ROWS_MAX);
    p.shape.test_rows = plan_feed_size(&f, 0, 20, PLAN_ROWS_MAX);
    p.shape.outputs = feed_among(&f, 1, 4);
    if (plan_check(&p, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_CONFIG);
        feed_check_words(err.text);
        return 0;
    }
    agenda_make(&a, &p);
    check_sizes(&a, &p);
    if (a.party_steps > WALK_MAX || agenda_epoch_steps(&a) > WALK_MAX)
        return 0;
    check_sweeps(&a);
    done = feed_number(&f, 2) % (a.party_steps + 1);
    check_price(&a, &p, 0);
    check_price(&a, &p, done);
    return 0;
}
