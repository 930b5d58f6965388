/* odbc_driver.h -- SQLite's driver for ODBC, to try sources with.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_ODBC_DRIVER_H
#define COLONNADE_TESTS_ODBC_DRIVER_H

/* Its file; NULL: it is not here, as a line has said. */
const char *odbc_driver(void);

#endif
