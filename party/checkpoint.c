/* checkpoint.c -- a party's checkpoint: its label, and the session in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/checkpoint.h"

#include "common/crypto/secret.h"
#include "common/daemon/checkpoint.h"

#include <stdio.h>
#include <string.h>

static struct checkpoint_place place_of(const struct party_inputs *in, const char *folder)
{
    return (struct checkpoint_place){folder, in->config.state_key};
}

static void label_of(char out[SEALED_LABEL_MAX], const struct party_inputs *in)
{
    snprintf(out, SEALED_LABEL_MAX, "vfl-party/1 %s", in->roster.party[in->self].name);
}

static enum status check_label(const struct party_inputs *in, const char *folder, const char *label,
                               const struct buf *out, struct error *err)
{
    char want[SEALED_LABEL_MAX];

    label_of(want, in);
    if (out->len == 0 || strcmp(label, want) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "%s: the checkpoint of \"%s\"", folder, label);
}

bool party_checkpoint_needed(const struct party_report *rep, enum wire_outcome outcome)
{
    const bool well = outcome == OUTCOME_COMPLETED || outcome == OUTCOME_TARGET;

    return (rep->progress.begun || rep->progress.lacking) && !(well && rep->progress.final);
}

enum status party_checkpoint_load(const struct party_inputs *in, const char *folder,
                                  struct buf *out, struct error *err)
{
    struct checkpoint_place at = place_of(in, folder);
    char label[SEALED_LABEL_MAX];
    enum status s = checkpoint_load(&at, label, out, err);

    return s == STATUS_OK ? check_label(in, folder, label, out, err) : s;
}

enum status party_checkpoint_load_before(const struct party_inputs *in, const char *folder,
                                         struct buf *out, struct error *err)
{
    struct checkpoint_place at = place_of(in, folder);
    char label[SEALED_LABEL_MAX];
    enum status s = checkpoint_load_before(&at, label, out, err);

    return s == STATUS_OK ? check_label(in, folder, label, out, err) : s;
}

enum status party_checkpoint_write(const struct party_inputs *in, const char *folder,
                                   const struct wire_bytes *bytes, struct error *err)
{
    struct checkpoint_place at = place_of(in, folder);
    char label[SEALED_LABEL_MAX];

    label_of(label, in);
    return checkpoint_save(&at, label, bytes->data, bytes->n, err);
}

enum status party_checkpoint_save(const struct party_inputs *in, const char *folder,
                                  const struct party_session *p, struct error *err)
{
    struct buf bytes;
    enum status s;

    buf_init(&bytes, SIZE_MAX);
    s = party_session_save(p, &bytes);
    if (s != STATUS_OK)
        error_set(err, s, "checkpoint: %s", status_words(s));
    else if (bytes.len > 0) /* a plan was accepted: there is something to keep */
        s = party_checkpoint_write(in, folder, &(struct wire_bytes){bytes.data, bytes.len}, err);
    secret_buf_deinit(&bytes);
    return s;
}

enum status party_checkpoint_remove(const struct party_inputs *in, const char *folder,
                                    struct error *err)
{
    struct checkpoint_place at = place_of(in, folder);

    return checkpoint_remove(&at, err);
}
