/* Says how a label that is a text, a float or a list is read. */
#include "data/source/label_advice.h"

void liana__label_advice(const liana__example *example, const char *label, liana__text *text)
{
    liana__feature feature;
    if (!liana__example_find(example, label, &feature) || !feature.count) return;
    const char *name = feature.name;
    if (feature.kind == LIANA__FEATURE_BYTES && feature.count == 1) {
        liana__text_add(
            text,
            "'%.60s' is a text and no class number: data.columns: {target: {from: %.60s, vocabulary: [NAME, "
            "NAME, ...]}} with the names of the classes, and data.targets: target, read it",
            name, name);
    } else if (feature.count > 1 && feature.kind != LIANA__FEATURE_BYTES) {
        liana__text_add(text,
                        "'%.60s' is a list of %zu numbers and no class number: data.columns: {target: {from: %.60s, "
                        "dtype: f32, length: %zu}}, data.targets: target and train.loss: categorical_crossentropy read "
                        "it if it is one-hot",
                        name, feature.count, name, feature.count);
    } else if (feature.kind == LIANA__FEATURE_FLOAT) {
        liana__text_add(
            text,
            "'%.60s' is a float and no class number: data.columns: {target: {from: %.60s, dtype: s64}} reads "
            "it as one if it is whole, with data.targets: target; without dtype it is a number to predict",
            name, name);
    }
}
