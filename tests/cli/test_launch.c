/* liana launch: processes that meet, fail, die and are stopped; and liana cluster keys. */
#include "harness/command_run.h"

#include "base/clock.h"
#include "base/file.h"
#include "harness/cluster/cluster_run.h"
#include "harness/wait_until.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A script as the program, with its text as the operand. LIANA_CLUSTER tells it which rank it is. */
#define RANK_1 "case $LIANA_CLUSTER in *'\"rank\": 1'*) "
#define LAUNCH(count, ...) liana__test_process(NULL, "launch", "-n", count, "--program", __VA_ARGS__)

static const char *program_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", LIANA_COMMAND);
    snprintf(strrchr(path, '/') + 1, 32, "bench_transport");
    return path;
}

static void processes_meet(void **state)
{
    (void)state;
    double begun = liana__clock_seconds();
    liana__test_result result = LAUNCH("4", program_path(), "check");
    assert_says(result.out, "rank 0 of 4 has heard all, over zmq");
    /* The output is the chief's. */
    assert_never_says(result.out, "rank 1");
    assert_code(result, 0);
    assert_compare(liana__clock_seconds() - begun, <, 60);
}

static void the_first_failure_counts(void **state)
{
    (void)state;
    liana__test_result result =
        LAUNCH("3", "sh", "--", "-c", RANK_1 "echo 'no luck' >&2; exit 3;; esac; exec sleep 600");
    assert_says(result.err, "[rank 1] no luck\n");
    assert_says(result.err, "rank 1 has failed");
    assert_code(result, 3);
    result = LAUNCH("2", "/nowhere/no-program");
    assert_says(result.err, "/nowhere/no-program cannot be run");
    assert_code(result, 127);
}

static void requeueing_is_no_failure(void **state)
{
    (void)state;
    assert_code(LAUNCH("2", "sh", "--", "-c", "exit 75"), 75);
    assert_code(LAUNCH("2", "sh", "--", "-c", RANK_1 "exit 4;; esac; exit 75"), 4);
    assert_code(LAUNCH("2", "true"), 0);
}

/* A killed process does not end those that can go on. */
static void the_others_go_on(void **state)
{
    (void)state;
    char script[3600], dying[600];
    liana__test_folder();
    snprintf(dying, sizeof dying, "%s", liana__test_path("dying"));
    /* Until the launcher has noticed: before, the process is there. */
    snprintf(script, sizeof script,
             RANK_1 "echo $$ > %s.tmp; mv %s.tmp %s; kill -9 $$;; esac; while ! test -e %s || kill -0 $(cat %s); "
                    "do sleep 0.02; done 2>/dev/null; echo went on",
             dying, dying, dying, dying, dying);
    liana__test_result result = LAUNCH("2", "sh", "--", "-c", script);
    assert_says(result.out, "went on");
    assert_says(result.err, "rank 1 was ended by signal 9");
    assert_code(result, 0);
    assert_code(LAUNCH("2", "sh", "--", "-c", RANK_1 "exit 0;; esac; kill -9 $$"), 128 + SIGKILL);
}

/* All end with 75 after a death: they are started again, so often. */
static void restarts(void **state)
{
    (void)state;
    char script[5000], count[600], own[600];
    liana__test_folder();
    snprintf(count, sizeof count, "%s", liana__test_path("count"));
    snprintf(own, sizeof own, "%s", liana__test_path("own"));
    /* Rank 0 waits until rank 1 has come as often as itself. */
    snprintf(script, sizeof script,
             RANK_1 "echo x >> %s; if test $(wc -l < %s) -lt 3; then kill -9 $$; fi; exit 0;; esac; echo x >> %s; "
                    "while ! test -e %s || test $(wc -l < %s) -lt $(wc -l < %s); do sleep 0.02; done; "
                    "if test $(wc -l < %s) -lt 3; then exit 75; fi; echo done",
             count, count, own, count, count, own, count);
    const char *const words[] = {"launch", "-n", "2", "--restarts", "2", "--program", "sh", "--", "-c", script, NULL};
    liana__test_result result = liana__test_wait(liana__test_spawn(words, NULL));
    assert_says(result.out, "done");
    assert_says(result.err, "all processes are started again (2 of 2)");
    assert_code(result, 0);
    assert_int_equal(unlink(count) | unlink(own), 0);
    result = LAUNCH("2", "sh", "--restarts", "1", "--", "-c", script);
    assert_never_says(result.out, "done");
    assert_code(result, 75);
    /* A failure is one the next time too. */
    result = LAUNCH("2", "sh", "--restarts", "5", "--", "-c", "exit 3");
    assert_never_says(result.err, "started again");
    assert_code(result, 3);
    assert_refused(liana__test_command("launch", "-n", "2", "--restarts", "x", "c.yaml"), 2, "--restarts");
}

