/* Writes the page of augmentations: a template with images, options and the module put in. */
#include "report/web/augment_page.h"

#include "base/file.h"
#include "base/scoped.h"
#include "remote/store.h"
#include "report/data_page.h"
#include "report/web/augment_page_assets.h"

#include <string.h>

/* Few and small enough that the file opens at once. */
enum { MOST_IMAGES = 12, MOST_BYTES = 8 << 20 };

/* ---- values ---- */

static void set(liana__data_page *own, liana__value *map, const char *key, liana__value *item)
{
    if (map) liana__value_set(&own->arena, map, key, item);
}

static void set_text(liana__data_page *own, liana__value *map, const char *key, const char *text)
{
    set(own, map, key, liana__value_string(&own->arena, text ? text : ""));
}

static void set_int(liana__data_page *own, liana__value *map, const char *key, int64_t number)
{
    set(own, map, key, liana__value_int(&own->arena, number));
}

/* Standard base64: RFC 4648, section 4. */
static char *to_base64(liana__arena *arena, const uint8_t *bytes, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = liana__arena_allocate(arena, (size + 2) / 3 * 4 + 1), *next = text;
    for (size_t i = 0; text && i < size; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;
        if (i + 1 < size) word |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < size) word |= bytes[i + 2];
        *next++ = letters[word >> 18];
        *next++ = letters[word >> 12 & 63];
        *next++ = i + 1 < size ? letters[word >> 6 & 63] : '=';
        *next++ = i + 2 < size ? letters[word & 63] : '=';
    }
    return text;
}

/* ---- images ---- */

static liana__value *image_of(liana__data_page *own, uint64_t record, const liana__page_image *read, size_t size)
{
    liana__value *image = liana__value_map(&own->arena);
    set_int(own, image, "record", (int64_t)record);
    set_text(own, image, "label", liana__data_page_class(own, read->label));
    set_text(own, image, "pixels", to_base64(&own->arena, read->pixels, size));
    return image;
}

/* The first set that `liana data` draws. */
static liana_status add_images(liana__data_page *own, const liana_image_shape *shape, liana__value *list)
{
    const uint64_t total = own->source->num_records, most = total < MOST_IMAGES ? total : MOST_IMAGES;
    const size_t size = liana__augment_size(shape), room = MOST_BYTES / size;
    const uint64_t count = room < 1 ? 1 : room < most ? room : most;
    for (uint64_t i = 0; i < count && i < total; i++) {
        liana__page_image image;
        const uint64_t record = liana__data_page_choose(own, i, count);
        const liana_status status = liana__data_page_decode(own, record, shape->height, shape->width, &image);
        if (liana__data_page_leaves_out(own, status)) continue;
        LIANA_TRY(status);
        liana__value_add(&own->arena, list, image_of(own, record, &image, size));
    }
    if (list->count) return LIANA_OK;
    return liana__fail(own->error, LIANA_INVALID_DATA,
                       "none of the first %llu images can be read; 'liana check' names the bad records",
                       (unsigned long long)count);
}

/* ---- stages ---- */

static const char *kind_of(const liana__field *field)
{
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return "bool";
    case LIANA__FIELD_INT: return "int";
    case LIANA__FIELD_FLOAT: return "float";
    case LIANA__FIELD_ENUM: return "enum";
    case LIANA__FIELD_INT_PAIR: return "pair";
    default: return "text"; /* of parts of programs, which no page runs */
    }
}

static liana__value *row_of(liana__data_page *own, const liana__field *field, const liana__value *defaults)
{
    liana__value *row = liana__value_map(&own->arena);
    set_text(own, row, "name", field->name);
    set_text(own, row, "kind", kind_of(field));
    set_text(own, row, "doc", field->doc);
    set(own, row, "required", liana__value_bool(&own->arena, field->required));
    set(own, row, "default", liana__value_copy(&own->arena, liana__value_get(defaults, field->name)));
    if (field->minimum < field->maximum) {
        set(own, row, "minimum", liana__value_float(&own->arena, field->minimum));
        set(own, row, "maximum", liana__value_float(&own->arena, field->maximum));
    }
    if (field->kind != LIANA__FIELD_ENUM) return row;
    liana__value *words = liana__value_list(&own->arena);
    for (size_t i = 0; field->names[i]; i++) {
        liana__value_add(&own->arena, words, liana__value_string(&own->arena, field->names[i]));
    }
    set(own, row, "words", words);
    return row;
}

