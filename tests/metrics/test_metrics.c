/* Metrics that are sums: cut into shards of any sizes, they are equal to counting one by one. */
#include "harness/harness.h"

#include "base/random.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "metrics/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

enum { EXAMPLES = 61, CLASSES = 6 };

/* Predictions, and true answers: a class for each example, and yes or no for each class. */
typedef struct samples {
    float outputs[EXAMPLES * CLASSES];
    int32_t classes[EXAMPLES];
    float answers[EXAMPLES * CLASSES];
    float weights[EXAMPLES];
} samples;

/* Predictions lie in the middle between two of 200 thresholds, so that each of their orders shows. Class 4 never
 * occurs, and class 5 is never predicted. */
static samples draw(void)
{
    samples made;
    liana__philox_key key = liana__philox_make_key(33, LIANA__STREAM_TEST, 1);
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){i, 1, 0, 0}, words);
        made.classes[i] = (int32_t)(words[0] % 5);
        if (made.classes[i] == 4) made.classes[i] = 5;
        made.weights[i] = (float)(words[1] % 5) / 4;
        for (uint32_t k = 0; k < CLASSES; k++) {
            liana__philox(key, (uint32_t[4]){i * CLASSES + k, 0, 0, 0}, words);
            uint32_t place = k == 5 ? 0 : words[0] % 199;
            made.outputs[i * CLASSES + k] = ((float)place + 0.5f) / 199;
            made.answers[i * CLASSES + k] = (float)(words[1] % 3 == 0);
        }
    }
    return made;
}

/* The measured metric. */
typedef struct measurement {
    const char *written;
    liana_logits_kind activation;
    liana_target_kind target;
    bool weighted;
    int64_t last; /* values of an example: CLASSES or 1 */
} measurement;

static const float *targets_of(const samples *all, const measurement *m)
{
    return m->target == LIANA_TARGET_CLASSES ? (const float *)all->classes : all->answers;
}

/* The sums that the examples [begin, begin + count) add. */
static void add_leaf(const measurement *m, liana__device *device, const samples *all, int64_t begin, int64_t count,
                     double *sums, size_t size, const liana__metric_choice *choice)
{
    liana_graph *graph = liana__test_new_graph(context);
    bool classes = m->target == LIANA_TARGET_CLASSES;
    liana_shape rows = liana_shape_of(count, m->last), column = liana_shape_of(count);
    liana_metric_call call = {.options = choice->options, .activation = m->activation};
    call.output = liana_graph_input(graph, "output", LIANA_F32, rows);
    call.target.kind = m->target;
    call.target.tensor = liana_graph_input(graph, "target", classes ? LIANA_S32 : LIANA_F32, classes ? column : rows);
    if (m->weighted) call.weights = liana_graph_input(graph, "weights", LIANA_F32, column);
    liana_tensor added = choice->metric->add(&call);
    liana_graph_output(graph, "sums", added);
    assert_ok(liana_graph_status(graph), &context->error);
    const float *targets = targets_of(all, m) + begin * (classes ? 1 : m->last);
    liana__test_value inputs[] = {{LIANA_F32, rows, (void *)(all->outputs + begin * m->last)},
                                  {classes ? LIANA_S32 : LIANA_F32, classes ? column : rows, (void *)targets},
                                  {LIANA_F32, column, (void *)(all->weights + begin)}};
    liana__test_value result;
    liana__test_run(device, graph, inputs, &result);
    assert_int_equal(liana_shape_size(&result.shape), size);
    for (size_t i = 0; i < size; i++) sums[i] += (double)((const float *)result.data)[i];
    liana__test_free_values(&result, 1);
    liana_graph_destroy(graph);
}

enum { MOST_SUMS = 4096 };

