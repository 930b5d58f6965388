/* pem.c -- the ends of PEM.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/pem.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

int pem_no_password(char *out, int room, int writing, void *arg)
{
    (void)out, (void)room, (void)writing, (void)arg;
    return -1;
}

enum status pem_take(struct buf *out, BIO *bio, bool written)
{
    enum status s = STATUS_CRYPTO;
    char *text;

    if (written) {
        const long n = BIO_get_mem_data(bio, &text);

        s = buf_append(out, text, (size_t)n);
        OPENSSL_cleanse(text, (size_t)n);
    }
    BIO_free(bio);
    ERR_clear_error();
    return s;
}
