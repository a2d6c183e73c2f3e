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

/* A scalar of TensorFlow 2 is a tensor without dimensions: DT_FLOAT (1) or DT_DOUBLE (2). */
static bool read_scalar(const Liana__Event__Tensor *tensor, double *number)
{
    float narrow;
    if (tensor->tensor_shape && tensor->tensor_shape->n_dim) return false;
    if (tensor->dtype == 1 && tensor->n_float_val == 1) {
        *number = (double)tensor->float_val[0];
    } else if (tensor->dtype == 1 && tensor->tensor_content.len == sizeof narrow) {
        memcpy(&narrow, tensor->tensor_content.data, sizeof narrow);
        *number = (double)narrow;
    } else if (tensor->dtype == 2 && tensor->n_double_val == 1) {
        *number = tensor->double_val[0];
    } else if (tensor->dtype == 2 && tensor->tensor_content.len == sizeof *number) {
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
