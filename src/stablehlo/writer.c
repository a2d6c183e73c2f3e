/* StableHLO ops as text: names, operands, regions, attributes, types, constants. */
#include "stablehlo/lowering_internal.h"

#include "base/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const dtype_names[] = {
    [LIANA_F32] = "f32", [LIANA_BF16] = "bf16", [LIANA_F64] = "f64",  [LIANA_S32] = "i32", [LIANA_S64] = "i64",
    [LIANA_U8] = "ui8",  [LIANA_U32] = "ui32",  [LIANA_U64] = "ui64", [LIANA_BOOL] = "i1", [LIANA_F16] = "f16",
    [LIANA_S8] = "i8",   [LIANA_S16] = "i16",   [LIANA_U16] = "ui16",
};

static char *add_word(char *at, const char *word)
{
    const size_t length = strlen(word);
    memcpy(at, word, length);
    return at + length;
}

static char *add_size(char *at, int64_t size)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + size % 10);
        size /= 10;
    } while (size > 0);
    while (count > 0) *at++ = digits[--count];
    return at;
}

/* By hand: a whole update has 100,000 types, and snprintf would take as long for these as for all its other text. */
liana__hlo_type liana__hlo_print_type(liana_dtype dtype, const liana_shape *shape)
{
    liana__hlo_type type;
    char *at = add_word(type.text, "tensor<");
    for (int i = 0; i < shape->rank; i++) {
        at = add_size(at, shape->dims[i]);
        *at++ = 'x';
    }
    const bool is_complex = (int)dtype >= LIANA__HLO_COMPLEX;
    if (is_complex) at = add_word(at, "complex<");
    at = add_word(at, dtype_names[(int)dtype - (is_complex ? LIANA__HLO_COMPLEX : 0)]);
    if (is_complex) *at++ = '>';
    memcpy(at, ">", sizeof ">");
    return type;
}

/* ---- constants ---- */

/* Floats as decimal numbers where these are read back as the same bits, else as bits. */
static void add_float(liana__text *text, liana_dtype dtype, const void *data, int64_t index)
{
    char decimal[40];
    double value = liana__load(data, dtype, index);
    uint64_t bits = 0, again = 0;
    memcpy(&bits, (const char *)data + (size_t)index * liana_dtype_size(dtype), liana_dtype_size(dtype));
    for (int digits = 6; value - value == 0 && digits <= 16; digits += 5) {
        liana__format(decimal, sizeof decimal, "%.*e", digits, value);
        liana__store(&again, dtype, 0, liana__parse_double(decimal, NULL));
        if (again == bits) {
            liana__text_add(text, "%s", decimal);
            return;
        }
    }
    liana__text_add(text, "0x%0*llX", (int)liana_dtype_size(dtype) * 2, (unsigned long long)bits);
}

static void add_element(liana__text *text, liana_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case LIANA_S64: liana__text_add(text, "%lld", (long long)((const int64_t *)data)[index]); return;
    case LIANA_U64: liana__text_add(text, "%llu", (unsigned long long)((const uint64_t *)data)[index]); return;
    case LIANA_BOOL: liana__text_add(text, ((const uint8_t *)data)[index] ? "true" : "false"); return;
    default: break;
    }
    if (liana__dtype_is_float(dtype)) {
        add_float(text, dtype, data, index);
    } else {
        liana__text_add(text, "%lld", (long long)liana__load(data, dtype, index));
    }
}

static bool is_splat(const void *data, size_t element_size, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        if (memcmp(data, (const char *)data + (size_t)i * element_size, element_size) != 0) return false;
    }
    return true;
}

/* The bytes of all elements in hexadecimal digits, the lowest byte of each first whatever this machine's order. */
static void add_blob(liana__text *text, const void *data, size_t element_size, int64_t count)
{
    static const char digits[] = "0123456789ABCDEF";
    static const uint16_t one = 1;
    const bool little = *(const uint8_t *)&one == 1;
    liana__text_add(text, "\"0x");
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *element = (const uint8_t *)data + (size_t)i * element_size;
        char pair[16];
        for (size_t k = 0; k < element_size; k++) {
            uint8_t byte = element[little ? k : element_size - 1 - k];
            pair[2 * k] = digits[byte >> 4];
            pair[2 * k + 1] = digits[byte & 15];
        }
        liana__text_add_bytes(text, pair, 2 * element_size);
    }
    liana__text_add(text, "\"");
}

enum { LONGEST_LIST = 16 };

void liana__hlo_add_dense(liana__text *text, liana_dtype dtype, const liana_shape *shape, const void *data)
{
    int64_t count = liana_shape_size(shape);
    liana__text_add(text, "dense<");
    if (is_splat(data, liana_dtype_size(dtype), count)) {
        add_element(text, dtype, data, 0);
    } else if (shape->rank == 1 && count <= LONGEST_LIST) {
        for (int64_t i = 0; i < count; i++) {
            liana__text_add(text, i ? ", " : "[");
            add_element(text, dtype, data, i);
        }
        liana__text_add(text, "]");
    } else {
        add_blob(text, data, liana_dtype_size(dtype), count);
    }
    liana__text_add(text, "> : %s", liana__hlo_print_type(dtype, shape).text);
}

/* ---- attributes ---- */

void liana__hlo_add(liana__text *attributes, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(line, sizeof line, format, arguments);
    va_end(arguments);
    liana__text_add(attributes, "%s%s", attributes->length ? ", " : "", line);
}

void liana__hlo_add_array(liana__text *attributes, const char *name, const int64_t *values, int count)
{
    liana__hlo_add(attributes, "%s = array<i64", name);
    for (int i = 0; i < count; i++) liana__text_add(attributes, "%s %lld", i ? "," : ":", (long long)values[i]);
    liana__text_add(attributes, ">");
}

