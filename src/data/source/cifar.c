/* CIFAR's binary files: records of a fixed size. CIFAR-10's are a label and 3,072 bytes of pixels, CIFAR-100's a coarse
 * label, a fine one and the pixels: 32 x 32 of red, then of green, then of blue, each row by row (Krizhevsky, "Learning
 * multiple layers of features from tiny images", 2009). The names of the classes are in text files beside them. */
#include "base/scoped.h"
#include "data/source/class_list.h"
#include "data/source/number_names.h"
#include "data/source/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE, MOST_LABELS = 2 };

/* One label of each record. */
typedef struct label_kind {
    const char *name; /* as data.features.label says it; NULL: there is no other */
    const char *list; /* the file with the names of its classes, in the folder of the records */
    int num_classes;
} label_kind;

typedef struct layout {
    const char *name;
    size_t num_labels;
    label_kind labels[MOST_LABELS]; /* in the order of their bytes */
} layout;

static const layout layouts[] = {
    {"CIFAR-10", 1, {{NULL, "batches.meta.txt", 10}}},
    {"CIFAR-100", 2, {{"coarse", "coarse_label_names.txt", 20}, {"fine", "fine_label_names.txt", 100}}},
};
enum { NUM_LAYOUTS = sizeof layouts / sizeof *layouts };

static size_t record_size(const layout *own)
{
    return own->num_labels + PIXELS;
}

typedef struct record_file {
    const char *path;
    liana__mapping mapping;
    uint64_t start; /* index of its first record */
} record_file;

typedef struct cifar_source {
    liana__source base;
    liana__arena arena;
    const layout *layout;
    size_t label; /* which of the labels is read */
    record_file *files;
    size_t num_files;
} cifar_source;

/* The memory of a thread. */
typedef struct scratch {
    uint8_t record[MOST_LABELS + PIXELS];
    uint8_t pixels[PIXELS]; /* [height, width, channels] */
} scratch;

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    liana__file_version file;
    (void)head;
    if (!head_size || !liana__ends_with(path, ".bin") || !liana__file_version_find(path, &file)) return false;
    const char *name = liana__path_name(path);
    if (liana__starts_with(name, "data_batch") || strcmp(name, "test_batch.bin") == 0) return true;
    for (int i = 0; i < NUM_LAYOUTS; i++) {
        if (file.size % (int64_t)record_size(&layouts[i]) == 0) return true;
    }
    return false;
}

static void close_source(void *handle)
{
    cifar_source *source = handle;
    for (size_t i = 0; i < source->num_files; i++) liana__file_unmap(&source->files[i].mapping);
    liana__arena_free(&source->arena);
    free(source);
}

static const record_file *file_of(const cifar_source *source, uint64_t index)
{
    size_t i = source->num_files - 1;
    while (source->files[i].start > index) i--;
    return &source->files[i];
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const record_file *file = file_of(handle, index);
    return (liana_record_address){file->path, (int64_t)(index - file->start), 0};
}

static int64_t offset(const void *handle, uint64_t index)
{
    const cifar_source *source = handle;
    return (int64_t)((index - file_of(source, index)->start) * record_size(source->layout));
}

static void visit_files(const void *handle, liana_file_visitor *visit, void *user)
{
    /* Records name their files. */
    (void)handle;
    (void)visit;
    (void)user;
}

/* ---- records ---- */

static liana_status check_label(const cifar_source *source, const record_file *file, uint64_t record, uint8_t found,
                                liana__error *error)
{
    const label_kind *kind = &source->layout->labels[source->label];
    if (found < kind->num_classes) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s', record %" PRIu64 ": the %s%slabel is %d, expected 0 to %d: is it another kind of file?",
                       file->path, record, kind->name ? kind->name : "", kind->name ? " " : "", found,
                       kind->num_classes - 1);
}

static int64_t known_label(const void *handle, uint64_t index)
{
    const cifar_source *source = handle;
    const record_file *file = file_of(source, index);
    const uint64_t record = index - file->start;
    uint8_t label;
    const size_t place = (size_t)record * record_size(source->layout) + source->label;
    if (liana__mapping_copy(&file->mapping, file->path, place, &label, 1, NULL) != LIANA_OK) return -1;
    return check_label(source, file, record, label, NULL) == LIANA_OK ? label : -1;
}

