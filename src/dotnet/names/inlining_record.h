// A precompiled image's own record, compared with a chain of calls that was inferred from IL.
#pragma once

#include "dotnet/code/inlining_table.h"
#include "dotnet/names/inlined_methods.h"

namespace mixstack::dotnet::names {

enum class Record : std::uint8_t {
  silent,  ///< no record of such methods: of other modules, or left out of it
  denies,  ///< one of them was put into no code of the caller
  allows,  ///< all were, but perhaps elsewhere in it, or in code made for other type arguments
  proves,  ///< all were, and there is no other place in the caller where they could have been
};

/// `caller`: the method whose code it is, of the image's own module. `chain`: outermost first, without the caller.
[[nodiscard]] Record what_is_recorded(CallGraph& graph, const InliningTable& table, MethodKey caller,
                                      std::span<const ChainLink> chain);

}  // namespace mixstack::dotnet::names
