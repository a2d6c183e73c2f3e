/* The loadable module for one MPI library: liana_openmpi.so, liana_mpich.so. */
#include "distribute/transport/mpi_module.h"

#include <mpi.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

/* Whether all ranks share memory with this one. */
static int look_around(int size, bool *is_one_machine)
{
    MPI_Comm near;
    int num_near = 0;
    int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Comm_size(near, &num_near);
    MPI_Comm_free(&near);
    *is_one_machine = num_near == size;
    return code;
}

static int init(int *rank, int *size, bool *is_one_machine)
{
    int provided = 0, given = 0;
    int code = MPI_Initialized(&given);
    if (code == MPI_SUCCESS && !given) code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
    if (code == MPI_SUCCESS) code = look_around(*size, is_one_machine);
    return code;
}

static int begin_send(const void *bytes, size_t size, int to, void **request)
{
    MPI_Request *begun = malloc(sizeof *begun);
    *request = NULL;
    if (!begun) return MPI_ERR_NO_MEM;
    if (size > INT_MAX) {
        free(begun);
        return MPI_ERR_COUNT;
    }
    int code = MPI_Isend(bytes, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, begun);
    if (code == MPI_SUCCESS) {
        *request = begun;
    } else {
        free(begun);
    }
    return code;
}

static int is_done(void *request, int *done)
{
    int code = MPI_Test(request, done, MPI_STATUS_IGNORE);
    if (*done || code != MPI_SUCCESS) free(request);
    return code;
}

static int look(int *from, size_t *size, void **message)
{
    MPI_Status status;
    MPI_Message found;
    int there = 0, count = 0;
    *message = NULL;
    int code = MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &found, &status);
    if (code != MPI_SUCCESS || !there) return code;
    code = MPI_Get_count(&status, MPI_BYTE, &count);
    if (code != MPI_SUCCESS) return code;
    MPI_Message *kept = malloc(sizeof *kept);
    if (!kept) return MPI_ERR_NO_MEM;
    *kept = found;
    *message = kept;
    *from = status.MPI_SOURCE;
    *size = (size_t)count;
    return code;
}

static int begin_take(void *message, void *bytes, size_t size, void **request)
{
    MPI_Request *begun = malloc(sizeof *begun);
    *request = NULL;
    int code = begun ? MPI_Imrecv(bytes, (int)size, MPI_BYTE, message, begun) : MPI_ERR_NO_MEM;
    free(message);
    if (code == MPI_SUCCESS) {
        *request = begun;
    } else {
        free(begun);
    }
    return code;
}

static int finalize(void)
{
    return MPI_Finalize();
}

static void describe(int code, char *text, size_t size)
{
    char found[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, found, &length) != MPI_SUCCESS) snprintf(found, sizeof found, "error %d", code);
    snprintf(text, size, "%s", found);
}

extern const liana__mpi_module liana_mpi_module;
__attribute__((visibility("default"))) const liana__mpi_module liana_mpi_module = {
    .version = LIANA__MPI_MODULE_VERSION,
#ifdef OPEN_MPI
    .library = "openmpi",
#else
    .library = "mpich",
#endif
    .init = init,
    .send = begin_send,
    .look = look,
    .take = begin_take,
    .is_done = is_done,
    .finalize = finalize,
    .describe = describe,
};
