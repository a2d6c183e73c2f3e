/* liana fetch: lists the files that are known by name, fetches them, and verifies those that are here. */
#include "base/context_plugins.h"
#include "base/scoped.h"
#include "base/waiting.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "known/download.h"
#include "known/look.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)
LIANA__SCOPED_POINTER(liana__remote_destroy, liana__remote)

static const liana__option options[] = {
    {"verify", NULL, "read the files that are here, and compare them with what is published or pinned"},
    {"where", NULL, "say where files come from and where they lie, to place them by hand"},
    {LIANA__OPTION_JSON},
    {0},
};

/* The files that the command line names, in the order of the table. */
typedef struct wanted {
    const liana__known_file **files;
    size_t count;
} wanted;

/* ---- names ---- */

/* "mnist" is all that begins with "mnist/". */
static bool is_named(const char *name, const char *word)
{
    const size_t length = strlen(word);
    if (strpbrk(word, "*?[")) return fnmatch(word, name, 0) == 0;
    return strncmp(name, word, length) == 0 && (!name[length] || name[length] == '/' || word[length - 1] == '/');
}

static liana_status refuse_name(liana__invocation *invocation, const char *word)
{
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    liana__nearest_search search = liana__nearest_begin(word);
    for (size_t i = 0; i < count; i++) {
        /* Each beginning of a name is one, too. */
        for (const char *slash = strchr(files[i].name, '/'); slash; slash = strchr(slash + 1, '/')) {
            const char *part =
                liana__arena_format(&invocation->arena, "%.*s", (int)(slash - files[i].name), files[i].name);
            if (part) liana__nearest_add(&search, part);
        }
        liana__nearest_add(&search, files[i].name);
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "fetch: no known file is called '%.100s'%s", word,
                       search.nearest ? liana__hint(search.nearest).text : "; 'liana fetch' lists them");
}

static liana_status choose(liana__invocation *invocation, wanted *chosen)
{
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    *chosen = (wanted){liana__arena_allocate(&invocation->arena, (count + 1) * sizeof *chosen->files), 0};
    if (!chosen->files) return liana__fail_memory(&invocation->error, "the known files");
    for (size_t k = 0; k < invocation->num_operands; k++) {
        bool found = false;
        for (size_t i = 0; i < count && !found; i++) found = is_named(files[i].name, invocation->operands[k]);
        if (!found) return refuse_name(invocation, invocation->operands[k]);
    }
    for (size_t i = 0; i < count; i++) {
        bool named = invocation->num_operands == 0;
        for (size_t k = 0; k < invocation->num_operands; k++) {
            named = named || is_named(files[i].name, invocation->operands[k]);
        }
        if (named) chosen->files[chosen->count++] = &files[i];
    }
    return LIANA_OK;
}

/* ---- words ---- */

static const char *const STATES[] = {[LIANA__KNOWN_NOT_HERE] = "not here",
                                     [LIANA__KNOWN_PARTIAL] = "partial",
                                     [LIANA__KNOWN_HERE] = "here",
                                     [LIANA__KNOWN_DAMAGED] = "damaged"};
static const char *const ORIGINS[] = {
    [LIANA__KNOWN_NO_HASH] = "none", [LIANA__KNOWN_PUBLISHED] = "published", [LIANA__KNOWN_PINNED] = "pinned"};

typedef struct short_text {
    char text[64];
} short_text;

static void add_size(liana__text *text, uint64_t bytes)
{
    const double number = (double)bytes;
    if (bytes < 1024) {
        liana__text_add(text, "%" PRIu64 " B", bytes);
    } else if (number < 0x1p20) {
        liana__text_add(text, "%.1f KiB", number / 0x1p10);
    } else {
        liana__text_add(text, "%.1f MiB", number / 0x1p20);
    }
}

/* "9.5 MiB", of a part "1.0 MiB of 9.5 MiB", or "?" if nobody says. */
static short_text size_of(const liana__known_look *look)
{
    LIANA__SCOPED(liana__text) text = {0};
    const bool is_partial = look->state == LIANA__KNOWN_PARTIAL;
    if (look->state != LIANA__KNOWN_NOT_HERE) add_size(&text, look->size);
    if (is_partial && look->file->size) liana__text_add(&text, " of ");
    if (look->file->size && (is_partial || look->state == LIANA__KNOWN_NOT_HERE)) add_size(&text, look->file->size);
    short_text shown;
    snprintf(shown.text, sizeof shown.text, "%s", text.data ? text.data : "?");
    return shown;
}

