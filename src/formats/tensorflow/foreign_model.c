/* Refuses models of other programs that have no layers. */
#include "formats/tensorflow/foreign_model.h"

#include "base/scoped.h"
#include "formats/sniff.h"
#include "formats/tensorflow/tf_checkpoint.h"

liana_status liana__refuse_foreign_model(const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size;
    const char *graph = liana__path_join(&arena, path, "saved_model.pb");
    if (graph && liana__file_exists(graph)) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is a SavedModel, whose graph has no layers; in Python save the Keras model in Keras's "
                           "own file: model.save('model.keras'). The variables alone load by name: model.weights or "
                           "model.warm_start.from: '%s'",
                           path, path);
    }
    if (liana__tf_checkpoint_find(path, &arena)) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is a TensorFlow checkpoint, which has variables but no layers; describe the model in "
                           "the configuration and load them by name: model.weights or model.warm_start.from: '%s'",
                           path, path);
    }
    if (!liana__file_exists(path) || liana__file_read_head(path, head, sizeof head, &size, NULL) != LIANA_OK) {
        return LIANA_OK;
    }
    return liana__refuse_pickle(liana__sniff(head, size), path, error);
}
