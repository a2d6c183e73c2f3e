/* Compiles for absent devices, in a child process. */
#include "backends/pjrt/ahead.h"

#include "backends/pjrt/compile_options.h"
#include "backends/pjrt/device_name.h"
#include "backends/pjrt/discovery.h"
#include "backends/pjrt/plugin.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's message in the pipe. */
typedef struct answer {
    liana_status status;
    liana__pjrt_ahead_program program;
    liana__error error;
} answer;

/* ---- the child ---- */

static liana_status compile(const liana__pjrt_plugin *plugin, const liana__pjrt_ahead_request *request,
                            const void *topology, void **executable, liana__error *error)
{
    LIANA__SCOPED(liana__text) options = {0};
    LIANA__SCOPED_MEMORY int *devices = calloc(request->num_replicas, sizeof *devices);
    for (size_t i = 0; devices && i < request->num_replicas; i++) devices[i] = (int)i;
    const liana__pjrt_compile_options wanted = {.num_replicas = request->num_replicas,
                                                .devices = devices,
                                                .is_quick = request->is_quick};
    if (devices) liana__pjrt_compile_options_write(&wanted, &options);
    if (!devices || options.failed) return liana__fail_memory(error, "a program");
    const liana__pjrt_program_text text = liana__pjrt_stablehlo(request->text, request->text_size);
    liana__pjrt_compile_ahead_args args = {.topology = topology,
                                           .program = &text,
                                           .options = options.data,
                                           .options_size = options.length};
    const liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_COMPILE, &args, error);
    *executable = args.executable;
    return status;
}

static void add_text(liana__pjrt_topology_args *topology, liana__pjrt_named_value *options, const char *name,
                     const char *text)
{
    options[topology->num_options++] = (liana__pjrt_named_value){.head = {.struct_size = sizeof *options},
                                                                 .name = name,
                                                                 .name_size = strlen(name),
                                                                 .kind = LIANA__PJRT_STRING,
                                                                 .value.string = text,
                                                                 .value_size = strlen(text)};
}

/* Of the options of the device's name, and of the description of a GPU. */
static liana_status create_topology(const liana__pjrt_plugin *plugin, const liana__pjrt_device_name *name,
                                    const liana__pjrt_ahead_request *request, const void **made, liana__error *error)
{
    LIANA__SCOPED_MEMORY liana__pjrt_named_value *options = calloc(name->num_options + 2, sizeof *options);
    if (!options) return liana__fail_memory(error, "a topology");
    liana__pjrt_topology_args topology = {.name = request->topology,
                                          .name_size = strlen(request->topology),
                                          .options = options,
                                          .num_options = name->num_options};
    if (name->num_options) memcpy(options, name->options, name->num_options * sizeof *options);
    if (request->target) {
        add_text(&topology, options, "target_config", request->target);
        add_text(&topology, options, "topology", request->topology);
    }
    const liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_TOPOLOGY_CREATE, &topology, error);
    *made = topology.topology;
    return status;
}

static liana_status compile_for(const liana__pjrt_plugin *plugin, const liana__pjrt_device_name *name,
                                const liana__pjrt_ahead_request *request, liana__pjrt_ahead_program *program,
                                liana__error *error)
{
    void *executable = NULL;
    const double begin = liana__clock_seconds();
    const void *topology = NULL;
    LIANA_TRY(create_topology(plugin, name, request, &topology, error));
    LIANA_TRY(compile(plugin, request, topology, &executable, error));
    program->seconds = liana__clock_seconds() - begin;
    liana__pjrt_program_memory_args memory = {.executable = executable};
    LIANA_TRY(liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS, &memory, error));
    program->code = memory.code;
    program->arguments = memory.arguments;
    program->results = memory.results;
    program->aliased = memory.aliased;
    program->temporaries = memory.temporaries;
    return liana__pjrt_optimized_read(plugin, executable, &program->optimized, error);
}

/* libtpu asks a server of Google's cloud for the kind of this machine, for ever where there is none; it takes a lock
 * that would keep others out; and it says on standard error that it knows no hosts. */
