/* Reads HDF5 files of the newer layouts through libhdf5. */
#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5_calls.h"
#include "formats/hdf5_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct library_source {
    liana__hdf5_source base;
    uint64_t file_size;
    hid_t file;
    hid_t link_access; /* how links are followed: never into other files */
} library_source;

static library_source *library_of(liana__hdf5_source *source)
{
    return (library_source *)(void *)source;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static liana_status read_fixed(hid_t attribute, hid_t type, size_t count, liana__hdf5_take_text take, void *user,
                               liana__error *error)
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
        status = take(user, bytes + i * size, length, error);
    }
    free(bytes);
    return status;
}

static liana_status read_variable(hid_t attribute, hid_t type, hid_t space, size_t count, liana__hdf5_take_text take,
                                  void *user, liana__error *error)
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
        status = take(user, text, strnlen(text, LIANA__HDF5_MAX_ATTRIBUTE), error);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    free(texts);
    return status;
}

static liana_status read_attribute(hid_t attribute, liana__hdf5_take_text take, void *user, liana__error *error)
{
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    liana_status status = LIANA_OK;
    if (type < 0 || count < 0) {
        status = liana__hdf5_fail(error, LIANA_DATA_LOSS, "cannot be read");
    } else if (count == 0) {
        /* numpy gives an empty list whatever element type it likes, float64 as a rule. */
    } else if (H5Tget_class(type) != H5T_STRING) {
        status = liana__fail(error, LIANA_INVALID_DATA, "is not made of text");
    } else if (H5Tis_variable_str(type) > 0) {
        status = read_variable(attribute, type, space, (size_t)count, take, user, error);
    } else {
        status = read_fixed(attribute, type, (size_t)count, take, user, error);
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

static liana_status texts(liana__hdf5_source *source, liana__hdf5_node node, const char *name,
                          liana__hdf5_take_text take, void *user, bool *found, liana__error *error)
{
    (void)source;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    *found = H5Aexists(node, name) > 0;
    hid_t attribute = *found ? H5Aopen(node, name, H5P_DEFAULT) : -1;
    liana_status status = LIANA_OK;
    if (attribute >= 0) {
        status = read_attribute(attribute, take, user, error);
        H5Aclose(attribute);
    } else if (*found) {
        status = liana__hdf5_fail(error, LIANA_DATA_LOSS, "cannot be opened");
    }
    liana__hdf5_leave(quiet);
    return status;
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

static liana_status find(liana__hdf5_source *source, liana__hdf5_node group, const char *name, liana__hdf5_node *node,
                         liana__error *error)
{
    library_source *library = library_of(source);
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    hid_t object = H5Oopen(group, name, library->link_access);
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    liana_status status = LIANA_OK;
    if (object < 0) {
        status = liana__hdf5_fail(error, LIANA_NOT_FOUND, "the file does not hold it");
    } else if (kind != H5I_GROUP && kind != H5I_DATASET) {
        H5Oclose(object);
        status = liana__fail(error, LIANA_INVALID_DATA, "is neither a group nor a dataset");
    }
    *node = object;
    liana__hdf5_leave(quiet);
    return status;
}

static void release(liana__hdf5_source *source, liana__hdf5_node node)
{
    if (node == source->root) return;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    H5Oclose(node);
    liana__hdf5_leave(quiet);
}

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

/* A dataset may take its bytes from other files on the reader's machine; a weight file has no business there. */
static liana_status check_storage(hid_t dataset, liana__error *error)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool own = properties >= 0 && H5Pget_external_count(properties) == 0 && H5Pget_layout(properties) != H5D_VIRTUAL;
    if (properties >= 0) H5Pclose(properties);
    return own ? LIANA_OK : liana__fail(error, LIANA_INVALID_DATA, "is stored outside of the file");
}

static liana_status describe_shape(const library_source *library, hid_t dataset, liana__hdf5_weight *weight,
                                   liana__error *error)
{
    hsize_t dims[H5S_MAX_RANK];
    uint64_t shape[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = space >= 0 && H5Sis_simple(space) > 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
    if (space >= 0) H5Sclose(space);
    if (rank < 0) return liana__hdf5_fail(error, LIANA_DATA_LOSS, "has no shape");
    for (int axis = 0; axis < rank; axis++) shape[axis] = dims[axis];
    return liana__hdf5_set_shape(weight, rank, shape, library->file_size, error);
}

static liana_status describe_quietly(const library_source *library, hid_t node, liana__hdf5_weight *weight,
                                     liana__error *error)
{
    hid_t type = H5Iget_type(node) == H5I_DATASET ? H5Dget_type(node) : -1;
    weight->dtype = type >= 0 ? dtype_name(type) : NULL;
    if (type >= 0) H5Tclose(type);
    if (!weight->dtype) return liana__fail(error, LIANA_INVALID_DATA, "is not made of numbers");
    LIANA_TRY(check_storage(node, error));
    return describe_shape(library, node, weight, error);
}

static liana_status describe(liana__hdf5_source *source, liana__hdf5_node node, liana__hdf5_weight *weight,
                             liana__error *error)
{
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    liana_status status = describe_quietly(library_of(source), node, weight, error);
    liana__hdf5_leave(quiet);
    return status;
}

static liana_status read_values(liana__hdf5_source *source, liana__hdf5_node node, const liana__hdf5_weight *weight,
                                float *values, liana__error *error)
{
    (void)source;
    if (weight->num_elements == 0) return LIANA_OK;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    liana_status status = LIANA_OK;
    if (H5Dread(node, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        status = liana__hdf5_fail(error, LIANA_DATA_LOSS, "cannot be read");
    }
    liana__hdf5_leave(quiet);
    return status;
}

/* --- Opening ----------------------------------------------------------------------------------------------------- */

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

static hid_t open_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return -1;
    /* Weight files are often on read-only or network file systems, where locking fails. */
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

static void close_library(liana__hdf5_source *source)
{
    library_source *library = library_of(source);
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    if (library->link_access >= 0) H5Pclose(library->link_access);
    if (library->base.root >= 0) H5Gclose(library->base.root);
    if (library->file >= 0) H5Fclose(library->file);
    liana__hdf5_leave(quiet);
    free(library);
}

static liana_status open_quietly(library_source *library, const char *path, liana__error *error)
{
    library->file = open_file(path);
    if (library->file < 0) {
        return liana__hdf5_fail(error, LIANA_DATA_LOSS, "the HDF5 file cannot be opened: it is damaged");
    }
    library->base.root = H5Gopen2(library->file, "/", H5P_DEFAULT);
    if (library->base.root < 0) return liana__hdf5_fail(error, LIANA_DATA_LOSS, "the HDF5 file has no root group");
    library->link_access = H5Pcreate(H5P_LINK_ACCESS);
    bool made = library->link_access >= 0 && H5Pset_elink_cb(library->link_access, refuse_link, NULL) >= 0;
    return made ? LIANA_OK : liana__fail_memory(error, path);
}

liana_status liana__hdf5_library_open(const char *path, uint64_t file_size, liana__hdf5_source **source,
                                      liana__error *error)
{
    LIANA_TRY(liana__hdf5_load(error));
    library_source *library = calloc(1, sizeof *library);
    if (!library) return liana__fail_memory(error, path);
    *library = (library_source){.base = {-1, close_library, find, release, texts, describe, read_values},
                                .file_size = file_size,
                                .file = -1};
    library->link_access = -1;
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    liana_status status = open_quietly(library, path, error);
    liana__hdf5_leave(quiet);
    if (status == LIANA_OK) *source = &library->base;
    if (status != LIANA_OK) close_library(&library->base);
    return status;
}
#endif
