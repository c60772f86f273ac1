// web_pages KIND FILE: writes a page, picture or raw recording (.mxr) of a made-up recording; which one by the ending
// of FILE. KIND: small, faster, several, hostile, large, server; "A:B": the difference from A to B. "why KIND": the
// page of an answer of `mixstack why`; "memory KIND": of `mixstack memory`.
#include <cstdio>
#include <map>
#include <string>

#include "output/formats/recording_file.h"
#include "output/report/flame_html.h"
#include "output/report/flame_svg.h"
#include "output/report/memory_html.h"
#include "output/report/why_html.h"
#include "web/memory_answers.h"
#include "web/stack_maker.h"
#include "web/why_answers.h"

namespace {

using mixstack::Recording;

Recording recording_of(const std::string& kind) {
  const std::map<std::string, Recording (*)()> makers = {
      {"small", mixstack::web_test::small_recording},
      {"faster", mixstack::web_test::faster_recording},
      {"several", mixstack::web_test::several_recording},
      {"hostile", mixstack::web_test::hostile_recording},
      {"large", mixstack::web_test::large_recording},
      {"server", [] { return mixstack::web_test::server_recording(1); }},
      {"server2", [] { return mixstack::web_test::server_recording(2); }},
      {"empty", [] { return Recording(); }},
  };
  const auto maker = makers.find(kind);
  return maker == makers.end() ? Recording() : maker->second();
}

int write_why(const std::string& kind, std::FILE* file) {
  const auto answer = mixstack::web_test::why_answer(kind);
  if (!answer) return 2;
  mixstack::report::Writer out([file](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), file); });
  const mixstack::report::WhyExtras extras{.busy = answer->busy ? &*answer->busy : nullptr};
  mixstack::report::write_why_html(out, answer->dump, answer->verdicts, extras);
  out.flush();
  return std::fclose(file) == 0 ? 0 : 1;
}

int write_memory(const std::string& kind, std::FILE* file) {
  namespace report = mixstack::report;
  const auto pages = mixstack::web_test::memory_pages(kind);
  if (!pages) return 2;
  const auto of = [](const mixstack::MemoryMoment& m) {
    return report::MemoryReport{m.pid, m.name, m.core_path, m.account ? &*m.account : nullptr, m.heaps, &m.mark};
  };
  std::vector<report::MemoryReport> moments;
  if (pages->growth) moments.push_back(of(pages->before));
  moments.push_back(of(pages->after));
  moments.back().holders = pages->holders;
  report::Writer out([file](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), file); });
  report::write_memory_html(out, {moments, pages->growth ? &*pages->growth : nullptr});
  out.flush();
  return std::fclose(file) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string kind = argv[1], path = argv[2];
  const std::size_t colon = kind.find(':');
  const Recording recording = recording_of(colon == std::string::npos ? kind : kind.substr(colon + 1));
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 1;
  if (kind.starts_with("why ")) return write_why(kind.substr(4), file);
  if (kind.starts_with("memory ")) return write_memory(kind.substr(7), file);
  {
    mixstack::report::Writer out([file](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), file); });
    mixstack::report::FlameOptions options;
    options.look.idle = options.before_look.idle = true;
    options.before_name = kind.substr(0, colon);
    options.after_name = colon == std::string::npos ? kind : kind.substr(colon + 1);
    if (path.ends_with(".mxr")) {
      mixstack::formats::write_recording(out, recording);
    } else if (path.ends_with(".svg")) {
      mixstack::report::write_flame_svg(out, recording, options);
    } else if (colon == std::string::npos) {
      mixstack::report::write_flame_html(out, recording, nullptr, options);
    } else {
      const Recording before = recording_of(options.before_name);
      mixstack::report::write_flame_html(out, recording, &before, options);
    }
    out.flush();
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
