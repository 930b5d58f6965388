/* parts.h -- the inside of a session: for session.c, and for tests that look into it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_PARTS_H
#define COLONNADE_SERVER_PARTS_H

#include "server/align/align.h"
#include "server/federation.h"
#include "server/predict/predict.h"
#include "server/train/train.h"

struct server_session {
    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    struct server_federation fed;
    struct server_train train;
    /* Both NULL: it trains; else `train` is zeros but for its report. */
    struct server_predict *predict;
    struct server_align *align;
};

#endif
