/* Writes event files: records of TFRecord that are appended, so that TensorBoard sees them at once. */
#include "formats/event_writer.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/event.pb-c.h"
#include "formats/tfrecord_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DT_FLOAT = 1,
    DT_DOUBLE = 2,
    DT_STRING = 7,
    BUFFER_BYTES = 64 << 10, /* what waits for a flush */
    HISTOGRAM_COLUMNS = 3,
    IMAGE_HEAD = 2, /* an image summary begins with the width and the height, as texts */
};

struct liana__event_writer {
    char *path;
    int descriptor;
    liana__text waiting;
};

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- records ---- */

liana_status liana__event_writer_flush(liana__event_writer *writer, liana__error *error)
{
    const char *bytes = writer->waiting.data;
    size_t left = writer->waiting.length;
    while (left > 0) {
        const ssize_t done = write(writer->descriptor, bytes, left);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': %s", writer->path, strerror(errno));
        bytes += done;
        left -= (size_t)done;
    }
    writer->waiting.length = 0;
    return LIANA_OK;
}

static liana_status add_record(liana__event_writer *writer, const Liana__Event__Event *event, liana__error *error)
{
    const size_t size = liana__event__event__get_packed_size(event);
    uint8_t head[LIANA__TFRECORD_HEADER], foot[LIANA__TFRECORD_CHECKSUM], *bytes = malloc(size + 1);
    if (!bytes) return liana__fail_memory(error, writer->path);
    liana__event__event__pack(event, bytes);
    liana__store_u64(head, size);
    liana__store_u32(head + LIANA__TFRECORD_LENGTH, liana__tfrecord_checksum(head, LIANA__TFRECORD_LENGTH));
    liana__store_u32(foot, liana__tfrecord_checksum(bytes, size));
    liana__text_add_bytes(&writer->waiting, (const char *)head, sizeof head);
    liana__text_add_bytes(&writer->waiting, (const char *)bytes, size);
    liana__text_add_bytes(&writer->waiting, (const char *)foot, sizeof foot);
    free(bytes);
    if (writer->waiting.failed) return liana__fail_memory(error, writer->path);
    return writer->waiting.length < BUFFER_BYTES ? LIANA_OK : liana__event_writer_flush(writer, error);
}

/* ---- values ---- */

static const struct {
    const char *plugin;
    Liana__Event__DataClass data_class;
} kinds[] = {
    [LIANA__SUMMARY_SCALAR] = {"scalars", LIANA__EVENT__DATA_CLASS__DATA_CLASS_SCALAR},
    [LIANA__SUMMARY_HISTOGRAM] = {"histograms", LIANA__EVENT__DATA_CLASS__DATA_CLASS_TENSOR},
    [LIANA__SUMMARY_IMAGES] = {"images", LIANA__EVENT__DATA_CLASS__DATA_CLASS_BLOB_SEQUENCE},
    [LIANA__SUMMARY_TEXT] = {"text", LIANA__EVENT__DATA_CLASS__DATA_CLASS_TENSOR},
    [LIANA__SUMMARY_KERAS] = {"graph_keras_model", LIANA__EVENT__DATA_CLASS__DATA_CLASS_UNKNOWN},
    [LIANA__SUMMARY_HPARAMS] = {"hparams", LIANA__EVENT__DATA_CLASS__DATA_CLASS_UNKNOWN},
};

static void set_shape(liana__arena *arena, Liana__Event__Tensor *tensor, const int64_t *dims, size_t rank)
{
    Liana__Event__TensorShape *shape = liana__arena_allocate(arena, sizeof *shape);
    Liana__Event__TensorDimension **list = liana__arena_allocate(arena, (rank + 1) * sizeof *list);
    Liana__Event__TensorDimension *sizes = liana__arena_allocate(arena, (rank + 1) * sizeof *sizes);
    if (!shape || !list || !sizes) return;
    liana__event__tensor_shape__init(shape);
    shape->dim = list;
    for (size_t i = 0; i < rank; i++) {
        liana__event__tensor_dimension__init(&sizes[i]);
        sizes[i].size = dims[i];
        list[shape->n_dim++] = &sizes[i];
    }
    tensor->tensor_shape = shape;
}

static ProtobufCBinaryData text_bytes(liana__arena *arena, const char *text)
{
    char *copy = liana__arena_string(arena, text);
    return (ProtobufCBinaryData){copy ? strlen(copy) : 0, (uint8_t *)copy};
}

