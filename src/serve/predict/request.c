/* The bodies of requests as arrays: JSON. */
#include "serve/predict/request.h"

#include "base/scoped.h"
#include "base/text.h"
#include "serve/predict/json_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

size_t liana__request_row_bytes(const liana_predictor_port *input)
{
    const size_t size = input->dtype == LIANA_STRING ? sizeof(liana_bytes) : sizeof(float);
    return (size_t)input->num_values * size;
}

void *liana__request_row(const liana__request *request, const liana__request_form *form, size_t input)
{
    return (char *)request->arrays[input] + (size_t)request->count * liana__request_row_bytes(&form->inputs[input]);
}

liana_status liana__request_grow(liana__request *request, const liana__request_form *form, liana__error *error)
{
    if (request->count == form->max_examples) {
        return liana__fail(
            error, LIANA_OUT_OF_RANGE,
            "the request has more than %lld examples; send fewer at once, or serve with a larger --queue",
            (long long)form->max_examples);
    }
    request->budget = form->budget;
    for (size_t i = 0; i < form->num_inputs; i++) {
        const size_t row = liana__request_row_bytes(&form->inputs[i]), needed = ((size_t)request->count + 1) * row;
        if (needed <= request->capacities[i]) continue;
        size_t capacity = request->count ? 2 * request->capacities[i] : row;
        const size_t most = (size_t)form->max_examples * row;
        if (capacity > most) capacity = most;
        const size_t more = capacity - request->capacities[i];
        if (!liana__byte_budget_take(form->budget, more)) {
            return liana__fail(error, LIANA_UNAVAILABLE, "the server has no memory for it now");
        }
        request->taken += more;
        void *grown = realloc(request->arrays[i], capacity);
        if (!grown) return liana__fail_memory(error, "a request");
        request->arrays[i] = grown;
        request->capacities[i] = capacity;
    }
    return LIANA_OK;
}

void liana__request_free(liana__request *request)
{
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS; i++) free(request->arrays[i]);
    liana__byte_budget_give(request->budget, request->taken);
    liana__arena_free(&request->arena);
    *request = (liana__request){0};
}

/* ---- the place of a fault ---- */

typedef struct parser {
    liana__json_reader reader;
    liana__request *request;
    const liana__request_form *form;
    const char *list; /* "instances", "inputs", "examples" */
    int64_t example;  /* of the list; -1: none */
    const char *name; /* of the input; NULL: it has no name there */
    int64_t indices[LIANA_MAX_RANK];
    int num_indices;
    bool given[LIANA_MAX_COMPONENTS];
    const char *context; /* of examples: where its object begins; NULL: there is none */
} parser;

/* Puts "inputs.x[3][0]: " before a message. */
static liana_status fail_here(parser *own)
{
    liana__text place = {0};
    liana__text_add(&place, "%s", own->list ? own->list : "the body");
    if (own->example >= 0) liana__text_add(&place, "[%lld]", (long long)own->example);
    if (own->name) liana__text_add(&place, ".%.64s", own->name);
    for (int i = 0; i < own->num_indices; i++) liana__text_add(&place, "[%lld]", (long long)own->indices[i]);
    liana_status status = LIANA_INVALID_ARGUMENT;
    if (place.data) status = liana__fail_within(own->reader.error, "%s", place.data);
    liana__text_free(&place);
    return status;
}

static const char *print_shape(const liana_predictor_port *port, char text[128])
{
    size_t length = (size_t)snprintf(text, 128, "[");
    for (int i = 1; i < port->shape.rank && length < 100; i++) {
        length +=
            (size_t)snprintf(text + length, 128 - length, "%s%lld", i > 1 ? ", " : "", (long long)port->shape.dims[i]);
    }
    snprintf(text + length, 128 - length, "]");
    return text;
}

/* ---- values ---- */

/* {"b64": TEXT}, behind its brace and key. */
static liana_status read_bytes(parser *own, liana__arena *arena, liana_bytes *bytes)
{
    bool first = false, more;
    LIANA_TRY(liana__json_read_base64(&own->reader, arena, &bytes->data, &bytes->size));
    LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
    return more ? liana__json_fail(&own->reader, "an object with \"b64\" has no other key") : LIANA_OK;
}

/* Begins an object whose only key is to be "b64". */
static liana_status open_bytes(parser *own, const char *expected)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *key = "";
    bool first = true, more;
    LIANA_TRY(liana__json_open(&own->reader, '{'));
    LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
    if (more) LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
    if (strcmp(key, "b64") == 0) return LIANA_OK;
    return liana__json_fail(&own->reader, "found an object, expected %s", expected);
}

