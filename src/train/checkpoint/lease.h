/* lease.h - the holder of a run folder: one process at a time writes to it, also where several machines reach it.
 *
 * A lock (folder_hold.h) ends with its process, but may not reach beyond one machine. A lease reaches as far as the
 * folder does: a small file in it names the holder of the folder, and its holder renews it. A process that wants a
 * folder with a lease watches it: one that does not change for the time that it states belongs to nobody, and is taken.
 * Only durations on the watcher's own clock count, so clocks of machines may differ.
 *
 * A holder that was halted for so long finds that its lease is gone, and then writes nothing more: before anything is
 * written the lease is renewed, and a taken one cannot be renewed.
 *
 * The holder may be a cluster's chief that the others took for dead. It lives, so it renews its lease until it hears of
 * that. Then it writes nothing more, and leaves the lease: its successor waits for that, and finds the former holder in
 * the lease. Where the network is cut the chief may go on with a part of the cluster. It says so in the lease, and the
 * others give up. */
#ifndef LIANA_TRAIN_LEASE_H
#define LIANA_TRAIN_LEASE_H

#include "remote/remote.h"
#include "step/exchange.h"

typedef struct liana__lease liana__lease;

typedef struct liana__lease_options {
    const char *folder;                  /* an existing one, or gs://bucket/folder, s3://bucket/folder */
    const liana__remote_options *remote; /* for buckets; NULL: the defaults */
    double seconds;                      /* a lease that was not renewed for this long may be taken */
    const char *lock;                    /* the lock of this process; "": locks do not work there */
    /* The job that this process belongs to. With it only a lease of that job is taken, in place of its dead holder: any
     * other one, or none, is UNAVAILABLE. NULL: a new job begins. */
    const char *job;
    size_t rank;        /* of this process in its job's cluster: a holder that goes on without it is not waited for */
    const char *advice; /* ends the message of a refusal: "choose another folder with --out" */
    liana__notes notes; /* is told before a wait */
    bool (*stop)(void *user); /* asked while waiting; true ends the wait with CANCELLED. NULL: never */
    void *user;
} liana__lease_options;

/* Takes the lease, and begins to renew it in a thread. A lease of this machine whose lock is ours belongs to a process
 * that is dead, and is taken at once; another one is watched for the time that it states. Errors: UNAVAILABLE with the
 * holder if it is renewed; CANCELLED; those of files and servers. */
liana_status liana__lease_take(const liana__lease_options *options, liana__lease **lease, liana__error *error)
    LIANA_MUST_USE;

/* The name of the lease's job: a process that shall be able to take its holder's place needs it. */
enum { LIANA__LEASE_JOB = 40 };
void liana__lease_job(liana__lease *lease, char job[LIANA__LEASE_JOB]);

/* Before something is written: renews the lease. NULL: OK. Errors: UNAVAILABLE if another process has taken it, or it
 * could not be renewed for two thirds of its time. Once that is so it stays so. */
liana_status liana__lease_check(liana__lease *lease, liana__error *error) LIANA_MUST_USE;
/* The same without asking anybody: the thread's last finding. */
liana_status liana__lease_status(liana__lease *lease, liana__error *error) LIANA_MUST_USE;

/* The same for a chief that goes on without some of its cluster: they are told that they wait in vain. NULL: OK. */
liana_status liana__lease_lead(liana__lease *lease, const bool *is_member, size_t num_ranks, liana__error *error)
    LIANA_MUST_USE;

/* Of a chief that the others go on without: leaves the folder to its successor. From now on the lease is lost. NULL:
 * does nothing. */
void liana__lease_leave(liana__lease *lease);

/* Gives the folder back, unless the lease is lost. NULL: does nothing. */
void liana__lease_end(liana__lease *lease);

#endif
