// The symbolizer is public; this is its old place.
#pragma once

#include "mixstack/symbolizer.h"

namespace mixstack::symbolize {

using mixstack::Symbolizer;

}  // namespace mixstack::symbolize
