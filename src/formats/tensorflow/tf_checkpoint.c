/* Opens TensorFlow's checkpoints. */
#include "formats/tensorflow/tf_checkpoint.h"

#include "base/scoped.h"
#include "base/text.h"
#include "formats/tensorflow/tf_checkpoint_internal.h"
#include "formats/tensorflow/tf_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_INDEX = 1 << 28, MOST_VARIABLES = 1000000, MOST_FILES = 99999, MOST_MESSAGE = 1 << 20 };

/* TensorFlow's numbers of types (tensorflow/core/framework/types.proto). */
static const struct type {
    int number;
    const char *name;
    liana__number_kind kind;
    size_t size;
} types[] = {
    {1, "float32", LIANA__NUMBER_FLOAT, 4},     {2, "float64", LIANA__NUMBER_FLOAT, 8},
    {3, "int32", LIANA__NUMBER_SIGNED, 4},      {4, "uint8", LIANA__NUMBER_UNSIGNED, 1},
    {5, "int16", LIANA__NUMBER_SIGNED, 2},      {6, "int8", LIANA__NUMBER_SIGNED, 1},
    {7, "string", LIANA__NUMBER_NONE, 0},       {8, "complex64", LIANA__NUMBER_NONE, 8},
    {9, "int64", LIANA__NUMBER_SIGNED, 8},      {10, "bool", LIANA__NUMBER_UNSIGNED, 1},
    {14, "bfloat16", LIANA__NUMBER_BFLOAT, 2},  {17, "uint16", LIANA__NUMBER_UNSIGNED, 2},
    {18, "complex128", LIANA__NUMBER_NONE, 16}, {19, "float16", LIANA__NUMBER_FLOAT, 2},
    {21, "variant", LIANA__NUMBER_NONE, 0},     {22, "uint32", LIANA__NUMBER_UNSIGNED, 4},
    {23, "uint64", LIANA__NUMBER_UNSIGNED, 8},
};
static const struct type other_type = {0, "of another type", LIANA__NUMBER_NONE, 0};

static const struct type *find_type(int number)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].number == number) return &types[i];
    }
    return &other_type;
}

/* ---- the entries ---- */

/* A variable that is being read, with the slices that its entry lists. */
typedef struct found_slice {
    liana__tf_slice place;
    size_t variable; /* the whole */
} found_slice;

typedef struct opening {
    liana__tf_checkpoint *checkpoint;
    bool has_header;
    /* All entries in the order of their keys: slices come first. */
    liana__tf_variable *entries;
    size_t num_entries, entry_capacity;
    size_t *key_sizes;
    size_t num_sizes, size_capacity;
    found_slice *slices;
    size_t num_slices, slice_capacity;
} opening;

static void free_opening(opening *own)
{
    free(own->entries);
    free(own->key_sizes);
    free(own->slices);
}

static liana_status fail_entry(const opening *own, const liana__tf_variable *entry, liana_status status,
                               liana__error *error, const char *what)
{
    /* The key of a slice begins with a 0 and its name has more bytes behind it. */
    const char *name = *entry->key ? entry->key : entry->key + 1;
    return liana__fail(error, status, "'%s': the variable '%.200s' %s", own->checkpoint->path, name, what);
}

static liana_status take_header(opening *own, const liana__tf_entry *from, liana__error *error)
{
    LIANA__SCOPED(liana__tf_memory) memory = {0};
    liana__tf_memory_begin(&memory, from->value_size);
    const Liana__Checkpoint__Header *header =
        liana__checkpoint__header__unpack(&memory.allocator, from->value_size, from->value);
    const char *path = own->checkpoint->path;
    if (!header || header->num_shards < 1) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is not the index of a checkpoint; if it is a checkpoint of TensorFlow's first format "
                           "(V1), save it again with tf.compat.v1.train.Saver, which writes V2",
                           path);
    }
    if (header->num_shards > MOST_FILES) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' is for %d files of data, expected at most %d", path,
                           header->num_shards, MOST_FILES);
    }
    if (header->endianness != 0) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' was written on a big-endian machine; liana reads little-endian checkpoints", path);
    }
    own->checkpoint->num_files = (size_t)header->num_shards;
    own->has_header = true;
    return LIANA_OK;
}

