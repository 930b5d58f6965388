/* agenda.c -- counting steps, evaluations and releases.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agenda.h"

#include "common/config/aggregation.h"
#include "common/data/segments.h"
#include "common/wire/limits.h"

#include <math.h>

/* A product or quotient of a plan's fractions carries a relative error of at most 5e-16.  What is
 * whole in exact arithmetic must not be pushed over by it: a step too many is a release too many.
 */
#define SLACK 1e-15

/* Evaluations k = 1, 2, ... happen after round ceil(k x); so after `done` rounds floor(done / x)
 * have. */
static uint64_t count_until(double x, uint64_t done)
{
    return (uint64_t)floor((double)done / x * (1 + SLACK));
}

static uint32_t turns_of(const struct plan *p)
{
    return p->protocol.local_order == ORDER_SEQUENTIAL ? p->shape.parties : 1;
}

static void make(struct agenda *a, const struct plan *p, double epochs, double every)
{
    const uint32_t coded_batch = p->training.batch / p->protocol.fedvs.segments;
    struct segments rows;
    uint64_t batches;

    segments_init(&rows, p->shape.train_rows, p->protocol.fedvs.segments);
    a->coded_rows = rows.len;
    a->rounds_per_epoch = rows.len / coded_batch + (rows.len % coded_batch != 0);
    batches = (uint64_t)ceil(epochs * a->rounds_per_epoch * (1 - SLACK));
    a->turns = turns_of(p);
    a->steps = batches * a->turns;
    a->party_steps = a->steps;
    if (p->protocol.straggler == STRAGGLER_ASYNC) /* all others may be infinitely slow */
        a->party_steps *= p->shape.parties;
    a->every = every * a->rounds_per_epoch;
    a->evaluates = p->shape.test_rows > 0 || p->training.evaluate_train;
    a->sweeps = 0;
    if (!a->evaluates)
        return;
    if (a->every <= 0) {
        a->sweeps = 1;
    } else if (a->every < 1) {
        a->sweeps = batches;
    } else {
        /* The last batch is always evaluated, whether or not a period ends there. */
        bool on_period = count_until(a->every, batches) > count_until(a->every, batches - 1);
        a->sweeps = count_until(a->every, batches) + (on_period ? 0 : 1);
    }
}

void agenda_make_head(struct agenda *a, const struct plan *p)
{
    make(a, p, p->training.epochs, p->training.evaluate_every);
}

void agenda_make(struct agenda *a, const struct plan *p)
{
    if (p->training.releases == RELEASES_ONCE)
        make(a, p, 1, 0);
    else
        agenda_make_head(a, p);
}

uint64_t agenda_sweeps_until(const struct agenda *a, uint64_t done)
{
    if (!a->evaluates || done == 0)
        return 0;
    if (done >= a->steps)
        return a->sweeps;
    if (a->every <= 0)
        return 0;
    done = agenda_batch(a, done);
    return a->every < 1 ? done : count_until(a->every, done);
}

uint64_t agenda_seed(const struct plan *p, uint32_t party)
{
    if (p->protocol.straggler != STRAGGLER_ASYNC)
        return p->training.seed;
    return p->training.seed + (party + 1) * 0x9e3779b97f4a7c15ull;
}

bool agenda_due(const struct agenda *a, uint64_t done)
{
    if (!a->evaluates || done == 0)
        return false;
    if (done == a->steps)
        return true;
    if (a->every <= 0 || done % a->turns != 0)
        return false;
    done = agenda_batch(a, done);
    return a->every < 1 || count_until(a->every, done) > count_until(a->every, done - 1);
}

uint64_t agenda_last_due(const struct agenda *a, uint64_t done)
{
    const uint64_t sweeps = agenda_sweeps_until(a, done);
    uint64_t before = 0; /* the first step at which there are as many lies in (before, done] */

    if (sweeps == 0)
        return 0;
    while (done - before > 1) {
        const uint64_t middle = before + (done - before) / 2;

        if (agenda_sweeps_until(a, middle) == sweeps)
            done = middle;
        else
            before = middle;
    }
    return done;
}

uint32_t agenda_batch_rows(const struct agenda *a, const struct plan *p, uint64_t step)
{
    const uint32_t k = p->protocol.fedvs.segments;
    uint32_t last = a->coded_rows - (a->rounds_per_epoch - 1) * (p->training.batch / k);

    return (agenda_batch(a, step) + 1) % a->rounds_per_epoch == 0 ? k * last : p->training.batch;
}

