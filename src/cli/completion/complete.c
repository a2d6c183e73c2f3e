/* Finds the words that may stand at one place of a command line. */
#include "cli/completion/complete.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/list/list_names.h"
#include "known/known_file.h"
#include "train/config/config.h"

#include <ctype.h>
#include <string.h>

typedef struct asked {
    liana__arena *arena;
    liana__text *lines;
    const liana__command *command;
    const char *const *words; /* those before the current one, after the subcommand */
    size_t count;
    const char *word;   /* the current one */
    const char *before; /* its part that stays: "--out=", "model.base=" */
    const char *files;  /* the line for files; NULL: none are offered */
    const char *ending; /* of the files' names */
} asked;

/* ---- what is offered ---- */

static void offer(void *user, const char *name, const char *doc)
{
    asked *place = user;
    size_t length = strlen(place->before);
    if (!liana__starts_with(name, place->word + length)) return;
    liana__text_add(place->lines, "%s%s\t%s\n", place->before, name, doc);
}

static void offer_files(asked *place, const char *ending)
{
    place->files = "files";
    place->ending = ending;
}

static void offer_subcommands(asked *place)
{
    size_t count;
    const liana__command *const *commands = liana__commands(&count);
    for (size_t i = 0; i < count; i++) offer(place, commands[i]->name, commands[i]->summary);
}

/* Folders on the way, and run folders: they have a config.yaml. */
static void offer_runs(asked *place)
{
    const char *path = place->word + strlen(place->before), *slash = strrchr(path, '/');
    const char *folder = slash ? liana__arena_format(place->arena, "%.*s", (int)(slash + 1 - path), path) : "";
    liana__paths names = {0};
    liana__error error = {0};
    if (!folder || liana__folder_list(*folder ? folder : ".", place->arena, &names, &error) != LIANA_OK) return;
    for (size_t i = 0; i < names.count; i++) {
        const char *name = liana__arena_format(place->arena, "%s%s", folder, names.items[i]);
        bool hidden = *names.items[i] == '.' && path[strlen(folder)] != '.';
        if (!name || hidden || !liana__folder_exists(name)) continue;
        const char *config = liana__arena_format(place->arena, "%s/config.yaml", name);
        bool is_run = config && liana__file_exists(config);
        /* The shell offers folders itself where it offers files. */
        if (!is_run && place->files) continue;
        const char *shown = is_run ? name : liana__arena_format(place->arena, "%s/", name);
        if (shown) offer(place, shown, is_run ? "run" : "folder");
    }
}

static void offer_checkpoints(asked *place)
{
    liana__error error = {0};
    offer(place, "best", "the best checkpoint of the run");
    for (size_t i = 0; i < place->count; i++) {
        liana__paths names = {0};
        const char *folder = liana__arena_format(place->arena, "%s/checkpoints", place->words[i]);
        if (!folder || liana__folder_list(folder, place->arena, &names, &error) != LIANA_OK) continue;
        for (size_t k = 0; k < names.count; k++) {
            const char *name = names.items[k];
            if (*name != '.' && strcmp(name, "best") != 0) offer(place, name, "checkpoint");
        }
    }
}

static void offer_known_files(asked *place)
{
    size_t count;
    const liana__known_file *known = liana__known_files(&count);
    for (size_t i = 0; i < count; i++) offer(place, known[i].name, "");
}

/* ---- what a placeholder means ---- */

static void take_list(asked *place, const char *kind)
{
    liana__list_visit_names(kind, place->arena, offer, place);
}

/* The value of a placeholder in a usage line or of an option: "RUN", "CONFIG.yaml", "flowers". */
static void offer_for(asked *place, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (islower((unsigned char)*name) && !strpbrk(name, "=:")) {
        offer(place, name, "");
    } else if (strcmp(name, "RUN") == 0) {
        offer_runs(place);
    } else if (strcmp(name, "DIR") == 0) {
        place->files = "folders";
    } else if (strcmp(name, "SUBCOMMAND") == 0) {
        offer_subcommands(place);
    } else if (strcmp(name, "DEVICE") == 0) {
        take_list(place, "devices");
    } else if (strcmp(name, "KIND") == 0 && place->command == liana__command_find("list")) {
        liana__list_visit_kinds(offer, place);
    } else if (strcmp(name, "CHECKPOINT") == 0) {
        offer_checkpoints(place);
        place->files = "folders";
    } else if (strcmp(name, "MODEL") == 0) {
        take_list(place, "models");
        offer_files(place, "");
    } else if (strcmp(name, "CONFIG") == 0 || (dot && strcmp(dot, ".yaml") == 0)) {
        offer_files(place, ".yaml");
    } else if (dot && islower((unsigned char)dot[1])) {
        offer_files(place, dot);
    } else if (strcmp(name, "NAME") == 0 && place->command == liana__command_find("fetch")) {
        offer_known_files(place);
    } else if (strcmp(name, "NAME") == 0 && place->command == liana__command_find("list") && place->count) {
        take_list(place, place->words[place->count - 1]);
    } else if (strcmp(name, "FILE") == 0 || strcmp(name, "FILES") == 0 || strcmp(name, "DATA") == 0 ||
               strcmp(name, "EVENTS") == 0 || strcmp(name, "BUNDLE") == 0 || strcmp(name, "OUT") == 0 ||
               strcmp(name, "PATTERN") == 0) {
        offer_files(place, "");
    }
}