/* The metric's sums over all examples, in shards of `leaf`. */
static void measure(const measurement *m, liana__device *device, const samples *all, int64_t leaf, double *sums,
                    double *value)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *written;
    liana__metric_choice choice;
    assert_ok(liana__yaml_parse(m->written, strlen(m->written), "metric", &arena, &written, &error), &error);
    assert_ok(liana__metric_read(NULL, written, "metrics", &arena, &choice, &error), &error);
    size_t size = choice.metric->sums(choice.options, &liana_shape_of(1, m->last));
    assert_compare(size, <=, MOST_SUMS);
    memset(sums, 0, MOST_SUMS * sizeof *sums);
    for (int64_t begin = 0; begin < EXAMPLES; begin += leaf) {
        int64_t left = EXAMPLES - begin;
        add_leaf(m, device, all, begin, left < leaf ? left : leaf, sums, size, &choice);
    }
    *value = choice.metric->finish ? choice.metric->finish(choice.options, sums, size) : 0;
    liana__arena_free(&arena);
}

/* For each cut and device: the value is `expected`, and the sums are the same numbers. */
static void check(const measurement *m, double expected)
{
    const samples all = draw();
    double first[MOST_SUMS], sums[MOST_SUMS], value;
    measure(m, devices[1], &all, EXAMPLES, first, &value);
    if (fabs(value - expected) > 1e-6) fail_msg("%s is %.9f, expected %.9f", m->written, value, expected);
    static const int64_t leaves[] = {1, 7, 32};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        for (int d = 0; d < 2; d++) {
            double again;
            measure(m, devices[d], &all, leaves[i], sums, &again);
            assert_memory_equal(sums, first, sizeof sums);
            assert_compare(again, ==, value);
        }
    }
}

/* ---- counting one by one ---- */

static int likeliest(const float *row)
{
    int best = 0;
    for (int k = 1; k < CLASSES; k++) {
        if (row[k] > row[best]) best = k;
    }
    return best;
}

/* Whether example i has answer k, and is said to have it. */
typedef struct answer {
    bool truth, said;
    double weight;
} answer;

static answer answer_of(const samples *all, const measurement *m, int i, int k, double threshold)
{
    const float *row = all->outputs + i * m->last;
    bool each = m->activation == LIANA_LOGITS_SIGMOID || m->last == 1;
    return (answer){
        .truth = m->target == LIANA_TARGET_CLASSES ? all->classes[i] == k : all->answers[i * m->last + k] > 0,
        .said = each ? (double)row[k] > threshold : likeliest(row) == k,
        .weight = m->weighted ? (double)all->weights[i] : 1,
    };
}

typedef struct counts {
    double right, said, truth;
} counts;

static counts count(const samples *all, const measurement *m, int k, double threshold)
{
    counts found = {0};
    for (int i = 0; i < EXAMPLES; i++) {
        answer a = answer_of(all, m, i, m->last == 1 ? 0 : k, threshold);
        /* A single answer is of two classes, of which class 0 is no. */
        if (m->last == 1 && k == 0) a = (answer){!a.truth, !a.said, a.weight};
        found.right += a.truth && a.said ? a.weight : 0;
        found.said += a.said ? a.weight : 0;
        found.truth += a.truth ? a.weight : 0;
    }
    return found;
}

