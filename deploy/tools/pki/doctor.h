/* doctor.h -- `vfl doctor`: why does this side not connect?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_DOCTOR_H
#define COLONNADE_DEPLOY_PKI_DOCTOR_H

#include "common/crypto/cert.h"

#include <stdbool.h>

/* What there is to say of the dates of a certificate, this side's or the server's. */
void doctor_dates(const char *what, const struct cert *c, bool theirs);

/* The exit code: 0 nothing found, 2 this side must act, 3 another one, 4 the network. */
int doctor_run(int argc, char **argv);

#endif