/* False: the shape is no shape, or has more elements than memory. */
static bool take_shape(const Liana__Checkpoint__Shape *shape, liana__tf_variable *entry)
{
    int64_t count = 1;
    bool good = !shape || !shape->unknown_rank;
    entry->rank = shape ? (int)shape->n_dim : 0;
    for (int i = 0; good && i < entry->rank; i++) {
        entry->shape[i] = shape->dim[i]->size;
        good = entry->shape[i] >= 0 && !__builtin_mul_overflow(count, entry->shape[i], &count);
    }
    good = good && count <= INT64_MAX / 16;
    entry->num_elements = good ? (size_t)count : 0;
    return good;
}

static liana_status take_slices(opening *own, const Liana__Checkpoint__Entry *from, const liana__tf_variable *entry,
                                liana__error *error)
{
    if (from->n_slices && !*entry->key) {
        return fail_entry(own, entry, LIANA_INVALID_DATA, error, "has a slice that has slices");
    }
    for (size_t i = 0; i < from->n_slices; i++) {
        const Liana__Checkpoint__Slice *slice = from->slices[i];
        found_slice found = {.variable = own->num_entries};
        bool good = slice->n_extent == (size_t)entry->rank;
        for (int axis = 0; good && axis < entry->rank; axis++) {
            const Liana__Checkpoint__Extent *extent = slice->extent[axis];
            const bool whole = extent->has_length_case == LIANA__CHECKPOINT__EXTENT__HAS_LENGTH__NOT_SET;
            found.place.start[axis] = extent->start;
            found.place.length[axis] = whole ? entry->shape[axis] : extent->length;
            good = extent->start >= 0 && found.place.length[axis] >= 0 && extent->start <= entry->shape[axis] &&
                   found.place.length[axis] <= entry->shape[axis] - extent->start;
        }
        if (!good) {
            return fail_entry(own, entry, LIANA_INVALID_DATA, error, "has a slice that is not a part of its shape");
        }
        if (!liana__grow(&own->slices, own->num_slices, &own->slice_capacity, sizeof *own->slices)) {
            return liana__fail_memory(error, own->checkpoint->path);
        }
        own->slices[own->num_slices++] = found;
    }
    return LIANA_OK;
}

static liana_status check_place(const opening *own, const Liana__Checkpoint__Entry *from,
                                const liana__tf_variable *entry, liana__error *error)
{
    if (from->n_slices) return LIANA_OK;
    if (from->shard_id < 0 || (size_t)from->shard_id >= own->checkpoint->num_files || from->offset < 0 ||
        from->size < 0 || from->offset > INT64_MAX - from->size) {
        return fail_entry(own, entry, LIANA_INVALID_DATA, error, "is said to be where no data can be");
    }
    if (entry->kind != LIANA__NUMBER_NONE && entry->size != entry->num_elements * entry->element_size) {
        return fail_entry(own, entry, LIANA_INVALID_DATA, error, "has another number of bytes than its shape needs");
    }
    return LIANA_OK;
}

static liana_status take_message(opening *own, const Liana__Checkpoint__Entry *from, liana__tf_variable *entry,
                                 liana__error *error)
{
    const struct type *type = find_type(from->dtype);
    entry->dtype = type->name;
    entry->kind = type->kind;
    entry->element_size = type->size;
    if (from->shape && from->shape->n_dim > LIANA__TF_MAX_RANK) {
        return fail_entry(own, entry, LIANA_OUT_OF_RANGE, error, "has more than 8 dimensions");
    }
    if (!take_shape(from->shape, entry)) {
        return fail_entry(own, entry, LIANA_INVALID_DATA, error, "has a shape that no variable can have");
    }
    entry->file = from->shard_id;
    entry->offset = (uint64_t)from->offset;
    entry->size = (uint64_t)from->size;
    entry->checksum = from->crc32c;
    LIANA_TRY(check_place(own, from, entry, error));
    return take_slices(own, from, entry, error);
}

