/* Pictures of a validation that other processes of a cluster have. */
#include "train/callbacks/event_images.h"

#include "base/message.h"
#include "base/scoped.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_SIDE = 1 << 20 };

/* The samples, then the mistakes. */
static liana__event_picture *picture_at(liana__event_review *review, size_t place)
{
    if (place < review->num_samples) return &review->samples[place];
    return &review->mistakes[place - review->num_samples].picture;
}

static size_t count_pictures(const liana__event_review *review)
{
    return review->num_samples + review->num_mistakes;
}

static size_t size_of(const int64_t shape[3])
{
    return (size_t)(shape[0] * shape[1] * shape[2]);
}

static void write_pictures(liana__event_review *review, liana__text *message)
{
    for (size_t i = 0; i < count_pictures(review); i++) {
        const liana__event_picture *own = picture_at(review, i);
        if (!own->pixels) continue;
        liana__message_put_u64(message, i);
        for (size_t k = 0; k < 3; k++) liana__message_put_i64(message, own->shape[k]);
        liana__message_put_bytes(message, own->pixels, size_of(own->shape));
    }
}

/* Takes the picture of a message, unless it is here already. */
static liana_status read_picture(liana__event_review *review, liana__message_reader *reader, liana__error *error)
{
    const size_t place = (size_t)liana__message_get_below(reader, count_pictures(review));
    int64_t shape[3];
    size_t size;
    for (size_t k = 0; k < 3; k++) shape[k] = (int64_t)liana__message_get_below(reader, LONGEST_SIDE);
    const void *pixels = liana__message_get_bytes(reader, &size);
    if (reader->failed || size != size_of(shape)) {
        return liana__fail(error, LIANA_INTERNAL, "the pictures of another process cannot be read");
    }
    liana__event_picture *to = picture_at(review, place);
    if (to->pixels) return LIANA_OK;
    to->pixels = malloc(size + 1);
    if (!to->pixels) return liana__fail_memory(error, "the images of a validation");
    memcpy(to->pixels, pixels, size);
    memcpy(to->shape, shape, sizeof shape);
    return LIANA_OK;
}

liana_status liana__event_review_share(liana__event_review *review, liana__cluster *cluster, liana__error *error)
{
    LIANA__SCOPED(liana__text) message = {0};
    LIANA__SCOPED(liana__gathered) all = {0};
    if (!cluster || !review->is_gathered) return LIANA_OK;
    write_pictures(review, &message);
    /* Without memory for the own pictures the others go on without them. */
    LIANA_TRY(liana__cluster_gather_sized(cluster, message.data, message.failed ? 0 : message.length, &all, error));
    for (size_t rank = 0; rank < liana__cluster_size(cluster); rank++) {
        liana__message_reader reader = {.data = all.data + all.offsets[rank],
                                        .size = all.offsets[rank + 1] - all.offsets[rank]};
        while (!liana__message_is_read(&reader)) LIANA_TRY(read_picture(review, &reader, error));
    }
    return LIANA_OK;
}
