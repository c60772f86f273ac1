#include "support/source_folder.h"

namespace mixstack::test {

std::string source_folder() { return MIXSTACK_SOURCE_DIR; }

}  // namespace mixstack::test