static short_text hash_of(const liana__known_look *look)
{
    short_text shown = {"none"};
    if (look->hash.origin != LIANA__KNOWN_NO_HASH) {
        snprintf(shown.text, sizeof shown.text, "%s %s", look->hash.name, ORIGINS[look->hash.origin]);
    }
    return shown;
}

/* ---- printing ---- */

static void print_json(liana__invocation *invocation, const liana__known_look *look)
{
    const liana__known_file *file = look->file;
    liana__value *event = liana__session_event(invocation, "known_file");
    liana__event_text(invocation, event, "name", file->name);
    liana__event_text(invocation, event, "state", STATES[look->state]);
    if (file->size) liana__event_int(invocation, event, "size", (int64_t)file->size);
    if (look->state != LIANA__KNOWN_NOT_HERE) liana__event_int(invocation, event, "bytes", (int64_t)look->size);
    liana__event_text(invocation, event, "hash", ORIGINS[look->hash.origin]);
    if (look->hash.origin != LIANA__KNOWN_NO_HASH) {
        liana__event_text(invocation, event, look->hash.kind == LIANA__DIGEST_MD5 ? "md5" : "sha256", look->hash.text);
    }
    liana__event_text(invocation, event, "path", look->place.path);
    liana__event_text(invocation, event, "address", look->place.url);
    liana__event_text(invocation, event, "source", file->source);
    if (look->damage) liana__event_text(invocation, event, "damage", look->damage);
    liana__invocation_print_json(invocation, event);
}

/* A table, or a line of JSON for each. */
static void print_all(liana__invocation *invocation, const liana__known_look *looks, size_t count)
{
    int name = (int)strlen("name"), size = (int)strlen("size"), state = (int)strlen("not here");
    for (size_t i = 0; i < count; i++) {
        const int length = (int)strlen(looks[i].file->name), size_length = (int)strlen(size_of(&looks[i]).text);
        if (length > name) name = length;
        if (size_length > size) size = size_length;
    }
    const bool json = liana__invocation_has(invocation, "json");
    if (!json) fprintf(invocation->out, "%-*s  %*s  %-*s  %s\n", name, "name", size, "size", state, "state", "hash");
    for (size_t i = 0; i < count; i++) {
        if (json) {
            print_json(invocation, &looks[i]);
        } else {
            fprintf(invocation->out, "%-*s  %*s  %-*s  %s\n", name, looks[i].file->name, size, size_of(&looks[i]).text,
                    state, STATES[looks[i].state], hash_of(&looks[i]).text);
        }
    }
}

static void print_where(liana__invocation *invocation, const liana__known_look *looks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const liana__known_look *look = &looks[i];
        if (liana__invocation_has(invocation, "json")) {
            print_json(invocation, look);
            continue;
        }
        fprintf(invocation->out, "%s (%s)\n  address  %s\n  file     %s\n", look->file->name, STATES[look->state],
                look->place.url, look->place.path);
        if (look->hash.origin != LIANA__KNOWN_NO_HASH) {
            fprintf(invocation->out, "  %-7s  %s (%s)\n", look->hash.name, look->hash.text, ORIGINS[look->hash.origin]);
        } else {
            fprintf(invocation->out, "  hash     none is published; the SHA-256 of the first fetch is pinned in %s\n",
                    look->place.pin);
        }
        if (look->file->size) fprintf(invocation->out, "  bytes    %" PRIu64 "\n", look->file->size);
        fprintf(invocation->out, "  source   %s\n", look->file->source);
    }
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out,
                "To place a file by hand, download its address by any means and save it as the file.\n");
    }
}

/* ---- the three ways ---- */

static liana_status look_at_all(liana__invocation *invocation, const wanted *chosen, bool verify,
                                liana__known_look **looks)
{
    *looks = liana__arena_allocate(&invocation->arena, (chosen->count + 1) * sizeof **looks);
    if (!*looks) return liana__fail_memory(&invocation->error, "the known files");
    for (size_t i = 0; i < chosen->count; i++) {
        LIANA_TRY(liana__known_look_at(chosen->files[i], verify, &invocation->arena, &(*looks)[i], &invocation->error));
        if (liana__signals_caught()) return liana__fail(&invocation->error, LIANA_CANCELLED, "stopped on request");
    }
    return LIANA_OK;
}

static void complain(liana__invocation *invocation, const char *message)
{
    fputs("liana: ", invocation->err);
    liana__print_plainly(invocation->err, message);
    fputc('\n', invocation->err);
}

