/* A program that uses the parts of my_parts.c: compiled into it, or loaded as a plugin. After `make install`:
 *
 *     cc use_my_parts.c my_parts.c -o use_my_parts $(pkg-config --cflags --libs liana) -lm
 *     ./use_my_parts train.numbers [my_parts.so]
 *
 * It trains, saves the model to my-model, loads it again and prints the metric of both. */
#define LIANA_STICKY_ERRORS
#include "my_parts.h"

#include <stdio.h>

static void build(liana_model *m)
{
    liana_input(m, .shape = LIANA_INTS(2));
    liana_dense(m, .units = 16, .kernel_initializer = "spread(width=0.5)");
    liana_own_layer(m, "Swish2", swish2_options, .beta = 1.5, .learn = true);
    liana_dense(m, .units = 1);
}

static double evaluate(liana_model *model, liana_dataset *data)
{
    liana_results results = {0};
    liana_evaluate(model, data, NULL, &results);
    return results.num_metrics ? results.metrics[0] : -1;
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana_dataset *data = NULL;
    liana_model *model = NULL, *loaded = NULL;
    liana_context_create(&(liana_context_options){.sticky_errors = true}, &context);
    if (argc > 2) {
        liana_load_plugin(context, argv[2]);
    } else {
        register_my_parts(context);
    }
    liana_dataset_open(context, argc > 1 ? argv[1] : "train.numbers", NULL, &data);
    liana_model_create(context, "numbers", &model);
    build(model);
    liana_fit(model, &(liana_fit_options){
                         .training = data,
                         .epochs = 20,
                         .batch_size = 16,
                         .seed = 1,
                         .loss = "{name: power_error, exponent: 1.5}",
                         .metrics = {"root_error"},
                         .optimizer = "{name: SignDescent, momentum: 0.8, learning_rate: {name: Triangle, "
                                      "initial_learning_rate: 0.01, lowest: 0.05, turns: 2}}",
                         .named_callbacks = "[GoodEnough: {below: 1.0e-4, epochs: 2}]",
                     });
    liana_model_save(model, "my-model");
    liana_model_load(context, "my-model", &loaded);
    double before = evaluate(model, data), after = evaluate(loaded, data);
    const int failed = liana_context_status(context) != LIANA_OK;
    if (failed) {
        fprintf(stderr, "%s\n", liana_context_message(context));
    } else {
        printf("root_error %.6f, of the loaded model %.6f\n", before, after);
    }
    liana_model_destroy(loaded);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
    return failed;
}