void agenda_segments(struct segments *s, const struct plan *p, bool test)
{
    segments_init(s, test ? p->shape.test_rows : p->shape.train_rows, aggregation_segments(p));
}

uint32_t agenda_places(const struct plan *p, bool test)
{
    struct segments s;

    agenda_segments(&s, p, test);
    return s.len;
}

uint32_t agenda_round_places(const struct plan *p)
{
    return wire_evaluate_rows(p) / aggregation_segments(p);
}

/* Of schedule and plan: `r` local iterations have been, over all batches, of `all`, of which an
 * epoch has `epoch`. */
static double scheduled(const struct plan *p, double r, double all, double epoch)
{
    const double eta = p->training.learning_rate;

    switch (p->training.schedule) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_INVERSE_SQRT: return eta / sqrt(r + 1);
    case SCHEDULE_INVERSE_SQRT_PARTIES: return eta / sqrt((r + 1) * p->shape.parties);
    case SCHEDULE_COSINE: return r < all ? eta * (1 + cos(acos(-1) * r / all)) / 2 : 0;
    case SCHEDULE_STEP:
        return eta * pow(p->training.step.factor, floor(r / (epoch * p->training.step.epochs)));
    }
    return eta;
}

float agenda_rate(const struct plan *p, uint64_t step, uint32_t local)
{
    const double q = p->protocol.local_iterations, r = (double)(step / turns_of(p)) * q + local;
    double rate, epoch, grown;
    struct agenda a;

    agenda_make_head(&a, p);
    epoch = q * a.rounds_per_epoch;
    rate = scheduled(p, r, q * (double)(a.steps / a.turns), epoch);
    grown = (r + 1) / (epoch * p->training.warmup); /* infinite without one */
    return (float)(grown < 1 ? rate * grown : rate);
}

void agenda_price(const struct agenda *a, const struct plan *p, struct agenda_releases *out)
{
    uint64_t batches = agenda_batch(a, a->party_steps);
    uint64_t epochs = batches / a->rounds_per_epoch, rest = batches % a->rounds_per_epoch;
    uint64_t train_sweeps = p->training.evaluate_train ? a->sweeps : 0;

    out->train = a->turns * (epochs * p->shape.train_rows + rest * p->training.batch);
    out->evaluate = train_sweeps * p->shape.train_rows;
    if (p->shape.test_rows > 0)
        out->evaluate += a->sweeps * p->shape.test_rows;
    out->trained_max = a->turns * (epochs + (rest > 0 ? 1 : 0));
    out->train_record_max = out->trained_max + train_sweeps;
    out->test_record_max = p->shape.test_rows > 0 ? a->sweeps : 0;
}

void agenda_price_rest(const struct agenda *a, const struct plan *p, uint64_t done,
                       struct agenda_releases *out)
{
    const uint64_t epoch = agenda_epoch_steps(a);
    struct agenda rest = *a;
    uint64_t whole = (done + epoch - 1) / epoch * epoch, here;

    /* Whole epochs from the next one on, and the rows that this one still has. */
    rest.party_steps = a->party_steps > whole ? a->party_steps - whole : 0;
    if (a->party_steps == a->steps) /* otherwise one's own steps do not tell how many were */
        rest.sweeps = a->sweeps - agenda_sweeps_until(a, done);
    agenda_price(&rest, p, out);
    for (uint64_t step = done; step < whole && step < a->party_steps; step++)
        out->train += agenda_batch_rows(a, p, step);
    /* Each record is in one batch of this epoch; of the batch under way some turns are over. */
    here = (whole < a->party_steps ? whole : a->party_steps);
    here = here > done ? here - done : 0;
    here = here < a->turns ? here : a->turns;
    out->trained_max += here;
    out->train_record_max += here;
}

void agenda_price_again(const struct agenda *a, const struct plan *p, uint64_t done,
                        struct agenda_releases *out)
{
    struct agenda one = *a;
    struct agenda_releases sweep;

    if (a->party_steps != a->steps || !agenda_due(a, done)) /* or the rest has all sweeps */
        return;
    one.party_steps = 0;
    one.sweeps = 1;
    agenda_price(&one, p, &sweep);
    out->evaluate += sweep.evaluate;
    out->train_record_max += sweep.train_record_max;
    out->test_record_max += sweep.test_record_max;
}

uint64_t agenda_record_max(const struct agenda_releases *r, struct validate_repeats repeats)
{
    const uint64_t tested = repeats.twice ? 2 * r->test_record_max : r->test_record_max;
    const uint64_t trained = r->train_record_max + (repeats.shared ? r->test_record_max : 0);

    return trained > tested ? trained : tested;
}