static void set_environment(void)
{
    setenv("TPU_SKIP_MDS_QUERY", "1", 1);
    setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 1);
    setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
}

/* Nothing is freed: the process ends. */
static _Noreturn void answer_from_child(const char *path, const liana__pjrt_device_name *name,
                                        const liana__pjrt_ahead_request *request, int pipe_end, int log, answer *own)
{
    liana__pjrt_plugin plugin;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    set_environment();
    own->status = liana__pjrt_plugin_load(path, &plugin, &own->error);
    if (own->status == LIANA_OK) own->status = compile_for(&plugin, name, request, &own->program, &own->error);
    const char *bytes = (const char *)own;
    for (size_t written = 0; written < sizeof *own;) {
        const ssize_t count = write(pipe_end, bytes + written, sizeof *own - written);
        if (count < 0 && errno != EINTR) break;
        if (count > 0) written += (size_t)count;
    }
    _exit(0);
}

/* ---- the parent ---- */

/* The last line that is not empty. */
static void read_last_line(int log, char *line, size_t size)
{
    char tail[2048];
    const off_t end = lseek(log, 0, SEEK_END), begin = end > (off_t)sizeof tail ? end - (off_t)sizeof tail : 0;
    const ssize_t count = pread(log, tail, sizeof tail - 1, begin);
    tail[count > 0 ? count : 0] = '\0';
    char *last = tail;
    for (char *at = strtok(tail, "\n"); at; at = strtok(NULL, "\n")) last = at;
    snprintf(line, size, "%.500s", last);
}

static bool read_answer(int pipe_end, answer *got)
{
    char *bytes = (char *)got;
    size_t length = 0;
    while (length < sizeof *got) {
        const ssize_t count = read(pipe_end, bytes + length, sizeof *got - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        length += (size_t)count;
    }
    return true;
}

static liana_status fail_ended(const char *path, int state, int log, liana__error *error)
{
    char line[512];
    read_last_line(log, line, sizeof line);
    return liana__fail(error, LIANA_UNAVAILABLE, "the plugin %s ended the process that compiled (%s %d)%s%s", path,
                       WIFSIGNALED(state) ? "signal" : "exit code",
                       WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state), *line ? "; it said last: " : "",
                       line);
}

static liana_status run_child(const char *path, const liana__pjrt_device_name *name,
                              const liana__pjrt_ahead_request *request, int log, answer *got, liana__error *error)
{
    int ends[2], state = 0;
    if (pipe(ends) < 0) return liana__fail(error, LIANA_IO_ERROR, "pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) answer_from_child(path, name, request, ends[1], log, got);
    close(ends[1]);
    const bool answered = child > 0 && read_answer(ends[0], got);
    close(ends[0]);
    if (child < 0) return liana__fail(error, LIANA_UNAVAILABLE, "fork: %s", strerror(errno));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    return answered ? LIANA_OK : fail_ended(path, state, log, error);
}

static liana_status find_path(const liana__pjrt_device_name *name, liana__arena *arena, const char **path,
                              liana__error *error)
{
    *path = name->path;
    return name->path ? LIANA_OK : liana__pjrt_find_plugin(name->kind, arena, path, error);
}

liana_status liana__pjrt_compile_ahead(const liana__pjrt_ahead_request *request, liana__pjrt_ahead_program *program,
                                       liana__error *error)
{
    const char *path;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__pjrt_device_name name;
    LIANA__SCOPED_MEMORY answer *got = calloc(1, sizeof *got);
    LIANA_TRY(liana__pjrt_device_name_read(request->device, &arena, &name, error));
    LIANA_TRY(find_path(&name, &arena, &path, error));
    FILE *log = got ? tmpfile() : NULL;
    if (!log) return liana__fail_memory(error, "a compiler's messages");
    const liana_status status = run_child(path, &name, request, fileno(log), got, error);
    fclose(log);
    LIANA_TRY(status);
    *program = got->program;
    if (got->status != LIANA_OK) *error = got->error;
    return got->status;
}
