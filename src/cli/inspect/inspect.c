/* liana inspect: describes a file and its contents. */
#include "cli/inspect/inspect.h"

#include "base/scoped.h"
#include "cli/remote_files.h"
#include "data/source/source.h"
#include "formats/csv_file.h"
#include "formats/idx.h"
#include "formats/image.h"
#include "formats/npy.h"
#include "formats/sniff.h"
#include "formats/tar.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "onnx/export_model.h"

#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__remote_destroy, liana__remote)

static const liana__option options[] = {
    {"record", "N", "show record N, from 0, with all of its values"},
    {LIANA__OPTION_JSON},
    {0},
};

/* The values of a mapped file are copied before they are read, since others may cut it. */
static liana_status count_labels(const liana__idx *file, int64_t counts[256], liana__error *error)
{
    enum { PIECE = 1 << 16 };
    uint8_t copy[PIECE];
    liana_status status = LIANA_OK;
    const size_t begin = file->mapping.data ? (size_t)(file->data - file->mapping.data) : 0;
    for (size_t at = 0; at < file->num_elements && status == LIANA_OK; at += PIECE) {
        const size_t size = file->num_elements - at < PIECE ? file->num_elements - at : PIECE;
        const uint8_t *values = file->mapping.data ? copy : file->data + at;
        if (file->mapping.data) {
            status = liana__mapping_copy(&file->mapping, file->name, begin + at, copy, size, error);
        }
        for (size_t i = 0; i < size && status == LIANA_OK; i++) counts[values[i]]++;
    }
    return status;
}

static liana_status inspect_idx(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_BY(liana__idx_close) liana__idx file = {0};
    LIANA_TRY(liana__idx_open(path, 0, false, &file, error));
    int64_t shape[LIANA__IDX_MAX_DIMENSIONS];
    for (int axis = 0; axis < file.num_dimensions; axis++) shape[axis] = (int64_t)file.dimensions[axis];
    liana__findings_text(arena, report, "kind", "IDX");
    liana__findings_text(arena, report, "dtype", liana__idx_type_name(file.type));
    liana__findings_shape(arena, report, "shape", shape, file.num_dimensions);
    liana__findings_int(arena, report, "bytes", (int64_t)file.size);
    int64_t counts[256] = {0};
    bool labels = file.type == LIANA__IDX_U8 && file.num_dimensions == 1;
    if (!labels) return LIANA_OK;
    LIANA_TRY(count_labels(&file, counts, error));
    liana__value *rows = liana__value_list(arena);
    for (int label = 0; label < 256; label++) {
        if (counts[label] == 0) continue;
        liana__value *row = liana__value_map(arena);
        liana__findings_int(arena, row, "label", label);
        liana__findings_int(arena, row, "records", counts[label]);
        liana__value_add(arena, rows, row);
    }
    liana__value_set(arena, report, "labels", rows);
    return LIANA_OK;
}

static liana_status inspect_image(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    enum { LARGEST = 1 << 30 };
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    size_t size;
    LIANA_TRY(liana__file_read(path, LARGEST, &bytes, &size, error));
    LIANA__SCOPED(liana__image) image = {0};
    bool jpeg = liana__image_sniff((const uint8_t *)bytes, size) == LIANA__IMAGE_JPEG;
    const liana_status status = liana__image_decode((const uint8_t *)bytes, size, NULL, &image, error);
    if (status != LIANA_OK) return liana__fail_within(error, "'%s'", path);
    liana__findings_text(arena, report, "kind", jpeg ? "JPEG" : "PNG");
    liana__findings_int(arena, report, "height", image.height);
    liana__findings_int(arena, report, "width", image.width);
    liana__findings_int(arena, report, "channels", image.channels);
    liana__findings_int(arena, report, "bytes", (int64_t)size);
    return LIANA_OK;
}

/* Whether a file, plain or gzipped, begins like an IDX file. If only the beginning fits, it is still reported as
 * one. */
