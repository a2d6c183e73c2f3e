/* Answers of a model and true answers, in rows. */
#include "metrics/answers.h"

double liana__metric_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

int64_t liana__metric_num_answers(const liana_shape *output)
{
    return output->rank ? output->dims[output->rank - 1] : 1;
}

int64_t liana__metric_num_classes(const liana_shape *output)
{
    const int64_t answers = liana__metric_num_answers(output);
    return answers == 1 ? 2 : answers;
}

liana_tensor liana__answers_as_classes(liana_tensor answers)
{
    const liana_shape shape = liana_tensor_shape(answers);
    if (shape.rank < 2 || shape.dims[1] > 1) return answers;
    const liana_tensor both[] = {liana_op_subtract(liana__scalar_like(answers, 1), answers), answers};
    return liana_op_concat(both, 2, 1);
}

static int64_t num_answers(const liana_metric_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    return liana__metric_num_answers(&shape);
}

bool liana__metric_answers_each(const liana_metric_call *call)
{
    return num_answers(call) == 1 || call->activation == LIANA_LOGITS_SIGMOID;
}

liana_tensor liana__predicted_answers(const liana_metric_call *call, double threshold)
{
    liana_tensor output = liana__as_rows(call->output);
    if (!liana__metric_answers_each(call)) {
        return liana_op_one_hot(liana_op_argmax(output, -1), num_answers(call), LIANA_F32);
    }
    return liana_op_cast(liana_op_greater(output, liana__scalar_like(output, threshold)), LIANA_F32);
}

liana_tensor liana__true_answers(const liana_metric_call *call)
{
    liana_tensor target = call->target.tensor;
    if (call->target.kind == LIANA_TARGET_CLASSES) {
        return liana_op_one_hot(liana__as_column(target), num_answers(call), LIANA_F32);
    }
    target = liana__as_rows(target);
    if (liana__metric_answers_each(call)) return target;
    return liana_op_one_hot(liana_op_argmax(target, -1), num_answers(call), LIANA_F32);
}

liana_tensor liana__answer_weights(const liana_metric_call *call)
{
    if (!call->weights.id) return call->weights;
    return liana_op_reshape(call->weights, liana_shape_of(-1, 1));
}
