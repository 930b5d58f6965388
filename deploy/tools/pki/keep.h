/* keep.h -- the folders that the scripts of `vfl` write to by name.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_KEEP_H
#define COLONNADE_DEPLOY_PKI_KEEP_H

#include "common/base/status.h"
#include "deploy/tools/pki/options.h"

/* A word: a folder, made when it is not there.  It is this user's alone (folder.h), and so is all
 * that it holds: plain files and folders of this user or root, no link, pipe or device, no folder
 * that others may write to.  Who writes there by name afterwards writes there and nowhere else.
 * STATUS_CONFIG otherwise. */
enum status keep_folder(const struct options *o, struct error *err) MUST_USE;

/* Words: a folder, this user's alone, made when it is not there, then files: each is put into it
 * under its own last name, as put.h does. */
enum status keep_place(const struct options *o, struct error *err) MUST_USE;

#endif
