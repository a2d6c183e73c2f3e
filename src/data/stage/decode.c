/* Encoded images, or pixels of another size, into pixels of one. */
#include "data/image/decode.h"
#include "data/dataset/dataset.h"
#include "data/dataset/dataset_source.h"

typedef struct decode {
    size_t image;
    liana__decode_options options;
} decode;

static liana_status decode_image(liana__reader *reader, const liana__at *at, const liana_element *input,
                                 liana_element *element, liana__error *error)
{
    const decode *own = reader->dataset->own;
    liana__holder *store = &reader->store;
    liana__decoder *decoder = reader->own;
    decoder->image.share = reader->share;
    liana_source_record record = {0};
    LIANA_TRY(liana__holder_begin(store, &reader->dataset->spec, 0, error));
    liana__dataset_image(input, own->image, &record);
    liana_status status =
        liana__decode_record(decoder, &own->options, &record, NULL, store->columns[own->image], error);
    if (status != LIANA_OK) {
        return liana__fail_within(error, "position %llu of epoch %llu (record %llu)", (unsigned long long)at->index,
                                  (unsigned long long)at->epoch, (unsigned long long)input->record);
    }
    *element = *input;
    element->data[own->image] = store->columns[own->image];
    element->rows[own->image] = own->options.height;
    return LIANA_OK;
}

static void free_decoder(void *own)
{
    liana__decoder_free(own);
}

static size_t decoder_bytes(const liana__reader *reader)
{
    return liana__decoder_bytes(reader->own);
}

liana_dataset *liana_dataset_decode_images(liana_dataset *input, const liana_decode_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    enum { MAX_SIDE = 16384 };
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_decode_images, input, sizeof(decode));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    decode *own = dataset->own;
    own->options = (liana__decode_options){.height = options->height,
                                           .width = options->width,
                                           .channels = options->channels,
                                           .antialias = options->antialias};
    liana_status status = liana__dataset_check_image(&dataset->spec, &own->image, error);
    if (status == LIANA_OK && (options->height < 1 || options->width < 1 || options->height > MAX_SIDE ||
                               options->width > MAX_SIDE || (options->channels != 1 && options->channels != 3))) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                             "images cannot be made %lld x %lld x %d: sizes must be 1 to %d, channels 1 or 3",
                             (long long)options->height, (long long)options->width, options->channels, MAX_SIDE);
    }
    if (status == LIANA_OK) {
        liana_component *image = &dataset->spec.components[own->image];
        image->dtype = LIANA_U8;
        image->shape = (liana_shape){3, {options->height, options->width, options->channels}};
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_decode_images = {
    LIANA_PART(STAGE, liana_stage_type, "decode_images", "Decodes images and resizes them to one shape."),
    .options_size = offsetof(decode, options.fast) + sizeof(bool),
    .apply = decode_image,
    .reader_size = sizeof(liana__decoder),
    .reader_free = free_decoder,
    .reader_bytes = decoder_bytes,
    .works = true,
};
