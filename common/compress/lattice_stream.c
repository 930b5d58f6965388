/* lattice_stream.c -- dithers from OpenSSL's AES.
 *
 * A message is packed or unpacked in the middle of a round, where there is no way out: so contexts
 * are made beforehand and lent, one to each thread that is at work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_stream.h"

#include "common/base/check.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The loop's thread and that of its work (docs/architecture.md, 6). */
enum { READY = 2 };

/* Made once and kept for as long as the process is. */
static struct {
    atomic_bool taken;
    struct prg stream; /* without a context until it was made */
} lent[READY];

enum status lattice_stream_ready(void)
{
    static const uint8_t no_key[PRG_KEY_BYTES];
    enum status s = STATUS_OK;

    for (size_t i = 0; i < READY && s == STATUS_OK; i++) {
        if (atomic_exchange(&lent[i].taken, true))
            continue; /* at work, so it is there */
        if (lent[i].stream.ctx == NULL)
            s = prg_init(&lent[i].stream, no_key);
        atomic_store(&lent[i].taken, false);
    }
    return s;
}

void lattice_stream_begin(struct prg *stream, const uint8_t key[PRG_KEY_BYTES])
{
    for (size_t i = 0; i < READY; i++) {
        if (atomic_exchange(&lent[i].taken, true))
            continue;
        if (lent[i].stream.ctx != NULL) {
            *stream = lent[i].stream;
            prg_rekey(stream, key);
            return;
        }
        atomic_store(&lent[i].taken, false);
    }
    CHECK(prg_init(stream, key) == STATUS_OK);
}

void lattice_stream_fill(struct prg *stream, uint16_t *t, size_t n)
{
    prg_fill(stream, t, n * sizeof *t);
}

void lattice_stream_end(struct prg *stream)
{
    for (size_t i = 0; i < READY; i++) {
        if (stream->ctx == lent[i].stream.ctx) {
            stream->ctx = NULL;
            atomic_store(&lent[i].taken, false);
            return;
        }
    }
    prg_deinit(stream);
}
