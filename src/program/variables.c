/* Named variables on a device, and which of them have values. */
#include "program/variables.h"

#include "base/context.h"
#include "base/crc32c.h"
#include "base/named.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "layers/initializers.h"
#include "program/device.h"

static liana_status create_set(liana_device *device, liana_variables **out)
{
    liana_variables *variables = calloc(1, sizeof *variables);
    if (!variables) return liana__fail_memory(&device->context->error, "a set of variables");
    variables->context = device->context;
    liana__variables_init(&variables->values, device->device);
    liana_status status =
        liana__placed_devices_init(&variables->devices, device->context, device->device, &device->context->error);
    if (status != LIANA_OK) {
        liana_variables_destroy(variables);
        return status;
    }
    *out = variables;
    return LIANA_OK;
}

liana_status liana_variables_create(liana_device *device, liana_variables **out)
{
    LIANA__REQUIRE_AS(device ? &device->context->error : NULL, out, "variables");
    *out = NULL;
    LIANA__REQUIRE(NULL, device);
    LIANA__CONTEXT_CALL(device->context, create_set(device, out));
}

void liana_variables_destroy(liana_variables *variables)
{
    if (!variables) return;
    liana__variables_free(&variables->values);
    liana__placed_devices_free(&variables->devices);
    free(variables->states);
    free(variables);
}

/* ---- finding ---- */

static size_t find(const liana_variables *variables, const char *name)
{
    const liana__variable *known = liana__variables_find(&variables->values, name);
    return known ? (size_t)(known - variables->values.items) : variables->values.count;
}

liana_status liana__variables_place(const liana_variables *variables, const char *name, size_t *place)
{
    const liana__variables *values = &variables->values;
    liana__error *error = &variables->context->error;
    *place = find(variables, name);
    if (*place < values->count) return LIANA_OK;
    const char *nearest = liana__named_nearest(LIANA__NAMED(liana__variable, values->items, values->count), name);
    return liana__fail(error, LIANA_NOT_FOUND, "there is no variable '%.200s' among %zu%s", name, values->count,
                       liana__hint(nearest).text);
}

size_t liana_variables_count(const liana_variables *variables)
{
    return variables ? variables->values.count : 0;
}

bool liana_variables_info(const liana_variables *variables, size_t index, liana_variable_info *info)
{
    bool found = index < liana_variables_count(variables);
    if (!info) return found;
    *info = (liana_variable_info){0};
    if (!found) return false;
    const liana__variable *variable = &variables->values.items[index];
    *info = (liana_variable_info){.name = variable->name,
                                  .dtype = variable->buffer->dtype,
                                  .shape = variable->buffer->shape,
                                  .initializer = variables->states[index].initializer,
                                  .initialized = variables->states[index].initialized};
    return true;
}

bool liana_variables_find(const liana_variables *variables, const char *name, liana_variable_info *info)
{
    size_t place = variables && name ? find(variables, name) : 0;
    return liana_variables_info(name ? variables : NULL, place, info);
}

static void add_name(liana__text *text, size_t number, size_t count, const char *name)
{
    enum { MOST = 10 };
    const char *before = number == 0 ? "" : number + 1 == count && count <= MOST ? " and " : ", ";
    if (number < MOST) liana__text_add(text, "%s'%.100s'", before, name);
    if (number == MOST) liana__text_add(text, " and %zu more", count - MOST);
}

liana_status liana__variables_require(const liana_variables *variables, const char *what, const bool *wanted)
{
    const liana__variables *values = &variables->values;
    size_t count = 0, number = 0;
    for (size_t i = 0; i < values->count; i++) {
        count += (!wanted || wanted[i]) && !variables->states[i].initialized;
    }
    if (count == 0) return LIANA_OK;
    LIANA__SCOPED(liana__text) names = {0};
    for (size_t i = 0; i < values->count; i++) {
        bool missing = (!wanted || wanted[i]) && !variables->states[i].initialized;
        if (missing) add_name(&names, number++, count, values->items[i].name);
    }
    return liana__fail(&variables->context->error, LIANA_INVALID_ARGUMENT,
                       "%s%sthe variable%s %s %s no value; use "
                       "liana_variables_initialize, liana_variables_write or liana_variables_load first",
                       what, *what ? ": " : "", count == 1 ? "" : "s", names.data ? names.data : "",
                       count == 1 ? "has" : "have");
}

liana_status liana_variables_check(const liana_variables *variables)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__CONTEXT_CALL(variables->context, liana__variables_require(variables, "", NULL));
}

/* ---- adding ---- */

