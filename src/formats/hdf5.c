#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5.h"

#include "base/file.h"
#include "formats/hdf5_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 100000, MAX_WEIGHTS = 1000000, MAX_ATTRIBUTE = 64 << 20, MAX_PIECES = 10000 };
/* deflate, the filter that packs tightest, makes 1032 bytes of one at most. */
enum { MAX_EXPANSION = 1032 };

struct liana__hdf5 {
    char *path;
    uint64_t file_size;
    hid_t file;
    hid_t weights;      /* the group that has layer_names */
    hid_t group_access; /* how links are followed: never into other files */
    hid_t dataset_access;
    liana__hdf5_contents contents;
    liana__arena arena;
};

typedef struct names {
    const char **items;
    size_t count;
    size_t capacity;
} names;

/* --- Attributes ------------------------------------------------------------------------------------------------ */

static liana_status add_name(liana__hdf5 *file, names *list, const char *text, size_t length, liana__error *error)
{
    bool room = liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items);
    char *copy = room ? liana__arena_format(&file->arena, "%.*s", (int)length, text) : NULL;
    if (!copy) return liana__fail_memory(error, file->path);
    list->items[list->count++] = copy;
    return LIANA_OK;
}

static liana_status read_fixed(liana__hdf5 *file, hid_t attribute, hid_t type, size_t count, names *list,
                               liana__error *error)
{
    size_t size = H5Tget_size(type);
    if (size == 0 || count > MAX_ATTRIBUTE / size) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "has %zu texts of %zu bytes", count, size);
    }
    char *bytes = calloc(count, size);
    if (!bytes) return liana__fail_memory(error, file->path);
    bool padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
    liana_status status = LIANA_OK;
    if (H5Aread(attribute, type, bytes) < 0) status = liana__fail(error, LIANA_DATA_LOSS, "cannot be read");
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        size_t length = strnlen(bytes + i * size, size);
        while (padded && length > 0 && bytes[i * size + length - 1] == ' ') length--;
        status = add_name(file, list, bytes + i * size, length, error);
    }
    free(bytes);
    return status;
}

static liana_status read_variable(liana__hdf5 *file, hid_t attribute, hid_t type, hid_t space, size_t count,
                                  names *list, liana__error *error)
{
    if (count > MAX_ATTRIBUTE / sizeof(char *)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "has %zu texts", count);
    }
    char **texts = calloc(count, sizeof *texts);
    if (!texts) return liana__fail_memory(error, file->path);
    liana_status status = LIANA_OK;
    if (H5Aread(attribute, type, texts) < 0) status = liana__fail(error, LIANA_DATA_LOSS, "cannot be read");
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        const char *text = texts[i] ? texts[i] : "";
        size_t length = strnlen(text, MAX_ATTRIBUTE);
        status = add_name(file, list, text, length, error);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    free(texts);
    return status;
}

/* Appends the texts of an open attribute; any fixed or variable string type, one text or an array of them. */
static liana_status read_texts(liana__hdf5 *file, hid_t attribute, names *list, liana__error *error)
{
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    liana_status status = LIANA_OK;
    if (type < 0 || count < 0) {
        status = liana__fail(error, LIANA_DATA_LOSS, "cannot be read");
    } else if (count == 0) {
        /* numpy gives an empty list whatever element type it likes, float64 as a rule. */
    } else if (H5Tget_class(type) != H5T_STRING) {
        status = liana__fail(error, LIANA_INVALID_DATA, "is not made of text");
    } else if (H5Tis_variable_str(type) > 0) {
        status = read_variable(file, attribute, type, space, (size_t)count, list, error);
    } else {
        status = read_fixed(file, attribute, type, (size_t)count, list, error);
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

static liana_status read_attribute(liana__hdf5 *file, hid_t object, const char *object_name, const char *name,
                                   names *list, liana__error *error)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) {
        return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "attribute '%s' of '%s' cannot be opened", name,
                                object_name);
    }
    liana__error inner = {0};
    liana_status status = read_texts(file, attribute, list, &inner);
    if (status != LIANA_OK) {
        liana__hdf5_fail(error, status, file->path, "attribute '%s' of '%s' %s", name, object_name, inner.message);
    }
    H5Aclose(attribute);
    return status;
}

