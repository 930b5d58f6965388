/* bundle.h -- `vfl bundle`: a folder for each host of a roster.
 *
 * All certificates, the roster, the plan and the address are judged before the first folder is
 * made.  What is written comes from what was read and understood, never from the bytes of a file
 * that somebody sent; nothing else in the folders is touched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_BUNDLE_H
#define COLONNADE_DEPLOY_PKI_BUNDLE_H

#include "common/base/status.h"
#include "deploy/tools/pki/options.h"

enum status bundle_run(const struct options *o, struct error *err) MUST_USE;

#endif
