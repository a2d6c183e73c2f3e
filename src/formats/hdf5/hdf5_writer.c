/* Writes HDF5 files through libhdf5, in memory. */
#ifdef LIANA_HAVE_HDF5
#include "base/memory.h"
#include "formats/hdf5/hdf5_calls.h"
#include "formats/hdf5_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit of one attribute, as in Keras (HDF5_OBJECT_HEADER_LIMIT). libhdf5 needs the rest of the 64 kB. */
enum { ATTRIBUTE_LIMIT = 64512 };

struct liana__hdf5_new {
    const char *name;
    hid_t file;
    hid_t group_properties;
    hid_t link_properties;
    hid_t dataset_properties;
    liana_status status;
    size_t expected; /* bytes, a guess */
    size_t capacity; /* of the file's memory */
};

static liana_status fail_writing(const liana__hdf5_new *tree, const char *path, liana__error *error)
{
    return liana__hdf5_fail(error, LIANA_INVALID_ARGUMENT, "'%s': '%s' cannot be written", tree->name, path);
}

/* ---- the tree ---- */

static bool make_properties(liana__hdf5_new *tree)
{
    tree->group_properties = H5Pcreate(H5P_GROUP_CREATE);
    tree->link_properties = H5Pcreate(H5P_LINK_CREATE);
    tree->dataset_properties = H5Pcreate(H5P_DATASET_CREATE);
    /* Names contain slashes; times would make the same contents different files. */
    return tree->group_properties >= 0 && tree->link_properties >= 0 && tree->dataset_properties >= 0 &&
           H5Pset_create_intermediate_group(tree->link_properties, 1) >= 0 &&
           H5Pset_obj_track_times(tree->group_properties, false) >= 0 &&
           H5Pset_obj_track_times(tree->dataset_properties, false) >= 0;
}

/* ---- the memory of the file: large pages, which are made three times as fast as libhdf5's own ---- */

static herr_t free_memory(void *memory, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    liana__free_large(memory, ((liana__hdf5_new *)user)->capacity);
    return 0;
}

/* libhdf5 asks for each megabyte. */
static void *grow_memory(void *memory, size_t size, H5FD_file_image_op_t operation, void *user)
{
    liana__hdf5_new *tree = user;
    if (size <= tree->capacity) return memory;
    const size_t capacity = size <= tree->expected ? tree->expected : size + size / 2;
    void *grown = liana__allocate_large(capacity);
    if (!grown) return NULL;
    if (memory) {
        memcpy(grown, memory, tree->capacity);
        free_memory(memory, operation, tree);
    }
    tree->capacity = capacity;
    return grown;
}

static void *make_memory(size_t size, H5FD_file_image_op_t operation, void *user)
{
    return grow_memory(NULL, size, operation, user);
}

static void *copy_memory(void *to, const void *from, size_t size, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    (void)user;
    return memcpy(to, from, size);
}

static void *share_tree(void *user)
{
    return user;
}

static herr_t leave_tree(void *user)
{
    (void)user;
    return 0;
}