/* The key of a slice is 0, the name, 0 and more bytes. */
static bool has_text_key(const liana__tf_entry *entry)
{
    const char *key = (const char *)entry->key;
    return *key ? liana__tf_is_text(key, entry->key_size)
                : liana__tf_is_text(key + 1, strnlen(key + 1, entry->key_size - 1));
}

static liana_status take_entry(void *user, const liana__tf_entry *from, liana__error *error)
{
    opening *own = user;
    if (!own->has_header && from->key_size == 0) return take_header(own, from, error);
    const char *path = own->checkpoint->path;
    if (!own->has_header) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is a table, but not the index of a checkpoint", path);
    }
    if (!has_text_key(from)) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': the name of entry %zu is not text", path,
                           own->num_entries + 1);
    }
    if (own->num_entries == MOST_VARIABLES || from->value_size > MOST_MESSAGE) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has more than %d variables, or an entry of more than 1 MB",
                           path, MOST_VARIABLES);
    }
    if (!liana__grow(&own->entries, own->num_entries, &own->entry_capacity, sizeof *own->entries) ||
        !liana__grow(&own->key_sizes, own->num_sizes, &own->size_capacity, sizeof *own->key_sizes)) {
        return liana__fail_memory(error, path);
    }
    char *key = liana__arena_allocate(&own->checkpoint->arena, from->key_size + 1);
    if (!key) return liana__fail_memory(error, path);
    memcpy(key, from->key, from->key_size);
    liana__tf_variable entry = {.key = key, .name = key};
    LIANA__SCOPED(liana__tf_memory) memory = {0};
    liana__tf_memory_begin(&memory, from->value_size);
    const Liana__Checkpoint__Entry *message =
        liana__checkpoint__entry__unpack(&memory.allocator, from->value_size, from->value);
    if (!message) return fail_entry(own, &entry, LIANA_INVALID_DATA, error, "has a damaged entry");
    LIANA_TRY(take_message(own, message, &entry, error));
    own->key_sizes[own->num_sizes++] = from->key_size;
    own->entries[own->num_entries++] = entry;
    return LIANA_OK;
}

/* ---- slices ---- */

/* TensorFlow's ordered code (tensorflow/core/lib/strings/ordered_code.h). */
static void add_signed(liana__text *text, int64_t number)
{
    const uint64_t magnitude = (uint64_t)(number < 0 ? ~number : number);
    size_t length = 1;
    while (length < 9 && magnitude >> (7 * length - 1)) length++;
    uint8_t bytes[10];
    for (int i = 0; i < 10; i++) bytes[i] = (uint8_t)(i < 2 ? (number < 0 ? 0xff : 0) : number >> (8 * (9 - i)));
    if (magnitude >> 62) length = 10;
    /* As many ones as there are bytes, then the number. */
    uint8_t *first = bytes + sizeof bytes - length;
    for (size_t i = 0; i < length; i++) first[i / 8] ^= (uint8_t)(0x80 >> i % 8);
    liana__text_add_bytes(text, (const char *)first, length);
}

/* The key of a slice: 0, the name and its end, the rank, and start and length on each axis. */
static void add_slice_key(liana__text *text, const liana__tf_variable *whole, const liana__tf_slice *slice)
{
    const char head[] = {0};
    const char tail[] = {0, 1, 1, (char)whole->rank};
    liana__text_add_bytes(text, head, sizeof head);
    liana__text_add_bytes(text, whole->key, strlen(whole->key));
    liana__text_add_bytes(text, tail, sizeof tail);
    for (int axis = 0; axis < whole->rank; axis++) {
        add_signed(text, slice->start[axis]);
        add_signed(text, slice->length[axis]);
    }
}

