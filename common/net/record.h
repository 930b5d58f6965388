/* record.h -- counts TLS records in a stream of bytes that passes by.  Private to common/net.
 *
 * A record is 3 bytes of type and version, a 2-byte big-endian length, and that many bytes (RFC
 * 8446, section 5.1).  Nothing is checked here: OpenSSL does that, and what is no TLS is counted as
 * it falls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_RECORD_H
#define COLONNADE_NET_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { RECORD_HEAD = 5 };

/* Zero-initialised at the beginning of the stream. */
struct record_counter {
    uint64_t n;  /* headers that have passed whole */
    size_t left; /* bytes of the present record still to come */
    unsigned head_n;
    uint8_t head[RECORD_HEAD];
};

void record_pass(struct record_counter *r, const uint8_t *bytes, size_t n);

#endif