/* The name means nothing in memory, but must not be that of a file that is open. */
static hid_t create_in_memory(liana__hdf5_new *tree)
{
    H5FD_file_image_callbacks_t memory = {make_memory, copy_memory, grow_memory, free_memory,
                                          share_tree,  leave_tree,  tree};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return -1;
    hid_t file = -1;
    if (H5Pset_fapl_core(access, 1 << 20, false) >= 0 && H5Pset_file_image_callbacks(access, &memory) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0) {
        file = H5Fcreate("liana: a file in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    }
    H5Pclose(access);
    return file;
}

liana_status liana__hdf5_new_create(const char *name, liana__hdf5_new **out, liana__error *error)
{
    *out = NULL;
    if (liana__hdf5_load(error) != LIANA_OK) return liana__fail_within(error, "'%s'", name);
    liana__hdf5_new *tree = malloc(sizeof *tree);
    if (!tree) return liana__fail_memory(error, name);
    *tree = (liana__hdf5_new){name, -1, -1, -1, -1, LIANA_OK, 0, 0};
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    bool made = make_properties(tree);
    if (made) tree->file = create_in_memory(tree);
    liana__hdf5_leave(quiet);
    if (tree->file < 0) {
        liana__hdf5_new_free(tree);
        return liana__fail_memory(error, name);
    }
    *out = tree;
    return LIANA_OK;
}

void liana__hdf5_new_free(liana__hdf5_new *tree)
{
    if (!tree) return;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    if (tree->group_properties >= 0) H5Pclose(tree->group_properties);
    if (tree->link_properties >= 0) H5Pclose(tree->link_properties);
    if (tree->dataset_properties >= 0) H5Pclose(tree->dataset_properties);
    if (tree->file >= 0) H5Fclose(tree->file);
    liana__hdf5_leave(quiet);
    free(tree);
}

void liana__hdf5_new_expect(liana__hdf5_new *tree, size_t data_size)
{
    enum { OTHERS = 4 << 20 };
    tree->expected = data_size + data_size / 64 + OTHERS;
}

/* Does one step, unless an earlier one failed. */
#define STEP(call)                                         \
    do {                                                   \
        if (tree->status != LIANA_OK) return tree->status; \
        liana__hdf5_quiet quiet = liana__hdf5_enter();     \
        tree->status = (call);                             \
        liana__hdf5_leave(quiet);                          \
        return tree->status;                               \
    } while (0)

static liana_status make_group(const liana__hdf5_new *tree, const char *path, liana__error *error)
{
    if (!*path) return LIANA_OK;
    hid_t group = H5Gcreate2(tree->file, path, tree->link_properties, tree->group_properties, H5P_DEFAULT);
    if (group < 0) return fail_writing(tree, path, error);
    H5Gclose(group);
    return LIANA_OK;
}

liana_status liana__hdf5_new_group(liana__hdf5_new *tree, const char *path, liana__error *error)
{
    STEP(make_group(tree, path, error));
}

/* ---- attributes ---- */

static liana_status put_attribute(const liana__hdf5_new *tree, const char *path, const char *name, hid_t type,
                                  hid_t space, const void *data, liana__error *error)
{
    hid_t object = H5Oopen(tree->file, *path ? path : "/", H5P_DEFAULT);
    hid_t attribute =
        object >= 0 && type >= 0 && space >= 0 ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    bool done = attribute >= 0 && (!data || H5Awrite(attribute, type, data) >= 0);
    if (attribute >= 0) H5Aclose(attribute);
    if (object >= 0) H5Oclose(object);
    if (done) return LIANA_OK;
    return liana__hdf5_fail(error, LIANA_INVALID_ARGUMENT, "'%s': attribute '%s' of '%s' cannot be written", tree->name,
                            name, path);
}

static liana_status put_text(const liana__hdf5_new *tree, const char *path, const char *name, const char *text,
                             liana__error *error)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    bool made = type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
    liana_status status = put_attribute(tree, path, name, made ? type : -1, space, &text, error);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

liana_status liana__hdf5_new_text(liana__hdf5_new *tree, const char *path, const char *attribute, const char *text,
                                  liana__error *error)
{
    STEP(put_text(tree, path, attribute, text, error));
}

/* Names as numpy's zero-padded array of bytes. */
static liana_status put_piece(const liana__hdf5_new *tree, const char *path, const char *name, const char *bytes,
                              size_t count, size_t size, liana__error *error)
{
    hsize_t dims = count;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &dims, NULL);
    bool made = type >= 0 && H5Tset_size(type, size) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
    liana_status status = put_attribute(tree, path, name, made ? type : -1, space, count ? bytes : NULL, error);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

/* Writes one attribute, or as few nearly equal pieces as fit (as numpy's array_split: the first ones have one more). */
static liana_status put_pieces(const liana__hdf5_new *tree, const char *path, const char *name, const char *bytes,
                               size_t count, size_t size, liana__error *error)
{
    if (count * size <= ATTRIBUTE_LIMIT) return put_piece(tree, path, name, bytes, count, size, error);
    if (size > ATTRIBUTE_LIMIT) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': a name in '%s' is longer than %d bytes", tree->name,
                           name, ATTRIBUTE_LIMIT);
    }
    size_t per_piece = ATTRIBUTE_LIMIT / size, pieces = (count + per_piece - 1) / per_piece;
    for (size_t piece = 0, first = 0; piece < pieces; piece++) {
        size_t length = count / pieces + (piece < count % pieces);
        char piece_name[64];
        snprintf(piece_name, sizeof piece_name, "%s%zu", name, piece);
        LIANA_TRY(put_piece(tree, path, piece_name, bytes + first * size, length, size, error));
        first += length;
    }
    return LIANA_OK;
}