/* ---- ops ---- */

void liana__lowering_free(liana__lowering *l)
{
    liana__text_free(&l->text);
    liana__arena_free(&l->scratch);
}

void liana__hlo_indent(liana__lowering *l)
{
    liana__text_add(&l->text, "%*s", 4 + 4 * l->depth, "");
}

/* A name as a string of MLIR, in which quotes, backslashes and control characters are two hexadecimal digits. */
static void add_quoted(liana__text *text, const char *plain)
{
    liana__text_add(text, "\"");
    for (; *plain; plain++) {
        unsigned char c = (unsigned char)*plain;
        bool escaped = c == '"' || c == '\\' || c < ' ' || c == 0x7F;
        if (escaped) liana__text_add(text, "\\%02X", c);
        if (!escaped) liana__text_add_bytes(text, plain, 1);
    }
    liana__text_add(text, "\"");
}

void liana__hlo_add_comment(liana__lowering *l, const liana__node *node)
{
    liana__text_add(&l->text, "// %s", node->op->name);
    if (node->name) {
        liana__text_add(&l->text, " ");
        add_quoted(&l->text, node->name);
    }
    liana__text_add(&l->text, "\n");
}

void liana__hlo_end_line(liana__lowering *l)
{
    if (l->locations && l->where.file) {
        liana__text_add(&l->text, " loc(");
        add_quoted(&l->text, l->where.file);
        liana__text_add(&l->text, ":%d:0)", l->where.line > 0 ? l->where.line : 0);
    } else if (l->no_locations) {
        liana__text_add(&l->text, " loc(unknown)");
    }
    liana__text_add(&l->text, "\n");
}

liana__hlo liana__hlo_parameter(liana__lowering *l, liana_dtype dtype, liana_shape shape)
{
    return (liana__hlo){.id = l->next++, .dtype = dtype, .shape = shape};
}

void liana__hlo_add_values(liana__lowering *l, const liana__hlo *values, size_t count)
{
    for (size_t i = 0; i < count; i++) liana__text_add(&l->text, "%s%%%u", i ? ", " : "", values[i].id);
}

void liana__hlo_add_types(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__text_add(&l->text, "(");
    for (size_t i = 0; i < count; i++) {
        liana__text_add(&l->text, "%s%s", i ? ", " : "", liana__hlo_print_type(values[i].dtype, &values[i].shape).text);
    }
    liana__text_add(&l->text, ")");
}

liana__hlo_op liana__hlo_begin(liana__lowering *l, const char *name, const liana__hlo *operands, size_t count)
{
    liana__hlo_op op = {.operands = operands, .count = count, .result.id = l->next++};
    liana__hlo_indent(l);
    liana__text_add(&l->text, "%%%u = \"stablehlo.%s\"(", op.result.id, name);
    liana__hlo_add_values(l, operands, count);
    liana__text_add(&l->text, ")");
    return op;
}

void liana__hlo_begin_block(liana__lowering *l, liana__hlo *parameters, size_t count)
{
    liana__hlo_indent(l);
    liana__text_add(&l->text, "  ^bb0(");
    for (size_t i = 0; i < count; i++) {
        liana__hlo *value = &parameters[i];
        *value = liana__hlo_parameter(l, value->dtype, value->shape);
        liana__text_add(&l->text, "%s%%%u: %s", i ? ", " : "", value->id,
                        liana__hlo_print_type(value->dtype, &value->shape).text);
    }
    liana__text_add(&l->text, "):\n");
    l->depth++;
}

void liana__hlo_end_block(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__hlo_indent(l);
    liana__text_add(&l->text, "\"stablehlo.return\"(");
    liana__hlo_add_values(l, values, count);
    liana__text_add(&l->text, ") : ");
    liana__hlo_add_types(l, values, count);
    liana__text_add(&l->text, " -> ()\n");
    l->depth--;
    liana__hlo_indent(l);
    liana__text_add(&l->text, "}");
}

void liana__hlo_begin_region(liana__lowering *l, liana__hlo_op *op, liana_dtype dtype, liana__hlo parameters[2])
{
    for (int i = 0; i < 2; i++) parameters[i] = (liana__hlo){.dtype = dtype, .shape = LIANA_SCALAR};
    liana__text_add(&l->text, op->has_regions ? ", {\n" : " ({\n");
    op->has_regions = true;
    liana__hlo_begin_block(l, parameters, 2);
}

void liana__hlo_end_region(liana__lowering *l, liana__hlo value)
{
    liana__hlo_end_block(l, &value, 1);
}

liana__hlo liana__hlo_end(liana__lowering *l, liana__hlo_op *op, liana_dtype dtype, liana_shape shape,
                          liana__text *attributes)
{
    op->result.dtype = dtype;
    op->result.shape = shape;
    if (op->has_regions) liana__text_add(&l->text, ")");
    if (attributes) {
        liana__text_add(&l->text, " {");
        if (attributes->data) liana__text_add_bytes(&l->text, attributes->data, attributes->length);
        liana__text_add(&l->text, "}");
        if (attributes->failed) l->text.failed = true;
        liana__text_free(attributes);
    }
    liana__text_add(&l->text, " : ");
    liana__hlo_add_types(l, op->operands, op->count);
    liana__text_add(&l->text, " -> %s", liana__hlo_print_type(dtype, &shape).text);
    liana__hlo_end_line(l);
    return op->result;
}

liana__hlo liana__hlo_write(liana__lowering *l, const char *name, const liana__hlo *operands, size_t count,
                            liana_dtype dtype, liana_shape shape, liana__text *attributes)
{
    liana__hlo_op op = liana__hlo_begin(l, name, operands, count);
    return liana__hlo_end(l, &op, dtype, shape, attributes);
}
