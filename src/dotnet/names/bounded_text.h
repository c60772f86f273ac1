// Text with an upper bound, and the escaping of characters that harm a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mixstack::dotnet::names {

/// The end of a name that was cut.
inline constexpr std::string_view kCutMark = "…";

/// A string that stops growing at a limit. Once cut, appending does nothing, so callers need no checks.
class BoundedText {
 public:
  explicit BoundedText(std::size_t limit) : limit_(limit) {}

  BoundedText& operator<<(std::string_view s) {
    if (is_cut_) return *this;
    if (s.size() > limit_ - text_.size()) {
      s = s.substr(0, limit_ - text_.size());
      is_cut_ = true;
    }
    text_ += s;
    return *this;
  }
  BoundedText& operator<<(char c) { return *this << std::string_view(&c, 1); }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  void mark_cut() { is_cut_ = true; }
  /// Undoes everything behind `size` bytes (unless already cut).
  void truncate(std::size_t size) {
    if (!is_cut_ && size < text_.size()) text_.resize(size);
  }
  /// The text made printable (see `printable`), with the cut mark when it was cut.
  [[nodiscard]] std::string take() &&;

 private:
  std::size_t limit_;
  std::string text_;
  bool is_cut_ = false;
};

/// Whether a text begins as names of methods do (a letter, `_`, or `<`, `.`, `$` of compilers) and holds no backslash.
[[nodiscard]] bool looks_like_identifier(std::string_view text);
/// Whether bytes are text of which `printable` would escape nothing: not empty, UTF-8, without control characters.
[[nodiscard]] bool is_plain_text(std::string_view text);

/// Replaces control characters, line and paragraph separators and bidirectional overrides by \n, \t, \xNN or \u{NNNN},
/// and bytes that are no valid UTF-8 by \xNN. A sequence cut short by the end of the text is dropped when `was_cut`.
[[nodiscard]] std::string printable(std::string_view text, bool was_cut = false);

}  // namespace mixstack::dotnet::names
