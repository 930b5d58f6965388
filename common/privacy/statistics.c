/* statistics.c -- whole numbers in, noise on their sums, and what is read off these.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/statistics.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/data/text.h"
#include "common/data/when.h"
#include "common/gauss/gauss.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT ((double)STATISTICS_UNIT)

static const size_t numbers_of[STATISTICS_KINDS] = {STATISTICS_MOMENTS, STATISTICS_COUNTS};
/* How far a row moves them, in units. */
static const double moves[STATISTICS_KINDS] = {2, 2.8284271247461903};

/* --- what is asked --- */

/* Of a column's values, as they are read. */
struct range {
    float low, high;
};

static struct range range_of(const struct schema_column *c)
{
    if (c->clipped || c->kind != SCHEMA_ORDERED)
        return (struct range){c->low, c->high};
    return (struct range){0, (float)c->levels.n};
}

static float boundary(const struct range *r, uint32_t i)
{
    const double low = (double)r->low, width = (double)r->high - low;

    return (float)(low + width * i / STATISTICS_CELLS);
}

/* Of values behind log. */
static struct range transformed(const struct schema_column *c)
{
    const struct range r = range_of(c);

    return (struct range){schema_transform(c, r.low), schema_transform(c, r.high)};
}

/* Every boundary is a float of its own, so that edges of bins are. */
static bool has_width(const struct schema_column *c)
{
    const struct range r = range_of(c), t = transformed(c);
    bool wide = t.low < t.high;

    for (uint32_t i = 0; wide && i < STATISTICS_CELLS; i++)
        wide = boundary(&r, i) < boundary(&r, i + 1);
    return wide;
}

static uint8_t wanted_of(const struct schema_column *c, bool scaled)
{
    const bool none = c->kind == SCHEMA_CATEGORY || schema_width(c) == 0;
    const bool moments = (!c->filled && c->missing == MISSING_MEAN) ||
                         (scaled && schema_is_value(c) && c->parts == 0);
    const bool counts = (!c->filled && c->missing == MISSING_MEDIAN) || (c->bins > 0 && !c->cut);

    if (none)
        return 0;
    return (uint8_t)(moments << STATISTICS_OF_MOMENTS | counts << STATISTICS_OF_COUNTS);
}

static enum status check_column(const struct schema_column *c, bool ranged, struct error *err)
{
    char name[TEXT_EXCERPT_MAX];

    text_excerpt(name, c->name, strlen(c->name));
    if (c->kind == SCHEMA_CATEGORY && c->open)
        return error_set(
            err, STATUS_CONFIG,
            "column \"%s\": statistics: dp, but its levels are not given, and no noise "
            "gives them",
            name);
    if (ranged && !c->clipped && c->kind != SCHEMA_ORDERED)
        return error_set(
            err, STATUS_CONFIG,
            "column \"%s\": statistics: dp, but no clip: [lowest, highest] says by how "
            "much a row may count",
            name);
    if (ranged && !has_width(c))
        return error_set(err, STATUS_CONFIG,
                         "column \"%s\": statistics: dp, but its clip is too narrow to be cut into "
                         "%d parts",
                         name, STATISTICS_CELLS);
    return STATUS_OK;
}

enum status statistics_init(struct statistics *out, const struct schema *s, bool scaled,
                            struct error *err)
{
    enum status status = STATUS_OK;

    *out = (struct statistics){.columns = s->n};
    out->wanted = mem_alloc(s->n, sizeof *out->wanted);
    for (size_t i = 0; out->wanted != NULL && status == STATUS_OK && i < s->n; i++) {
        const struct schema_column *c = &s->column[i];

        out->wanted[i] = wanted_of(c, scaled);
        status = check_column(
            c, out->wanted[i] != 0 || (scaled && c->parts != 0 && schema_is_value(c)), err);
        for (int kind = 0; kind < STATISTICS_KINDS; kind++)
            if ((out->wanted[i] >> kind & 1) != 0) {
                out->queries++;
                out->numbers += numbers_of[kind];
            }
    }
    if (out->wanted != NULL && status == STATUS_OK)
        out->number = mem_alloc(out->numbers + 1, sizeof *out->number);
    if (status == STATUS_OK && out->number == NULL)
        status = error_set(err, STATUS_MEMORY, "no memory for statistics of %zu columns", s->n);
    if (status != STATUS_OK)
        statistics_deinit(out);
    return status;
}

