/* command.h - the contract of subcommands, and the frame that runs them.
 *
 * A subcommand is one file that defines one const struct, `liana__subcommand_NAME`, and has one row in subcommands.def.
 * The frame (command.c) finds it, reads its options, prints its help, runs it, reports errors and makes the exit code:
 *
 *   0      done
 *   1      failed
 *   2      usage or configuration (INVALID_CONFIG)
 *   75     with --requeue: stopped by a signal, here or in another process of a cluster, or another process cannot be
 *          reached any more; the same command with --resume goes on. Without --requeue, too: a training in a cluster
 *          that ended with a process, and one whose run folder another process has taken
 *   n      of `liana launch`: the code of the process that failed first
 *   128+n  stopped by signal n (CANCELLED after liana__signals_catch). A signal that nobody catches ends the program as
 *          always, which a shell also reports as 128+n. 128 + SIGPIPE, without a message, if standard output has no
 *          reader any more
 *
 * `run` does not print errors: it fills invocation->error and returns the status. The frame prints "liana: message" to
 * standard error and, with --json, also {"event": "error", "status": ..., "message": ...} to standard output. Results
 * go to invocation->out; with --json, every line of it is one JSON object with a member "event". Nothing expensive may
 * happen before `run`, since `liana version` must answer within 20 ms. */
#ifndef LIANA_CLI_COMMAND_H
#define LIANA_CLI_COMMAND_H

#include "base/value.h"

#include <stdio.h>

/* Exit codes: LIANA__EXIT_DONE, ... */
enum {
#define LIANA__EXIT(name, code, doc) LIANA__EXIT_##name = (code),
#include "cli/exit_codes.def"
#undef LIANA__EXIT
};

typedef struct liana__option {
    const char *name;     /* without the dashes: "out"; a single letter has one dash: "n" is -n */
    const char *argument; /* "DIR"; NULL for a switch; "[N]": a whole number may follow, else the value is "" */
    const char *doc;      /* one line */
} liana__option;

static inline const char *liana__option_dashes(const char *name)
{
    return name[1] ? "--" : "-";
}

/* Options of several subcommands, with the same meaning everywhere. */
#define LIANA__OPTION_OUT(what) "out", "DIR", what
#define LIANA__OPTION_RESUME "resume", NULL, "go on from the newest checkpoint of the run, or start if there is none"
#define LIANA__OPTION_LOG_EVERY \
    "log-every", "N", "print a line after every N updates, counted from the beginning of the training"
#define LIANA__OPTION_MODEL \
    "model", "FILE", "a model without a run: a file of Keras, a folder that has saved it, or an architecture's name"
#define LIANA__OPTION_WEIGHTS \
    "weights", "FILE", "with --model: the weights: Keras HDF5, .keras, safetensors, or a name (imagenet)"
#define LIANA__OPTION_PLUGINS \
    "allow-plugins", NULL, "load the plugins that files name, and devices pjrt:FILE.so: their code runs"
#define LIANA__OPTION_THRESHOLD \
    "threshold", "P", "of sigmoids: above it the second class, or a label, is said (default: the run's)"
#define LIANA__OPTION_JSON "json", NULL, "print JSON lines, for machines"
#define LIANA__OPTION_DATA "data", "PATTERN", "the examples: a file, a pattern of files, or a folder"

struct liana__invocation;

typedef struct liana__command {
    const char *name;
    const char *operands;         /* for the usage line: "CONFIG.yaml [key=value ...]"; may be empty */
    const char *summary;          /* one line for `liana help`, without a full stop */
    const char *help;             /* the text of `liana NAME --help` below the usage; lines end with \n */
    const liana__option *options; /* ends with an option without a name, or NULL; every subcommand has --help */
    int min_operands;
    int max_operands; /* -1: any number */
    bool overrides;   /* accepts key=value arguments as overrides of a configuration ... */
    bool own_keys;    /* ... or as keys of its own */
    liana_status (*run)(struct liana__invocation *invocation);
} liana__command;

/* One run of a subcommand. The frame owns everything. Strings live as long as the program's arguments. */
typedef struct liana__invocation {
    const liana__command *command;
    const char **operands;
    size_t num_operands;
    const char **overrides; /* "key=value", for liana__config_load */
    size_t num_overrides;
    const char **values; /* one for each option of the command; NULL: not given */
    bool help;           /* --help was given */
    int exit_code;       /* of a subcommand that is done (LIANA_OK), but whose processes failed */
    bool stopped;        /* another process of the cluster was asked to stop, and all do */
    bool requeues;       /* a failure with UNAVAILABLE exits with 75 also without --requeue */
    bool output_lost;    /* standard output has no reader any more, and the subcommand has dealt with it */
    FILE *out;
    FILE *err;
    struct liana__remote *remote; /* shows the run folder that was named by a URL; NULL: missing */
    liana__arena arena;
    liana__error error;
} liana__invocation;

