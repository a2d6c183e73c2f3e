/* Finds the state of a known file. */
#include "known/look.h"

#include "base/file.h"
#include "known/check.h"
#include "known/structure.h"

static liana_status compare(const liana__known_look *look, bool verify, liana__error *error)
{
    static const liana__known_hash none = {.origin = LIANA__KNOWN_NO_HASH};
    const liana__known_hash *hash = verify ? &look->hash : &none;
    LIANA_TRY(liana__known_check(look->file, &look->place, look->place.path, hash, error));
    if (!verify || look->hash.origin != LIANA__KNOWN_NO_HASH) return LIANA_OK;
    return liana__known_check_structure(look->file, look->place.path, error);
}

liana_status liana__known_look_at(const liana__known_file *file, bool verify, liana__arena *arena,
                                  liana__known_look *look, liana__error *error)
{
    *look = (liana__known_look){.file = file};
    LIANA_TRY(liana__known_place_find(file, arena, &look->place, error));
    liana__error own = {0};
    liana__file_version version;
    liana_status status = liana__known_hash_find(file, &look->place, &look->hash, &own);
    if (liana__file_version_find(look->place.path, &version)) {
        look->state = LIANA__KNOWN_HERE;
        if (status == LIANA_OK) status = compare(look, verify, &own);
    } else if (liana__file_version_find(look->place.part, &version)) {
        look->state = LIANA__KNOWN_PARTIAL;
    }
    if (look->state != LIANA__KNOWN_NOT_HERE) look->size = (uint64_t)version.size;
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY || status == LIANA_UNIMPLEMENTED) return liana__fail_as(error, &own);
    look->state = LIANA__KNOWN_DAMAGED;
    look->damage = liana__arena_string(arena, own.message);
    return look->damage ? LIANA_OK : liana__fail_memory(error, file->name);
}
