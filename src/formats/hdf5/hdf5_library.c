/* Reads any HDF5 file through libhdf5, and writes the same tree as a classic file. In a process of its own
 * (hdf5_child.c): libhdf5 1.10 overruns its buffers if the structure of a file is damaged. */
#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5/hdf5_calls.h"
#include "formats/hdf5/hdf5_internal.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 1000000, MAX_DEPTH = 64, MAX_NAME = 4096 };

typedef struct copying {
    uint64_t file_size;
    hid_t file;
    hid_t link_access; /* how links are followed: never into other files */
    liana__hdf5_new *out;
    size_t num_nodes;
    liana__error *error;
} copying;

/* Texts of an attribute. */
typedef struct text_list {
    liana__arena arena;
    const char **items;
    size_t count;
    size_t capacity;
} text_list;

static liana_status take_text(text_list *list, const char *text, size_t length, liana__error *error)
{
    bool room = liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items);
    char *copy = room ? liana__arena_allocate(&list->arena, length + 1) : NULL;
    if (!copy) return liana__fail_memory(error, "an attribute");
    memcpy(copy, text, length);
    list->items[list->count++] = copy;
    return LIANA_OK;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static liana_status read_fixed(hid_t attribute, hid_t type, size_t count, text_list *list, liana__error *error)
{
    size_t size = H5Tget_size(type);
    if (size == 0 || count > LIANA__HDF5_MAX_ATTRIBUTE / size) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "has %zu texts of %zu bytes", count, size);
    }
    char *bytes = calloc(count, size);
    if (!bytes) return liana__fail_memory(error, "an attribute");
    bool padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
    liana_status status = LIANA_OK;
    if (H5Aread(attribute, type, bytes) < 0) status = liana__hdf5_fail(error, LIANA_DATA_LOSS, "cannot be read");
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        size_t length = strnlen(bytes + i * size, size);
        while (padded && length > 0 && bytes[i * size + length - 1] == ' ') length--;
        status = take_text(list, bytes + i * size, length, error);
    }
    free(bytes);
    return status;
}

static liana_status read_variable(hid_t attribute, hid_t type, hid_t space, size_t count, text_list *list,
                                  liana__error *error)
{
    if (count > LIANA__HDF5_MAX_ATTRIBUTE / sizeof(char *)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "has %zu texts", count);
    }
    char **texts = calloc(count, sizeof *texts);
    if (!texts) return liana__fail_memory(error, "an attribute");
    liana_status status = LIANA_OK;
    if (H5Aread(attribute, type, texts) < 0) status = liana__hdf5_fail(error, LIANA_DATA_LOSS, "cannot be read");
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        const char *text = texts[i] ? texts[i] : "";
        status = take_text(list, text, strnlen(text, LIANA__HDF5_MAX_ATTRIBUTE), error);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    free(texts);
    return status;
}

static liana_status read_texts(hid_t attribute, hid_t type, hid_t space, size_t count, text_list *list,
                               liana__error *error)
{
    /* numpy gives an empty list whatever element type it likes, float64 as a rule. */
    if (count == 0) return LIANA_OK;
    return H5Tis_variable_str(type) > 0 ? read_variable(attribute, type, space, count, list, error)
                                        : read_fixed(attribute, type, count, list, error);
}

/* Copies an attribute of text; others are left out. */
static liana_status copy_attribute(const copying *own, hid_t attribute, const char *path)
{
    char name[MAX_NAME];
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    bool good = type >= 0 && count >= 0 && H5Aget_name(attribute, sizeof name, name) > 0;
    liana_status status = LIANA_OK;
    text_list list = {0};
    if (!good) {
        status = liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "an attribute of '%s' cannot be read", path);
    } else if (H5Tget_class(type) == H5T_STRING || count == 0) {
        status = read_texts(attribute, type, space, (size_t)count, &list, own->error);
        bool alone = H5Sget_simple_extent_type(space) == H5S_SCALAR && list.count == 1;
        if (status != LIANA_OK) {
            liana__fail_within(own->error, "attribute '%s' of '%s'", name, path);
        } else if (alone) {
            status = liana__hdf5_new_text(own->out, path, name, list.items[0], own->error);
        } else {
            status = liana__hdf5_new_texts(own->out, path, name, list.items, list.count, own->error);
        }
    }
    free(list.items);
    liana__arena_free(&list.arena);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

