/* Reads XLA's settings out of a program. */
#include "backends/pjrt/xla_settings.h"

#include "backends/pjrt/compile_options.h"
#include "backends/pjrt/program_cache.h"
#include "base/scoped.h"

#include <string.h>

/* ---- protobuf's wire format ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct bytes {
    const char *data;
    size_t size;
} bytes;

typedef struct field {
    uint64_t number;
    int kind;
    uint64_t value; /* of a VARINT */
    bytes content;  /* of BYTES */
} field;

static bool read_varint(bytes *from, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && from->size > 0; shift += 7) {
        const unsigned char byte = (unsigned char)*from->data++;
        from->size--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* Takes the next field off. Returns false at the end, and where there are no settings. */
static bool next_field(bytes *from, field *read)
{
    uint64_t key, size = 0;
    if (!read_varint(from, &key)) return false;
    *read = (field){.number = key >> 3, .kind = (int)(key & 7)};
    if (read->kind == VARINT) return read_varint(from, &read->value);
    if (read->kind == BYTES && !read_varint(from, &size)) return false;
    if (read->kind == FIXED64) size = 8;
    if (read->kind == FIXED32) size = 4;
    if ((read->kind != BYTES && size == 0) || size > from->size) return false;
    read->content = (bytes){from->data, (size_t)size};
    from->data += size;
    from->size -= (size_t)size;
    return true;
}

/* ---- the settings ---- */

/* The field numbers on the way: of ExecutableAndOptionsProto the executable, of CompilationResultProto the module, of
 * HloModuleProtoWithConfig the configuration, of HloModuleConfigProto the settings. */
static const uint64_t WAY[] = {1, 1, 2, 14};

/* Of DebugOptions: xla_backend_optimization_level, xla_cpu_multi_thread_eigen. All of XLA's versions have them. */
enum { OPTIMIZATION_LEVEL = 31, MULTI_THREAD_EIGEN = 60 };

static bool is_settings(bytes message)
{
    bool has_level = false, has_threads = false;
    field read;
    while (message.size > 0) {
        if (!next_field(&message, &read)) return false;
        if (read.number == OPTIMIZATION_LEVEL) has_level = read.kind == VARINT && read.value <= 3;
        if (read.number == MULTI_THREAD_EIGEN) has_threads = read.kind == VARINT && read.value <= 1;
    }
    return has_level && has_threads;
}

const char *liana__xla_settings_find(const char *program, size_t size, size_t *settings_size)
{
    bytes message = {program, size};
    for (size_t i = 0; i < sizeof WAY / sizeof *WAY; i++) {
        field read = {0};
        while (read.number != WAY[i] || read.kind != BYTES) {
            if (!next_field(&message, &read)) return NULL;
        }
        message = read.content;
    }
    if (!is_settings(message)) return NULL;
    *settings_size = message.size;
    return message.data;
}

/* ---- a program of nothing ---- */

static const char NOTHING[] = "module @settings {\n"
                              "  func.func public @main(%0: tensor<f32>) -> tensor<f32> {\n"
                              "    \"func.return\"(%0) : (tensor<f32>) -> ()\n"
                              "  }\n"
                              "}\n";

static liana_status compile_nothing(const liana__pjrt_client *client, void **loaded, liana__error *error)
{
    LIANA__SCOPED(liana__text) options = {0};
    liana__pjrt_compile_options_write(&(liana__pjrt_compile_options){0}, &options);
    if (options.failed) return liana__fail_memory(error, "a program");
    const liana__pjrt_program_text text = liana__pjrt_stablehlo(NOTHING, strlen(NOTHING));
    liana__pjrt_compile_args args = {.client = client->handle,
                                     .program = &text,
                                     .options = options.data,
                                     .options_size = options.length};
    const liana_status status = liana__pjrt_call(&client->plugin, LIANA__PJRT_CLIENT_COMPILE, &args, error);
    *loaded = args.executable;
    return status;
}

liana_status liana__xla_settings_read(const liana__pjrt_client *client, liana__text *settings, liana__error *error)
{
    const liana__pjrt_plugin *plugin = &client->plugin;
    void *loaded = NULL;
    LIANA_TRY(compile_nothing(client, &loaded, error));
    liana__pjrt_serialize_args program = {0};
    if (liana__program_serialize(plugin, loaded, &program)) {
        size_t size;
        const char *at = liana__xla_settings_find(program.bytes, program.size, &size);
        if (at) liana__text_add_bytes(settings, at, size);
        if (program.release) program.release(program.keeper);
    }
    liana__pjrt_destroy(plugin, LIANA__PJRT_LOADED_EXECUTABLE_DESTROY, loaded);
    return settings->failed ? liana__fail_memory(error, "a program") : LIANA_OK;
}
