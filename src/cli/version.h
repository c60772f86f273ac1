// Which mixstack this is.
#pragma once

#include <string>

namespace mixstack::cli {

/// "mixstack 0.1.0\n".
[[nodiscard]] std::string version_text();

}  // namespace mixstack::cli