static double divide(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static const double BETA = 2.5;

/* The 'p', 'r', 'f' or 'b' of a class: F1 and F-beta from precision and recall, not from the counts. */
static double score(char kind, counts c)
{
    double precision = divide(c.right, c.said), recall = divide(c.right, c.truth);
    if (kind == 'p') return precision;
    if (kind == 'r') return recall;
    if (kind == 'b') return divide((1 + BETA * BETA) * precision * recall, BETA * BETA * precision + recall);
    return divide(2 * precision * recall, precision + recall);
}

static double average(const samples *all, const measurement *m, char kind, const char *how, double threshold)
{
    double sum = 0, weighted = 0, weights = 0;
    counts total = {0};
    const int classes = m->last == 1 ? 2 : (int)m->last;
    for (int k = 0; k < classes; k++) {
        counts c = count(all, m, k, threshold);
        sum += score(kind, c);
        weighted += score(kind, c) * c.truth;
        weights += c.truth;
        total = (counts){total.right + c.right, total.said + c.said, total.truth + c.truth};
    }
    if (strcmp(how, "micro") == 0) return score(kind, total);
    return strcmp(how, "macro") == 0 ? sum / classes : weighted / weights;
}

static void test_precision_recall_and_f1_score(void **state)
{
    (void)state;
    static const char *const names[] = {"precision", "recall", "f1_score"};
    static const char *const how[] = {"macro", "micro", "weighted"};
    const samples all = draw();
    for (size_t n = 0; n < 3; n++) {
        for (size_t h = 0; h < 3; h++) {
            for (int weighted = 0; weighted < 2; weighted++) {
                char text[96];
                snprintf(text, sizeof text, "{name: class_%s, average: %s, threshold: 0.25}", names[n], how[h]);
                const measurement kinds[] = {
                    {text, LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, weighted, CLASSES},
                    {text, LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, weighted, CLASSES},
                    {text, LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, weighted, 1},
                };
                for (size_t i = 0; i < 3; i++) {
                    check(&kinds[i], average(&all, &kinds[i], names[n][0], how[h], 0.25));
                }
            }
        }
    }
}

static void test_fbeta_score(void **state)
{
    (void)state;
    static const char *const how[] = {"macro", "micro", "weighted"};
    const samples all = draw();
    for (size_t h = 0; h < 3; h++) {
        char text[96];
        snprintf(text, sizeof text, "{name: class_fbeta_score, average: %s, beta: 2.5}", how[h]);
        const measurement m = {text, LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, true, CLASSES};
        check(&m, average(&all, &m, 'b', how[h], 0.5));
    }
}

/* The numbers of a metric that has several. */
static size_t measure_all(const measurement *m, const samples *all, double *values)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *written;
    liana__metric_choice choice;
    double sums[MOST_SUMS], value;
    measure(m, devices[1], all, 7, sums, &value);
    assert_ok(liana__yaml_parse(m->written, strlen(m->written), "metric", &arena, &written, &error), &error);
    assert_ok(liana__metric_read(NULL, written, "metrics", &arena, &choice, &error), &error);
    const liana_shape shape = liana_shape_of(1, m->last);
    size_t count = choice.metric->num_values ? choice.metric->num_values(choice.options, &shape) : 0;
    if (count) choice.metric->finish_all(choice.options, sums, choice.metric->sums(choice.options, &shape), values);
    liana__arena_free(&arena);
    return count;
}

static void test_scores_of_each_class(void **state)
{
    (void)state;
    static const char *const names[] = {"precision", "recall", "f1_score"};
    const samples all = draw();
    double values[MOST_SUMS];
    for (size_t n = 0; n < 3; n++) {
        char text[96];
        snprintf(text, sizeof text, "{name: class_%s, average: none, threshold: 0.25}", names[n]);
        for (int sigmoid = 0; sigmoid < 2; sigmoid++) {
            const measurement m = {text, sigmoid ? LIANA_LOGITS_SIGMOID : LIANA_LOGITS_SOFTMAX,
                                   sigmoid ? LIANA_TARGET_VALUES : LIANA_TARGET_CLASSES, true, CLASSES};
            assert_int_equal(measure_all(&m, &all, values), CLASSES);
            for (int k = 0; k < CLASSES; k++) {
                assert_near(values[k], score(names[n][0], count(&all, &m, k, 0.25)), 1e-12, n, k);
            }
        }
        snprintf(text, sizeof text, "class_%s", names[n]);
        const measurement mean = {text, LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, true, CLASSES};
        assert_int_equal(measure_all(&mean, &all, values), 0);
    }
    const measurement support = {"support", LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, true, CLASSES};
    assert_int_equal(measure_all(&support, &all, values), CLASSES);
    for (int k = 0; k < CLASSES; k++) assert_compare(values[k], ==, count(&all, &support, k, 0.5).truth, k);
}

/* ---- agreement ---- */

