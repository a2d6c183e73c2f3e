/* run_internal.h - the parts of opening a run, one file each. */
#ifndef LIANA_TRAIN_RUN_INTERNAL_H
#define LIANA_TRAIN_RUN_INTERNAL_H

#include "train/run/run.h"

/* run_remote.c: makes run->remote, which tells of long fetches and asks whether to stop as the options say, until they
 * are to be forgotten. */
liana_status liana__run_make_remote(liana__run *run, const liana__run_options *options, liana__error *error);
void liana__run_forget_options(liana__run *run);

/* run_data.c: opens what the options ask for of the data, finds classes and the shape of the images. Number of classes
 * 0: not known, which is an error only if the model is to be made for it. */
liana_status liana__run_find_data(liana__run *run, const liana__run_options *options, liana__error *error);
/* Starts the loaders, once the shape of the images is final. */
liana_status liana__run_start_loaders(liana__run *run, const liana__run_options *options, liana__error *error);

/* run.c: notes in run->state what the training data are, for checkpoints. Before one is loaded. */
liana_status liana__run_note_data(liana__run *run, liana__error *error);
/* The same of their contents, as far as they are not known. After one is loaded, or none. */
void liana__run_note_contents(liana__run *run, const liana__run_options *options);

/* run_classes.c: what a labelled source says of the classes. The first training data say it for the run, unless the
 * configuration does; others that number their classes by names where the run has none are INVALID_DATA. `pattern`
 * names the data in messages. */
liana_status liana__run_meet_classes(liana__run *run, const liana__source *source, const char *pattern, bool training,
                                     liana__error *error);
/* Finds number and names of the classes; of the training data, or as configured (source NULL). */
liana_status liana__run_find_classes(liana__run *run, const liana__source *source, liana__error *error);

/* run_cache.c: sets where the loader of a part of the data keeps decoded images. */
liana_status liana__run_choose_cache(liana__run *run, const liana__run_data *part, liana__loader_options *options,
                                     liana__error *error);
/* Tells options->on_note where they are, and later what happened to them. */
void liana__run_note_caches(const liana__run *run, const liana__run_options *options);
void liana__run_note_cache_events(const liana__run *run, const liana__run_options *options);

/* run_balance.c: reads how often the classes come and how much they weigh: run->training.sampler, run->class_weights.
 * Needs the training data and the classes. */
liana_status liana__run_find_balance(liana__run *run, const liana__run_options *options, liana__error *error);

/* run_model.c: builds the model and finds how its images are scaled. */
liana_status liana__run_build_model(liana__run *run, liana__error *error);
/* Loads model.weights into the variables. */
liana_status liana__run_load_weights(liana__run *run, const liana__run_options *options, liana__error *error);

/* run.c: opens the device and compiles run->model with the optimizer (for training), loss and metrics that the
 * configuration names, and chooses the shard size. */
liana_status liana__run_make_trainer(liana__run *run, const liana__run_options *options, liana__error *error);

/* run_data.c: the bytes that reading, decoding and the cache may take. */
size_t liana__run_data_memory(const liana__run *run);
/* What of it a part of the data may take besides its cache; all three together have data.memory. Where nothing is
 * trained on, one part is read at a time, and has all. */
size_t liana__run_part_memory(const liana__run *run, const liana__run_data *part);

/* run_optimizer.c: reads optimizer, schedule, strategy, loss and metrics. */
liana_status liana__run_find_optimizer(liana__run *run, liana__optimizer_choice *choice, liana__error *error);
liana_status liana__run_find_strategy(const liana__run *run, const liana__strategy **strategy, liana__error *error);
liana_status liana__run_find_loss(liana__run *run, liana__trainer_options *options, liana__error *error);

/* run_folder.c: what is written besides checkpoints. Before anything else is done: that the folder holds no run, or,
 * resuming, one of the same configuration, from which is taken what the first part of the run chose. */
liana_status liana__run_check_folder(liana__run *run, bool resume, liana__error *error);
liana_status liana__run_begin_folder(liana__run *run, liana__error *error);
/* That the folder is still the one that training began in: made anew, it would hold the end of a run without its
 * beginning. Errors: NOT_FOUND. */
liana_status liana__run_check_there(const liana__run *run, liana__error *error) LIANA_MUST_USE;
liana_status liana__run_write_history(const liana__run *run, liana__error *error);
/* Writes bad_records.csv if there is anything new to list; adds what one of an earlier part of the run lists. */
liana_status liana__run_write_bad_records(liana__run *run, liana__error *error);
liana_status liana__run_read_bad_records(liana__run *run, liana__error *error);

/* Tells options->on_note. */
#define liana__run_note(options, ...) liana__note(&(liana__notes){(options)->on_note, (options)->user}, __VA_ARGS__)

#endif