/* Options whose value is one of a list, although the placeholder is a general one. */
static const struct {
    const char *option, *kind;
    const char *word; /* instead of a kind: a name that stands for files */
} listed[] = {
    {"model", "models", NULL},
    {"weights", NULL, "imagenet"},
    {"device", "devices", NULL},
    {"transport", "transports", NULL},
};

static void offer_value(asked *place, const liana__option *option)
{
    if (strcmp(option->name, "checkpoint") == 0) {
        offer_for(place, "CHECKPOINT");
        return;
    }
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        if (strcmp(option->name, listed[i].option) != 0) continue;
        if (listed[i].kind) take_list(place, listed[i].kind);
        if (listed[i].word) offer(place, listed[i].word, "");
    }
    /* Words such as "[N]", "kind", "2" are examples, and nothing is offered for numbers. */
    if (isupper((unsigned char)*option->argument)) offer_for(place, option->argument);
}

/* ---- key=value ---- */

static void offer_keys(asked *place)
{
    const liana__fields *fields = liana__config_fields();
    const char *start = place->word, *dot;
    while ((dot = strchr(start, '.'))) {
        char *name = liana__arena_format(place->arena, "%.*s", (int)(dot - start), start);
        const liana__field *field = name ? liana__fields_find(fields, name) : NULL;
        if (!field || field->kind != LIANA__FIELD_SECTION) return;
        fields = field->section;
        start = dot + 1;
    }
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const char *key = liana__arena_format(place->arena, "%.*s%s%c", (int)(start - place->word), place->word,
                                              field->name, field->kind == LIANA__FIELD_SECTION ? '.' : '=');
        if (key) offer(place, key, field->doc ? field->doc : "");
    }
}

static const liana__field *find_key(asked *place, const char *key)
{
    const liana__fields *fields = liana__config_fields();
    for (const char *start = key;;) {
        size_t length = strcspn(start, ".");
        char *name = liana__arena_format(place->arena, "%.*s", (int)length, start);
        const liana__field *field = name ? liana__fields_find(fields, name) : NULL;
        if (!field || !start[length]) return field;
        if (field->kind != LIANA__FIELD_SECTION) return NULL;
        fields = field->section;
        start += length + 1;
    }
}

static void offer_key_values(asked *place, size_t length)
{
    const char *key = liana__arena_format(place->arena, "%.*s", (int)length, place->word);
    place->before = liana__arena_format(place->arena, "%s=", key ? key : "");
    if (!key || !place->before) {
        place->before = "";
        return;
    }
    const liana__field *field = find_key(place, key);
    const char *kind = liana__list_kind_for(key);
    if (kind) take_list(place, kind);
    if (field && field->kind == LIANA__FIELD_ENUM) {
        for (size_t i = 0; field->names[i]; i++) offer(place, field->names[i], "");
    } else if (field && field->kind == LIANA__FIELD_BOOL) {
        offer(place, "true", "");
        offer(place, "false", "");
    } else if (field && (field->kind == LIANA__FIELD_PATH || field->kind == LIANA__FIELD_PATHS)) {
        offer_files(place, "");
    } else if (strncmp(key, "data.", strlen("data.")) == 0) {
        offer_files(place, "");
    }
}

/* The keys of a subcommand's own are lines of its help: "  classes=10   number of classes". */
static void offer_own_keys(asked *place)
{
    for (const char *line = place->command->help; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = line + strspn(line, " ");
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
        if (name - line != 2 || !length || name[length] != '=') continue;
        const char *doc = name + strcspn(name, " \n");
        doc += strspn(doc, " ");
        char *key = liana__arena_format(place->arena, "%.*s=", (int)length, name);
        char *text = liana__arena_format(place->arena, "%.*s", (int)strcspn(doc, "\n"), doc);
        if (key && text) offer(place, key, text);
    }
}

/* ---- operands ---- */

/* One or more placeholders of a usage line: "[CONFIG.yaml|RUN]" offers both. */
static void offer_token(asked *place, const char *token)
{
    char *names = liana__arena_string(place->arena, token), *rest = names;
    while (rest && *rest) {
        rest += strspn(rest, "[]|");
        size_t length = strcspn(rest, "[]|");
        bool last = !rest[length];
        rest[length] = '\0';
        if (*rest) offer_for(place, rest);
        if (last) return;
        rest += length + 1;
    }
}

