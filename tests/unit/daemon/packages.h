/* packages.h -- a small bottom and a small head, as packages, for tests of what reads them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_DAEMON_PACKAGES_H
#define COLONNADE_TESTS_UNIT_DAEMON_PACKAGES_H

#include "common/daemon/package.h"

struct packages {
    struct arena arena;
    struct nn_net bottom, head;
};

/* Two parties, embeddings of 2, two classes; the bottom has three columns, the second of which has
 * a name that JSON has to escape. */
void packages_init(struct packages *s);
void packages_deinit(struct packages *s);
/* To package_deinit. */
void packages_bottom(struct package *p);
void packages_head(struct package *p);

/* Into out, which is initialised here. */
void packages_print(struct package *p, const struct nn_net *n, struct buf *out);
/* What reading the first n bytes comes to. */
enum status packages_parse(const struct buf *b, size_t n);
/* Bytes of the header, the length before it aside. */
size_t packages_header_bytes(const struct buf *b);
/* out: as b, with `to` in the place of the first `from` of its header. */
void packages_with(struct buf *out, const struct buf *b, const char *from, const char *to);

#endif
