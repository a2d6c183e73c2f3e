/* Names the paths and the address of a known file. */
#include "known/place.h"

#include "base/file.h"
#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of letters, digits and a few marks, none of which begins with a dot. */
static bool is_inside(const char *path)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+";
    for (const char *at = path;; at++) {
        const size_t length = strspn(at, letters);
        if (length == 0 || *at == '.') return false;
        at += length;
        if (*at != '/') return !*at;
    }
}

/* A mirror has the files at the same paths as their own servers. */
static const char *address_of(const liana__known_file *file, liana__arena *arena)
{
    const char *base = getenv("LIANA_FETCH_BASE");
    const char *server = base && *base ? strstr(file->url, "://") : NULL;
    if (!server) return liana__arena_string(arena, file->url);
    size_t length = strlen(base);
    while (length && base[length - 1] == '/') length--;
    const char *path = server + 3;
    path += strcspn(path, "/");
    return liana__arena_format(arena, "%.*s%s", (int)length, base, path);
}

liana_status liana__known_place_find(const liana__known_file *file, liana__arena *arena, liana__known_place *place,
                                     liana__error *error)
{
    if (!is_inside(file->file)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' cannot be kept as '%s': expected a path in the cache, of letters, digits, '.', '_', "
                           "'-' and '+'",
                           file->name, file->file);
    }
    const char *cache = liana__cache_folder(arena);
    if (!cache && !arena->failed) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no folder for '%s': set LIANA_CACHE to a folder (HOME is not set)", file->name);
    }
    place->path = cache ? liana__path_join(arena, cache, file->file) : NULL;
    place->folder = place->path ? liana__path_folder(arena, place->path) : NULL;
    place->part = liana__arena_format(arena, "%s.part", place->path ? place->path : "");
    place->origin = liana__arena_format(arena, "%s.origin", place->path ? place->path : "");
    place->pin = liana__arena_format(arena, "%s.sha256", place->path ? place->path : "");
    place->url = address_of(file, arena);
    return arena->failed ? liana__fail_memory(error, file->name) : LIANA_OK;
}

/* ---- the hash ---- */

enum { PIN_LIMIT = 4096, SHA256_DIGITS = 64 };

static const char *const DIGEST_NAMES[] = {[LIANA__DIGEST_MD5] = "MD5", [LIANA__DIGEST_SHA256] = "SHA-256"};

liana__known_hash liana__known_hash_of(liana__known_hash_origin origin, liana__digest_kind kind, const char *digits)
{
    liana__known_hash hash = {.origin = origin, .kind = kind, .name = DIGEST_NAMES[kind]};
    snprintf(hash.text, sizeof hash.text, "%s", digits);
    return hash;
}

liana_status liana__known_hash_find(const liana__known_file *file, const liana__known_place *place,
                                    liana__known_hash *hash, liana__error *error)
{
    *hash = (liana__known_hash){.origin = LIANA__KNOWN_NO_HASH};
    if (file->sha256) {
        *hash = liana__known_hash_of(LIANA__KNOWN_PUBLISHED, LIANA__DIGEST_SHA256, file->sha256);
        return LIANA_OK;
    }
    if (file->md5) {
        *hash = liana__known_hash_of(LIANA__KNOWN_PUBLISHED, LIANA__DIGEST_MD5, file->md5);
        return LIANA_OK;
    }
    if (!liana__file_exists(place->pin)) return LIANA_OK;
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    LIANA_TRY(liana__file_read(place->pin, PIN_LIMIT, &text, &size, error));
    const size_t digits = strspn(text, "0123456789abcdef");
    if (digits != SHA256_DIGITS || !strchr(" \n", text[digits])) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' does not begin with a SHA-256 (64 hexadecimal digits), the hash of the first fetch of "
                           "%s; remove it if %s is right",
                           place->pin, file->name, place->path);
    }
    text[digits] = 0;
    *hash = liana__known_hash_of(LIANA__KNOWN_PINNED, LIANA__DIGEST_SHA256, text);
    return LIANA_OK;
}

void liana__known_by_hand(const liana__known_file *file, const liana__known_place *place, liana__text *text)
{
    liana__text_add(text, "download %s and save it as %s", place->url, place->path);
    liana__known_hash hash;
    if (liana__known_hash_find(file, place, &hash, NULL) == LIANA_OK && hash.origin != LIANA__KNOWN_NO_HASH) {
        liana__text_add(text, " (%s %s%s)", hash.name, hash.text,
                        hash.origin == LIANA__KNOWN_PINNED ? ", of the first fetch" : "");
    }
}