static liana_status copy_attributes(const copying *own, hid_t object, const char *path)
{
    int count = H5Aget_num_attrs(object);
    for (int i = 0; i < count; i++) {
        hid_t attribute = H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) {
            return liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "an attribute of '%s' cannot be opened", path);
        }
        liana_status status = copy_attribute(own, attribute, path);
        H5Aclose(attribute);
        if (status != LIANA_OK) return status;
    }
    return LIANA_OK;
}

/* --- Datasets ---------------------------------------------------------------------------------------------------- */

/* NULL: not made of numbers. */
static const char *dtype_name(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    if (class == H5T_FLOAT) return size == 4 ? "float32" : size == 8 ? "float64" : size == 2 ? "float16" : NULL;
    if (class == H5T_OPAQUE) return size == 2 ? "bfloat16" : NULL;
    if (class != H5T_INTEGER) return NULL;
    if (H5Tget_sign(type) == H5T_SGN_NONE) {
        return size == 1 ? "uint8" : size == 2 ? "uint16" : size == 4 ? "uint32" : size == 8 ? "uint64" : NULL;
    }
    return size == 1 ? "int8" : size == 2 ? "int16" : size == 4 ? "int32" : size == 8 ? "int64" : NULL;
}

/* A dataset may take its bytes from other files on the reader's machine; a weight file has no business there. */
static bool is_own(hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool own = properties >= 0 && H5Pget_external_count(properties) == 0 && H5Pget_layout(properties) != H5D_VIRTUAL;
    if (properties >= 0) H5Pclose(properties);
    return own;
}

static liana_status describe_shape(const copying *own, hid_t dataset, liana__hdf5_data *data)
{
    hsize_t dims[H5S_MAX_RANK];
    uint64_t shape[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = space >= 0 && H5Sis_simple(space) > 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
    if (space >= 0) H5Sclose(space);
    if (rank < 0) return liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "has no shape");
    for (int axis = 0; axis < rank; axis++) shape[axis] = dims[axis];
    return liana__hdf5_set_shape(data, rank, shape, own->file_size, own->error);
}

static liana_status copy_values(const copying *own, hid_t dataset, hid_t type, const liana__hdf5_data *data,
                                const char *path)
{
    void *values = malloc(data->num_elements * H5Tget_size(type) + 1);
    if (!values) return liana__fail_memory(own->error, path);
    /* Opaque elements cannot be converted. */
    hid_t wanted = H5Tget_class(type) == H5T_OPAQUE ? H5Tcopy(type) : liana__hdf5_type(data->dtype);
    liana_status status = LIANA_OK;
    if (data->num_elements > 0 && H5Dread(dataset, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        status = liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "'%s' cannot be read", path);
    }
    if (status == LIANA_OK) status = liana__hdf5_new_dataset(own->out, path, data, values, own->error);
    H5Tclose(wanted);
    free(values);
    return status;
}

