/* key.h -- one row of the configuration table: where a key is, what it may be, what it means.
 *
 * The YAML files, --set, a peer's plan text, the printed configuration and the reference in docs/
 * all come from the same rows, so they cannot disagree.  A table is made of parts, each with the
 * offset of its struct inside the whole: the plan's rows are a part of the server's table and,
 * alone, the table of plan texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_H
#define COLONNADE_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_PATH_MAX = 96, KEY_TABLE_MAX = 128, KEY_PARTS_MAX = 8 };

enum key_type {
    KEY_U32,     /* uint32_t in [lo, hi] */
    KEY_U64,     /* uint64_t in [lo, hi] */
    KEY_REAL,    /* double in [lo, hi] or (lo, hi] */
    KEY_BOOL,    /* bool */
    KEY_CHOICE,  /* an enum (uint32_t): index into choices */
    KEY_AUTO,    /* double as KEY_REAL, or `auto`, until when it is `open`; a bool as KEY_SEED's */
    KEY_SEED,    /* uint64_t or `random`; a bool `given` bytes after it says which */
    KEY_PATH,    /* char[CONFIG_PATH_MAX]; a relative one is resolved when it is read */
    KEY_SOURCE,  /* the same, or a table of a database server (key_text_is_server) */
    KEY_SCALE,   /* one of choices, or a path */
    KEY_ADDRESS, /* char[CONFIG_PATH_MAX]: host:port, port >= lo */
    KEY_COLUMN,  /* char[CONFIG_COLUMN_MAX]: a name in the header of a table */
    KEY_ALIGNMENT, /* char[CONFIG_ALIGN_NAME_MAX + 1]: the name of one (key_text_is_alignment) */
    KEY_TEXT,      /* char[CONFIG_COLUMN_MAX]: printable UTF-8, as in a cell of a table */
    KEY_SHA256,    /* char[65]: 64 lowercase hex digits */
    KEY_WIDTHS,    /* struct plan_widths, each width in [lo, hi] */
    KEY_LAYERS,    /* struct config_layers of at most hi items */
    KEY_NAMES,     /* struct config_names */
    KEY_COMMAND,   /* struct config_command */
    KEY_SET,       /* bool[number of choices] */
    KEY_DELAY,     /* delay_kind and delay_s of struct config_inject; seconds in [lo, hi] */
};

struct key {
    const char *path; /* "protocol.pbm.beta" */
    enum key_type type;
    size_t offset, given;
    double lo, hi;
    bool lo_open;               /* the range is (lo, hi] */
    double open;                /* of KEY_AUTO */
    const char *const *choices; /* NULL-terminated, in the order of the enum */
    const char *fallback;       /* the default as text; NULL: required; "": may stay empty */
    const char *help;
    const char *items; /* how many numbers KEY_WIDTHS takes, in words; NULL: up to 8 */
};

struct key_part {
    const struct key *keys;
    size_t n;
    size_t offset; /* of the part's struct in the table's */
};

struct key_table {
    const char *name; /* "server" */
    size_t parts;
    struct key_part part[KEY_PARTS_MAX];
};

/* Rows of a table by number (0 ..) in table order; NULL past the end.
 *  *offset: of the row's field. */
const struct key *key_at(const struct key_table *t, size_t i, size_t *offset);
/* The number of the row with this path, or -1. */
int key_find(const struct key_table *t, const char *path);
/* Whether keys start with "path." ("" does). */
bool key_is_section(const struct key_table *t, const char *path);
/* Writes why `path` is no key: the nearest key, and what is known beside it. */
void key_unknown(const struct key_table *t, const char *path, char *out, size_t size);

/* Writes "in [1, 65536]" or "in (0, 0.25]", the range of a numeric type. */
void key_range(const struct key *k, char *out, size_t size);

#endif