/* Counts true classes against said ones, one by one; an answer of yes or no is class 1 or 0. Returns the classes. */
static int count_pairs(const samples *all, const measurement *m, double pairs[CLASSES][CLASSES])
{
    memset(pairs, 0, sizeof(double[CLASSES][CLASSES]));
    for (int i = 0; i < EXAMPLES; i++) {
        double weight = m->weighted ? (double)all->weights[i] : 1;
        if (m->last == 1) {
            pairs[all->answers[i] > 0][all->outputs[i] > 0.5f] += weight;
        } else {
            pairs[all->classes[i]][likeliest(all->outputs + i * CLASSES)] += weight;
        }
    }
    return m->last == 1 ? 2 : CLASSES;
}

/* From the shares of pairs: 1 - sum of w * observed / sum of w * expected. */
static double kappa(const samples *all, const measurement *m, int power)
{
    double pairs[CLASSES][CLASSES], total = 0, observed = 0, expected = 0;
    int classes = count_pairs(all, m, pairs);
    for (int i = 0; i < classes * classes; i++) total += pairs[i / classes][i % classes];
    for (int i = 0; i < classes; i++) {
        for (int k = 0; k < classes; k++) {
            double truth = 0, said = 0, weight = power ? pow(abs(i - k), power) : i != k;
            for (int j = 0; j < classes; j++) truth += pairs[i][j] / total;
            for (int j = 0; j < classes; j++) said += pairs[j][k] / total;
            observed += weight * pairs[i][k] / total;
            expected += weight * truth * said;
        }
    }
    return 1 - observed / expected;
}

/* The correlation of the indicators of true and of said classes: covariances of one class after the other. */
static double correlation(const samples *all, const measurement *m)
{
    double pairs[CLASSES][CLASSES], total = 0, covariance = 0, variances[2] = {0};
    int classes = count_pairs(all, m, pairs);
    for (int i = 0; i < classes * classes; i++) total += pairs[i / classes][i % classes];
    for (int k = 0; k < classes; k++) {
        double truth = 0, said = 0;
        for (int j = 0; j < classes; j++) truth += pairs[k][j] / total;
        for (int j = 0; j < classes; j++) said += pairs[j][k] / total;
        covariance += pairs[k][k] / total - truth * said;
        variances[0] += truth * (1 - truth);
        variances[1] += said * (1 - said);
    }
    return covariance / sqrt(variances[0] * variances[1]);
}

static void test_agreement(void **state)
{
    (void)state;
    static const char *const weights[] = {"none", "linear", "quadratic"};
    const samples all = draw();
    for (int weighted = 0; weighted < 2; weighted++) {
        for (int power = 0; power < 3; power++) {
            char text[64];
            snprintf(text, sizeof text, "{name: cohen_kappa, weights: %s}", weights[power]);
            const measurement m = {text, LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, weighted, CLASSES};
            check(&m, kappa(&all, &m, power));
        }
        const measurement yes = {"cohen_kappa", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, weighted, 1};
        check(&yes, kappa(&all, &yes, 0));
        const measurement m = {"matthews_correlation", LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, weighted, CLASSES};
        check(&m, correlation(&all, &m));
        const measurement both = {"matthews_correlation", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, weighted, 1};
        check(&both, correlation(&all, &both));
    }
}

static void test_normalized_matrix(void **state)
{
    (void)state;
    static const char *const kinds[] = {"none", "rows", "columns", "all"};
    const samples all = draw();
    double pairs[CLASSES][CLASSES], values[MOST_SUMS];
    for (int kind = 0; kind < 4; kind++) {
        char text[64];
        snprintf(text, sizeof text, "{name: confusion_matrix, normalize: %s}", kinds[kind]);
        const measurement m = {text, LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, true, CLASSES};
        assert_int_equal(measure_all(&m, &all, values), CLASSES * CLASSES);
        count_pairs(&all, &m, pairs);
        for (int i = 0; i < CLASSES; i++) {
            for (int k = 0; k < CLASSES; k++) {
                double whole = kind == 0, own = 0;
                for (int j = 0; kind == 1 && j < CLASSES; j++) whole += pairs[i][j];
                for (int j = 0; kind == 2 && j < CLASSES; j++) whole += pairs[j][k];
                for (int j = 0; kind == 3 && j < CLASSES * CLASSES; j++) whole += pairs[j / CLASSES][j % CLASSES];
                if (whole > 0) own = pairs[i][k] / whole;
                assert_near(values[i * CLASSES + k], own, 1e-12, i, k);
            }
        }
    }
}