static void join_planes(const uint8_t *planes, uint8_t *pixels)
{
    for (size_t i = 0; i < PLANE; i++) {
        for (size_t channel = 0; channel < 3; channel++) pixels[3 * i + channel] = planes[channel * PLANE + i];
    }
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const cifar_source *source = handle;
    const record_file *file = file_of(source, record->index);
    const uint64_t number = record->index - file->start;
    scratch *own = record->scratch;
    const size_t size = record_size(source->layout);
    LIANA_TRY(liana__mapping_copy(&file->mapping, file->path, (size_t)number * size, own->record, size, record->error));
    if (source->base.has_labels) {
        LIANA_TRY(check_label(source, file, number, own->record[source->label], record->error));
    }
    join_planes(own->record + source->layout->num_labels, own->pixels);
    record->pixels = own->pixels;
    record->height = SIDE;
    record->width = SIDE;
    record->channels = 3;
    record->has_label = source->base.has_labels;
    record->label = own->record[source->label];
    return LIANA_OK;
}

/* ---- which layout ---- */

/* Whether the labels of the first records are in their ranges. */
static liana_status labels_fit(const record_file *file, const layout *own, bool *fit, liana__error *error)
{
    enum { LOOKED_AT = 64 };
    const size_t size = record_size(own), count = file->mapping.size / size;
    *fit = count > 0;
    for (size_t i = 0; *fit && i < count && i < LOOKED_AT; i++) {
        uint8_t labels[MOST_LABELS];
        LIANA_TRY(liana__mapping_copy(&file->mapping, file->path, i * size, labels, own->num_labels, error));
        for (size_t k = 0; k < own->num_labels; k++) *fit = *fit && labels[k] < own->labels[k].num_classes;
    }
    return LIANA_OK;
}

/* The layout whose records fill the file; of a file that is cut, or that both fill, the one whose labels fit. NULL:
 * none. */
static liana_status find_layout(const record_file *file, const layout **found, liana__error *error)
{
    const layout *filled = NULL, *fitting = NULL;
    bool one_fills = false;
    for (int i = 0; i < NUM_LAYOUTS; i++) {
        bool fit;
        LIANA_TRY(labels_fit(file, &layouts[i], &fit, error));
        if (fit && !fitting) fitting = &layouts[i];
        if (file->mapping.size % record_size(&layouts[i]) != 0) continue;
        one_fills = !filled;
        filled = &layouts[i];
    }
    *found = one_fills ? filled : fitting;
    return LIANA_OK;
}

static liana_status fail_layout(const record_file *file, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is no file of CIFAR: its %zu bytes are no whole number of records of %zu bytes (CIFAR-10) "
                       "or of %zu (CIFAR-100), nor have its records their labels",
                       file->path, file->mapping.size, record_size(&layouts[0]), record_size(&layouts[1]));
}

/* The records before the cut are there. */
static liana_status meet_cut(cifar_source *source, const record_file *file, uint64_t count, liana__error *error)
{
    const size_t size = record_size(source->layout), rest = file->mapping.size % size;
    if (!rest) return LIANA_OK;
    liana__error own = {0};
    liana__fail(&own, LIANA_DATA_LOSS,
                "'%s' is truncated: record %" PRIu64 " has %zu of %zu bytes; copy or download it again", file->path,
                count, rest, size);
    if (!source->base.skip_damage) {
        if (error) *error = own;
        return own.status;
    }
    const char *reason = liana__arena_string(&source->arena, own.message);
    if (!reason) return liana__fail_memory(error, file->path);
    const liana__lost lost = {file->path, (int64_t)count, (int64_t)(count * size), (int64_t)rest, reason};
    return liana__source_add_lost(&source->base, &source->arena, &lost, error);
}

static liana_status measure_file(cifar_source *source, record_file *file, liana__error *error)
{
    const layout *found;
    LIANA_TRY(find_layout(file, &found, error));
    if (!found) return fail_layout(file, error);
    if (source->layout && source->layout != found) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is of %s, but '%s' of %s; name files of one kind",
                           source->files[0].path, source->layout->name, file->path, found->name);
    }
    source->layout = found;
    const uint64_t count = file->mapping.size / record_size(found);
    LIANA_TRY(meet_cut(source, file, count, error));
    file->start = source->base.num_records;
    source->base.num_records += count;
    return LIANA_OK;
}

/* Opens a file, or notes that it is lost. */
static liana_status open_file(cifar_source *source, const char *path, liana__error *error)
{
    record_file *file = &source->files[source->num_files];
    liana__error own = {0};
    *file = (record_file){.path = liana__arena_string(&source->arena, path)};
    if (!file->path) return liana__fail_memory(error, path);
    liana_status status = liana__file_map(path, &file->mapping, &own);
    if (status == LIANA_OK) status = measure_file(source, file, &own);
    if (status == LIANA_OK) {
        source->num_files++;
        return LIANA_OK;
    }
    liana__file_unmap(&file->mapping);
    *file = (record_file){0};
    return liana__source_lose_file(&source->base, &source->arena, path, &own, error);
}