/* One alternative of a usage line, such as "[RUN] [DATA ...]": the placeholders for operand number `index`. */
static void offer_alternative(asked *place, char *text, size_t index)
{
    char *rest = NULL, *previous = NULL, *repeated = NULL;
    size_t position = 0;
    bool offered = false, skips = true;
    for (char *token = strtok_r(text, " ", &rest); token; token = strtok_r(NULL, " ", &rest)) {
        if (liana__starts_with(token, "...") && previous) repeated = previous;
        if (strchr(token, '=')) previous = NULL;
        if (*token == '.' || *token == '-' || strchr(token, '=')) continue;
        bool optional = *token == '[';
        /* An operand that may be missing leaves its place to the next one. */
        if (position >= index && skips) {
            offer_token(place, token);
            offered = true;
            skips = optional && strchr(token, ']');
        }
        previous = token;
        position++;
    }
    if (!offered && repeated) offer_token(place, repeated);
}

static void offer_operands(asked *place, size_t index)
{
    char *text = liana__arena_string(place->arena, place->command->operands), *next = text;
    while (next) {
        char *alternative = next, *bar = strstr(next, " | ");
        next = bar ? bar + strlen(" | ") : NULL;
        if (bar) *bar = '\0';
        offer_alternative(place, alternative, index);
    }
}

/* ---- the command line ---- */

static const liana__option *find_option(const liana__command *command, const char *word)
{
    size_t dashes = strspn(word, "-"), length = strcspn(word + dashes, "=");
    for (const liana__option *option = command->options; dashes && option && option->name; option++) {
        if (strlen(option->name) == length && memcmp(option->name, word + dashes, length) == 0) return option;
    }
    return NULL;
}

/* "[N]" takes no word unless it is a number. */
static bool takes_word(const liana__option *option)
{
    return option && option->argument && *option->argument != '[';
}

static bool was_given(const asked *place, const liana__option *option)
{
    for (size_t i = 0; i < place->count; i++) {
        if (find_option(place->command, place->words[i]) == option) return true;
    }
    return false;
}

static void offer_options(asked *place)
{
    for (const liana__option *option = place->command->options; option && option->name; option++) {
        char *name = liana__arena_format(place->arena, "%s%s", liana__option_dashes(option->name), option->name);
        if (name && !was_given(place, option)) offer(place, name, option->doc);
    }
    offer(place, "--help", "print the help of this subcommand");
}

static void offer_arguments(asked *place)
{
    size_t index = 0;
    bool options_end = false;
    const liana__option *waits = NULL; /* for its value */
    for (size_t i = 0; i < place->count; i++) {
        const char *word = place->words[i];
        const liana__option *option = options_end ? NULL : find_option(place->command, word);
        if (waits) {
            waits = NULL;
        } else if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (option) {
            waits = takes_word(option) && !strchr(word, '=') ? option : NULL;
        } else if (options_end || *word != '-') {
            index += !(place->command->overrides && strchr(word, '='));
        }
    }
    const char *equals = strchr(place->word, '=');
    const liana__option *option = options_end ? NULL : find_option(place->command, place->word);
    if (waits) {
        offer_value(place, waits);
    } else if (equals && takes_word(option)) {
        place->before = liana__arena_format(place->arena, "%.*s=", (int)(equals - place->word), place->word);
        if (!place->before) place->before = "";
        if (*place->before) offer_value(place, option);
    } else if (!options_end && *place->word == '-') {
        offer_options(place);
    } else if (equals && place->command->overrides && !place->command->own_keys) {
        offer_key_values(place, (size_t)(equals - place->word));
    } else {
        offer_operands(place, index);
        if (place->command->own_keys) offer_own_keys(place);
        if (place->command->overrides && !place->command->own_keys) offer_keys(place);
    }
}

void liana__complete(const char *const *words, size_t count, liana__arena *arena, FILE *out)
{
    LIANA__SCOPED(liana__text) lines = {0};
    asked place = {.arena = arena, .lines = &lines, .word = count ? words[count - 1] : "", .before = "", .ending = ""};
    if (count < 2) {
        offer_subcommands(&place);
        offer(&place, "--help", "list the subcommands");
        offer(&place, "--version", "print the version");
    } else if ((place.command = liana__command_find(words[0]))) {
        place.words = words + 1;
        place.count = count - 2;
        offer_arguments(&place);
    }
    fprintf(out, "%s\t%s\t%s\n", place.files ? place.files : "none", place.ending, place.before);
    if (lines.data) fputs(lines.data, out);
}
