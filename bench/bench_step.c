/* The speed of one step without input: images per second of whole updates (shards, their sum, the optimizer) or of
 * inference, on one batch that is always there. For bench.sh, with pytorch_peer.py --input synthetic.
 *
 *   bench_step MODEL [--infer | --converged] [--precision float32|mixed_bfloat16] [--batch N] [--microbatch N]
 *                    [--image-size N] [--classes N] [--steps N] [--warmup N] [--seconds S] [--memory MIB]
 *                    [--device NAME [--against FILE]]
 *
 * MODEL is flowers, mnist, mlp, lstm, gru, transformer, conv1d, conv3d, decoder, layer_norm_mlp or an architecture of
 * the zoo. At least --steps are measured (3), and more until
 * --seconds (2) have passed. --converged measures training as it is after many epochs: the batch is learned first, and
 * the optimizer's slots hold denormal numbers, which the report counts. --memory limits training, as train.memory.
 * --against runs a program of StableHLO (jax_peer.py --export) on the same device in turn with the steps: the report
 * then also has its seconds, and the median of a step's time divided by that of the run just before it. The report is
 * one JSON line. peak_memory is of the whole process, in bytes. compile_seconds is the time from the model to programs
 * that are ready: graphs, their text, the compiler or the programs on disk. LIANA_THREADS and LIANA_MAX_ISA choose the
 * threads and the instruction set. */
#include "base/clock.h"
#include "base/context.h"
#include "base/random.h"
#include "bench_models.h"
#include "stablehlo_program.h"
#include "step/precision.h"
#include "train/objective/step_graphs.h"
#include "train/objective/trainer.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_STEPS = 100000 };

typedef struct bench {
    bench_model what;
    bool infer, converged;
    const char *precision, *device_name, *against_file;
    stablehlo_program *against;
    double *against_seconds, *ratios; /* by step */
    double compile_seconds, against_compile_seconds;
    int least_steps, warmup;
    double least_seconds, memory;
    liana_context *context;
    liana_model *model;
    liana__device *device;
    liana__variables variables;
    liana__trainer *trainer;
    liana__objective objective;
    liana__batch batch;
    liana__component_name input, target; /* of the batch */
    float *outputs;                      /* [batch, classes] */
    liana__arena arena;
    double *seconds;         /* of each step */
    int steps, steps_before; /* that are measured, and those that are not */
    float loss;              /* the sum of the last step */
    double converged_loss;   /* the mean when the converged state was reached */
    long long denormals;     /* of the optimizer's slots, then */
} bench;

/* Noise; of one channel only in a disc that holds a fifth of the image, as the ink of a digit: kernels that leave out
 * zeros would else have more or less to do than in training. */
static void draw_image(const bench_model *what, liana__philox_key key, size_t image, uint8_t *pixels)
{
    const int64_t size = what->height * what->width * what->channels;
    for (int64_t i = 0; i < size; i++) {
        uint32_t words[4];
        const int64_t row = i / what->channels / what->width, column = i / what->channels % what->width;
        const int64_t down = 2 * row - what->height + 1, right = 2 * column - what->width + 1;
        const bool ink = what->channels > 1 || 4 * (down * down + right * right) < what->height * what->width;
        liana__philox(key, (uint32_t[4]){(uint32_t)i, (uint32_t)image, 0, 0}, words);
        pixels[i] = ink ? (uint8_t)words[0] : 0;
    }
}