/* Why a page cannot run a stage; NULL: it can. */
static const char *why_not(const liana_augmentation_type *kind)
{
    if (kind == &liana__augmentation_random_jpeg_quality) return "JPEG compression is not part of the page";
    for (const liana_part *const *builtin = liana__augmentation_kind.builtin; *builtin; builtin++) {
        if (*builtin == &kind->part) return NULL;
    }
    return "it is a part of a program or a plugin, whose code is not on the page";
}

static liana_status add_stage(liana__data_page *own, const liana_augmentation_type *kind, liana__value *list)
{
    const liana__fields *fields = &kind->part.options;
    liana__value *stage = liana__value_map(&own->arena), *rows = liana__value_list(&own->arena);
    void *defaults = liana__arena_allocate(&own->arena, fields->size + 1);
    if (!stage || !rows || !defaults) return liana__fail_memory(own->error, "the stages of the page");
    LIANA_TRY(liana__fields_default(fields, &own->arena, defaults, own->error));
    const liana__value *written = liana__fields_write(fields, &own->arena, defaults);
    for (size_t i = 0; i < fields->count; i++) {
        liana__value_add(&own->arena, rows, row_of(own, &fields->items[i], written));
    }
    set_text(own, stage, "name", kind->part.name);
    set_text(own, stage, "doc", kind->part.doc);
    set_text(own, stage, "missing", why_not(kind));
    set(own, stage, "mixes", liana__value_bool(&own->arena, kind->mix != NULL));
    set(own, stage, "options", rows);
    liana__value_add(&own->arena, list, stage);
    return LIANA_OK;
}

/* The configured list, under the stages' own names: every entry as a map of its options. It was checked before. */
static liana__value *configured(liana__data_page *own)
{
    liana__value *list = liana__value_list(&own->arena);
    const liana__value *from = own->run->config->data.augment;
    for (size_t i = 0; list && from && i < from->count; i++) {
        const liana__value *entry = from->items[i], *options = NULL;
        const char *name = entry->string;
        if (entry->kind == LIANA__VALUE_MAP) {
            name = entry->keys[0];
            options = entry->items[0];
        }
        const liana_augmentation_type *kind =
            liana__part_find(own->run->context, &liana__augmentation_kind, name, NULL);
        liana__value *stage = liana__value_map(&own->arena);
        bool given = options && options->kind == LIANA__VALUE_MAP;
        set_text(own, stage, "name", kind ? kind->part.name : name);
        set(own, stage, "options", given ? liana__value_copy(&own->arena, options) : liana__value_map(&own->arena));
        liana__value_add(&own->arena, list, stage);
    }
    return list;
}

/* ---- the file ---- */

static liana_status gather(liana__data_page *own, const char *title, liana__value **data)
{
    const liana__run *run = own->run;
    const liana__augment *augment = run->training.augment;
    liana_image_shape last = {run->image_shape[0], run->image_shape[1], (int)run->image_shape[2]};
    liana_image_shape first = augment ? liana__augment_input(augment) : last;
    liana__value *map = *data = liana__value_map(&own->arena);
    liana__value *images = liana__value_list(&own->arena), *stages = liana__value_list(&own->arena);
    if (!map || !images || !stages) return liana__fail_memory(own->error, "the page");
    LIANA_TRY(add_images(own, &first, images));
    const liana_augmentation_type *kind;
    for (size_t i = 0; (kind = liana__part_at(run->context, &liana__augmentation_kind, i)); i++) {
        LIANA_TRY(add_stage(own, kind, stages));
    }
    set_text(own, map, "title", title);
    set_text(own, map, "version", liana_version());
    /* As text: a number of JavaScript has 53 bits. */
    set_text(own, map, "seed", liana__arena_format(&own->arena, "%lld", (long long)run->config->job.seed));
    set_int(own, map, "height", last.height);
    set_int(own, map, "width", last.width);
    set_int(own, map, "channels", last.channels);
    set_int(own, map, "inputHeight", first.height);
    set_int(own, map, "inputWidth", first.width);
    set_int(own, map, "numRecords", (int64_t)run->training.source->num_records);
    set(own, map, "stages", stages);
    set(own, map, "list", configured(own));
    set(own, map, "images", images);
    return own->arena.failed ? liana__fail_memory(own->error, "the page") : LIANA_OK;
}

