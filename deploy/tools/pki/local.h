/* local.h -- what `vfl cluster` asks for: all keys and certificates of a federation on one machine,
 * and values of a resolved configuration.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_LOCAL_H
#define COLONNADE_DEPLOY_PKI_LOCAL_H

#include "common/base/status.h"
#include "deploy/tools/pki/options.h"

/* In --out: a CA in pki/, key, state key and certificate of the server in server/ and of p1, p2 ...
 * in party-1/, party-2/ ..., and roster.yaml.  Keys that are there stay. */
enum status local_run(const struct options *o, struct error *err) MUST_USE;

/* Words: a server's configuration, then keys of it.  One line for each key: its value in YAML, or
 * nothing when it is not given. */
enum status local_value(const struct options *o, struct error *err) MUST_USE;

#endif