static liana_status put_texts(const liana__hdf5_new *tree, const char *path, const char *attribute,
                              const char *const *texts, size_t count, liana__error *error)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size_t length = texts[i] ? strlen(texts[i]) : 0;
        if (length == 0) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': name %zu of '%s' is empty", tree->name, i,
                               attribute);
        }
        if (length > size) size = length;
    }
    char *bytes = calloc(count + 1, size);
    if (!bytes) return liana__fail_memory(error, tree->name);
    for (size_t i = 0; i < count; i++) memcpy(bytes + i * size, texts[i], strlen(texts[i]));
    liana_status status = put_pieces(tree, path, attribute, bytes, count, size, error);
    free(bytes);
    return status;
}

liana_status liana__hdf5_new_texts(liana__hdf5_new *tree, const char *path, const char *attribute,
                                   const char *const *texts, size_t count, liana__error *error)
{
    STEP(put_texts(tree, path, attribute, texts, count, error));
}

/* ---- datasets ---- */

static liana_status make_dataset(const liana__hdf5_new *tree, const char *path, const liana__hdf5_data *data,
                                 const void *values, liana__error *error)
{
    hsize_t dims[LIANA__HDF5_MAX_RANK];
    bool good = data->rank >= 0 && data->rank <= LIANA__HDF5_MAX_RANK;
    bool empty = false;
    for (int axis = 0; good && axis < data->rank; axis++) {
        good = data->shape[axis] >= 0;
        empty |= data->shape[axis] == 0;
        dims[axis] = (hsize_t)data->shape[axis];
    }
    if (!good) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': '%s' has a negative dimension or more than %d dimensions", tree->name, path,
                           LIANA__HDF5_MAX_RANK);
    }
    hid_t type = liana__hdf5_type(data->dtype);
    hid_t space = data->rank ? H5Screate_simple(data->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t dataset = space < 0 || type < 0 ? -1
                                          : H5Dcreate2(tree->file, path, type, space, tree->link_properties,
                                                       tree->dataset_properties, H5P_DEFAULT);
    bool done = dataset >= 0 && (empty || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    liana_status status = done ? LIANA_OK : fail_writing(tree, path, error);
    if (dataset >= 0) H5Dclose(dataset);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (status == LIANA_OK && strcmp(data->dtype, "bfloat16") == 0) {
        return put_text(tree, path, "dtype", "bfloat16", error);
    }
    return status;
}

liana_status liana__hdf5_new_dataset(liana__hdf5_new *tree, const char *path, const liana__hdf5_data *data,
                                     const void *values, liana__error *error)
{
    STEP(make_dataset(tree, path, data, values, error));
}

/* ---- the file ---- */

/* The memory of a file in memory is what it would be on a disk. */
static liana_status find_bytes(const liana__hdf5_new *tree, const char **bytes, size_t *size, liana__error *error)
{
    void **memory = NULL;
    ssize_t length = H5Fflush(tree->file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(tree->file, NULL, 0);
    if (length <= 0 || H5Fget_vfd_handle(tree->file, H5P_DEFAULT, (void **)&memory) < 0 || !memory || !*memory) {
        return liana__fail_memory(error, tree->name);
    }
    *bytes = *memory;
    *size = (size_t)length;
    return LIANA_OK;
}

liana_status liana__hdf5_new_bytes(liana__hdf5_new *tree, const char **bytes, size_t *size, liana__error *error)
{
    STEP(find_bytes(tree, bytes, size, error));
}
#endif
