// Columns of integers of the viewer page's data: collected one after the other, and what the head says of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/report/json_fields.h"

namespace mixstack::report {

class PageColumns {
 public:
  /// `value(i)` for each i below `count`.
  template <class Value>
  void words(std::string_view name, std::size_t count, Value value) {
    entries_.push_back({name, 4, count});
    const std::size_t start = bytes_.size();
    bytes_.resize(start + 4 * count);
    for (std::size_t i = 0; i < count; i++) {
      const std::uint32_t word = value(i);
      for (std::size_t plane = 0; plane < 4; plane++)
        bytes_[start + plane * count + i] = static_cast<char>(word >> (8 * plane) & 0xffu);
    }
  }
  template <class Value>
  void bytes(std::string_view name, std::size_t count, Value value) {
    entries_.push_back({name, 1, count});
    for (std::size_t i = 0; i < count; i++) bytes_.push_back(static_cast<char>(value(i)));
  }
  void write_head(Writer& out) const {
    json_array(out, entries_, "", [&](const Entry& entry) {
      JsonObject object(out);
      object.word("name", entry.name);
      object.number("width", std::uint64_t{entry.width});
      object.number("count", std::uint64_t{entry.count});
      object.close();
    });
  }
  [[nodiscard]] const std::string& content() const { return bytes_; }

 private:
  struct Entry {
    std::string_view name;
    unsigned width = 0;
    std::size_t count = 0;
  };
  std::vector<Entry> entries_;
  std::string bytes_;
};

}  // namespace mixstack::report
