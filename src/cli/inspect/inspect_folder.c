/* Describes run folders and data folders for liana inspect. */
#include "base/file.h"
#include "cli/inspect/inspect.h"
#include "formats/json.h"

#include <sys/stat.h>

/* A run's state or history is shown as it is, up to this size; larger files are only named. */
enum { MAX_JSON = 1 << 16 };

static liana_status add_known(const char *path, const char *name, int64_t size, liana__value *report,
                              liana__arena *arena, liana__error *error)
{
    if (liana__ends_with(name, ".safetensors")) {
        liana__value *inner = liana__value_map(arena);
        LIANA_TRY(liana__inspect_safetensors(path, inner, arena, error));
        for (size_t i = 0; i < inner->count; i++) {
            char *key = liana__arena_format(arena, "%s: %s", name, inner->keys[i]);
            if (key) liana__value_set(arena, report, key, inner->items[i]);
        }
    } else if (liana__ends_with(name, ".json") && size <= MAX_JSON) {
        liana__value *value;
        LIANA_TRY(liana__json_read(path, arena, &value, error));
        liana__value_set(arena, report, name, value);
    }
    return LIANA_OK;
}

liana_status liana__inspect_folder(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(path, arena, &names, error));
    liana__value *rows = liana__value_list(arena);
    liana__findings_text(arena, report, "kind", "folder");
    liana__value_set(arena, report, "files", rows);
    for (size_t i = 0; i < names.count; i++) {
        char *full = liana__path_join(arena, path, names.items[i]);
        struct stat info;
        if (!full || stat(full, &info) != 0) continue;
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "name", names.items[i]);
        liana__findings_text(arena, row, "type", S_ISDIR(info.st_mode) ? "folder" : "file");
        if (S_ISREG(info.st_mode)) liana__findings_int(arena, row, "bytes", (int64_t)info.st_size);
        liana__value_add(arena, rows, row);
        if (!S_ISREG(info.st_mode)) continue;
        LIANA_TRY(add_known(full, names.items[i], (int64_t)info.st_size, report, arena, error));
    }
    return LIANA_OK;
}
