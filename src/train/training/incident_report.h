/* incident_report.h - the findings about a step of a training, for people. */
#ifndef LIANA_TRAIN_INCIDENT_REPORT_H
#define LIANA_TRAIN_INCIDENT_REPORT_H

#include "step/incident.h"

/* Facts and finding as a text of several lines. Running out of memory leaves it empty. */
void liana__incident_report(const liana__incident *incident, liana__text *text);

#endif
