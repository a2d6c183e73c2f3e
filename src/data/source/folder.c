/* Image files or text files: folders with a folder for each class, plain folders, or files. */
#include "base/scoped.h"
#include "base/text.h"
#include "data/source/class_list.h"
#include "data/source/image_files.h"
#include "data/source/image_names.h"
#include "formats/image.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct folder_source {
    liana__source base;
    liana__image_files
        files;              /* ids: the path below the folder that was named, or the file's own name, if they differ */
    liana__strings classes; /* in the order of the labels */
    const liana__paths *paths; /* while it is opened */
    liana__unread_images unread;
    size_t num_direct;  /* images in a class folder itself, not below it */
    bool texts;         /* files are texts, NAME.txt */
    bool knows_classes; /* the options list them */
    bool ignore_labels;
} folder_source;

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    return liana__named_as_image(path) || liana__image_sniff(head, head_size) != LIANA__IMAGE_UNKNOWN;
}

static void close_source(void *handle)
{
    folder_source *source = handle;
    liana__image_files_free(&source->files);
    free(source);
}

static liana_record_address address(const void *handle, uint64_t index)
{
    return (liana_record_address){((const folder_source *)handle)->files.items[index].path, -1, 0};
}

static void visit_files(const void *handle, liana_file_visitor *visit, void *user)
{
    const folder_source *source = handle;
    liana__image_files_visit(&source->files, source->base.num_records, visit, user);
}

static void expect(const void *handle, uint64_t index)
{
    liana__image_files_expect(&((const folder_source *)handle)->files, index);
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    return liana__image_files_read(&((const folder_source *)handle)->files, record->index, record->scratch, record,
                                   record->error);
}

/* The memory that a thread reads texts with. */
typedef struct text_scratch {
    liana__file_buffer buffer;
    liana_bytes text;
} text_scratch;

static const liana_component text_component = {.name = "text", .dtype = LIANA_STRING};

static liana_status read_text(void *handle, liana_source_record *record)
{
    text_scratch *scratch = record->scratch;
    LIANA_TRY(read_record(handle, record));
    scratch->text = (liana_bytes){record->bytes, record->size};
    record->bytes = NULL;
    record->values[0] = &scratch->text;
    return LIANA_OK;
}

/* Whether a file of this name is one of the examples. */
static bool is_example(const folder_source *source, const char *name)
{
    return source->texts ? liana__ends_with(name, ".txt") : liana__named_as_image(name);
}

static const char *examples_name(const folder_source *source)
{
    return source->texts ? "text file (NAME.txt)" : "image (" LIANA__IMAGE_KINDS ")";
}

static int64_t known_label(const void *handle, uint64_t index)
{
    return ((const folder_source *)handle)->files.items[index].label;
}

static liana_status add_file(folder_source *source, const char *path, size_t id_start, int64_t label,
                             liana__error *error)
{
    char *copy = liana__arena_string(&source->files.arena, path);
    if (!copy) return liana__fail_memory(error, "a list of images");
    liana__image_file file = {.path = copy, .id = copy + id_start, .label = label};
    return liana__image_files_add(&source->files, &file, error);
}

/* ---- images in a folder and below it ---- */

/* A walk through a folder and the folders in it, each once, however often links lead there: the files of a folder come
 * first, then its folders, both in byte order. Hidden files and folders are left out, and those that archives and disks
 * bring along. */
typedef struct walk {
    folder_source *source;
    const char *root;
    size_t id_start;
    int64_t label;
    void *visited; /* a tree of tsearch: the folders */
} walk;

static liana_status add_images(walk *own, const char *folder, bool with_folders, liana__error *error);

/* A folder that cannot be read is lost as a whole. */
static liana_status list_folder(walk *own, const char *folder, liana__arena *arena, liana__paths *names,
                                liana__error *error)
{
    liana__error why = {0};
    folder_source *source = own->source;
    *names = (liana__paths){0};
    if (liana__folder_list(folder, arena, names, &why) == LIANA_OK) return LIANA_OK;
    return liana__source_lose_file(&source->base, &source->files.arena, folder, &why, error);
}

static liana_status add_entries(walk *own, const char *folder, const liana__paths *names, bool folders,
                                liana__arena *arena, liana__error *error)
{
    for (size_t i = 0; i < names->count; i++) {
        bool is_image = is_example(own->source, names->items[i]);
        if (liana__named_as_litter(names->items[i]) || (is_image && folders)) continue;
        const char *path = liana__path_join(arena, folder, names->items[i]);
        if (!path) return liana__fail_memory(error, folder);
        if (!is_image && liana__folder_exists(path) != folders) continue;
        if (folders) {
            LIANA_TRY(add_images(own, path, true, error));
        } else if (is_image) {
            LIANA_TRY(add_file(own->source, path, own->id_start, own->label, error));
            own->source->num_direct += folder == own->root;
        } else {
            if (!own->source->texts) liana__unread_images_add(&own->source->unread, path);
            own->source->base.num_ignored++;
        }
    }
    return LIANA_OK;
}