/* `name` is the variable's; NULL: of several. */
static liana_status check_initializer(const liana_variables *variables, const char *name, const char *text)
{
    liana__initializer initializer;
    liana__error *error = &variables->context->error;
    if (liana__initializer_parse(variables->context, text, &initializer, error) == LIANA_OK) return LIANA_OK;
    return name ? liana__fail_within(error, "the initialiser of the variable '%.200s'", name)
                : liana__fail_within(error, "the initialiser of all variables");
}

static liana_status check_type(const liana_variables *variables, size_t place, liana_dtype dtype,
                               const liana_shape *shape)
{
    const liana__variable *known = &variables->values.items[place];
    if (known->buffer->dtype == dtype && liana_shape_equal(&known->buffer->shape, shape)) return LIANA_OK;
    return liana__fail(&variables->context->error, LIANA_INVALID_ARGUMENT,
                       "the variable '%s' is %s, but is there already as %s", known->name,
                       liana__type_print(dtype, shape).text,
                       liana__type_print(known->buffer->dtype, &known->buffer->shape).text);
}

liana_status liana__variables_declare(liana_variables *variables, const char *name, liana_dtype dtype,
                                      const liana_shape *shape, const char *initializer, size_t *place)
{
    return liana__variables_declare_on(variables, 0, name, dtype, shape, initializer, place);
}

liana_status liana__variables_declare_on(liana_variables *variables, size_t device, const char *name, liana_dtype dtype,
                                         const liana_shape *shape, const char *initializer, size_t *place)
{
    liana__variables *values = &variables->values;
    liana__error *error = &variables->context->error;
    *place = find(variables, name);
    if (initializer) LIANA_TRY(check_initializer(variables, name, initializer));
    if (*place < values->count) {
        LIANA_TRY(check_type(variables, *place, dtype, shape));
    } else {
        if (!liana__grow(&variables->states, values->count, &variables->state_capacity, sizeof *variables->states)) {
            return liana__fail_memory(error, "the list of variables");
        }
        variables->states[values->count] = (liana__variable_state){0};
        liana__device *home = variables->devices.items[device].device;
        LIANA_TRY(liana__variables_add_on(values, home, name, dtype, shape, NULL, error));
    }
    liana__variable_state *state = &variables->states[*place];
    if (!initializer || state->initializer) return LIANA_OK;
    state->initializer = liana__arena_string(&values->arena, initializer);
    return state->initializer ? LIANA_OK : liana__fail_memory(error, "an initialiser");
}

static liana_status add_variable(liana_variables *variables, const char *name, liana_dtype dtype, liana_shape shape,
                                 const void *data)
{
    liana__error *error = &variables->context->error;
    if (!*name) return liana__fail(error, LIANA_INVALID_ARGUMENT, "a variable needs a name");
    bool is_dtype = (unsigned)dtype < LIANA_NUM_DTYPES;
    if (!is_dtype || !liana__shape_valid(dtype, &shape)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the variable '%.200s' has %s", name,
                           is_dtype ? "a shape that is none: expected rank 0 to 8 and dimensions of at least 1"
                                    : "no dtype of liana_dtype");
    }
    size_t place;
    LIANA_TRY(liana__variables_declare(variables, name, dtype, &shape, NULL, &place));
    return data ? liana__variables_set(variables, place, data) : LIANA_OK;
}

liana_status liana_variables_add(liana_variables *variables, const char *name, liana_dtype dtype, liana_shape shape,
                                 const void *data)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__REQUIRE(&variables->context->error, name);
    LIANA__CONTEXT_CALL(variables->context, add_variable(variables, name, dtype, shape, data));
}

/* ---- values ---- */

liana_status liana__variables_set(liana_variables *variables, size_t place, const void *data)
{
    LIANA_TRY(liana__variable_write(&variables->values.items[place], data, &variables->context->error));
    variables->states[place].initialized = true;
    return LIANA_OK;
}

/* Finds the variable that the host's memory is for. */
static liana_status find_memory(const liana_variables *variables, const char *name, size_t size, size_t *place)
{
    LIANA_TRY(liana__variables_place(variables, name, place));
    const liana__buffer *buffer = variables->values.items[*place].buffer;
    if (size == buffer->size) return LIANA_OK;
    return liana__fail(&variables->context->error, LIANA_INVALID_ARGUMENT,
                       "the variable '%s' is %s, %zu bytes; found %zu bytes", name,
                       liana__type_print(buffer->dtype, &buffer->shape).text, buffer->size, size);
}

