/* YAML through libfyaml. */
#include "formats/yaml.h"

#include "base/field.h"
#include "base/file.h"
#include "base/utf8.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

/* An open mapping or sequence. `key` waits for its value. */
typedef struct level {
    liana__value *value;
    char *anchor;
    size_t nodes; /* in it so far, itself included */
    char *key;
    liana__place key_place;
} level;

typedef struct anchored {
    struct anchored *next;
    const char *name;
    liana__value *value;
    size_t nodes;
} anchored;

typedef struct reader {
    struct fy_parser *parser;
    struct fy_diag *diag;
    const char *file;
    liana__arena *arena;
    liana__error *error;
    level levels[LIANA__YAML_MAX_DEPTH];
    int depth;
    anchored *anchors;
    liana__value *root;
    size_t root_nodes;
    int documents;
} reader;

static liana_status fail_here(reader *from, const liana__place *place, const char *message)
{
    return liana__fail_at(from->error, place, NULL, "%s", message);
}

static liana__place place_of(const reader *from, const struct fy_mark *mark)
{
    if (!mark) return (liana__place){from->file, 1, 1};
    return (liana__place){from->file, mark->line + 1, mark->column + 1};
}

/* The first error that libfyaml collected, in our form. */
static liana_status fail_syntax(reader *from)
{
    void *iterator = NULL;
    const struct fy_diag_error *problem = fy_diag_errors_iterate(from->diag, &iterator);
    if (!problem) return liana__fail(from->error, LIANA_INVALID_CONFIG, "%s: not valid YAML", from->file);
    liana__place place = {from->file, problem->line > 0 ? problem->line : 1, problem->column > 0 ? problem->column : 1};
    size_t length = problem->msg ? strcspn(problem->msg, "\n") : 0;
    return liana__fail_at(from->error, &place, NULL, "not valid YAML: %.*s", (int)length, problem->msg);
}

/* Copies the token's text, and refuses a 0 byte, which would hide the rest. */
static liana_status copy_text(reader *from, struct fy_token *token, const liana__place *place, char **text)
{
    size_t size = 0;
    const char *bytes = token ? fy_token_get_text(token, &size) : "";
    if (!bytes) return liana__fail_memory(from->error, "a YAML text");
    if (memchr(bytes, 0, size)) return fail_here(from, place, "a text holds a 0 byte");
    *text = liana__arena_allocate(from->arena, size + 1);
    if (!*text) return liana__fail_memory(from->error, "a YAML text");
    memcpy(*text, bytes, size);
    return LIANA_OK;
}

/* Puts a finished value where it belongs: into the mapping or sequence that is open, or at the root. */
static liana_status place_value(reader *from, liana__value *value, size_t nodes)
{
    if (!value) return liana__fail_memory(from->error, "a YAML file");
    size_t *total = &from->root_nodes;
    if (from->depth == 0) {
        from->root = value;
    } else {
        level *parent = &from->levels[from->depth - 1];
        total = &parent->nodes;
        if (parent->value->kind == LIANA__VALUE_LIST) {
            liana__value_add(from->arena, parent->value, value);
        } else {
            liana__value_append(from->arena, parent->value, parent->key, &parent->key_place, value);
            parent->key = NULL;
        }
    }
    *total += nodes;
    if (from->arena->failed) return liana__fail_memory(from->error, "a YAML file");
    if (*total > LIANA__YAML_MAX_NODES)
        return fail_here(from, &value->place, "more than 1000000 values (with aliases)");
    return LIANA_OK;
}

static liana_status remember_anchor(reader *from, const char *name, liana__value *value, size_t nodes)
{
    anchored *anchor = liana__arena_allocate(from->arena, sizeof *anchor);
    if (!anchor) return liana__fail_memory(from->error, "a YAML anchor");
    *anchor = (anchored){from->anchors, name, value, nodes};
    from->anchors = anchor;
    return LIANA_OK;
}

static bool expects_key(const reader *from)
{
    const level *parent = from->depth ? &from->levels[from->depth - 1] : NULL;
    return parent && parent->value->kind == LIANA__VALUE_MAP && !parent->key;
}