typedef struct folder_key {
    dev_t device;
    ino_t inode;
} folder_key;

static int compare_keys(const void *a, const void *b)
{
    const folder_key *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Links may lead to a folder again, and so on without end. A folder that cannot be looked at counts as new. */
static liana_status visit_folder(walk *own, const char *path, bool *is_new, liana__error *error)
{
    struct stat info;
    *is_new = true;
    if (stat(path, &info) != 0) return LIANA_OK;
    folder_key *key = malloc(sizeof *key);
    if (!key) return liana__fail_memory(error, path);
    *key = (folder_key){info.st_dev, info.st_ino};
    folder_key *const *kept = tsearch(key, &own->visited, compare_keys);
    *is_new = kept && *kept == key;
    if (!*is_new) free(key);
    return kept ? LIANA_OK : liana__fail_memory(error, path);
}

static liana_status add_images(walk *own, const char *folder, bool with_folders, liana__error *error)
{
    bool is_new;
    LIANA_TRY(visit_folder(own, folder, &is_new, error));
    if (!is_new) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    LIANA_TRY(list_folder(own, folder, &arena, &names, error));
    LIANA_TRY(add_entries(own, folder, &names, false, &arena, error));
    return with_folders ? add_entries(own, folder, &names, true, &arena, error) : LIANA_OK;
}

static liana_status walk_folder(folder_source *source, const char *folder, size_t id_start, int64_t label,
                                bool with_folders, liana__error *error)
{
    walk own = {.source = source, .root = folder, .id_start = id_start, .label = label};
    liana_status status = add_images(&own, folder, with_folders, error);
    tdestroy(own.visited, free);
    return status;
}

/* ---- classes ---- */

/* The names of the folders in the folders that were named, in byte order. */
static liana_status list_classes(const liana__paths *paths, liana__arena *arena, liana__strings *classes,
                                 liana__error *error)
{
    liana__name_set set = {.arena = arena};
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < paths->count; i++) {
        liana__paths names = {0};
        if (!liana__folder_exists(paths->items[i])) continue;
        status = liana__folder_list(paths->items[i], arena, &names, error);
        for (size_t k = 0; status == LIANA_OK && k < names.count; k++) {
            const char *name = names.items[k], *inner = liana__path_join(arena, paths->items[i], name);
            bool is_class = inner && !liana__named_as_litter(name) && liana__folder_exists(inner);
            if (is_class) liana__name_set_add(&set, name, strlen(name));
        }
    }
    *classes = liana__name_set_take(&set);
    if (status == LIANA_OK && arena->failed) return liana__fail_memory(error, "a list of classes");
    return status;
}

/* "'FOLDER/NAME'" of the first folder that was named and has a folder of this name. */
static const char *first_place(const liana__paths *paths, liana__arena *arena, const char *name)
{
    const char *inner = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        inner = liana__path_join(arena, paths->items[i], name);
        if (!inner || liana__folder_exists(inner)) break;
    }
    return inner ? inner : name;
}

/* Folders whose names mean the same are one class, written in two ways. */
static liana_status check_spelling(const liana__paths *paths, liana__arena *arena, const liana__strings *names,
                                   liana__error *error)
{
    liana__alike alike;
    LIANA_TRY(liana__class_list_find_alike(names, false, &alike, error));
    if (!alike.one) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the folders '%s' and '%s' have the classes %s and %s, which are written differently, but mean "
                       "the same; rename one of them%s",
                       first_place(paths, arena, alike.one), first_place(paths, arena, alike.other),
                       liana__class_name_show(alike.one, alike.looks_same).text,
                       liana__class_name_show(alike.other, alike.looks_same).text,
                       alike.looks_same ? "" : ", or list both in data.class_names if they are two classes");
}

/* The folders in the folders that were named are the classes, unless the options list the classes. */
static liana_status find_classes(folder_source *source, const liana__paths *paths, const liana__source_options *options,
                                 liana__error *error)
{
    liana__arena *arena = &source->files.arena;
    if (options->class_names.count) {
        source->classes = liana__names_copy(&options->class_names, arena);
        return arena->failed ? liana__fail_memory(error, "a list of classes") : LIANA_OK;
    }
    LIANA_TRY(list_classes(paths, arena, &source->classes, error));
    return options->ignore_labels ? LIANA_OK : check_spelling(paths, arena, &source->classes, error);
}

