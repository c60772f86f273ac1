// A recording in the form the viewer page reads (`web/data.js`): a JSON head and columns of integers.
//
//   "MXP1", length of the head as 32 bits, the head, padded with spaces to a multiple of 4; then the columns. The
//   head's "columns" says of each its width in bytes (1 or 4) and count, in the order they come. Columns of 4 bytes are
//   planes: all lowest bytes first, then all second ones and so on, since these compress much better. Little endian.
//
// Samples are put together in slices of time, so that there are at most kPageSlices; nodes that no sample needs are
// left out. All texts are escaped as for a terminal, hence without control characters and marks that turn the
// direction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mixstack/recording.h"

namespace mixstack::report {

/// The view of a recording that the page opens with; the reader can choose the others there.
struct PageLook {
  std::optional<SampleClock> clock{};  ///< nothing: as texts and pictures choose (shown_clock)
  bool idle = false;                   ///< with threads that wait
  bool inverted = false;               ///< callers
};

inline constexpr std::uint64_t kPageSlices = 4096;

/// `name` is what the page calls the recording ("before.mixrec"); may be empty.
[[nodiscard]] std::string page_data(const Recording& recording, std::string_view name, const PageLook& look = {});

/// `bytes` as zlib (RFC 1950), level 1 (quick) to 9; unchanged where that would not be smaller.
[[nodiscard]] std::string deflated(std::string_view bytes, int level);

}  // namespace mixstack::report
