/* liana.h - includes all public headers. */
#ifndef LIANA_H
#define LIANA_H

#include <liana/architectures.h>
#include <liana/array.h>
#include <liana/augment.h>
#include <liana/callback.h>
#include <liana/cluster.h>
#include <liana/context.h>
#include <liana/data_parts.h>
#include <liana/dataset.h>
#include <liana/device.h>
#include <liana/estimator.h>
#include <liana/functions.h>
#include <liana/graph.h>
#include <liana/imagenet.h>
#include <liana/layers.h>
#include <liana/loops.h>
#include <liana/model.h>
#include <liana/models.h>
#include <liana/objective.h>
#include <liana/onnx.h>
#include <liana/ops.h>
#include <liana/optimizer.h>
#include <liana/options.h>
#include <liana/parts.h>
#include <liana/predictor.h>
#include <liana/preprocessing.h>
#include <liana/program.h>
#include <liana/replicas.h>
#include <liana/server.h>
#include <liana/status.h>
#include <liana/step.h>
#include <liana/strategy.h>
#include <liana/summary.h>
#include <liana/train.h>
#include <liana/variables.h>

#endif