/* Within HTML, also within quotes. */
static void add_escaped(liana__text *page, const char *text)
{
    for (; *text; text++) {
        if (strchr("<>&\"'", *text)) {
            liana__text_add(page, "&#%d;", *text);
        } else {
            liana__text_add_bytes(page, text, 1);
        }
    }
}

/* Within <script>, where no '<' may be: "</script>" and "<!--" would end or hide it. It occurs in texts alone. */
static void add_json(liana__text *page, const liana__value *data)
{
    LIANA__SCOPED(liana__text) json = {0};
    liana__value_write_json(data, 0, &json);
    for (const char *text = json.data; text && *text;) {
        size_t plain = strcspn(text, "<");
        liana__text_add_bytes(page, text, plain);
        text += plain;
        if (*text) liana__text_add(page, "\\u003c");
        if (*text) text++;
    }
    page->failed = page->failed || json.failed;
}

static void add_bytes(liana__text *page, const unsigned char *bytes, size_t size)
{
    liana__text_add_bytes(page, (const char *)bytes, size);
}

/* Puts in what a name of the template stands for. */
static void put_in(liana__data_page *own, const char *name, size_t length, const char *title, const liana__value *data,
                   liana__text *page)
{
    if (strncmp(name, "TITLE", length) == 0) add_escaped(page, title);
    if (strncmp(name, "STYLE", length) == 0) add_bytes(page, liana__web_page_css, liana__web_page_css_size);
    if (strncmp(name, "SCRIPT", length) == 0) add_bytes(page, liana__web_page_js, liana__web_page_js_size);
    if (strncmp(name, "DATA", length) == 0) add_json(page, data);
    if (strncmp(name, "MODULE", length) == 0) {
        const char *module = to_base64(&own->arena, liana__web_module, liana__web_module_size);
        if (module) liana__text_add_bytes(page, module, strlen(module));
    }
}

static void fill_template(liana__data_page *own, const char *title, const liana__value *data, liana__text *page)
{
    const char *next = (const char *)liana__web_page_html, *end = next + liana__web_page_html_size;
    while (next < end) {
        const char *mark = memchr(next, '@', (size_t)(end - next));
        const char *close = mark ? memchr(mark + 1, '@', (size_t)(end - mark - 1)) : NULL;
        if (!close) mark = end;
        liana__text_add_bytes(page, next, (size_t)(mark - next));
        if (!close) return;
        put_in(own, mark + 1, (size_t)(close - mark - 1), title, data, page);
        next = close + 1;
    }
}

static liana_status write_page(liana__data_page *own, const char *title, const char *path)
{
    liana__value *data;
    LIANA__SCOPED(liana__text) page = {0};
    LIANA_TRY(gather(own, title, &data));
    fill_template(own, title, data, &page);
    if (page.failed || own->arena.failed) return liana__fail_memory(own->error, "the page");
    if (liana__path_is_remote(path)) return liana__store_replace(path, page.data, page.length, own->error);
    return liana__file_replace(path, page.data, page.length, own->error);
}

liana_status liana__augment_page_write(liana__run *run, const char *title, const char *path, liana__error *error)
{
    const liana__source *source = run->training.source;
    if (source->lacks_images) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "cannot write the page %s: it shows augmented images, and the training data have none",
                           path);
    }
    liana__data_page own = {.run = run, .seed = 1, .error = error};
    liana_status status = liana__data_page_begin(&own, LIANA__PART_TRAINING);
    if (status == LIANA_OK) status = write_page(&own, title, path);
    liana__data_page_end(&own);
    return status;
}
