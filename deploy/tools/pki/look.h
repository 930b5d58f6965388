/* look.h -- the commands of `vfl pki` that only look: show, fingerprint, digest.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_LOOK_H
#define COLONNADE_DEPLOY_PKI_LOOK_H

#include "common/base/status.h"
#include "deploy/tools/pki/options.h"

#include <stdint.h>

enum { LOOK_KEY_BYTES = 32 };

enum status look_show(const struct options *o, struct error *err) MUST_USE;
enum status look_fingerprint(const struct options *o, struct error *err) MUST_USE;
enum status look_digest(const struct options *o, struct error *err) MUST_USE;

/* SHA-256 of the public key of a certificate, request, public or private key. */
enum status look_key(uint8_t out[LOOK_KEY_BYTES], const char *path, struct error *err) MUST_USE;

#endif
