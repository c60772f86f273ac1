// How a person gets the capabilities that we lack: which ways there are for this process, and which there are not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mixstack::base {

/// Limits that keep this process, and those it starts, from getting rights by executing a file.
struct GainLimits {
  std::uint64_t bounding = ~std::uint64_t{0};  ///< capabilities outside of it are given by nothing (capabilities(7))
  bool no_new_privs = false;                   ///< neither sudo nor capabilities of files count
  bool is_nosuid = false;                      ///< our file lies where its capabilities do not count
};
[[nodiscard]] GainLimits own_gain_limits();

/// Those of a list, as of setcap(8), that the bounding set has, or lacks.
[[nodiscard]] std::string within_bounds(std::string_view list, std::uint64_t bounding);
[[nodiscard]] std::string out_of_bounds(std::string_view list, std::uint64_t bounding);

/// The ways to get all of `needed`: sudo, and `setcap` for the file `program` with all of `file` that the
/// bounding set has (a file with one more cannot be executed at all); or why there is none, and what to do instead.
[[nodiscard]] std::string ways_to_gain(std::string_view needed, std::string_view file, const GainLimits& limits,
                                       const std::string& program);
/// The same in one line.
[[nodiscard]] std::string ways_to_gain_in_a_line(std::string_view needed, std::string_view file,
                                                 const GainLimits& limits, const std::string& program);

}  // namespace mixstack::base
