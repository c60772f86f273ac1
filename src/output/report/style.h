// Colours of the text report.
#pragma once

#include <string_view>

#include "output/report/writer.h"

namespace mixstack::report {

enum class Ink { plain, header, user, managed, runtime, faint, warning };

/// Writes text in a colour, or plainly when colours are off.
class Painter {
 public:
  Painter(Writer& out, bool color) : out_(out), color_(color) {}
  Writer& plain() { return out_; }
  void paint(Ink ink, std::string_view text) {
    const std::string_view code = color_ ? escape_code(ink) : std::string_view{};
    out_ << code << text;
    if (!code.empty()) out_ << "\x1b[0m";
  }

 private:
  // ECMA-48, 8.3.117 (SGR). Only the eight colours every terminal theme keeps readable.
  static std::string_view escape_code(Ink ink) {
    switch (ink) {
      case Ink::plain:
        return "";
      case Ink::header:
        return "\x1b[1m";
      case Ink::user:
        return "\x1b[1;32m";
      case Ink::managed:
        return "\x1b[32m";
      case Ink::runtime:
        return "\x1b[36m";
      case Ink::faint:
        return "\x1b[2m";
      case Ink::warning:
        return "\x1b[33m";
    }
    return "";
  }
  Writer& out_;
  bool color_;
};

}  // namespace mixstack::report