void statistics_deinit(struct statistics *st)
{
    if (st->number != NULL)
        secret_wipe(st->number, st->numbers * sizeof *st->number);
    mem_free(st->number);
    mem_free(st->wanted);
    *st = (struct statistics){0};
}

/* --- what it costs --- */

struct account_entry statistics_entry(const struct statistics *st, double rho, bool persons)
{
    /* All numbers as one vector, over their deviations: a neighbour moves it by sqrt(2 rho). */
    return (struct account_entry){.kind = ACCOUNT_GAUSSIAN,
                                  .sigma = 1,
                                  .step = 1 / GAUSS_SIGMA_MIN,
                                  .clip = sqrt(rho / 2 / (double)st->numbers),
                                  .bottom = ACCOUNT_STATISTICS,
                                  .coordinates = (uint32_t)st->numbers,
                                  .parties = 1,
                                  .colluders = 1,
                                  .persons = persons,
                                  .participations_max = 1};
}

double statistics_rho(const struct statistics *st, const struct schema *s)
{
    static const struct account_claim record = {.adversary = ACCOUNT_SERVER,
                                                .adjacency = ACCOUNT_RECORD_RAW};
    double low = -60, high = 10; /* ln rho */

    CHECK(st->numbers > 0 && s->epsilon > 0 && s->delta > 0);
    for (int i = 0; i < 64; i++) {
        const double middle = (low + high) / 2;
        const struct account_entry e = statistics_entry(st, exp(middle), false);

        if (account_claim(&e, 1, &record, s->delta).epsilon <= s->epsilon)
            low = middle;
        else
            high = middle;
    }
    return exp(low);
}

enum status statistics_spend(struct statistics *st, double rho, uint32_t together,
                             struct error *err)
{
    CHECK(together >= 1 && rho > 0);
    for (int kind = 0; kind < STATISTICS_KINDS; kind++) {
        const double move = moves[kind] * UNIT * together;
        /* A little more, so that no rounding makes it less. */
        const double sigma = move * sqrt((double)st->queries / (2 * rho)) * (1 + 0x1p-40);

        st->sigma[kind] = fmax(sigma, GAUSS_SIGMA_MIN);
        if (sigma > GAUSS_SIGMA_MAX)
            return error_set(
                err, STATUS_CONFIG,
                "budget: too small for %zu statistics of rows of which up to %u change "
                "together: the noise would be %.3g rows",
                st->queries, (unsigned)together, sigma / UNIT);
    }
    return STATUS_OK;
}

/* --- sums --- */

/* From -1 to 1. */
static double place_of(const struct range *t, double y)
{
    const double low = (double)t->low, width = (double)t->high - low;

    return fmin(fmax(2 * (y - low) / width - 1, -1), 1);
}

static void add_moments(int64_t out[STATISTICS_MOMENTS], const struct schema_column *c,
                        const struct range *t, float x)
{
    const int64_t v = lround(place_of(t, (double)schema_transform(c, x)) * UNIT);

    out[0] += STATISTICS_UNIT;
    out[1] += v;
    out[2] += v * v / STATISTICS_UNIT;
}

