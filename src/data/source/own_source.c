/* Kinds of data that a program registers. */
#include "data/source/source.h"

#include <stdlib.h>
#include <string.h>

typedef struct own_source {
    liana__source base;
    const liana_source_type *of;
    void *handle;
    liana__arena arena; /* of components and paths */
    const char **paths; /* the first one is the file of all records in messages */
    size_t num_paths;
    const char *path;
    bool has_images;
} own_source;

bool liana__own_source_recognises(const liana__source_kind *kind, const char *path, const uint8_t *head, size_t size)
{
    return kind->own->recognises && kind->own->recognises(path, head, size);
}

/* ---- opening ---- */

static liana_status fail(const liana__source_kind *kind, const char *file, liana_status status, const char *message,
                         liana__error *error)
{
    return liana__fail(error, status, "'%s' (kind %s): %s", file, kind->name,
                       *message ? message : liana_status_text(status));
}

/* Copies the components, which must be what a batch can hold. */
static liana_status take_components(own_source *source, const liana_source_opening *opening, liana__error *error)
{
    const liana__source_kind *kind = source->base.kind;
    if (opening->num_components > LIANA_MAX_COMPONENTS || (opening->num_components && !opening->components)) {
        return fail(kind, source->path, LIANA_INVALID_ARGUMENT, "it has more components than 16, or none at NULL",
                    error);
    }
    liana_component *copy = liana__arena_allocate(&source->arena, (opening->num_components + 1) * sizeof *copy);
    if (!copy) return liana__fail_memory(error, source->path);
    for (size_t i = 0; i < opening->num_components; i++) {
        const liana_component *given = &opening->components[i];
        bool valid = given->name && *given->name && given->dtype >= 0 && given->dtype < LIANA_NUM_DTYPES &&
                     given->shape.rank >= 0 && given->shape.rank <= LIANA_MAX_RANK;
        for (int axis = 0; valid && axis < given->shape.rank; axis++) valid = given->shape.dims[axis] >= 1;
        if (!valid) {
            return fail(kind, source->path, LIANA_INVALID_ARGUMENT,
                        "a component has no name, no dtype of numbers, or no static shape", error);
        }
        copy[i] = *given;
        copy[i].name = liana__arena_string(&source->arena, given->name);
        if (!copy[i].name) return liana__fail_memory(error, source->path);
    }
    source->base.components = copy;
    source->base.num_components = opening->num_components;
    return LIANA_OK;
}

static void close_source(liana__source *base)
{
    own_source *source = (own_source *)base;
    if (source->of->close && source->handle) source->of->close(source->handle);
    liana__arena_free(&source->arena);
    free(source);
}

liana_status liana__own_source_open(const liana__source_kind *kind, const liana__paths *paths, liana__source **out,
                                    liana__error *error)
{
    own_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, kind->name);
    source->base.kind = kind;
    source->of = kind->own;
    source->paths = liana__arena_allocate(&source->arena, (paths->count + 1) * sizeof *source->paths);
    for (size_t i = 0; source->paths && i < paths->count; i++) {
        source->paths[i] = liana__arena_string(&source->arena, paths->items[i]);
    }
    source->num_paths = paths->count;
    source->path = source->arena.failed ? NULL : paths->count ? source->paths[0] : "";
    char message[LIANA_SOURCE_MESSAGE] = "";
    liana_source_opening opening = {.paths = (const char *const *)paths->items,
                                    .num_paths = paths->count,
                                    .message = message};
    liana_status status = source->path ? source->of->open(&opening) : liana__fail_memory(error, kind->name);
    message[sizeof message - 1] = 0;
    if (source->path && status != LIANA_OK) fail(kind, source->path, status, message, error);
    source->handle = opening.handle;
    source->has_images = opening.has_images;
    source->base.num_records = opening.num_records;
    source->base.has_labels = opening.has_labels;
    source->base.lacks_images = !opening.has_images;
    if (status == LIANA_OK) status = take_components(source, &opening, error);
    return liana__source_finish(&source->base, status, out);
}