static liana_status write_value(liana_variables *variables, const char *name, const void *data, size_t size)
{
    size_t place;
    LIANA_TRY(find_memory(variables, name, size, &place));
    return liana__variables_set(variables, place, data);
}

liana_status liana_variables_write(liana_variables *variables, const char *name, const void *data, size_t size)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__REQUIRE(&variables->context->error, name);
    LIANA__REQUIRE(&variables->context->error, data);
    LIANA__CONTEXT_CALL(variables->context, write_value(variables, name, data, size));
}

static liana_status read_value(const liana_variables *variables, const char *name, void *data, size_t size)
{
    size_t place;
    LIANA_TRY(find_memory(variables, name, size, &place));
    if (!variables->states[place].initialized) {
        return liana__fail(&variables->context->error, LIANA_INVALID_ARGUMENT,
                           "the variable '%s' has no value; use liana_variables_initialize, liana_variables_write or "
                           "liana_variables_load first",
                           name);
    }
    return liana__variable_read(&variables->values.items[place], data, &variables->context->error);
}

liana_status liana_variables_read(const liana_variables *variables, const char *name, void *data, size_t size)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__REQUIRE(&variables->context->error, name);
    LIANA__REQUIRE(&variables->context->error, data);
    LIANA__CONTEXT_CALL(variables->context, read_value(variables, name, data, size));
}

/* ---- initialising ---- */

/* Which variables get a value. */
static liana_status choose(const liana_variables *variables, const liana_initialize_options *options, bool *chosen)
{
    size_t only = variables->values.count;
    if (options->name) LIANA_TRY(liana__variables_place(variables, options->name, &only));
    LIANA__SCOPED(liana__text) missing = {0};
    for (size_t i = 0; i < variables->values.count; i++) {
        const liana__variable_state *state = &variables->states[i];
        chosen[i] = (!options->name || i == only) && (options->again || !state->initialized);
        if (!chosen[i] || options->initializer || state->initializer) continue;
        liana__text_add(&missing, "%s'%.100s'", missing.length ? ", " : "", variables->values.items[i].name);
    }
    if (!missing.length) return LIANA_OK;
    return liana__fail(
        &variables->context->error, LIANA_INVALID_ARGUMENT,
        "no initialiser is known for %s; name one with liana_graph_initializer or here, or write a value",
        missing.data);
}

static liana_status initialize_one(liana_variables *variables, size_t place, const liana_initialize_options *options)
{
    liana__error *error = &variables->context->error;
    const liana__variable *variable = &variables->values.items[place];
    const char *text = options->initializer ? options->initializer : variables->states[place].initializer;
    const liana_dtype dtype = variable->buffer->dtype;
    const liana_shape shape = variable->buffer->shape;
    liana__initializer initializer;
    LIANA_TRY(liana__initializer_parse(variables->context, text, &initializer, error));
    LIANA_TRY(liana__initializer_check_shape(&initializer, text, variable->name, &shape, error));
    int64_t count = liana_shape_size(&shape);
    LIANA__SCOPED_MEMORY float *drawn = liana__allocate_aligned((size_t)count * sizeof *drawn);
    LIANA__SCOPED_MEMORY void *other = dtype == LIANA_F32 ? NULL : liana__allocate_aligned(variable->buffer->size);
    if (!drawn || (dtype != LIANA_F32 && !other)) return liana__fail_memory(error, "a variable's first value");
    uint32_t salt = liana__crc32c(variable->name, strlen(variable->name));
    liana__initializer_fill(&initializer, options->seed, salt, &shape, drawn);
    for (int64_t i = 0; other && i < count; i++) liana__store(other, dtype, i, (double)drawn[i]);
    return liana__variables_set(variables, place, other ? other : drawn);
}

static liana_status initialize(liana_variables *variables, const liana_initialize_options *options)
{
    static const liana_initialize_options standard = {0};
    if (!options) options = &standard;
    if (options->initializer) LIANA_TRY(check_initializer(variables, options->name, options->initializer));
    LIANA__SCOPED_MEMORY bool *chosen = calloc(variables->values.count + 1, sizeof *chosen);
    if (!chosen) return liana__fail_memory(&variables->context->error, "the variables");
    LIANA_TRY(choose(variables, options, chosen));
    for (size_t i = 0; i < variables->values.count; i++) {
        if (chosen[i]) LIANA_TRY(initialize_one(variables, i, options));
    }
    return LIANA_OK;
}

liana_status liana_variables_initialize(liana_variables *variables, const liana_initialize_options *options)
{
    LIANA__REQUIRE(NULL, variables);
    LIANA__CONTEXT_CALL(variables->context, initialize(variables, options));
}
