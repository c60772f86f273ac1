#include "frontends/cli/why_arguments.h"

#include <fmt/core.h>

#include "frontends/cli/heap_question.h"
#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "output/report/escape.h"

namespace mixstack::cli {

namespace {

constexpr std::chrono::minutes kLongestSample{10};

/// Sets the format by the end of the output file's name. Returns "" or the error for the user.
std::string read_output(WhyArguments& why) {
  if (why.out.empty() || why.out == "-" || why.json || why.dot) return {};
  why.json = why.out.ends_with(".json");
  why.dot = why.out.ends_with(".dot") || why.out.ends_with(".gv");
  why.html = why.out.ends_with(".html") || why.out.ends_with(".htm");
  if (why.json || why.dot || why.html || why.out.ends_with(".txt")) return {};
  return "the end of " + report::escape_for_terminal(why.out) + " tells no format: .html, .txt, .json, .dot";
}

}  // namespace

Invocation parse_why(std::vector<std::string> arguments) {
  WhyArguments why;
  std::string what, watch, heap_limit, sample;
  bool only_sysroot = false;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::why, {}, {}}, "mixstack why",
      [&](OptionSet& options) {
        options.positional("PID", what);
        options.value("--name", why.name);
        options.value("--core", why.core.path);
        options.value("--sysroot", why.core.sysroots)->allow_extra_args(false);
        options.value("--exe", why.core.executable);
        options.flag("--only-sysroot", only_sysroot);
        options.flag("--json", why.json);
        options.flag("--dot", why.dot);
        options.flag("--data", why.data);
        options.value("--out", why.out);
        options.value("--sample", sample);
        options.value("--watch", watch);
        options.flag("--heap", why.heap);
        options.value("--heap-limit", heap_limit);
      },
      why_page());
  if (result.action != Invocation::Action::why) return result;
  const int given =
      static_cast<int>(!what.empty()) + static_cast<int>(!why.core.path.empty()) + static_cast<int>(!why.name.empty());
  if (given != 1) return wrong("why: say of what, and one thing: a pid, a name, or a core's path");
  if (const auto pid = whole_number(what, INT32_MAX); pid && *pid != 0) {
    why.pid = static_cast<std::uint32_t>(*pid);
  } else if (!what.empty()) {
    why.core.path = what;
  }
  const bool is_core = !why.core.path.empty();
  if (!is_core && (!why.core.sysroots.empty() || !why.core.executable.empty() || only_sysroot))
    return wrong("--sysroot, --exe and --only-sysroot are for cores");
  if (why.json && why.dot) return wrong("--json and --dot: one of them");
  if (std::string text = read_output(why); !text.empty()) return wrong(text);
  if (!sample.empty()) {
    if (is_core) return wrong("--sample: nothing runs in a core");
    why.sample.emplace(0);
    if (sample != "0")
      if (std::string text = read_seconds("--sample", sample, *why.sample); !text.empty()) return wrong(text);
    if (*why.sample > kLongestSample) return wrong("--sample: at most 10 minutes; longer: mixstack record");
  }
  if (!watch.empty()) {
    if (is_core) return wrong("--watch: a core does not change");
    if (std::string text = read_seconds("--watch", watch, why.watch); !text.empty()) return wrong(text);
  }
  if (std::string text = read_heap_limit(heap_limit, why.heap, why.heap_limit); !text.empty()) return wrong(text);
  why.core.use_own_files = !only_sysroot;
  result.why = std::move(why);
  return result;
}

}  // namespace mixstack::cli
