/* members.h -- certificates that were handed in, judged before anything of them is used.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_MEMBERS_H
#define COLONNADE_DEPLOY_PKI_MEMBERS_H

#include "common/crypto/cert.h"
#include "common/flow/roster.h"
#include "deploy/tools/pki/options.h"

/* What is left of a certificate that was taken. */
struct member {
    struct cert cert;
    char name[CERT_NAME_MAX + 1];
    uint8_t key[CERT_KEY_BYTES];
};

/* The CA of dir/ca.crt with dir/ca.crl; dir NULL: ./ca. */
enum status members_authority(struct cert_authority *a, const char *dir,
                              struct error *err) MUST_USE;
/* One certificate: of this CA, for this role, in its time, not revoked, with one name that follows
 * the rule.  STATUS_CONFIG: "PATH: why not". */
enum status members_take(struct member *m, const struct cert_authority *a, const char *path,
                         enum cert_role role, struct error *err) MUST_USE;
void members_free(struct member *m); /* safe on a zeroed struct */

/* `vfl pki roster` */
enum status members_roster(const struct options *o, struct error *err) MUST_USE;

#endif
