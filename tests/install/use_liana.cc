// A C++ program outside of liana's tree: calls, and what the headers offer in place of C's compound literals.
#include <liana/liana.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

static int build_graph(liana_context *context)
{
    liana_graph *graph;
    if (liana_graph_create(context, &graph) != LIANA_OK) return 1;
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor sums = liana_op_reduce_sum(x, LIANA_AXES(0), false);
    liana_tensor total = liana_op_reduce_sum(liana_op_square(sums), LIANA_ALL_AXES, false);
    liana_graph_output(graph, "total", total);
    liana_shape of_sums = liana_tensor_shape(sums), of_total = liana_tensor_shape(total), scalar = LIANA_SCALAR;
    int failed = liana_graph_status(graph) != LIANA_OK || of_sums.rank != 1 || of_sums.dims[0] != 3 ||
                 !liana_shape_equal(&of_total, &scalar);
    // An error names the caller's line.
    liana_op_reduce_sum(x, LIANA_AXES(7), false);
    failed |= liana_graph_status(graph) == LIANA_OK || !std::strstr(liana_context_message(context), "use_liana.cc");
    liana_graph_destroy(graph);
    return failed;
}

// As C++17 builds layers: a struct whose members have the defaults.
static int build_model(liana_context *context)
{
    liana_model *model;
    if (liana_model_create(context, nullptr, &model) != LIANA_OK) return 1;
    liana_input_options input;
    input.shape = LIANA_INTS(4, 4, 1);
    liana_model_add_at(LIANA_HERE, model, "InputLayer", &input);
    liana_conv2d_options convolution;
    convolution.filters = 2;
    convolution.kernel_size[0] = 3;
    liana_model_add_at(LIANA_HERE, model, "Conv2D", &convolution);
    int failed = liana_model_status(model) != LIANA_OK || liana_model_info(model).num_parameters != 3 * 3 * 2 + 2;
    liana_model_destroy(model);
    return failed;
}

// A predictor that closes itself, and its outputs for an image.
struct close_predictor {
    void operator()(liana_predictor *predictor) const { liana_predictor_close(predictor); }
};

static std::vector<float> predict(liana_context *context, const char *folder, const liana_pixels &image)
{
    liana_predictor *opened = nullptr;
    if (liana_predictor_open(context, folder, nullptr, &opened) != LIANA_OK) {
        throw std::runtime_error(liana_context_message(context));
    }
    const std::unique_ptr<liana_predictor, close_predictor> predictor(opened);
    std::vector<float> outputs(static_cast<std::size_t>(liana_predictor_info(opened).num_values));
    if (liana_predictor_run_images(opened, &image, 1, outputs.data()) != LIANA_OK) {
        throw std::runtime_error(liana_predictor_message(opened));
    }
    return outputs;
}

static int use_predictor(liana_context *context, const char *folder)
{
    const std::vector<unsigned char> grey(30 * 20, 128);
    const std::vector<float> outputs = predict(context, folder, liana_pixels{grey.data(), 20, 30, 1, 0});
    float sum = 0;
    for (const float output : outputs) sum += output;
    try {
        predict(context, "nowhere", liana_pixels{grey.data(), 20, 30, 1, 0});
    } catch (const std::runtime_error &error) {
        return !(sum > 0.999f && sum < 1.001f && std::strstr(error.what(), "nowhere"));
    }
    return 1;
}

int main(int argc, char **argv)
{
    liana_context_options options{};
    options.num_threads = 3;
    liana_context *context;
    if (liana_context_create(&options, &context) != LIANA_OK) return 1;
    std::printf("liana %s, %d threads\n", liana_version(), liana_context_num_threads(context));
    int failed = argc < 2 || std::strcmp(liana_version(), argv[1]) != 0 || build_graph(context) || build_model(context);
    if (argc > 2) failed |= use_predictor(context, argv[2]);
    liana_context_destroy(context);
    return failed;
}