static void test_confusion_matrix(void **state)
{
    (void)state;
    const samples all = draw();
    const measurement m = {"confusion_matrix", LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, true, CLASSES};
    double sums[MOST_SUMS], expected[CLASSES * CLASSES] = {0}, value;
    for (int i = 0; i < EXAMPLES; i++) {
        expected[all.classes[i] * CLASSES + likeliest(all.outputs + i * CLASSES)] += (double)all.weights[i];
    }
    for (int d = 0; d < 2; d++) {
        measure(&m, devices[d], &all, 8, sums, &value);
        assert_memory_equal(sums, expected, sizeof expected);
    }
    /* One answer of yes or no: the row is the truth, the column the answer. */
    const measurement binary = {"confusion_matrix", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, false, 1};
    double both[4] = {0};
    for (int i = 0; i < EXAMPLES; i++) both[2 * (all.answers[i] > 0) + (all.outputs[i] > 0.5f)]++;
    measure(&binary, devices[1], &all, EXAMPLES, sums, &value);
    assert_memory_equal(sums, both, sizeof both);
}

/* ---- areas ---- */

/* How often a right answer is above a wrong one (Mann and Whitney 1947); a tie counts half. `label`: among the answers
 * of this number; -1: among all. */
static double ranked(const samples *all, const measurement *m, int label)
{
    double above = 0, pairs = 0;
    for (int i = 0; i < EXAMPLES * m->last; i++) {
        if (label >= 0 && i % (int)m->last != label) continue;
        answer a = answer_of(all, m, i / (int)m->last, i % (int)m->last, 0.5);
        for (int j = 0; a.truth && j < EXAMPLES * m->last; j++) {
            answer b = answer_of(all, m, j / (int)m->last, j % (int)m->last, 0.5);
            if (b.truth || (label >= 0 && j % (int)m->last != label)) continue;
            double weight = a.weight * b.weight;
            pairs += weight;
            above += weight * (all->outputs[i] > all->outputs[j] ? 1 : all->outputs[i] == all->outputs[j] ? 0.5 : 0);
        }
    }
    return above / pairs;
}

static void test_area_under_the_roc_curve(void **state)
{
    (void)state;
    const samples all = draw();
    const measurement kinds[] = {
        {"auc", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, false, CLASSES},
        {"auc", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, true, CLASSES},
        {"{name: auc, curve: ROC}", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, true, 1},
        {"auc", LIANA_LOGITS_SOFTMAX, LIANA_TARGET_CLASSES, false, CLASSES},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) check(&kinds[i], ranked(&all, &kinds[i], -1));
    /* The mean over answers of the value of each by itself. */
    const measurement each = {"{name: auc, multi_label: true}", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, true,
                              CLASSES};
    double mean = 0;
    for (int k = 0; k < CLASSES; k++) mean += ranked(&all, &each, k) / CLASSES;
    check(&each, mean);
}

