/* Initialisers that a program registers. */
#include "base/own_part.h"
#include "layers/initializers.h"

#include <string.h>

typedef struct own_initializer {
    liana__own_part part;
    liana__initializer_type type;
    liana_initializer_type given;
} own_initializer;

/* Room for the program's struct of options. */
enum { OPTIONS_SIZE = 1024 };
typedef struct own_options {
    _Alignas(LIANA__OWN_SHIFT) unsigned char bytes[OPTIONS_SIZE];
} own_options;

/* Arguments are numbers; the part wants a struct. */
static const void *write_options(const own_initializer *own, const double *arguments, own_options *options)
{
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < own->part.options.count; i++) {
        const liana__field *field = &own->part.options.items[i];
        unsigned char *member = options->bytes + field->offset;
        const double value = arguments[i];
        switch (field->kind) {
        case LIANA__FIELD_BOOL: memcpy(member, &(bool){value != 0}, sizeof(bool)); break;
        case LIANA__FIELD_INT: memcpy(member, &(int64_t){(int64_t)value}, sizeof(int64_t)); break;
        case LIANA__FIELD_ENUM: memcpy(member, &(int){(int)value}, sizeof(int)); break;
        default: memcpy(member, &value, sizeof value); break;
        }
    }
    return own->part.has_options ? options->bytes : NULL;
}

liana_status liana__own_initializer_check(const liana__initializer *initializer, liana__error *error)
{
    const own_initializer *own = (const own_initializer *)initializer->type->own;
    if (!own || !own->part.check) return LIANA_OK;
    own_options options;
    const char *reason = own->part.check(write_options(own, initializer->arguments, &options));
    return reason ? liana__fail(error, LIANA_INVALID_CONFIG, "%s: %s", own->part.name, reason) : LIANA_OK;
}

static void fill(const liana__drawing *to)
{
    const own_initializer *own = (const own_initializer *)to->type->own;
    own_options options;
    const liana_initializer_call call = {
        .options = write_options(own, to->arguments, &options),
        .shape = to->shape,
        .fan_in = to->fan_in,
        .fan_out = to->fan_out,
        .count = to->count,
        .values = to->values,
        .internal = to,
    };
    memset(to->values, 0, (size_t)to->count * sizeof *to->values);
    own->given.fill(&call);
}

/* ---- draws ---- */

double liana_initializer_uniform(const liana_initializer_call *call, uint64_t index)
{
    if (!call || !call->internal) return 0;
    const liana__drawing *to = call->internal;
    const uint64_t block = index / 4;
    uint32_t words[4];
    liana__philox(to->key, (const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, words);
    return (double)liana__uniform_float(words[index % 4]);
}

double liana_initializer_normal(const liana_initializer_call *call, uint64_t index)
{
    if (!call || !call->internal) return 0;
    return liana__draw_normal(((const liana__drawing *)call->internal)->key, index, 0);
}

/* ---- registering ---- */

/* The default of an option, as a number. */
static double standard_of(const liana__field *field, const unsigned char *options)
{
    const void *member = options + field->offset;
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return *(const bool *)member;
    case LIANA__FIELD_INT: return (double)*(const int64_t *)member;
    case LIANA__FIELD_ENUM: return *(const int *)member;
    default: return *(const double *)member;
    }
}

static liana_status take_arguments(liana_context *context, own_initializer *own)
{
    const liana__fields *fields = &own->part.options;
    if (fields->count > LIANA_MAX_INITIALIZER_OPTIONS || fields->size > OPTIONS_SIZE) {
        return liana__own_part_refuse(context, &own->part,
                                      "it has %zu options in %zu bytes, expected at most %d options in %d bytes",
                                      fields->count, fields->size, LIANA_MAX_INITIALIZER_OPTIONS, OPTIONS_SIZE);
    }
    own_options standard = {0};
    liana__arena arena = {0};
    liana_status status = liana__fields_default(fields, &arena, standard.bytes, &context->error);
    for (size_t i = 0; status == LIANA_OK && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const bool is_number = field->kind == LIANA__FIELD_INT || field->kind == LIANA__FIELD_FLOAT;
        const bool is_word = field->kind == LIANA__FIELD_BOOL || field->kind == LIANA__FIELD_ENUM;
        if (field->required || (!is_number && !is_word)) {
            status =
                liana__own_part_refuse(context, &own->part,
                                       "its option '%s' is %s; an initialiser's options are numbers and words with "
                                       "defaults",
                                       field->name, field->required ? "required" : "a text or a list");
            break;
        }
        own->type.arguments[i] = (liana__initializer_argument){
            .name = field->name,
            .standard = standard_of(field, standard.bytes),
            .words = field->kind == LIANA__FIELD_BOOL ? liana__initializer_truths : field->names,
            .minimum = field->minimum,
            .maximum = field->maximum,
            .whole = field->kind == LIANA__FIELD_INT,
        };
    }
    liana__arena_free(&arena);
    return status;
}

liana_status liana_register_initializer(liana_context *context, const liana_initializer_type *type)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_initializer *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_INITIALIZER, .given = type, .size = sizeof *type};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.fill) return liana__own_part_refuse(context, &own->part, "its function 'fill' is NULL");
    own->type = (liana__initializer_type){.name = own->part.name,
                                          .class_name = own->part.name,
                                          .fill = fill,
                                          .own = &own->part};
    LIANA_TRY(take_arguments(context, own));
    const char *const *names = liana__initializer_names();
    bool builtin = false;
    for (size_t i = 0; names[i]; i++) builtin |= strcmp(names[i], own->part.name) == 0;
    return liana__own_part_add(context, &own->part, builtin, &own->type);
}
