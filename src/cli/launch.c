/* liana launch: starts the processes of a cluster, on this machine or by ssh. */
#include "base/cpu.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/processes.h"
#include "train/checkpoint/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PROCESSES = 4096, DEFAULT_PORT = 29400 };

typedef struct launch {
    liana__invocation *invocation;
    liana__arena *arena;
    int64_t count, num_servers, port, restarts;
    bool resumes; /* it was started before */
    bool prints;  /* the commands, for a shell */
    const char *file;
    const char *keys;
    const char *here;              /* the working folder */
    const char **hosts;            /* by rank; NULL: this machine */
    int64_t *slots;                /* by rank: processes on its host */
    char folder[LIANA__TEMPORARY]; /* of the sockets; empty: missing */
    char id[32];
} launch;

/* ---- hosts ---- */

static liana_status add_host(launch *own, const char *item, size_t length, size_t *count)
{
    const char *colon = memchr(item, ':', length);
    size_t name = colon ? (size_t)(colon - item) : length;
    char *end = NULL;
    long slots = colon ? strtol(colon + 1, &end, 10) : 1;
    /* A name that begins with a dash would be an option of ssh. */
    if (name == 0 || *item == '-' || (colon && end != item + length) || slots < 1 || slots > MOST_PROCESSES) {
        return liana__fail(&own->invocation->error, LIANA_INVALID_CONFIG,
                           "launch: -H: found '%.*s', expected HOST or HOST:SLOTS", (int)length, item);
    }
    const char *host = liana__arena_format(own->arena, "%.*s", (int)name, item);
    for (long i = 0; i < slots && *count < (size_t)own->count; i++) {
        own->hosts[*count] = host;
        own->slots[(*count)++] = slots;
    }
    return LIANA_OK;
}

static liana_status place_processes(launch *own)
{
    const char *list = liana__invocation_text(own->invocation, "H");
    size_t count = 0, room = (size_t)own->count;
    own->hosts = liana__arena_allocate(own->arena, room * sizeof *own->hosts);
    own->slots = liana__arena_allocate(own->arena, room * sizeof *own->slots);
    if (!own->hosts || !own->slots) return liana__fail_memory(&own->invocation->error, "the processes");
    for (size_t i = 0; !list && i < room; i++) own->slots[i] = own->count;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        LIANA_TRY(add_host(own, list, length, &count));
        list += length + (list[length] == ',');
    }
    if (!liana__invocation_text(own->invocation, "H") || count == room) return LIANA_OK;
    return liana__fail(&own->invocation->error, LIANA_INVALID_CONFIG,
                       "launch: -n is %zu, but -H has slots for %zu processes; expected at least as many: write "
                       "HOST:SLOTS",
                       room, count);
}

/* ---- the environment of a process ---- */

static liana_status make_folder(launch *own)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (!base || !*base || strlen(base) > 50 || access(base, W_OK) != 0) base = "/tmp";
    if (!own->prints) return liana__temporary_make(base, own->folder, &own->invocation->error);
    /* For processes that this one does not wait for. */
    snprintf(own->folder, sizeof own->folder, "%s/liana-XXXXXX", base);
    if (mkdtemp(own->folder)) return LIANA_OK;
    own->folder[0] = '\0';
    return liana__fail(&own->invocation->error, LIANA_IO_ERROR, "no folder for sockets can be made in %s: %s", base,
                       strerror(errno));
}