/* The batch; everything lives in the arena. */
static bool draw_batch(bench *b)
{
    const bench_model *what = &b->what;
    size_t count = (size_t)what->batch_size, size = count * (size_t)(what->height * what->width * what->channels);
    uint8_t *images = liana__arena_allocate(&b->arena, size);
    int32_t *labels = liana__arena_allocate(&b->arena, count * sizeof *labels);
    uint64_t *positions = liana__arena_allocate(&b->arena, count * sizeof *positions);
    b->outputs = liana__arena_allocate(&b->arena, count * (size_t)what->classes * sizeof *b->outputs);
    b->seconds = liana__arena_allocate(&b->arena, (size_t)MOST_STEPS * sizeof *b->seconds);
    b->against_seconds = liana__arena_allocate(&b->arena, (size_t)MOST_STEPS * sizeof *b->against_seconds);
    b->ratios = liana__arena_allocate(&b->arena, (size_t)MOST_STEPS * sizeof *b->ratios);
    if (b->arena.failed) return false;
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    for (size_t i = 0; i < count; i++) draw_image(what, key, i, images + i * (size / count));
    for (size_t i = 0; i < count; i++) {
        labels[i] = (int32_t)(i % (size_t)what->classes);
        positions[i] = i;
        /* To be learned by heart soon, in spite of dropout: one image for each class. */
        size_t image = size / count, same = (size_t)labels[i];
        if (b->converged && same != i) memcpy(images + i * image, images + same * image, image);
    }
    b->batch = (liana__batch){.count = what->batch_size, .positions = positions};
    b->input = liana__input_component(b->model, 0);
    b->target = liana__target_component(&b->objective, 0);
    liana__batch_add(&b->batch, b->input.text, LIANA_U8, &LIANA_SCALAR, images);
    if (!b->infer) liana__batch_add(&b->batch, b->target.text, LIANA_S32, &LIANA_SCALAR, labels);
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static liana_status set_up(bench *b, liana__error *error)
{
    liana_context *context = b->context;
    LIANA_TRY(liana_model_create(context, b->what.name, &b->model));
    LIANA_TRY(bench_model_build(&b->what, b->model, error));
    LIANA_TRY(liana__device_open(context, b->device_name ? b->device_name : "cpu", &b->device, error));
    liana__variables_init(&b->variables, b->device);
    void *adam = liana__arena_allocate(&b->arena, liana__optimizer_Adam.part.options.size);
    if (!adam) return liana__fail_memory(error, "the optimizer's options");
    LIANA_TRY(liana__fields_default(&liana__optimizer_Adam.part.options, &b->arena, adam, error));
    LIANA_TRY(liana__objective_create(&(liana__objective_request){.model = b->model}, !b->infer, &b->arena,
                                      &b->objective, error));
    const bool mixed = strcmp(b->precision, "mixed_bfloat16") == 0;
    liana__trainer_options options = {
        .model = b->model,
        .objective = &b->objective,
        .optimizer = b->infer ? NULL : &liana__optimizer_Adam,
        .optimizer_options = adam,
        .batch_size = b->what.batch_size,
        .microbatch = b->what.microbatch,
        .seed = 1,
        .scale = b->what.scale,
        .memory_limit = (size_t)b->memory << 20,
        .mixed_precision = mixed,
        .evaluates_in_float32 =
            liana__precision_choose(b->device, mixed ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32).evaluates_in_float32,
        .unprepared = true,
    };
    LIANA_TRY(liana__trainer_create(b->device, &options, &b->variables, &b->trainer, error));
    /* From the model to programs that are ready: graphs, their text, the compiler. Its weights are there already. */
    const double begin = liana__clock_seconds();
    LIANA_TRY(liana__step_prepare(b->trainer->step, b->what.batch_size, !b->infer, error));
    b->compile_seconds = liana__clock_seconds() - begin;
    if (!b->against_file) return LIANA_OK;
    return stablehlo_program_open(b->device, b->against_file, &b->against, &b->against_compile_seconds, error);
}

static liana_status run_step(bench *b, int step, liana__error *error)
{
    const float *sums;
    if (b->infer) {
        LIANA_TRY(liana__step_measure(b->trainer->step, &b->batch, b->outputs, &sums, error));
    } else {
        LIANA_TRY(liana__trainer_step(b->trainer, &b->batch, b->what.learning_rate, step + 1, &sums, error));
        b->loss = sums[0];
    }
    return LIANA_OK;
}

/* --- A converged state -------------------------------------------------------------------------------------------- */

/* f(value of m, value of v) for each pair of Adam's slots; changed values are written back. */
static liana_status change_slots(bench *b, void (*change)(bench *b, float *m, float *v), liana__error *error)
{
    static const char prefix[] = "optimizer/Adam/m/";
    for (size_t i = 0; i < b->variables.count; i++) {
        liana__variable *m = &b->variables.items[i];
        if (!liana__starts_with(m->name, prefix)) continue;
        char *name = liana__arena_format(&b->arena, "optimizer/Adam/v/%s", m->name + strlen(prefix));
        liana__variable *v = name ? liana__variables_find(&b->variables, name) : NULL;
        float *means = liana__arena_allocate(&b->arena, m->buffer->size);
        float *squares = liana__arena_allocate(&b->arena, m->buffer->size);
        if (!v || !means || !squares) return liana__fail_memory(error, m->name);
        LIANA_TRY(liana__variable_read(m, means, error));
        LIANA_TRY(liana__variable_read(v, squares, error));
        for (size_t k = 0; k < m->buffer->size / sizeof *means; k++) change(b, &means[k], &squares[k]);
        LIANA_TRY(liana__variable_write(m, means, error));
        LIANA_TRY(liana__variable_write(v, squares, error));
    }
    return LIANA_OK;
}

static void count_denormals(bench *b, float *m, float *v)
{
    b->denormals += (fpclassify(*m) == FP_SUBNORMAL) + (fpclassify(*v) == FP_SUBNORMAL);
}

/* A weight whose gradient stays 0 halves its mean in 7 steps, and its mean of squares in 693: the first is denormal
 * after some 900 steps, the second after some 80,000. This is what becomes of both, also where the processor is told to
 * make zeros of denormal numbers. */
static void let_decay(bench *b, float *m, float *v)
{
    (void)b;
    bool decays = *m != 0 && fabsf(*m) < 1e-16F;
    if (decays) *m = copysignf(1e-41F, *m);
    if (decays) *v = 1e-41F;
}

/* Learns the batch by heart, and ages the optimizer's slots as many epochs more would. */
static liana_status converge(bench *b, liana__error *error)
{
    enum { ENOUGH = 500, AT_MOST = 5000 };
    double images = (double)b->what.batch_size;
    while (b->steps_before < ENOUGH || ((double)b->loss / images > 1e-4 && b->steps_before < AT_MOST)) {
        LIANA_TRY(run_step(b, b->steps_before++, error));
    }
    b->converged_loss = (double)b->loss / images;
    LIANA_TRY(change_slots(b, let_decay, error));
    return change_slots(b, count_denormals, error);
}

/* --- Measuring --------------------------------------------------------------------------------------------------- */

static liana_status measure(bench *b, liana__error *error)
{
    if (!draw_batch(b)) return liana__fail_memory(error, "the batch");
    if (b->converged) LIANA_TRY(converge(b, error));
    double begin = 0, last = 0;
    for (int step = 0; step < b->warmup; step++) {
        LIANA_TRY(run_step(b, b->steps_before++, error));
        if (b->against) LIANA_TRY(stablehlo_program_run(b->against, &begin, error));
    }
    last = begin = liana__clock_seconds();
    while (b->steps < MOST_STEPS && (b->steps < b->least_steps || last - begin < b->least_seconds)) {
        if (b->against) {
            LIANA_TRY(stablehlo_program_run(b->against, &b->against_seconds[b->steps], error));
            last = liana__clock_seconds();
        }
        LIANA_TRY(run_step(b, b->steps_before + b->steps, error));
        double end = liana__clock_seconds();
        b->seconds[b->steps] = end - last;
        if (b->against) b->ratios[b->steps] = (end - last) / b->against_seconds[b->steps];
        b->steps++;
        last = end;
    }
    return LIANA_OK;
}

/* Sorts them. */
static double median_of(const bench *b, double *numbers)
{
    qsort(numbers, (size_t)b->steps, sizeof *numbers, compare_doubles);
    return (numbers[(b->steps - 1) / 2] + numbers[b->steps / 2]) / 2;
}

static void report(const bench *b)
{
    double sum = 0, images = (double)b->what.batch_size;
    for (int i = 0; i < b->steps; i++) sum += b->seconds[i];
    const double median = median_of(b, b->seconds);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"program\": \"liana %s\", \"model\": \"%s\", \"mode\": \"%s\", \"precision\": \"%s\", "
           "\"instruction_set\": \"%s\", \"image_size\": %lld, \"steps\": %d, \"warmup\": %d, \"threads\": %d, "
           "\"batch_size\": %lld, \"microbatch\": %lld, ",
           liana_version(), b->what.name, b->infer ? "infer" : "train", b->precision, liana__isa_name(b->context->isa),
           (long long)b->what.height, b->steps, b->warmup, liana_context_num_threads(b->context),
           (long long)b->what.batch_size, (long long)liana__trainer_microbatch(b->trainer));
    if (!b->infer) printf("\"loss\": %.6g, ", (double)b->loss / images);
    if (b->converged) printf("\"converged_loss\": %.6g, \"denormals\": %lld, ", b->converged_loss, b->denormals);
    if (b->against) {
        printf("\"seconds_median\": %.5f, \"seconds_least\": %.5f, \"against_seconds_median\": %.5f, ", median,
               b->seconds[0], median_of(b, b->against_seconds));
        printf("\"against_seconds_least\": %.5f, \"ratio_median\": %.4f, \"against_compile_seconds\": %.2f, ",
               b->against_seconds[0], median_of(b, b->ratios), b->against_compile_seconds);
    }
    printf("\"compile_seconds\": %.2f, ", b->compile_seconds);
    printf("\"peak_memory\": %lld, \"images_per_second_median\": %.2f, \"images_per_second\": %.2f}\n",
           (long long)usage.ru_maxrss * 1024, images / median, images * b->steps / sum);
}

