/* The table that Keras's model.summary() prints. */
#include "layers/model.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_COLUMNS = 4, MAX_LINES = 2 * LIANA_MAX_LAYER_INPUTS };

typedef struct cells {
    char text[NUM_COLUMNS][MAX_LINES][160]; /* a cell may have several lines */
    int num_lines;
} cells;

static void print_shape(const liana__layer_node *node, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "(None");
    for (int d = 1; d < node->shape.rank && length < size; d++) {
        length += (size_t)(node->free >> d & 1
                               ? snprintf(text + length, size - length, ", None")
                               : snprintf(text + length, size - length, ", %lld", (long long)node->shape.dims[d]));
    }
    if (length < size) snprintf(text + length, size - length, ")");
}

static int64_t count_parameters(const liana_model *model, size_t first_weight, size_t num_weights)
{
    int64_t count = 0;
    for (size_t i = 0; i < num_weights; i++) count += liana_shape_size(&model->weights[first_weight + i].shape);
    return count;
}

/* Keras names a call of a layer that is called several times "name[call]". */
static void print_source(const liana_model *model, const liana__scope_result *source, char *text, size_t size)
{
    size_t calls = liana__scope_num_calls(model, LIANA__NONE, source->item);
    int length = snprintf(text, size, "%s", liana__scope_item_name(model, source->item));
    size_t used = length < 0 || (size_t)length >= size ? size : (size_t)length;
    if (calls > 1 || source->output) {
        snprintf(text + used, size - used, "[%zu][%zu]", source->number, source->output);
    }
}

/* The inputs of all calls of an item, one a line. */
static void fill_sources(const liana_model *model, liana__scope_item item, cells *row)
{
    size_t calls = liana__scope_num_calls(model, LIANA__NONE, item), line = 0;
    for (size_t call = 0; call < calls && line < MAX_LINES; call++) {
        liana__scope_result sources[LIANA_MAX_LAYER_INPUTS];
        size_t count = liana__scope_inputs(model, LIANA__NONE, item, call, sources);
        for (size_t i = 0; i < count && line < MAX_LINES; i++) {
            print_source(model, &sources[i], row->text[3][line++], sizeof row->text[3][0]);
        }
    }
    if ((int)line > row->num_lines) row->num_lines = (int)line;
}

static const char *mode_of(bool inference)
{
    return inference ? ", training=False" : "";
}

static void fill_layer(const liana_model *model, size_t index, cells *row)
{
    const liana__layer *layer = &model->layers[index];
    size_t node = 0;
    while (model->nodes[node].layer != index) node++;
    snprintf(row->text[0][0], sizeof row->text[0][0], "%s (%s%s)", layer->name, layer->type->part.name,
             mode_of(layer->inference));
    row->num_lines = (int)model->nodes[node].num_outputs;
    for (size_t i = 0; i < model->nodes[node].num_outputs; i++) {
        print_shape(&model->nodes[node + i], row->text[1][i], sizeof row->text[1][i]);
    }
    snprintf(row->text[2][0], sizeof row->text[2][0], "%lld",
             (long long)count_parameters(model, layer->first_weight, layer->num_weights));
}

/* A nested model: one row, with a line for the shape of each output. */
static void fill_nested(const liana_model *model, size_t index, cells *row)
{
    const liana__nested *nested = &model->nested[index];
    const liana__layer *first = &model->layers[nested->first_layer];
    size_t use = 0, num_weights = 0;
    while (model->uses[use].nested != index) use++;
    for (size_t i = 0; i < nested->num_layers; i++) num_weights += first[i].num_weights;
    snprintf(row->text[0][0], sizeof row->text[0][0], "%s (%s%s)", nested->name,
             nested->functional ? "Functional" : "Sequential", mode_of(nested->inference));
    snprintf(row->text[2][0], sizeof row->text[2][0], "%lld",
             (long long)count_parameters(model, first->first_weight, num_weights));
    row->num_lines = (int)nested->num_outputs;
    for (size_t i = 0; i < nested->num_outputs; i++) {
        print_shape(&model->nodes[model->uses[use].first_node + nested->outputs[i]], row->text[1][i],
                    sizeof row->text[1][0]);
    }
}

