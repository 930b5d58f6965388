/* page.c -- markers found, bytes compared.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/page.h"

#include "common/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { PAGE_MAX = 1 << 20 };

/* NULL when the page has no such marker. */
static const char *marker(const struct buf *page, const char *command, const char *which,
                          size_t *length)
{
    char line[96];

    *length = (size_t)snprintf(line, sizeof line, "<!-- %s: %s -->\n", command, which);
    return memmem(page->data, page->len, line, *length);
}

void page_expect(const char *path, const char *command, const struct buf *printed)
{
    struct error err = {0};
    const char *from, *to;
    size_t n, of_end;
    struct buf page;

    buf_init(&page, PAGE_MAX);
    assert_int_equal(file_read(path, &page, &err), STATUS_OK);
    from = marker(&page, command, "begin", &n);
    to = marker(&page, command, "end", &of_end);
    assert_true(from != NULL && to != NULL && from < to);
    from += n;
    if ((size_t)(to - from) != printed->len || memcmp(from, printed->data, printed->len) != 0)
        fail_msg("%s: print the part between its markers anew with %s", path, command);
    buf_deinit(&page);
}