#define LIANA__SUBCOMMAND(stem, name) extern const liana__command liana__subcommand_##name;
#include "cli/subcommands.def"
#undef LIANA__SUBCOMMAND

/* Every subcommand, in the order of subcommands.def. */
const liana__command *const *liana__commands(size_t *count);
const liana__command *liana__command_find(const char *name);
/* Fails with INVALID_CONFIG and the nearest name. */
liana_status liana__command_unknown(const char *name, liana__error *error);

/* The whole command: reads the arguments, runs, reports, returns the exit code. */
int liana__command_line(int argc, const char *const *argv, FILE *out, FILE *err);
/* The same for a whole process, with its standard streams and signals. It is visible outside of a library that holds
 * the command (BUILD_SHARED_LIBS=ON), for main. */
LIANA_API int liana__command_main(int argc, const char *const *argv);

/* Fills the invocation from the arguments after the subcommand's name: operands, key=value, --name, --name VALUE,
 * --name=VALUE; "--" ends the options. An argument is key=value if the command accepts overrides, and the text before
 * the '=' looks like a dotted key (write ./a=b.yaml for a file of that name). Errors: INVALID_CONFIG with the
 * subcommand and the argument. */
liana_status liana__invocation_parse(liana__invocation *invocation, int argc, const char *const *argv) LIANA_MUST_USE;

/* The value of an option; NULL: not given, or the command has no such option. */
const char *liana__invocation_text(const liana__invocation *invocation, const char *name);
bool liana__invocation_has(const liana__invocation *invocation, const char *name);
/* Fails with INVALID_CONFIG unless the option was given: "give THING as --out DIR". */
liana_status liana__invocation_require(liana__invocation *invocation, const char *name, const char *thing)
    LIANA_MUST_USE;
/* Replaces *value if the option was given. Errors: INVALID_CONFIG with the value and the range. */
liana_status liana__invocation_int(liana__invocation *invocation, const char *name, int64_t minimum, int64_t maximum,
                                   int64_t *value) LIANA_MUST_USE;
liana_status liana__invocation_float(liana__invocation *invocation, const char *name, double minimum, double maximum,
                                     double *value) LIANA_MUST_USE;

/* The file for text that an option names; *path is NULL if it is not given. "-" and /dev/stdout are standard output;
 * messages for people then go to standard error. Errors: INVALID_CONFIG if that is combined with --json. */
liana_status liana__invocation_output(liana__invocation *invocation, const char *name, const char **path)
    LIANA_MUST_USE;

/* Whether writing has failed because the pipe has no reader any more. */
bool liana__output_is_unread(FILE *stream);

/* Prints a map as one line of JSON. */
void liana__invocation_print_json(liana__invocation *invocation, const liana__value *event);

/* Prints "Usage: liana NAME ...", help and options of one subcommand; the list of all subcommands. */
void liana__command_print_help(const liana__command *command, FILE *out);
void liana__command_print_overview(FILE *out);

/* Sets signals for the whole program: writing into a pipe without a reader, or beyond the limit of file sizes, is an
 * error of that write, and does not end the program. */
void liana__signals_prepare(void);
/* From now on the first SIGINT, SIGTERM or SIGHUP is only recorded, so that work can end in good order. A second one
 * ends the program. A SIGHUP that is ignored (nohup) stays ignored. */
void liana__signals_catch(void);
/* From now on SIGHUP asks a server to look at its files again, instead of ending it; and whether it did, once. */
void liana__signals_reload_on_hangup(void);
bool liana__signals_take_reload(void);
/* After a recorded signal the work is over, and how the program ends is settled: a SIGTERM no longer changes that.
 * mpirun sends one to processes that are still ending when the first process of a job has ended. SIGINT still ends the
 * program. */
void liana__signals_end(void);
/* The signal that was recorded, or 0. */
int liana__signals_caught(void);
/* Forgets that signal: in a process that was copied. */
void liana__signals_forget(void);

/* Prints a text that may hold any bytes - a file's or a class's name, the contents of a file - without its control
 * characters (liana__escape_controls). */
void liana__print_plainly(FILE *out, const char *text);

/* ---- terminal ---- */

/* One line of a terminal that is drawn again and again. */

/* The columns of the terminal as it is now, else $COLUMNS, else 80. It may be made narrower at any time: ask at each
 * drawing, since a line that is too long goes on in the next row, and the next drawing leaves it there. */
int liana__terminal_width(FILE *stream);
/* Draws a line in place of the one that the cursor is in, as much of it as fits, and flushes. The cursor stays in
 * it. */
void liana__terminal_draw(FILE *stream, const char *line);

/* Draws how much of something is done, unless the output is no terminal or JSON. */
typedef struct liana__counter {
    FILE *terminal; /* NULL: say nothing */
    const char *things;
    int64_t shown;
} liana__counter;

liana__counter liana__counter_begin(const liana__invocation *invocation, const char *things);
/* Returns whether to go on: no signal was caught. `user` is the counter. */
bool liana__counter_show(void *user, int64_t done, int64_t total);

#endif
