/* ids.c -- one comparison of ids, from the own element to what both ends show.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/ids.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <string.h>

static const char info_label[] = "vfl/same/1", list_label[] = "vfl/ids/list/1",
                  scalar_label[] = "vfl/ids/scalar/1";

enum {
    BASE_BYTES = 2 * WIRE_KEY_BYTES + WIRE_DIGEST_BYTES,
    INFO_BYTES = sizeof info_label - 1 + 2 * WIRE_KEY_BYTES
};

static void add_ids(struct digest *d, const struct table *t)
{
    const size_t rows = t == NULL ? 0 : t->rows;
    const bool placed = rows > 0 && t->own.any;
    uint8_t word[8];

    le_put(word, rows | (uint64_t)placed << 63, sizeof word);
    digest_update(d, word, sizeof word);
    if (placed)
        digest_update(d, t->own.alignment, sizeof t->own.alignment);
    if (rows > 0) /* they lie side by side, each with its final 0 */
        digest_update(d, t->id_text, table_ids_bytes(t));
}

void ids_list(uint8_t list[WIRE_DIGEST_BYTES], const struct table *train, const struct table *test)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, list_label, sizeof list_label - 1);
    add_ids(&d, train);
    add_ids(&d, test);
    digest_final(&d, list);
    digest_deinit(&d);
}

const char *ids_advice(const struct table *train)
{
    if (train->own.any)
        return "this side goes by an alignment, so all have to name the same one, of one "
               "transcript (data.alignment, labels.alignment)";
    return "the server's operator has them aligned (vfl job submit align), then each side names "
           "the result (data.alignment, labels.alignment)";
}

/* The same one for the same pair and list, for as long as the secret lives; for every other, one
 * that has nothing to do with it. */
static enum status begin_with_scalar(struct equality *e, const uint8_t secret[IDS_SECRET_BYTES],
                                     const uint8_t base[BASE_BYTES])
{
    uint8_t info[sizeof scalar_label - 1 + BASE_BYTES], random[EQUALITY_RANDOM_BYTES];
    enum status s;

    memcpy(info, scalar_label, sizeof scalar_label - 1);
    memcpy(info + sizeof scalar_label - 1, base, BASE_BYTES);
    s = kex_hkdf(random, sizeof random, secret, IDS_SECRET_BYTES, NULL, 0, info, sizeof info);
    if (s == STATUS_OK)
        s = equality_begin(e, "vfl/ids/3", base, BASE_BYTES, random);
    secret_wipe(info, sizeof info);
    secret_wipe(random, sizeof random);
    return s;
}

enum status ids_begin(struct ids_pair *p, const struct ids_own *own, const uint8_t *key_before,
                      const uint8_t *key_after, enum ids_side other)
{
    uint8_t base[BASE_BYTES];
    enum status s;

    *p = (struct ids_pair){.any = true, .other = other};
    memcpy(p->key[IDS_BEFORE], key_before, WIRE_KEY_BYTES);
    memcpy(p->key[IDS_AFTER], key_after, WIRE_KEY_BYTES);
    memcpy(base, p->key, sizeof p->key);
    memcpy(base + sizeof p->key, own->list, WIRE_DIGEST_BYTES);
    s = begin_with_scalar(&p->own, own->secret, base);
    secret_wipe(base, sizeof base);
    if (s != STATUS_OK)
        ids_forget(p);
    return s;
}

enum status ids_end(struct ids_pair *p, const uint8_t element[EQUALITY_BYTES],
                    const uint8_t sid[WIRE_DIGEST_BYTES])
{
    uint8_t result[EQUALITY_BYTES], info[INFO_BYTES], out[3][WIRE_PROOF_BYTES];
    enum status s = equality_end(result, &p->own, element);

    CHECK(p->any);
    memcpy(info, info_label, sizeof info_label - 1);
    memcpy(info + sizeof info_label - 1, p->key, sizeof p->key);
    if (s == STATUS_OK)
        s = kex_hkdf(out[0], sizeof out, result, sizeof result, sid, WIRE_DIGEST_BYTES, info,
                     sizeof info);
    if (s == STATUS_OK) { /* the one before shows the first */
        memcpy(p->shown, out[p->other == IDS_AFTER ? 0 : 1], sizeof p->shown);
        memcpy(p->expected, out[p->other == IDS_AFTER ? 1 : 0], sizeof p->expected);
        memcpy(p->mark, out[2], sizeof p->mark);
    }
    secret_wipe(result, sizeof result);
    secret_wipe(out, sizeof out);
    return s;
}

bool ids_equal(const struct ids_pair *p, const uint8_t proof[WIRE_PROOF_BYTES])
{
    return secret_equal(p->expected, proof, WIRE_PROOF_BYTES);
}

void ids_forget(struct ids_pair *p)
{
    secret_wipe(p, sizeof *p);
}

bool ids_may_answer(const struct ids_counts *c, const uint8_t key[WIRE_KEY_BYTES],
                    const uint8_t list[WIRE_DIGEST_BYTES], const uint8_t element[EQUALITY_BYTES],
                    uint64_t most)
{
    return c->count(c->owner, key) < most || c->known(c->owner, key, list, element);
}