/* The value of LIANA_CLUSTER. */
static const char *describe_place(const launch *own, int64_t rank, bool returns)
{
    liana__arena *arena = own->arena;
    liana__value *map = liana__value_map(arena);
    liana__value_set(arena, map, "rank", liana__value_int(arena, rank));
    liana__value_set(arena, map, "num_workers", liana__value_int(arena, own->count - own->num_servers));
    liana__value_set(arena, map, "num_servers", liana__value_int(arena, own->num_servers));
    liana__value_set(arena, map, "id", liana__value_string(arena, own->id));
    if (returns) liana__value_set(arena, map, "returns", liana__value_bool(arena, true));
    if (own->keys) liana__value_set(arena, map, "keys", liana__value_string(arena, own->keys));
    if (own->hosts[0]) {
        const char *master = liana__arena_format(arena, "%s:%lld", own->hosts[0], (long long)own->port);
        liana__value_set(arena, map, "master", liana__value_string(arena, master ? master : ""));
    } else {
        liana__value *list = liana__value_list(arena);
        for (int64_t i = 0; i < own->count; i++) {
            const char *address = liana__arena_format(arena, "ipc://%s/%lld", own->folder, (long long)i);
            liana__value_add(arena, list, liana__value_string(arena, address ? address : ""));
        }
        liana__value_set(arena, map, "addresses", list);
    }
    liana__text text = {0};
    if (map) liana__value_write_json(map, 0, &text);
    const char *json = liana__arena_format(arena, "LIANA_CLUSTER=%s", text.data ? text.data : "");
    liana__text_free(&text);
    return json;
}

/* The cores of this machine are shared out; those of another machine are its own affair. */
static const char *describe_threads(const launch *own, int64_t rank)
{
    if (getenv("LIANA_THREADS") || own->hosts[rank]) return NULL;
    int64_t threads = liana__cpu_count() / own->slots[rank];
    return liana__arena_format(own->arena, "LIANA_THREADS=%lld", (long long)(threads > 0 ? threads : 1));
}

static const char *const *make_environment(const launch *own, int64_t rank, bool returns)
{
    /* Variables of another cluster do not hold for this one. */
    static const char *const unset[] = {"TF_CONFIG", "RANK", "WORLD_SIZE"};
    const char **variables = liana__arena_allocate(own->arena, 8 * sizeof *variables);
    size_t count = 0;
    if (!variables) return NULL;
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) variables[count++] = unset[i];
    variables[count++] = describe_place(own, rank, returns);
    /* Whether a process was stopped, or could not go on, is told by its code. */
    if (!own->prints) variables[count++] = "LIANA_LAUNCHED=1";
    variables[count] = describe_threads(own, rank);
    return variables;
}

/* ---- the command of a process ---- */

/* The first operand, if it is a command that several processes share; NULL: they train. */
static const char *find_command(const liana__invocation *invocation)
{
    static const char *const commands[] = {"train", "evaluate", "predict"};
    for (size_t i = 0; invocation->num_operands && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(invocation->operands[0], commands[i]) == 0) return commands[i];
    }
    return NULL;
}

/* Only those commands take more than a configuration. */
static liana_status check_command(const launch *own)
{
    const liana__invocation *invocation = own->invocation;
    if (liana__invocation_has(invocation, "program") || find_command(invocation)) return LIANA_OK;
    for (size_t i = 1; i < invocation->num_operands; i++) {
        if (strchr(invocation->operands[i], '=')) continue;
        return liana__fail(
            &own->invocation->error, LIANA_INVALID_CONFIG,
            "launch: found '%.100s %.100s', expected CONFIG.yaml [key=value ...], or evaluate or predict "
            "and their arguments",
            invocation->operands[0], invocation->operands[i]);
    }
    return LIANA_OK;
}

/* Whether the processes are those of a training, which has checkpoints. */
static bool is_training(const launch *own)
{
    const char *command = find_command(own->invocation);
    return !liana__invocation_has(own->invocation, "program") && (!command || strcmp(command, "train") == 0);
}