static bool is_idx(const char *path, const uint8_t *bytes, size_t size)
{
    static const uint8_t types[] = {LIANA__IDX_U8,  LIANA__IDX_S8,  LIANA__IDX_S16,
                                    LIANA__IDX_S32, LIANA__IDX_F32, LIANA__IDX_F64};
    if (size < 4) return false;
    if (bytes[0] == 0x1f && bytes[1] == 0x8b) {
        liana__idx file;
        liana__error error;
        bool opened = liana__idx_open(path, 0, false, &file, &error) == LIANA_OK;
        if (opened) liana__idx_close(&file);
        return opened;
    }
    bool plain = bytes[0] == 0 && bytes[1] == 0 && memchr(types, bytes[2], sizeof types) && bytes[3] >= 1 &&
                 bytes[3] <= LIANA__IDX_MAX_DIMENSIONS;
    /* A TFRecord's length could look so; then its upper bytes, which are dimensions here, would be 0. */
    return plain && size >= 8 && memcmp(bytes + 4, "\0\0\0\0", 4) != 0;
}

/* A Git LFS pointer: a few lines instead of the file, in a clone without Git LFS. */
static liana_status inspect_lfs_pointer(const char *path, liana__value *report, liana__arena *arena,
                                        liana__error *error)
{
    char head[512] = "";
    size_t size;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head - 1, &size, error));
    const char *line = strstr(head, "\nsize ");
    liana__findings_text(arena, report, "kind", "Git LFS pointer");
    if (line) liana__findings_int(arena, report, "real_bytes", strtoll(line + strlen("\nsize "), NULL, 10));
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is a Git LFS pointer to a file%s%.*s%s; get the file with 'git lfs pull'", path,
                       line ? " of " : "", line ? (int)strspn(line + 6, "0123456789") : 0, line ? line + 6 : "",
                       line ? " bytes" : "");
}

static liana_status inspect_npy(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_BY(liana__npy_close) liana__npy_array array = {0};
    liana__findings_text(arena, report, "kind", "NumPy array");
    LIANA_TRY(liana__npy_open(path, &array, error));
    liana__findings_text(arena, report, "dtype", liana_dtype_name(array.dtype));
    liana__findings_shape(arena, report, "shape", array.dims, array.num_dims);
    liana__findings_text(arena, report, "order", array.fortran ? "Fortran" : "C");
    liana__findings_int(arena, report, "bytes", (int64_t)array.bytes);
    return LIANA_OK;
}

/* By the first bytes. */
static liana__inspect choose(const char *path, const uint8_t *bytes, size_t size)
{
    if (size > 23 && memcmp(bytes, "version https://git-lfs", 23) == 0) return inspect_lfs_pointer;
    if (liana__csv_file_is_named(path)) return liana__inspect_csv;
    if (liana__onnx_is_named(path)) return liana__inspect_onnx;
    if (liana__is_tar(bytes, size)) return liana__inspect_tar;
    if (size >= 8 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0) return liana__inspect_hdf5;
    if (size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0) return liana__inspect_zip;
    if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) return inspect_npy;
    if (liana__image_sniff(bytes, size) != LIANA__IMAGE_UNKNOWN) return inspect_image;
    if (liana__ends_with(path, ".safetensors")) return liana__inspect_safetensors;
    if (liana__ends_with(path, ".h5") || liana__ends_with(path, ".hdf5")) return liana__inspect_hdf5;
    /* A header's length, then JSON; a TFRecord would have a checksum that begins with that very byte. */
    if (size >= 10 && bytes[8] == '{' && bytes[9] == '"' && memcmp(bytes + 4, "\0\0\0\0", 4) == 0) {
        return liana__inspect_safetensors;
    }
    if (is_idx(path, bytes, size)) return inspect_idx;
    if (liana__source_cifar.recognises(path, bytes, size)) return liana__inspect_cifar;
    const char *looks = liana__sniff(bytes, size);
    if (looks && strcmp(looks, "a JSON file") == 0) return liana__inspect_architecture;
    bool known = looks && !strstr(looks, "gzip") && !strstr(looks, "TFRecord");
    return known ? NULL : liana__inspect_tfrecord;
}

static liana_status inspect_file(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    liana__inspect kind = choose(path, head, size);
    const char *looks = liana__sniff(head, size);
    LIANA_TRY(liana__refuse_pickle(looks, path, error));
    if (kind) return kind(path, report, arena, error);
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' looks like %s; inspect reads TFRecord, tar, CSV, Keras HDF5, .keras, .json, ONNX, zip, safetensors, "
        "IDX, .npy, "
        "CIFAR, JPEG and PNG files, TensorFlow checkpoints and checkpoint folders",
        path, looks);
}

