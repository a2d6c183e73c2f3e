/* Writes Keras weight files through libhdf5. */
#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5.h"

#include "base/file.h"
#include "formats/hdf5_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit of one attribute, as in Keras (HDF5_OBJECT_HEADER_LIMIT). libhdf5 needs the rest of the 64 kB. */
enum { ATTRIBUTE_LIMIT = 64512 };
static const char keras_version[] = "2.11.0", backend[] = "tensorflow";

typedef struct writing {
    const char *path;
    hid_t file;
    hid_t weights; /* the group that gets the layers */
    hid_t group_properties;
    hid_t link_properties;
    hid_t dataset_properties;
    liana__error *error;
} writing;

static liana_status fail_writing(const writing *out, const char *what, const char *name)
{
    return liana__hdf5_fail(out->error, LIANA_INVALID_ARGUMENT, "'%s': %s '%s' cannot be written", out->path, what,
                            name);
}

static bool put_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *data)
{
    hid_t attribute = type >= 0 && space >= 0 ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    bool done = attribute >= 0 && (!data || H5Awrite(attribute, type, data) >= 0);
    if (attribute >= 0) H5Aclose(attribute);
    return done;
}

/* One text of any length, as h5py writes a str. */
static liana_status write_text(const writing *out, hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    bool done = type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                put_attribute(object, name, type, space, &text);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return done ? LIANA_OK : fail_writing(out, "attribute", name);
}

/* Names as numpy's zero-padded array of bytes. */
static liana_status write_piece(const writing *out, hid_t object, const char *name, const char *bytes, size_t count,
                                size_t size)
{
    hsize_t dims = count;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &dims, NULL);
    bool done = type >= 0 && H5Tset_size(type, size) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
                put_attribute(object, name, type, space, count ? bytes : NULL);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return done ? LIANA_OK : fail_writing(out, "attribute", name);
}

/* Writes one attribute, or as few nearly equal pieces as fit (as numpy's array_split: the first ones have one more). */
static liana_status write_pieces(const writing *out, hid_t object, const char *name, const char *bytes, size_t count,
                                 size_t size)
{
    if (count * size <= ATTRIBUTE_LIMIT) return write_piece(out, object, name, bytes, count, size);
    if (size > ATTRIBUTE_LIMIT) {
        return liana__fail(out->error, LIANA_INVALID_ARGUMENT, "'%s': a name in '%s' is longer than %d bytes",
                           out->path, name, ATTRIBUTE_LIMIT);
    }
    size_t per_piece = ATTRIBUTE_LIMIT / size, pieces = (count + per_piece - 1) / per_piece;
    for (size_t piece = 0, first = 0; piece < pieces; piece++) {
        size_t length = count / pieces + (piece < count % pieces);
        char piece_name[64];
        snprintf(piece_name, sizeof piece_name, "%s%zu", name, piece);
        LIANA_TRY(write_piece(out, object, piece_name, bytes + first * size, length, size));
        first += length;
    }
    return LIANA_OK;
}

/* Reads the name at the start of the i-th element of an array of structs: both kinds of struct begin with it. */
static const char *name_at(const void *items, size_t stride, size_t index)
{
    const char *name;
    memcpy(&name, (const char *)items + index * stride, sizeof name);
    return name;
}

static liana_status write_names(const writing *out, hid_t object, const char *attribute, const void *items,
                                size_t stride, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(items, stride, i);
        size_t length = name ? strlen(name) : 0;
        if (length == 0) {
            return liana__fail(out->error, LIANA_INVALID_ARGUMENT, "'%s': name %zu of '%s' is empty", out->path, i,
                               attribute);
        }
        if (length > size) size = length;
    }
    char *bytes = calloc(count + 1, size);
    if (!bytes) return liana__fail_memory(out->error, out->path);
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(items, stride, i);
        memcpy(bytes + i * size, name, strlen(name));
    }
    liana_status status = write_pieces(out, object, attribute, bytes, count, size);
    free(bytes);
    return status;
}

static liana_status write_weight(const writing *out, hid_t group, const char *layer,
                                 const liana__hdf5_new_weight *weight)
{
    hsize_t dims[LIANA__HDF5_MAX_RANK];
    bool good = weight->rank >= 0 && weight->rank <= LIANA__HDF5_MAX_RANK;
    bool empty = false;
    for (int axis = 0; good && axis < weight->rank; axis++) {
        good = weight->shape[axis] >= 0;
        empty |= weight->shape[axis] == 0;
        dims[axis] = (hsize_t)weight->shape[axis];
    }
    if (!good) {
        return liana__fail(out->error, LIANA_INVALID_ARGUMENT,
                           "'%s': layer '%s': weight '%s' has a negative dimension or more than %d dimensions",
                           out->path, layer, weight->name, LIANA__HDF5_MAX_RANK);
    }
    hid_t space = weight->rank ? H5Screate_simple(weight->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t dataset = space < 0 ? -1
                              : H5Dcreate2(group, weight->name, H5T_IEEE_F32LE, space, out->link_properties,
                                           out->dataset_properties, H5P_DEFAULT);
    bool done = dataset >= 0 &&
                (empty || H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, weight->values) >= 0);
    if (dataset >= 0) H5Dclose(dataset);
    if (space >= 0) H5Sclose(space);
    if (done) return LIANA_OK;
    return liana__hdf5_fail(out->error, LIANA_INVALID_ARGUMENT, "'%s': layer '%s': weight '%s' cannot be written",
                            out->path, layer, weight->name);
}

