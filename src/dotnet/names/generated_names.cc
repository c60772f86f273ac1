#include "dotnet/names/generated_names.h"

#include <algorithm>
#include <cctype>

namespace mixstack::dotnet::names {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Position of the bracket that closes the one at 0; npos when there is none.
std::size_t closing_bracket(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); i++) {
    if (name[i] == '<') depth++;
    if (name[i] == '>' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::uint32_t last_number(std::string_view s) {
  std::size_t start = s.size();
  while (start > 0 && is_digit(s[start - 1])) start--;
  std::uint32_t n = 0;
  for (const char c : s.substr(start, 9)) n = n * 10 + static_cast<std::uint32_t>(c - '0');
  return n;
}

/// `Local` of `__Local|0_0` (and of older compilers' `__Local0_0`).
std::string_view local_name(std::string_view rest) {
  rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
  if (const auto bar = rest.rfind('|'); bar != std::string_view::npos) return rest.substr(0, bar);
  const auto underscore = rest.rfind('_');
  if (underscore == std::string_view::npos) return rest;
  rest = rest.substr(0, underscore);
  while (!rest.empty() && is_digit(rest.back())) rest.remove_suffix(1);
  return rest;
}

/// VB$StateMachine_3_Load of Visual Basic, VB$StateMachine___Lambda$__3-0 of its lambdas, _Closure$__3-0.
GeneratedName parse_vb(std::string_view name) {
  constexpr std::string_view kMachine = "VB$StateMachine_", kOfLambda = "__Lambda$__", kClosure = "_Closure$__";
  GeneratedName g;
  if (name.starts_with(kClosure)) g.kind = GeneratedKind::closure;
  if (!name.starts_with(kMachine)) return g;
  name.remove_prefix(kMachine.size());
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[digits])) digits++;
  if ((digits == 0 && !name.starts_with(kOfLambda)) || digits + 1 >= name.size() || name[digits] != '_') return g;
  g.kind = GeneratedKind::state_machine;
  g.source = name.substr(digits + 1);
  g.source = g.source.substr(0, g.source.rfind('`'));
  return g;
}

}  // namespace

GeneratedName parse_generated(std::string_view name) {
  if (name.starts_with('V') || name.starts_with('_')) return parse_vb(name);
  if (name.empty() || name.front() != '<') return {};
  const std::size_t end = closing_bracket(name);
  if (end == std::string_view::npos) return {};
  GeneratedName g;
  g.kind = GeneratedKind::other;
  g.source = name.substr(1, end - 1);
  const std::string_view rest = name.substr(end + 1);
  if (rest.empty() || rest == "$") {
    if (g.source == "Main") g.kind = GeneratedKind::top_level;
    return g;
  }
  const bool numbered = rest.size() > 2 && rest.substr(1, 2) == "__";
  if (rest.front() == 'c' && g.source.empty() && (rest.size() == 1 || numbered || rest[1] == '`')) {
    g.kind = GeneratedKind::closure;
  } else if (rest.front() == 'b' && numbered && !g.source.empty()) {
    g.kind = GeneratedKind::lambda;
    g.ordinal = last_number(rest);
  } else if (rest.front() == 'g' && numbered && !g.source.empty()) {
    g.kind = GeneratedKind::local_function;
    g.own = local_name(rest.substr(1));
  } else if (rest.front() == 'd' && !g.source.empty() && (rest.size() == 1 || numbered || rest[1] == '`')) {
    g.kind = GeneratedKind::state_machine;
  }
  return g;
}

std::string_view without_file_prefix(std::string_view name) {
  // <file name>F<64 hex digits of a hash>__Name
  constexpr std::size_t kHash = 64;
  if (name.empty() || name.front() != '<') return name;
  const std::size_t end = closing_bracket(name);
  if (end == std::string_view::npos || name.size() < end + 2 + kHash + 3 || name[end + 1] != 'F') return name;
  const std::string_view hash = name.substr(end + 2, kHash);
  const bool is_hash = std::ranges::all_of(hash, [](char c) { return is_digit(c) || (c >= 'A' && c <= 'F'); });
  const std::string_view rest = name.substr(end + 2 + kHash);
  return is_hash && rest.starts_with("__") ? rest.substr(2) : name;
}

Arity split_arity(std::string_view name) {
  const auto tick = name.rfind('`');
  if (tick == std::string_view::npos || tick + 1 == name.size() || name.size() - tick > 5) return {name, 0};
  std::uint32_t n = 0;
  for (const char c : name.substr(tick + 1)) {
    if (!is_digit(c)) return {name, 0};
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return {name.substr(0, tick), n};
}

ExplicitName split_explicit(std::string_view name) {
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 1;) {
    if (name[i] == '>') depth++;
    if (name[i] == '<') depth--;
    if (name[i] == '.' && depth == 0 && i + 1 < name.size() && name[i - 1] != '.')
      return {name.substr(0, i), name.substr(i + 1)};
  }
  return {{}, name};
}

}  // namespace mixstack::dotnet::names
