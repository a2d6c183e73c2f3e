/* Reads the names of devices. */
#include "backends/pjrt/device_name.h"

#include "base/text.h"
#include "base/value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 32 };

static liana_status fail_option(const char *option, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the device's option '%s' is not NAME=VALUE; several are separated by &, as in "
                       "gpu?memory_fraction=0.5&preallocate=false",
                       option);
}

/* "0,1,2" */
static bool read_integers(const char *text, liana__arena *arena, liana__pjrt_named_value *option)
{
    int64_t *numbers = liana__arena_allocate(arena, (strlen(text) / 2 + 1) * sizeof *numbers);
    size_t count = 0;
    for (const char *at = text; numbers; at++) {
        char *end;
        numbers[count++] = strtoll(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0')) return false;
        at = end;
        if (*end == '\0') break;
    }
    option->kind = LIANA__PJRT_INT64_LIST;
    option->value.int64_list = numbers;
    option->value_size = count;
    return true;
}

static liana_status read_value(const char *text, liana__arena *arena, liana__pjrt_named_value *option,
                               liana__error *error)
{
    if (strchr(text, ',') && read_integers(text, arena, option)) return LIANA_OK;
    const liana__value *value = liana__value_from_word(arena, text);
    if (!value) return liana__fail_memory(error, "the options of a device");
    option->value_size = 1;
    switch (value->kind) {
    case LIANA__VALUE_INT:
        option->kind = LIANA__PJRT_INT64;
        option->value.int64 = value->integer;
        return LIANA_OK;
    case LIANA__VALUE_FLOAT:
        option->kind = LIANA__PJRT_FLOAT;
        option->value.number = (float)value->number;
        return LIANA_OK;
    case LIANA__VALUE_BOOL:
        option->kind = LIANA__PJRT_BOOL;
        option->value.yes = value->boolean;
        return LIANA_OK;
    default:
        option->kind = LIANA__PJRT_STRING;
        option->value.string = text;
        option->value_size = strlen(text);
        return LIANA_OK;
    }
}

/* Plugins ignore options that they do not know. So a slip in one of those that the manual shows is found here. */
static liana_status check_spelling(const char *name, liana__error *error)
{
    static const char *const shown[] = {"cpu_device_count", "memory_fraction", "preallocate"};
    const char *nearest = liana__nearest(name, shown, sizeof shown / sizeof *shown);
    if (!nearest || strcmp(nearest, name) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "unknown option '%.100s' of a device%s", name,
                       liana__hint(nearest).text);
}

/* The plugin for CPUs ends the process where this option is of another kind. */
static liana_status check_option(const liana__pjrt_named_value *option, const char *value, liana__error *error)
{
    enum { MOST_DEVICES = 4096 };
    const bool is_count = option->kind == LIANA__PJRT_INT64 && option->value.int64 >= 1;
    if (strcmp(option->name, "cpu_device_count") != 0) return LIANA_OK;
    if (is_count && option->value.int64 <= MOST_DEVICES) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the option cpu_device_count of a device is '%s', expected a number of devices, 1 to %d", value,
                       (int)MOST_DEVICES);
}

static liana_status read_options(char *text, liana__arena *arena, liana__pjrt_device_name *read, liana__error *error)
{
    read->options = liana__arena_allocate(arena, MAX_OPTIONS * sizeof *read->options);
    if (!read->options) return liana__fail_memory(error, "the options of a device");
    for (char *option = text, *next; option; option = next) {
        next = strchr(option, '&');
        if (next) *next++ = '\0';
        char *equals = strchr(option, '=');
        if (!equals || equals == option) return fail_option(option, error);
        if (read->num_options == MAX_OPTIONS) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "a device has more than %d options", (int)MAX_OPTIONS);
        }
        *equals = '\0';
        liana__pjrt_named_value *into = &read->options[read->num_options++];
        *into = (liana__pjrt_named_value){.head = {.struct_size = sizeof *into}, .name = option};
        into->name_size = strlen(option);
        LIANA_TRY(check_spelling(option, error));
        LIANA_TRY(read_value(equals + 1, arena, into, error));
        LIANA_TRY(check_option(into, equals + 1, error));
    }
    return LIANA_OK;
}

/* Takes ":NUMBER" from the end of a text. */
static liana_status take_number(char *text, const char *name, size_t *number, liana__error *error)
{
    char *colon = strrchr(text, ':');
    if (!colon || strchr(colon, '/')) return LIANA_OK;
    char *end;
    long long value = strtoll(colon + 1, &end, 10);
    if (end == colon + 1 || *end || value < 0 || value > 65535) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the device '%s' ends with ':%s', expected the number of a device, from 0, as in gpu:1",
                           name, colon + 1);
    }
    *colon = '\0';
    *number = (size_t)value;
    return LIANA_OK;
}

liana_status liana__pjrt_device_name_read(const char *name, liana__arena *arena, liana__pjrt_device_name *read,
                                          liana__error *error)
{
    *read = (liana__pjrt_device_name){.option_text = ""};
    char *text = liana__arena_string(arena, name);
    if (!text) return liana__fail_memory(error, "the name of a device");
    char *options = strchr(text, '?');
    if (options) {
        *options++ = '\0';
        read->option_text = liana__arena_string(arena, options);
        LIANA_TRY(read_options(options, arena, read, error));
    }
    bool named = liana__starts_with(text, "pjrt:");
    char *place = named ? text + strlen("pjrt:") : text;
    LIANA_TRY(take_number(place, name, &read->number, error));
    read->shown = text;
    if (named && (strchr(place, '/') || liana__ends_with(place, ".so"))) {
        read->path = place;
        return LIANA_OK;
    }
    static const char *const kinds[] = {"cpu", "gpu", "tpu"};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(place, kinds[i]) == 0) read->kind = kinds[i];
    }
    if (read->kind && (named || strcmp(place, "cpu") != 0)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no device '%s', expected gpu, tpu, pjrt:cpu, gpu:1 or pjrt:/path/plugin.so", name);
}

const char *liana__pjrt_library_named(const char *name, liana__arena *arena)
{
    liana__pjrt_device_name read;
    if (!liana__starts_with(name, "pjrt:")) return NULL;
    return liana__pjrt_device_name_read(name, arena, &read, NULL) == LIANA_OK ? read.path : NULL;
}
