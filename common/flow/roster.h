/* roster.h -- who takes part: names, keys and operators, as agreed out of band.
 *
 * Names and operators follow the rule of certificates (common/crypto/cert_name.h).
 * A certificate authority's signature admits nobody; an entry here does.  The order of the file is
 * the index of each party.  The digest is SHA-256 over the canonical lines "server NAME KEY
 * OPERATOR\n" and "party NAME KEY OPERATOR\n", so that organisations can compare it over the
 * telephone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_ROSTER_H
#define COLONNADE_FLOW_ROSTER_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/wire/limits.h"

#include <stddef.h>
#include <stdint.h>

enum { ROSTER_KEY_BYTES = 32 };

struct roster_entry {
    char name[WIRE_NAME_MAX + 1];
    char operator_name[WIRE_NAME_MAX + 1];
    uint8_t key[ROSTER_KEY_BYTES]; /* SHA-256 of the certificate's SubjectPublicKeyInfo */
};

struct roster {
    struct roster_entry server;
    size_t n;
    struct roster_entry party[WIRE_MEMBERS_MAX];
    uint8_t digest[32];
};

enum status roster_load(struct roster *r, const char *path, struct error *err) MUST_USE;
/* Fills in digest; for rosters built in memory. */
void roster_seal(struct roster *r);
/* The file that roster_load reads back to the same roster: an entry a line, for people. */
enum status roster_print(const struct roster *r, struct buf *out) MUST_USE;

/* Index of the party with this key or name; -1: nobody. */
int roster_find_key(const struct roster *r, const uint8_t key[ROSTER_KEY_BYTES]);
int roster_find_name(const struct roster *r, const char *name);

/* How many of members[0..n) the server's own operator runs; 0 when it runs `self`. */
uint32_t roster_servers(const struct roster *r, const uint8_t *members, size_t n, uint32_t self);

/* How many of members[0..n) one curious operator may control beside the server, not counting
 * operators that run `self`: at least 1.  Parties of the server's own operator count always. */
uint32_t roster_colluders(const struct roster *r, const uint8_t *members, size_t n, uint32_t self);

#endif
