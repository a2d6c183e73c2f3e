/* Saves and loads variables. */
#include "program/variables_file.h"

#include "base/context.h"
#include "base/named.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "program/variables.h"

liana__safetensors_dtype liana__file_dtype(liana_dtype dtype)
{
    switch (dtype) {
    case LIANA_F32: return LIANA__SAFETENSORS_F32;
    case LIANA_BF16: return LIANA__SAFETENSORS_BF16;
    case LIANA_F64: return LIANA__SAFETENSORS_F64;
    case LIANA_S32: return LIANA__SAFETENSORS_I32;
    case LIANA_S64: return LIANA__SAFETENSORS_I64;
    case LIANA_U8: return LIANA__SAFETENSORS_U8;
    case LIANA_U32: return LIANA__SAFETENSORS_U32;
    case LIANA_U64: return LIANA__SAFETENSORS_U64;
    case LIANA_BOOL: return LIANA__SAFETENSORS_BOOL;
    case LIANA_F16: return LIANA__SAFETENSORS_F16;
    case LIANA_S8: return LIANA__SAFETENSORS_I8;
    case LIANA_S16: return LIANA__SAFETENSORS_I16;
    case LIANA_U16: return LIANA__SAFETENSORS_U16;
    case LIANA_NUM_DTYPES: break;
    }
    return LIANA__SAFETENSORS_NUM_DTYPES;
}

/* ---- saving ---- */

static liana_status put_variable(liana__safetensors_writer *writer, const liana__buffer *buffer, liana__error *error)
{
    LIANA__SCOPED_MEMORY void *data = liana__allocate_aligned(buffer->size);
    if (!data) return liana__fail_memory(error, "a file of variables");
    LIANA_TRY(buffer->device->backend->download(buffer, data, error));
    return liana__safetensors_put(writer, data, buffer->size, error);
}

liana_status liana__variables_write_file(const char *path, const liana__variables *variables,
                                         const liana__safetensors_tensor *more, size_t num_more, liana__arena *arena,
                                         uint32_t *checksum, liana__error *error)
{
    size_t count = variables->count + num_more;
    liana__safetensors_tensor *tensors = liana__arena_allocate(arena, (count + 1) * sizeof *tensors);
    if (!tensors) return liana__fail_memory(error, "a file of variables");
    for (size_t i = 0; i < variables->count; i++) {
        const liana__buffer *buffer = variables->items[i].buffer;
        tensors[i] = (liana__safetensors_tensor){.name = variables->items[i].name,
                                                 .dtype = liana__file_dtype(buffer->dtype),
                                                 .rank = buffer->shape.rank};
        memcpy(tensors[i].shape, buffer->shape.dims, sizeof tensors[i].shape);
    }
    for (size_t i = 0; i < num_more; i++) tensors[variables->count + i] = more[i];
    liana__safetensors_entry entry = {"liana", LIANA_VERSION};
    liana__safetensors_contents contents = {tensors, count, &entry, 1};
    liana__safetensors_writer writer;
    LIANA_TRY(liana__safetensors_begin(&writer, path, &contents, error));
    for (size_t i = 0; i < count; i++) {
        const liana__safetensors_tensor *own = i < variables->count ? NULL : &more[i - variables->count];
        liana_status status = own ? liana__safetensors_put(&writer, own->data, own->size, error)
                                  : put_variable(&writer, variables->items[i].buffer, error);
        if (status == LIANA_OK) continue;
        liana__safetensors_abandon(&writer);
        return status;
    }
    return liana__safetensors_finish(&writer, true, checksum, error);
}

static liana_status save_set(const liana_variables *variables, const char *path)
{
    liana__error *error = &variables->context->error;
    LIANA_TRY(liana__variables_require(variables, path, NULL));
    LIANA__SCOPED(liana__arena) arena = {0};
    return liana__variables_write_file(path, &variables->values, NULL, 0, &arena, NULL, error);
}

liana_status liana_variables_save(const liana_variables *variables, const char *path)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__REQUIRE(&variables->context->error, path);
    LIANA__CONTEXT_CALL(variables->context, save_set(variables, path));
}

/* ---- loading ---- */

/* The tensor of a variable; NULL if there is none and that is allowed. */
static liana_status find_tensor(const liana__safetensors *file, const liana__variable *variable, bool partial,
                                const liana__safetensors_tensor **tensor, liana__error *error)
{
    const liana__buffer *buffer = variable->buffer;
    *tensor = liana__safetensors_find(file, variable->name);
    if (!*tensor) {
        if (partial) return LIANA_OK;
        const char *nearest = liana__named_nearest(LIANA__NAMED(liana__safetensors_tensor, file->contents.tensors,
                                                                file->contents.num_tensors),
                                                   variable->name);
        return liana__fail(error, LIANA_INVALID_DATA, "the variable '%s' is missing among %zu tensors%s",
                           variable->name, file->contents.num_tensors, liana__hint(nearest).text);
    }
    liana_shape shape = {.rank = (*tensor)->rank};
    memcpy(shape.dims, (*tensor)->shape, sizeof shape.dims);
    bool same_dtype = (*tensor)->dtype == liana__file_dtype(buffer->dtype);
    if (same_dtype && liana_shape_equal(&shape, &buffer->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "the tensor '%s' is %s%s, the variable is %s", variable->name,
                       liana__safetensors_dtype_name((*tensor)->dtype), liana__shape_print(&shape).text,
                       liana__type_print(buffer->dtype, &buffer->shape).text);
}

static liana_status set_variable(liana_variables *variables, size_t place, const liana__safetensors *file,
                                 const liana__safetensors_tensor *tensor)
{
    LIANA__SCOPED_MEMORY void *copy = NULL;
    LIANA_TRY(liana__safetensors_take(file, tensor, &copy, &variables->context->error));
    return liana__variables_set(variables, place, copy);
}

static liana_status load_file(liana_variables *variables, const liana__safetensors *file, bool partial)
{
    const size_t count = variables->values.count;
    liana__error *error = &variables->context->error;
    LIANA__SCOPED_MEMORY const liana__safetensors_tensor **tensors = calloc(count + 1, sizeof *tensors);
    if (!tensors) return liana__fail_memory(error, "the variables");
    for (size_t i = 0; i < count; i++) {
        LIANA_TRY(find_tensor(file, &variables->values.items[i], partial, &tensors[i], error));
    }
    for (size_t i = 0; i < count; i++) {
        if (tensors[i]) LIANA_TRY(set_variable(variables, i, file, tensors[i]));
    }
    return LIANA_OK;
}

static liana_status load_set(liana_variables *variables, const char *path, bool partial)
{
    liana__error *error = &variables->context->error;
    liana__safetensors file;
    LIANA_TRY(liana__safetensors_open(path, &file, error));
    liana_status status = load_file(variables, &file, partial);
    if (status != LIANA_OK) liana__fail_within(error, "%s", path);
    liana__safetensors_close(&file);
    return status;
}

liana_status liana_variables_load(liana_variables *variables, const char *path, bool partial)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__REQUIRE(&variables->context->error, path);
    LIANA__CONTEXT_CALL(variables->context, load_set(variables, path, partial));
}
