/* Every public function with NULL for each of its pointers in turn: none may crash, and missing arguments are named.
 *
 * The calls are written from the headers by null_arguments/generate.sh, so a new function is covered at once. Each runs
 * in a process of its own. null_arguments/may_be_null.txt lists the parameters that may be NULL. */
#include "harness/tiny_fit.h"

#include "base/context.h"
#include "train/training/training_state.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 8, SECONDS = 120 };

/* The result of a call. */
typedef struct outcome {
    bool has_status;
    liana_status status;
    bool makes; /* it returns an object */
    bool failed;
    bool builds; /* its errors stay with the graph or model */
} outcome;

typedef struct null_case {
    const char *function;
    const char *argument; /* NULL: all are NULL */
    int number;           /* of the argument, from 1; 0: all */
    bool may_be_null;
    bool told;   /* another argument leads to a context, which must have a message */
    bool inside; /* it is called in a callback of a fit */
    outcome (*call)(int null);
} null_case;

/* Arguments that are right. */
static struct {
    liana_context *context;
    liana_graph *graph;
    liana_tensor tensor;
    liana_device *device;
    liana_device_list *device_list;
    liana_variables *variables;
    liana_replicas *replicas;
    liana_per_replica *per_replica;
    liana_replica_program *replica_program;
    liana_replica_iterator *replica_iterator;
    liana_program *program;
    liana_model *model;
    liana_layer layer;
    liana_dataset *dataset;
    liana_iterator *iterator;
    liana_estimator *estimator;
    liana_summary *summary;
    liana_element *element;
    liana_callback_state *callback_state;
    liana_fit_context *fit_context;
} a;
static _Alignas(16) char zeros[1 << 16];

static void some_function(void)
{
}

#include "null_arguments.inc"

/* Whether a call was answered as it should be; prints the fault on standard error. Runs in the child. */
static bool answered(const null_case *own)
{
    a.context->error = (liana__error){0};
    outcome got = own->call(own->number);
    if (own->may_be_null) return true;
    const char *message = a.context->error.message;
    bool failed = (!got.has_status || got.status != LIANA_OK) && (!got.makes || got.failed);
    bool names = true;
    if (own->told && (got.has_status || got.makes)) {
        char quoted[80];
        snprintf(quoted, sizeof quoted, "'%s'", own->argument);
        names = strstr(message, own->function) && strstr(message, quoted);
    } else if (own->told && got.builds) {
        names = *message;
    }
    if (failed && names) return true;
    fprintf(stderr, "%s with %s NULL: status %s, message '%s'\n", own->function, own->argument,
            got.has_status ? liana_status_name(got.status) : "none", message);
    return false;
}

/* The number of cases that were not answered well. */
static int run_cases(bool inside)
{
    int bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const null_case *own = &cases[i];
        if (own->inside != inside) continue;
        fflush(NULL);
        pid_t child = fork();
        assert_compare(child, >=, 0);
        if (child == 0) {
            /* cmocka's handlers would go on with the next test. */
            signal(SIGSEGV, SIG_DFL);
            signal(SIGBUS, SIG_DFL);
            signal(SIGFPE, SIG_DFL);
            alarm(SECONDS);
            _exit(answered(own) ? 0 : 1);
        }
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        if (WIFSIGNALED(how)) {
            fprintf(stderr, "%s with %s NULL: %s\n", own->function, own->argument ? own->argument : "everything",
                    strsignal(WTERMSIG(how)));
        }
        bad += !WIFEXITED(how) || WEXITSTATUS(how) != 0;
    }
    return bad;
}

static liana_estimator_spec some_model(const liana_features *features, const liana_features *labels,
                                       const liana_estimator_mode *mode, void *params)
{
    (void)features, (void)labels, (void)mode, (void)params;
    return (liana_estimator_spec){0};
}

static void build_nothing(liana_graph *graph, void *user)
{
    (void)graph, (void)user;
}

