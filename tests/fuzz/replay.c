/* Feeds files to a fuzz target, so that what a fuzzer once found stays tested in every build.
 * Arguments are files or folders of files. No file at all is a failure: an empty corpus would
 * pass without having tested anything. Knows nothing about what the target decodes. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, INPUT_MAX = 64 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the bytes in a block of exactly their size, so that a sanitizer sees reads past the end. */
static bool replay_stream(FILE *stream, size_t size)
{
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return false;
    bool whole = fread(bytes, 1, size, stream) == size;
    if (whole)
        LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return whole;
}

static bool replay_file(const char *path, size_t size)
{
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL) {
        perror(path);
        return false;
    }
    bool replayed = replay_stream(stream, size);
    if (!replayed)
        fprintf(stderr, "%s: could not be read\n", path);
    fclose(stream);
    return replayed;
}

/* Replays a file, or every file of a folder (not of its folders). */
static bool replay(const char *path, unsigned *count)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        perror(path);
        return false;
    }
    if (!S_ISDIR(facts.st_mode)) {
        (*count)++;
        return facts.st_size <= INPUT_MAX && replay_file(path, (size_t)facts.st_size);
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        return false;
    }
    bool all = true;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[PATH_SIZE];
        int length = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof(inner))
            all = false;
        else if (stat(inner, &facts) == 0 && S_ISREG(facts.st_mode))
            all = replay(inner, count) && all;
    }
    closedir(folder);
    return all;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    bool all = true;
    for (int i = 1; i < argc; i++)
        all = replay(argv[i], &count) && all;
    printf("%u inputs\n", count);
    return all && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