static liana_status show(liana__invocation *invocation, const wanted *chosen)
{
    const bool verify = liana__invocation_has(invocation, "verify");
    liana__known_look *looks;
    LIANA_TRY(look_at_all(invocation, chosen, verify, &looks));
    if (liana__invocation_has(invocation, "where")) {
        print_where(invocation, looks, chosen->count);
        return LIANA_OK;
    }
    size_t num_shown = chosen->count, num_damaged = 0;
    const char *damaged = NULL;
    if (verify && invocation->num_operands == 0) {
        /* Nothing can be said about the others. */
        num_shown = 0;
        for (size_t i = 0; i < chosen->count; i++) {
            if (looks[i].state != LIANA__KNOWN_NOT_HERE) looks[num_shown++] = looks[i];
        }
    }
    if (num_shown) {
        print_all(invocation, looks, num_shown);
    } else if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "none of the known files is here\n");
    }
    for (size_t i = 0; i < num_shown; i++) {
        if (!looks[i].damage) continue;
        complain(invocation, looks[i].damage);
        damaged = looks[i].file->name;
        num_damaged++;
    }
    if (num_damaged == 0) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_DATA_LOSS, "fetch: %zu of %zu files %s damaged: %s%s", num_damaged,
                       num_shown, num_damaged == 1 ? "is" : "are", damaged, num_damaged == 1 ? "" : " and others");
}

static liana_status fetch_one(liana__invocation *invocation, liana_context *context, liana__remote *remote,
                              const liana__known_file *file)
{
    const liana__notes notes = {liana__session_note, invocation};
    const char *path;
    liana__error *error = &invocation->error;
    liana__known_look look;
    LIANA_TRY(liana__known_fetch_by(remote, context, file, &notes, &invocation->arena, &path, error));
    LIANA_TRY(liana__known_look_at(file, false, &invocation->arena, &look, error));
    if (liana__invocation_has(invocation, "json")) {
        print_json(invocation, &look);
    } else {
        fprintf(invocation->out, "%s: %s (%s)\n", file->name, path, size_of(&look).text);
    }
    return LIANA_OK;
}

/* One that cannot be fetched does not keep the others from it. */
static liana_status fetch_all(liana__invocation *invocation, const wanted *chosen)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED_BY(liana__remote_destroy_scoped) liana__remote *remote = NULL;
    liana_status status = liana__context_make(NULL, &context);
    if (status == LIANA_OK) status = liana__waiting_set_stop(context, liana__session_stops, NULL);
    if (status != LIANA_OK) return liana__fail_memory(&invocation->error, "a context");
    LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &remote));
    size_t num_failed = 0;
    liana_status first = LIANA_OK;
    for (size_t i = 0; i < chosen->count; i++) {
        status = fetch_one(invocation, context, remote, chosen->files[i]);
        if (status == LIANA_OK) continue;
        if (status == LIANA_CANCELLED || status == LIANA_OUT_OF_MEMORY || chosen->count == 1) return status;
        complain(invocation, invocation->error.message);
        if (num_failed++ == 0) first = status;
    }
    if (num_failed == 0) return LIANA_OK;
    return liana__fail(&invocation->error, first, "fetch: %zu of %zu files could not be fetched", num_failed,
                       chosen->count);
}

static liana_status run(liana__invocation *invocation)
{
    const bool verify = liana__invocation_has(invocation, "verify"), where = liana__invocation_has(invocation, "where");
    wanted chosen;
    if (verify && where) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "fetch: give --verify or --where, not both");
    }
    LIANA_TRY(choose(invocation, &chosen));
    liana__signals_catch();
    return invocation->num_operands == 0 || verify || where ? show(invocation, &chosen)
                                                            : fetch_all(invocation, &chosen);
}

const liana__command liana__subcommand_fetch = {
    .name = "fetch",
    .operands = "[NAME ...]",
    .summary = "List and fetch pretrained weights and data sets that are known by name",
    .help =
        "Without a NAME, lists the known files: their size, whether they are here, and whether their hash is\n"
        "published. NAME is a file (mnist/train-images), all that begin with it (mnist, imagenet/ResNet50), or a\n"
        "pattern ('imagenet/ResNet50*'): these are fetched, unless they are here, and checked. A training fetches\n"
        "the files that it needs by itself.\n\n"
        "Files are kept in LIANA_CACHE (default: liana in XDG_CACHE_HOME or ~/.cache). A fetch that was cut goes on\n"
        "where it was. A file whose hash is not published is fetched over https only; its structure is checked, and\n"
        "its SHA-256 is pinned in FILE.sha256 at the first fetch: from then on other content is refused.\n\n"
        "On a machine without network, 'liana fetch --where NAME' says what to download, and the file to save it\n"
        "as. LIANA_FETCH_BASE=https://HOST/PATH fetches from a mirror that has the files at the same paths.\n"
        "A file that is damaged ends --verify with 1.\n",
    .options = options,
    .max_operands = -1,
    .run = run,
};
