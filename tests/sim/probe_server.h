/* probe_server.h -- the server's half of a probe (probe_party.h): one masked round, whose sum it
 * has, and the end.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PROBE_SERVER_H
#define COLONNADE_TESTS_SIM_PROBE_SERVER_H

#include "common/secagg/secagg.h"
#include "server/job.h"
#include "tests/sim/probe_party.h"

struct probe_server {
    struct server_federation *fed;
    uint32_t values; /* what its text says */
    struct secagg_shape shape;
    struct secagg_server *sum; /* freed by whoever has made the probe */
    uint64_t round;
    enum status worked;
    bool over;
    float out[PROBE_VALUES_MAX];
};

extern const struct server_job probe_server_job;

#endif