static const liana__tf_variable *find_part(const opening *own, const liana__text *key)
{
    size_t low = 0, high = own->num_entries;
    while (low < high) {
        const size_t middle = low + (high - low) / 2, size = own->key_sizes[middle];
        const size_t least = size < key->length ? size : key->length;
        int order = memcmp(own->entries[middle].key, key->data, least);
        if (order == 0) order = (size > key->length) - (size < key->length);
        if (order == 0) return &own->entries[middle];
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static liana_status join_slice(const opening *own, found_slice *found, liana__arena *arena, liana__error *error)
{
    const liana__tf_variable *whole = &own->entries[found->variable];
    LIANA__SCOPED(liana__text) key = {0};
    add_slice_key(&key, whole, &found->place);
    if (key.failed) return liana__fail_memory(error, whole->key);
    const liana__tf_variable *part = find_part(own, &key);
    bool good =
        part && part->rank == whole->rank && part->kind == whole->kind && part->element_size == whole->element_size;
    for (int axis = 0; good && axis < whole->rank; axis++) good = part->shape[axis] == found->place.length[axis];
    if (!good) return fail_entry(own, whole, LIANA_INVALID_DATA, error, "has a slice that is missing or does not fit");
    found->place.part = liana__arena_copy(arena, part, sizeof *part);
    return found->place.part ? LIANA_OK : liana__fail_memory(error, whole->key);
}

/* Gives each variable its slices, which are listed in its entry's order. They must have all its elements. */
static liana_status join_slices(const opening *own, liana__arena *arena, liana__error *error)
{
    liana__tf_slice *all = liana__arena_allocate(arena, (own->num_slices + 1) * sizeof *all);
    if (!all) return liana__fail_memory(error, own->checkpoint->path);
    for (size_t i = 0; i < own->num_slices; i++) {
        found_slice *found = &own->slices[i];
        LIANA_TRY(join_slice(own, found, arena, error));
        all[i] = found->place;
        liana__tf_variable *whole = &own->entries[found->variable];
        if (!whole->num_slices++) whole->slices = &all[i];
    }
    for (size_t i = 0; i < own->num_entries; i++) {
        const liana__tf_variable *whole = &own->entries[i];
        size_t covered = 0;
        for (size_t k = 0; k < whole->num_slices && covered <= whole->num_elements; k++) {
            covered += whole->slices[k].part->num_elements;
        }
        if (!whole->num_slices || covered == whole->num_elements) continue;
        return fail_entry(own, whole, LIANA_INVALID_DATA, error, "has slices that do not add up to its shape");
    }
    return LIANA_OK;
}

/* ---- the files of data ---- */

const char *liana__tf_checkpoint_file(const char *index, size_t file, size_t count, liana__arena *arena)
{
    const int length = (int)(strlen(index) - (liana__ends_with(index, ".index") ? strlen(".index") : 0));
    return liana__arena_format(arena, "%.*s.data-%05zu-of-%05zu", length, index, file, count);
}

static liana_status open_files(liana__tf_checkpoint *own, liana__error *error)
{
    own->files = liana__arena_allocate(&own->arena, own->num_files * sizeof *own->files);
    if (!own->files) return liana__fail_memory(error, own->path);
    for (size_t i = 0; i < own->num_files; i++) own->files[i].descriptor = -1;
    for (size_t i = 0; i < own->num_files; i++) {
        liana__tf_data *file = &own->files[i];
        file->path = liana__tf_checkpoint_file(own->path, i, own->num_files, &own->arena);
        if (!file->path) return liana__fail_memory(error, own->path);
        if (!liana__file_exists(file->path)) {
            return liana__fail(error, LIANA_NOT_FOUND,
                               "'%s' needs the file of data '%s', which is not beside it; a checkpoint is the index "
                               "and %zu file%s of data",
                               own->path, liana__path_name(file->path), own->num_files, own->num_files > 1 ? "s" : "");
        }
        LIANA_TRY(liana__file_open(file->path, &file->descriptor, &file->version, error));
    }
    return LIANA_OK;
}

static liana_status check_sizes(const opening *own, liana__error *error)
{
    for (size_t i = 0; i < own->num_entries; i++) {
        const liana__tf_variable *entry = &own->entries[i];
        if (entry->num_slices) continue;
        const liana__tf_data *file = &own->checkpoint->files[entry->file];
        if (entry->offset + entry->size <= (uint64_t)file->version.size) continue;
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' is truncated: the variable '%.200s' ends at byte %llu, the file at byte %lld",
                           file->path, *entry->key ? entry->key : entry->key + 1,
                           (unsigned long long)(entry->offset + entry->size), (long long)file->version.size);
    }
    return LIANA_OK;
}

/* ---- the whole ---- */

/* Slices begin the list; they are no variables by themselves. */
static liana_status keep_variables(opening *own, liana__error *error)
{
    size_t first = 0;
    while (first < own->num_entries && !*own->entries[first].key) first++;
    liana__tf_checkpoint *checkpoint = own->checkpoint;
    const size_t count = own->num_entries - first;
    liana__tf_variable *kept = liana__arena_allocate(&checkpoint->arena, (count + 1) * sizeof *kept);
    if (!kept) return liana__fail_memory(error, checkpoint->path);
    if (count) memcpy(kept, own->entries + first, count * sizeof *kept);
    checkpoint->variables = kept;
    checkpoint->num_variables = count;
    return liana__tf_name_variables(checkpoint, kept, error);
}

static liana_status read_index(opening *own, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    size_t size;
    liana__tf_checkpoint *checkpoint = own->checkpoint;
    LIANA_TRY(liana__file_read(checkpoint->path, MOST_INDEX, &bytes, &size, error));
    LIANA_TRY(liana__tf_table_read(checkpoint->path, (const uint8_t *)bytes, size, take_entry, own, error));
    if (own->has_header) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no header; it is not the index of a checkpoint",
                       checkpoint->path);
}

