/* findings.c -- what was found.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/findings.h"

#include <stdio.h>

static int code_so_far;

static void say(const char *before, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
static void say(const char *before, const char *fmt, va_list args)
{
    char text[2048];

    vsnprintf(text, sizeof text, fmt, args);
    for (char *c = text; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    printf("%s%s\n", before, text);
}

void finding_good(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("ok    ", fmt, args);
    va_end(args);
}

void finding_hint(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("hint  ", fmt, args);
    va_end(args);
}

void finding_bad(enum finding code, const char *side, const char *fix, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("BAD   ", fmt, args);
    va_end(args);
    printf("      side: %s\n      fix:  %s\n", side, fix);
    if (code_so_far == 0 || code == FINDING_HERE)
        code_so_far = (int)code;
}

int finding_code(void)
{
    return code_so_far;
}