/* A list of names, whole or in pieces `name0`, `name1`, ...; *found says whether there was one. */
static liana_status read_names(liana__hdf5 *file, hid_t object, const char *object_name, const char *name, names *list,
                               bool *found, liana__error *error)
{
    *found = H5Aexists(object, name) > 0;
    if (*found) return read_attribute(file, object, object_name, name, list, error);
    for (int piece = 0; piece < MAX_PIECES; piece++) {
        char piece_name[64];
        snprintf(piece_name, sizeof piece_name, "%s%d", name, piece);
        if (H5Aexists(object, piece_name) <= 0) break;
        *found = true;
        LIANA_TRY(read_attribute(file, object, object_name, piece_name, list, error));
    }
    return LIANA_OK;
}

/* The text of an attribute that describes the file; NULL where it is absent or not one text. */
static liana_status read_description(liana__hdf5 *file, hid_t object, const char *name, const char **text,
                                     liana__error *error)
{
    if (*text || H5Aexists(object, name) <= 0) return LIANA_OK;
    names list = {0};
    liana_status status = read_attribute(file, object, "/", name, &list, error);
    if (status == LIANA_OK && list.count == 1) *text = list.items[0];
    free(list.items);
    return status;
}

/* --- Weights --------------------------------------------------------------------------------------------------- */

static const char *dtype_name(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    if (class == H5T_FLOAT) {
        return size == 4 ? "float32" : size == 8 ? "float64" : size == 2 ? "float16" : "float";
    }
    if (class != H5T_INTEGER) return NULL;
    if (H5Tget_sign(type) == H5T_SGN_NONE) {
        return size == 1 ? "uint8" : size == 2 ? "uint16" : size == 4 ? "uint32" : "uint64";
    }
    return size == 1 ? "int8" : size == 2 ? "int16" : size == 4 ? "int32" : "int64";
}

static liana_status describe_type(const liana__hdf5 *file, hid_t dataset, liana__hdf5_weight *weight,
                                  liana__error *error)
{
    hid_t type = H5Dget_type(dataset);
    if (type >= 0) {
        weight->dtype = dtype_name(type);
        H5Tclose(type);
    }
    if (weight->dtype) return LIANA_OK;
    return liana__hdf5_fail(error, LIANA_INVALID_DATA, file->path, "layer '%s': weight '%s' is not made of numbers",
                            weight->layer, weight->name);
}

static liana_status describe_shape(const liana__hdf5 *file, hid_t space, liana__hdf5_weight *weight,
                                   liana__error *error)
{
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Sis_simple(space) > 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank > LIANA__HDF5_MAX_RANK) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s': layer '%s': weight '%s' has %d dimensions, at most %d are read", file->path,
                           weight->layer, weight->name, rank, LIANA__HDF5_MAX_RANK);
    }
    if (rank < 0 || H5Sget_simple_extent_dims(space, dims, NULL) != rank) {
        return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "layer '%s': weight '%s' has no shape",
                                weight->layer, weight->name);
    }
    weight->rank = rank;
    uint64_t elements = 1, limit = (file->file_size + 4096) * MAX_EXPANSION;
    for (int axis = 0; axis < rank; axis++) {
        bool fits = !__builtin_mul_overflow(elements, (uint64_t)dims[axis], &elements) && elements <= limit &&
                    dims[axis] <= INT64_MAX;
        if (!fits) {
            return liana__fail(error, LIANA_OUT_OF_RANGE,
                               "'%s': layer '%s': weight '%s' claims more elements than a file of %llu bytes can hold",
                               file->path, weight->layer, weight->name, (unsigned long long)file->file_size);
        }
        weight->shape[axis] = (int64_t)dims[axis];
    }
    weight->num_elements = (size_t)elements;
    return LIANA_OK;
}

