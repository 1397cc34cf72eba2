// Which code a program's library calls and copies need on GPUs: the entries run on a survey's device (plugin.h), for
// all of their sizes.
#pragma once

#include "runtime/device/plugin.h"
#include "runtime/program/program_data.h"

namespace tandem::program {

/// Notes it, for each entry of the program. What GPUs cannot do is left out: whoever opens the program there is told.
void surveyFunctions(CodeSurvey& survey, const ProgramData& data);

}  // namespace tandem::program