static void tear_down(bench *b)
{
    stablehlo_program_close(b->against);
    liana__trainer_destroy(b->trainer);
    liana__variables_free(&b->variables);
    liana__device_close(b->device);
    liana_model_destroy(b->model);
    liana__arena_free(&b->arena);
    liana_context_destroy(b->context);
}

/* --- The command line -------------------------------------------------------------------------------------------- */

enum option_name {
    INFER = 1,
    CONVERGED,
    PRECISION,
    DEVICE,
    AGAINST,
    BATCH,
    MICROBATCH,
    IMAGE_SIZE,
    CLASSES,
    STEPS,
    WARMUP,
    MEMORY,
    SECONDS
};

static const struct option long_options[] = {
    {"infer", no_argument, NULL, INFER},
    {"converged", no_argument, NULL, CONVERGED},
    {"precision", required_argument, NULL, PRECISION},
    {"device", required_argument, NULL, DEVICE},
    {"against", required_argument, NULL, AGAINST},
    {"batch", required_argument, NULL, BATCH},
    {"microbatch", required_argument, NULL, MICROBATCH},
    {"image-size", required_argument, NULL, IMAGE_SIZE},
    {"classes", required_argument, NULL, CLASSES},
    {"steps", required_argument, NULL, STEPS},
    {"warmup", required_argument, NULL, WARMUP},
    {"memory", required_argument, NULL, MEMORY},
    {"seconds", required_argument, NULL, SECONDS},
    {0},
};

