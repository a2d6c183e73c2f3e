/* Metrics that a program registers. */
#include "ir/own_result.h"
#include "metrics/metric.h"

typedef struct own_metric {
    liana__own_part part;
    liana__metric metric;
    liana_metric_type given;
} own_metric;

static const own_metric *own_of(const void *options)
{
    return (const own_metric *)liana__own_part_of(options);
}

static liana_metric_call given_call(const liana__metric_call *call)
{
    return (liana_metric_call){
        .options = liana__own_options_of(&own_of(call->options)->part, call->options),
        .output = call->output,
        .predictions = (liana_predictions)call->activation,
        .target = call->target.tensor,
        .target_is_classes = call->target.kind == LIANA__TARGET_CLASSES,
        .weights = call->weights,
    };
}

static liana_tensor call_elements(const liana__metric_call *call)
{
    const own_metric *own = own_of(call->options);
    const liana_metric_call given = given_call(call);
    liana_shape expected = liana_tensor_shape(call->output);
    expected.rank--;
    return liana__own_result(&own->part, "elements", own->given.elements(&given), call->output.graph, LIANA_F32,
                             &expected);
}

static size_t call_sums(const void *options, const liana_shape *output)
{
    const own_metric *own = own_of(options);
    return own->given.sums(liana__own_options_of(&own->part, options), output);
}

static liana_tensor call_add(const liana__metric_call *call)
{
    const own_metric *own = own_of(call->options);
    const liana_metric_call given = given_call(call);
    liana_shape one = liana_tensor_shape(call->output);
    one.dims[0] = 1;
    const liana_shape expected = liana_shape_of((int64_t)call_sums(call->options, &one));
    return liana__own_result(&own->part, "add", own->given.add(&given), call->output.graph, LIANA_F32, &expected);
}

static double call_finish(const void *options, const double *sums, size_t count)
{
    const own_metric *own = own_of(options);
    return own->given.finish(liana__own_options_of(&own->part, options), sums, count);
}

/* Either a mean or sums. */
static liana_status check_functions(liana_context *context, const own_metric *own)
{
    const liana_metric_type *given = &own->given;
    const bool all = given->sums && given->add && given->finish, none = !given->sums && !given->add && !given->finish;
    if (given->elements ? !none : !all) {
        return liana__own_part_refuse(context, &own->part,
                                      "expected either the function 'elements', or all of 'sums', 'add' and 'finish'");
    }
    if (given->takes_classes || given->takes_values) return LIANA_OK;
    return liana__own_part_refuse(context, &own->part, "it takes neither classes nor values");
}

liana_status liana_register_metric(liana_context *context, const liana_metric_type *type)
{
    static const char *const reserved[] = {"as", NULL};
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_metric *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_METRIC,
                                        .given = type,
                                        .size = sizeof *type,
                                        .shift = LIANA__OWN_SHIFT,
                                        .reserved = reserved};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    LIANA_TRY(check_functions(context, own));
    const bool is_mean = own->given.elements != NULL;
    own->metric = (liana__metric){
        .name = own->part.name,
        .doc = own->part.doc,
        .options = &own->part.options,
        .own = &own->part,
        .targets = (own->given.takes_classes ? LIANA__TARGET_CLASSES : 0u) |
                   (own->given.takes_values ? LIANA__TARGET_VALUES : 0u),
        .elements = is_mean ? call_elements : NULL,
        .size = is_mean ? NULL : call_sums,
        .add = is_mean ? NULL : call_add,
        .finish = is_mean ? NULL : call_finish,
    };
    return liana__own_part_add(context, &own->part, liana__metric_find(NULL, own->part.name, NULL) != NULL,
                               &own->metric);
}
