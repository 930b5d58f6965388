/* ids.c -- one comparison of ids, from a fresh element to what both ends show.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/ids.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <string.h>

static const char info_label[] = "vfl/same/1", list_label[] = "vfl/ids/list/1";

enum {
    BASE_BYTES = 2 * WIRE_DIGEST_BYTES + 8 + 2 * WIRE_KEY_BYTES,
    INFO_BYTES = sizeof info_label - 1 + 2 * WIRE_KEY_BYTES
};

static void add_ids(struct digest *d, const struct table *t)
{
    const size_t rows = t == NULL ? 0 : t->rows;
    uint8_t word[8];

    le_put(word, rows, sizeof word);
    digest_update(d, word, sizeof word);
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

enum status ids_begin(struct ids_pair *p, const struct ids_terms *t, const uint8_t *key_before,
                      const uint8_t *key_after, enum ids_side other)
{
    uint8_t base[BASE_BYTES], *at = base;
    enum status s;

    *p = (struct ids_pair){.any = true, .other = other};
    memcpy(p->key[IDS_BEFORE], key_before, WIRE_KEY_BYTES);
    memcpy(p->key[IDS_AFTER], key_after, WIRE_KEY_BYTES);
    memcpy(at, t->plan_digest, WIRE_DIGEST_BYTES);
    at += WIRE_DIGEST_BYTES;
    le_put(at, t->generation, 8);
    at += 8;
    memcpy(at, p->key, sizeof p->key);
    at += sizeof p->key;
    memcpy(at, t->list, WIRE_DIGEST_BYTES);
    s = equality_begin(&p->own, "vfl/ids/2", base, sizeof base);
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
