/* Written by keras_metrics.py: what Keras 3.15.1 measures. */
/* clang-format off */
static const keras_metric keras_metrics[] = {
    {"classes", "{name: f1_score, average: none}", 6, {0, 0, 0.412698328, 0.264705867, 0.0499999598, 0}},
    {"classes", "{name: fbeta_score, average: none, beta: 2.0}", 6, {0, 0, 0.460992873, 0.190677956, 0.0393700749, 0}},
    {"classes", "{name: F1Score, average: macro}", 1, {0.121234022}},
    {"classes", "{name: FBetaScore, average: macro, beta: 0.5}", 1, {0.145791396}},
    {"answers", "{name: FBetaScore, average: macro, beta: 2.0, threshold: 0.4}", 1, {0.477618217}},
    {"classes", "{name: F1Score, average: micro}", 1, {0.186991826}},
    {"classes", "{name: FBetaScore, average: micro, beta: 0.5}", 1, {0.186991781}},
    {"answers", "{name: FBetaScore, average: micro, beta: 2.0, threshold: 0.4}", 1, {0.477996916}},
    {"classes", "{name: F1Score, average: weighted}", 1, {0.219542146}},
    {"classes", "{name: FBetaScore, average: weighted, beta: 0.5}", 1, {0.292111427}},
    {"answers", "{name: FBetaScore, average: weighted, beta: 2.0, threshold: 0.4}", 1, {0.478020966}},
    {"classes", "{name: Precision, average: none}", 6, {0, 0, 0.351351351, 0.75, 0.0909090936, 0}},
    {"answer", "{name: Precision, threshold: 0.5}", 1, {0.274193555}},
    {"answer", "{name: Precision, threshold: 0.3}", 1, {0.321839094}},
    {"classes", "{name: Recall, average: none}", 6, {0, 0, 0.5, 0.160714284, 0.0344827585, 0}},
    {"answer", "{name: Recall, threshold: 0.5}", 1, {0.43589744}},
    {"answer", "{name: Recall, threshold: 0.3}", 1, {0.717948735}},
    {"answers", "{name: AUC, curve: ROC}", 1, {0.491203547}},
    {"answers", "{name: AUC, curve: ROC, multi_label: true}", 1, {0.486359149}},
    {"answer", "{name: AUC, curve: ROC, num_thresholds: 20}", 1, {0.437881589}},
    {"answers", "{name: AUC, curve: PR}", 1, {0.295084178}},
    {"answers", "{name: AUC, curve: PR, multi_label: true}", 1, {0.317703217}},
    {"answer", "{name: AUC, curve: PR, num_thresholds: 20}", 1, {0.272278219}},
};
/* clang-format on */
