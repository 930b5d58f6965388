/* safetensors_header.h -- reads the JSON header of a safetensors file, entry by entry, without
 * allocation.
 *
 * Stricter than JSON where the format is: a tensor has exactly "dtype", "shape" and "data_offsets";
 * names have no escapes; "__metadata__" (a map of strings, at most once) is no tensor and is read
 * by safetensors_metadata_next.  Order and white space are free.  The text comes from a file that
 * anyone may have written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_SAFETENSORS_HEADER_H
#define COLONNADE_NN_SAFETENSORS_HEADER_H

#include <stddef.h>
#include <stdint.h>

enum { SAFETENSORS_RANK_MAX = 4 };

struct safetensors_text {
    const char *at; /* into the header; not terminated */
    size_t len;
};

struct safetensors_entry {
    struct safetensors_text name, dtype;
    size_t rank;
    uint64_t shape[SAFETENSORS_RANK_MAX];
    uint64_t begin, end; /* bytes of the data part */
};

struct safetensors_header {
    const char *at, *end;
    int bad;                          /* what follows is not read any more */
    int entries;                      /* read so far, "__metadata__" included */
    struct safetensors_text metadata; /* from its { to its }, once it was passed; else empty */
};

void safetensors_header_init(struct safetensors_header *h, const char *text, size_t len);

/* The next tensor: 1; the header's orderly end: 0; anything else: -1. */
int safetensors_header_next(struct safetensors_header *h, struct safetensors_entry *e);

/* What a header had between the braces of its metadata (h->metadata), pair by pair, with `m` as the
 * reader: 1, 0 and -1 as above.  Escapes are as they stand: safetensors_text_decode. */
void safetensors_metadata_init(struct safetensors_header *m, const struct safetensors_text *text);
int safetensors_metadata_next(struct safetensors_header *m, struct safetensors_text *key,
                              struct safetensors_text *value);

/* A string's bytes without their escapes into out, which has room for t->len: how many there are;
 * SIZE_MAX for an escape other than \" \\ \/ \n \r \t and \u00XX. */
size_t safetensors_text_decode(char *out, const struct safetensors_text *t);

int safetensors_text_is(const struct safetensors_text *t, const char *word);

#endif
