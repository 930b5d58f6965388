/* accounts.h -- entries, claims and printed digits for the tests of this room; a helper that fails
 * ends the test.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_PRIVACY_ACCOUNTS_H
#define COLONNADE_TESTS_PRIVACY_ACCOUNTS_H

#include "common/privacy/account.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double DELTA = 1e-5;

static inline struct account_entry pbm(uint32_t b, double beta, uint32_t m, uint32_t coordinates,
                                       uint64_t count)
{
    return (struct account_entry){.kind = ACCOUNT_PBM,
                                  .trials = b,
                                  .beta = beta,
                                  .coordinates = coordinates,
                                  .parties = m,
                                  .colluders = 1,
                                  .releases = count,
                                  .participations_max = count,
                                  .trained_max = count};
}

static inline struct account_claim claim_of(const struct account_entry *entries, size_t n,
                                            enum account_adversary adversary,
                                            enum account_adjacency adjacency)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t count = account_claims(claims, entries, n, DELTA, 2);
    const struct account_claim *found = NULL;

    assert_int_equal(count, ACCOUNT_ADVERSARIES * 3);
    for (size_t i = 0; i < count; i++) {
        if (claims[i].adversary != adversary || claims[i].adjacency != adjacency)
            continue;
        assert_null(found); /* each pair exactly once */
        found = &claims[i];
    }
    assert_non_null(found);
    return *found;
}

/* Equal in every digit that `printed` has. */
static inline void assert_printed(double value, const char *printed)
{
    int digits = 0;
    char text[64];

    for (const char *c = printed; *c != '\0'; c++)
        digits += *c >= '0' && *c <= '9' && (digits > 0 || *c != '0');
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, NULL) != strtod(printed, NULL))
        fail_msg("%.17g is not %s", value, printed);
}

static inline void assert_close(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g within %g", a, b, relative);
}

#endif
