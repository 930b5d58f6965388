/* document.h -- the small part of YAML that a configuration may use, read with the line of
 * everything.
 *
 * One document of nested mappings whose leaves are scalars or lists of scalars.  Anchors, aliases,
 * tags, directives, merge keys and repeated keys are refused, so a small file cannot become a large
 * one and a line means what it says.  What the keys are is the sink's business.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_DOCUMENT_H
#define COLONNADE_CONFIG_DOCUMENT_H

#include "common/config/key.h"
#include "common/config/key_value.h"

#include <stdbool.h>
#include <stddef.h>

enum { DOCUMENT_BYTES_MAX = 65536, DOCUMENT_DEPTH_MAX = 4, DOCUMENT_NAMES_MAX = 64 };

enum document_kind { DOCUMENT_UNKNOWN, DOCUMENT_SECTION, DOCUMENT_VALUE };

struct document_fault {
    int line;               /* 0: not known */
    char key[KEY_PATH_MAX]; /* "": the file as such */
    char reason[384];
};

struct document_sink {
    void *ctx;
    /* What may stand behind this key.  For DOCUMENT_UNKNOWN it writes the reason. */
    enum document_kind (*kind)(void *ctx, const char *path, struct document_fault *f);
    /* Takes a value; false after filling in line and reason. */
    bool (*value)(void *ctx, const char *path, const struct key_value *v, struct document_fault *f);
};

/* Reads n bytes of UTF-8; false and *f at the first mistake. */
bool document_read(const char *text, size_t n, const struct document_sink *sink,
                   struct document_fault *f);

/* Reads a lone scalar or flow list, as behind --set key=. */
bool document_read_value(const char *text, size_t n, struct key_value *v, struct document_fault *f);

#endif
