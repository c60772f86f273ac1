#include "engine/symbols/rust_legacy.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mixstack::symbols {
namespace {

constexpr std::string_view kHashStart = "17h";
constexpr std::size_t kHashDigits = 16;

constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kEscapes{{
    {"$SP$", "@"},
    {"$BP$", "*"},
    {"$RF$", "&"},
    {"$LT$", "<"},
    {"$GT$", ">"},
    {"$LP$", "("},
    {"$RP$", ")"},
    {"$C$", ","},
    {"$u20$", " "},
    {"$u22$", "\""},
    {"$u27$", "'"},
    {"$u2b$", "+"},
    {"$u3b$", ";"},
    {"$u5b$", "["},
    {"$u5d$", "]"},
    {"$u7b$", "{"},
    {"$u7d$", "}"},
    {"$u7e$", "~"},
}};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

bool is_rust_legacy(std::string_view name) {
  if (!name.starts_with("_ZN")) return false;
  if (const auto clone = name.find('.', name.rfind(kHashStart) == std::string_view::npos ? 0 : name.rfind(kHashStart));
      clone != std::string_view::npos)
    name = name.substr(0, clone);
  if (name.size() < kHashStart.size() + kHashDigits + 1 || name.back() != 'E') return false;
  const auto tail = name.substr(name.size() - kHashStart.size() - kHashDigits - 1);
  if (!tail.starts_with(kHashStart)) return false;
  const auto digits = tail.substr(kHashStart.size(), kHashDigits);
  return std::all_of(digits.begin(), digits.end(), is_hex);
}

std::string rust_legacy_text(std::string text) {
  const auto hash = text.rfind("::h");
  if (hash != std::string::npos && text.size() - hash >= 3 + kHashDigits) text.erase(hash, 3 + kHashDigits);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const bool starts_part = i == 0 || out.ends_with("::");
    if (starts_part && rest.starts_with("_$")) {
      i++;
      continue;
    }
    if (rest.starts_with("..")) {
      out += "::";
      i += 2;
      continue;
    }
    const auto* escape =
        std::find_if(kEscapes.begin(), kEscapes.end(), [rest](const auto& e) { return rest.starts_with(e.first); });
    if (escape != kEscapes.end()) {
      out += escape->second;
      i += escape->first.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace mixstack::symbols
