// ProfilesDictionary of OTLP: tables that profiles point into, each with a zero value as its first element.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack::formats {

/// Every function returns an index into a table; 0 stands for nothing. Fields are those of profiles.proto
/// (docs/push.md).
class OtlpDictionary {
 public:
  OtlpDictionary(const Recording& recording, const RecordingView& view);

  [[nodiscard]] std::int32_t string(std::string_view text);
  [[nodiscard]] std::int32_t attribute(std::string_view key, std::string_view text);
  [[nodiscard]] std::int32_t attribute(std::string_view key, std::int64_t number);
  /// The stack at a node of the view.
  [[nodiscard]] std::int32_t stack(std::uint32_t node);
  /// The encoded message. Call it last.
  [[nodiscard]] std::string take();

 private:
  struct Mapping {
    std::int32_t index = 0;
    std::uint64_t begin = UINT64_MAX, last = 0;
  };
  /// One table of encoded elements without duplicates.
  class Table {
   public:
    std::int32_t number(std::string&& message) {
      const auto [at, is_new] = numbers_.try_emplace(message, static_cast<std::int32_t>(messages_.size()));
      if (is_new) messages_.push_back(std::move(message));
      return at->second;
    }
    [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }

   private:
    std::vector<std::string> messages_{""};
    std::unordered_map<std::string, std::int32_t> numbers_{{"", 0}};
  };

  std::int32_t location(const std::vector<std::uint32_t>& entries);
  std::int32_t function(const ViewEntry& entry);
  std::int32_t mapping(const RecordedFrame& frame);
  std::string encoded_mapping(std::uint32_t module, const Mapping& of);
  const RecordedFrame* frame_of(std::uint32_t entry) const;
  bool is_inlined_into_next(std::uint32_t entry, std::uint32_t caller) const;

  const Recording& recording_;
  const RecordingView& view_;
  Table strings_, attributes_, functions_, locations_, stacks_;
  std::map<std::uint32_t, Mapping> mappings_;                      ///< by module
  std::unordered_map<std::uint32_t, std::int32_t> by_node_;        ///< stacks
  std::map<std::vector<std::uint32_t>, std::int32_t> by_entries_;  ///< locations
};

}  // namespace mixstack::formats
