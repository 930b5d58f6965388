/* fuzz_lcc.c -- rows that should lie on polynomials, some of them changed: who is wrong is found as
 * far as the surplus goes, never anybody else, and what is left decodes to what was shared.
 *
 * Input: bytes 0 to 5 which code, members, K, T, columns and how many rows are changed; then what
 * is shared, and what is added to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/mod.h"
#include "common/lcc/lcc.h"
#include "common/lcc/product.h"
#include "tests/fuzz/feed.h"

enum { MEMBERS_MAX = 12, LEN_MAX = 4, NARROW_PRIME = 65521 };

struct plot {
    struct feed feed;
    uint32_t members, segments, privacy, len, wrong;
    uint32_t needed; /* rows that say what all others are */
    bool is_wrong[MEMBERS_MAX];
    uint64_t prime;
};

/* The changed members, distinct, and in each one column at least. */
static void choose_wrong(struct plot *p)
{
    for (uint32_t i = 0; i < p->wrong; i++) {
        uint32_t m = feed_byte(&p->feed) % p->members;

        while (p->is_wrong[m])
            m = (m + 1) % p->members;
        p->is_wrong[m] = true;
    }
}

/* 1 .. prime - 1 */
static uint64_t change(struct plot *p)
{
    return 1 + feed_number(&p->feed, 7) % (p->prime - 1);
}

static void judge(const struct plot *p, enum lcc_verdict v, const uint32_t *faulty, uint32_t n)
{
    const uint32_t surplus = p->members - p->needed;

    CHECK(n == 0 || v == LCC_LOCATED);
    if (surplus == 0)
        CHECK(v == LCC_UNVERIFIED);
    else if (p->wrong == 0)
        CHECK(v == LCC_CONSISTENT);
    else if (p->wrong <= surplus)
        CHECK(v == LCC_INCONSISTENT || v == LCC_LOCATED);
    if (p->wrong > 0 && 2 * p->wrong <= surplus) {
        CHECK(v == LCC_LOCATED && n == p->wrong);
        for (uint32_t i = 0; i < n; i++)
            CHECK(faulty[i] < p->members && p->is_wrong[faulty[i]]);
    }
    CHECK(2 * n <= surplus);
}

/* --- 16 bits --- */

static void narrow(struct plot *p)
{
    static uint16_t rows[MEMBERS_MAX * LEN_MAX], shares[MEMBERS_MAX * LEN_MAX],
        out[MEMBERS_MAX * LEN_MAX];
    const struct lcc_shape shape = {NARROW_PRIME, p->members, p->segments, p->privacy};
    uint32_t member[MEMBERS_MAX], faulty[LCC_PARTIES_MAX / 2], faulty_n, n = 0;
    const uint16_t *row[MEMBERS_MAX];
    enum lcc_verdict v;
    struct lcc c;

    p->prime = NARROW_PRIME;
    p->needed = p->segments + p->privacy;
    if (lcc_init(&c, &shape, NULL) != STATUS_OK) {
        CHECK(p->needed > p->members);
        return;
    }
    for (uint32_t i = 0; i < p->needed * p->len; i++)
        rows[i] = (uint16_t)(feed_number(&p->feed, 2) % NARROW_PRIME);
    lcc_encode(&c, shares, rows, p->len);
    choose_wrong(p);
    for (uint32_t m = 0; m < p->members; m++) {
        uint16_t *at = &shares[m * p->len + m % p->len];

        if (p->is_wrong[m])
            *at = (uint16_t)((*at + change(p)) % NARROW_PRIME);
        row[m] = shares + m * p->len;
        member[m] = m;
    }
    v = lcc_check(&c, faulty, &faulty_n, &(struct lcc_shares){row, member, p->members, p->len});
    judge(p, v, faulty, faulty_n);
    for (uint32_t m = p->members; m-- > 0;) {
        if (p->is_wrong[m])
            continue;
        row[n] = shares + m * p->len;
        member[n++] = m;
    }
    if (n >= p->needed) {
        lcc_decode(&c, out, &(struct lcc_shares){row, member, n, p->len});
        CHECK(memcmp(out, rows, p->segments * p->len * sizeof *rows) == 0);
    }
    lcc_deinit(&c);
}

