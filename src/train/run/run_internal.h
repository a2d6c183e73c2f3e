/* run_internal.h - the parts of opening a run, one file each. */
#ifndef LIANA_TRAIN_RUN_INTERNAL_H
#define LIANA_TRAIN_RUN_INTERNAL_H

#include "train/run/run.h"

/* run_outlet.c: how a run's files on servers are fetched and sent. */
liana__remote_options liana__run_remote_options(const liana__run *run);
/* Makes run->remote. While the options are valid, it reports long fetches to them, and asks them whether
 * to stop. */
liana_status liana__run_make_remote(liana__run *run, const liana__run_options *options, liana__error *error);
void liana__run_forget_options(liana__run *run);

/* run_data.c: opens the data that the options ask for, and finds classes and the shape of the images. Number of classes
 * 0: not known, which is an error only if the model needs it. */
liana_status liana__run_find_data(liana__run *run, const liana__run_options *options, liana__error *error);
/* Starts the loader of a part that has a source. Errors: those of matching, and of the loader. */
liana_status liana__run_start_loader(liana__run *run, liana__run_data *part, liana__error *error) LIANA_MUST_USE;
/* Leaves out the records that data.quarantine lists. Errors: those of reading the list. */
liana_status liana__run_leave_out(const liana__run *run, liana__source **source, liana__error *error) LIANA_MUST_USE;
/* run_match.c: where data have the true class of the only output: SIZE_MAX: nowhere; LIANA_MAX_COMPONENTS: it is the
 * label; else the component of that number. */
size_t liana__run_find_truth(const liana__run *run, const liana__source *source);
/* Starts the loaders, once the shape of the images is final. */
/* The training data once more, for predictions: each example once, in order, without augmentation. Opened when they are
 * asked for the first time. The loader is the run's. */
liana_status liana__run_open_examples(liana__run *run, liana__loader **loader, liana__error *error) LIANA_MUST_USE;
liana_status liana__run_start_loaders(liana__run *run, const liana__run_options *options, liana__error *error);
/* For steps without a fit: compiles all sizes of batches, and gives the schedule of a fit. After the loaders. */
liana_status liana__run_prepare_steps(const liana__run *run, liana_learning_rate *schedule, liana__error *error);

/* run_classes.c: the classes of a labelled source. The first training data define the run's classes, unless the
 * configuration does. INVALID_DATA: later data have names where the run has numbers. `pattern` names the data in
 * messages. */
liana_status liana__run_meet_classes(liana__run *run, const liana__source *source, const char *pattern, bool training,
                                     liana__error *error);
/* Finds number and names of the classes, of the training data, or as configured (source NULL). */
liana_status liana__run_find_classes(liana__run *run, const liana__source *source, liana__error *error);

/* Whether the losses can tell the labels apart; notes data of one class. Errors: INVALID_CONFIG with the key. */
liana_status liana__run_check_labels(const liana__run *run, const liana__objective *objective,
                                     const liana__run_options *options, liana__error *error) LIANA_MUST_USE;

/* run_match.c: whether an output's target is the label, as far as the configuration tells: it is called so, or is the
 * only one, and the configuration names no other. */
bool liana__run_compares_label(const liana__run *run, size_t output);

/* run_balance.c: leaves out training examples as data.imbalance says. After the classes are found. Errors:
 * INVALID_CONFIG with the key (a stream, a class without enough examples), those of reading labels. */
liana_status liana__run_thin_classes(liana__run *run, const liana__run_options *options, liana__error *error);

/* run_cache.c: sets where the loader of a part keeps decoded images. */
liana_status liana__run_choose_cache(liana__run *run, const liana__run_data *part, liana__loader_options *options,
                                     liana__error *error);
/* Reports to options->on_note where they are, and later their events. */
void liana__run_note_caches(const liana__run *run, const liana__run_options *options);
void liana__run_note_cache_events(const liana__run *run, const liana__run_options *options);

/* run_device_cache.c, for data.cache: device. The number of training examples that the devices keep; 0: none. */
int64_t liana__run_device_rows(const liana__run *run);
/* Before the trainer is made. Errors: INVALID_CONFIG, with the key (data that cannot stay on a device). */
liana_status liana__run_check_device_cache(const liana__run *run, liana__error *error) LIANA_MUST_USE;
/* Once the loaders are there: sends all training examples. Errors: INVALID_CONFIG (a device that keeps none), those of
 * reading and of an upload. */
