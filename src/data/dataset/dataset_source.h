/* dataset_source.h - a dataset as a source of examples, of which the loader makes batches; and files as a dataset.
 *
 * Components with a meaning: `image` (an encoded file, or u8 pixels), `label` (a whole number), `id` (a string). All
 * are values too. A random-access dataset is read at any index, like files. A replayed or endless one keeps its own
 * order: it is read at a position of the endless stream of its epochs, nearly in ascending order. */
#ifndef LIANA_DATA_DATASET_SOURCE_H
#define LIANA_DATA_DATASET_SOURCE_H

#include "data/dataset/dataset.h"
#include "data/image/decode.h"

/* The default memory of iterators and models for elements made ahead: 1 GiB. */
#define LIANA__DATASET_MEMORY ((size_t)1 << 30)

/* Makes a view of a dataset: the dataset's own files if it is nothing else; otherwise a source that reads from the
 * dataset and keeps a reference to it.
 *
 * An endless dataset counts as one of `endless_length` records; with 0 it is refused. A dataset of unknown length
 * counts as `endless_length` records too: it is read to its end and then from its start again. With 0 its elements are
 * counted in one pass, which leaves out the stages that do not change their number.
 *
 * `view` needs images, and labels that are whole numbers if there are labels; `view_values` takes any components with
 * static shapes.
 *
 * Errors: INVALID_ARGUMENT (missing or wrong components), INVALID_DATA (no elements), those of the elements. */
liana_status liana__dataset_view(const liana_dataset *dataset, int64_t endless_length, liana__source **source,
                                 liana__error *error) LIANA_MUST_USE;
liana_status liana__dataset_view_values(const liana_dataset *dataset, int64_t endless_length, liana__source **source,
                                        liana__error *error) LIANA_MUST_USE;
/* Closes a view, unless it is a dataset's own source. NULL is allowed. */
void liana__dataset_close_view(liana__source *source);

/* Calls `visit` for each source that a source is made of: for a view, those of its dataset's files; else itself. */
void liana__dataset_view_sources(const liana__source *source, void (*visit)(void *user, const liana__source *source),
                                 void *user);

/* The names of the classes, if the files that the elements come from (the first of several) have them. */
liana__strings liana__dataset_class_names(const liana_dataset *dataset);

/* Whether the labels are numbers in files, and no stage changes them. */
bool liana__dataset_has_numbers(const liana_dataset *dataset);

/* The class options of a program, as a source takes them. Errors: INVALID_ARGUMENT. */
liana_status liana__dataset_ask_classes(const liana_dataset_options *options, liana__source_options *wanted,
                                        liana__error *error) LIANA_MUST_USE;
/* The columns that a program wants, as a source takes them: written, read into `columns`; or those of classes_of. Both
 * must live until the source is open. Errors: INVALID_CONFIG. */
liana_status liana__dataset_ask_columns(const liana_dataset_options *options, liana__arena *arena,
                                        liana__columns *columns, liana__source_options *wanted, liana__error *error)
    LIANA_MUST_USE;
/* Stores the options that a dataset keeps. Errors: OUT_OF_MEMORY. */
liana_status liana__dataset_keep_options(liana_dataset *dataset, const liana_dataset_options *options,
                                         liana__error *error) LIANA_MUST_USE;

/* Makes a dataset of open files. Takes their source, also on failure (NULL, with a message in the context). */
liana_dataset *liana__dataset_of_source(liana_context *context, liana__source *source, int64_t label_offset);

/* Takes elements in turn from the files of a dataset that is only files (dataset->source). Takes the dataset, as stages
 * do. Fails if each example is a file of its own. */
liana_dataset *liana__dataset_interleave_files(liana_dataset *files, const liana_interleave_datasets_options *options);

/* Finds the component with the images. Errors: INVALID_ARGUMENT. */
liana_status liana__dataset_check_image(const liana__spec *spec, size_t *component, liana__error *error) LIANA_MUST_USE;
/* The bytes or pixels of that component; the rest of the record is empty. */
void liana__dataset_image(const liana_element *element, size_t component, liana_source_record *record);

#endif
