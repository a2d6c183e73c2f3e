/* list.h - the parts of `liana list`: the kinds with their things, as the program's own tables have them, and how they
 * are printed. Manual pages and the reference are written from what `liana list --json` prints. */
#ifndef LIANA_CLI_LIST_LIST_H
#define LIANA_CLI_LIST_LIST_H

#include "base/field.h"
#include "cli/session.h"

/* One thing that can be named. */
typedef struct liana__list_item {
    const char *name;
    const char *doc;               /* "": the name is enough */
    const char *default_text;      /* of configuration keys; else NULL */
    const liana__fields *fields;   /* its options; NULL: none */
    const liana__field *field;     /* of a key of a file; else NULL */
    const liana__command *command; /* of a subcommand; else NULL */
    const char *const *aliases;    /* further names, up to a NULL; NULL: none */
    const char *in_c;              /* the name of a configuration key in programs; NULL: none */
    const char *resumes;           /* of a configuration key: whether a run that goes on may change it; else NULL */
    bool differs;                  /* it may differ between the processes of a cluster */
    const char *const *cells;      /* under the kind's columns; NULL: it has none */
    const liana__value *facts;     /* the same as numbers, in JSON */
} liana__list_item;

enum { LIANA__MAX_LISTED = 512 };

typedef struct liana__list_items {
    liana__list_item items[LIANA__MAX_LISTED];
    size_t count;
    liana__value *sections; /* of a file: [{name, doc}] */
    liana__arena *arena;
    const liana_context *context; /* whose own parts are listed */
    bool everywhere;              /* also what this machine lacks */
    bool overflows;               /* there are more than LIANA__MAX_LISTED */
} liana__list_items;

typedef struct liana__list_kind {
    const char *name;
    const char *doc;
    void (*list)(liana__list_items *list);
    const liana__fields *common;        /* options that all of them have; NULL: none */
    const liana__kind *parts;           /* instead of `list`: parts of a kind, with their options */
    const liana__fields *(*keys)(void); /* instead of `list`: the keys of a file */
    bool of_run;                        /* keys of a run, which may go on */
    const void *const *things;          /* instead of `list`: structs, up to a NULL */
    size_t name_at, doc_at, options_at; /* the places of members in them; options_at 0: they have no options */
    const char *const *columns;         /* the titles of their cells; NULL: none */
    liana_status (*measure)(liana__invocation *invocation, liana__list_items *list); /* fills in cells and facts */
} liana__list_kind;

/* Kind `index`, or NULL; the kind of that name. Errors: INVALID_CONFIG with the nearest name. */
const liana__list_kind *liana__list_kind_at(size_t index);
liana_status liana__list_kind_find(const char *name, const liana__list_kind **found, liana__error *error)
    LIANA_MUST_USE;
/* The things of a kind, in place of those that the list has. Its arena, context (NULL: no further parts) and
 * `everywhere` are set before. Errors: INTERNAL. */
liana_status liana__list_fill(const liana__list_kind *which, liana__list_items *list, liana__error *error)
    LIANA_MUST_USE;

/* An architecture's sizes: the kind's columns, and the function that fills in cells and facts. */
extern const char *const liana__size_columns[];
liana_status liana__list_measure_architectures(liana__invocation *invocation, liana__list_items *list) LIANA_MUST_USE;

/* A field in words, as in YAML: its default; its type ("a whole number"); its range ("1 to 64"; NULL: none; in the
 * arena). */
const char *liana__list_default(const liana__field *field);
const char *liana__list_type(const liana__field *field);
const char *liana__list_range(const liana__field *field, liana__arena *arena);

/* One JSON object of the kind; for people: all of them, a line each; one of them, with all that is known. */
void liana__list_print_json(liana__invocation *invocation, const liana__list_kind *which,
                            const liana__list_items *list);
void liana__list_print_lines(liana__invocation *invocation, const liana__list_kind *which,
                             const liana__list_items *list);
void liana__list_print_one(liana__invocation *invocation, const liana__list_kind *which, const liana__list_item *item);

#endif