/* A dataset may take its bytes from other files on the reader's machine; a weight file has no business there. */
static liana_status check_storage(const liana__hdf5 *file, hid_t dataset, const liana__hdf5_weight *weight,
                                  liana__error *error)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool own = properties >= 0 && H5Pget_external_count(properties) == 0 && H5Pget_layout(properties) != H5D_VIRTUAL;
    if (properties >= 0) H5Pclose(properties);
    if (own) return LIANA_OK;
    return liana__hdf5_fail(error, LIANA_INVALID_DATA, file->path,
                            "layer '%s': weight '%s' is stored outside of the file", weight->layer, weight->name);
}

static liana_status describe_weight(const liana__hdf5 *file, hid_t dataset, liana__hdf5_weight *weight,
                                    liana__error *error)
{
    LIANA_TRY(describe_type(file, dataset, weight, error));
    LIANA_TRY(check_storage(file, dataset, weight, error));
    hid_t space = H5Dget_space(dataset);
    if (space < 0) {
        return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "layer '%s': weight '%s' has no shape",
                                weight->layer, weight->name);
    }
    liana_status status = describe_shape(file, space, weight, error);
    H5Sclose(space);
    return status;
}

static liana_status open_dataset(const liana__hdf5 *file, hid_t group, const liana__hdf5_weight *weight, hid_t *dataset,
                                 liana__error *error)
{
    *dataset = H5Dopen2(group, weight->name, file->dataset_access);
    if (*dataset >= 0) return LIANA_OK;
    return liana__hdf5_fail(error, LIANA_INVALID_DATA, file->path,
                            "layer '%s' names a weight '%s' that the file does not hold", weight->layer, weight->name);
}

/* The lists that grow while a file is opened. A layer's weights are known by their first index until all are read. */
typedef struct growing {
    liana__hdf5_weight *weights;
    size_t num_weights;
    size_t weight_capacity;
    liana__hdf5_layer *layers;
    size_t *firsts;
} growing;

static liana_status add_weight(const liana__hdf5 *file, hid_t group, const char *layer, const char *name,
                               growing *lists, liana__error *error)
{
    if (lists->num_weights == MAX_WEIGHTS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names more than %d weights", file->path, MAX_WEIGHTS);
    }
    if (!liana__grow(&lists->weights, lists->num_weights, &lists->weight_capacity, sizeof *lists->weights)) {
        return liana__fail_memory(error, file->path);
    }
    liana__hdf5_weight *weight = &lists->weights[lists->num_weights];
    *weight = (liana__hdf5_weight){.name = name, .layer = layer};
    hid_t dataset;
    LIANA_TRY(open_dataset(file, group, weight, &dataset, error));
    liana_status status = describe_weight(file, dataset, weight, error);
    H5Dclose(dataset);
    if (status == LIANA_OK) lists->num_weights++;
    return status;
}

static liana_status add_weights(liana__hdf5 *file, hid_t group, const char *layer, names *list, growing *lists,
                                liana__error *error)
{
    bool found;
    LIANA_TRY(read_names(file, group, layer, "weight_names", list, &found, error));
    if (!found) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': layer '%s' has no attribute 'weight_names'", file->path,
                           layer);
    }
    for (size_t i = 0; i < list->count; i++) {
        LIANA_TRY(add_weight(file, group, layer, list->items[i], lists, error));
    }
    return LIANA_OK;
}

static liana_status add_layer(liana__hdf5 *file, size_t index, const char *name, growing *lists, liana__error *error)
{
    hid_t group = H5Gopen2(file->weights, name, file->group_access);
    if (group < 0) {
        return liana__hdf5_fail(error, LIANA_INVALID_DATA, file->path,
                                "'layer_names' names a layer '%s' that the file does not hold", name);
    }
    names list = {0};
    lists->firsts[index] = lists->num_weights;
    liana_status status = add_weights(file, group, name, &list, lists, error);
    lists->layers[index] = (liana__hdf5_layer){.name = name, .num_weights = lists->num_weights - lists->firsts[index]};
    free(list.items);
    H5Gclose(group);
    return status;
}

