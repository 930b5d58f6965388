/* spread.h -- mean and standard deviation of what is known, and how people read them.
 *
 * The standard deviation is that of a sample, divided by n - 1; one value has none.  Where it is 0
 * it is not printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_SPREAD_H
#define COLONNADE_TOOLS_REPORT_SPREAD_H

#include "deploy/tools/report/pool.h"

#include <stddef.h>

struct spread {
    size_t n;    /* values that are known */
    double mean; /* NAN: n is 0; INFINITY: one of them is */
    double sd;   /* NAN: n < 2, or not finite */
    double most; /* the largest of them; NAN: n is 0 */
    double m2;   /* sum of squared distances from the mean so far */
};

void spread_add(struct spread *s, double x); /* NAN is passed over; s begins as zeros */

/* "0.7412 ± 0.0031", as many digits as asked; "" when nothing is known. */
const char *spread_digits(struct pool *p, const struct spread *s, int digits);
/* Three significant digits: "1.24e+06", "132 ± 4"; "inf". */
const char *spread_short(struct pool *p, const struct spread *s);
/* "1.20 ± 0.04 MB"; powers of 1000. */
const char *spread_bytes(struct pool *p, const struct spread *s);

/* 0.0098 as "1/102", 2.5 as "2.5 x"; "" when one of the two is not known, or of is 0. */
const char *spread_ratio(struct pool *p, const struct spread *s, const struct spread *of);

#endif