static liana_status take_key(reader *from, struct fy_token *token, const liana__place *place)
{
    level *parent = &from->levels[from->depth - 1];
    char *key;
    LIANA_TRY(copy_text(from, token, place, &key));
    const liana__value *map = parent->value;
    if (map->count >= LIANA__YAML_MAX_KEYS) return fail_here(from, place, "more than 10000 keys in one mapping");
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i], key) != 0) continue;
        return liana__fail_at(from->error, place, NULL, "the key '%.100s' was given before, in line %d", key,
                              map->key_places[i].line);
    }
    parent->key = key;
    parent->key_place = *place;
    return LIANA_OK;
}

/* Whether a tag asks for text ("!" or "!!str"); any other tag is refused. */
static liana_status check_tag(reader *from, struct fy_token *tag, bool *is_text)
{
    *is_text = false;
    if (!tag) return LIANA_OK;
    size_t size = 0;
    const char *name = fy_token_get_text(tag, &size);
    static const char text_tag[] = "tag:yaml.org,2002:str";
    *is_text = name && ((size == 1 && *name == '!') || (size == strlen(text_tag) && memcmp(name, text_tag, size) == 0));
    if (*is_text) return LIANA_OK;
    liana__place place = place_of(from, fy_token_start_mark(tag));
    return liana__fail_at(from->error, &place, NULL, "tag '%.*s' is not supported; remove it",
                          (int)(size < 100 ? size : 100), name ? name : "");
}

/* The place of a scalar. libfyaml's mark is after an opening quote; for a block scalar it is on the first line of the
 * text; for a missing value there is none. In the last two cases the place of the key is used. */
static liana__place scalar_place(const reader *from, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    const struct fy_mark *mark = fy_event_start_mark(event);
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    const level *parent = from->depth ? &from->levels[from->depth - 1] : NULL;
    if (parent && parent->key && (!mark || style == FYSS_LITERAL || style == FYSS_FOLDED)) return parent->key_place;
    if (!mark && parent) return parent->value->place;
    liana__place place = place_of(from, mark);
    if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && place.column > 1) place.column--;
    return place;
}

static liana_status on_scalar(reader *from, struct fy_event *event)
{
    liana__place place = scalar_place(from, event);
    struct fy_token *token = event->scalar.value, *anchor = event->scalar.anchor;
    bool is_text;
    LIANA_TRY(check_tag(from, event->scalar.tag, &is_text));
    if (expects_key(from)) {
        if (anchor) return fail_here(from, &place, "an anchor on a key is not supported");
        return take_key(from, token, &place);
    }
    char *text;
    LIANA_TRY(copy_text(from, token, &place, &text));
    bool plain = !is_text && (!token || fy_token_scalar_style(token) == FYSS_PLAIN);
    liana__value *value = plain ? liana__value_from_word(from->arena, text) : liana__value_string(from->arena, text);
    if (value) value->place = place;
    if (anchor && value) {
        char *name;
        LIANA_TRY(copy_text(from, anchor, &place, &name));
        LIANA_TRY(remember_anchor(from, name, value, 1));
    }
    return place_value(from, value, 1);
}

static liana_status on_alias(reader *from, struct fy_event *event)
{
    liana__place place = place_of(from, fy_event_start_mark(event));
    if (place.column > 1) place.column--; /* the mark is behind the '*' */
    if (expects_key(from)) return fail_here(from, &place, "an alias as a key is not supported");
    char *name;
    LIANA_TRY(copy_text(from, event->alias.anchor, &place, &name));
    for (const anchored *anchor = from->anchors; anchor; anchor = anchor->next) {
        if (strcmp(anchor->name, name) == 0) return place_value(from, anchor->value, anchor->nodes);
    }
    return liana__fail_at(from->error, &place, NULL, "the alias '*%.100s' has no finished anchor before it", name);
}

static liana_status on_start(reader *from, struct fy_event *event, bool is_map)
{
    liana__place place = place_of(from, fy_event_start_mark(event));
    struct fy_token *anchor = is_map ? event->mapping_start.anchor : event->sequence_start.anchor;
    struct fy_token *tag = is_map ? event->mapping_start.tag : event->sequence_start.tag;
    if (expects_key(from)) return fail_here(from, &place, "a key is a list or a mapping, expected a word");
    if (from->depth == LIANA__YAML_MAX_DEPTH) return fail_here(from, &place, "more than 64 lists and mappings deep");
    bool is_text;
    LIANA_TRY(check_tag(from, tag, &is_text));
    level opened = {.value = is_map ? liana__value_map(from->arena) : liana__value_list(from->arena), .nodes = 1};
    if (!opened.value) return liana__fail_memory(from->error, "a YAML file");
    opened.value->place = place;
    if (anchor) LIANA_TRY(copy_text(from, anchor, &place, &opened.anchor));
    from->levels[from->depth++] = opened;
    return LIANA_OK;
}

