/* refuse.c -- the line of a command that is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/price/refuse.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(const char *tool, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "%s: ", tool);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return 2;
}
