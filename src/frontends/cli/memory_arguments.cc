#include "frontends/cli/memory_arguments.h"

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::seconds kLongestPause{60};
constexpr std::chrono::hours kLongestWait{24};

/// By `--json` or the end of the file's name. Returns "" or the error for the user.
std::string read_format(bool json, MemoryArguments& memory) {
  const std::string& out = memory.out;
  if (json || out.ends_with(".json")) {
    memory.format = MemoryFormat::json;
  } else if (out.ends_with(".mxm")) {
    memory.format = MemoryFormat::moment;
  } else if (out.ends_with(".html")) {
    memory.format = MemoryFormat::html;
  } else if (!out.empty() && out != "-" && !out.ends_with(".txt")) {
    return "the end of " + report::escape_for_terminal(out) + " tells no format: .txt, .json, .html, .mxm";
  }
  return {};
}

/// Options that do not go with a core, or with each other.
std::string check(const MemoryArguments& memory, bool has_pause, bool only_sysroot) {
  const bool is_core = !memory.core.path.empty();
  if (!is_core && (!memory.core.sysroots.empty() || !memory.core.executable.empty() || only_sysroot))
    return "--sysroot, --exe and --only-sysroot are for cores";
  const bool is_of_heap = memory.types || memory.holders;
  if (has_pause && (is_core || !is_of_heap)) return "--most-pause is for --types and --holders of a process";
  if (memory.holders && (memory.after.count() != 0 || memory.format == MemoryFormat::moment))
    return "--holders is of one moment, and in no file .mxm";
  if (memory.most_pause > kLongestPause) return "--most-pause: at most a minute";
  if (memory.after.count() != 0 && is_core) return "--after is for a process: a core is one moment";
  if (memory.after > kLongestWait) return "--after: at most a day";
  if (memory.after.count() != 0 && memory.format == MemoryFormat::moment)
    return "a file .mxm is one moment: without --after";
  if (memory.data && !memory.types && !memory.holders) return "--data is for --types and --holders";
  return {};
}

/// `mixstack memory diff BEFORE AFTER`.
std::string check_files(const MemoryArguments& memory) {
  if (memory.after_file.empty()) return "which two moments? mixstack memory diff BEFORE.mxm AFTER.mxm";
  if (memory.types || memory.holders || memory.data || memory.after.count() != 0 || !memory.name.empty() ||
      !memory.core.path.empty())
    return "memory diff reads two files, and asks no process";
  if (memory.format == MemoryFormat::moment) return "a difference is no moment: text, .json or .html";
  return {};
}

std::string read_native(const std::string& time, MemoryArguments& memory) {
  constexpr std::chrono::milliseconds kLeast{100}, kMost = std::chrono::hours(1);
  if (!memory.core.path.empty()) return "--native is for a process: nothing grows in a core";
  if (memory.types || memory.holders || memory.after.count() != 0)
    return "--native goes without --types, --holders and --after";
  if (memory.format == MemoryFormat::moment || memory.format == MemoryFormat::html)
    return "--native writes text or .json; 'mixstack record -m faults -o FILE.html' makes a page of first uses";
  if (time.empty()) return {};
  if (std::string text = read_seconds("--duration", time, memory.native_time); !text.empty()) return text;
  return memory.native_time < kLeast || memory.native_time > kMost ? "--duration: from 100ms to an hour" : "";
}

std::string read_makers(const std::string& time, MemoryArguments& memory) {
  constexpr std::chrono::milliseconds kLeast{100}, kMost = std::chrono::hours(1);
  if (memory.native) return memory.makers ? "--makers and --native are two questions" : read_native(time, memory);
  if (!memory.makers) return time.empty() ? "" : "--duration is for --makers and --native";
  if (!memory.core.path.empty()) return "--makers is for a process: a core makes no objects";
  if (memory.types || memory.holders || memory.after.count() != 0)
    return "--makers goes without --types, --holders and --after";
  if (memory.format == MemoryFormat::moment || memory.format == MemoryFormat::html)
    return "--makers writes text or .json; 'mixstack record --alloc -o FILE.html' makes a page";
  if (std::string text = read_seconds("--duration", time, memory.makers_time); !text.empty()) return text;
  return memory.makers_time < kLeast || memory.makers_time > kMost ? "--duration: from 100ms to an hour" : "";
}

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
  std::string what, pause, after, time;
  bool only_sysroot = false, json = false;
  const std::string of = take_holders_of(arguments);
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::memory, {}, {}}, "mixstack memory",
      [&](OptionSet& options) {
        options.positional("PID", what);
        options.positional("BEFORE", memory.before_file);
        options.positional("AFTER", memory.after_file);
        options.value("--name", memory.name);
        options.value("--core", memory.core.path);
        options.value("--sysroot", memory.core.sysroots)->allow_extra_args(false);
        options.value("--exe", memory.core.executable);
        options.flag("--only-sysroot", only_sysroot);
        options.flag("--types", memory.types);
        options.flag("--data", memory.data);
        options.value("--after", after);
        options.flag("--holders", memory.holders);
        options.value("--most-pause", pause);
        options.flag("--makers", memory.makers);
        options.flag("--native", memory.native);
        options.value("--duration", time);
        options.flag("--json", json);
        options.value("--out", memory.out);
      },
      memory_page());
  if (result.action != Invocation::Action::memory) return result;
  for (const std::string& text :
       {read_format(json, memory), pause.empty() ? "" : read_seconds("--most-pause", pause, memory.most_pause),
        after.empty() ? "" : read_seconds("--after", after, memory.after)})
    if (!text.empty()) return wrong(text);
  if (what == "diff") {
    if (const std::string text = check_files(memory); !text.empty()) return wrong(text);
    result.memory = std::move(memory);
    return result;
  }
  if (!memory.before_file.empty()) return wrong("memory: one process or core; 'memory diff' compares two moments");
  memory.holders_of = of;
  if (what.empty() && memory.name.empty() && memory.core.path.empty()) std::swap(what, memory.holders_of);
  const int given = static_cast<int>(!what.empty()) + static_cast<int>(!memory.core.path.empty()) +
                    static_cast<int>(!memory.name.empty());
  if (given != 1) return wrong("memory: say of what, and one thing: a pid, a name, or the path of a core or a moment");
  if (const auto pid = whole_number(what, INT32_MAX); pid && *pid != 0) {
    memory.pid = static_cast<std::uint32_t>(*pid);
  } else if (!what.empty()) {
    memory.core.path = what;
  }
  if (const std::string text = check(memory, !pause.empty(), only_sysroot); !text.empty()) return wrong(text);
  if (const std::string text = read_makers(time, memory); !text.empty()) return wrong(text);
  memory.core.use_own_files = !only_sysroot;
  result.memory = std::move(memory);
  return result;
}

}  // namespace mixstack::cli
