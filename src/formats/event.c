/* Reads records of event files. */
#include "formats/event.h"

#include "base/text.h"
#include "formats/event.pb-c.h"

#include <stdlib.h>
#include <string.h>

bool liana__event_begins_file(const uint8_t *bytes, size_t size)
{
    liana__event_record event = {0};
    bool begins = liana__event_parse(bytes, size, &event, NULL) == LIANA_OK && event.file_version &&
                  liana__starts_with(event.file_version, "brain.Event:");
    liana__event_free(&event);
    return begins;
}

static const char *kind_of(Liana__Event__Event__WhatCase what)
{
    switch (what) {
    case LIANA__EVENT__EVENT__WHAT_FILE_VERSION: return "version";
    case LIANA__EVENT__EVENT__WHAT_GRAPH_DEF: return "graph";
    case LIANA__EVENT__EVENT__WHAT_SUMMARY: return "summary";
    case LIANA__EVENT__EVENT__WHAT_LOG_MESSAGE: return "log message";
    case LIANA__EVENT__EVENT__WHAT_SESSION_LOG: return "session";
    case LIANA__EVENT__EVENT__WHAT_TAGGED_RUN_METADATA: return "run metadata";
    case LIANA__EVENT__EVENT__WHAT_META_GRAPH_DEF: return "meta graph";
    default: return "nothing";
    }
}

/* TensorFlow's numbers of dtypes (types.proto). */
enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_STRING = 7 };

/* A scalar of TensorFlow 2 is a tensor without dimensions. */
static bool read_scalar(const Liana__Event__Tensor *tensor, double *number)
{
    float narrow;
    if (tensor->tensor_shape && tensor->tensor_shape->n_dim) return false;
    if (tensor->dtype == DT_FLOAT && tensor->n_float_val == 1) {
        *number = (double)tensor->float_val[0];
    } else if (tensor->dtype == DT_FLOAT && tensor->tensor_content.len == sizeof narrow) {
        memcpy(&narrow, tensor->tensor_content.data, sizeof narrow);
        *number = (double)narrow;
    } else if (tensor->dtype == DT_DOUBLE && tensor->n_double_val == 1) {
        *number = tensor->double_val[0];
    } else if (tensor->dtype == DT_DOUBLE && tensor->tensor_content.len == sizeof *number) {
        memcpy(number, tensor->tensor_content.data, sizeof *number);
    } else {
        return false;
    }
    return true;
}

static liana__event_value read_value(const Liana__Event__SummaryValue *from)
{
    liana__event_value value = {.tag = from->tag, .kind = "nothing"};
    const Liana__Event__PluginData *plugin = from->metadata ? from->metadata->plugin_data : NULL;
    switch (from->value_case) {
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_SIMPLE_VALUE:
        value.kind = "scalar";
        value.has_number = true;
        value.number = (double)from->simple_value;
        break;
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_IMAGE: value.kind = "image"; break;
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_OLD_STYLE_HISTOGRAM:
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_HISTO: value.kind = "histogram"; break;
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_AUDIO: value.kind = "audio"; break;
    case LIANA__EVENT__SUMMARY_VALUE__VALUE_TENSOR:
        value.has_number = read_scalar(from->tensor, &value.number);
        value.kind = value.has_number ? "scalar" : "tensor";
        if (!value.has_number) value.tensor = from->tensor;
        break;
    default: break;
    }
    const bool named = plugin && plugin->plugin_name && *plugin->plugin_name;
    if (named && !value.has_number)
        value.kind = strcmp(plugin->plugin_name, "scalars") == 0 ? "scalar" : plugin->plugin_name;
    return value;
}

liana_status liana__event_parse(const uint8_t *bytes, size_t size, liana__event_record *event, liana__error *error)
{
    *event = (liana__event_record){0};
    Liana__Event__Event *message = liana__event__event__unpack(NULL, size, bytes);
    if (!message) {
        return liana__fail(error, LIANA_INVALID_DATA, "its %zu bytes are not an event of an event file", size);
    }
    event->message = message;
    event->wall_time = message->wall_time;
    event->step = message->step;
    event->what = kind_of(message->what_case);
    if (message->what_case == LIANA__EVENT__EVENT__WHAT_FILE_VERSION) event->file_version = message->file_version;
    if (message->what_case != LIANA__EVENT__EVENT__WHAT_SUMMARY) return LIANA_OK;
    event->values = calloc(message->summary->n_value + 1, sizeof *event->values);
    if (!event->values) return liana__fail_memory(error, "an event");
    for (size_t i = 0; i < message->summary->n_value; i++) {
        event->values[event->num_values++] = read_value(message->summary->value[i]);
    }
    return LIANA_OK;
}

void liana__event_free(liana__event_record *event)
{
    if (event->message) liana__event__event__free_unpacked(event->message, NULL);
    free(event->values);
    *event = (liana__event_record){0};
}

/* ---- tensors ---- */

size_t liana__event_value_rank(const liana__event_value *value)
{
    const Liana__Event__Tensor *tensor = value->tensor;
    return tensor && tensor->tensor_shape ? tensor->tensor_shape->n_dim : 0;
}

int64_t liana__event_value_dimension(const liana__event_value *value, size_t index)
{
    return ((const Liana__Event__Tensor *)value->tensor)->tensor_shape->dim[index]->size;
}

bool liana__event_value_has_texts(const liana__event_value *value)
{
    const Liana__Event__Tensor *tensor = value->tensor;
    return tensor && tensor->dtype == DT_STRING;
}

/* Numbers stand in a list or, mostly, as bytes. */
size_t liana__event_value_count(const liana__event_value *value)
{
    const Liana__Event__Tensor *tensor = value->tensor;
    if (!tensor) return 0;
    switch (tensor->dtype) {
    case DT_FLOAT: return tensor->n_float_val ? tensor->n_float_val : tensor->tensor_content.len / sizeof(float);
    case DT_DOUBLE: return tensor->n_double_val ? tensor->n_double_val : tensor->tensor_content.len / sizeof(double);
    case DT_STRING: return tensor->n_string_val;
    default: return 0;
    }
}

double liana__event_value_number(const liana__event_value *value, size_t index)
{
    const Liana__Event__Tensor *tensor = value->tensor;
    float narrow;
    double wide;
    if (tensor->dtype == DT_FLOAT) {
        if (tensor->n_float_val) return (double)tensor->float_val[index];
        memcpy(&narrow, tensor->tensor_content.data + index * sizeof narrow, sizeof narrow);
        return (double)narrow;
    }
    if (tensor->n_double_val) return tensor->double_val[index];
    memcpy(&wide, tensor->tensor_content.data + index * sizeof wide, sizeof wide);
    return wide;
}

const uint8_t *liana__event_value_text(const liana__event_value *value, size_t index, size_t *size)
{
    const ProtobufCBinaryData *text = &((const Liana__Event__Tensor *)value->tensor)->string_val[index];
    *size = text->len;
    return text->data;
}
