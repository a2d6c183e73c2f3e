/* Compares files with what is published or pinned, and pins. */
#include "known/check.h"

#include "base/file.h"
#include "base/scoped.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The end of a message about a file that is another one. The caller removes a part, and never a file in its place. */
static void add_way_out(const liana__known_file *file, const liana__known_place *place, const char *path,
                        const liana__known_hash *hash, liana__text *text)
{
    const bool is_part = strcmp(path, place->path) != 0;
    if (hash->origin == LIANA__KNOWN_PINNED) {
        liana__text_add(text, "; if the new content is right, remove '%s'", place->pin);
        liana__text_add(text, is_part ? " and run again (what came from %s is removed)" : " (the address is %s)",
                        place->url);
    } else if (is_part) {
        liana__text_add(text, "; what came from %s is removed; run again, or ", place->url);
        liana__known_by_hand(file, place, text);
    } else {
        liana__text_add(text, "; remove it and run 'liana fetch %s', or ", file->name);
        liana__known_by_hand(file, place, text);
    }
}

static liana_status fail_check(const liana__known_file *file, const liana__known_place *place, const char *path,
                               const liana__known_hash *hash, const char *found, liana__error *error)
{
    LIANA__SCOPED(liana__text) way_out = {0};
    add_way_out(file, place, path, hash, &way_out);
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' is not the known file %s: %s%s", path, file->name, found,
                       way_out.data ? way_out.data : "");
}

liana_status liana__known_check(const liana__known_file *file, const liana__known_place *place, const char *path,
                                const liana__known_hash *hash, liana__error *error)
{
    liana__file_version version;
    char found[256];
    if (file->size && liana__file_version_find(path, &version) && (uint64_t)version.size != file->size) {
        snprintf(found, sizeof found, "it has %" PRId64 " bytes, expected %" PRIu64 " (published)", version.size,
                 file->size);
        return fail_check(file, place, path, hash, found, error);
    }
    if (hash->origin == LIANA__KNOWN_NO_HASH) return LIANA_OK;
    liana__digest_text digest;
    LIANA_TRY(liana__digest_file(path, hash->kind, &digest, error));
    if (strcmp(digest.text, hash->text) == 0) return LIANA_OK;
    snprintf(found, sizeof found, "its %s is %s, expected %s (%s)", hash->name, digest.text, hash->text,
             hash->origin == LIANA__KNOWN_PUBLISHED ? "published" : "pinned at the first fetch");
    return fail_check(file, place, path, hash, found, error);
}

liana_status liana__known_pin(const liana__known_place *place, const char *path, liana__known_hash *hash,
                              liana__error *error)
{
    liana__digest_text digest;
    LIANA__SCOPED(liana__text) text = {0};
    LIANA_TRY(liana__digest_file(path, LIANA__DIGEST_SHA256, &digest, error));
    *hash = liana__known_hash_of(LIANA__KNOWN_PINNED, LIANA__DIGEST_SHA256, digest.text);
    liana__text_add(&text, "%s  %s\n", digest.text, liana__path_name(place->path));
    if (text.failed) return liana__fail_memory(error, place->pin);
    return liana__file_replace(place->pin, text.data, text.length, error);
}
