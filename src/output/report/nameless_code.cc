#include "output/report/nameless_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostModules = 3;

/// Native code in a module without a name: 'mixstack symbols' can tell why.
bool is_nameless(const RecordedFunction& function) {
  return function.name.empty() && function.module != kNoIndex &&
         (function.kind == CodeKind::native || function.kind == CodeKind::runtime);
}

struct Module {
  std::uint32_t number = 0;
  std::uint64_t places = 0, self = 0;
};

struct Nameless {
  std::map<std::uint32_t, Module> modules{};
  std::uint64_t places = 0, samples = 0, self = 0, all = 0;
};

Nameless nameless_in(const Recording& recording) {
  Nameless found;
  const auto function = [&](std::uint32_t frame) -> const RecordedFunction& {
    return recording.functions()[recording.frames()[frame].function];
  };
  for (std::uint32_t f = 0; f < recording.frames().size(); f++) {
    if (!is_nameless(function(f))) continue;
    found.places++;
    Module& module = found.modules[function(f).module];
    module.number = function(f).module;
    module.places++;
  }
  if (found.places == 0) return found;
  std::vector<bool> has_nameless(recording.nodes().size());
  for (std::size_t n = 1; n < has_nameless.size(); n++) {
    const StackNode& node = recording.nodes()[n];
    has_nameless[n] = has_nameless[node.parent] || is_nameless(function(node.frame));
  }
  for (const Sample& sample : recording.samples()) {
    found.all += sample.count;
    if (!has_nameless[sample.stack]) continue;
    found.samples += sample.count;
    const RecordedFunction& innermost = function(recording.nodes()[sample.stack].frame);
    if (!is_nameless(innermost)) continue;
    found.self += sample.count;
    found.modules[innermost.module].self += sample.count;
  }
  return found;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// "libfoo.so 3.2 %, libbar.so 0.1 %", most first; without shares if no sample was taken in such code itself.
std::string module_words(const Recording& recording, const Nameless& found) {
  std::vector<Module> order;
  order.reserve(found.modules.size());
  for (const auto& [number, module] : found.modules) order.push_back(module);
  std::stable_sort(order.begin(), order.end(), [](const Module& a, const Module& b) {
    return a.self != b.self ? a.self > b.self : a.places > b.places;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kMostModules); i++) {
    text += (i == 0 ? "" : ", ") + escape_for_terminal(recording.modules()[order[i].number].name);
    if (found.self != 0) text += " " + share(order[i].self, found.all);
  }
  if (order.size() > kMostModules) text += fmt::format(" and {} more", order.size() - kMostModules);
  return text;
}

}  // namespace

std::string nameless_words(const Recording& recording, const std::string& file) {
  const Nameless found = nameless_in(recording);
  if (found.places == 0) return {};
  const std::string self =
      found.self == 0 ? ", as callers alone" : "; " + share(found.self, found.all) + " of all were taken in it";
  return fmt::format(
      "{} of native code without a name, in the stacks of {} of {}{}: {}; 'mixstack symbols status {}' tells why",
      counted(found.places, "place"), found.samples, counted(found.all, "sample"), self, module_words(recording, found),
      file);
}

}  // namespace mixstack::report
