// Arguments of `mixstack why`.
#include <chrono>

#include "frontends/cli/heap_question.h"
#include "frontends/cli/parsing.h"
#include "output/report/escape.h"

namespace mixstack::cli {

namespace {

constexpr std::chrono::minutes kLongestSample{10};

/// Sets the format by the end of the output file's name. Returns "" or the error for the user.
std::string read_output(WhyArguments& why) {
  if (why.json && why.dot) return "--json and --dot: one of them";
  if (why.out.empty() || why.out == "-" || why.json || why.dot) return {};
  why.json = why.out.ends_with(".json");
  why.dot = why.out.ends_with(".dot") || why.out.ends_with(".gv");
  why.html = why.out.ends_with(".html") || why.out.ends_with(".htm");
  if (why.json || why.dot || why.html || why.out.ends_with(".txt")) return {};
  return "the end of " + report::escape_for_terminal(why.out) + " tells no format: .html, .txt, .json, .dot";
}

std::string check_together(const CommandLine& line, const WhyArguments& why) {
  const bool is_core = !why.core.path.empty();
  if (is_core && line.has("--sample")) return "--sample: nothing runs in a core";
  if (is_core && line.has("--watch")) return "--watch: a core does not change";
  return check_heap_limit(line, why.heap);
}

}  // namespace

Invocation parse_why(std::vector<std::string> words) {
  CommandLine line(Invocation::Action::why, why_page());
  WhyArguments& why = line.result().why;
  std::string what;
  line.text("PID", what);
  line.text("--name", why.name);
  line.text("--core", why.core.path);
  declare_core_files(line, why.core);
  line.flag("--json", why.json);
  line.flag("--dot", why.dot);
  line.flag("--data", why.data);
  line.text("--out", why.out);
  line.value("--sample", [&why](const std::string& text) {
    why.sample.emplace(0);
    return text == "0" ? std::string() : read_seconds("--sample", text, *why.sample);
  });
  line.seconds("--watch", why.watch);
  line.flag("--heap", why.heap);
  declare_heap_limit(line, why.heap_limit);
  constexpr char kOnlyOne[] = "why: say of what, and one thing: a pid, a name, or a core's path";
  const auto is_short = [&why] {
    return why.sample > kLongestSample ? "--sample: at most 10 minutes; longer: mixstack record" : "";
  };
  return line.read(std::move(words),
                   {[&] { return read_subject(what, why, kOnlyOne); }, [&] { return read_output(why); },
                    [&] { return check_together(line, why); }, line.values(), is_short});
}

}  // namespace mixstack::cli
