/* dataset_source.h - a dataset as a source of labelled images, which is what the loader makes batches of; and files as
 * a dataset.
 *
 * Its elements have a component `image` (an encoded file, or u8 pixels), and may have `label` (a whole number) and `id`
 * (a string). A random-access dataset is read at any index, as files are. A replayed or endless one keeps its own
 * order: it is read at a position of the endless stream of its epochs, nearly in ascending order. */
#ifndef LIANA_DATA_DATASET_SOURCE_H
#define LIANA_DATA_DATASET_SOURCE_H

#include "data/dataset/dataset.h"
#include "data/image/decode.h"

/* What iterators and models may use for elements made ahead where nothing else is said: 1 GiB. */
#define LIANA__DATASET_MEMORY ((size_t)1 << 30)

/* The dataset's own files, where it is nothing else; otherwise a source that reads from it, and keeps it.
 * `endless_length` stands for the number of records of an endless dataset (0 refuses that), or of one of unknown
 * length, whose end is met as it is read, and begins it again. With 0 that is gone through once, but for stages that
 * keep the number, to count. Errors: INVALID_ARGUMENT (components that are not there or are something else),
 * INVALID_DATA (no elements), those of the elements. */
liana_status liana__dataset_view(const liana_dataset *dataset, int64_t endless_length, liana__source **source,
                                 liana__error *error) LIANA_MUST_USE;
/* Closes what liana__dataset_view gave, unless it is a dataset's own. NULL is allowed. */
void liana__dataset_close_view(liana__source *source);

/* Calls `visit` for each source that a source is made of: those of the files of a view's dataset, else itself. */
void liana__dataset_view_sources(const liana__source *source, void (*visit)(void *user, const liana__source *source),
                                 void *user);

/* The names of the classes where the files that the elements come from (the first of several) know them. */
liana__strings liana__dataset_class_names(const liana_dataset *dataset);

/* Whether the labels are numbers in files, which nothing on the way changes. */
bool liana__dataset_has_numbers(const liana_dataset *dataset);

/* What a program's options say of the classes, as a source takes it. Errors: INVALID_ARGUMENT. */
liana_status liana__dataset_ask_classes(const liana_dataset_options *options, liana__source_options *wanted,
                                        liana__error *error) LIANA_MUST_USE;
/* Takes the options over that a dataset keeps. Errors: OUT_OF_MEMORY. */
liana_status liana__dataset_keep_options(liana_dataset *dataset, const liana_dataset_options *options,
                                         liana__error *error) LIANA_MUST_USE;

/* A dataset of files that are open, whose source it takes, also on failure (NULL, the message is the context's). */
liana_dataset *liana__dataset_of_source(liana_context *context, liana__source *source, int64_t label_offset);

/* The files of a dataset that is nothing but files (dataset->source) taken in turn. Takes it, as stages do. Fails where
 * each example is a file of its own. */
liana_dataset *liana__dataset_interleave_files(liana_dataset *files, const liana_interleave_datasets_options *options);

/* Finds the component that holds images. Errors: INVALID_ARGUMENT. */
liana_status liana__dataset_check_image(const liana__spec *spec, size_t *component, liana__error *error) LIANA_MUST_USE;
/* Bytes or pixels of that component; the rest of the record is empty. */
void liana__dataset_image(const liana_element *element, size_t component, liana__record *record);

#endif
