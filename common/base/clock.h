/* clock.h -- the monotonic clock of the daemons.  Session cores never read it; they are told the
 * time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_CLOCK_H
#define COLONNADE_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_us(void);  /* monotonic, microseconds */
double clock_cpu_s(void); /* processor time of this process, seconds */

#endif
