// The tables of a pprof profile: strings, functions, mappings and locations, numbered at their first use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack::formats {

/// Fields of messages are those of profile.proto (github.com/google/pprof).
class PprofTables {
 public:
  PprofTables(const Recording& recording, const RecordingView& view);

  [[nodiscard]] std::int64_t string(std::string_view text);
  /// The locations of a stack of the view, innermost first.
  void locations_of(std::uint32_t node, std::vector<std::uint64_t>& locations);
  /// Encoded mappings, locations and functions. Write them after the samples, and all strings after them.
  [[nodiscard]] std::vector<std::string> take_messages();
  [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }

 private:
  struct Mapping {
    std::uint64_t id = 0, begin = UINT64_MAX, last = 0;
    bool has_lines = false, has_files = false, has_inlines = false;
  };
  std::uint64_t location_of(const std::vector<std::uint32_t>& entries);
  std::uint64_t function_of(const ViewEntry& entry);
  [[nodiscard]] std::uint32_t main_module() const;
  std::string encoded_mapping(std::uint32_t module, const Mapping& mapping);
  const RecordedFrame* frame_of(std::uint32_t entry) const;
  bool is_inlined_into_next(std::uint32_t entry, std::uint32_t caller) const;

  const Recording& recording_;
  const RecordingView& view_;
  std::vector<std::string> strings_{""};  // the first is always the empty one
  std::unordered_map<std::string, std::int64_t> string_numbers_{{"", 0}};
  std::map<std::uint32_t, Mapping> mappings_;                          ///< by module
  std::map<std::vector<std::uint32_t>, std::uint64_t> locations_;      ///< by entries of the view, innermost first
  std::map<std::string, std::uint64_t> made_up_;                       ///< entries that are no functions, by name
  std::unordered_map<std::uint32_t, std::uint64_t> function_numbers_;  ///< by function of the recording
  std::vector<std::string> functions_, encoded_locations_;
};

/// Field numbers of message Profile.
struct ProfileField {
  static constexpr std::uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kString = 6,
                                 kTime = 9, kDuration = 10, kPeriodType = 11, kPeriod = 12, kComment = 13,
                                 kDefaultSampleType = 14;
};

}  // namespace mixstack::formats