/* In its leaf and in all nodes above. */
static void add_count(int64_t out[STATISTICS_COUNTS], const struct range *r, float x)
{
    const double at = (place_of(r, (double)x) + 1) / 2 * STATISTICS_CELLS;
    const size_t cell = (size_t)fmin(at, STATISTICS_CELLS - 1);

    for (size_t nodes = STATISTICS_BRANCHES; nodes <= STATISTICS_CELLS;
         nodes *= STATISTICS_BRANCHES) {
        out[cell * nodes / STATISTICS_CELLS] += STATISTICS_UNIT;
        out += nodes;
    }
}

static void sum_column(int64_t *out, uint8_t wanted, const struct schema_column *c,
                       const struct table *t, size_t col)
{
    const bool moments = (wanted >> STATISTICS_OF_MOMENTS & 1) != 0;
    const bool counts = (wanted >> STATISTICS_OF_COUNTS & 1) != 0;
    const struct range r = range_of(c), behind = transformed(c);

    for (size_t i = 0; i < t->rows; i++) {
        const float x = t->x[i * t->cols + col];

        if (isnan(x))
            continue;
        if (moments)
            add_moments(out, c, &behind, x);
        if (counts)
            add_count(out + (moments ? STATISTICS_MOMENTS : 0), &r, x);
    }
}

static size_t width_of(uint8_t wanted)
{
    size_t n = 0;

    for (int kind = 0; kind < STATISTICS_KINDS; kind++)
        n += (wanted >> kind & 1) != 0 ? numbers_of[kind] : 0;
    return n;
}

void statistics_sum(struct statistics *st, const struct schema *s, const struct table *t)
{
    int64_t *at = st->number;

    CHECK(t->cols == s->n && st->columns == s->n);
    memset(st->number, 0, st->numbers * sizeof *st->number);
    for (size_t i = 0; i < s->n; at += width_of(st->wanted[i++]))
        if (st->wanted[i] != 0)
            sum_column(at, st->wanted[i], &s->column[i], t, i);
}

/* In every number of one kind, in the order of the columns. */
static enum status draw_kind(struct statistics *st, int kind, struct rng *r)
{
    int32_t z[STATISTICS_COUNTS];
    int64_t *at = st->number;
    struct gauss g = {0};
    enum status s = gauss_init(&g, st->sigma[kind]);

    for (size_t i = 0; s == STATUS_OK && i < st->columns; at += width_of(st->wanted[i++])) {
        const uint8_t wanted = st->wanted[i];
        const bool behind = kind == STATISTICS_OF_COUNTS && (wanted & 1) != 0;
        int64_t *out = at + (behind ? STATISTICS_MOMENTS : 0);

        if ((wanted >> kind & 1) == 0)
            continue;
        gauss_sample(&g, z, numbers_of[kind], r);
        for (size_t k = 0; k < numbers_of[kind]; k++)
            out[k] += z[k];
    }
    secret_wipe(z, sizeof z);
    gauss_deinit(&g);
    return s;
}

enum status statistics_draw(struct statistics *st, struct rng *r, struct error *err)
{
    enum status s = STATUS_OK;

    for (int kind = 0; kind < STATISTICS_KINDS && s == STATUS_OK; kind++)
        s = draw_kind(st, kind, r);
    return s == STATUS_OK ? s : error_set(err, s, "statistics: no noise of this size");
}

/* --- what is read off --- */

struct moments {
    double share;          /* of the rows that have a value */
    double mean, variance; /* of these, as places from -1 to 1 */
};

/* A spread below one deviation of its noise is none that was seen: it is that of a range that is
 * evenly filled. */
static struct moments moments_of(const struct statistics *st, const struct schema_column *c,
                                 const int64_t *z, size_t rows)
{
    const double all = (double)rows, counted = fmin(fmax((double)z[0] / UNIT, 1), all);
    const double n = c->missing == MISSING_REFUSED ? all : counted;
    struct moments m = {.share = n / all, .mean = fmin(fmax((double)z[1] / UNIT / n, -1), 1)};

    m.variance = fmin(fmax((double)z[2] / UNIT / n, 0), 1) - m.mean * m.mean;
    if (!(m.variance > st->sigma[STATISTICS_OF_MOMENTS] / UNIT / n))
        m.variance = 1.0 / 3;
    return m;
}

