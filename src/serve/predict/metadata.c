/* What a model takes and gives, as TensorFlow Serving tells it. */
#include "serve/predict/metadata.h"

static const char *dtype_name(int dtype)
{
    return dtype == LIANA_STRING ? "DT_STRING" : dtype == LIANA_S32 ? "DT_INT32" : "DT_FLOAT";
}

/* {"dim": [{"size": "-1", "name": ""}, ...], "unknown_rank": false} */
static liana__value *shape_value(const liana_shape *shape, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *dims = liana__value_list(arena);
    for (int axis = 0; axis < shape->rank; axis++) {
        liana__value *dim = liana__value_map(arena);
        const char *size = liana__arena_format(arena, "%lld", axis ? (long long)shape->dims[axis] : -1);
        liana__value_set(arena, dim, "size", liana__value_string(arena, size));
        liana__value_set(arena, dim, "name", liana__value_string(arena, ""));
        liana__value_add(arena, dims, dim);
    }
    liana__value_set(arena, map, "dim", dims);
    liana__value_set(arena, map, "unknown_rank", liana__value_bool(arena, false));
    return map;
}

static liana__value *ports_value(const liana_predictor_port *ports, size_t count, bool are_outputs, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    for (size_t i = 0; i < count; i++) {
        liana__value *port = liana__value_map(arena);
        const char *name = liana__arena_format(arena, "%s:0", ports[i].name);
        const int dtype = are_outputs ? LIANA_F32 : ports[i].dtype;
        liana__value_set(arena, port, "dtype", liana__value_string(arena, dtype_name(dtype)));
        liana__value_set(arena, port, "tensor_shape", shape_value(&ports[i].shape, arena));
        liana__value_set(arena, port, "name", liana__value_string(arena, name));
        liana__value_set(arena, map, ports[i].name, port);
    }
    return map;
}

liana__value *liana__metadata_value(const char *model, int64_t version, const liana__servable *servable,
                                    liana__arena *arena)
{
    size_t num_outputs;
    const liana__request_form *form = liana__servable_form(servable);
    const liana_predictor_port *outputs = liana__servable_outputs(servable, &num_outputs);
    liana__value *whole = liana__value_map(arena), *spec = liana__value_map(arena), *metadata = liana__value_map(arena);
    liana__value *outer = liana__value_map(arena), *inner = liana__value_map(arena), *own = liana__value_map(arena);
    const char *number = liana__arena_format(arena, "%lld", (long long)version);
    liana__value_set(arena, spec, "name", liana__value_string(arena, model));
    liana__value_set(arena, spec, "signature_name", liana__value_string(arena, ""));
    liana__value_set(arena, spec, "version", liana__value_string(arena, number));
    liana__value_set(arena, own, "inputs", ports_value(form->inputs, form->num_inputs, false, arena));
    liana__value_set(arena, own, "outputs", ports_value(outputs, num_outputs, true, arena));
    liana__value_set(arena, own, "method_name", liana__value_string(arena, "tensorflow/serving/predict"));
    liana__value_set(arena, inner, "serving_default", own);
    liana__value_set(arena, outer, "signature_def", inner);
    liana__value_set(arena, metadata, "signature_def", outer);
    liana__value_set(arena, whole, "model_spec", spec);
    liana__value_set(arena, whole, "metadata", metadata);
    return whole;
}
