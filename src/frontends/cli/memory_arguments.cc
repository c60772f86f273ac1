#include "frontends/cli/memory_arguments.h"

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::seconds kLongestPause{60};

/// The word behind --holders, which need not be there, is taken off the arguments.
std::string take_holders_of(std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--holders", kWith = "--holders=";
  for (std::size_t i = 0; i < arguments.size(); i++) {
    if (arguments[i].starts_with(kWith)) {
      std::string of = arguments[i].substr(kWith.size());
      arguments[i] = kOption;
      return of;
    }
    const bool has_word = arguments[i] == kOption && i + 1 < arguments.size() && !arguments[i + 1].starts_with('-');
    if (!has_word) continue;
    std::string of = arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return of;
  }
  return {};
}

}  // namespace

Invocation parse_memory(std::vector<std::string> arguments) {
  MemoryArguments memory;
  std::string what, pause;
  bool only_sysroot = false;
  const std::string of = take_holders_of(arguments);
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::memory, {}, {}}, "mixstack memory",
      [&](OptionSet& options) {
        options.positional("PID", what);
        options.value("--name", memory.name);
        options.value("--core", memory.core.path);
        options.value("--sysroot", memory.core.sysroots)->allow_extra_args(false);
        options.value("--exe", memory.core.executable);
        options.flag("--only-sysroot", only_sysroot);
        options.flag("--types", memory.types);
        options.flag("--holders", memory.holders);
        options.value("--most-pause", pause);
        options.flag("--json", memory.json);
        options.value("--out", memory.out);
      },
      memory_page());
  if (result.action != Invocation::Action::memory) return result;
  memory.holders_of = of;
  if (what.empty() && memory.name.empty() && memory.core.path.empty()) std::swap(what, memory.holders_of);
  const int given = static_cast<int>(!what.empty()) + static_cast<int>(!memory.core.path.empty()) +
                    static_cast<int>(!memory.name.empty());
  if (given != 1) return wrong("memory: say of what, and one thing: a pid, a name, or a core's path");
  if (const auto pid = whole_number(what, INT32_MAX); pid && *pid != 0) {
    memory.pid = static_cast<std::uint32_t>(*pid);
  } else if (!what.empty()) {
    memory.core.path = what;
  }
  const bool is_core = !memory.core.path.empty();
  if (!is_core && (!memory.core.sysroots.empty() || !memory.core.executable.empty() || only_sysroot))
    return wrong("--sysroot, --exe and --only-sysroot are for cores");
  const bool is_of_heap = memory.types || memory.holders;
  if (is_core && !is_of_heap) return wrong("a core does not say what was resident: it has --types and --holders alone");
  if (!pause.empty()) {
    if (is_core || !is_of_heap) return wrong("--most-pause is for --types and --holders of a process");
    if (std::string text = read_seconds("--most-pause", pause, memory.most_pause); !text.empty()) return wrong(text);
    if (memory.most_pause > kLongestPause) return wrong("--most-pause: at most a minute");
  }
  if (memory.out.ends_with(".json")) {
    memory.json = true;
  } else if (!memory.out.empty() && memory.out != "-" && !memory.out.ends_with(".txt") && !memory.json) {
    return wrong("the end of " + report::escape_for_terminal(memory.out) + " tells no format: .txt, .json");
  }
  memory.core.use_own_files = !only_sysroot;
  result.memory = std::move(memory);
  return result;
}

}  // namespace mixstack::cli