static liana_status read_text(parser *own, liana_bytes *text)
{
    liana__arena *arena = &own->request->arena;
    if (liana__json_peek(&own->reader) == '{') {
        LIANA_TRY(open_bytes(own, "a text, or {\"b64\": ...}"));
        return read_bytes(own, arena, text);
    }
    const char *bytes;
    LIANA_TRY(liana__json_read_text(&own->reader, arena, &bytes, &text->size));
    text->data = bytes;
    return LIANA_OK;
}

static liana_status read_float(parser *own, float *value)
{
    liana__json_number number;
    LIANA_TRY(liana__json_read_number(&own->reader, &number));
    *value = (float)number.number;
    if (isfinite(*value)) return LIANA_OK;
    if (isfinite(number.number))
        return liana__json_fail(&own->reader, "the number %g does not fit a float32", number.number);
    return liana__json_fail(&own->reader, "found %s; a model computes with finite numbers only",
                            isnan(number.number) ? "NaN" : "an infinite number");
}

static liana_status read_integer(parser *own, const liana_predictor_port *port, int32_t *value)
{
    liana__json_number number;
    LIANA_TRY(liana__json_read_number(&own->reader, &number));
    const int64_t most = port->num_ids ? port->num_ids - 1 : INT32_MAX, least = port->num_ids ? 0 : INT32_MIN;
    *value = (int32_t)number.integer;
    if (number.is_integer && number.integer >= least && number.integer <= most) return LIANA_OK;
    return liana__json_fail(&own->reader, "the input takes whole numbers from %lld to %lld", (long long)least,
                            (long long)most);
}

/* *to moves behind the value. */
static liana_status read_scalar(parser *own, const liana_predictor_port *port, char **to)
{
    char *at = *to;
    if (port->dtype == LIANA_STRING) {
        liana_bytes text;
        *to += sizeof text;
        LIANA_TRY(read_text(own, &text));
        memcpy(at, &text, sizeof text);
        return LIANA_OK;
    }
    *to += sizeof(float);
    if (port->dtype == LIANA_S32) return read_integer(own, port, (int32_t *)(void *)at);
    return read_float(own, (float *)(void *)at);
}

/* The list of an axis, and those within it. */
static liana_status read_axis(parser *own, const liana_predictor_port *port, int axis, char **to)
{
    char text[128];
    const int64_t size = port->shape.dims[axis];
    const bool is_last = axis + 1 == port->shape.rank;
    const int depth = own->num_indices;
    bool first = true, more;
    LIANA_TRY(liana__json_open(&own->reader, '['));
    own->num_indices = depth + 1;
    for (int64_t i = 0;; i++) {
        own->indices[depth] = i;
        LIANA_TRY(liana__json_next(&own->reader, '[', &first, &more));
        if (!more || i == size) {
            own->num_indices = depth;
            if (!more && i == size) return LIANA_OK;
            return liana__json_fail(&own->reader, "a list of %s%lld, expected %lld: an example of '%s' is %s",
                                    more ? "more than " : "", (long long)i, (long long)size, port->name,
                                    print_shape(port, text));
        }
        LIANA_TRY(is_last ? read_scalar(own, port, to) : read_axis(own, port, axis + 1, to));
    }
}

/* A flat list, as the features of examples have it. */
static liana_status read_flat(parser *own, const liana_predictor_port *port, char *to)
{
    liana_predictor_port flat = *port;
    flat.shape.rank = 2;
    flat.shape.dims[1] = port->num_values;
    return read_axis(own, &flat, 1, &to);
}

static liana_status read_image(parser *own, float *to)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_bytes bytes;
    LIANA_TRY(open_bytes(own, "a list of pixels, or {\"b64\": ...} with an image file"));
    LIANA_TRY(read_bytes(own, &arena, &bytes));
    return own->form->decode(own->form->user, bytes.data, bytes.size, to, own->reader.error);
}

/* An example of an input, into its row. */
static liana_status read_example(parser *own, size_t input, bool is_flat)
{
    const liana_predictor_port *port = &own->form->inputs[input];
    char *to = liana__request_row(own->request, own->form, input);
    const char next = liana__json_peek(&own->reader);
    if (own->given[input]) return liana__json_fail(&own->reader, "the input is given twice");
    own->given[input] = true;
    if (port->is_image && next == '{') return read_image(own, (float *)(void *)to);
    /* A number, or a text, is an example of one value. */
    if (port->shape.rank == 1 || (port->num_values == 1 && next != '[')) return read_scalar(own, port, &to);
    return is_flat ? read_flat(own, port, to) : read_axis(own, port, 1, &to);
}

/* ---- examples by names ---- */

