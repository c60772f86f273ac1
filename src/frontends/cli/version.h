// The version of mixstack.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::cli {

/// "0.1.0".
[[nodiscard]] std::string_view version_number();

/// "mixstack 0.1.0\n", then the build id of this executable and, if known at build time, the commit of its sources.
[[nodiscard]] std::string version_text();

}  // namespace mixstack::cli
