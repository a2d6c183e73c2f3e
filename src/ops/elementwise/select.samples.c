/* Samples of select for the generated tests of ops. */
#include "ops/samples.h"

static const liana__plain_row rows[] = {
    {"same",
     {{"condition", LIANA__DIMS(3, 13), 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(3, 13), -1, 1, LIANA_F32},
      {"b", LIANA__DIMS(3, 13), -1, 1, LIANA_F32}}},
    {"rows",
     {{"condition", LIANA__DIMS(4, 1), 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(4, 5), -1, 1, LIANA_F32},
      {"b", LIANA__DIMS(5), -1, 1, LIANA_F32}}},
    {"scalars",
     {{"condition", LIANA__DIMS(2, 3, 4), 0, 1, LIANA_BOOL},
      {"a", LIANA__NO_DIMS, -1, 1, LIANA_F32},
      {"b", LIANA__DIMS(1, 3, 1), -1, 1, LIANA_F32}}},
    {"one_condition",
     {{"condition", LIANA__NO_DIMS, 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(2, 1, 3), -1, 1, LIANA_F32},
      {"b", LIANA__DIMS(2, 4, 1), -1, 1, LIANA_F32}}},
    {"halves",
     {{"condition", LIANA__DIMS(3, 13), 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(3, 13), -1, 1, LIANA_F16},
      {"b", LIANA__DIMS(13), -1, 1, LIANA_F16}}},
    {"signed bytes",
     {{"condition", LIANA__DIMS(3, 13), 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(3, 13), -128, 127, LIANA_S8},
      {"b", LIANA__DIMS(13), -128, 127, LIANA_S8}}},
    {"u64",
     {{"condition", LIANA__DIMS(7), 0, 1, LIANA_BOOL},
      {"a", LIANA__DIMS(7), 0, 1e15, LIANA_U64},
      {"b", LIANA__DIMS(7), 0, 1e15, LIANA_U64}}},
};
LIANA__SAMPLE_ROWS(select, rows, liana__sample_plain);