/* Between two thresholds right and wrong answers grow evenly: the precision on the way, summed in small steps. */
static double stepped(const samples *all, const measurement *m)
{
    double right[201] = {0}, wrong[201] = {0}, area = 0;
    for (int i = 0; i < EXAMPLES * m->last; i++) {
        answer a = answer_of(all, m, i / (int)m->last, i % (int)m->last, 0.5);
        for (int t = 0; t < 200; t++) {
            double threshold = t == 0 ? -1 : t == 199 ? 2 : t / 199.0;
            if ((double)all->outputs[i] > threshold) *(a.truth ? &right[t] : &wrong[t]) += a.weight;
        }
    }
    enum { STEPS = 20000 };
    for (int t = 198; t >= 0; t--) {
        double gained = right[t] - right[t + 1], added = gained + wrong[t] - wrong[t + 1];
        for (int s = 0; s < STEPS && gained > 0; s++) {
            double way = (s + 0.5) / STEPS, answers = right[t + 1] + wrong[t + 1] + added * way;
            area += (right[t + 1] + gained * way) / answers * gained / STEPS;
        }
    }
    return area / right[0];
}

static void test_area_under_the_precision_recall_curve(void **state)
{
    (void)state;
    const samples all = draw();
    const measurement kinds[] = {
        {"{name: auc, curve: PR}", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, false, CLASSES},
        {"{name: auc, curve: PR}", LIANA_LOGITS_SIGMOID, LIANA_TARGET_VALUES, true, 1},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) check(&kinds[i], stepped(&all, &kinds[i]));
}

/* ---- what Keras says ---- */

typedef struct keras_metric {
    const char *kind; /* "classes", "answers": several of yes and no, "answer": the first of them */
    const char *written;
    size_t count;
    double values[CLASSES];
} keras_metric;

#include "samples/keras_metrics.h"

/* The formulas of keras_metrics.py. */
static int formula(char name, int index)
{
    return (index * 37 + index / 7 * 5 + 11 * name) % 129;
}

/* `step`: of the answers of an example, only the first `step`. */
static samples keras_samples(int step)
{
    samples made;
    for (int i = 0; i < EXAMPLES; i++) {
        made.classes[i] = formula('c', i) % CLASSES;
        made.weights[i] = (float)(formula('w', i) % 5) / 4;
    }
    for (int i = 0; i < EXAMPLES * CLASSES / step; i++) {
        made.outputs[i] = ((float)formula('p', i * step) + 0.5f) / 129;
        made.answers[i] = (float)(formula('a', i * step) % 3 == 0);
    }
    return made;
}

static void test_metrics_are_those_of_keras(void **state)
{
    (void)state;
    double sums[MOST_SUMS], values[MOST_SUMS];
    for (size_t i = 0; i < sizeof keras_metrics / sizeof *keras_metrics; i++) {
        const keras_metric *said = &keras_metrics[i];
        bool classes = strcmp(said->kind, "classes") == 0, one = strcmp(said->kind, "answer") == 0;
        const samples all = keras_samples(one ? CLASSES : 1);
        const measurement m = {said->written, classes ? LIANA_LOGITS_SOFTMAX : LIANA_LOGITS_SIGMOID,
                               classes ? LIANA_TARGET_CLASSES : LIANA_TARGET_VALUES, true, one ? 1 : CLASSES};
        const size_t listed = measure_all(&m, &all, values);
        assert_int_equal(listed ? listed : 1, said->count);
        if (!listed) measure(&m, devices[1], &all, 10, sums, values);
        for (size_t k = 0; k < said->count; k++) {
            if (fabs(values[k] - said->values[k]) <= 2e-6) continue;
            fail_msg("%s [%zu] is %.9f, Keras gives %.9f", said->written, k, values[k], said->values[k]);
        }
    }
}

/* ---- means ---- */

