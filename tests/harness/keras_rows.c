/* Reads layers of Keras 3 from JSON, and writes them again. */
#include "harness/keras_rows.h"

#include "base/context.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "harness/harness.h"
#include "layers/model.h"

#include <stdio.h>
#include <string.h>

void liana__test_keras_rows(liana_context *context, const liana__test_keras_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        LIANA__SCOPED(liana__arena) arena = {0};
        liana__value *root;
        liana_model *model;
        char json[900];
        snprintf(json, sizeof json,
                 "{\"class_name\": \"Sequential\", \"keras_version\": \"3.15.1\", \"config\": {\"name\": \"s\", "
                 "\"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 6, 7, 3]}}, "
                 "{\"class_name\": \"%s\", \"config\": {\"name\": \"x\", %s}}]}}",
                 rows[i].layer, rows[i].config);
        assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &root, &context->error), &context->error);
        assert_ok(liana_model_create(context, NULL, &model), &context->error);
        if (liana__model_from_keras(model, root) != LIANA_OK) fail_msg("%s: %s", json, model->error.message);
        assert_says(liana__json_line(liana__model_to_keras(model, LIANA__KERAS3, &arena), &arena), rows[i].written);
        liana_model_destroy(model);
    }
}