/* The value whose feature is at this place. */
static float value_at(const struct schema_column *c, double place)
{
    const struct range r = range_of(c), t = transformed(c);
    double x = (double)t.low + (place + 1) / 2 * ((double)t.high - (double)t.low);

    if (c->log)
        x = copysign(expm1(fabs(x)), x);
    return (float)fmin(fmax(x, (double)r.low), (double)r.high);
}

/* How many rows lie in each leaf, in units: the tree that is nearest to the noised one, of all in
 * which a node is the sum of those below. */
static void settle_tree(double leaf[STATISTICS_CELLS], const int64_t z[STATISTICS_COUNTS])
{
    const size_t b = STATISTICS_BRANCHES;
    double node[STATISTICS_COUNTS];
    size_t level = STATISTICS_COUNTS - STATISTICS_CELLS, nodes = STATISTICS_CELLS;
    double below = (double)b; /* b to the height of the level above, a leaf's being 1 */

    for (size_t i = 0; i < STATISTICS_COUNTS; i++)
        node[i] = (double)z[i];
    for (; level > 0; below *= (double)b) { /* from the leaves: a node, and those below it */
        const size_t above = level - nodes / b;

        for (size_t i = 0; i < nodes / b; i++) {
            const double own = (below * (double)b - below) / (below * (double)b - 1);
            double sum = 0;

            for (size_t k = 0; k < b; k++)
                sum += node[level + i * b + k];
            node[above + i] = own * node[above + i] + (1 - own) * sum;
        }
        nodes /= b;
        level = above;
    }
    for (; nodes < STATISTICS_CELLS; level += nodes, nodes *= b) /* and back: what is left over */
        for (size_t i = 0; i < nodes; i++) {
            double *child = node + level + nodes + i * b, sum = 0;

            for (size_t k = 0; k < b; k++)
                sum += child[k];
            for (size_t k = 0; k < b; k++)
                child[k] += (node[level + i] - sum) / (double)b;
        }
    memcpy(leaf, node + level, STATISTICS_CELLS * sizeof *leaf);
    secret_wipe(node, sizeof node);
}

/* Up to which boundary this share of the rows lies, most nearly. */
static uint32_t quantile(const double leaf[STATISTICS_CELLS], double share)
{
    double total = 0, below = 0, best = INFINITY;
    uint32_t found = 0;

    for (size_t i = 0; i < STATISTICS_CELLS; i++)
        total += leaf[i];
    for (uint32_t i = 0; i <= STATISTICS_CELLS; i++) {
        const double off = fabs(below - share * total);

        if (off < best) {
            best = off;
            found = i;
        }
        below += i < STATISTICS_CELLS ? leaf[i] : 0;
    }
    return found;
}

/* As many as the schema says, whatever was drawn: each above the one before. */
static enum status cut_bins(struct schema_column *c, const double leaf[STATISTICS_CELLS])
{
    const struct range r = range_of(c);
    uint32_t before = 0;

    c->edge = mem_alloc(c->bins, sizeof *c->edge);
    if (c->edge == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 1; i < c->bins; i++) {
        const uint32_t most = STATISTICS_CELLS - (c->bins - i);
        uint32_t at = quantile(leaf, (double)i / c->bins);

        at = at <= before ? before + 1 : at;
        before = at > most ? most : at;
        c->edge[i - 1] = boundary(&r, before);
    }
    c->cut = true;
    return STATUS_OK;
}