/* f32 [EXAMPLES] of a metric that is a mean. */
static void run_elements(const char *name, const samples *all, liana_logits_kind activation, float *each)
{
    const liana_metric_type *metric = liana__part_find(NULL, &liana__metric_kind, name, NULL);
    liana__arena arena = {0};
    const liana_options *table = liana__metric_options(metric);
    void *options = liana__arena_allocate(&arena, table->size + 1);
    assert_ok(liana__fields_default(table, &arena, options, &context->error), &context->error);
    liana_graph *graph = liana__test_new_graph(context);
    liana_shape rows = liana_shape_of(EXAMPLES, CLASSES);
    const liana_metric_call call = {
        .options = options,
        .output = liana_graph_input(graph, "output", LIANA_F32, rows),
        .activation = activation,
        .target = {LIANA_TARGET_VALUES, liana_graph_input(graph, "target", LIANA_F32, rows)},
    };
    liana_graph_output(graph, "each", metric->elements(&call));
    assert_ok(liana_graph_status(graph), &context->error);
    liana__test_value inputs[] = {{LIANA_F32, rows, (void *)all->outputs}, {LIANA_F32, rows, (void *)all->answers}};
    liana__test_value result;
    liana__test_run(devices[1], graph, inputs, &result);
    memcpy(each, result.data, EXAMPLES * sizeof *each);
    liana__test_free_values(&result, 1);
    liana_graph_destroy(graph);
    liana__arena_free(&arena);
}

static void test_means_over_values(void **state)
{
    (void)state;
    const samples all = draw();
    static const char *const names[] = {"mean", "mean_squared_error", "mean_absolute_error", "binary_accuracy",
                                        "accuracy"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        float each[EXAMPLES];
        run_elements(names[n], &all, LIANA_LOGITS_SIGMOID, each);
        for (int i = 0; i < EXAMPLES; i++) {
            double sum = 0;
            for (int k = 0; k < CLASSES; k++) {
                double x = (double)all.outputs[i * CLASSES + k], t = (double)all.answers[i * CLASSES + k];
                sum += n == 0 ? x : n == 1 ? (x - t) * (x - t) : n == 2 ? fabs(x - t) : (x > 0.5) == (t > 0.5);
            }
            assert_near(each[i], sum / CLASSES, 1e-6, i);
        }
    }
}

/* The formulas of losses, of n outputs x and targets t. */
typedef double formula_of_row(const double *x, const double *t, int n);

static double percentage(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += 100 * fabs(x[k] - t[k]) / fmax(fabs(t[k]), 1e-7);
    return sum / n;
}

static double logarithmic(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += pow(log(1 + fmax(x[k], 1e-7)) - log(1 + fmax(t[k], 1e-7)), 2);
    return sum / n;
}

static double log_cosh(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += log(cosh(x[k] - t[k]));
    return sum / n;
}

static double poisson(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += x[k] - t[k] * log(x[k] + 1e-7);
    return sum / n;
}

static double hinge(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += fmax(1 - (2 * t[k] - 1) * x[k], 0);
    return sum / n;
}

static double squared_hinge(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += pow(fmax(1 - (2 * t[k] - 1) * x[k], 0), 2);
    return sum / n;
}

static double categorical_hinge(const double *x, const double *t, int n)
{
    double right = 0, wrong = -INFINITY;
    for (int k = 0; k < n; k++) {
        right += t[k] * x[k];
        wrong = fmax(wrong, (1 - t[k]) * x[k]);
    }
    return fmax(wrong - right + 1, 0);
}

static double divergence(const double *x, const double *t, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        const double p = fmin(fmax(x[k], 1e-7), 1), q = fmin(fmax(t[k], 1e-7), 1);
        sum += q * log(q / p);
    }
    return sum;
}

static double cosine(const double *x, const double *t, int n)
{
    double product = 0, of_x = 0, of_t = 0;
    for (int k = 0; k < n; k++) {
        product += x[k] * t[k];
        of_x += x[k] * x[k];
        of_t += t[k] * t[k];
    }
    return of_t > 0 ? product / sqrt(of_x * of_t) : 0;
}

