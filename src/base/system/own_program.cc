#include "base/system/own_program.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace mixstack::base {

std::string quoted_for_shell(std::string_view path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string_view::npos) return std::string(path);
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string own_program_for_shell() {
  std::array<char, 4096> text{};
  const ssize_t size = ::readlink("/proc/self/exe", text.data(), text.size());
  const std::string_view path(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto is_printable = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (path.empty() || !std::all_of(path.begin(), path.end(), is_printable)) return "PATH/mixstack";
  return quoted_for_shell(path);
}

}  // namespace mixstack::base