/* The command on its own machine: the program with its arguments, or liana's. */
static const char *const *make_words(const launch *own)
{
    const liana__invocation *invocation = own->invocation;
    const char *command = find_command(invocation);
    const char *program = liana__invocation_text(invocation, "program"),
               *out = liana__invocation_text(invocation, "out"),
               *log_every = liana__invocation_text(invocation, "log-every");
    const char **words = liana__arena_allocate(own->arena, (invocation->num_operands + 11) * sizeof *words);
    size_t used = 0;
    if (!words) return NULL;
    if (program) {
        words[used++] = program;
    } else {
        words[used++] = "liana";
        words[used++] = command ? command : "train";
        const bool resumes = own->resumes && is_training(own);
        if (resumes || liana__invocation_has(invocation, "resume")) words[used++] = "--resume";
        if (liana__invocation_has(invocation, "requeue")) words[used++] = "--requeue";
        if (liana__invocation_has(invocation, "json")) words[used++] = "--json";
        if (liana__invocation_has(invocation, "live")) words[used++] = "--live";
        if (out) words[used++] = "--out";
        if (out) words[used++] = out;
        if (log_every) words[used++] = "--log-every";
        if (log_every) words[used++] = log_every;
    }
    for (size_t i = !program && command ? 1 : 0; i < invocation->num_operands; i++) {
        words[used++] = invocation->operands[i];
    }
    words[used] = NULL;
    return words;
}

/* One word for a shell. */
static void add_quoted(liana__text *text, const char *word)
{
    liana__text_add(text, "%s'", text->length ? " " : "");
    for (const char *at = word; *at; at++) liana__text_add(text, *at == '\'' ? "'\\''" : "%c", *at);
    liana__text_add(text, "'");
}

/* The program "env" with an environment, and a command. */
static void add_command(liana__text *text, const char *const *environment, const char *const *words)
{
    liana__text_add(text, "%senv", text->length ? " " : "");
    for (const char *const *variable = environment; *variable; variable++) {
        if (!strchr(*variable, '=')) liana__text_add(text, " -u");
        add_quoted(text, *variable);
    }
    for (const char *const *word = words; *word; word++) add_quoted(text, *word);
}

/* ssh -tt: the processes there end when ssh does. */
static const char *const *wrap_in_ssh(const launch *own, const char *host, const char *const *words,
                                      const char *const *environment)
{
    liana__text line = {0};
    const char **wrapped = liana__arena_allocate(own->arena, 8 * sizeof *wrapped);
    if (!wrapped) return NULL;
    add_quoted(&line, "cd");
    add_quoted(&line, own->here);
    liana__text_add(&line, " &&");
    add_command(&line, environment, words);
    size_t used = 0;
    wrapped[used++] = "ssh";
    wrapped[used++] = "-tt";
    wrapped[used++] = "-o";
    wrapped[used++] = "BatchMode=yes";
    wrapped[used++] = host;
    wrapped[used] = line.failed ? NULL : liana__arena_string(own->arena, line.data);
    liana__text_free(&line);
    return wrapped[used] ? (const char *const *)wrapped : NULL;
}

/* Each start has its own, so that nothing of an earlier one gets in. */
static void make_id(launch *own)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) < 0) number = (uint64_t)getpid();
    snprintf(own->id, sizeof own->id, "launch %016llx", (unsigned long long)number);
}

/* The command of a process as this machine runs it, and its environment. */
static const char *const *make_command(const launch *own, int64_t rank, bool returns, const char *const **environment)
{
    const char *const *words = make_words(own);
    *environment = words ? make_environment(own, rank, returns) : NULL;
    if (!*environment) return NULL;
    return own->hosts[rank] ? wrap_in_ssh(own, own->hosts[rank], words, *environment) : words;
}

/* This program, as it is called in its folder. One that was replaced or removed meanwhile runs on. */
static const char *find_program(launch *own)
{
    static const char self[] = "/proc/self/exe";
    char path[4096] = "";
    const ssize_t length = readlink(self, path, sizeof path - 1);
    if (length <= 0 || (size_t)length == sizeof path - 1 || access(path, X_OK) != 0) return self;
    const char *copy = liana__arena_string(own->arena, path);
    return copy ? copy : self;
}

