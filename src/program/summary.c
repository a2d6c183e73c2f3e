/* Event files of a program. */
#include "base/context.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/event_histogram.h"
#include "formats/event_writer.h"
#include "formats/image.h"

#include <liana/summary.h>
#include <stdlib.h>

struct liana_summary {
    liana_context *context;
    liana__event_writer *writer;
};

liana_status liana_summary_create(liana_context *context, const char *folder, liana_summary **summary)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, folder);
    LIANA__REQUIRE(&context->error, summary);
    *summary = NULL;
    liana_summary *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(&context->error, "a summary");
    made->context = context;
    const liana_status status = liana__event_writer_open(folder, &made->writer, &context->error);
    if (status == LIANA_OK) {
        *summary = made;
    } else {
        free(made);
    }
    return status;
}

liana_status liana_summary_destroy(liana_summary *summary)
{
    if (!summary) return LIANA_OK;
    const liana_status status = liana__event_writer_close(summary->writer, &summary->context->error);
    free(summary);
    return status;
}

liana_status liana_summary_flush(liana_summary *summary)
{
    LIANA__REQUIRE(NULL, summary);
    return liana__event_writer_flush(summary->writer, &summary->context->error);
}

const char *liana_summary_path(const liana_summary *summary)
{
    return summary ? liana__event_writer_path(summary->writer) : NULL;
}

/* ---- values ---- */

static liana_status add(liana_summary *summary, int64_t step, const liana__summary_value *value)
{
    liana__error *error = &summary->context->error;
    if (!*value->tag) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': a value without a tag, expected its name, such as loss",
                           liana__event_writer_path(summary->writer));
    }
    return liana__event_writer_add(summary->writer, step, value, 1, error);
}

liana_status liana_summary_scalar(liana_summary *summary, int64_t step, const char *tag, double value)
{
    LIANA__REQUIRE(NULL, summary);
    LIANA__REQUIRE(&summary->context->error, tag);
    return add(summary, step, &(liana__summary_value){.tag = tag, .kind = LIANA__SUMMARY_SCALAR, .number = value});
}

liana_status liana_summary_histogram(liana_summary *summary, int64_t step, const char *tag, const float *values,
                                     int64_t count)
{
    double buckets[LIANA__EVENT_BUCKETS * 3];
    LIANA__REQUIRE(NULL, summary);
    LIANA__REQUIRE(&summary->context->error, tag);
    LIANA__REQUIRE(&summary->context->error, values);
    if (count < 0) {
        return liana__fail(&summary->context->error, LIANA_INVALID_ARGUMENT,
                           "the histogram '%s' is of %lld values, expected 0 or more", tag, (long long)count);
    }
    if (liana__event_buckets(values, count, buckets) == 0) return LIANA_OK;
    return add(summary, step,
               &(liana__summary_value){.tag = tag,
                                       .kind = LIANA__SUMMARY_HISTOGRAM,
                                       .buckets = buckets,
                                       .num_buckets = LIANA__EVENT_BUCKETS});
}

liana_status liana_summary_text(liana_summary *summary, int64_t step, const char *tag, const char *text)
{
    LIANA__REQUIRE(NULL, summary);
    LIANA__REQUIRE(&summary->context->error, tag);
    LIANA__REQUIRE(&summary->context->error, text);
    return add(summary, step, &(liana__summary_value){.tag = tag, .kind = LIANA__SUMMARY_TEXT, .text = text});
}

/* ---- images ---- */

enum { LARGEST_SIDE = 1 << 16, MOST_IMAGES = 4096 };

static liana_status check_images(liana_summary *summary, const char *tag, const int64_t shape[4])
{
    const bool fits = shape[0] >= 1 && shape[0] <= MOST_IMAGES && shape[1] >= 1 && shape[1] <= LARGEST_SIDE &&
                      shape[2] >= 1 && shape[2] <= LARGEST_SIDE && (shape[3] == 1 || shape[3] == 3);
    if (fits) return LIANA_OK;
    return liana__fail(&summary->context->error, LIANA_INVALID_ARGUMENT,
                       "the images '%s' are [%lld, %lld, %lld, %lld], expected [count, height, width, channels] with 1 "
                       "to %d images, sides of 1 to %d pixels, and 1 or 3 channels",
                       tag, (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)shape[3],
                       MOST_IMAGES, LARGEST_SIDE);
}

static liana_status add_images(liana_summary *summary, int64_t step, const char *tag, const uint8_t *pixels,
                               const int64_t shape[4], liana__arena *arena)
{
    liana__error *error = &summary->context->error;
    liana__summary_image *images = liana__arena_allocate(arena, (size_t)shape[0] * sizeof *images);
    if (!images) return liana__fail_memory(error, "images");
    for (int64_t i = 0; i < shape[0]; i++) {
        LIANA__SCOPED(liana__text) png = {0};
        const uint8_t *image = pixels + i * shape[1] * shape[2] * shape[3];
        LIANA_TRY(liana__png_encode(image, shape[1], shape[2], (int)shape[3], &png, error));
        images[i] = (liana__summary_image){liana__arena_copy(arena, png.data, png.length), png.length};
        if (!images[i].bytes) return liana__fail_memory(error, "images");
    }
    return add(summary, step,
               &(liana__summary_value){.tag = tag,
                                       .kind = LIANA__SUMMARY_IMAGES,
                                       .images = images,
                                       .num_images = (size_t)shape[0],
                                       .width = (int)shape[2],
                                       .height = (int)shape[1]});
}

liana_status liana_summary_image(liana_summary *summary, int64_t step, const char *tag, const uint8_t *pixels,
                                 int64_t count, int64_t height, int64_t width, int64_t channels)
{
    const int64_t shape[4] = {count, height, width, channels};
    liana__arena arena = {0};
    LIANA__REQUIRE(NULL, summary);
    LIANA__REQUIRE(&summary->context->error, tag);
    LIANA__REQUIRE(&summary->context->error, pixels);
    LIANA_TRY(check_images(summary, tag, shape));
    const liana_status status = add_images(summary, step, tag, pixels, shape, &arena);
    liana__arena_free(&arena);
    return status;
}

/* ---- steps ---- */

liana_status liana_summary_results(liana_summary *summary, int64_t step, const char *prefix,
                                   const liana_step_results *results)
{
    LIANA__REQUIRE(NULL, summary);
    LIANA__REQUIRE(&summary->context->error, results);
    for (size_t i = 0; results->num_examples > 0 && i < results->num_sums; i++) {
        LIANA__SCOPED(liana__text) tag = {0};
        liana__text_add(&tag, "%s%s%s", prefix ? prefix : "", prefix ? "/" : "", results->names[i]);
        if (tag.failed) return liana__fail_memory(&summary->context->error, "a summary");
        LIANA_TRY(liana_summary_scalar(summary, step, tag.data, results->sums[i] / (double)results->num_examples));
    }
    return LIANA_OK;
}
