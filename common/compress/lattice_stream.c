/* lattice_stream.c -- dithers from OpenSSL's AES.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_stream.h"

#include "common/base/check.h"

void lattice_stream_begin(struct prg *stream, const uint8_t key[PRG_KEY_BYTES])
{
    CHECK(prg_init(stream, key) == STATUS_OK);
}

void lattice_stream_fill(struct prg *stream, uint16_t *t, size_t n)
{
    prg_fill(stream, t, n * sizeof *t);
}

void lattice_stream_end(struct prg *stream)
{
    prg_deinit(stream);
}