liana_status liana__run_fill_device(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;
/* run_data.c, for that: a loader of each training record once, in order; the caller's. `bad_records` hears of those
 * that cannot be used; the plan must outlive the loader. The loader of the epochs keeps its decoded examples. */
liana_status liana__run_visit_records(liana__run *run, liana__bad_records *bad_records, liana__batch_plan *plan,
                                      liana__loader **loader, liana__error *error) LIANA_MUST_USE;

/* run_balance.c: reads how often the classes come: run->training.sampler, run->drawn. Needs the training data and the
 * classes. */
liana_status liana__run_find_balance(liana__run *run, const liana__run_options *options, liana__error *error);
/* run_weights.c: reads train.class_weights, once it is known which output's target they are about: run->class_weights.
 * Errors: INVALID_CONFIG with the key. */
liana_status liana__run_find_class_weights(liana__run *run, const liana__objective *objective,
                                           const liana__run_options *options, liana__error *error) LIANA_MUST_USE;

/* Values by class: "balanced", whose values are given, or a map, in which classes that are not named have 1. */
typedef struct liana__class_values {
    const liana__strings *names; /* of the classes, by number; empty: they have none */
    int64_t num_classes;
    const double *balanced; /* [num_classes]; NULL: 'balanced' is refused before */
} liana__class_values;
/* Reads values[num_classes]. `where` is the key. Errors: INVALID_CONFIG (no such class; a class that two keys name; no
 * number); OUT_OF_MEMORY. */
liana_status liana__run_read_by_class(const liana__class_values *classes, const liana__value *value, const char *where,
                                      double *values, liana__error *error) LIANA_MUST_USE;

/* run_data.c: whether pixels are floats: run->fractions. Needs the data. */
void liana__run_find_fractions(liana__run *run, const liana__run_options *options);

/* run_model.c: reads model.file, if there is one. Options of the images and classes without a value get that of the
 * model and the weights. Before the data are opened. */
liana_status liana__run_read_model(liana__run *run, liana__error *error);
/* Then, for a training: reads the state of the optimizer in that file, if it is a whole model and its weights are
 * wanted: run->state. */
liana_status liana__run_read_state(liana__run *run, liana__error *error) LIANA_MUST_USE;
/* Builds the model, unless it is read, and finds the scale of its images. */
liana_status liana__run_build_model(liana__run *run, liana__error *error);
/* Of a run that goes on: its BatchNormalizations keep the variance that they had, as its model.json says, also where an
 * older liana had another default. Errors: OUT_OF_MEMORY. */
liana_status liana__run_keep_variances(liana__run *run, liana__error *error) LIANA_MUST_USE;

/* run_data.c: the memory for reading, decoding and the cache, in bytes. */
size_t liana__run_data_memory(const liana__run *run);

/* The folder of checkpoints in a run folder, in the run's arena. NULL: out of memory. */
char *liana__run_checkpoints(liana__run *run, const char *folder);

/* run_found_options.c: finds vocabularies and boundaries of bins in the training data, and puts them into the
 * configuration, before the model is built. Errors: INVALID_CONFIG, INVALID_DATA with the layer. */
liana_status liana__run_find_options(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;
/* The same from those that a run of these layers has found. */
liana_status liana__run_take_found_options(liana__run *run, const liana__value *kept, liana__error *error)
    LIANA_MUST_USE;
/* Gives Normalizations the mean and variance of the training data, unless weights are loaded. */
liana_status liana__run_adapt(liana__run *run, const liana__run_options *options, liana__error *error);
/* run_match.c: finds which components of the data are which inputs and targets. */
liana_status liana__run_find_match(liana__run *run, liana__error *error);
/* The same for one part of the data, which may have no targets. */
liana_status liana__run_match_part(liana__run *run, liana__run_data *part, liana__error *error) LIANA_MUST_USE;

/* For a model that is not the run's, without its outputs. */
liana_status liana__run_match_inputs(const liana__run *run, const liana_model *model, const liana__source *source,
                                     liana__data_match *match, liana__error *error) LIANA_MUST_USE;

/* run_outlet.c: if run->folder is a URL, makes it a local folder that run->outlet sends. On a resume, that folder has
 * the files of the bucket. Otherwise the bucket must not hold a run. Errors: INVALID_CONFIG (it does), and those of
 * outlets. */
liana_status liana__run_open_outlet(liana__run *run, const liana__run_options *options,
                                    const liana__remote_options *remote, liana__error *error);
#define LIANA__RUN_CHECKPOINTS "checkpoints/"
/* An outlet as runs have it. Errors: those of liana__outlet_open. */
liana_status liana__run_make_outlet(const char *url, const liana__remote_options *remote, liana__outlet **outlet,
                                    liana__error *error) LIANA_MUST_USE;
/* The folder has changed: a thread sends it. Errors: an earlier failure to send. */
liana_status liana__run_send(const liana__run *run, liana__error *error) LIANA_MUST_USE;
/* Sends all of it, and waits. */
liana_status liana__run_send_all(const liana__run *run, liana__error *error) LIANA_MUST_USE;

/* run_agreement.c: in a cluster, the files of the chief's folder that a run goes on from are written to those of the
 * others. `status`: how this process fared before. Alone: returns it. */
liana_status liana__run_share_beginning(liana__run *run, const liana__run_options *options, liana_status status,
                                        liana__error *error) LIANA_MUST_USE;

/* run_agreement.c: in a cluster, compares the settings and data that all processes must have in common
 * (step/agreement.h): version and settings, before anything is opened; then the files of the data, by names and sizes,
 * and by contents where only times differ; then the bits that they compute. Alone: nothing. */
liana_status liana__run_agree_on_settings(const liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__run_agree_on_data(const liana__run *run, liana__error *error) LIANA_MUST_USE;
/* The same for data that are opened later. */
liana_status liana__run_agree_on_part(const liana__run *run, const liana__source *source, liana__error *error)
    LIANA_MUST_USE;
/* Between two parts of the beginning: whether they have gone well (`status`), and nobody has asked to stop. A
 * collective operation. */
liana_status liana__run_agree_to_go_on(const liana__run *run, const liana__run_options *options, liana_status status,
                                       liana__error *error) LIANA_MUST_USE;
liana_status liana__run_agree_on_arithmetic(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;

/* run_agreement.c: removes a dotted key with one dot at most; a section of which nothing is left, too. */
void liana__run_drop_key(liana__value *config, const char *key);
/* run_agreement.c: shortens each text to the part behind its last '/': the same data may be in other folders. */
void liana__run_drop_folders(liana__value *tree);

/* run_folder.c: the configuration as checkpoints record it, and as a checkpoint must have it that the run goes on from:
 * without the keys that may change in a run. Errors: OUT_OF_MEMORY. */
liana_status liana__run_note_settings(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;

/* run_folder.c: the other files of the folder than checkpoints. First checks the folder: it must not hold a run; on a
 * resume, it must hold one of the same configuration. The choices of the first part of that run are then used. */
liana_status liana__run_check_folder(liana__run *run, const liana__run_options *options, liana__error *error);
liana_status liana__run_begin_folder(liana__run *run, const liana__run_options *options, liana__error *error);
/* run_outlet.c: this process alone writes to the run folder from now on: its lock and its lease. Of a folder that is
 * not there yet it does nothing. Errors: IO_ERROR, UNAVAILABLE (another process holds it). */
liana_status liana__run_hold(liana__run *run, const liana__run_options *options, liana__error *error) LIANA_MUST_USE;
/* run_takeover.c: begins to write (liana__run_begin_folder), and from then on one of the cluster's other processes can
 * take the chief's place if that dies, where it reaches the run folder. A collective operation. */
liana_status liana__run_begin_writing(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;
/* After work without processes that are gone: if they live, they hear that the chief goes on without them. */
liana_status liana__run_lead_on(const liana__run *run, liana__error *error) LIANA_MUST_USE;
/* All have written their files, or have failed (`status`): from now on nobody takes the chief's place. A collective
 * operation if all is well. Returns `status`, or why the others are not here. */
liana_status liana__run_end_writing(const liana__run *run, liana_status status, liana__error *error) LIANA_MUST_USE;
/* If the others of the cluster go on without this process: it writes nothing more, and leaves the folder to them. */
void liana__run_leave(const liana__run *run, liana_status status);
/* Before something is written: whether that still holds. */
liana_status liana__run_may_write(const liana__run *run, liana__error *error) LIANA_MUST_USE;
liana_status liana__run_write_history(const liana__run *run, liana__error *error);
/* Writes bad_records.csv if there is something new to list; reads the list of an earlier part of the run. */
liana_status liana__run_write_bad_records(liana__run *run, liana__error *error);
liana_status liana__run_read_bad_records(liana__run *run, liana__error *error);

/* Tells options->on_note. */
#define liana__run_note(options, ...) liana__note(&(liana__notes){(options)->on_note, (options)->user}, __VA_ARGS__)
/* The same for things that users should know even if they ask for results only: assumptions, and records that are left
 * out. It goes where records that are left out are told. */
#define liana__run_tell(run, ...) \
    liana__note(&(liana__notes){(run)->bad_records.on_note, (run)->bad_records.user}, __VA_ARGS__)

#endif
