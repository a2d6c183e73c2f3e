/* Event files of a training that goes on from a checkpoint. */
#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/event.h"
#include "formats/event_writer.h"
#include "formats/tfrecord.h"

#include <string.h>

static const char ENDING[] = ".liana";

/* The step and the first tag of a record decide; a record without values stays. */
static bool holds(const uint8_t *bytes, size_t size, liana__event_keeps keeps, void *user)
{
    liana__event_record event;
    bool kept = true;
    if (liana__event_parse(bytes, size, &event, NULL) == LIANA_OK && event.num_values) {
        kept = keeps(user, event.step, event.values[0].tag);
    }
    liana__event_free(&event);
    return kept;
}

/* Copies the records that hold. *is_whole: all do. `writer` NULL: they are looked at alone. */
static liana_status copy_records(const liana__tfrecord *file, liana__tfrecord_writer *writer, liana__event_keeps keeps,
                                 void *user, bool *is_whole, liana__error *error)
{
    uint64_t offset, lost;
    *is_whole = !liana__tfrecord_damage(file, &offset, &lost);
    for (size_t i = 0; i < liana__tfrecord_count(file); i++) {
        const uint8_t *bytes;
        size_t size;
        LIANA_TRY(liana__tfrecord_get(file, i, &bytes, &size, error));
        const bool kept = holds(bytes, size, keeps, user);
        *is_whole = *is_whole && kept;
        if (kept && writer) LIANA_TRY(liana__tfrecord_writer_add(writer, bytes, size, error));
    }
    return LIANA_OK;
}

static liana_status rewrite(const liana__tfrecord *file, const char *path, liana__event_keeps keeps, void *user,
                            liana__error *error)
{
    liana__tfrecord_writer writer;
    bool is_whole;
    LIANA_TRY(copy_records(file, NULL, keeps, user, &is_whole, error));
    if (is_whole) return LIANA_OK;
    LIANA_TRY(liana__tfrecord_writer_begin(&writer, path, error));
    liana_status status = copy_records(file, &writer, keeps, user, &is_whole, error);
    if (status == LIANA_OK) status = liana__tfrecord_writer_commit(&writer, false, error);
    if (status != LIANA_OK) liana__tfrecord_writer_abandon(&writer);
    return status;
}

liana_status liana__event_folder_trim(const char *folder, liana__event_keeps keeps, void *user, liana__error *error)
{
    static const liana__tfrecord_options options = {.keep_start = true};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    if (!liana__folder_exists(folder)) return LIANA_OK;
    LIANA_TRY(liana__folder_list(folder, &arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const size_t length = strlen(names.items[i]), end = sizeof ENDING - 1;
        if (length < end || strcmp(names.items[i] + length - end, ENDING) != 0) continue;
        const char *path = liana__path_join(&arena, folder, names.items[i]);
        liana__tfrecord *file;
        if (!path) return liana__fail_memory(error, folder);
        LIANA_TRY(liana__tfrecord_open(path, &options, &file, error));
        const liana_status status = rewrite(file, path, keeps, user, error);
        liana__tfrecord_close(file);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}