static liana_status find_input(parser *own, const char *name, size_t *input)
{
    const liana__request_form *form = own->form;
    liana__nearest_search search = liana__nearest_begin(name);
    for (*input = 0; *input < form->num_inputs; ++*input) {
        if (strcmp(form->inputs[*input].name, name) == 0) return LIANA_OK;
        liana__nearest_add(&search, form->inputs[*input].name);
    }
    own->name = NULL;
    return liana__json_fail(&own->reader, "the model has no input '%.64s'%s%s%s", name,
                            search.nearest ? liana__hint(search.nearest).text : "; its first is '",
                            search.nearest ? "" : form->inputs[0].name, search.nearest ? "" : "'");
}

static liana_status check_given(parser *own)
{
    for (size_t i = 0; i < own->form->num_inputs; i++) {
        if (!own->given[i]) {
            return liana__json_fail(&own->reader, "the input '%.64s' is missing", own->form->inputs[i].name);
        }
    }
    return LIANA_OK;
}

/* {NAME: VALUE, ...}. The first key was read already if `key` is not NULL. */
static liana_status read_members(parser *own, const char *key, bool is_flat)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bool first = true, more = true;
    if (!key) {
        LIANA_TRY(liana__json_open(&own->reader, '{'));
        LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
        if (more) LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
    }
    first = false;
    while (more) {
        size_t input;
        LIANA_TRY(find_input(own, key, &input));
        own->name = own->form->inputs[input].name;
        LIANA_TRY(read_example(own, input, is_flat));
        own->name = NULL;
        LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
        if (more) LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
    }
    return LIANA_OK;
}

/* An object is an example by names, or {"b64": ...}. */
static liana_status read_instance(parser *own)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__json_reader before = own->reader;
    const char *key = "";
    bool first = true, more;
    memset(own->given, 0, sizeof own->given);
    if (liana__json_peek(&own->reader) != '{') {
        if (own->form->num_inputs == 1) return read_example(own, 0, false);
        return liana__json_fail(&own->reader, "the model has %zu inputs: an instance is an object with their names",
                                own->form->num_inputs);
    }
    LIANA_TRY(liana__json_open(&own->reader, '{'));
    LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
    if (more) LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
    const bool is_bytes = own->form->num_inputs == 1 && strcmp(key, "b64") == 0;
    own->reader = before;
    LIANA_TRY(is_bytes ? read_example(own, 0, false) : read_members(own, NULL, false));
    return check_given(own);
}

/* A list of examples. */
static liana_status read_rows(parser *own, const char *list, liana_status (*read)(parser *own))
{
    bool first = true, more;
    own->list = list;
    LIANA_TRY(liana__json_open(&own->reader, '['));
    for (;;) {
        LIANA_TRY(liana__json_next(&own->reader, '[', &first, &more));
        if (!more) break;
        own->example = own->request->count;
        LIANA_TRY(liana__request_grow(own->request, own->form, own->reader.error));
        LIANA_TRY(read(own));
        own->request->count++;
        own->example = -1;
    }
    return own->request->count ? LIANA_OK : liana__json_fail(&own->reader, "the list is empty");
}

/* ---- "inputs": whole arrays ---- */

/* Each input counts its own examples; the first one makes the rows. */
static liana_status read_column(parser *own, size_t input, bool *has_count)
{
    liana__request *request = own->request;
    const int64_t count = request->count;
    bool first = true, more;
    if (own->given[input]) return liana__json_fail(&own->reader, "the input is given twice");
    LIANA_TRY(liana__json_open(&own->reader, '['));
    for (request->count = 0;; request->count++) {
        LIANA_TRY(liana__json_next(&own->reader, '[', &first, &more));
        if (!more) break;
        own->indices[0] = request->count;
        own->num_indices = 1;
        if (!*has_count) LIANA_TRY(liana__request_grow(request, own->form, own->reader.error));
        if (*has_count && request->count == count) break;
        own->given[input] = false;
        LIANA_TRY(read_example(own, input, false));
        own->num_indices = 0;
    }
    own->num_indices = 0;
    own->given[input] = true;
    if (!request->count) return liana__json_fail(&own->reader, "the list is empty");
    if (*has_count && (more || request->count != count)) {
        return liana__json_fail(&own->reader, "found %s%lld examples, but the input before has %lld",
                                more ? "more than " : "", (long long)request->count, (long long)count);
    }
    *has_count = true;
    return LIANA_OK;
}

