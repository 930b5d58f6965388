/* job.c -- kinds of jobs and their digests.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/job.h"

#include "common/crypto/digest.h"

#include <string.h>

bool job_is(const struct wire_job *j, const char *kind)
{
    return strcmp(j->kind, kind) == 0;
}

void job_digest(uint8_t out[WIRE_DIGEST_BYTES], const char *kind, const void *text, size_t n)
{
    struct digest d;

    digest_begin(&d);
    if (strcmp(kind, JOB_TRAIN) != 0)
        digest_update(&d, kind, strlen(kind) + 1);
    digest_update(&d, text, n);
    digest_final(&d, out);
    digest_deinit(&d);
}
