/* record.h -- a struct to bytes and back, field by field, by a table of its fields.
 *
 * Fields follow each other in the order of the table, little-endian and without gaps, so bytes on a
 * disk do not depend on how a compiler lays out the struct: uint32_t 4 bytes, uint64_t and double
 * (its bits) 8, bool 1 (0 or 1), arrays of bytes as they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_RECORD_H
#define COLONNADE_BASE_RECORD_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind { RECORD_U32, RECORD_U64, RECORD_DOUBLE, RECORD_BOOL, RECORD_BYTES };

struct record_field {
    enum record_kind kind;
    size_t at, bytes; /* in the struct; bytes: on the disk as well */
};

#define RECORD_KIND(member)                                                                        \
    _Generic((member), uint32_t                                                                    \
             : RECORD_U32, uint64_t                                                                \
             : RECORD_U64, double                                                                  \
             : RECORD_DOUBLE, bool                                                                 \
             : RECORD_BOOL, uint8_t *                                                              \
             : RECORD_BYTES)

/* The row of one field; `member` may be a member of a member.  Any other type does not compile. */
#define RECORD_FIELD(type, member)                                                                 \
    {                                                                                              \
        RECORD_KIND(((type *)NULL)->member), offsetof(type, member),                               \
            sizeof(((type *)NULL)->member)                                                         \
    }

/* Bytes of a record of `n` fields. */
size_t record_bytes(const struct record_field *field, size_t n);
/* record_bytes() bytes. */
void record_write(uint8_t *to, const struct record_field *field, size_t n, const void *from);
/* STATUS_MEMORY or STATUS_LIMIT: of `out`, which is as it was. */
enum status record_print(struct buf *out, const struct record_field *field, size_t n,
                         const void *from) MUST_USE;
/* Out of record_bytes() bytes.  False: a bool is neither 0 nor 1.  What has no row stays. */
bool record_parse(void *to, const struct record_field *field, size_t n,
                  const uint8_t *bytes) MUST_USE;

#endif
