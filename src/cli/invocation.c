/* Reads a command line by the subcommand's table of options. */
#include "cli/command.h"
#include "train/config/config.h"

#include <math.h>
#include <string.h>

static size_t count_options(const liana__command *command)
{
    size_t count = 0;
    while (command->options && command->options[count].name) count++;
    return count;
}

static size_t find_option(const liana__command *command, const char *name, size_t length)
{
    size_t count = count_options(command), index = 0;
    for (; index < count; index++) {
        const char *known = command->options[index].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) break;
    }
    return index;
}

static liana_status LIANA__PRINTF(2, 3) refuse(liana__invocation *invocation, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(&invocation->error, LIANA_INVALID_CONFIG, format, arguments);
    va_end(arguments);
    return liana__fail_within(&invocation->error, "%s", invocation->command->name);
}

/* An option of other programs may be a key of liana's configuration; `value` is the next argument, or NULL. */
static bool is_key(liana__invocation *invocation, const char *word, const char *name, const char *value)
{
    const liana__command *command = invocation->command;
    char key[96];
    if (!command->overrides || command->own_keys) return false;
    if (!liana__config_find_option(name, key, sizeof key)) return false;
    const char *equals = strchr(word, '=');
    if (equals) value = equals + 1;
    bool usable = value && *value && *value != '-' && (equals || !strchr(value, '='));
    refuse(invocation, "unknown option '%.100s'; it is a key of the configuration, set as %s=%.100s", word, key,
           usable ? value : "VALUE");
    return true;
}

static liana_status refuse_option(liana__invocation *invocation, const char *word, const char *next)
{
    char plain[64] = "";
    const char *start = word + strspn(word, "-");
    size_t length = strcspn(start, "=");
    if (length < sizeof plain) memcpy(plain, start, length);
    if (*plain && is_key(invocation, word, plain, next)) return LIANA_INVALID_CONFIG;
    liana__nearest_search search = liana__nearest_begin(plain);
    for (size_t i = 0; *plain && i < count_options(invocation->command); i++) {
        liana__nearest_add(&search, invocation->command->options[i].name);
    }
    if (*plain) liana__nearest_add(&search, "help");
    if (search.nearest) {
        return refuse(invocation, "unknown option '%.100s'; did you mean '--%s'?", word, search.nearest);
    }
    return refuse(invocation, "unknown option '%.100s'; 'liana %s --help' lists them", word, invocation->command->name);
}

static bool is_whole_number(const char *word)
{
    return *word && !word[strspn(word, "0123456789")];
}

/* Takes --name, --name=VALUE or --name and the next word; *index stays on the last word taken. */
static liana_status take_option(liana__invocation *invocation, int argc, const char *const *argv, int *index)
{
    const char *word = argv[*index];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        invocation->help = true;
        return LIANA_OK;
    }
    const char *name = word[1] == '-' ? word + 2 : word + 1, *equals = strchr(word, '=');
    size_t length = equals && equals > name ? (size_t)(equals - name) : strlen(name);
    size_t option = find_option(invocation->command, name, length);
    if ((word[1] != '-' && length != 1) || option == count_options(invocation->command)) {
        return refuse_option(invocation, word, *index + 1 < argc ? argv[*index + 1] : NULL);
    }
    const liana__option *found = &invocation->command->options[option];
    if (invocation->values[option])
        return refuse(invocation, "%s%s is given twice", liana__option_dashes(found->name), found->name);
    if (!found->argument) {
        if (equals)
            return refuse(invocation, "%s%s takes no value, found '%.100s'", liana__option_dashes(found->name),
                          found->name, equals + 1);
        invocation->values[option] = "";
        return LIANA_OK;
    }
    const bool may_lack_value = found->argument[0] == '[';
    if (!equals && may_lack_value && (*index + 1 == argc || !is_whole_number(argv[*index + 1]))) {
        invocation->values[option] = "";
        return LIANA_OK;
    }
    if (!equals && *index + 1 == argc) {
        return refuse(invocation, "%s%s needs a value: %s%s %s", liana__option_dashes(found->name), found->name,
                      liana__option_dashes(found->name), found->name, found->argument);
    }
    invocation->values[option] = equals ? equals + 1 : argv[++*index];
    if (*invocation->values[option]) return LIANA_OK;
    return refuse(invocation, "%s%s has an empty value, expected %s", liana__option_dashes(found->name), found->name,
                  found->argument);
}

static bool is_override(const char *word)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char inner[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.[]";
    return *word && strchr(letters, *word) && word[strspn(word, inner)] == '=';
}

