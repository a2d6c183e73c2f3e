"""Metrics of Keras over uneven batches with weights: writes keras_every_metric.h, which test_keras_every_metric.c compares with.

    python3 keras_every_metric.py > keras_every_metric.h

Written with Keras 3.15.1 on TensorFlow 2.21. Outputs, targets and weights are formulas, which the test has too."""
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402

EXAMPLES, BATCHES = 23, [5, 1, 9, 2, 6]
M = keras.metrics


def drawn(i, k, salt):
    return (i * 37 + k * 53 + i * k % 11 * 7 + salt * 29 + i // 3 * 17) % 97


def make(kind, width):
    """f32 [EXAMPLES, width], or s32 [EXAMPLES] of classes."""
    rows = np.zeros((EXAMPLES, width), "float32")
    for i in range(EXAMPLES):
        for k in range(width):
            number = drawn(i, k, "abcdefgh".index(kind))
            if kind == "a":  # shares, away from thresholds
                rows[i, k] = np.float32((number + 0.5) / 98)
            elif kind == "b":  # numbers
                rows[i, k] = np.float32((number - 48) / 16)
            elif kind == "c":  # answers
                rows[i, k] = number % 3 == 0
            elif kind == "d":  # numbers of classes
                rows[i, k] = number % 4
            elif kind == "e":  # shares of 1
                rows[i, k] = np.float32((number + 1) / 128)
            elif kind == "h":  # numbers above 0
                rows[i, k] = np.float32((number + 3) / 32)
    if kind == "e":
        total = rows[:, 0].copy()
        for k in range(1, width):
            total += rows[:, k]
        rows = rows / total[:, None]
    if kind in "fg":
        classes = np.array([drawn(i, 0, 3) % width for i in range(EXAMPLES)])
        rows = classes if kind == "f" else np.eye(width, dtype="float32")[classes]
    return rows


# The metric, as YAML has it; outputs and targets; values of an element.
CASES = [
    (M.Accuracy(), "Accuracy", "d", "d", 3),
    (M.BinaryAccuracy(), "BinaryAccuracy", "a", "c", 3),
    (M.BinaryAccuracy(threshold=0.3), "{name: binary_accuracy, threshold: 0.3}", "a", "c", 1),
    (M.CategoricalAccuracy(), "CategoricalAccuracy", "e", "g", 4),
    (M.SparseCategoricalAccuracy(), "SparseCategoricalAccuracy", "e", "f", 4),
    (M.TopKCategoricalAccuracy(k=2), "{name: TopKCategoricalAccuracy, k: 2}", "e", "g", 4),
    (M.SparseTopKCategoricalAccuracy(k=3), "{name: sparse_top_k_categorical_accuracy, k: 3}", "e", "f", 5),
    (M.BinaryCrossentropy(), "BinaryCrossentropy", "a", "c", 3),
    (M.BinaryCrossentropy(label_smoothing=0.2), "{name: bce, label_smoothing: 0.2}", "a", "c", 2),
    (M.CategoricalCrossentropy(), "CategoricalCrossentropy", "e", "g", 4),
    (M.CategoricalCrossentropy(label_smoothing=0.1), "{name: categorical_crossentropy, label_smoothing: 0.1}", "e", "g",
     4),
    (M.SparseCategoricalCrossentropy(), "SparseCategoricalCrossentropy", "e", "f", 4),
    (M.SparseCategoricalCrossentropy(ignore_class=1), "{name: SparseCategoricalCrossentropy, ignore_class: 1}", "e",
     "f", 4),
    (M.KLDivergence(), "KLDivergence", "e", "g", 4),
    (M.Poisson(), "Poisson", "h", "h", 3),
    (M.MeanSquaredError(), "MSE", "b", "h", 3),
    (M.MeanAbsoluteError(), "MAE", "b", "h", 3),
    (M.MeanAbsolutePercentageError(), "MAPE", "b", "h", 3),
    (M.MeanSquaredLogarithmicError(), "MSLE", "h", "a", 3),
    (M.RootMeanSquaredError(), "RootMeanSquaredError", "b", "h", 3),
    (M.LogCoshError(), "LogCoshError", "b", "h", 3),
    (M.CosineSimilarity(), "CosineSimilarity", "b", "h", 3),
    (M.Hinge(), "Hinge", "b", "c", 3),
    (M.SquaredHinge(), "SquaredHinge", "b", "c", 3),
    (M.CategoricalHinge(), "CategoricalHinge", "b", "g", 4),
    (M.R2Score(), "R2Score", "b", "h", 3),
    (M.R2Score(class_aggregation="variance_weighted_average"),
     "{name: r2_score, class_aggregation: variance_weighted_average}", "b", "h", 3),
    (M.R2Score(class_aggregation=None), "{name: r2_score, class_aggregation: none}", "b", "h", 3),
    (M.R2Score(num_regressors=5), "{name: r2_score, num_regressors: 5}", "b", "h", 3),
    (M.PearsonCorrelation(), "PearsonCorrelation", "b", "h", 4),
    (M.ConcordanceCorrelation(), "ConcordanceCorrelation", "b", "h", 4),
    (M.Precision(), "Precision", "a", "c", 3),
    (M.Precision(thresholds=[0.2, 0.5, 0.8]), "{name: precision, thresholds: [0.2, 0.5, 0.8]}", "a", "c", 3),
    (M.Precision(top_k=2, class_id=1), "{name: precision, top_k: 2, class_id: 1}", "a", "c", 4),
    (M.Recall(thresholds=0.7), "{name: Recall, thresholds: 0.7}", "a", "c", 3),
    (M.Recall(thresholds=[0.1, 0.6], class_id=2), "{name: recall, thresholds: [0.1, 0.6], class_id: 2}", "a", "c", 3),
    (M.TruePositives(), "TruePositives", "a", "c", 3),
    (M.TrueNegatives(thresholds=0.4), "{name: true_negatives, thresholds: 0.4}", "a", "c", 3),
    (M.FalsePositives(thresholds=[0.2, 0.6]), "{name: FalsePositives, thresholds: [0.2, 0.6]}", "a", "c", 3),
    (M.FalseNegatives(), "FalseNegatives", "a", "c", 1),
    (M.F1Score(), "F1Score", "e", "g", 4),
    (M.F1Score(average="macro", threshold=0.5), "{name: f1_score, average: macro, threshold: 0.5}", "a", "c", 3),
    (M.FBetaScore(average="weighted", beta=2.0, threshold=0.3),
     "{name: FBetaScore, average: weighted, beta: 2.0, threshold: 0.3}", "a", "c", 3),
    (M.FBetaScore(average="micro", beta=0.5), "{name: f_beta_score, average: micro, beta: 0.5}", "e", "g", 4),
    (M.AUC(), "AUC", "a", "c", 1),
    (M.AUC(num_thresholds=20, curve="PR"), "{name: auc, num_thresholds: 20, curve: PR}", "a", "c", 3),
    (M.AUC(curve="PR", summation_method="minoring"), "{name: auc, curve: PR, summation_method: minoring}", "a", "c", 2),
    (M.AUC(summation_method="majoring"), "{name: auc, summation_method: majoring}", "a", "c", 2),
    (M.AUC(curve="PRGAIN", num_thresholds=11), "{name: auc, curve: PRGAIN, num_thresholds: 11}", "a", "c", 1),
    (M.AUC(thresholds=[0.7, 0.1, 0.35]), "{name: auc, thresholds: [0.7, 0.1, 0.35]}", "a", "c", 2),
    (M.AUC(multi_label=True, label_weights=[0.5, 1.0, 2.0]),
     "{name: auc, multi_label: true, label_weights: [0.5, 1.0, 2.0]}", "a", "c", 3),
    (M.AUC(multi_label=True, num_labels=3, curve="PR"), "{name: auc, multi_label: true, num_labels: 3, curve: PR}", "a",
     "c", 3),
    (M.AUC(label_weights=[0.5, 1.0, 2.0]), "{name: auc, label_weights: [0.5, 1.0, 2.0]}", "a", "c", 3),
    (M.PrecisionAtRecall(0.6), "{name: PrecisionAtRecall, recall: 0.6}", "a", "c", 1),
    (M.PrecisionAtRecall(0.3, num_thresholds=5, class_id=1),
     "{name: precision_at_recall, recall: 0.3, num_thresholds: 5, class_id: 1}", "a", "c", 3),
    (M.RecallAtPrecision(0.4), "{name: RecallAtPrecision, precision: 0.4}", "a", "c", 3),
    (M.RecallAtPrecision(0.99), "{name: recall_at_precision, precision: 0.99}", "a", "c", 1),
    (M.SensitivityAtSpecificity(0.7), "{name: SensitivityAtSpecificity, specificity: 0.7}", "a", "c", 2),
    (M.SensitivityAtSpecificity(0.5, num_thresholds=1),
     "{name: sensitivity_at_specificity, specificity: 0.5, num_thresholds: 1}", "a", "c", 2),
    (M.SpecificityAtSensitivity(0.4, num_thresholds=50), "{name: SpecificityAtSensitivity, sensitivity: 0.4, "
     "num_thresholds: 50}", "a", "c", 2),
    (M.IoU(num_classes=4, target_class_ids=[0, 2]), "{name: IoU, num_classes: 4, target_class_ids: [0, 2]}", "d", "D",
     1),
    (M.IoU(num_classes=3, target_class_ids=[0, 1]), "{name: iou, num_classes: 3, target_class_ids: [0, 1]}", "d", "D",
     1),
    (M.IoU(num_classes=4, target_class_ids=[1, 3], sparse_y_pred=False),
     "{name: iou, num_classes: 4, target_class_ids: [1, 3], sparse_y_pred: false}", "e", "f", 4),
    (M.MeanIoU(num_classes=4, sparse_y_pred=False, ignore_class=2),
     "{name: MeanIoU, num_classes: 4, sparse_y_pred: false, ignore_class: 2}", "e", "f", 4),
    (M.BinaryIoU(), "BinaryIoU", "a", "c", 1),
    (M.BinaryIoU(target_class_ids=[1], threshold=0.3), "{name: binary_iou, target_class_ids: [1], threshold: 0.3}",
     "a", "c", 1),
    (M.OneHotIoU(num_classes=4, target_class_ids=[0, 3]), "{name: OneHotIoU, num_classes: 4, target_class_ids: [0, 3]}",
     "e", "g", 4),
    (M.OneHotMeanIoU(num_classes=4), "{name: one_hot_mean_iou, num_classes: 4}", "e", "g", 4),
    (M.OneHotMeanIoU(num_classes=4, dtype="float32"), "{name: one_hot_mean_iou, num_classes: 4, dtype: float32}", "e",
     "g", 4),
    (M.BinaryIoU(dtype="float32"), "{name: binary_iou, dtype: float32}", "a", "c", 1),
]


def run(metric, outputs, targets, weights):
    metric.reset_state()
    begin = 0
    for count in BATCHES:
        part = slice(begin, begin + count)
        given = None if weights is None else weights[part]
        metric.update_state(targets[part], outputs[part], sample_weight=given)
        begin += count
    return np.atleast_1d(np.array(metric.result(), "float64")).tolist()


def main():
    assert sum(BATCHES) == EXAMPLES
    print("/* Written by keras_every_metric.py with Keras %s: results without weights, and with them. */" % keras.__version__)
    print("/* clang-format off */")
    print("static const keras_metric keras_metrics[] = {")
    weights = np.array([(i * 5 % 4 + 1) / 4 for i in range(EXAMPLES)], "float32")
    for metric, yaml, output, target, width in CASES:
        outputs = make(output, width)
        targets = make(target.lower(), width)
        if target == "D":  # other numbers of classes than the outputs
            targets = np.roll(targets, 3, axis=0)
        if output == target:
            targets = np.roll(targets, 2, axis=0)
        own = weights
        if "IoU" in type(metric).__name__:
            own = weights if targets.ndim == 1 else weights[:, None] if targets.shape[1] == 1 else weights
        plain = run(metric, outputs, targets, None)
        weighted = run(metric, outputs, targets, own)
        text = "{%s}, {%s}" % (", ".join(map(repr, plain)), ", ".join(map(repr, weighted)))
        print('    {"%s", \'%s\', \'%s\', %d, %d, %s},' % (yaml, output, target, width, len(plain), text))
    print("};")
    print("/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
