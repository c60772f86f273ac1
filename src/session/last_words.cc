#include "session/last_words.h"

#include <algorithm>
#include <utility>

#include "dotnet/code/aot_crash.h"
#include "mixstack/subjects.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kMostMessage = 1024;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// glibc's, under all names it had: libc.so.6, libc-2.28.so.
bool is_libc(std::string_view path) {
  const std::string_view name = file_name(path);
  return name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"));
}

std::string abort_message(const MemoryReader& memory, Address variable) {
  // struct abort_msg_s { unsigned int size; char msg[0]; } in glibc's include/stdlib.h
  const auto message = memory.read<std::uint64_t>(variable);
  if (!message || *message == 0) return {};
  const auto text = memory.read_cstring(*message + sizeof(std::uint32_t), kMostMessage);
  if (!text) return {};
  std::string words = *text;
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
  return words;
}

void tell(ProcessDump& dump, std::string text) {
  dump.diagnoses.push_back({{}, std::string(kLastWordsSubject), std::move(text)});
}

std::string_view reason_words(dotnet::AotCrash::Reason reason) {
  switch (reason) {
    case dotnet::AotCrash::Reason::unhandled_exception:
      return "unhandled exception";
    case dotnet::AotCrash::Reason::fail_fast:
      return "Environment.FailFast";
    case dotnet::AotCrash::Reason::internal_error:
      return "an internal failure";
    case dotnet::AotCrash::Reason::unknown:
      break;
  }
  return "its end";
}

void read_last_words(const images::ModuleMap& modules, const MemoryReader& memory, ProcessDump& dump) {
  for (ModuleIndex i = 0; i < modules.modules().size(); i++) {
    const images::Module& module = modules.modules()[i];
    if (module.kind != images::ModuleKind::elf || !is_libc(module.path)) continue;
    const auto image = modules.image(i);
    const auto variable = image ? (*image)->dynamic_symbol("__abort_msg") : std::nullopt;
    if (!variable) continue;
    if (std::string words = abort_message(memory, module.load_bias + *variable); !words.empty())
      tell(dump, "libc: " + words);
  }
}

void tell_of_unread_runtime(const std::vector<Region>& regions, const std::vector<Diagnosis>& of_target,
                            ProcessDump& dump) {
  if (!dump.runtimes.empty()) return;
  const auto is_it = [](const Region& r) { return file_name(r.path) == "libcoreclr.so"; };
  const auto runtime = std::find_if(regions.begin(), regions.end(), is_it);
  if (runtime == regions.end()) return;
  const bool is_cut = std::any_of(of_target.begin(), of_target.end(),
                                  [](const Diagnosis& d) { return d.error.code == ErrorCode::truncated; });
  dump.diagnoses.push_back({{is_cut ? ErrorCode::truncated : ErrorCode::field_unavailable, 0, 0},
                            std::string(kRuntimeSubject),
                            "the .NET runtime (" + runtime->path + ") is mapped, but " +
                                (is_cut ? "lies in the part of the core that is missing" : "cannot be read")});
}

}  // namespace

void read_aot_crash(const MemoryReader& memory, Address header, ProcessDump& dump) {
  const auto record = dotnet::read_aot_crash_record(memory, header);
  dotnet::AotCrash crash;
  if (!record || record->empty() || !dotnet::parse_aot_crash(*record, crash)) return;
  std::string text(reason_words(crash.reason));
  if (crash.exceptions.empty() && !crash.message.empty()) text += ": " + crash.message;
  for (std::size_t i = 0; i < crash.exceptions.size(); i++) {
    const auto& exception = crash.exceptions[i];
    if (i != 0) text = "inner exception";
    text += " " + exception.type + (exception.message.empty() ? "" : ": " + exception.message);
    if (i == 0 && crash.thread != 0) text += ", on thread " + std::to_string(crash.thread);
    tell(dump, "NativeAOT: " + text);
    for (const std::string& method : exception.stack) tell(dump, "    at " + method);
  }
  if (crash.exceptions.empty()) tell(dump, "NativeAOT: " + text);
}

void tell_of_end(const images::ModuleMap& modules, const MemoryReader& memory, const std::vector<Region>& regions,
                 const std::vector<Diagnosis>& of_target, ProcessDump& dump) {
  read_last_words(modules, memory, dump);
  tell_of_unread_runtime(regions, of_target, dump);
}

}  // namespace mixstack::session
