/* session.h - the beginning and end that subcommands with a configuration or a run folder share. */
#ifndef LIANA_CLI_SESSION_H
#define LIANA_CLI_SESSION_H

#include "cli/command.h"
#include "train/run/run_cluster.h"

typedef struct liana__session {
    liana__config config;
    liana_context *context;
    liana__run_cluster joined; /* of commands that several processes share */
} liana__session;

/* Reads a configuration with the invocation's overrides, and makes a context for it. Close it in any case. */
liana_status liana__session_open(liana__invocation *invocation, const char *config_path, liana__session *session)
    LIANA_MUST_USE;
void liana__session_close(liana__session *session);

/* The config.yaml of the run folder that is the first operand, in the invocation's arena. If that is a URL, it is
 * fetched (with a checkpoint if `checkpoint` is set: the one that is named, else the newest), and the operand becomes a
 * local path, which liana__remote_name shows as the URL. Errors: INVALID_CONFIG if it is not a run folder, and those of
 * liana__remote_run. */
liana_status liana__session_find_run(liana__invocation *invocation, bool checkpoint, const char **config_path)
    LIANA_MUST_USE;

/* Opens the run folder that is the first operand of a command, or with --model a model and its weights; *folder is then
 * NULL, and the operands are all of the rest. Close the session in any case. Errors: INVALID_CONFIG. */
liana_status liana__session_open_trained(liana__invocation *invocation, liana__session *session, const char **folder)
    LIANA_MUST_USE;
/* The same for a command that the processes of a cluster share: each of them computes its part, and the chief alone
 * prints and writes. Only the chief reads the run folder. Alone: as above. Errors: those of joining, too. */
liana_status liana__session_open_shared(liana__invocation *invocation, liana__session *session, const char **folder)
    LIANA_MUST_USE;
/* Opens one more run, with the invocation's overrides; *folder is its local folder. Close the session in any case.
 * Errors: INVALID_CONFIG (no run folder), those of fetching. */
liana_status liana__session_open_other(liana__invocation *invocation, const char *run, liana__session *session,
                                       const char **folder) LIANA_MUST_USE;
/* Where the first operand is a file or folder of a model, and no run, it becomes --model, and the operands are all of
 * the rest. */
void liana__session_take_model(liana__invocation *invocation);
/* Whether the command line names the validation data, by data.validation=... */
bool liana__session_names_validation(const liana__session *session);
/* data.take of a run is for the data that its configuration names. Data that the command line names, by --data, as
 * operands or by data.validation=..., are taken whole, unless the command line gives data.take as well. Call it before
 * such data are opened; it says so on standard error. */
void liana__session_take_whole(liana__invocation *invocation, liana__session *session);
/* Whether this process prints and writes. */
bool liana__session_is_chief(const liana__session *session);
/* Loads its weights into an opened run: a checkpoint of the folder (NULL: the newest), or the model's. *loaded is their
 * path; NULL: another process has loaded them, and sent. */
liana_status liana__session_load(const liana__session *session, const char *folder, const char *checkpoint,
                                 liana__run *run, const char **loaded, liana__error *error) LIANA_MUST_USE;

/* Puts --threshold in the place of train.threshold. */
liana_status liana__session_read_threshold(liana__invocation *invocation, liana__session *session) LIANA_MUST_USE;

/* Prints a line to standard error for a record that is left out; for liana__run_options. `user` is the invocation. */
void liana__session_bad_record(void *user, const char *note);

/* Makes a map with "event", for liana__invocation_print_json. */
liana__value *liana__session_event(liana__invocation *invocation, const char *name);
/* Set members of it. NULL is written as an empty text. */
void liana__event_text(liana__invocation *invocation, liana__value *event, const char *key, const char *text);
void liana__event_int(liana__invocation *invocation, liana__value *event, const char *key, int64_t number);
void liana__event_float(liana__invocation *invocation, liana__value *event, const char *key, double number);

/* Prints a text, and frees it. Errors: OUT_OF_MEMORY for a text that failed: "out of memory for `what`". */
liana_status liana__session_print(liana__invocation *invocation, liana__text *text, const char *what) LIANA_MUST_USE;

/* Prints a note, unless --json asks for events. `user` is the invocation. */
void liana__session_note(void *user, const char *text);

/* Whether a signal asks for the end. */
bool liana__session_stops(void *user);

/* The number of threads of a context that no configuration describes. Errors: those of making it. */
liana_status liana__session_count_threads(int *num_threads, liana__error *error) LIANA_MUST_USE;

/* Says that a picture was drawn, by its path; for functions of report/. `user` is the invocation. */
void liana__session_picture(void *user, const char *path);

#endif