static void set_up(void)
{
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(chdir(liana__test_path(".")), 0);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &a.context), LIANA_OK);
    liana__error *error = &a.context->error;
    assert_ok(liana_dataset_open(a.context, liana__test_path("train-images"), NULL, &a.dataset), error);
    assert_ok(liana_graph_create(a.context, &a.graph), error);
    a.tensor = liana_graph_variable(a.graph, "v", LIANA_F32, liana_shape_of(2));
    a.tensor = liana_graph_initializer(a.tensor, "zeros");
    assert_ok(liana_device_open(a.context, NULL, &a.device), error);
    assert_ok(liana_device_list_create(a.context, "cpu", &a.device_list), error);
    assert_ok(liana_variables_create(a.device, &a.variables), error);
    assert_ok(liana_program_create(a.device, a.graph, &(liana_program_options){.variables = a.variables}, &a.program),
              error);
    assert_ok(liana_replicas_open(a.context, NULL, &a.replicas), error);
    const liana_array numbers = {"x", LIANA_F32, liana_shape_of(2), zeros};
    assert_ok(liana_per_replica_split(a.replicas, &numbers, 1, 0, &a.per_replica), error);
    const liana_replica_program_options options = {.build = build_nothing};
    assert_ok(liana_replica_program_create(a.replicas, &options, &a.replica_program), error);
    liana_dataset *range = liana_dataset_range(a.context, 0, 4, 1);
    assert_ok(liana_replicas_distribute(a.replicas, range, NULL, &a.replica_iterator), error);
    liana_dataset_close(range);
    a.model = liana__tiny_model(a.context);
    a.layer = liana_model_layer(a.model, liana_model_input(a.model, 0).name);
    assert_ok(liana_iterator_create(a.dataset, &(liana_iterator_options){.num_threads = -1}, &a.iterator), error);
    assert_ok(liana_estimator_create(a.context, &(liana_estimator_options){.model_fn = some_model}, &a.estimator),
              error);
    assert_ok(liana_summary_create(a.context, liana__test_path("summary"), &a.summary), error);
    const liana_element *element;
    assert_ok(liana_iterator_next(a.iterator, &element), error);
    a.element = (liana_element *)(uintptr_t)element;
}

static void tear_down(void)
{
    liana_replica_iterator_destroy(a.replica_iterator);
    liana_replica_program_destroy(a.replica_program);
    liana_per_replica_destroy(a.per_replica);
    liana_replicas_close(a.replicas);
    liana_iterator_destroy(a.iterator);
    liana_estimator_destroy(a.estimator);
    assert_int_equal(liana_summary_destroy(a.summary), LIANA_OK);
    liana_model_destroy(a.model);
    liana_program_destroy(a.program);
    liana_variables_destroy(a.variables);
    liana_device_list_destroy(a.device_list);
    liana_device_close(a.device);
    liana_graph_destroy(a.graph);
    liana_dataset_close(a.dataset);
    liana_context_destroy(a.context);
}

static void test_null_arguments(void **state)
{
    (void)state;
    set_up();
    int bad = run_cases(false);
    tear_down();
    assert_int_equal(bad, 0);
}

static liana_status call_inside(void *user, liana_fit_context *context)
{
    liana__kept_values kept = {0};
    liana_callback_state own = {&kept, "own"};
    a.fit_context = context;
    a.callback_state = &own;
    *(int *)user = run_cases(true);
    liana__kept_values_free(&kept);
    return LIANA_OK;
}

static void test_null_arguments_in_callbacks(void **state)
{
    (void)state;
    set_up();
    int bad = -1;
    const liana_callback own = {.size = sizeof own, .name = "own", .train_begin = call_inside, .user = &bad};
    const liana_callback *callbacks[] = {&own};
    assert_ok(liana_fit(a.model,
                        &(liana_fit_options){.training = a.dataset, .callbacks = callbacks, .num_callbacks = 1}),
              &a.context->error);
    tear_down();
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_null_arguments_in_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
