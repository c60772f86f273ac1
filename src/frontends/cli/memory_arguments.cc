#include "frontends/cli/memory_arguments.h"

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::seconds kLongestPause{60};

std::string read_makers(const std::string& time, bool is_core, MemoryArguments& memory) {
  constexpr std::chrono::milliseconds kLeast{100}, kMost = std::chrono::hours(1);
  if (!memory.makers) return time.empty() ? "" : "--duration is for --makers";
  if (is_core) return "--makers is for a process: a core makes no objects";
  if (memory.types) return "--types and --makers: one of them";
  if (std::string text = read_seconds("--duration", time, memory.makers_time); !text.empty()) return text;
  return memory.makers_time < kLeast || memory.makers_time > kMost ? "--duration: from 100ms to an hour" : "";
}

}  // namespace

Invocation parse_memory(std::vector<std::string> arguments) {
  MemoryArguments memory;
  std::string what, pause, time;
  bool only_sysroot = false;
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
        options.value("--most-pause", pause);
        options.flag("--makers", memory.makers);
        options.value("--duration", time);
        options.flag("--json", memory.json);
        options.value("--out", memory.out);
      },
      memory_page());
  if (result.action != Invocation::Action::memory) return result;
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
  if (is_core && !memory.types && !memory.makers)
    return wrong("a core does not say what was resident: it has --types alone");
  if (!pause.empty()) {
    if (is_core || !memory.types) return wrong("--most-pause is for --types of a process");
    if (std::string text = read_seconds("--most-pause", pause, memory.most_pause); !text.empty()) return wrong(text);
    if (memory.most_pause > kLongestPause) return wrong("--most-pause: at most a minute");
  }
  if (std::string text = read_makers(time, is_core, memory); !text.empty()) return wrong(text);
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
