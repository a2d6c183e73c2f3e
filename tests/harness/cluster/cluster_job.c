/* Trainings in several processes of the command. */
#include "harness/cluster/cluster_job.h"
#include "harness/text_files.h"
#include "harness/wait_until.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void liana__job_pause(double seconds)
{
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

size_t liana__job_size(const liana__test_job *own)
{
    return own->workers + own->servers;
}

const char *liana__job_folder(const liana__test_job *own)
{
    static char path[600];
    char name[64];
    snprintf(name, sizeof name, "%s%d", own->name, own->number);
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    return path;
}

static void list_addresses(const liana__test_job *own, const char *key, size_t count, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "cluster.%s=[", key);
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, size - length, "%sipc://%s-%s%zu", i ? ", " : "",
                                   liana__job_folder(own), key, i);
    }
    snprintf(text + length, size - length, "]");
}

/* As torchrun starts a process. */
static pid_t start_numbered(const liana__test_job *own, size_t rank, const char *const *words)
{
    char rank_text[32], size_text[32], port[32], keys[600];
    snprintf(rank_text, sizeof rank_text, "RANK=%zu", rank);
    snprintf(size_text, sizeof size_text, "WORLD_SIZE=%zu", liana__job_size(own));
    snprintf(port, sizeof port, "MASTER_PORT=%d", own->port);
    snprintf(keys, sizeof keys, "LIANA_CLUSTER_KEYS=%s", liana__test_path("keys"));
    const char *const environment[] = {rank_text, size_text, "MASTER_ADDR=localhost", port, keys, NULL};
    return liana__test_spawn_as(own->said[rank], words, environment);
}

void liana__job_start(liana__test_job *own, size_t rank, const char *as)
{
    char workers[2048], servers[2048], task[48], heartbeat[48], lease[48], config[512];
    const bool works = rank < own->workers;
    list_addresses(own, "workers", own->workers, workers, sizeof workers);
    list_addresses(own, "servers", own->servers, servers, sizeof servers);
    snprintf(task, sizeof task, "cluster.task=%s:%zu", works ? "worker" : "server", works ? rank : rank - own->workers);
    if (own->servers == 0) snprintf(servers, sizeof servers, "cluster.mirrors=true");
    if (rank == 0) snprintf(task, sizeof task, "cluster.task=chief");
    if (own->port) {
        snprintf(workers, sizeof workers, "cluster.mirrors=true");
        snprintf(servers, sizeof servers, "cluster.num_servers=%zu", own->servers);
        snprintf(task, sizeof task, "cluster.mirrors=true");
    }
    snprintf(heartbeat, sizeof heartbeat, "cluster.heartbeat=%s", own->heartbeat);
    snprintf(lease, sizeof lease, "cluster.lease=%s", own->lease ? own->lease : "1");
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(own->said[rank], sizeof own->said[rank], "%s%d-%zu%s", own->name, own->number, rank, as);
    const char *const words[] = {"train",
                                 config,
                                 "--out",
                                 liana__job_folder(own),
                                 "--requeue",
                                 own->epochs ? own->epochs : LIANA__JOB_EPOCHS,
                                 workers,
                                 servers,
                                 task,
                                 "train.threads=1",
                                 heartbeat,
                                 lease,
                                 "train.microbatch=4",
                                 "checkpoint.every_steps=5",
                                 own->resumes ? "--resume" : own->strategy,
                                 own->resumes ? own->strategy : NULL,
                                 NULL};
    const char *const environment[] = {own->halted == rank ? own->halts_at : NULL, NULL};
    own->processes[rank] =
        own->port ? start_numbered(own, rank, words) : liana__test_spawn_as(own->said[rank], words, environment);
}

void liana__job_start_all(liana__test_job *own)
{
    for (size_t i = 0; i < liana__job_size(own); i++) liana__job_start(own, i, "");
}

void liana__job_wait_for_checkpoint(const liana__test_job *own)
{
    char checkpoints[700];
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", liana__job_folder(own));
    wait_until(liana__folder_exists(checkpoints));
}

char *liana__job_said(const liana__test_job *own, size_t rank, const char *as)
{
    char name[96];
    snprintf(name, sizeof name, "out-%s%d-%zu%s", own->name, own->number, rank, as);
    return liana__test_read_text(name);
}

void liana__job_assert_ends(const liana__test_job *own, size_t rank, int expected)
{
    liana__test_result result = liana__test_wait_as(own->said[rank], own->processes[rank]);
    if (result.code != expected) {
        print_error("rank %zu of %s ends with %d: %s\n", rank, own->name, result.code, result.err);
    }
    assert_int_equal(result.code, expected);
    liana__test_free_result(&result);
}

static bool has_said(const char *file, const char *text)
{
    if (!liana__file_exists(liana__test_path(file))) return false;
    char *said = liana__test_read_text(file);
    const bool found = strstr(said, text);
    free(said);
    return found;
}

void liana__job_wait_until_said(const liana__test_job *own, size_t rank, const char *text)
{
    char file[96];
    snprintf(file, sizeof file, "out-%s", own->said[rank]);
    wait_until(has_said(file, text));
}

bool liana__job_have_said(const liana__test_job *own, const char *text)
{
    bool found = false;
    for (size_t i = 0; i < own->workers; i++) {
        char *said = liana__job_said(own, i, "");
        found = found || strstr(said, text);
        free(said);
    }
    return found;
}

void liana__job_make_data(uint32_t count, const char *epochs)
{
    liana__test_folder();
    liana__test_tiny_run(count);
    assert_code(liana__test_command("cluster", "keys", liana__test_path("keys")), 0);
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("alone"),
                                    epochs, "train.microbatch=4", "train.threads=1"),
                0);
}
