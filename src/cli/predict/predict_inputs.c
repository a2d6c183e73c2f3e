/* What is predicted: names on the command line, lists of names, and standard input. */
#include "cli/predict/predict.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/image.h"
#include "train/checkpoint/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_INPUT = 1 << 30, MOST_LIST = 1 << 28 };

/* A growing list of names in the invocation's arena. */
typedef struct name_list {
    liana__invocation *invocation;
    liana__predict_inputs *inputs;
    const char **items;
    size_t count;
    size_t capacity;
} name_list;

static void name_list_free(name_list *list)
{
    free(list->items);
}

static liana_status add_name(name_list *list, const char *name)
{
    if (!name || !liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
        return liana__fail_memory(&list->invocation->error, "a list of names");
    }
    list->items[list->count++] = name;
    return LIANA_OK;
}

/* ---- lists ---- */

static bool is_there(const char *path)
{
    return liana__path_is_remote(path) || liana__file_exists(path) || liana__folder_exists(path);
}

/* A name of a list counts from the list's folder, else from the current one. */
static liana_status add_listed(name_list *list, const char *source, const char *folder, size_t line, const char *name)
{
    liana__arena *arena = &list->invocation->arena;
    const char *beside = folder ? liana__path_join(arena, folder, name) : NULL;
    if (beside && is_there(beside)) return add_name(list, beside);
    const char *here = liana__arena_string(arena, name);
    if (!here || is_there(here)) return add_name(list, here);
    return liana__fail(&list->invocation->error, LIANA_NOT_FOUND,
                       "%s, line %zu: there is no file or folder '%.300s'%s%s", source, line, name,
                       folder && *name != '/' ? ", neither in the current folder nor in " : "",
                       folder && *name != '/' ? folder : "");
}

static liana_status add_lines(name_list *list, const char *source, const char *folder, char *text, size_t size)
{
    const size_t before = list->count;
    size_t line = 0;
    if (memchr(text, 0, size)) {
        return liana__fail(&list->invocation->error, LIANA_INVALID_DATA,
                           "%s: found bytes that are no text, expected the name of a file in each line", source);
    }
    for (char *at = text, *end; at < text + size; at = end + 1) {
        end = at + strcspn(at, "\n");
        const bool is_last = !*end;
        *end = 0;
        line++;
        size_t length = strlen(at);
        if (length && at[length - 1] == '\r') at[--length] = 0;
        if (length) LIANA_TRY(add_listed(list, source, folder, line, at));
        if (is_last) break;
    }
    if (list->count > before) return LIANA_OK;
    return liana__fail(&list->invocation->error, LIANA_INVALID_DATA,
                       "%s: it names nothing to predict, expected the name of a file in each line", source);
}

static liana_status add_list(name_list *list, const char *path)
{
    liana__error *error = &list->invocation->error;
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    LIANA_TRY(liana__file_read(path, MOST_LIST, &text, &size, error));
    const char *folder = liana__path_folder(&list->invocation->arena, path);
    if (!folder) return liana__fail_memory(error, path);
    return add_lines(list, path, folder, text, size);
}

/* ---- standard input ---- */

static liana_status read_input(liana__text *text, liana__error *error)
{
    char piece[1 << 16];
    for (;;) {
        const ssize_t size = read(STDIN_FILENO, piece, sizeof piece);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return liana__fail(error, LIANA_IO_ERROR, "standard input: %s", strerror(errno));
        if (size == 0) break;
        if (text->length + (size_t)size > MOST_INPUT) {
            return liana__fail(error, LIANA_OUT_OF_RANGE, "standard input: more than 1 GiB; name files instead");
        }
        liana__text_add_bytes(text, piece, (size_t)size);
    }
    if (text->failed) return liana__fail_memory(error, "standard input");
    if (text->length) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "standard input is empty, expected an image, rows of CSV, or the name of a file in each line");
}

/* A table has more than one cell in its first line, unless that is the name of a file. */
static bool is_table(const liana__text *text)
{
    char first[4096];
    const size_t length = strcspn(text->data, "\r\n");
    if (length >= sizeof first || !memchr(text->data, ',', length)) return false;
    memcpy(first, text->data, length);
    first[length] = 0;
    return !is_there(first);
}

