// Arguments of `mixstack memory`.
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
std::string check(const MemoryArguments& memory, bool has_pause) {
  const bool is_core = !memory.core.path.empty();
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

/// `--native` and `--makers`: questions about a time. `time`: --duration; nothing: it is not given.
std::string read_time(std::optional<std::chrono::milliseconds> time, MemoryArguments& memory) {
  constexpr std::chrono::milliseconds kLeast{100}, kMost = std::chrono::hours(1);
  if (!memory.makers && !memory.native) return {};
  if (memory.makers && memory.native) return "--makers and --native are two questions";
  if (!memory.core.path.empty())
    return memory.native ? "--native is for a process: nothing grows in a core"
                         : "--makers is for a process: a core makes no objects";
  if (memory.types || memory.holders || memory.after.count() != 0)
    return std::string(memory.native ? "--native" : "--makers") + " goes without --types, --holders and --after";
  if (memory.format == MemoryFormat::moment || memory.format == MemoryFormat::html)
    return memory.native
               ? "--native writes text or .json; 'mixstack record -m faults -o FILE.html' makes a page of first uses"
               : "--makers writes text or .json; 'mixstack record --alloc -o FILE.html' makes a page";
  if (!time) return {};
  (memory.native ? memory.native_time : memory.makers_time) = *time;
  return *time < kLeast || *time > kMost ? "--duration: from 100ms to an hour" : "";
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

/// Reads whom the line asks: a process, a core, or two files.
std::string read_what(std::string what, const std::string& of, MemoryArguments& memory) {
  if (what == "diff") return check_files(memory);
  if (!memory.before_file.empty()) return "memory: one process or core; 'memory diff' compares two moments";
  memory.holders_of = of;
  if (what.empty() && memory.name.empty() && memory.core.path.empty()) std::swap(what, memory.holders_of);
  return read_subject(what, memory,
                      "memory: say of what, and one thing: a pid, a name, or the path of a core or a moment");
}

}  // namespace

Invocation parse_memory(std::vector<std::string> words) {
  CommandLine line(Invocation::Action::memory, memory_page());
  MemoryArguments& memory = line.result().memory;
  const std::string of = take_holders_of(words);
  std::string what;
  std::optional<std::chrono::milliseconds> time;
  bool json = false;
  line.text("PID", what);
  line.text("BEFORE", memory.before_file);
  line.text("AFTER", memory.after_file);
  line.text("--name", memory.name);
  line.text("--core", memory.core.path);
  declare_core_files(line, memory.core);
  line.flag("--types", memory.types);
  line.flag("--data", memory.data);
  line.seconds("--after", memory.after);
  line.flag("--holders", memory.holders);
  line.seconds("--most-pause", memory.most_pause);
  line.flag("--makers", memory.makers);
  line.flag("--native", memory.native);
  line.seconds("--duration", time);
  line.flag("--json", json);
  line.text("--out", memory.out);
  const auto check_all = [&] {
    if (what == "diff") return std::string();
    std::string text = check(memory, line.has("--most-pause"));
    return text.empty() ? read_time(time, memory) : text;
  };
  const auto needs_no_time = [&] {
    const bool is_needless = line.has("--duration") && !memory.makers && !memory.native && what != "diff";
    return is_needless ? "--duration is for --makers and --native" : "";
  };
  return line.read(std::move(words),
                   {[&] { return read_format(json, memory); }, [&] { return read_what(what, of, memory); },
                    needs_no_time, line.values(), check_all});
}

}  // namespace mixstack::cli