static liana_status check_operands(liana__invocation *invocation)
{
    const liana__command *command = invocation->command;
    size_t count = invocation->num_operands;
    if (count < (size_t)command->min_operands) {
        return refuse(invocation, "too few arguments, expected: liana %s %s", command->name, command->operands);
    }
    if (command->max_operands < 0 || count <= (size_t)command->max_operands) return LIANA_OK;
    return refuse(invocation, "'%.100s' is one argument too many, expected: liana %s%s%s",
                  invocation->operands[command->max_operands], command->name, *command->operands ? " " : "",
                  command->operands);
}

liana_status liana__invocation_parse(liana__invocation *invocation, int argc, const char *const *argv)
{
    liana__arena *arena = &invocation->arena;
    size_t room = (size_t)argc + 1;
    invocation->operands = liana__arena_allocate(arena, room * sizeof *invocation->operands);
    invocation->overrides = liana__arena_allocate(arena, room * sizeof *invocation->overrides);
    invocation->values =
        liana__arena_allocate(arena, (count_options(invocation->command) + 1) * sizeof *invocation->values);
    if (arena->failed) return liana__fail_memory(&invocation->error, "the arguments");
    bool options_ended = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!options_ended && strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (!options_ended && word[0] == '-' && word[1]) {
            LIANA_TRY(take_option(invocation, argc, argv, &i));
        } else if (invocation->command->overrides && is_override(word)) {
            invocation->overrides[invocation->num_overrides++] = word;
        } else {
            invocation->operands[invocation->num_operands++] = word;
        }
    }
    return invocation->help ? LIANA_OK : check_operands(invocation);
}

const char *liana__invocation_text(const liana__invocation *invocation, const char *name)
{
    size_t index = find_option(invocation->command, name, strlen(name));
    return index < count_options(invocation->command) ? invocation->values[index] : NULL;
}

bool liana__invocation_has(const liana__invocation *invocation, const char *name)
{
    return liana__invocation_text(invocation, name) != NULL;
}

liana_status liana__invocation_require(liana__invocation *invocation, const char *name, const char *thing)
{
    const liana__option *option = &invocation->command->options[find_option(invocation->command, name, strlen(name))];
    if (liana__invocation_has(invocation, name)) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "%s: --%s is missing: give %s as --%s %s",
                       invocation->command->name, name, thing, name, option->argument);
}

liana_status liana__invocation_int(liana__invocation *invocation, const char *name, int64_t minimum, int64_t maximum,
                                   int64_t *value)
{
    const char *text = liana__invocation_text(invocation, name);
    if (!text) return LIANA_OK;
    const liana__value *number = liana__value_from_word(&invocation->arena, text);
    if (!number) return liana__fail_memory(&invocation->error, "the arguments");
    if (number->kind == LIANA__VALUE_INT && number->integer >= minimum && number->integer <= maximum) {
        *value = number->integer;
        return LIANA_OK;
    }
    return refuse(invocation, "%s%s: found '%.100s', expected a whole number from %lld to %lld",
                  liana__option_dashes(name), name, text, (long long)minimum, (long long)maximum);
}

liana_status liana__invocation_float(liana__invocation *invocation, const char *name, double minimum, double maximum,
                                     double *value)
{
    const char *text = liana__invocation_text(invocation, name);
    if (!text) return LIANA_OK;
    const liana__value *number = liana__value_from_word(&invocation->arena, text);
    if (!number) return liana__fail_memory(&invocation->error, "the arguments");
    bool is_number = number->kind == LIANA__VALUE_INT || number->kind == LIANA__VALUE_FLOAT;
    if (is_number && number->number >= minimum && number->number <= maximum) {
        *value = number->number;
        return LIANA_OK;
    }
    return refuse(invocation, "%s%s: found '%.100s', expected a number from %g to %g", liana__option_dashes(name), name,
                  text, minimum, maximum);
}

liana_status liana__invocation_output(liana__invocation *invocation, const char *name, const char **path)
{
    static const char standard_output[] = "/dev/stdout";
    *path = liana__invocation_text(invocation, name);
    if (!*path || (strcmp(*path, "-") != 0 && strcmp(*path, standard_output) != 0)) return LIANA_OK;
    if (liana__invocation_has(invocation, "json")) {
        return refuse(invocation, "--%s %s and --json both write to standard output; name a file", name, *path);
    }
    *path = standard_output;
    fflush(invocation->out);
    invocation->out = invocation->err;
    return LIANA_OK;
}

void liana__invocation_print_json(liana__invocation *invocation, const liana__value *event)
{
    liana__text text = {0};
    if (event) liana__value_write_json(event, 0, &text);
    fprintf(invocation->out, "%s\n", text.data ? text.data : "{}");
    fflush(invocation->out);
    liana__text_free(&text);
}
