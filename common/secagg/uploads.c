/* uploads.c -- rows of two rounds, and how sure one can be of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/uploads.h"

#include "common/base/mem.h"

#include <string.h>

/* --- life --- */

enum status uploads_init(struct uploads *u, const struct uploads_code *code, size_t len_max)
{
    *u = (struct uploads){.code = *code};
    u->open = &u->round[0];
    u->other = &u->round[1];
    u->open->rows = mem_alloc(code->parties * len_max, code->bytes);
    u->other->rows = mem_alloc(code->parties * len_max, code->bytes);
    if (u->open->rows == NULL || u->other->rows == NULL) {
        uploads_deinit(u);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

void uploads_deinit(struct uploads *u)
{
    mem_free(u->round[0].rows);
    mem_free(u->round[1].rows);
    *u = (struct uploads){0};
}

/* --- in --- */

void uploads_begin(struct uploads *u, size_t len)
{
    if (u->open->combined) {
        struct uploads_round *last = u->open;

        u->open = u->other;
        u->other = last;
    }
    u->open->combined = false;
    u->open->len = len;
    memset(u->open->in, 0, sizeof u->open->in);
}

static uint8_t *row_of(const struct uploads *u, const struct uploads_round *r, uint32_t member)
{
    return r->rows + member * r->len * u->code.bytes;
}

static enum status take(struct uploads *u, struct uploads_round *r, uint32_t member,
                        const uint8_t *payload, struct error *err)
{
    if (r->in[member])
        return error_set(err, STATUS_PROTOCOL, "a second upload in one round");
    if (!u->code.unpack(u->code.code, row_of(u, r, member), payload, r->len))
        return error_set(
            err, STATUS_PROTOCOL,
            "an element that is not of the field of %llu elements, or bits behind the last",
            (unsigned long long)u->code.prime);
    r->in[member] = true;
    return STATUS_OK;
}

/* --- combined --- */

static enum lcc_verdict check(struct uploads *u, const struct uploads_round *r, uint32_t n,
                              uint32_t *faulty_n)
{
    const struct uploads_rows rows = {u->row, u->member, n, r->len};

    for (uint32_t i = 0; i < n; i++)
        u->row[i] = row_of(u, r, u->member[i]);
    *faulty_n = 0;
    return n > u->code.quorum ? u->code.check(u->code.code, u->faulty, faulty_n, &rows)
                              : LCC_UNVERIFIED;
}

/* Compares all that are in, and chooses the quorum to decode from, in the order they came.  Leaves
 * verdict and faulty at the server.  STATUS_INTEGRITY when they contradict each other and it cannot
 * be told who is wrong. */
static enum status choose_quorum(struct uploads *u, struct secagg_server *base, struct error *err)
{
    uint32_t faulty_n;
    enum lcc_verdict verdict;

    for (uint32_t i = 0; i < base->members_in; i++)
        u->member[i] = base->order[i];
    verdict = check(u, u->open, base->members_in, &faulty_n);
    if (verdict == LCC_INCONSISTENT)
        return error_set(err, STATUS_INTEGRITY,
                         "a contradiction between %u of %u uploads: one of them or a dealer's "
                         "shares is wrong",
                         base->members_in, base->shape.parties);
    base->verdict = verdict == LCC_UNVERIFIED   ? SECAGG_UNVERIFIED
                    : verdict == LCC_CONSISTENT ? SECAGG_CONSISTENT
                                                : SECAGG_LOCATED;
    base->faulty_n = faulty_n;
    for (uint32_t k = 0; k < faulty_n; k++)
        base->faulty[k] = (uint8_t)u->faulty[k];
    for (uint32_t i = 0, k = 0; k < u->code.quorum; i++) {
        if (memchr(base->faulty, (int)u->member[i], base->faulty_n) == NULL)
            u->open->basis[k++] = u->member[i];
    }
    return STATUS_OK;
}

struct uploads_rows uploads_basis(struct uploads *u, size_t at, size_t len)
{
    for (uint32_t i = 0; i < u->code.quorum; i++)
        u->row[i] = row_of(u, u->open, u->open->basis[i]) + at * u->code.bytes;
    return (struct uploads_rows){u->row, u->open->basis, u->code.quorum, len};
}

/* --- a server of them --- */

enum status uploads_server_add(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                               const uint8_t *check_part, struct error *err)
{
    struct uploads *u = &((struct uploads_server *)base)->uploads;

    (void)check_part;
    return take(u, u->open, member, payload, err);
}

enum status uploads_server_combine(struct secagg_server *base, float *out, uint32_t width,
                                   struct error *err)
{
    struct uploads_server *p = (struct uploads_server *)base;
    enum status s = choose_quorum(&p->uploads, base, err);

    (void)width;
    if (s == STATUS_OK)
        s = p->decode(p, out, err);
    p->uploads.open->combined = s == STATUS_OK;
    return s;
}

enum status uploads_server_late(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                                size_t bytes, struct error *err)
{
    struct uploads *u = &((struct uploads_server *)base)->uploads;
    struct uploads_round *r = u->open->combined ? u->open : u->other;
    const uint32_t quorum = u->code.quorum;
    uint32_t faulty_n;
    enum status s;
    size_t due;

    if (!r->combined)
        return error_set(err, STATUS_PROTOCOL, "an upload that no round waits for");
    due = u->code.packed(u->code.code, r->len);
    if (bytes != due)
        return error_set(err, STATUS_PROTOCOL, "an upload of %zu bytes instead of %zu", bytes, due);
    s = take(u, r, member, payload, err);
    if (s != STATUS_OK)
        return s;
    memcpy(u->member, r->basis, quorum * sizeof *u->member);
    u->member[quorum] = member;
    if (check(u, r, quorum + 1, &faulty_n) != LCC_CONSISTENT)
        return error_set(err, STATUS_INTEGRITY,
                         "a late upload that the decoded sum contradicts: it or a dealer's shares "
                         "is wrong");
    return STATUS_OK;
}