static liana_status make_processes(launch *own, liana__launched **processes)
{
    make_id(own);
    own->file = find_program(own);
    *processes = liana__arena_allocate(own->arena, (size_t)own->count * sizeof **processes);
    for (int64_t rank = 0; *processes && rank < own->count; rank++) {
        liana__launched *item = &(*processes)[rank];
        item->words = make_command(own, rank, false, &item->environment);
        /* Only trainings take processes in. If all come back, they go on from the newest checkpoint. */
        if (item->words && is_training(own)) {
            launch again = *own;
            again.resumes = true;
            item->again_words = make_command(&again, rank, true, &item->again);
        }
        item->far = own->hosts[rank] != NULL;
        item->file = item->far || liana__invocation_has(own->invocation, "program") ? NULL : own->file;
        /* A training's other processes say nothing, until one of them becomes the chief. */
        item->speaks = !liana__invocation_has(own->invocation, "program");
        if (!item->words) own->arena->failed = true;
    }
    return own->arena->failed ? liana__fail_memory(&own->invocation->error, "the processes") : LIANA_OK;
}

/* As a shell runs them. The folder of the sockets is gone by then. */
static void print_processes(const launch *own, const liana__launched *processes)
{
    if (*own->folder) fprintf(own->invocation->out, "mkdir -m 700 '%s'\n", own->folder);
    for (int64_t rank = 0; rank < own->count; rank++) {
        liana__text line = {0};
        const char *const *words = processes[rank].words;
        if (own->hosts[rank]) {
            for (; *words; words++) add_quoted(&line, *words);
        } else {
            add_command(&line, processes[rank].environment, words);
        }
        fprintf(own->invocation->out, "%s\n", line.data ? line.data : "");
        liana__text_free(&line);
    }
}

/* ---- the subcommand ---- */

static liana_status read_options(launch *own)
{
    liana__invocation *invocation = own->invocation;
    char here[4096];
    own->port = DEFAULT_PORT;
    if (!liana__invocation_has(invocation, "n")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "launch: -n is missing: how many processes?");
    }
    LIANA_TRY(liana__invocation_int(invocation, "n", 1, MOST_PROCESSES, &own->count));
    LIANA_TRY(liana__invocation_int(invocation, "servers", 0, own->count - 1, &own->num_servers));
    LIANA_TRY(liana__invocation_int(invocation, "restarts", 0, 1000000, &own->restarts));
    LIANA_TRY(liana__invocation_int(invocation, "port", 1, 65535, &own->port));
    if (!getcwd(here, sizeof here)) {
        return liana__fail(&invocation->error, LIANA_IO_ERROR,
                           "launch: the working folder cannot be found: %s; change to one that is there",
                           strerror(errno));
    }
    own->here = liana__arena_string(own->arena, here);
    own->keys = liana__invocation_text(invocation, "keys");
    if (own->keys) own->keys = liana__path_join(own->arena, here, own->keys);
    if (own->arena->failed) return liana__fail_memory(&invocation->error, "the processes");
    LIANA_TRY(check_command(own));
    LIANA_TRY(place_processes(own));
    if (!liana__invocation_has(invocation, "program") && invocation->num_operands == 0) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "launch: CONFIG.yaml is missing");
    }
    if (!own->hosts[0] || own->keys || getenv("LIANA_CLUSTER_KEYS")) return LIANA_OK;
    return liana__fail(
        &invocation->error, LIANA_INVALID_CONFIG,
        "launch: processes on several machines need the cluster's key: 'liana cluster keys DIR' makes one; "
        "copy DIR to each machine, and give --keys DIR");
}

static liana_status start_again(launch *own, int64_t time)
{
    static const struct timespec pause = {1, 0};
    fprintf(own->invocation->err, "liana: all processes are started again%s (%lld of %lld)\n",
            is_training(own) ? ", from the newest checkpoint" : "", (long long)time, (long long)own->restarts);
    own->resumes = true;
    nanosleep(&pause, NULL);
    if (!*own->folder) return LIANA_OK;
    /* Sockets of processes that were killed. */
    LIANA_TRY(liana__folder_remove(own->folder, &own->invocation->error));
    return make_folder(own);
}