static void test_means_of_losses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        formula_of_row *formula;
    } means[] = {{"mean_absolute_percentage_error", percentage},
                 {"mean_squared_logarithmic_error", logarithmic},
                 {"log_cosh_error", log_cosh},
                 {"poisson", poisson},
                 {"hinge", hinge},
                 {"squared_hinge", squared_hinge},
                 {"categorical_hinge", categorical_hinge},
                 {"kl_divergence", divergence},
                 {"cosine_similarity", cosine}};
    const samples all = draw();
    for (size_t n = 0; n < sizeof means / sizeof *means; n++) {
        float each[EXAMPLES];
        run_elements(means[n].name, &all, LIANA_LOGITS_NONE, each);
        for (int i = 0; i < EXAMPLES; i++) {
            double x[CLASSES], t[CLASSES];
            for (int k = 0; k < CLASSES; k++) {
                x[k] = (double)all.outputs[i * CLASSES + k];
                t[k] = (double)all.answers[i * CLASSES + k];
            }
            const double expected = means[n].formula(x, t, CLASSES);
            assert_near((double)each[i], expected, 2e-6 * (1 + fabs(expected)), n, i);
        }
    }
}

/* Rows of probabilities mean their largest. */
static void test_top_k_of_rows(void **state)
{
    (void)state;
    const samples all = draw();
    float each[EXAMPLES];
    run_elements("top_k_accuracy", &all, LIANA_LOGITS_SOFTMAX, each);
    for (int i = 0; i < EXAMPLES; i++) {
        int truth = likeliest(all.answers + i * CLASSES), above = 0;
        for (int k = 0; k < CLASSES; k++) above += all.outputs[i * CLASSES + k] > all.outputs[i * CLASSES + truth];
        assert_compare(each[i], ==, (float)(above < 5), i);
    }
}

static void check_refused(const char *written, const char *first, const char *second)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    liana__metric_choice choice;
    assert_ok(liana__yaml_parse(written, strlen(written), "metric", &arena, &value, &error), &error);
    assert_fails(liana__metric_read(NULL, value, "train.metrics", &arena, &choice, &error), LIANA_INVALID_CONFIG,
                 &error, "train.metrics", first, second);
    liana__arena_free(&arena);
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    check_refused("f1_scor", "no metric 'f1_scor'", "did you mean 'f1_score'");
    check_refused("{name: top_k_accuracy, k: 0}", "k", "0");
    check_refused("{name: accuracy, k: 3}", "unknown key 'k'", "there are no keys");
    check_refused("{name: class_recall, average: harmonic}", "average", "macro");
    check_refused("{name: recall, average: macro}", "has no average", "class_recall");
    check_refused("{name: Precision, thresholds: [0.3, 1.5]}", "thresholds", "from 0 to 1");
    check_refused("{name: Precision, thresholds: []}", "thresholds", "an empty list");
    check_refused("{name: iou, num_classes: 3, target_class_ids: [0, 3]}", "target_class_ids", "from 0 to 2");
    check_refused("{name: auc, num_labels: 3}", "num_labels", "multi_label");
    check_refused("{name: hinge, from_logits: true}", "from_logits", "hinge");
    check_refused("{name: Precision, threshold: 0.3}", "unknown key 'threshold'", "'thresholds'");
    check_refused("{name: fbeta_score, beta: 0}", "beta", "0");
    check_refused("{name: fbeta_score, beta: -1.0}", "beta", "-1");
    check_refused("{name: f1_score, beta: 2.0}", "unknown key 'beta'", "average");
    check_refused("{name: cohen_kappa, weights: cubic}", "weights", "quadratic");
    check_refused("{name: confusion_matrix, normalize: true}", "normalize", "columns");
    check_refused("{name: auc, num_thresholds: 1}", "num_thresholds", "1");
    check_refused("{name: auc, as: 3}", "as: found the number 3", "expected the name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precision_recall_and_f1_score),
        cmocka_unit_test(test_fbeta_score),
        cmocka_unit_test(test_scores_of_each_class),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_normalized_matrix),
        cmocka_unit_test(test_confusion_matrix),
        cmocka_unit_test(test_area_under_the_roc_curve),
        cmocka_unit_test(test_area_under_the_precision_recall_curve),
        cmocka_unit_test(test_metrics_are_those_of_keras),
        cmocka_unit_test(test_means_over_values),
        cmocka_unit_test(test_means_of_losses),
        cmocka_unit_test(test_top_k_of_rows),
        cmocka_unit_test(test_mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
