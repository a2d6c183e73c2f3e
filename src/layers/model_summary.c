/* The table that Keras's model.summary() prints. */
#include "layers/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_COLUMNS = 4 };

typedef struct cells {
    char text[NUM_COLUMNS][LIANA_MAX_LAYER_INPUTS][160]; /* a cell may have several lines */
    int num_lines;
} cells;

static void print_shape(const liana_shape *shape, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "(None");
    for (int i = 1; i < shape->rank && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, ", %lld", (long long)shape->dims[i]);
    }
    if (length < size) snprintf(text + length, size - length, ")");
}

static int64_t layer_parameters(const liana_model *model, const liana__layer *layer)
{
    int64_t count = 0;
    for (size_t i = 0; i < layer->num_weights; i++) {
        count += liana_shape_size(&model->weights[layer->first_weight + i].shape);
    }
    return count;
}

static void fill_row(const liana_model *model, const liana__layer *layer, cells *row)
{
    memset(row, 0, sizeof *row);
    row->num_lines = layer->num_inputs > 1 ? (int)layer->num_inputs : 1;
    snprintf(row->text[0][0], sizeof row->text[0][0], "%s (%s)", layer->name, layer->type->name);
    print_shape(&layer->shape, row->text[1][0], sizeof row->text[1][0]);
    snprintf(row->text[2][0], sizeof row->text[2][0], "%lld", (long long)layer_parameters(model, layer));
    for (size_t i = 0; i < layer->num_inputs; i++) {
        snprintf(row->text[3][i], sizeof row->text[3][i], "%s", model->layers[layer->inputs[i]].name);
    }
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
        liana__text trimmed = {0};
        for (int column = 0; column < num_columns; column++) {
            liana__text_add(&trimmed, "%s%-*s", column ? "  " : " ", (int)widths[column], row->text[column][line]);
        }
        while (trimmed.length && trimmed.data[trimmed.length - 1] == ' ') trimmed.length--;
        liana__text_add_bytes(text, trimmed.data ? trimmed.data : "", trimmed.length);
        liana__text_add(text, "\n");
        liana__text_free(&trimmed);
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
    cells *row = calloc(1, sizeof *row);
    if (!row) {
        text->failed = true;
        return;
    }
    size_t widths[NUM_COLUMNS] = {0};
    int num_columns = liana__model_is_sequential(model) ? 3 : 4;
    static const char *const titles[NUM_COLUMNS] = {"Layer (type)", "Output Shape", "Param #", "Connected to"};
    for (int column = 0; column < num_columns; column++) widths[column] = strlen(titles[column]);
    for (size_t i = 0; i < model->num_layers; i++) {
        fill_row(model, &model->layers[i], row);
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
    for (size_t i = 0; i < model->num_layers; i++) {
        fill_row(model, &model->layers[i], row);
        add_row(text, row, widths, num_columns);
    }
    add_rule(text, '=', widths, num_columns);
    int64_t all = liana_model_num_parameters(model, false), trainable = liana_model_num_parameters(model, true);
    add_count(text, "Total params", all);
    add_count(text, "Trainable params", trainable);
    add_count(text, "Non-trainable params", all - trainable);
    add_rule(text, '_', widths, num_columns);
    free(row);
}

char *liana_model_summary(const liana_model *model)
{
    liana__text text = {0};
    liana__model_summary(model, &text);
    if (text.failed) liana__text_free(&text);
    return text.data;
}
