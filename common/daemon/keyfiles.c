/* keyfiles.c -- loads what a run loads, by the same functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/keyfiles.h"

#include "common/crypto/sealed.h"
#include "common/crypto/secret.h"

struct net_identity keyfiles_identity(const struct config_identity *c)
{
    return (struct net_identity){c->cert, c->key, c->ca, c->crl};
}

enum status keyfiles_check(const struct config_identity *c, bool server, const char *state_key,
                           struct error *err)
{
    struct net_identity id = keyfiles_identity(c);
    uint8_t key[SEALED_KEY_BYTES];
    struct net_tls *tls;
    enum status s = net_tls_new(&tls, server, &id, err);

    if (s != STATUS_OK)
        return s;
    net_tls_free(tls);
    if (state_key[0] == 0)
        return STATUS_OK;
    s = sealed_key_load(key, state_key, err);
    secret_wipe(key, sizeof key);
    return s;
}
