// The engine's names for stepping; the types themselves are public.
#pragma once

#include "mixstack/stepper.h"

namespace mixstack::images {
class ModuleMap;
}

namespace mixstack::walk {

using mixstack::Checkpoint;
using mixstack::Cursor;
using mixstack::FrameStepper;
using mixstack::StepOutcome;
using mixstack::StepStatus;
using mixstack::ThreadInput;
using mixstack::WalkOptions;

}  // namespace mixstack::walk
