/* canonical.h -- is a message written the one way in which wire_pack would write it?  Private.
 *
 * protobuf allows many: fields in any order and repeated, numbers with leading zeroes, default
 * values spelt out.  Here each message has one form, so what was checked is all that was said.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_WIRE_CANONICAL_H
#define COLONNADE_WIRE_CANONICAL_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* m is what protobuf-c unpacked from these n bytes.  Reads no vector and allocates nothing. */
bool canonical_message(const ProtobufCMessage *m, const uint8_t *bytes, size_t n);

#endif
