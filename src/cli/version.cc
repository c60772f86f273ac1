#include "cli/version.h"

namespace mixstack::cli {

std::string version_text() { return "mixstack " MIXSTACK_VERSION "\n"; }

}  // namespace mixstack::cli