static enum status settle_column(const struct statistics *st, size_t i, struct schema_column *c,
                                 const int64_t *z, size_t rows)
{
    const bool moments = (st->wanted[i] >> STATISTICS_OF_MOMENTS & 1) != 0;
    const bool counts = (st->wanted[i] >> STATISTICS_OF_COUNTS & 1) != 0;
    const struct range r = range_of(c);
    double leaf[STATISTICS_CELLS];

    if (counts)
        settle_tree(leaf, z + (moments ? STATISTICS_MOMENTS : 0));
    if (!c->filled && c->missing == MISSING_MEAN)
        c->fill = value_at(c, moments_of(st, c, z, rows).mean);
    else if (!c->filled && c->missing == MISSING_MEDIAN)
        c->fill = boundary(&r, quantile(leaf, 0.5));
    c->filled = c->filled || c->missing == MISSING_MEAN || c->missing == MISSING_MEDIAN;
    return c->bins > 0 && !c->cut ? cut_bins(c, leaf) : STATUS_OK;
}

enum status statistics_settle(const struct statistics *st, struct schema *s, size_t rows)
{
    const int64_t *z = st->number;
    enum status status = STATUS_OK;

    CHECK(st->columns == s->n && rows > 0);
    for (size_t i = 0; status == STATUS_OK && i < s->n; z += width_of(st->wanted[i++]))
        if (st->wanted[i] != 0)
            status = settle_column(st, i, &s->column[i], z, rows);
    return status;
}

static void put_scale(struct scale *out, size_t at, double mean, double sd)
{
    out->mean[at] = (float)mean;
    out->sd[at] = sd >= (double)FLT_MIN && sd <= (double)FLT_MAX ? (float)sd : 1;
}

/* Of a feature with its gaps filled. */
static void scale_value(struct scale *out, size_t at, const struct moments *m,
                        const struct schema_column *c)
{
    const struct range t = transformed(c);
    const double half = ((double)t.high - (double)t.low) / 2;
    const double fill = place_of(&t, (double)schema_transform(c, c->fill));
    const double share = c->missing == MISSING_REFUSED ? 1 : m->share;
    const double mean = share * m->mean + (1 - share) * fill;
    const double off = m->mean - mean, gap = fill - mean;

    put_scale(out, at, (double)t.low + (mean + 1) * half,
              half * sqrt(share * (m->variance + off * off) + (1 - share) * gap * gap));
}

/* Those of a time of which nothing is known but its range. */
static void scale_parts(struct scale *out, size_t at, const struct schema_column *c)
{
    static const float spans[WHEN_PARTS][2] = {{0, 0},  {0, 0}, {1, 12}, /* month */
                                               {1, 31}, {0, 6}, {0, 23}};
    const struct range r = range_of(c);
    struct when_parts first, last;

    when_take_apart(&first, r.low);
    when_take_apart(&last, r.high);
    for (size_t i = 0; i < WHEN_PARTS; i++) {
        const double low = (double)(i < 2 ? first.part[i] : spans[i][0]);
        const double high = (double)(i < 2 ? last.part[i] : spans[i][1]);

        if ((c->parts >> i & 1) != 0)
            put_scale(out, at++, (low + high) / 2, (high - low) / sqrt(12));
    }
}

enum status statistics_scale(const struct statistics *st, const struct schema *s, size_t rows,
                             struct scale *out)
{
    const int64_t *z = st->number;
    size_t cols = 0, at = 0;
    enum status status;

    for (size_t i = 0; i < s->n; i++)
        cols += schema_width(&s->column[i]);
    status = scale_init(out, cols);
    for (size_t i = 0; status == STATUS_OK && i < s->n; z += width_of(st->wanted[i++])) {
        const struct schema_column *c = &s->column[i];
        const size_t width = schema_width(c);

        for (size_t k = 0; k < width; k++)
            put_scale(out, at + k, 0, 1);
        if (c->parts > 0) {
            scale_parts(out, at, c);
        } else if (schema_is_value(c)) {
            const struct moments m = moments_of(st, c, z, rows);

            scale_value(out, at, &m, c);
        }
        at += width;
    }
    return status;
}
