/* postgres_server.h -- a PostgreSQL server of this test program alone, which ends with it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_POSTGRES_SERVER_H
#define COLONNADE_TESTS_POSTGRES_SERVER_H

/* Its folder, started at the first call; PGSERVICEFILE then has its entry `trial`.  NULL: there is
 * no PostgreSQL here, as a line has said. */
const char *postgres_server(void);

#endif