/* A number within the limits, or an error that names the option. */
static liana_status read_number(const char *option, const char *text, double least, double most, double *number,
                                liana__error *error)
{
    char *end;
    *number = strtod(text, &end);
    if (*text && !*end && *number >= least && *number <= most) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "--%s is '%s', expected a number from %g to %g", option, text,
                       least, most);
}

static liana_status read_option(bench *b, int option, const char *name, const char *text, liana__error *error)
{
    static const struct {
        double least, most;
    } limits[] = {
        [BATCH] = {1, 1 << 20},    [MICROBATCH] = {0, 1 << 20}, [IMAGE_SIZE] = {1, 1 << 14}, [CLASSES] = {1, 1 << 20},
        [STEPS] = {1, MOST_STEPS}, [WARMUP] = {0, MOST_STEPS},  [MEMORY] = {0, 1 << 24},     [SECONDS] = {0, 3600},
    };
    double number = 0;
    if (option == PRECISION) b->precision = text;
    if (option == DEVICE) b->device_name = text;
    if (option == AGAINST) b->against_file = text;
    if (option == INFER) b->infer = true;
    if (option == CONVERGED) b->converged = true;
    if (option >= BATCH) LIANA_TRY(read_number(name, text, limits[option].least, limits[option].most, &number, error));
    if (option != SECONDS && number != floor(number)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "--%s is '%s', expected a whole number", name, text);
    }
    if (option == BATCH) b->what.batch_size = (int64_t)number;
    if (option == MICROBATCH) b->what.microbatch = (int64_t)number;
    if (option == CLASSES) b->what.classes = (int64_t)number;
    if (option == STEPS) b->least_steps = (int)number;
    if (option == WARMUP) b->warmup = (int)number;
    if (option == MEMORY) b->memory = number;
    if (option == SECONDS) b->least_seconds = number;
    if (option == IMAGE_SIZE || option == CLASSES) {
        if (b->what.build) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "--%s: '%s' is a network of one size", name, b->what.name);
        }
        if (option == IMAGE_SIZE) b->what.height = b->what.width = (int64_t)number;
    }
    return LIANA_OK;
}

static liana_status read_arguments(int argc, char **argv, bench *b, liana__error *error)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2 || *name == '-') {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "usage: bench_step MODEL [OPTIONS]; bench/bench_step.c says "
                           "which");
    }
    LIANA_TRY(bench_model_find(name, &b->what, error));
    optind = 2;
    int option, at;
    while ((option = getopt_long(argc, argv, "", long_options, &at)) != -1) {
        if (option == '?') return liana__fail(error, LIANA_INVALID_CONFIG, "an option is unknown or has no value");
        LIANA_TRY(read_option(b, option, long_options[at].name, optarg, error));
    }
    if (optind < argc) return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is not understood", argv[optind]);
    if (strcmp(b->precision, "float32") != 0 && strcmp(b->precision, "mixed_bfloat16") != 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "--precision is '%s', expected float32 or mixed_bfloat16",
                           b->precision);
    }
    if (b->infer && b->converged) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "--converged is for training, not for --infer");
    }
    return LIANA_OK;
}

int main(int argc, char **argv)
{
    bench b = {.precision = "float32", .least_steps = 3, .warmup = 2, .least_seconds = 2};
    liana_status status = liana_context_create(NULL, &b.context);
    liana__error *error = b.context ? &b.context->error : NULL;
    if (status == LIANA_OK) status = read_arguments(argc, argv, &b, error);
    if (status == LIANA_OK) status = set_up(&b, error);
    if (status == LIANA_OK) status = measure(&b, error);
    if (status == LIANA_OK) report(&b);
    if (status != LIANA_OK) fprintf(stderr, "bench_step: %s\n", error ? error->message : liana_status_text(status));
    tear_down(&b);
    return status == LIANA_OK ? 0 : status == LIANA_INVALID_CONFIG ? 2 : 1;
}
