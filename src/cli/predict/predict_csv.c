/* Predictions as CSV (RFC 4180) and as JSON lines. */
#include "cli/predict/predict.h"

#include "base/format.h"

static const char columns_of_class[] = "id,label,class,confidence";
static const char columns_of_labels[] = "id,labels";
static const char columns_of_truth[] = "true_label,true_class,correct";

static void add_kept_header(const liana__predict_facts *facts, liana__text *text)
{
    for (size_t i = 0; facts->kept && i < liana__kept_table_num_columns(facts->kept); i++) {
        liana__text_add(text, ",");
        liana__csv_add(text, liana__kept_table_name(facts->kept, i));
    }
}

void liana__predict_add_header(const liana__predict_facts *facts, bool with_probabilities, liana__text *text)
{
    liana__text line = {0};
    if (with_probabilities || facts->of_labels) {
        liana__add_probability_header(facts->objective, facts->classes,
                                      facts->of_classes  ? columns_of_class
                                      : facts->of_labels ? columns_of_labels
                                                         : "id",
                                      &line);
    } else if (!facts->of_classes) {
        liana__add_value_header(facts->objective, &line);
    } else {
        liana__text_add(&line, "%s\n", columns_of_class);
    }
    if (line.length) liana__text_add_bytes(text, line.data, line.length - 1); /* without its line end */
    text->failed = text->failed || line.failed;
    if (facts->has_truth) liana__text_add(text, ",%s", columns_of_truth);
    add_kept_header(facts, text);
    liana__text_add(text, "\n");
    liana__text_free(&line);
}

static void add_name(const liana__predict_facts *facts, size_t label, liana__text *text)
{
    const liana__strings *names = &facts->classes[0].names;
    liana__text_add(text, ",");
    if (label < names->count) liana__csv_add(text, names->items[label]);
}

static void add_class(const liana__predict_facts *facts, const liana__prediction *one, liana__text *text)
{
    float both[2];
    const float *probabilities = liana__class_probabilities(&facts->classes[0], one->output, both);
    liana__text_add(text, ",%zu", one->said);
    add_name(facts, one->said, text);
    liana__text_add(text, ",%.6f", liana__shown((double)probabilities[one->said]));
}

/* "red|sweet" */
static void add_labels(const liana__predict_facts *facts, const liana__prediction *one, liana__text *text)
{
    const liana__output_classes *classes = &facts->classes[0];
    liana__text labels = {0};
    char number[24];
    for (size_t i = 0; i < classes->count; i++) {
        if (!liana__predict_has_label(facts, one->output, i)) continue;
        liana__text_add(&labels, "%s%s", labels.length ? "|" : "", liana__class_name(classes, i, number));
    }
    liana__text_add(text, ",");
    liana__csv_add(text, labels.length ? labels.data : "");
    text->failed = text->failed || labels.failed;
    liana__text_free(&labels);
}

static void add_truth(const liana__predict_facts *facts, const liana__prediction *one, liana__text *text)
{
    if (one->truth < 0) {
        liana__text_add(text, ",,,");
        return;
    }
    liana__text_add(text, ",%d", one->truth);
    add_name(facts, (size_t)one->truth, text);
    liana__text_add(text, ",%d", one->said == (size_t)one->truth);
}

void liana__predict_add_row(const liana__predict_facts *facts, const liana__prediction *one, bool with_probabilities,
                            liana__text *text)
{
    liana__csv_add(text, one->id);
    if (facts->of_classes) add_class(facts, one, text);
    if (facts->of_labels) add_labels(facts, one, text);
    if (with_probabilities || facts->of_labels) {
        liana__add_probabilities(facts->objective, facts->classes, one->output, text);
    } else if (!facts->of_classes) {
        for (size_t i = 0; i < facts->row_size; i++) liana__text_add(text, ",%.9g", (double)one->output[i]);
    }
    if (facts->has_truth) add_truth(facts, one, text);
    for (size_t i = 0; facts->kept && i < liana__kept_table_num_columns(facts->kept); i++) {
        liana__text_add(text, ",");
        liana__csv_add(text, liana__kept_table_cell(facts->kept, one->record, i));
    }
    liana__text_add(text, "\n");
}

/* ---- the two forms ---- */

static liana_status begin_csv(liana__predict_writer *writer, liana__error *error)
{
    (void)error;
    liana__predict_add_header(writer->facts, writer->facts->with_probabilities, &writer->text);
    return LIANA_OK;
}

static liana_status add_to_csv(liana__predict_writer *writer, const liana__prediction *one, liana__error *error)
{
    (void)error;
    liana__predict_add_row(writer->facts, one, writer->facts->with_probabilities, &writer->text);
    return LIANA_OK;
}

static liana_status begin_jsonl(liana__predict_writer *writer, liana__error *error)
{
    (void)writer;
    (void)error;
    return LIANA_OK;
}

static liana_status add_to_jsonl(liana__predict_writer *writer, const liana__prediction *one, liana__error *error)
{
    liana__arena arena = {0};
    const liana__value *event = liana__predict_event(writer->facts, one, &arena);
    const bool enough = event && !arena.failed;
    if (enough) liana__value_write_json(event, 0, &writer->text);
    liana__text_add(&writer->text, "\n");
    liana__arena_free(&arena);
    return enough ? LIANA_OK : liana__fail_memory(error, "the predictions");
}

const liana__predict_form liana__predict_csv = {.of_text = true, .begin = begin_csv, .add = add_to_csv};
const liana__predict_form liana__predict_jsonl = {.ending = ".jsonl",
                                                  .of_text = true,
                                                  .begin = begin_jsonl,
                                                  .add = add_to_jsonl};