static liana_status open_checkpoint(opening *own, liana__error *error)
{
    LIANA_TRY(read_index(own, error));
    LIANA_TRY(open_files(own->checkpoint, error));
    LIANA_TRY(join_slices(own, &own->checkpoint->arena, error));
    LIANA_TRY(check_sizes(own, error));
    return keep_variables(own, error);
}

liana_status liana__tf_checkpoint_open(const char *index, liana__tf_checkpoint *checkpoint, liana__error *error)
{
    *checkpoint = (liana__tf_checkpoint){0};
    checkpoint->path = liana__arena_string(&checkpoint->arena, index);
    opening own = {.checkpoint = checkpoint};
    liana_status status = checkpoint->path ? open_checkpoint(&own, error) : liana__fail_memory(error, index);
    free_opening(&own);
    if (status != LIANA_OK) liana__tf_checkpoint_free(checkpoint);
    return status;
}

void liana__tf_checkpoint_free(liana__tf_checkpoint *checkpoint)
{
    for (size_t i = 0; checkpoint->files && i < checkpoint->num_files; i++) {
        if (checkpoint->files[i].descriptor >= 0) close(checkpoint->files[i].descriptor);
    }
    liana__arena_free(&checkpoint->arena);
    *checkpoint = (liana__tf_checkpoint){0};
}

liana_status liana__tf_checkpoint_count_files(const char *index, size_t *count, liana__error *error)
{
    liana__tf_checkpoint checkpoint = {.path = index};
    opening own = {.checkpoint = &checkpoint};
    liana_status status = read_index(&own, error);
    *count = checkpoint.num_files;
    free_opening(&own);
    liana__arena_free(&checkpoint.arena);
    return status;
}