static void fill_row(const liana_model *model, liana__scope_item item, cells *row)
{
    memset(row, 0, sizeof *row);
    row->num_lines = 1;
    if (item.is_nested) {
        fill_nested(model, item.index, row);
    } else {
        fill_layer(model, item.index, row);
    }
    fill_sources(model, item, row);
}

static void measure(const cells *row, size_t widths[NUM_COLUMNS])
{
    for (int column = 0; column < NUM_COLUMNS; column++) {
        for (int line = 0; line < row->num_lines; line++) {
            size_t length = strlen(row->text[column][line]);
            if (length > widths[column]) widths[column] = length;
        }
    }
}

static void add_row(liana__text *text, const cells *row, const size_t widths[NUM_COLUMNS], int num_columns)
{
    for (int line = 0; line < row->num_lines; line++) {
        LIANA__SCOPED(liana__text) trimmed = {0};
        for (int column = 0; column < num_columns; column++) {
            liana__text_add(&trimmed, "%s%-*s", column ? "  " : " ", (int)widths[column], row->text[column][line]);
        }
        while (trimmed.length && trimmed.data[trimmed.length - 1] == ' ') trimmed.length--;
        liana__text_add_bytes(text, trimmed.data ? trimmed.data : "", trimmed.length);
        liana__text_add(text, "\n");
    }
}

static void add_rule(liana__text *text, char letter, const size_t widths[NUM_COLUMNS], int num_columns)
{
    size_t width = 1;
    for (int column = 0; column < num_columns; column++) width += widths[column] + 2;
    for (size_t i = 0; i < width; i++) liana__text_add(text, "%c", letter);
    liana__text_add(text, "\n");
}

/* 3538984 -> "3,538,984". */
static void add_count(liana__text *text, const char *label, int64_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    liana__text_add(text, "%s: ", label);
    for (int i = 0; i < length; i++) {
        liana__text_add(text, "%s%c", i && (length - i) % 3 == 0 ? "," : "", digits[i]);
    }
    liana__text_add(text, "\n");
}

void liana__model_summary(const liana_model *model, liana__text *text)
{
    LIANA__SCOPED_MEMORY cells *row = calloc(1, sizeof *row);
    if (!row) {
        text->failed = true;
        return;
    }
    size_t widths[NUM_COLUMNS] = {0};
    int num_columns = liana__model_is_sequential(model) ? 3 : 4;
    static const char *const titles[NUM_COLUMNS] = {"Layer (type)", "Output Shape", "Param #", "Connected to"};
    for (int column = 0; column < num_columns; column++) widths[column] = strlen(titles[column]);
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, LIANA__NONE, &next, &item);) {
        fill_row(model, item, row);
        measure(row, widths);
    }
    liana__text_add(text, "Model: \"%s\"\n", liana__model_name(model));
    add_rule(text, '_', widths, num_columns);
    memset(row, 0, sizeof *row);
    row->num_lines = 1;
    for (int column = 0; column < num_columns; column++) {
        snprintf(row->text[column][0], sizeof row->text[column][0], "%s", titles[column]);
    }
    add_row(text, row, widths, num_columns);
    add_rule(text, '=', widths, num_columns);
    for (size_t next = 0; liana__scope_next(model, LIANA__NONE, &next, &item);) {
        fill_row(model, item, row);
        add_row(text, row, widths, num_columns);
    }
    add_rule(text, '=', widths, num_columns);
    int64_t all = liana__model_num_parameters(model, false), trainable = liana__model_num_parameters(model, true);
    add_count(text, "Total params", all);
    add_count(text, "Trainable params", trainable);
    add_count(text, "Non-trainable params", all - trainable);
    add_rule(text, '_', widths, num_columns);
}

char *liana_model_summary(const liana_model *model)
{
    if (!model) return NULL;
    liana__text text = {0};
    liana__model_summary(model, &text);
    if (text.failed) liana__text_free(&text);
    return text.data;
}
