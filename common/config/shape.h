/* shape.h -- how large and how deep a YAML text is, found out before anybody builds it.
 *
 * libyaml's scanner looks at every open bracket again for each token, and its loader builds
 * whatever there is: 60 KB of brackets took 7 s.  This walks the events and stops at the first one
 * too deep, too many or too long, so a refusal costs what the accepted part costs.  A configuration
 * is read event by event anyway (document.h); this is for who wants a document as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_SHAPE_H
#define COLONNADE_CONFIG_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct shape_limits {
    int depth;         /* mappings and lists within each other */
    size_t nodes;      /* scalars, mappings and lists */
    size_t scalar_max; /* bytes of a scalar */
};

/* True when n bytes are YAML within these limits, without anchors, aliases, tags and hidden lines
 * (key_text.h), or are no YAML (which the reader that follows says better); else *line (from 1) and
 * *reason, a static text. */
bool shape_within(const char *text, size_t n, const struct shape_limits *limits, size_t *line,
                  const char **reason);

#endif