/* Kinds of files are told by their names and first bytes, so the bytes become a file. */
static liana_status add_file(name_list *list, const char *name, const liana__text *text)
{
    liana__arena *arena = &list->invocation->arena;
    liana__error *error = &list->invocation->error;
    LIANA_TRY(liana__temporary_folder(arena, &list->inputs->folder, error));
    const char *path = liana__path_join(arena, list->inputs->folder, name);
    if (!path) return liana__fail_memory(error, "standard input");
    LIANA_TRY(liana__file_replace(path, text->data, text->length, error));
    return add_name(list, path);
}

static liana_status add_input(name_list *list)
{
    static const char *const endings[] = {
        [LIANA__IMAGE_JPEG] = "stdin.jpg", [LIANA__IMAGE_PNG] = "stdin.png",   [LIANA__IMAGE_BMP] = "stdin.bmp",
        [LIANA__IMAGE_GIF] = "stdin.gif",  [LIANA__IMAGE_WEBP] = "stdin.webp", [LIANA__IMAGE_TIFF] = "stdin.tif"};
    LIANA__SCOPED(liana__text) text = {0};
    if (list->inputs->folder) {
        return liana__fail(&list->invocation->error, LIANA_INVALID_CONFIG,
                           "predict: '-' is given twice; there is one standard input");
    }
    LIANA_TRY(read_input(&text, &list->invocation->error));
    const liana__image_kind kind = liana__image_sniff((const uint8_t *)text.data, text.length);
    if (kind != LIANA__IMAGE_UNKNOWN) return add_file(list, endings[kind], &text);
    if (is_table(&text)) return add_file(list, "stdin.csv", &text);
    return add_lines(list, "standard input", NULL, text.data, text.length);
}

/* ---- all names ---- */

static liana_status add_word(name_list *list, const char *word)
{
    if (strcmp(word, "-") == 0) return add_input(list);
    const bool is_list = word[0] == '@' && word[1] && !is_there(word);
    return is_list ? add_list(list, word + 1) : add_name(list, word);
}

/* The data are the operands after the run, or --data. */
liana_status liana__predict_find_inputs(liana__invocation *invocation, liana__predict_inputs *inputs)
{
    const bool has_run = !liana__invocation_has(invocation, "model") && invocation->num_operands > 0;
    const char *const *words = invocation->operands + has_run;
    const char *pattern = liana__invocation_text(invocation, "data");
    size_t count = invocation->num_operands - has_run;
    LIANA__SCOPED(name_list) list = {.invocation = invocation, .inputs = inputs};
    *inputs = (liana__predict_inputs){0};
    if (count && pattern) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: found both '%s' and --data %s; give the images in one way only", words[0],
                           pattern);
    }
    if (!count && !pattern) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: no images or other data: name them after the run, or give --data PATTERN");
    }
    if (!count) words = &pattern, count = 1;
    for (size_t i = 0; i < count; i++) LIANA_TRY(add_word(&list, words[i]));
    inputs->paths.items = liana__arena_copy(&invocation->arena, list.items, list.count * sizeof *list.items);
    inputs->paths.count = list.count;
    return inputs->paths.items ? LIANA_OK : liana__fail_memory(&invocation->error, "a list of names");
}

void liana__predict_inputs_free(liana__predict_inputs *inputs)
{
    /* What is left behind is removed by the maker of the next such folder. */
    if (inputs->folder && liana__folder_remove(inputs->folder, NULL) != LIANA_OK) inputs->folder = NULL;
    *inputs = (liana__predict_inputs){0};
}

/* ---- items of an option ---- */

liana_status liana__predict_split(liana__invocation *invocation, const char *option, liana__strings *items)
{
    const char *text = liana__invocation_text(invocation, option);
    liana__arena *arena = &invocation->arena;
    *items = (liana__strings){0};
    if (!text) return LIANA_OK;
    const bool whole = liana__file_exists(text) || liana__folder_exists(text);
    size_t count = 1;
    for (const char *at = text; !whole && *at; at++) count += *at == ',';
    const char **list = liana__arena_allocate(arena, count * sizeof *list);
    const char *at = text;
    for (size_t i = 0; list && i < count; i++) {
        const size_t length = whole ? strlen(at) : strcspn(at, ",");
        if (!length) {
            return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                               "predict: --%s %s: an item of the list is empty; separate items with one comma", option,
                               text);
        }
        list[i] = liana__arena_format(arena, "%.*s", (int)length, at);
        at += length + 1;
    }
    *items = (liana__strings){count, list};
    return arena->failed ? liana__fail_memory(&invocation->error, "the arguments") : LIANA_OK;
}