static liana_status read_columns(parser *own)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bool first = true, more, has_count = false;
    own->list = "inputs";
    own->request->is_columns = true;
    if (liana__json_peek(&own->reader) != '{') {
        if (own->form->num_inputs == 1) return read_column(own, 0, &has_count);
        return liana__json_fail(&own->reader, "the model has %zu inputs: \"inputs\" is an object with their names",
                                own->form->num_inputs);
    }
    LIANA_TRY(liana__json_open(&own->reader, '{'));
    for (;;) {
        const char *key;
        size_t input;
        LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
        if (!more) return check_given(own);
        LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
        LIANA_TRY(find_input(own, key, &input));
        own->name = own->form->inputs[input].name;
        LIANA_TRY(read_column(own, input, &has_count));
        own->name = NULL;
    }
}

/* ---- "examples": features ---- */

/* The context's features are those of each example, and are read again for each. */
static liana_status read_features(parser *own)
{
    memset(own->given, 0, sizeof own->given);
    if (own->context) {
        const liana__json_reader here = own->reader;
        own->reader.at = own->context;
        LIANA_TRY(read_members(own, NULL, true));
        own->reader = here;
    }
    LIANA_TRY(read_members(own, NULL, true));
    return check_given(own);
}

/* ---- the whole body ---- */

typedef enum member { SIGNATURE, INSTANCES, INPUTS, CONTEXT, EXAMPLES, OTHER } member;
static const char *const member_names[] = {"signature_name", "instances", "inputs", "context", "examples", NULL};

/* TensorFlow's own names are those of every model: there is one signature. */
static liana_status read_signature(parser *own)
{
    static const char *const known[] = {"",
                                        "serving_default",
                                        "tensorflow/serving/predict",
                                        "tensorflow/serving/classify",
                                        "tensorflow/serving/regress",
                                        NULL};
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *name;
    size_t size;
    LIANA_TRY(liana__json_read_text(&own->reader, &arena, &name, &size));
    for (size_t i = 0; known[i]; i++) {
        if (strcmp(known[i], name) == 0) return LIANA_OK;
    }
    return liana__json_fail(&own->reader,
                            "Serving signature name: \"%.64s\" not found in signature def; the model has "
                            "\"serving_default\"",
                            name);
}

static liana_status read_member(parser *own, member name, liana__request_kind kind, const char **examples)
{
    const bool predicts = kind == LIANA__REQUEST_PREDICT;
    if (name == SIGNATURE) return read_signature(own);
    if (name == INSTANCES && predicts) return read_rows(own, "instances", read_instance);
    if (name == INPUTS && predicts) return read_columns(own);
    liana__json_peek(&own->reader);
    if (name == CONTEXT) own->context = own->reader.at;
    if (name == EXAMPLES) *examples = own->reader.at;
    return liana__json_skip(&own->reader);
}

/* What a request must have. */
static liana_status check_members(parser *own, const bool *has, liana__request_kind kind)
{
    if (kind == LIANA__REQUEST_EXAMPLES) {
        return has[EXAMPLES] ? LIANA_OK : liana__json_fail(&own->reader, "Missing 'examples' key");
    }
    return has[INSTANCES] || has[INPUTS] ? LIANA_OK
                                         : liana__json_fail(&own->reader, "Missing 'inputs' or 'instances' key");
}

static liana_status read_body(parser *own, liana__request_kind kind)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bool has[OTHER + 1] = {false}, first = true, more;
    const char *examples = NULL;
    LIANA_TRY(liana__json_open(&own->reader, '{'));
    for (;;) {
        const char *key;
        LIANA_TRY(liana__json_next(&own->reader, '{', &first, &more));
        if (!more) break;
        LIANA_TRY(liana__json_read_key(&own->reader, &arena, &key));
        int name = 0;
        while (member_names[name] && strcmp(member_names[name], key) != 0) name++;
        if (has[name] && name != OTHER) return liana__json_fail(&own->reader, "the key \"%s\" is there twice", key);
        has[name] = true;
        if (has[INSTANCES] && has[INPUTS] && kind == LIANA__REQUEST_PREDICT) {
            return liana__json_fail(&own->reader, "expecting only one of 'inputs' or 'instances' keys to exist");
        }
        LIANA_TRY(read_member(own, (member)name, kind, &examples));
        own->list = NULL;
    }
    LIANA_TRY(liana__json_end(&own->reader));
    LIANA_TRY(check_members(own, has, kind));
    if (!examples || kind != LIANA__REQUEST_EXAMPLES) return LIANA_OK;
    own->reader.at = examples;
    own->reader.depth = 1;
    return read_rows(own, "examples", read_features);
}

liana_status liana__request_read_json(liana__request *request, const liana__request_form *form,
                                      liana__request_kind kind, const char *body, size_t size, liana__error *error)
{
    parser own = {.request = request, .form = form, .example = -1};
    own.reader = liana__json_reader_of(body, size, error);
    const liana_status status = read_body(&own, kind);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    fail_here(&own);
    return status;
}
