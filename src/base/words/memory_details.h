// Details of lines of the account that more than one room has to know.
#pragma once

#include <string_view>

namespace mixstack {

/// Ranges of assemblies as the runtime has them in memory: they count where no file is mapped there.
inline constexpr std::string_view kUnpackedAssemblies = "unpacked assemblies";

}  // namespace mixstack