static void set_texts(liana__arena *arena, Liana__Event__Tensor *tensor, const liana__summary_value *value)
{
    const bool is_text = value->kind != LIANA__SUMMARY_IMAGES;
    const size_t count = is_text ? 1 : IMAGE_HEAD + value->num_images;
    const int64_t dims[] = {(int64_t)count};
    ProtobufCBinaryData *texts = liana__arena_allocate(arena, count * sizeof *texts);
    tensor->dtype = DT_STRING;
    set_shape(arena, tensor, dims, !is_text);
    if (!texts) return;
    tensor->string_val = texts;
    tensor->n_string_val = count;
    if (is_text) {
        texts[0] = text_bytes(arena, value->text);
        return;
    }
    for (int i = 0; i < IMAGE_HEAD; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i ? value->height : value->width);
        texts[i] = text_bytes(arena, number);
    }
    for (size_t i = 0; i < value->num_images; i++) {
        const liana__summary_image *image = &value->images[i];
        texts[IMAGE_HEAD + i] = (ProtobufCBinaryData){image->size, (uint8_t *)(uintptr_t)image->bytes};
    }
}

static void set_numbers(liana__arena *arena, Liana__Event__Tensor *tensor, const liana__summary_value *value)
{
    static const int64_t none[] = {0};
    if (value->kind == LIANA__SUMMARY_HPARAMS) {
        tensor->dtype = DT_FLOAT;
        set_shape(arena, tensor, none, 1);
        return;
    }
    if (value->kind == LIANA__SUMMARY_SCALAR) {
        const float narrow = (float)value->number;
        tensor->dtype = DT_FLOAT;
        tensor->float_val = liana__arena_copy(arena, &narrow, sizeof narrow);
        tensor->n_float_val = tensor->float_val != NULL;
        set_shape(arena, tensor, NULL, 0);
        return;
    }
    const int64_t dims[] = {(int64_t)value->num_buckets, HISTOGRAM_COLUMNS};
    tensor->dtype = DT_DOUBLE;
    tensor->double_val = (double *)(uintptr_t)value->buckets;
    tensor->n_double_val = value->num_buckets * HISTOGRAM_COLUMNS;
    set_shape(arena, tensor, dims, 2);
}

/* The messages of a value, in the arena or borrowed. NULL: the arena has failed. */
static Liana__Event__SummaryValue *make_value(liana__arena *arena, const liana__summary_value *value)
{
    Liana__Event__SummaryValue *made = liana__arena_allocate(arena, sizeof *made);
    Liana__Event__Tensor *tensor = liana__arena_allocate(arena, sizeof *tensor);
    Liana__Event__SummaryMetadata *metadata = liana__arena_allocate(arena, sizeof *metadata);
    Liana__Event__PluginData *plugin = liana__arena_allocate(arena, sizeof *plugin);
    char *tag = liana__arena_string(arena, value->tag);
    if (!made || !tensor || !metadata || !plugin || !tag) return NULL;
    liana__event__summary_value__init(made);
    liana__event__tensor__init(tensor);
    liana__event__summary_metadata__init(metadata);
    liana__event__plugin_data__init(plugin);
    plugin->plugin_name = (char *)(uintptr_t)kinds[value->kind].plugin;
    if (value->kind == LIANA__SUMMARY_KERAS) plugin->content = text_bytes(arena, "1"); /* a version */
    if (value->kind == LIANA__SUMMARY_HPARAMS) {
        plugin->content = (ProtobufCBinaryData){value->content_size, (uint8_t *)(uintptr_t)value->content};
    }
    metadata->plugin_data = plugin;
    metadata->data_class = kinds[value->kind].data_class;
    const bool is_text = value->kind == LIANA__SUMMARY_IMAGES || value->kind == LIANA__SUMMARY_TEXT ||
                         value->kind == LIANA__SUMMARY_KERAS;
    (is_text ? set_texts : set_numbers)(arena, tensor, value);
    made->tag = tag;
    made->metadata = metadata;
    made->value_case = LIANA__EVENT__SUMMARY_VALUE__VALUE_TENSOR;
    made->tensor = tensor;
    return made;
}

