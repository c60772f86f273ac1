// The small words of JSON output: fields of an object with their commas.
#pragma once

#include <cstdint>
#include <string_view>

#include "output/report/escape.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// Writes the fields of one object. Keys are ours and need no escaping; values are escaped.
class JsonObject {
 public:
  explicit JsonObject(Writer& out) : out_(out) { out_ << '{'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  void close() { out_ << '}'; }

  /// Writes `"key":` and answers the writer for the value.
  Writer& key(std::string_view name) {
    if (!first_) out_ << ',';
    first_ = false;
    return out_ << '"' << name << "\":";
  }
  void text(std::string_view name, std::string_view value) { key(name) << json_string(value); }
  /// null instead of an empty string.
  void text_or_null(std::string_view name, std::string_view value) {
    value.empty() ? void(null(name)) : text(name, value);
  }
  /// A word of ours: no escaping.
  void word(std::string_view name, std::string_view value) { key(name) << '"' << value << '"'; }
  void hex(std::string_view name, std::uint64_t value) { (key(name) << "\"0x").hex(value) << '"'; }
  void hex_or_null(std::string_view name, std::uint64_t value) { value == 0 ? null(name) : hex(name, value); }
  void number(std::string_view name, std::uint64_t value) { key(name).decimal(value); }
  void number(std::string_view name, std::int64_t value) { key(name).decimal(value); }
  void boolean(std::string_view name, bool value) { key(name) << (value ? "true" : "false"); }
  void null(std::string_view name) { key(name) << "null"; }
  /// Already JSON: `"a":1,"b":2` without braces.
  void fragment(std::string_view json) {
    if (json.empty()) return;
    if (!first_) out_ << ',';
    first_ = false;
    out_ << json;
  }

 private:
  Writer& out_;
  bool first_ = true;
};

/// `[` elements `]`, with `write(element)` for each and `separator` between.
template <class Range, class Write>
void json_array(Writer& out, const Range& range, std::string_view separator, Write write) {
  out << '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) out << ',';
    first = false;
    out << separator;
    write(element);
  }
  out << ']';
}

}  // namespace mixstack::report
