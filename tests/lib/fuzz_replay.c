/* fuzz_replay.c -- the main function of replay_X: feeds the corpus of fuzz target X to it once.
 *
 * So every compiler and sanitizer tries the inputs that once taught us something; looking for new
 * ones is libFuzzer's work (`make fuzz`).  The target says nothing and aborts when a law is broken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH_LENGTH_MAX = 1024 };

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A copy of exactly the file's length, so that a read past its end is seen. */
static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        abort();
    rewind(file);
    data = malloc((size_t)size + (size == 0));
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
        abort();
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    struct dirent **entries = NULL;
    char dir[PATH_LENGTH_MAX], path[PATH_LENGTH_MAX + 256];
    int n;

    name = name ? name + 1 : argv[0];
    if (argc != 1 || strncmp(name, "replay_", 7) != 0) {
        fprintf(stderr, "usage: replay_TARGET, from the project's root\n");
        return 2;
    }
    snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name + 7);
    n = scandir(dir, &entries, is_file, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: no inputs\n", dir);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        printf("%s\n", path);
        fflush(stdout);
        replay(path);
        free(entries[i]);
    }
    free(entries);
    printf("%d passed, 0 failed\n", n);
    return 0;
}
