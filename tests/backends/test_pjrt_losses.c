/* The losses of 20 updates on 1, 2 and 8 devices of a PJRT plugin, in whole updates: no further from the CPU's than
 * four times the distance of the CPU's own instruction sets from each other; and in exact mode the same bits. Both add
 * in their own orders, and round to bf16 in mixed precision; how far that goes is the training's doing
 * (docs/explanation/pjrt.md), so the CPU itself says how much may be expected. */
#include "harness/peers.h"

#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UPDATES = 20 };

/* An update is an epoch here, so that the history has the loss of each. */
#define TRAINED(optimizer, batch)                                                               \
    "train: {epochs: 20, steps_per_epoch: 1, " batch ", seed: 3, optimizer: {" optimizer "}}\n" \
    "checkpoint: {every_epoch: false}\n"

static double largest_difference(const double *a, const double *b)
{
    double largest = 0;
    for (size_t i = 0; i < UPDATES; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

static void train(const char *config, const char *run, const char *device, const char *strategy, double losses[UPDATES])
{
    assert_code(liana__test_command("train", config, liana__test_output(run), device, strategy), 0);
    assert_int_equal(liana__test_history(run, "loss", losses, UPDATES), UPDATES);
}

/* On the CPU with instructions up to these. */
static void train_with(const char *config, const char *run, const char *instructions, double losses[UPDATES])
{
    const char *set = getenv("LIANA_MAX_ISA");
    char *before = set ? strdup(set) : NULL;
    setenv("LIANA_MAX_ISA", instructions, 1);
    train(config, run, "train.device=cpu", "train.strategy=one_device", losses);
    if (before) {
        setenv("LIANA_MAX_ISA", before, 1);
    } else {
        unsetenv("LIANA_MAX_ISA");
    }
    free(before);
}

static void check_losses(const char *name, const char *written)
{
    char config[512];
    snprintf(config, sizeof config, "%s", written);
    double cpu[UPDATES], other[UPDATES], ours[UPDATES];
    char run[32];
    train(config, "cpu", "train.device=cpu", "train.strategy=one_device", cpu);
    train_with(config, "avx2", "avx2", other);
    double spread = largest_difference(cpu, other);
    if (spread == 0) {
        /* This machine has no more than AVX2. */
        train_with(config, "baseline", "baseline", other);
        spread = largest_difference(cpu, other);
    }
    assert_compare(fabs(cpu[0] - cpu[UPDATES - 1]), >, 1e-3);
    static const char *const counts[] = {"1", "2", "8"};
    for (int i = 0; i < 3; i++) {
        char strategy[64];
        snprintf(strategy, sizeof strategy, "train.strategy={name: mirrored, replicas: %s}", counts[i]);
        snprintf(run, sizeof run, "plugin%s", counts[i]);
        train(config, run, "train.device=pjrt:cpu?cpu_device_count=8", strategy, ours);
        const double difference = largest_difference(cpu, ours);
        print_message("%s, %s devices: %.3g from the CPU, whose instruction sets are %.3g apart\n", name, counts[i],
                      difference, spread);
        if (difference > 4 * spread) fail_msg("%s on %s devices is too far from the CPU", name, counts[i]);
    }
}

/* Exact mode: the same bits on 1, 2 and 8 devices. Their programs are the same, so they are compiled once. */
static void check_bits(const char *written)
{
    char config[512], cache[512];
    snprintf(config, sizeof config, "%s", written);
    snprintf(cache, sizeof cache, "%s", liana__test_path("programs"));
    setenv("LIANA_PROGRAM_CACHE", cache, 1);
    static const char *const counts[] = {"1", "2", "8"}, *const runs[] = {"exact1", "exact2", "exact8"};
    for (int i = 0; i < 3; i++) {
        char strategy[64];
        snprintf(strategy, sizeof strategy, "train.strategy={name: mirrored, replicas: %s}", counts[i]);
        assert_code(liana__test_command("train", config, liana__test_output(runs[i]),
                                        "train.device=pjrt:cpu?cpu_device_count=8", strategy,
                                        "train.deterministic=true", "train.epochs=3"),
                    0);
        if (i > 0) liana__test_assert_same_training(runs[0], runs[i]);
    }
    setenv("LIANA_PROGRAM_CACHE", "", 1);
}

static void begin(void)
{
    const char *set = getenv("LIANA_MAX_ISA");
    if (!liana__test_plugin_is_there()) skip();
    /* Below AVX2 there is nothing to compare with. */
    if (set && strcmp(set, "baseline") == 0) liana__test_skip("LIANA_MAX_ISA is baseline");
    liana__test_folder();
}

static void write_mnist(const char *precision, char *text, size_t size)
{
    char images[512];
    snprintf(images, sizeof images, "%s", liana__test_data("mnist/t10k-images-idx3-ubyte.gz"));
    snprintf(text, size,
             "data: {train: {images: '%s', labels: '%s'}, take: 640, repeat: true}\n"
             "model:\n"
             "  layers:\n"
             "    - Conv2D: {filters: 16, kernel_size: 3, activation: relu, bias_initializer: random_uniform}\n"
             "    - MaxPooling2D\n"
             "    - Conv2D: {filters: 32, kernel_size: 3, activation: relu, bias_initializer: random_uniform}\n"
             "    - MaxPooling2D\n"
             "    - Flatten\n"
             "    - Dropout: {rate: 0.5}\n"
             "    - Dense: {units: 10, activation: softmax}\n" TRAINED("name: Adam, learning_rate: 0.001",
                                                                       "batch_size: 64, microbatch: 8, precision: %s"),
             images, liana__test_data("mnist/t10k-labels-idx1-ubyte.gz"), precision);
}

/* Biases are not 0. On an image's empty background sums would else be 0, or by rounding nearly so, and there relu's
 * derivative jumps: the CPU's Winograd convolutions round what others compute exactly. */
static void test_mnist(void **state)
{
    (void)state;
    begin();
    char text[4096];
    write_mnist("float32", text, sizeof text);
    check_losses("MNIST", liana__test_write("mnist.yaml", text, strlen(text)));
}

/* The plugin rounds to bf16 where the graph says so, as the reference does. The CPU's kernels round once for several
 * ops. So the CPU's distance from the reference is what rounding in other places does, and the plugin is to be nearer.
 * */
static void test_mnist_in_mixed_precision(void **state)
{
    (void)state;
    begin();
    char text[4096], config[512];
    const char *strategy = "train.strategy=one_device";
    double whole[UPDATES], expected[UPDATES], cpu[UPDATES], ours[UPDATES];
    write_mnist("float32", text, sizeof text);
    snprintf(config, sizeof config, "%s", liana__test_write("whole.yaml", text, strlen(text)));
    train(config, "whole", "train.device=cpu", strategy, whole);
    write_mnist("mixed_bfloat16", text, sizeof text);
    snprintf(config, sizeof config, "%s", liana__test_write("mixed.yaml", text, strlen(text)));
    train(config, "expected", "train.device=reference", strategy, expected);
    train(config, "cpu", "train.device=cpu", strategy, cpu);
    train(config, "ours", "train.device=pjrt:cpu", strategy, ours);
    const double difference = largest_difference(ours, expected), spread = largest_difference(cpu, expected);
    print_message("MNIST in mixed precision: %.3g from the reference, the CPU %.3g\n", difference, spread);
    assert_near(ours[0], expected[0], 1e-6);
    assert_compare(difference, <=, spread);
    /* It does round to bf16. */
    assert_compare(fabs(ours[0] - whole[0]), >, 1e-5);
}

static void write_mobilenet(char *text, size_t size)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s", liana__test_path("flowers"));
    assert_code(liana__test_command("synth", "flowers", "classes=3", "images=60", "image_size=48", "--out", folder), 0);
    snprintf(text, size,
             "data: {train: '%s/train/*.tfrec', class_names: '%s/classes.txt', repeat: true}\n"
             "model: {base: MobileNetV2, alpha: 0.35, weights: null}\n" TRAINED("name: SGD, learning_rate: 0.001",
                                                                                "batch_size: 16, microbatch: 8"),
             folder, folder);
}

/* Depthwise and strided convolutions, 52 batch normalisations. */
static void test_mobilenet(void **state)
{
    (void)state;
    begin();
    char text[2048];
    write_mobilenet(text, sizeof text);
    check_losses("MobileNetV2", liana__test_write("mobilenet.yaml", text, strlen(text)));
}

static void test_mnist_bits(void **state)
{
    (void)state;
    begin();
    char text[4096];
    write_mnist("float32", text, sizeof text);
    check_bits(liana__test_write("mnist.yaml", text, strlen(text)));
}

static void test_mobilenet_bits(void **state)
{
    (void)state;
    begin();
    char text[2048];
    write_mobilenet(text, sizeof text);
    check_bits(liana__test_write("mobilenet.yaml", text, strlen(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mnist),          cmocka_unit_test(test_mnist_in_mixed_precision),
        cmocka_unit_test(test_mobilenet),      cmocka_unit_test(test_mnist_bits),
        cmocka_unit_test(test_mobilenet_bits),
    };
    return cmocka_run_group_tests_name("pjrt_losses", tests, NULL, NULL);
}