static liana_status on_end(reader *from)
{
    if (from->depth == 0) return liana__fail(from->error, LIANA_INTERNAL, "%s: an end without a start", from->file);
    level closed = from->levels[--from->depth];
    if (closed.anchor) LIANA_TRY(remember_anchor(from, closed.anchor, closed.value, closed.nodes));
    return place_value(from, closed.value, closed.nodes);
}

static liana_status on_event(reader *from, struct fy_event *event)
{
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (from->documents++ == 0) return LIANA_OK;
        liana__place place = place_of(from, fy_event_start_mark(event));
        return fail_here(from, &place, "a second document starts here, expected one");
    case FYET_SCALAR: return on_scalar(from, event);
    case FYET_ALIAS: return on_alias(from, event);
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START: return on_start(from, event, event->type == FYET_MAPPING_START);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END: return on_end(from);
    default: return LIANA_OK;
    }
}

/* Refuses characters that YAML never allows (section 5.1): control characters, and bytes that are not UTF-8. */
static liana_status check_characters(reader *from, const char *text, size_t size)
{
    liana__place place = {from->file, 1, 1};
    for (size_t i = 0; i < size;) {
        uint32_t code;
        size_t length = liana__utf8_character(text + i, size - i, &code);
        if (length == 0) {
            return liana__fail_at(from->error, &place, NULL, "byte 0x%02X is not UTF-8", (unsigned char)text[i]);
        }
        bool control = (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7F && code < 0xA0);
        if ((control && code != 0x85) || code == 0xFFFE || code == 0xFFFF) {
            return liana__fail_at(from->error, &place, NULL, "the character U+%04X is not allowed in YAML",
                                  (unsigned)code);
        }
        place.column = code == '\n' ? 1 : place.column + 1;
        place.line += code == '\n';
        i += length;
    }
    return LIANA_OK;
}

static liana_status read_events(reader *from, const char *text, size_t size)
{
    if (fy_parser_set_string(from->parser, text, size) != 0) return fail_syntax(from);
    struct fy_event *event;
    while ((event = fy_parser_parse(from->parser)) != NULL) {
        liana_status status = on_event(from, event);
        fy_parser_event_free(from->parser, event);
        if (status != LIANA_OK) return status;
    }
    if (fy_parser_get_stream_error(from->parser)) return fail_syntax(from);
    if (from->root) return LIANA_OK;
    from->root = liana__value_null(from->arena);
    if (!from->root) return liana__fail_memory(from->error, "a YAML file");
    from->root->place = (liana__place){from->file, 1, 1};
    return LIANA_OK;
}

static bool has_content(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!strchr(" \t\r\n", text[i])) return true;
    }
    return false;
}

liana_status liana__yaml_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error)
{
    *value = NULL;
    reader from = {.file = liana__arena_string(arena, file ? file : "YAML"), .arena = arena, .error = error};
    if (!from.file) return liana__fail_memory(error, "a YAML file");
    if (size > LIANA__YAML_MAX_SIZE) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: %zu bytes of YAML, expected at most %d", from.file, size,
                           LIANA__YAML_MAX_SIZE);
    }
    LIANA_TRY(check_characters(&from, text, size));
    bool marked = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0; /* a byte order mark */
    text += marked ? 3 : 0;
    size -= marked ? 3 : 0;
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    from.diag = fy_diag_create(&quiet);
    if (!from.diag) return liana__fail_memory(error, "a YAML parser");
    fy_diag_set_collect_errors(from.diag, true);
    from.parser = fy_parser_create(&(struct fy_parse_cfg){.flags = FYPCF_QUIET, .diag = from.diag});
    liana_status status = !from.parser ? liana__fail_memory(error, "a YAML parser")
                                       : read_events(&from, text, has_content(text, size) ? size : 0);
    if (from.parser) fy_parser_destroy(from.parser);
    fy_diag_destroy(from.diag);
    if (status == LIANA_OK) *value = from.root;
    return status;
}

liana_status liana__yaml_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
{
    char *text;
    size_t size;
    *value = NULL;
    LIANA_TRY(liana__file_read(path, LIANA__YAML_MAX_SIZE, &text, &size, error));
    liana_status status = liana__yaml_parse(text, size, path, arena, value, error);
    free(text);
    return status;
}
