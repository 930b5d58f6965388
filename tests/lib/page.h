/* page.h -- what a page has from a program, between a pair of markers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_LIB_PAGE_H
#define COLONNADE_TESTS_LIB_PAGE_H

#include "common/base/buf.h"

/* Fails the test unless the text between `<!-- COMMAND: begin -->` and `<!-- COMMAND: end -->` of
 * the page is what the command prints. */
void page_expect(const char *path, const char *command, const struct buf *printed);

#endif