static liana_status add_values(liana__event_writer *writer, liana__arena *arena, int64_t step,
                               const liana__summary_value *values, size_t count, liana__error *error)
{
    Liana__Event__Summary summary = LIANA__EVENT__SUMMARY__INIT;
    Liana__Event__Event event = LIANA__EVENT__EVENT__INIT;
    summary.value = liana__arena_allocate(arena, (count + 1) * sizeof *summary.value);
    for (size_t i = 0; summary.value && i < count; i++) summary.value[i] = make_value(arena, &values[i]);
    if (arena->failed) return liana__fail_memory(error, writer->path);
    summary.n_value = count;
    event.wall_time = wall_time();
    event.step = step;
    event.what_case = LIANA__EVENT__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return add_record(writer, &event, error);
}

liana_status liana__event_writer_add(liana__event_writer *writer, int64_t step, const liana__summary_value *values,
                                     size_t count, liana__error *error)
{
    liana__arena arena = {0};
    const liana_status status = count ? add_values(writer, &arena, step, values, count, error) : LIANA_OK;
    liana__arena_free(&arena);
    return status;
}

liana_status liana__event_writer_add_graph(liana__event_writer *writer, const void *bytes, size_t size,
                                           liana__error *error)
{
    Liana__Event__Event event = LIANA__EVENT__EVENT__INIT;
    event.wall_time = wall_time();
    event.what_case = LIANA__EVENT__EVENT__WHAT_GRAPH_DEF;
    event.graph_def = (ProtobufCBinaryData){size, (uint8_t *)(uintptr_t)bytes};
    return add_record(writer, &event, error);
}

/* ---- files ---- */

/* TensorBoard takes files with "tfevents" in their names, in the order of these. `number` tells those of a second and a
 * process apart. */
static char *name_file(const char *folder, int number)
{
    char host[128] = "";
    if (gethostname(host, sizeof host - 1) != 0) *host = 0;
    for (char *at = host; *at; at++) {
        if (*at == '/' || (unsigned char)*at <= ' ') *at = '_';
    }
    liana__text path = {0};
    liana__text_add(&path, "%s/events.out.tfevents.%010lld.%s.%ld.%d.liana", folder, (long long)time(NULL),
                    *host ? host : "host", (long)getpid(), number);
    return path.failed ? NULL : path.data;
}

static liana_status make_file(liana__event_writer *writer, const char *folder, liana__error *error)
{
    for (int number = 0; writer->descriptor < 0; number++) {
        free(writer->path);
        writer->path = name_file(folder, number);
        if (!writer->path) return liana__fail_memory(error, folder);
        writer->descriptor = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (writer->descriptor >= 0 || errno == EEXIST) continue;
        return liana__fail(error, LIANA_IO_ERROR, "cannot create '%s': %s", writer->path, strerror(errno));
    }
    return LIANA_OK;
}

static liana_status begin_file(liana__event_writer *writer, liana__error *error)
{
    char version[] = "brain.Event:2";
    Liana__Event__Event event = LIANA__EVENT__EVENT__INIT;
    event.wall_time = wall_time();
    event.what_case = LIANA__EVENT__EVENT__WHAT_FILE_VERSION;
    event.file_version = version;
    LIANA_TRY(add_record(writer, &event, error));
    return liana__event_writer_flush(writer, error);
}

static void destroy(liana__event_writer *writer)
{
    if (writer->descriptor >= 0) close(writer->descriptor);
    liana__text_free(&writer->waiting);
    free(writer->path);
    free(writer);
}

liana_status liana__event_writer_open(const char *folder, liana__event_writer **writer, liana__error *error)
{
    *writer = NULL;
    LIANA_TRY(liana__folder_make(folder, error));
    liana__event_writer *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, folder);
    made->descriptor = -1;
    liana_status status = make_file(made, folder, error);
    if (status == LIANA_OK) status = begin_file(made, error);
    if (status == LIANA_OK) {
        *writer = made;
    } else {
        destroy(made);
    }
    return status;
}

const char *liana__event_writer_path(const liana__event_writer *writer)
{
    return writer->path;
}

liana_status liana__event_writer_close(liana__event_writer *writer, liana__error *error)
{
    if (!writer) return LIANA_OK;
    liana_status status = liana__event_writer_flush(writer, error);
    if (close(writer->descriptor) != 0 && status == LIANA_OK) {
        status = liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': %s", writer->path, strerror(errno));
    }
    writer->descriptor = -1;
    destroy(writer);
    return status;
}
