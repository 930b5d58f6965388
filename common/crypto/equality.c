/* equality.c -- SPEKE over the group of group.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/equality.h"

#include "common/base/check.h"
#include "common/crypto/group.h"
#include "common/crypto/secret.h"

#include <string.h>

_Static_assert((int)EQUALITY_BYTES == (int)GROUP_BYTES &&
                   (int)EQUALITY_RANDOM_BYTES == (int)GROUP_RANDOM_BYTES &&
                   (int)EQUALITY_LABEL_MAX == (int)GROUP_LABEL_MAX,
               "elements and scalars are the group's");

enum status equality_begin(struct equality *e, const char *label, const void *secret, size_t n,
                           const uint8_t random[EQUALITY_RANDOM_BYTES])
{
    uint8_t base[EQUALITY_BYTES];
    enum status s = group_open();

    CHECK(strlen(label) <= EQUALITY_LABEL_MAX);
    if (s == STATUS_OK) {
        group_scalar(e->scalar, random);
        s = group_hash(base, label, secret, n);
        /* Neither can be but by a broken generator: a scalar or a base of 0. */
        if (s == STATUS_OK && !group_raise(e->element, e->scalar, base))
            s = STATUS_CRYPTO;
        secret_wipe(base, sizeof base);
    }
    if (s != STATUS_OK)
        secret_wipe(e, sizeof *e);
    return s;
}

enum status equality_end(uint8_t result[EQUALITY_BYTES], struct equality *e,
                         const uint8_t element[EQUALITY_BYTES])
{
    const enum status s = group_raise(result, e->scalar, element) ? STATUS_OK : STATUS_AUTH;

    if (s != STATUS_OK)
        secret_wipe(result, EQUALITY_BYTES);
    secret_wipe(e->scalar, sizeof e->scalar);
    return s;
}

bool equality_is_element(const uint8_t element[EQUALITY_BYTES])
{
    return group_is_point(element);
}