/* ---- reading ---- */

/* What a record says must be what its source says. */
static const char *mistake_of(const own_source *source, const liana_source_record *given)
{
    if (source->has_images && !given->bytes && !given->pixels) return "it has no image";
    if (source->has_images && given->bytes && !given->size) return "its image has no bytes";
    if (source->has_images && !given->bytes &&
        (given->height < 1 || given->width < 1 || (given->channels != 1 && given->channels != 3))) {
        return "its pixels are not [height, width, 1 or 3]";
    }
    for (size_t i = 0; i < source->base.num_components; i++) {
        if (!given->values[i]) return "a component has no values";
    }
    return NULL;
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    const own_source *source = (const own_source *)base;
    char message[LIANA_SOURCE_MESSAGE] = "";
    liana_source_record given = {.index = index, .scratch = scratch, .message = message, .label = -1};
    liana_status status = source->of->read(source->handle, &given);
    message[sizeof message - 1] = 0;
    const char *mistake = status == LIANA_OK ? mistake_of(source, &given) : NULL;
    if (mistake) status = LIANA_INVALID_DATA;
    if (status != LIANA_OK) {
        return liana__fail(error, status, "'%s', record %llu (kind %s): %s", source->path, (unsigned long long)index,
                           base->kind->name,
                           mistake    ? mistake
                           : *message ? message
                                      : liana_status_text(status));
    }
    *record = (liana__record){
        .bytes = given.bytes,
        .size = given.size,
        .pixels = given.bytes ? NULL : given.pixels,
        .height = given.height,
        .width = given.width,
        .channels = given.channels,
        .has_label = given.label >= 0,
        .label = given.label,
        .id = given.id,
        .id_size = given.id ? strlen(given.id) : 0,
    };
    memcpy(record->values, given.values, sizeof record->values);
    return LIANA_OK;
}

static liana__record_address address_of(const liana__source *base, uint64_t index)
{
    return (liana__record_address){((const own_source *)base)->path, (int64_t)index, 0};
}

static void visit_files(const liana__source *base,
                        void (*visit)(void *user, const char *path, const char *name, bool labels), void *user)
{
    const own_source *source = (const own_source *)base;
    for (size_t i = 1; i < source->num_paths; i++) {
        const char *slash = strrchr(source->paths[i], '/');
        visit(user, source->paths[i], slash ? slash + 1 : source->paths[i], false);
    }
}

/* ---- registering ---- */

static liana_status accept(liana_context *context, liana_part *part)
{
    liana_source_type *type = (liana_source_type *)part;
    LIANA_TRY(liana__part_needs(context, part, type->open != NULL, "open"));
    LIANA_TRY(liana__part_needs(context, part, type->read != NULL, "read"));
    if (part->options.count) {
        return liana__part_refuse(context, part, "it has options, which kinds of data cannot have");
    }
    bool builtin = strcmp(part->name, "auto") == 0;
#define LIANA__SOURCE(stem, symbol) builtin |= strcmp(liana__source_##symbol.name, part->name) == 0;
#include "data/sources.def"
#undef LIANA__SOURCE
    if (builtin) return liana__part_refuse(context, part, "liana has one of this name; choose another name");
    liana__source_kind *kind = liana__arena_allocate(&context->parts, sizeof *kind);
    if (!kind) return liana__fail_memory(&context->error, part->name);
    *kind = (liana__source_kind){
        .name = part->name,
        .doc = part->doc,
        .own = type,
        .close = close_source,
        .read = read_record,
        .address = address_of,
        .visit_files = visit_files,
        .scratch_size = type->scratch_size,
    };
    type->internal = kind;
    return LIANA_OK;
}

static const liana_part *const none[] = {NULL};

const liana__kind liana__own_source_kind = {.kind = LIANA_PART_SOURCE,
                                            .size = sizeof(liana_source_type),
                                            .builtin = none,
                                            .accept = accept};