static liana_status fail_class(folder_source *source, const char *folder, const char *name, liana__error *error)
{
    const liana__class_hint_text hint = liana__class_hint(name, &source->classes);
    liana__strings found;
    LIANA_TRY(list_classes(source->paths, &source->files.arena, &found, error));
    liana__class_list_text ours = liana__class_list_show(&source->classes);
    liana__class_list_text theirs = liana__class_list_show(&found);
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the folder '%s' does not have the name of a class%s. There are %s; the folders here are of %s",
                       folder, *hint.text ? hint.text : " (see data.class_names)", ours.text, theirs.text);
}

/* A folder's name says one class, and not which of two. */
static liana_status check_twins(const folder_source *source, const char *folder, int64_t label, liana__error *error)
{
    const liana__twins twins = label < 0 ? (liana__twins){-1, -1} : liana__class_twins(&source->classes, label);
    if (twins.one < 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the folder '%s' has the name of two classes: %s; give each class a name of its own in "
                       "data.class_names",
                       folder, liana__twins_show(&source->classes, &twins).text);
}

/* Why a folder has no image: its other contents. `unread`: the images of other kinds in it. */
static liana_status fail_without_images(folder_source *source, const char *what, const char *folder,
                                        const liana__unread_images *unread, const char *hint, liana__error *error)
{
    if (unread->total) {
        const char *list = liana__unread_images_list(unread, &source->files.arena);
        return liana__fail(error, LIANA_INVALID_DATA,
                           "no image that can be read (" LIANA__IMAGE_KINDS ") in the folder %s'%s', but %s; convert "
                           "them, to PNG for example",
                           what, folder, list ? list : "others");
    }
    return liana__fail(error, LIANA_INVALID_DATA, "no %s in the folder %s'%s'%s", examples_name(source), what, folder,
                       hint);
}

/* A class of which there is nothing to train on is a mistake; where the classes are known, data may lack some. */
static liana_status check_class_folder(folder_source *source, const char *folder, const char *name,
                                       const liana__unread_images *unread, uint64_t num_others, liana__error *error)
{
    if (source->knows_classes) return LIANA_OK;
    const char *what = liana__arena_format(&source->files.arena, "of class '%s', ", name);
    const char *hint = num_others ? "; is the named folder one level too high?"
                                  : ": it is empty; remove it, or put examples of this class there";
    if (!what) return liana__fail_memory(error, folder);
    return fail_without_images(source, what, folder, unread, hint, error);
}

static liana_status add_class_folder(folder_source *source, const char *folder, const char *name, size_t id_start,
                                     liana__error *error)
{
    int64_t label = source->ignore_labels ? -1 : liana__names_find(&source->classes, false, name, strlen(name));
    if (label < 0 && !source->ignore_labels) return fail_class(source, folder, name, error);
    LIANA_TRY(check_twins(source, folder, label, error));
    size_t before = source->files.count, num_lost = source->base.num_lost;
    const liana__unread_images all = source->unread;
    const uint64_t ignored = source->base.num_ignored;
    source->unread = (liana__unread_images){0};
    LIANA_TRY(walk_folder(source, folder, id_start, label, true, error));
    const liana__unread_images own = source->unread;
    for (size_t i = 0; i < LIANA__UNREAD_KINDS; i++) source->unread.counts[i] += all.counts[i];
    source->unread.total += all.total;
    if (source->files.count > before || source->base.num_lost > num_lost || source->ignore_labels) return LIANA_OK;
    return check_class_folder(source, folder, name, &own, source->base.num_ignored - ignored, error);
}

/* A folder that was named: the images in and below the folders in it, with labels, or else its own images, without. */
static liana_status add_folder(folder_source *source, const char *path, liana__error *error)
{
    size_t before = source->files.count, num_lost = source->base.num_lost;
    size_t id_start = strlen(path) + (liana__ends_with(path, "/") ? 0 : 1);
    bool has_folders = false;
    liana__paths names;
    LIANA_TRY(liana__folder_list(path, &source->files.arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        if (liana__named_as_litter(names.items[i])) continue;
        char *inner = liana__path_join(&source->files.arena, path, names.items[i]);
        if (!inner) return liana__fail_memory(error, "a list of images");
        if (!liana__folder_exists(inner)) continue;
        has_folders = true;
        LIANA_TRY(add_class_folder(source, inner, names.items[i], id_start, error));
    }
    /* Images next to class folders have no class. */
    if (!has_folders || source->ignore_labels) LIANA_TRY(walk_folder(source, path, id_start, -1, false, error));
    if (source->files.count > before || source->base.num_lost > num_lost) return LIANA_OK;
    liana_status status = fail_without_images(source, "", path, &source->unread, "", error);
    if (error) error->status = LIANA_NOT_FOUND;
    return status == LIANA_INVALID_DATA ? LIANA_NOT_FOUND : status;
}

/* Folders of the parts of data, which have the class folders in them. */
static bool names_part(const char *name)
{
    static const char *const parts[] = {"train", "training", "val", "valid", "validation", "test", "testing"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcasecmp(name, parts[i]) == 0) return true;
    }
    return false;
}

