// One thread of a profile for the Firefox Profiler. Its tables hold only the elements that its samples use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/words/recording_view.h"
#include "output/report/json_fields.h"

namespace mixstack::formats {

/// Numbers keys in the order of their first use.
template <class Key>
class Numbered {
 public:
  std::uint32_t operator()(const Key& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(list_.size()));
    if (is_new) list_.push_back(key);
    return at->second;
  }
  [[nodiscard]] const std::vector<Key>& list() const { return list_; }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> list_;
};

class FirefoxThread {
 public:
  /// `libraries` numbers the modules of all threads together.
  FirefoxThread(const Recording& recording, const RecordingView& view, std::uint32_t thread,
                Numbered<std::uint32_t>& libraries)
      : recording_(recording), view_(view), thread_(thread), libraries_(libraries) {}

  void write(report::Writer& out, const std::vector<const ViewSample*>& samples);

 private:
  /// An entry of the view at a depth of inlining.
  using FrameKey = std::pair<std::uint32_t, std::uint32_t>;

  std::uint32_t stack_of(std::uint32_t node);
  std::uint32_t add_stack(std::uint32_t node, std::int64_t prefix, std::uint32_t prefix_depth);
  void facts(report::JsonObject& object);
  void samples(report::JsonObject& object, const std::vector<const ViewSample*>& samples);
  void stacks(report::JsonObject& object);
  void frames(report::JsonObject& object);
  void functions(report::JsonObject& object);
  void resources(report::JsonObject& object);
  void empty_tables(report::JsonObject& object);
  const RecordedFrame* frame_of(std::uint32_t entry) const;

  const Recording& recording_;
  const RecordingView& view_;
  std::uint32_t thread_;
  Numbered<std::uint32_t>& libraries_;
  std::unordered_map<std::uint32_t, std::uint32_t> stack_numbers_;  ///< by node
  struct Stack {
    std::int64_t prefix;  ///< -1: none
    std::uint32_t frame, inline_depth, entry;
  };
  std::vector<Stack> stacks_;
  Numbered<FrameKey> frames_;
  Numbered<std::pair<std::string, std::uint32_t>> functions_;  ///< name, module
  Numbered<std::uint32_t> resources_;                          ///< modules
  std::vector<std::uint32_t> function_files_;                  ///< by function, kNoIndex: none
  Numbered<std::string> strings_;
};

/// Index of an entry's kind of code in the list of categories; 0: no code.
[[nodiscard]] std::uint32_t firefox_category(const ViewEntry& entry);

}  // namespace mixstack::formats