/* A folder of CIFAR's has both parts. */
static liana_status check_parts(const liana__paths *paths, liana__error *error)
{
    const char *training = NULL, *test = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        const char *name = liana__path_name(paths->items[i]);
        if (liana__starts_with(name, "data_batch") || strcmp(name, "train.bin") == 0) training = paths->items[i];
        if (strcmp(name, "test_batch.bin") == 0 || strcmp(name, "test.bin") == 0) test = paths->items[i];
    }
    if (!training || !test) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is for training and '%s' for tests; name those that are meant ('data_batch_*.bin'), or "
                       "both in data.train.concatenate",
                       training, test);
}

/* ---- labels and their names ---- */

static liana_status choose_label(cifar_source *source, const char *wanted, liana__error *error)
{
    const layout *own = source->layout;
    source->label = own->num_labels - 1; /* the finer one */
    if (!wanted) return LIANA_OK;
    for (size_t i = 0; i < own->num_labels; i++) {
        if (!own->labels[i].name || strcmp(own->labels[i].name, wanted) != 0) continue;
        source->label = i;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "'%s': there is no label '%.60s'; %s", source->files[0].path,
                       wanted,
                       own->num_labels > 1 ? "CIFAR-100 has coarse and fine"
                                           : "CIFAR-10 has one, without a name: leave data.features.label out");
}

/* Not empty, of one line; in the arena. */
static liana_status read_list(cifar_source *source, const char *path, liana__strings *names, liana__error *error)
{
    enum { MOST_BYTES = 1 << 16 };
    const int expected = source->layout->labels[source->label].num_classes;
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size, count = 0;
    LIANA_TRY(liana__file_read(path, MOST_BYTES, &text, &size, error));
    const char **items = liana__arena_allocate(&source->arena, (size_t)expected * sizeof *items);
    if (!items) return liana__fail_memory(error, path);
    for (char *line = text; line < text + size;) {
        const size_t length = strcspn(line, "\r\n");
        if (length && count < (size_t)expected) {
            items[count] = liana__arena_format(&source->arena, "%.*s", (int)length, line);
        }
        count += length > 0;
        line += length + 1;
    }
    if (source->arena.failed) return liana__fail_memory(error, path);
    *names = (liana__strings){count, items};
    if (count == (size_t)expected) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' has %zu names, expected %d: the classes of '%s'; repair it, or remove it to have numbers",
                       path, count, expected, source->files[0].path);
}

static liana_status find_names(cifar_source *source, const liana__source_options *options, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *folder = liana__path_folder(&arena, source->files[0].path);
    const char *path = folder ? liana__path_join(&arena, folder, source->layout->labels[source->label].list) : NULL;
    liana__strings names;
    if (!path) return liana__fail_memory(error, source->files[0].path);
    if (!liana__file_exists(path)) return LIANA_OK;
    LIANA_TRY(read_list(source, path, &names, error));
    return liana__source_name_numbers(&source->base, source->files[0].path, &names, options, error);
}

static liana_status open_source(liana_source_opening *opening)
{
    const liana__paths paths = {(char **)opening->paths, opening->num_paths};
    const liana__source_options *options = opening->options;
    liana__error *error = opening->error;
    cifar_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    source->files = liana__arena_allocate(&source->arena, (paths.count + 1) * sizeof *source->files);
    if (!source->files) return liana__fail_memory(error, "files of CIFAR");
    LIANA_TRY(check_parts(&paths, error));
    for (size_t i = 0; i < paths.count; i++) LIANA_TRY(open_file(source, paths.items[i], error));
    source->base.has_labels = !options->ignore_labels;
    if (!source->num_files || options->ignore_labels) return LIANA_OK;
    LIANA_TRY(choose_label(source, options->label_feature, error));
    return find_names(source, options, error);
}

const liana_source_type liana__source_cifar = {
    LIANA_PART(SOURCE, liana_source_type, "cifar",
               "CIFAR's binary files: images of 32 x 32 with a label (CIFAR-10), or with a coarse and a fine one "
               "(CIFAR-100; data.features.label says which: fine by default)."),
    .recognises = recognises,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .visit_files = visit_files,
    .known_label = known_label,
    .offset = offset,
    .scratch_size = sizeof(scratch),
};
