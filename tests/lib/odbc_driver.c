/* odbc_driver.c -- found where Debian puts it.
 *
 * With each connection the driver loads unixODBC's own reader of odbc.ini and drops it again, with
 * all that it has remembered; kept loaded, it remembers once, and a leak checker has nothing to
 * say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/odbc_driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>

const char *odbc_driver(void)
{
    static char path[256];
    static int tried;
    glob_t found;

    if (tried++ > 0)
        return path[0] != 0 ? path : NULL;
    if (glob("/usr/lib/*/odbc/libsqlite3odbc.so", 0, NULL, &found) == 0 &&
        dlopen("libodbcinst.so.2", RTLD_NOW | RTLD_NODELETE) != NULL)
        snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    if (path[0] == 0)
        printf("no ODBC driver here (package libsqliteodbc): what needs one is left out\n");
    return path[0] != 0 ? path : NULL;
}
