// Values of the target's program, as plain data: `this` and arguments of frames, variables of async methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"

namespace mixstack {

/// What is known of a value.
enum class ValueState : std::uint8_t {
  told,
  not_kept,  ///< the code does not keep it any more, or not where it can be found
  moved,     ///< a reference, and a garbage collection may have moved the object since the capture
  unread,    ///< what is there cannot be read, or is nothing that its type allows
};
[[nodiscard]] std::string_view to_string(ValueState state);

/// One variable. Text is printable and bounded, whatever the target's memory holds.
struct ProgramValue {
  std::string name;  ///< as the source has it, "this", or "#2" where the metadata has no name
  std::string type;  ///< C# name: an object's own type, else as it is declared
  ValueState state = ValueState::not_kept;
  std::string text;    ///< a number, "true", "null", "{X = 1, Y = 2}"; empty: the address or the type says all there is
  Address object = 0;  ///< that it refers to; 0: none
  std::optional<std::uint32_t> length;  ///< of arrays and strings
  std::optional<std::string> content;   ///< of strings and characters, cut: only where the user's data were asked for
  friend bool operator==(const ProgramValue&, const ProgramValue&) = default;
};

/// `this` and the arguments of one managed frame, in the order of the source.
struct FrameArguments {
  std::uint32_t frame = 0;  ///< index into Trace::frames
  std::vector<ProgramValue> values;
};

}  // namespace mixstack