static liana_status write_layer(const writing *out, const liana__hdf5_new_layer *layer)
{
    hid_t group = H5Gcreate2(out->weights, layer->name, out->link_properties, out->group_properties, H5P_DEFAULT);
    if (group < 0) return fail_writing(out, "layer", layer->name);
    liana_status status =
        write_names(out, group, "weight_names", layer->weights, sizeof *layer->weights, layer->num_weights);
    for (size_t i = 0; i < layer->num_weights && status == LIANA_OK; i++) {
        status = write_weight(out, group, layer->name, &layer->weights[i]);
    }
    H5Gclose(group);
    return status;
}

static liana_status write_contents(writing *out, const liana__hdf5_new_layer *layers, size_t num_layers,
                                   const char *model_config)
{
    out->weights =
        model_config ? H5Gcreate2(out->file, "model_weights", out->link_properties, out->group_properties, H5P_DEFAULT)
                     : H5Gopen2(out->file, "/", H5P_DEFAULT);
    if (out->weights < 0) return fail_writing(out, "group", "model_weights");
    if (model_config) {
        LIANA_TRY(write_text(out, out->file, "model_config", model_config));
        LIANA_TRY(write_text(out, out->file, "keras_version", keras_version));
        LIANA_TRY(write_text(out, out->file, "backend", backend));
    }
    LIANA_TRY(write_names(out, out->weights, "layer_names", layers, sizeof *layers, num_layers));
    LIANA_TRY(write_text(out, out->weights, "keras_version", keras_version));
    LIANA_TRY(write_text(out, out->weights, "backend", backend));
    for (size_t i = 0; i < num_layers; i++) LIANA_TRY(write_layer(out, &layers[i]));
    return LIANA_OK;
}

/* Replaces the old file by the finished one. liana writes it itself, so the old one stays after a full disk or a
 * crash. */
static liana_status write_image(const writing *out)
{
    ssize_t size = H5Fflush(out->file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(out->file, NULL, 0);
    void *image = size > 0 ? malloc((size_t)size) : NULL;
    if (!image || H5Fget_file_image(out->file, image, (size_t)size) != size) {
        free(image);
        return liana__fail_memory(out->error, out->path);
    }
    liana_status status = liana__file_replace(out->path, image, (size_t)size, out->error);
    free(image);
    return status;
}

static bool make_properties(writing *out)
{
    out->group_properties = H5Pcreate(H5P_GROUP_CREATE);
    out->link_properties = H5Pcreate(H5P_LINK_CREATE);
    out->dataset_properties = H5Pcreate(H5P_DATASET_CREATE);
    /* Weight names contain slashes; times would make the same weights different files. */
    return out->group_properties >= 0 && out->link_properties >= 0 && out->dataset_properties >= 0 &&
           H5Pset_create_intermediate_group(out->link_properties, 1) >= 0 &&
           H5Pset_obj_track_times(out->group_properties, false) >= 0 &&
           H5Pset_obj_track_times(out->dataset_properties, false) >= 0;
}

/* The name means nothing in memory, but must not be that of a file that is open. */
static hid_t create_in_memory(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return -1;
    hid_t file = -1;
    if (H5Pset_fapl_core(access, 1 << 20, false) >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0) {
        file = H5Fcreate("liana: a file in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    }
    H5Pclose(access);
    return file;
}

liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const char *model_config, liana__error *error)
{
    if (liana__hdf5_load(error) != LIANA_OK) return liana__fail_within(error, "'%s'", path);
    liana__hdf5_quiet quiet = liana__hdf5_enter();
    writing out = {.path = path, .file = create_in_memory(), .weights = -1, .error = error};
    liana_status status = LIANA_OK;
    if (!make_properties(&out) || out.file < 0) status = liana__fail_memory(error, path);
    if (status == LIANA_OK) status = write_contents(&out, layers, num_layers, model_config);
    if (status == LIANA_OK) status = write_image(&out);
    if (out.group_properties >= 0) H5Pclose(out.group_properties);
    if (out.link_properties >= 0) H5Pclose(out.link_properties);
    if (out.dataset_properties >= 0) H5Pclose(out.dataset_properties);
    if (out.weights >= 0) H5Gclose(out.weights);
    if (out.file >= 0) H5Fclose(out.file);
    liana__hdf5_leave(quiet);
    return status;
}
#endif
