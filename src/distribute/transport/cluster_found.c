/* Places in a cluster that numbered processes have: RANK, mpirun, srun; and the common code of all sources. */
#include "distribute/transport/cluster_found.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSES = 100000, FIRST_SLURM_PORT = 20000, NUM_SLURM_PORTS = 20000 };

const char *liana__cluster_variable(const liana__cluster_reader *reader, const char *name)
{
    const char *value = reader->get(reader->user, name);
    return value && *value ? value : NULL;
}

liana_status liana__cluster_number(const liana__cluster_reader *reader, const char *name, size_t least, size_t most,
                                   size_t *number)
{
    const char *text = liana__cluster_variable(reader, name);
    char *end = NULL;
    errno = 0;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (text && *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && value >= least && value <= most) {
        *number = (size_t)value;
        return LIANA_OK;
    }
    return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                       "%s: found %s%.60s%s, expected a whole number from %zu to %zu", name, text ? "'" : "",
                       text ? text : "nothing", text ? "'" : "", least, most);
}

liana_status liana__cluster_check_address(const liana__cluster_reader *reader, const char *source, const char *address)
{
    const char *colon = strrchr(address, ':');
    char *end = NULL;
    if (liana__starts_with(address, "ipc:///")) return LIANA_OK;
    unsigned long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
    bool has_host = colon && colon > address && !strstr(address, "://");
    /* Only in brackets may a host have colons. */
    if (has_host && memchr(address, ':', (size_t)(colon - address)) && *address != '[') has_host = false;
    if (has_host && port > 0 && port <= 65535 && *end == '\0') return LIANA_OK;
    return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                       "%s: the address '%.200s' is not understood, expected host:port with a port from 1 to 65535",
                       source, address);
}

/* The last of them are servers, if the configuration says so. */
static liana_status take_numbers(const liana__cluster_reader *reader, liana__cluster_found *found, const char *source,
                                 size_t rank, size_t size)
{
    size_t servers = (size_t)reader->options->num_servers;
    if (servers > 0 && servers >= size) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "cluster.num_servers is %zu, but %s says that there are %zu processes, of which one must be "
                           "a worker",
                           servers, source, size);
    }
    found->source = source;
    found->has_rank = true;
    found->rank = rank;
    found->num_workers = size - servers;
    found->num_servers = servers;
    return LIANA_OK;
}

static liana_status check_rank(const liana__cluster_reader *reader, const char *rank_name, size_t rank,
                               const char *size_name, size_t size)
{
    if (rank < size) return LIANA_OK;
    return liana__fail(reader->error, LIANA_INVALID_CONFIG, "%s is %zu, but %s is %zu: ranks are from 0 to %zu",
                       rank_name, rank, size_name, size, size - 1);
}

liana_status liana__find_rank(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    size_t rank, size, port;
    if (!liana__cluster_variable(reader, "WORLD_SIZE")) return LIANA_OK;
    LIANA_TRY(liana__cluster_number(reader, "WORLD_SIZE", 1, MOST_PROCESSES, &size));
    if (!liana__cluster_variable(reader, "RANK")) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "WORLD_SIZE is %zu, but RANK is not set: which of them is this process?", size);
    }
    LIANA_TRY(liana__cluster_number(reader, "RANK", 0, MOST_PROCESSES, &rank));
    LIANA_TRY(check_rank(reader, "RANK", rank, "WORLD_SIZE", size));
    LIANA_TRY(take_numbers(reader, found, "RANK and WORLD_SIZE", rank, size));
    found->id = liana__cluster_variable(reader, "TORCHELASTIC_RUN_ID");
    const char *master = liana__cluster_variable(reader, "MASTER_ADDR");
    if (!master && (size == 1 || reader->options->workers.count)) return LIANA_OK;
    if (!master) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "WORLD_SIZE is %zu, but MASTER_ADDR is not set: where is rank 0? (or cluster.workers)",
                           size);
    }
    LIANA_TRY(liana__cluster_number(reader, "MASTER_PORT", 1, 65535, &port));
    found->master = liana__arena_format(reader->arena, strchr(master, ':') ? "[%s]:%zu" : "%s:%zu", master, port);
    return found->master ? LIANA_OK : liana__fail_memory(reader->error, "the cluster");
}

liana_status liana__find_mpi(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    static const struct {
        const char *rank, *size, *library;
    } known[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"},
        {"PMI_RANK", "PMI_SIZE", "mpich"},
        {"PMIX_RANK", "SLURM_NTASKS", "openmpi"}, /* srun --mpi=pmix */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t rank, size;
        if (!liana__cluster_variable(reader, known[i].rank) || !liana__cluster_variable(reader, known[i].size))
            continue;
        LIANA_TRY(liana__cluster_number(reader, known[i].size, 1, MOST_PROCESSES, &size));
        LIANA_TRY(liana__cluster_number(reader, known[i].rank, 0, MOST_PROCESSES, &rank));
        LIANA_TRY(check_rank(reader, known[i].rank, rank, known[i].size, size));
        found->is_mpi = true;
        found->library = reader->options->mpi ? reader->options->mpi : known[i].library;
        return take_numbers(reader, found, known[i].rank, rank, size);
    }
    return LIANA_OK;
}

/* The first host of Slurm's lists: "node[03-07,9],other" is node03. */
static const char *first_host(const liana__cluster_reader *reader, const char *list)
{
    size_t prefix = strcspn(list, ",[");
    if (list[prefix] != '[') return liana__arena_format(reader->arena, "%.*s", (int)prefix, list);
    const char *number = list + prefix + 1, *close = strchr(number, ']');
    size_t digits = strcspn(number, "-,]");
    const char *suffix = close ? close + 1 : "";
    return liana__arena_format(reader->arena, "%.*s%.*s%.*s", (int)prefix, list, (int)digits, number,
                               (int)strcspn(suffix, ","), suffix);
}

liana_status liana__find_slurm(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    size_t rank, size, job = 0;
    /* A batch script's own process has most of these variables, but it is no step. */
    const char *step = liana__cluster_variable(reader, "SLURM_STEP_ID");
    if (!step || !liana__cluster_variable(reader, "SLURM_PROCID")) return LIANA_OK;
    const char *size_name =
        liana__cluster_variable(reader, "SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    LIANA_TRY(liana__cluster_number(reader, size_name, 1, MOST_PROCESSES, &size));
    LIANA_TRY(liana__cluster_number(reader, "SLURM_PROCID", 0, MOST_PROCESSES, &rank));
    LIANA_TRY(check_rank(reader, "SLURM_PROCID", rank, size_name, size));
    LIANA_TRY(take_numbers(reader, found, "SLURM_PROCID", rank, size));
    if (size == 1 || reader->options->workers.count) return LIANA_OK;
    LIANA_TRY(liana__cluster_number(reader, "SLURM_JOB_ID", 0, SIZE_MAX / 2, &job));
    const char *list = liana__cluster_variable(reader, "SLURM_STEP_NODELIST");
    if (!list) list = liana__cluster_variable(reader, "SLURM_JOB_NODELIST");
    if (!list) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "SLURM_PROCID is set, but SLURM_STEP_NODELIST is not: on which machine is rank 0?");
    }
    const char *host = first_host(reader, list);
    if (host) {
        found->master = liana__arena_format(reader->arena, "%s:%zu", host, FIRST_SLURM_PORT + job % NUM_SLURM_PORTS);
    }
    found->id = liana__arena_format(reader->arena, "slurm %zu.%s", job, step);
    return found->master && found->id ? LIANA_OK : liana__fail_memory(reader->error, "the cluster");
}
