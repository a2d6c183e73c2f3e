#include "data/source/fingerprint.h"

#include "data/source/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void liana__fingerprint_add(liana__fingerprint *fingerprint, const void *bytes, size_t size)
{
    /* FNV-1a (Fowler, Noll, Vo) twice, the second time from the end of the first and with the bits turned. */
    const uint8_t *next = bytes;
    const uint64_t prime = 0x100000001B3;
    uint64_t first = fingerprint->words[0] ^ 0xCBF29CE484222325, second = fingerprint->words[1] ^ size;
    for (size_t i = 0; i < size; i++) {
        first = (first ^ next[i]) * prime;
        second = (second ^ (first >> 32) ^ (uint8_t)~next[i]) * prime;
    }
    fingerprint->words[0] = first;
    fingerprint->words[1] = second;
}

void liana__fingerprint_add_text(liana__fingerprint *fingerprint, const char *text)
{
    liana__fingerprint_add(fingerprint, text ? text : "", text ? strlen(text) + 1 : 1);
}

bool liana__fingerprint_equal(const liana__fingerprint *a, const liana__fingerprint *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

void liana__fingerprint_add_file(liana__fingerprint *settings, liana__fingerprint *sources, const char *path,
                                 uint64_t num_records)
{
    struct stat info;
    uint64_t facts[5] = {num_records};
    if (stat(path, &info) == 0) {
        facts[1] = (uint64_t)info.st_size;
        facts[2] = (uint64_t)info.st_mtim.tv_sec;
        facts[3] = (uint64_t)info.st_mtim.tv_nsec;
        facts[4] = (uint64_t)info.st_ino;
    }
    char *absolute = realpath(path, NULL);
    liana__fingerprint_add_text(settings, absolute ? absolute : path);
    free(absolute);
    liana__fingerprint_add(sources, facts, sizeof facts);
}

/* Adds a remote file with the version that its server names. */
static void add_remote_file(const liana__remote *remote, const char *url, uint64_t num_records,
                            liana__fingerprint *settings, liana__fingerprint *sources)
{
    liana__remote_version version = liana__remote_version_of(remote, url);
    liana__fingerprint_add_text(settings, url);
    liana__fingerprint_add_text(sources, version.text);
    liana__fingerprint_add(sources, &num_records, sizeof num_records);
}

void liana__fingerprint_add_source(liana__fingerprint *settings, liana__fingerprint *sources,
                                   const liana__source *source)
{
    const char *file = NULL;
    uint64_t first = 0;
    for (uint64_t i = 0; i <= source->num_records; i++) {
        const char *next = i < source->num_records ? liana__source_address(source, i).file : NULL;
        bool same = file && next && (file == next || strcmp(file, next) == 0);
        if (same) continue;
        if (file && liana__path_is_remote(file)) {
            add_remote_file(source->remote, file, i - first, settings, sources);
        } else if (file) {
            liana__fingerprint_add_file(settings, sources, file, i - first);
        }
        file = next;
        first = i;
    }
}