static liana__record_format record_format(const char *path, const uint8_t *head, size_t size)
{
    const liana__inspect kind = choose(path, head, size);
    if (kind == liana__inspect_tfrecord) return LIANA__RECORD_TFRECORD;
    if (kind == inspect_idx) return LIANA__RECORD_IDX;
    if (kind == inspect_npy) return LIANA__RECORD_NPY;
    const bool source = kind == liana__inspect_csv || kind == liana__inspect_cifar || kind == liana__inspect_tar;
    return source ? LIANA__RECORD_SOURCE : LIANA__RECORD_NONE;
}

static liana_status inspect_record(const char *path, int64_t number, liana__value *report, liana__arena *arena,
                                   liana__error *error)
{
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size;
    if (liana__folder_exists(path)) {
        return liana__inspect_record(path, number, LIANA__RECORD_SOURCE, report, arena, error);
    }
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    const liana__record_format format = record_format(path, head, size);
    if (format != LIANA__RECORD_NONE) return liana__inspect_record(path, number, format, report, arena, error);
    const char *looks = liana__sniff(head, size);
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s'%s%s%s has no records; --record is for TFRecord, CSV, TSV, tar, IDX, .npy and CIFAR files, "
                       "and for folders of data",
                       path, looks ? ", which looks like " : "", looks ? looks : "", looks ? "," : "");
}

static liana_status inspect_path(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    const char *index = liana__tf_checkpoint_find(path, arena);
    if (index) return liana__inspect_tensorflow(index, report, arena, error);
    liana__inspect kind = liana__folder_exists(path) ? liana__inspect_folder : inspect_file;
    return kind(path, report, arena, error);
}

static liana_status inspect_named(liana__invocation *invocation, const char *url, liana__value *report)
{
    LIANA__SCOPED_BY(liana__remote_destroy_scoped) liana__remote *remote = NULL;
    liana__paths paths;
    liana__arena *arena = &invocation->arena;
    liana__error *error = &invocation->error;
    LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &remote));
    liana_status status = liana__remote_resolve(remote, &url, 1, arena, &paths, error);
    if (status == LIANA_OK && paths.count > 1) {
        status =
            liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is %zu files; inspect reads one file", url, paths.count);
    }
    int64_t record = -1;
    if (status == LIANA_OK) status = liana__invocation_int(invocation, "record", 0, INT64_MAX, &record);
    if (status == LIANA_OK) {
        status = record < 0 ? inspect_path(paths.items[0], report, arena, error)
                            : inspect_record(paths.items[0], record, report, arena, error);
    }
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    return status;
}

static liana_status run(liana__invocation *invocation)
{
    const char *path = invocation->operands[0];
    liana__arena *arena = &invocation->arena;
    liana__value *report = liana__value_map(arena);
    liana__findings_text(arena, report, "event", "inspected");
    liana__findings_text(arena, report, "path", liana__path_shown(arena, path));
    liana_status status = inspect_named(invocation, path, report);
    if (!report || arena->failed) return liana__fail_memory(&invocation->error, path);
    /* The report of a damaged file has the findings before and around the damage. */
    if (status != LIANA_OK && !liana__value_get(report, "kind")) return status;
    const bool of_record = liana__invocation_has(invocation, "record");
    if (of_record && status != LIANA_OK) return status;
    if (liana__invocation_has(invocation, "json")) {
        liana__invocation_print_json(invocation, report);
    } else {
        (of_record ? liana__record_print : liana__findings_print)(report, invocation->out);
    }
    return status;
}

const liana__command liana__subcommand_inspect = {
    .name = "inspect",
    .operands = "FILE",
    .summary = "Show what a file contains",
    .help = "TFRecord: records, checksums, features, images, labels.\n"
            "tar (WebDataset): members and examples.\n"
            "CSV and TSV lists and tables: columns, records, labels, images that cannot be read.\n"
            "Keras HDF5 (.h5, .weights.h5) and .keras: layers and weights; an architecture (.json): layers.\n"
            "ONNX: inputs, outputs, operators.\n"
            "zip: entries.\n"
            "safetensors or a checkpoint folder: tensors and metadata.\n"
            "TensorFlow checkpoints (x for x.index, a SavedModel folder): variables.\n"
            "CIFAR's binary files: records, labels.\n"
            "IDX, .npy, JPEG, PNG: shapes.\n"
            "--record N: one record with every feature, its type and all of its values, of TFRecord, CSV, tar, IDX,\n"
            ".npy and CIFAR files, and of folders of data.\n"
            "A file that is cut or has wrong checksums is reported as far as it can be read; the exit code is 1.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
