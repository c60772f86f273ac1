// Values of the target's program, as plain data: `this` and arguments of frames, variables of async methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"

namespace mixstack {

/// Whether a value is known.
enum class ValueState : std::uint8_t {
  told,
  not_kept,  ///< the code no longer keeps it, or not where it can be found
  moved,     ///< a reference whose object a garbage collection may have moved since the capture
  unread,    ///< unreadable, or not a valid value of its type
};
[[nodiscard]] std::string_view to_string(ValueState state);

/// One variable. All text is printable and bounded, whatever the target's memory holds.
struct ProgramValue {
  std::string name;  ///< as in the source, "this", or "#2" if the metadata has no name
  std::string type;  ///< C# name: the object's own type, else the declared one
  ValueState state = ValueState::not_kept;
  std::string text;    ///< a number, "true", "null", "{X = 1, Y = 2}"; empty: address or type say it all
  Address object = 0;  ///< the object it refers to; 0: none
  std::optional<std::uint32_t> length;  ///< of arrays and strings
  std::optional<std::string> content;   ///< of strings and characters, cut; only with `DumpOptions::data`
  friend bool operator==(const ProgramValue&, const ProgramValue&) = default;
};

/// `this` and the arguments of one managed frame, in the order of the source.
struct FrameArguments {
  std::uint32_t frame = 0;  ///< index into Trace::frames
  std::vector<ProgramValue> values;
};

}  // namespace mixstack