static liana_status add_layers(liana__hdf5 *file, const names *list, growing *lists, liana__error *error)
{
    for (size_t i = 0; i < list->count; i++) LIANA_TRY(add_layer(file, i, list->items[i], lists, error));
    liana__hdf5_weight *weights = liana__arena_copy(&file->arena, lists->weights, lists->num_weights * sizeof *weights);
    if (!weights && lists->num_weights) return liana__fail_memory(error, file->path);
    for (size_t i = 0; i < list->count; i++) lists->layers[i].weights = weights + lists->firsts[i];
    file->contents.layers = lists->layers;
    file->contents.num_layers = list->count;
    file->contents.num_weights = lists->num_weights;
    return LIANA_OK;
}

static liana_status read_layers(liana__hdf5 *file, const names *list, liana__error *error)
{
    if (list->count > MAX_LAYERS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names %zu layers, at most %d are read", file->path,
                           list->count, MAX_LAYERS);
    }
    growing lists = {.layers = liana__arena_allocate(&file->arena, list->count * sizeof *lists.layers + 1),
                     .firsts = calloc(list->count + 1, sizeof *lists.firsts)};
    liana_status status =
        lists.layers && lists.firsts ? add_layers(file, list, &lists, error) : liana__fail_memory(error, file->path);
    free(lists.weights);
    free(lists.firsts);
    return status;
}

/* --- Opening --------------------------------------------------------------------------------------------------- */

static liana_status fail_not_keras(const liana__hdf5 *file, liana__error *error)
{
    if (H5Lexists(file->file, "layers", H5P_DEFAULT) > 0 ||
        H5Lexists(file->file, "_layer_checkpoint_dependencies", H5P_DEFAULT) > 0) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is in Keras 3's own .weights.h5 layout, which liana does not read; save it from Keras "
                           "as a whole model: model.save('name.h5')",
                           file->path);
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is an HDF5 file without the attribute 'layer_names': not a Keras weight file", file->path);
}

/* An external link would be followed into any file that the process may read. */
static herr_t refuse_link(const char *parent_file, const char *parent_group, const char *child_file,
                          const char *child_object, unsigned *flags, hid_t access, void *user)
{
    (void)parent_file;
    (void)parent_group;
    (void)child_file;
    (void)child_object;
    (void)flags;
    (void)access;
    (void)user;
    return -1;
}

static bool make_access_lists(liana__hdf5 *file)
{
    file->group_access = H5Pcreate(H5P_GROUP_ACCESS);
    file->dataset_access = H5Pcreate(H5P_DATASET_ACCESS);
    return file->group_access >= 0 && file->dataset_access >= 0 &&
           H5Pset_elink_cb(file->group_access, refuse_link, NULL) >= 0 &&
           H5Pset_elink_cb(file->dataset_access, refuse_link, NULL) >= 0;
}

static hid_t open_hdf5_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return -1;
    /* Weight files often lie on read-only or network file systems, where taking a lock fails. */
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

/* What can be said before libhdf5 looks: that the file is there, its size, and what it is if it is not HDF5. */
static liana_status check_kind(liana__hdf5 *file, liana__error *error)
{
    liana__mapping mapping;
    LIANA_TRY(liana__file_map(file->path, &mapping, error));
    file->file_size = mapping.size;
    bool zip = mapping.size >= 4 && memcmp(mapping.data, "PK\3\4", 4) == 0;
    liana__file_unmap(&mapping);
    if (zip) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is a zip archive (a .keras file?), expected an HDF5 weight file; save it from Keras "
                           "with model.save('name.h5')",
                           file->path);
    }
    if (H5Fis_hdf5(file->path) <= 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' (%llu bytes) is not an HDF5 file", file->path,
                           (unsigned long long)file->file_size);
    }
    return LIANA_OK;
}

