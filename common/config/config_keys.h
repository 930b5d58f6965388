/* config_keys.h -- the tables of the two kinds of file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_CONFIG_KEYS_H
#define COLONNADE_CONFIG_CONFIG_KEYS_H

#include "common/config/key.h"

extern const struct key_table config_keys_server; /* struct config_server */
extern const struct key_table config_keys_party;  /* struct config_party */

#endif
