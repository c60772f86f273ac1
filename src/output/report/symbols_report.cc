#include "output/report/symbols_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "output/report/escape.h"
#include "output/report/json_error.h"
#include "output/report/json_fields.h"
#include "output/report/words.h"
#include "output/report/writer.h"

namespace mixstack::report {
namespace {

using Kind = ModuleSymbols::Kind;
using Source = ModuleSymbols::Source;

std::string_view source_name(Source source) {
  switch (source) {
    case Source::image:
      return "image";
    case Source::file:
      return "file";
    case Source::mini_debug_info:
      return "mini_debug_info";
    case Source::exports:
      return "exports";
    case Source::nothing:
      break;
  }
  return "nothing";
}

std::string source_words(const ModuleSymbols& m) {
  const bool is_managed = m.kind == Kind::managed;
  switch (m.source) {
    case Source::image:
      return is_managed ? "a PDB inside" : "a symbol table of its own";
    case Source::file:
      return escape_for_terminal(m.found);
    case Source::mini_debug_info:
      return "names of functions inside (.gnu_debugdata)";
    case Source::exports:
      return "missing: only what it exports has a name";
    case Source::nothing:
      break;
  }
  return is_managed ? "missing: no source lines" : "missing";
}

std::string frames_words(const ModuleSymbols& m) {
  if (m.frames == 0) return "no frames";
  const char* what = m.kind == Kind::managed ? "line" : "name";
  const std::string all = fmt::format("{} frame{}", m.frames, m.frames == 1 ? "" : "s");
  return m.nameless == 0 ? all : fmt::format("{}, {} without a {}", all, m.nameless, what);
}

/// "package libc6-dbg 2.36-9, https://debuginfod.debian.net": where it usually is.
std::string usual_words(const ModuleSymbols& m) {
  std::string text;
  if (!m.server.empty()) text = escape_for_terminal(m.server);
  if (m.package.empty()) return text;
  const bool is_framework = m.package.starts_with("Microsoft.") && !m.server.empty();
  text += text.empty() ? "" : is_framework ? "; the file is of" : " or";
  return fmt::format("{}{}package {} {}", text, text.empty() ? "" : " ", escape_for_terminal(m.package),
                     escape_for_terminal(m.package_version));
}

std::string module_text(const ModuleSymbols& m) {
  std::string text =
      fmt::format("{} {}  ({})\n", m.kind == Kind::managed ? 'M' : 'N', escape_for_terminal(m.module), frames_words(m));
  const auto line = [&text](std::string_view what, const std::string& words) {
    if (!words.empty()) text += fmt::format("    {:<9}{}\n", what, words);
  };
  line("symbols", source_words(m));
  line("but", escape_for_terminal(m.remark));
  if (!m.is_missing()) return text;
  const char* id = m.kind == Kind::managed ? "PDB id" : "build id";
  const std::string file = escape_for_terminal(m.wanted_file);
  if (!m.id.empty()) line("wanted", fmt::format("{}{}{} {}", file, file.empty() ? "" : ", ", id, m.id));
  if (m.id.empty() && m.kind == Kind::native) line("wanted", "nothing can be asked for: it has no build id");
  line("key", m.id.empty() ? "" : escape_for_terminal(m.store_key));
  line("usually", usual_words(m));
  return text;
}

std::vector<ModuleSymbols> sorted(std::span<const ModuleSymbols> modules) {
  std::vector<ModuleSymbols> all(modules.begin(), modules.end());
  std::stable_sort(all.begin(), all.end(), [](const ModuleSymbols& a, const ModuleSymbols& b) {
    if (a.is_missing() != b.is_missing()) return a.is_missing();
    return a.nameless != b.nameless ? a.nameless > b.nameless : a.frames > b.frames;
  });
  return all;
}

std::size_t missing_of(std::span<const ModuleSymbols> modules) {
  return static_cast<std::size_t>(
      std::count_if(modules.begin(), modules.end(), [](const ModuleSymbols& m) { return m.is_missing(); }));
}

void write_module(Writer& out, const ModuleSymbols& m) {
  JsonObject one(out);
  one.word("kind", m.kind == Kind::managed ? "managed" : "native");
  one.text("module", m.module);
  one.text("path", m.path);
  one.text_or_null("id", m.id);
  one.word("source", source_name(m.source));
  one.boolean("missing", m.is_missing());
  one.text_or_null("found", m.found);
  one.text_or_null("wanted_file", m.wanted_file);
  one.text_or_null("store_key", m.store_key);
  one.text_or_null("package", m.package);
  one.text_or_null("package_version", m.package_version);
  one.text_or_null("server", m.server);
  one.text_or_null("remark", m.remark);
  one.number("frames", std::uint64_t{m.frames});
  one.number("nameless_frames", std::uint64_t{m.nameless});
  one.close();
}

}  // namespace

SymbolsSubject symbols_subject(const ProcessDump& dump) {
  SymbolsSubject subject;
  subject.pid = dump.target.pid;
  subject.core = dump.target.core_path;
  subject.program = dump.target.executable;
  for (const RuntimeSummary& runtime : dump.runtimes) subject.runtimes.push_back(runtime.version);
  subject.diagnoses = dump.diagnoses;
  return subject;
}

std::string symbols_text(const SymbolsSubject& subject, std::span<const ModuleSymbols> modules) {
  const std::size_t missing = missing_of(modules);
  const std::string& program = subject.program;
  std::string text;
  if (!subject.core.empty()) text = "core " + escape_for_terminal(subject.core);
  if (!subject.recording.empty()) text = "recording " + escape_for_terminal(subject.recording);
  if (subject.pid != 0)
    text += fmt::format("{}process {} ({})", text.empty() ? "" : ", of ", subject.pid,
                        escape_for_terminal(program.substr(program.rfind('/') + 1)));
  for (const std::string& version : subject.runtimes)
    if (!version.empty()) text += ", .NET " + escape_for_terminal(version);
  text += fmt::format(": {} module{}, {} without symbols\n", modules.size(), modules.size() == 1 ? "" : "s",
                      missing == 0 ? "none" : std::to_string(missing));
  for (const ModuleSymbols& m : sorted(modules)) text += "\n" + module_text(m);
  return text;
}

std::string symbols_json(const SymbolsSubject& subject, std::span<const ModuleSymbols> modules) {
  return collect([&](Writer& out) {
    JsonObject document(out);
    document.word("format", "mixstack-symbols");
    document.number("format_version", std::uint64_t{1});
    document.number("pid", std::uint64_t{subject.pid});
    document.text_or_null("core", subject.core);
    document.text_or_null("recording", subject.recording);
    document.key("modules");
    json_array(out, sorted(modules), "\n ", [&](const ModuleSymbols& m) { write_module(out, m); });
    document.key("diagnoses");
    json_array(out, subject.diagnoses, "\n ", [&](const Diagnosis& d) {
      JsonObject one(out);
      one.text("subject", d.subject);
      one.text("text", d.text);
      one.key("error");
      write_error(out, d.error);
      one.close();
    });
    document.close();
    out << '\n';
  });
}

}  // namespace mixstack::report
