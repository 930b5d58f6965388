/* prg.c -- mask streams.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/prg.h"

#include "common/crypto/stream.h"

#include <string.h>

enum status prg_init(struct prg *p, const uint8_t key[PRG_KEY_BYTES])
{
    return stream_new(&p->ctx, key);
}

void prg_rekey(struct prg *p, const uint8_t key[PRG_KEY_BYTES])
{
    static const uint8_t start[STREAM_IV_BYTES];

    stream_start(p->ctx, key, start);
}

void prg_deinit(struct prg *p)
{
    stream_free(p->ctx);
    p->ctx = NULL;
}

void prg_seek(struct prg *p, const uint8_t iv[PRG_IV_BYTES])
{
    uint8_t full[STREAM_IV_BYTES] = {0};

    memcpy(full, iv, PRG_IV_BYTES);
    stream_start(p->ctx, NULL, full);
}

void prg_fill(struct prg *p, void *out, size_t n)
{
    stream_fill(p->ctx, out, n);
}