/* If no class folder has images of its own, the folder may be one level too high. It surely is if there is only one
 * class, or if the classes have names of parts of data ("train", ...). */
static liana_status check_level(const folder_source *source, const liana__source_options *options, liana__error *error)
{
    if (options->class_names.count || source->ignore_labels || !source->classes.count || source->num_direct) {
        return LIANA_OK;
    }
    bool parts = true;
    for (size_t i = 0; i < source->classes.count; i++) parts = parts && names_part(source->classes.items[i]);
    if (source->classes.count > 1 && !parts) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "no %s in the folder of class '%s' itself, only in folders below it; "
                       "is the named folder, '%s', one level too high? (If not, list the classes in data.class_names)",
                       examples_name(source), source->classes.items[0], source->paths->items[0]);
}

static liana_status tell_unread(folder_source *source, liana__error *error)
{
    const liana__unread_images *unread = &source->unread;
    if (!unread->total) return LIANA_OK;
    const char *list = liana__unread_images_list(unread, &source->files.arena);
    const char *text =
        list
            ? liana__arena_format(&source->files.arena,
                                  "%llu of %llu image files in '%s' are of kinds that are not read (%s), and left out; "
                                  "convert them, to PNG for example",
                                  (unsigned long long)unread->total,
                                  (unsigned long long)(unread->total + source->files.count), source->paths->items[0],
                                  list)
            : NULL;
    source->base.left_out = text;
    return text ? LIANA_OK : liana__fail_memory(error, "a list of images");
}

static liana_status fill_source(folder_source *source, const liana__paths *paths, const liana__source_options *options,
                                liana__error *error)
{
    LIANA_TRY(find_classes(source, paths, options, error));
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        if (liana__folder_exists(path)) {
            LIANA_TRY(add_folder(source, path, error));
        } else {
            LIANA_TRY(add_file(source, path, (size_t)(liana__path_name(path) - path), -1, error));
        }
    }
    if (source->files.count) LIANA_TRY(check_level(source, options, error));
    if (paths->count > 1) LIANA_TRY(liana__image_files_distinguish(&source->files, error));
    LIANA_TRY(tell_unread(source, error));
    LIANA_TRY(liana__image_files_note_versions(&source->files, error));
    source->base.num_records = source->files.count;
    source->base.memory = liana__image_files_memory(&source->files);
    source->base.has_labels = liana__image_files_labelled(&source->files, options->skip_damage);
    source->base.class_names = source->classes;
    return LIANA_OK;
}

static liana_status open_examples(liana_source_opening *opening, bool texts)
{
    const liana__paths *paths = &(liana__paths){(char **)opening->paths, opening->num_paths};
    const liana__source_options *options = opening->options;
    liana__error *error = opening->error;
    folder_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    source->paths = paths;
    source->texts = source->base.lacks_images = texts;
    source->base.num_components = texts;
    source->base.components = &text_component;
    source->knows_classes = options->class_names.count > 0;
    source->ignore_labels = options->ignore_labels;
    liana_status status = fill_source(source, paths, options, error);
    source->paths = NULL;
    return status;
}

static liana_status open_source(liana_source_opening *opening)
{
    return open_examples(opening, false);
}

static liana_status open_texts(liana_source_opening *opening)
{
    return open_examples(opening, true);
}

const liana_source_type liana__source_folder = {
    LIANA_PART(SOURCE, liana_source_type, "folder",
               "Image files (" LIANA__IMAGE_KINDS
               "): folders with a folder for each class (with images in its subfolders), plain folders, "
               "or files."),
    .recognises = recognises,
    .takes_folders = true,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .visit_files = visit_files,
    .known_label = known_label,
    .expect = expect,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};

/* Only a configuration names this kind: a text file may be anything. */
const liana_source_type liana__source_text = {
    LIANA_PART(SOURCE, liana_source_type, "text",
               "Text files (NAME.txt): folders with a folder for each class, plain folders, or files. Each file is an "
               "example, the component 'text'."),
    .takes_folders = true,
    .open = open_texts,
    .close = close_source,
    .read = read_text,
    .address = address,
    .visit_files = visit_files,
    .known_label = known_label,
    .expect = expect,
    .scratch_size = sizeof(text_scratch),
    .num_buffers = 1,
};