/* Keras says so of an opaque dataset. */
static bool is_bfloat16(const copying *own, hid_t dataset)
{
    text_list list = {0};
    hid_t attribute = H5Aexists(dataset, "dtype") > 0 ? H5Aopen(dataset, "dtype", H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1, space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    bool is_text =
        type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_type(space) == H5S_SCALAR;
    bool same = is_text && read_texts(attribute, type, space, 1, &list, own->error) == LIANA_OK && list.count == 1 &&
                strcmp(list.items[0], "bfloat16") == 0;
    free(list.items);
    liana__arena_free(&list.arena);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (attribute >= 0) H5Aclose(attribute);
    return same;
}

/* Copies a dataset of numbers; others are left out. */
static liana_status copy_dataset(const copying *own, hid_t dataset, const char *path)
{
    hid_t type = H5Dget_type(dataset);
    liana__hdf5_data data = {.dtype = type >= 0 ? dtype_name(type) : NULL};
    liana_status status = LIANA_OK;
    if (data.dtype && H5Tget_class(type) == H5T_OPAQUE && !is_bfloat16(own, dataset)) data.dtype = NULL;
    if (data.dtype && !is_own(dataset)) {
        status = liana__fail(own->error, LIANA_INVALID_DATA, "'%s' is stored outside of the file", path);
    } else if (data.dtype) {
        status = describe_shape(own, dataset, &data);
        status = status == LIANA_OK ? copy_values(own, dataset, type, &data, path)
                                    : liana__fail_within(own->error, "'%s'", path);
    }
    if (type >= 0) H5Tclose(type);
    return status;
}

/* --- The tree ---------------------------------------------------------------------------------------------------- */

static liana_status copy_group(copying *own, hid_t group, const char *path, int depth);

static liana_status copy_node(copying *own, hid_t group, const char *name, const char *path, int depth)
{
    /* A link that leads nowhere, or into another file, is left out. */
    hid_t node = H5Oopen(group, name, own->link_access);
    if (node < 0) return LIANA_OK;
    H5I_type_t kind = H5Iget_type(node);
    liana_status status = LIANA_OK;
    if (own->num_nodes++ >= MAX_NODES || depth > MAX_DEPTH) {
        status =
            liana__fail(own->error, LIANA_OUT_OF_RANGE, "it has more than %d nodes or %d levels", MAX_NODES, MAX_DEPTH);
    } else if (kind == H5I_GROUP) {
        status = liana__hdf5_new_group(own->out, path, own->error);
        if (status == LIANA_OK) status = copy_group(own, node, path, depth);
    } else if (kind == H5I_DATASET) {
        status = copy_dataset(own, node, path);
    }
    H5Oclose(node);
    return status;
}

static liana_status copy_group(copying *own, hid_t group, const char *path, int depth)
{
    H5G_info_t info;
    LIANA_TRY(copy_attributes(own, group, path));
    if (H5Gget_info(group, &info) < 0) {
        return liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "the group '%s' cannot be read", path);
    }
    liana_status status = LIANA_OK;
    for (hsize_t i = 0; i < info.nlinks && status == LIANA_OK; i++) {
        char name[MAX_NAME];
        ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (length <= 0 || length >= MAX_NAME) {
            return liana__hdf5_fail(own->error, LIANA_DATA_LOSS, "a name in the group '%s' cannot be read", path);
        }
        liana__text child = {0};
        liana__text_add(&child, "%s%s%s", path, *path ? "/" : "", name);
        status =
            child.failed ? liana__fail_memory(own->error, path) : copy_node(own, group, name, child.data, depth + 1);
        liana__text_free(&child);
    }
    return status;
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

static hid_t open_bytes(const char *bytes, size_t size)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (access < 0) return -1;
    /* libhdf5 copies the bytes. */
    if (H5Pset_fapl_core(access, 1 << 20, false) >= 0 && H5Pset_file_image(access, (void *)bytes, size) >= 0) {
        file = H5Fopen("liana: the file that is read", H5F_ACC_RDONLY, access);
    }
    H5Pclose(access);
    return file;
}

liana_status liana__hdf5_copy_as_classic(const char *bytes, size_t size, const char **classic, size_t *classic_size,
                                         liana__error *error)
{
    copying own = {.file_size = size, .error = error};
    /* No filter of other libraries, which an environment variable may name. */
    H5PLset_loading_state(0);
    LIANA_TRY(liana__hdf5_new_create("HDF5", &own.out, error));
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    own.file = open_bytes(bytes, size);
    if (own.file < 0) return liana__hdf5_fail(error, LIANA_DATA_LOSS, "the HDF5 file cannot be opened: it is damaged");
    own.link_access = H5Pcreate(H5P_LINK_ACCESS);
    if (own.link_access < 0 || H5Pset_elink_cb(own.link_access, refuse_link, NULL) < 0) {
        return liana__fail_memory(error, "HDF5");
    }
    hid_t root = H5Oopen(own.file, "/", H5P_DEFAULT);
    if (root < 0) return liana__hdf5_fail(error, LIANA_DATA_LOSS, "the HDF5 file has no root group");
    LIANA_TRY(copy_group(&own, root, "", 0));
    return liana__hdf5_new_bytes(own.out, classic, classic_size, error);
}
#endif