static liana_status read_contents(liana__hdf5 *file, names *list, liana__error *error)
{
    bool found;
    file->weights = H5Gopen2(file->file, "/", H5P_DEFAULT);
    if (file->weights < 0) return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "the file has no root");
    liana__hdf5_contents *contents = &file->contents;
    LIANA_TRY(read_description(file, file->weights, "model_config", &contents->model_config, error));
    LIANA_TRY(read_description(file, file->weights, "keras_version", &contents->keras_version, error));
    LIANA_TRY(read_description(file, file->weights, "backend", &contents->backend, error));
    LIANA_TRY(read_names(file, file->weights, "/", "layer_names", list, &found, error));
    if (!found && H5Lexists(file->file, "model_weights", H5P_DEFAULT) > 0) {
        H5Gclose(file->weights);
        file->weights = H5Gopen2(file->file, "model_weights", file->group_access);
        if (file->weights < 0) {
            return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "the group 'model_weights' cannot be opened");
        }
        LIANA_TRY(read_description(file, file->weights, "keras_version", &contents->keras_version, error));
        LIANA_TRY(read_description(file, file->weights, "backend", &contents->backend, error));
        LIANA_TRY(read_names(file, file->weights, "model_weights", "layer_names", list, &found, error));
    }
    return found ? read_layers(file, list, error) : fail_not_keras(file, error);
}

static liana_status open_quietly(liana__hdf5 *file, liana__error *error)
{
    LIANA_TRY(check_kind(file, error));
    file->file = open_hdf5_file(file->path);
    if (file->file < 0) {
        return liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "the HDF5 file cannot be opened: it is damaged");
    }
    if (!make_access_lists(file)) return liana__fail_memory(error, file->path);
    names list = {0};
    liana_status status = read_contents(file, &list, error);
    free(list.items);
    return status;
}

liana_status liana__hdf5_open(const char *path, liana__hdf5 **out, liana__error *error)
{
    *out = NULL;
    liana__hdf5 *file = calloc(1, sizeof *file);
    if (!file) return liana__fail_memory(error, path);
    file->file = file->weights = file->group_access = file->dataset_access = -1;
    file->path = liana__arena_string(&file->arena, path);
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    liana_status status = file->path ? open_quietly(file, error) : liana__fail_memory(error, path);
    liana__hdf5_leave(quiet);
    if (status != LIANA_OK) {
        liana__hdf5_close(file);
        return status;
    }
    *out = file;
    return LIANA_OK;
}

void liana__hdf5_close(liana__hdf5 *file)
{
    if (!file) return;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    if (file->group_access >= 0) H5Pclose(file->group_access);
    if (file->dataset_access >= 0) H5Pclose(file->dataset_access);
    if (file->weights >= 0) H5Gclose(file->weights);
    if (file->file >= 0) H5Fclose(file->file);
    liana__hdf5_leave(quiet);
    liana__arena_free(&file->arena);
    free(file);
}

const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file)
{
    return &file->contents;
}

const liana__hdf5_layer *liana__hdf5_find_layer(const liana__hdf5 *file, const char *name)
{
    for (size_t i = 0; i < file->contents.num_layers; i++) {
        if (strcmp(file->contents.layers[i].name, name) == 0) return &file->contents.layers[i];
    }
    return NULL;
}

static liana_status read_dataset(const liana__hdf5 *file, hid_t group, const liana__hdf5_weight *weight, float *values,
                                 liana__error *error)
{
    hid_t dataset;
    LIANA_TRY(open_dataset(file, group, weight, &dataset, error));
    liana_status status = LIANA_OK;
    if (H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        status = liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "layer '%s': weight '%s' cannot be read",
                                  weight->layer, weight->name);
    }
    H5Dclose(dataset);
    return status;
}

liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
                              liana__error *error)
{
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    hid_t group = H5Gopen2(file->weights, weight->layer, file->group_access);
    liana_status status;
    if (group < 0) {
        status = liana__hdf5_fail(error, LIANA_DATA_LOSS, file->path, "layer '%s' cannot be opened", weight->layer);
    } else {
        status = read_dataset(file, group, weight, values, error);
        H5Gclose(group);
    }
    liana__hdf5_leave(quiet);
    return status;
}
#endif
