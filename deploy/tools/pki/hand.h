/* hand.h -- the commands of `vfl pki` that a host or its CA is asked for.
 *
 * Each returns the status of what *err says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_HAND_H
#define COLONNADE_DEPLOY_PKI_HAND_H

#include "common/base/status.h"
#include "common/crypto/sign.h"
#include "deploy/tools/pki/options.h"

/* The Ed25519 key in this file, or a new one in a new file of mode 0600. */
enum status hand_key(struct sign_key *k, const char *path, struct error *err) MUST_USE;

enum status hand_ca(const struct options *o, struct error *err) MUST_USE;
enum status hand_csr(const struct options *o, struct error *err) MUST_USE;
enum status hand_issue(const struct options *o, struct error *err) MUST_USE;
enum status hand_renew(const struct options *o, struct error *err) MUST_USE;
enum status hand_revoke(const struct options *o, struct error *err) MUST_USE;
enum status hand_crl(const struct options *o, struct error *err) MUST_USE;

#endif
