/* The speed of a model in one file: saving it against a plain write of as many bytes with fsync, and opening a .keras
 * file against `unzip -t`, which reads it and checks its sums.
 *
 *   bench_model_files FOLDER [ROUNDS]     default 5
 *
 * The model is ResNet50, 102 MB. It is written to FOLDER as .keras, .h5, .weights.h5 and .safetensors, which are not
 * there before. A line says the median seconds of both sides, in turn, and the median of their ratios. Files that are
 * opened are in the page cache. */
#include <liana/liana.h>

#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROUNDS = 99 };

typedef struct kind {
    const char *name;
    const char *reader; /* NULL: it is not opened */
} kind;

static const kind kinds[] = {{"model.keras", "unzip -tqq"},
                             {"model.h5", NULL},
                             {"model.weights.h5", NULL},
                             {"model.safetensors", NULL}};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, int count)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static double seconds_since(uint64_t begin)
{
    return 1e-9 * (double)(liana__clock() - begin);
}

/* Writes a file's bytes once more, beside it. */
static double time_plain_write(const char *path)
{
    char other[4096];
    struct stat facts;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &facts) != 0) exit(2);
    char *bytes = malloc((size_t)facts.st_size);
    if (!bytes || fread(bytes, 1, (size_t)facts.st_size, file) != (size_t)facts.st_size) exit(2);
    fclose(file);
    snprintf(other, sizeof other, "%s.plain", path);
    const uint64_t begin = liana__clock();
    const int out = open(other, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (size_t done = 0; done < (size_t)facts.st_size;) {
        const ssize_t written = write(out, bytes + done, (size_t)facts.st_size - done);
        if (written <= 0) exit(2);
        done += (size_t)written;
    }
    if (fsync(out) != 0) exit(2);
    close(out);
    const double seconds = seconds_since(begin);
    unlink(other);
    free(bytes);
    return seconds;
}

static double time_reader(const kind *of, const char *path)
{
    char command[5000];
    snprintf(command, sizeof command, "%s '%s' >/dev/null", of->reader, path);
    const uint64_t begin = liana__clock();
    if (system(command) != 0) {
        fprintf(stderr, "bench_model_files: '%s' fails\n", command);
        exit(2);
    }
    return seconds_since(begin);
}

static double time_save(liana_context *context, liana_model *model, const char *path)
{
    const uint64_t begin = liana__clock();
    if (liana_model_save(model, path) != LIANA_OK) {
        fprintf(stderr, "bench_model_files: %s\n", liana_context_message(context));
        exit(1);
    }
    return seconds_since(begin);
}

static double time_load(liana_context *context, const char *path)
{
    liana_model *model;
    const uint64_t begin = liana__clock();
    if (liana_model_load(context, path, &model) != LIANA_OK) {
        fprintf(stderr, "bench_model_files: %s\n", liana_context_message(context));
        exit(1);
    }
    const double seconds = seconds_since(begin);
    liana_model_destroy(model);
    return seconds;
}

static void print_row(const char *name, const char *verb, const char *against, const double *liana, const double *other,
                      int rounds)
{
    double ratios[MOST_ROUNDS];
    for (int i = 0; i < rounds; i++) ratios[i] = liana[i] / other[i];
    printf("%-18s %s %.3f s, %s %.3f s, ratio %.2f\n", name, verb, median(liana, rounds), against,
           median(other, rounds), median(ratios, rounds));
}

static void measure(liana_context *context, liana_model *model, const kind *of, const char *folder, int rounds)
{
    char path[4000];
    double ours[MOST_ROUNDS], others[MOST_ROUNDS];
    snprintf(path, sizeof path, "%s/%s", folder, of->name);
    /* The first one also draws the weights. */
    time_save(context, model, path);
    for (int i = 0; i < rounds; i++) {
        unlink(path);
        ours[i] = time_save(context, model, path);
        others[i] = time_plain_write(path);
    }
    print_row(of->name, "saved in", "a plain write with fsync", ours, others, rounds);
    for (int i = 0; of->reader && i < rounds; i++) {
        others[i] = time_reader(of, path);
        ours[i] = time_load(context, path);
    }
    if (of->reader) print_row(of->name, "opened in", of->reader, ours, others, rounds);
    unlink(path);
}

int main(int count, char **words)
{
    const int rounds = count > 2 ? atoi(words[2]) : 5;
    liana_context *context;
    liana_model *model;
    if (count < 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench_model_files FOLDER [ROUNDS, at most %d]\n", MOST_ROUNDS);
        return 2;
    }
    if (liana_context_create(NULL, &context) != LIANA_OK || liana_model_create(context, "resnet", &model) != LIANA_OK) {
        return 1;
    }
    liana_resnet50(model);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) measure(context, model, &kinds[i], words[1], rounds);
    liana_model_destroy(model);
    liana_context_destroy(context);
    return 0;
}