/* --- products --- */

/* Products of shares of data, element by element, and of a model that is the same in all
 * segments. */
static void multiply(const struct plot *p, const struct field *f, void *x, const void *y)
{
    for (uint32_t i = 0; i < p->members * p->len; i++)
        f->set(x, i, mod_mul(f->get(x, i), f->get(y, i), f->p));
}

static void draw(struct plot *p, const struct field *f, void *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        f->set(rows, i, feed_number(&p->feed, 8) % f->p);
}

static void spoil(struct plot *p, const struct field *f, void *shares)
{
    choose_wrong(p);
    for (uint32_t m = 0; m < p->members; m++) {
        const uint32_t at = m * p->len + m % p->len;

        if (p->is_wrong[m])
            f->set(shares, at, (f->get(shares, at) + change(p)) % f->p);
    }
}

static void check_product(const struct plot *p, const struct field *f, const void *out,
                          const void *rows, const void *same)
{
    for (uint32_t k = 0; k < p->segments; k++) {
        for (uint32_t i = 0; i < p->len; i++)
            CHECK(f->get(out, k * p->len + i) ==
                  mod_mul(f->get(rows, k * p->len + i), f->get(same, i), f->p));
    }
}

static void wide(struct plot *p, const struct field *f)
{
    static uint64_t rows[MEMBERS_MAX * LEN_MAX], same[MEMBERS_MAX * LEN_MAX],
        x[MEMBERS_MAX * LEN_MAX], y[MEMBERS_MAX * LEN_MAX], out[MEMBERS_MAX * LEN_MAX];
    const struct product_shape shape = {f, p->members, p->segments, p->privacy};
    uint32_t member[MEMBERS_MAX], faulty[LCC_PARTIES_MAX / 2], faulty_n, n = 0;
    const void *row[MEMBERS_MAX];
    enum lcc_verdict v;
    struct product c;

    p->prime = f->p;
    p->needed = 2 * (p->segments + p->privacy - 1) + 1;
    if (product_init(&c, &shape, NULL) != STATUS_OK) {
        CHECK(p->needed > p->members);
        return;
    }
    draw(p, f, rows, (p->segments + p->privacy) * p->len);
    draw(p, f, same, (1 + p->privacy) * p->len);
    product_encode(&c, x, rows, p->len);
    product_encode_same(&c, y, same, p->len);
    multiply(p, f, x, y);
    spoil(p, f, x);
    for (uint32_t m = 0; m < p->members; m++) {
        row[m] = (const uint8_t *)x + (size_t)m * p->len * f->bytes;
        member[m] = m;
    }
    v = product_check(&c, faulty, &faulty_n,
                      &(struct product_results){row, member, p->members, p->len});
    judge(p, v, faulty, faulty_n);
    for (uint32_t m = p->members; m-- > 0;) {
        if (p->is_wrong[m])
            continue;
        row[n] = (const uint8_t *)x + (size_t)m * p->len * f->bytes;
        member[n++] = m;
    }
    if (n >= p->needed) {
        product_decode(&c, out, &(struct product_results){row, member, n, p->len});
        check_product(p, f, out, rows, same);
    }
    product_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plot p = {.feed = {data, size}};
    const uint32_t code = feed_among(&p.feed, 0, 2);

    p.members = feed_among(&p.feed, 1, MEMBERS_MAX);
    p.segments = feed_among(&p.feed, 1, 5);
    p.privacy = feed_among(&p.feed, 1, 4);
    p.len = feed_among(&p.feed, 1, LEN_MAX);
    p.wrong = feed_byte(&p.feed) % (p.members + 1);
    if (code == 0)
        narrow(&p);
    else
        wide(&p, code == 1 ? &field_31 : &field_61);
    return 0;
}