/* Killing the launcher kills all, in the end. */
static void nobody_is_left_behind(void **state)
{
    (void)state;
    char script[1024], pattern[800];
    liana__test_folder();
    snprintf(script, sizeof script, "echo $$ > %s.$$; exec sleep 600", liana__test_path("process"));
    const char *words[] = {"launch", "-n", "3", "--program", "sh", "--", "-c", script, NULL};
    pid_t process = liana__test_spawn(words, NULL);
    snprintf(pattern, sizeof pattern, "test $(cat %s.* 2>/dev/null | wc -l) = 3", liana__test_path("process"));
    wait_until(system(pattern) == 0);
    kill(process, SIGKILL);
    assert_code(liana__test_wait(process), 128 + SIGKILL);
    snprintf(pattern, sizeof pattern, "for p in $(cat %s.*); do kill -0 $p 2>/dev/null && exit 1; done; exit 0",
             liana__test_path("process"));
    wait_until(system(pattern) == 0);
}

static void signals_reach_all(void **state)
{
    (void)state;
    liana__test_folder();
    char script[1024];
    snprintf(script, sizeof script, "trap 'echo stopped >&2; exit 75' TERM; : > %s.$$; while :; do sleep 0.05; done",
             liana__test_path("ready"));
    const char *words[] = {"launch", "-n", "2", "--program", "sh", "--", "-c", script, NULL};
    pid_t process = liana__test_spawn(words, NULL);
    char pattern[600];
    snprintf(pattern, sizeof pattern, "test $(ls %s.* 2>/dev/null | wc -l) = 2", liana__test_path("ready"));
    wait_until(system(pattern) == 0);
    kill(process, SIGTERM);
    liana__test_result result = liana__test_wait(process);
    assert_says(result.err, "[rank 1] stopped");
    assert_code(result, 75);
}

/* A stand-in for ssh that runs the command here, in another folder of environment variables. */
static void hosts_are_reached_by_ssh(void **state)
{
    (void)state;
    char ssh[600], path[2048], folder[512], port[16];
    static const char script[] = "#!/bin/sh\n"
                                 "while [ $# -gt 2 ]; do shift; done\n"
                                 "echo \"$1\" >> \"$(dirname \"$0\")/hosts\"\n"
                                 "exec env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c \"$2\"\n";
    snprintf(ssh, sizeof ssh, "%s", liana__test_write("ssh", script, strlen(script)));
    assert_int_equal(chmod(ssh, 0755), 0);
    snprintf(folder, sizeof folder, "%s", liana__test_keys());
    snprintf(path, sizeof path, "PATH=%.*s:%s", (int)(strrchr(ssh, '/') - ssh), ssh, getenv("PATH"));
    snprintf(port, sizeof port, "%d", liana__test_free_port());
    const char *environment[] = {path, NULL};
    liana__test_result result =
        liana__test_process(environment, "launch", "-n", "3", "-H", "127.0.0.1:2,localhost", "--keys", folder, "--port",
                            port, "--program", program_path(), "check");
    assert_says(result.out, "rank 0 of 3 has heard all, over zmq");
    assert_code(result, 0);
    char hosts[64] = "";
    FILE *file = fopen(liana__test_path("hosts"), "r");
    assert_non_null(file);
    hosts[fread(hosts, 1, sizeof hosts - 1, file)] = '\0';
    fclose(file);
    assert_says(hosts, "localhost");
    assert_says(hosts, "127.0.0.1\n");
    result = liana__test_process(environment, "launch", "-n", "2", "-H", "one,two", "--keys", "k", "--print",
                                 "it's.yaml", "a=b");
    assert_says(result.out, "'ssh' '-tt' '-o' 'BatchMode=yes' 'two'");
    assert_says(result.out, "it'\\''\\'\\'''\\''s.yaml");
    assert_says(result.out, "\"master\": \"one:29400\"");
    assert_code(result, 0);
}

