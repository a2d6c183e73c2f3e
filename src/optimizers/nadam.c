/* Nadam: Dozat, "Incorporating Nesterov momentum into Adam" (2015), in Keras's form with its momentum schedule
 * u_t = beta_1 * (1 - 0.5 * 0.96^t). */
#include "optimizers/optimizer.h"

#include <math.h>

static const liana_option fields[] = {LIANA__MOMENTS_ROWS, LIANA_OPTIMIZER_ROWS("null")};

/* From here on 1 - 0.5 * 0.96^t is 1 in double precision. */
enum { NUM_FACTORS = 1024 };

/* u_t / beta_1 */
static double factor(int64_t t)
{
    return 1 - 0.5 * pow(0.96, (double)t);
}

/* The product of u_1 to u_t, a function of the update's number: Keras keeps it as a variable. The product of the
 * factors is looked up. */
static liana_tensor product_of_factors(liana_tensor iteration)
{
    float products[NUM_FACTORS];
    double product = 1;
    for (int64_t t = 0; t < NUM_FACTORS; t++) products[t] = (float)(product *= factor(t + 1));
    liana_graph *graph = iteration.graph;
    liana_tensor table = liana_graph_constant(graph, LIANA_F32, liana_shape_of(NUM_FACTORS), products);
    liana_tensor last = liana_graph_scalar(graph, LIANA_F32, NUM_FACTORS);
    liana_tensor place = liana_op_minimum(liana_op_cast(iteration, LIANA_F32), last);
    place = liana_op_subtract(place, liana_graph_scalar(graph, LIANA_F32, 1));
    liana_tensor found = liana_op_gather(table, liana_op_cast(place, LIANA_S32), 0);
    return liana_op_cast(found, liana_tensor_dtype(iteration));
}

static liana_tensor one_minus(liana_tensor x)
{
    return liana_op_subtract(liana__optimizer_scalar(x, 1), x);
}

/* u_t of an update. */
static liana_tensor momentum_of(liana_tensor iteration, double beta_1)
{
    liana_tensor power = liana_op_power(liana__optimizer_scalar(iteration, 0.96), iteration);
    liana_tensor half = liana_op_multiply(liana__optimizer_scalar(iteration, 0.5), power);
    return liana_op_multiply(liana__optimizer_scalar(iteration, beta_1), one_minus(half));
}

static void update(liana_optimizer_step *step)
{
    const liana__moments_options *options = step->options;
    const double beta_1 = options->beta_1;
    liana_tensor now = step->iteration, next = liana_op_add(now, liana__optimizer_scalar(now, 1));
    liana_tensor u = momentum_of(now, beta_1), next_u = momentum_of(next, beta_1);
    liana_tensor power = liana_op_power(liana__optimizer_scalar(now, beta_1), now);
    liana_tensor product = liana_op_multiply(power, product_of_factors(now));
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, beta_1);
    liana_tensor v = liana__optimizer_average(step->slots[1], liana_op_square(step->gradient), options->beta_2);
    liana_tensor of_mean = liana_op_divide(next_u, one_minus(liana_op_multiply(product, next_u)));
    liana_tensor of_gradient = liana_op_divide(one_minus(u), one_minus(product));
    liana_tensor ahead = liana_op_add(liana_op_multiply(of_mean, m), liana_op_multiply(of_gradient, step->gradient));
    liana_tensor corrected = liana_op_divide(v, liana__optimizer_correction(now, options->beta_2));
    liana_tensor root = liana_op_add(liana_op_sqrt(corrected), liana__optimizer_scalar(v, options->epsilon));
    step->new_slots[0] = m;
    step->new_slots[1] = v;
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(step->learning_rate, ahead), root));
}

const liana_optimizer_type liana__optimizer_Nadam = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Nadam", "Adam with Nesterov's momentum.",
               LIANA_PART_OPTIONS(liana__moments_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"m", "v"},
    .update = update,
};