static liana_status run_processes(launch *own, bool print)
{
    liana__launched *processes = NULL;
    own->prints = print;
    if (!own->hosts[0]) LIANA_TRY(make_folder(own));
    if (print) {
        LIANA_TRY(make_processes(own, &processes));
        print_processes(own, processes);
        return LIANA_OK;
    }
    liana__signals_catch();
    liana__launched_end end = {.resumable = true};
    int64_t left = own->restarts;
    for (bool first = true; end.resumable && (first || left-- > 0) && !liana__signals_caught(); first = false) {
        if (!first) LIANA_TRY(start_again(own, own->restarts - left));
        LIANA_TRY(make_processes(own, &processes));
        LIANA_TRY(liana__launched_run(processes, (size_t)own->count, &left, &end, &own->invocation->error));
    }
    const bool requeues = end.stopped && liana__invocation_has(own->invocation, "requeue");
    own->invocation->exit_code = requeues ? LIANA__EXIT_REQUEUE : end.code;
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    launch own = {.invocation = invocation, .arena = &invocation->arena};
    liana__error error = {0};
    LIANA_TRY(read_options(&own));
    liana_status status = run_processes(&own, liana__invocation_has(invocation, "print"));
    /* Files that killed processes have left, and their sockets. */
    liana__temporary_sweep(liana__temporary_parent());
    if (*own.folder && liana__folder_remove(own.folder, &error) != LIANA_OK) {
        fprintf(invocation->err, "liana: %s\n", error.message);
    }
    return status;
}

static const liana__option options[] = {
    {"n", "N", "the number of processes"},
    {"H", "HOST:SLOTS,...", "the machines, and how many processes each gets; started by ssh"},
    {"servers", "N", "the last N processes are parameter servers"},
    {"keys", "DIR", "with -H: the folder with the cluster's key, on each machine"},
    {"port", "PORT", "with -H: where the first process listens (default: 29400)"},
    {"restarts", "N", "start a process that died again, or all if its death ended all, up to N times (default: 0)"},
    {"program", "FILE", "run this program with the operands, instead of 'liana train'"},
    {"print", NULL, "print the commands, and run nothing"},
    {LIANA__OPTION_OUT("the run folder (default: output of the configuration)")},
    {LIANA__OPTION_RESUME},
    {"requeue", NULL, "exit with 75 when it is stopped and could go on, so that a scheduler starts it again"},
    {LIANA__OPTION_LOG_EVERY},
    {"live", NULL, "each process has a live page; the first one says its address, 'liana watch RUN' shows all of them"},
    {LIANA__OPTION_JSON},
    {0},
};

const liana__command liana__subcommand_launch = {
    .name = "launch",
    .operands = "[evaluate|predict] CONFIG.yaml|RUN [key=value ...]",
    .summary = "Start several processes that train together",
    .help = "Starts N processes of 'liana train CONFIG.yaml key=value ...', or of 'liana evaluate' or\n"
            "'liana predict' (put their own options behind --). On this machine they\n"
            "meet at sockets in a private folder, and share its cores. With -H they are started\n"
            "by ssh, in the folder of the same name, and meet over the network, encrypted.\n"
            "\n"
            "A process that dies is told of. A training goes on without it where it can, and --restarts starts\n"
            "another one in its place, which the others take in. If a training cannot go on, all end with 75:\n"
            "the run can go on from its newest checkpoint, and --restarts starts all again.\n"
            "\n"
            "The output is that of the first process. Of the others only messages are shown, with\n"
            "'[rank N]'. SIGINT, SIGTERM and SIGHUP go to all processes. The exit code is that of\n"
            "the process that failed first; with --requeue 75 says that the run can go on.\n",
    .options = options,
    .min_operands = 0,
    .max_operands = -1,
    .run = run,
};