/* A shell can run what --print prints, whatever its own environment says of clusters. */
static void printed_commands_train(void **state)
{
    (void)state;
    char run[600], command[4096];
    liana__test_folder();
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    const char *config = liana__test_tiny_run(64);
    liana__test_result printed = liana__test_command("launch", "-n", "2", "--print", "--out", run, config);
    assert_int_equal(printed.code, 0);
    const char *script = liana__test_write("script", printed.out, strlen(printed.out));
    snprintf(
        command, sizeof command,
        "PATH=%.*s:$PATH; export PATH RANK=7; sed -i '/^env /s/$/ \\&/' %s && echo wait >>%s && sh -e %s >%s.out 2>&1",
        (int)(strrchr(LIANA_COMMAND, '/') - LIANA_COMMAND), LIANA_COMMAND, script, script, script, script);
    assert_int_equal(system(command), 0);
    assert_true(liana__file_exists(liana__test_path("run/history.json")));
    const char *folder = strchr(printed.out, '\'');
    snprintf(command, sizeof command, "rm -r %.*s", (int)strcspn(folder, "\n"), folder);
    assert_int_equal(system(command), 0);
    liana__test_free_result(&printed);
}

/* Two and three processes end with the files of one. */
static void launched_trainings_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const counts[] = {"2", "3"};
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    char one[512], first[600], second[600];
    snprintf(one, sizeof one, "%s", liana__test_path("one"));
    assert_code(liana__test_process(NULL, "train", config, "--out", one), 0);
    for (size_t i = 0; i < 2; i++) {
        char out[512], name[32];
        snprintf(name, sizeof name, "launched%zu", i);
        snprintf(out, sizeof out, "%s", liana__test_path(name));
        assert_code(liana__test_process(NULL, "launch", "-n", counts[i], "--servers", i ? "1" : "0", "--out", out,
                                        config),
                    0);
        snprintf(first, sizeof first, "%s/history.json", out);
        assert_same_file(liana__test_path("one/history.json"), first);
        snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint("one"));
        snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(name));
        assert_same_file(first, second);
    }
}

static void bad_command_lines(void **state)
{
    (void)state;
    assert_refused(liana__test_command("launch", "c.yaml"), 2, "-n is missing");
    assert_refused(liana__test_command("launch", "-n", "2"), 2, "CONFIG.yaml is missing");
    assert_refused(liana__test_command("launch", "-n", "0", "c.yaml"), 2, "launch: -n: found '0'");
    assert_refused(liana__test_command("launch", "-n", "2", "evalute", "runs/one"), 2, "'evalute runs/one'",
                   "evaluate or predict");
    assert_refused(liana__test_command("launch", "-n", "2", "--servers", "2", "c.yaml"), 2, "--servers", "from 0 to 1");
    assert_refused(liana__test_command("launch", "-n", "3", "-H", "a:1,b", "--keys", "k", "c.yaml"), 2, "-n is 3",
                   "slots for 2");
    assert_refused(liana__test_command("launch", "-n", "1", "-H", "-oProxyCommand=x", "--keys", "k", "c.yaml"), 2,
                   "expected HOST");
    assert_refused(liana__test_command("launch", "-n", "1", "-H", "a:x", "--keys", "k", "c.yaml"), 2, "a:x");
    assert_refused(liana__test_command("launch", "-n", "2", "-H", "a:2", "c.yaml"), 2, "liana cluster keys", "--keys");
    assert_refused(liana__test_command("launch", "-x", "2", "c.yaml"), 2, "unknown option '-x'");
    assert_refused(liana__test_command("cluster", "kees", "x"), 2, "'kees'", "liana cluster keys DIR");
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("new-keys"));
    liana__test_result result = liana__test_command("cluster", "keys", folder);
    assert_says(result.out, "cluster.keys");
    assert_code(result, 0);
    assert_refused(liana__test_command("cluster", "keys", folder), 2, "there already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_meet),
        cmocka_unit_test(the_first_failure_counts),
        cmocka_unit_test(requeueing_is_no_failure),
        cmocka_unit_test(the_others_go_on),
        cmocka_unit_test(restarts),
        cmocka_unit_test(nobody_is_left_behind),
        cmocka_unit_test(signals_reach_all),
        cmocka_unit_test(hosts_are_reached_by_ssh),
        cmocka_unit_test(printed_commands_train),
        cmocka_unit_test(launched_trainings_are_those_of_one_process),
        cmocka_unit_test(bad_command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
