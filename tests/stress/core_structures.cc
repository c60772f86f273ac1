// Prints where in a core of a .NET process the runtime's structures lie that a dump of it depends on:
//   core_structures CORE
// Lines, fields separated by tabs:
//   M begin end file-offset dumped        a mapping
//   W structure address file-offset size  a word (or run of bytes) that is read of such a structure
// Numbers in hexadecimal. An error ends it with status 1 and a line "E text".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/exceptions.h"
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/method_check.h"
#include "dotnet/code/runtime.h"
#include "dotnet/code/threads.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/runtime_method.h"
#include "process/core/core_file.h"
#include "process/core/core_target.h"
#include "recorded_reads.h"
#include "session/process_session.h"

namespace mixstack::stress {
namespace {

using namespace dotnet;

/// Reads every structure once, each by its own reader, so that the recorder knows what it is.
class Tour {
 public:
  Tour(const RuntimeFacts& facts, RecordedReads& reads)
      : facts_(facts), reads_(reads), memory_(facts.memory(reads)), code_(memory_, facts.contracts()) {}

  void visit_threads() {
    reads_.now("thread");
    const ThreadList list = read_threads(memory_);
    for (const ManagedThread& thread : list.threads) {
      reads_.now("frame_chain");
      for (const FrameRecord& frame : read_frame_chain(memory_, thread.frame, {}).frames) visit_frame(frame);
      reads_.now("exception");
      for (const auto& e : current_exceptions(memory_, thread).exceptions) {
        const auto object = read_exception(memory_, e.object);
        if (object) (void)read_throw_stack(memory_, object->stack_trace, 16);
        if (object) (void)managed_string(memory_, object->message);
      }
      reads_.now("thread_name");
      (void)thread_name(memory_, thread);
    }
  }

  void visit_code(Address pc) {
    reads_.now("range_section");
    RangeSections ranges(memory_);
    const auto section = ranges.find(pc);
    if (!section) return;
    if (section->kind == RangeSection::Kind::code_heap) visit_jit(*section, pc);
    if (section->kind == RangeSection::Kind::ready_to_run) visit_ready_to_run(*section, pc);
    reads_.now("");
    const CodeInfo info = code_.find(CodeAddress::exact(pc));
    reads_.now("unwind_info");
    if (info.unwind_info != 0) {
      std::array<std::byte, 32> codes{};
      (void)reads_.read_exact(info.unwind_info, codes);
    }
    visit_method(info.method_desc);
  }

  void visit_method(Address method) {
    if (method == 0 || !seen_.insert(method).second) return;
    reads_.now("method_desc");
    const auto desc = names::read_method_desc(memory_, method);
    if (!desc) return;
    reads_.now("method_table");
    (void)is_method_desc(memory_, method);
    names::RuntimeModules modules(memory_, reads_, {});
    reads_.now("module");
    const auto table = names::RuntimeTypes(memory_, modules).method_table(desc->method_table);
    // The chain from the Module to its image, then the image's headers and the metadata it holds.
    if (table) (void)modules.at(table->module);
    reads_.now("metadata");
    names::MethodNames names(memory_, {});
    (void)names.describe(method);
  }

 private:
  void visit_frame(const FrameRecord& frame) {
    reads_.now("frame_data");
    (void)update_from_frame(memory_, frame, Registers(memory_.layouts().arch));
    (void)frame_return_address(memory_, frame);
    const auto method = frame_method(memory_, frame);
    if (method) visit_method(*method);
    reads_.now("frame_chain");
  }

  void visit_jit(const RangeSection& section, Address pc) {
    const auto form = facts_.layouts().algorithms.nibble_map;
    reads_.now("nibble_map");
    const auto& l = memory_.layouts().code_heap_list_node;
    const auto base = memory_.pointer(section.heap_list, l.map_base);
    const auto map = memory_.pointer(section.heap_list, l.header_map);
    if (base && map) (void)NibbleMap{form, *base, *map}.method_start(reads_, pc);
    reads_.now("code_header");
    (void)find_jit_code(memory_, section, form, pc);
  }

  void visit_ready_to_run(const RangeSection& section, Address pc) {
    reads_.now("r2r_header");
    const auto image = ReadyToRunImage::open(memory_, section);
    if (!image) return;
    reads_.now("r2r_rows");
    (void)image->find(memory_, pc);
  }

  const RuntimeFacts& facts_;
  RecordedReads& reads_;
  RuntimeMemory memory_;
  CodeManager code_;
  std::set<Address> seen_;
};

Result<std::unique_ptr<Session>> open(const std::string& path) {
  auto bytes = process::CoreBytes::open(path);
  if (!bytes) return fail(bytes.error());
  auto target = process::open_core(std::move(*bytes), {});
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

int fail_with(const Error& error) {
  fmt::print("E\terror {} os {} value {:#x}\n", static_cast<int>(error.code), error.os_error, error.value);
  return 1;
}

/// Of every runtime, all that threads and the code on their stacks lead to.
void tour(Session& session, const ProcessDump& dump, RecordedReads& reads) {
  const auto facts_of_all = static_cast<session::ProcessSession&>(session).facts();
  for (const auto& known : facts_of_all->runtimes()) {
    const RuntimeImage& image = known->image;
    reads.now("descriptor");
    const auto facts = RuntimeFacts::open(reads, image);
    if (!facts) continue;
    Tour tour(**facts, reads);
    tour.visit_threads();
    for (const ThreadDump& thread : dump.threads)
      for (const Frame& frame : thread.trace.frames)
        if (frame.kind == FrameKind::managed || frame.kind == FrameKind::runtime_stub)
          tour.visit_code(frame.pc.lookup());
  }
}

int run(const std::string& path) {
  auto bytes = process::CoreBytes::open(path);
  if (!bytes) return fail_with(bytes.error());
  const auto file = process::CoreFile::read(std::move(*bytes));
  if (!file) return fail_with(file.error());
  auto session = open(path);
  if (!session) return fail_with(session.error());
  const auto dump = (*session)->dump({});
  if (!dump) return fail_with(dump.error());
  RecordedReads reads((*session)->target().memory());
  tour(**session, *dump, reads);

  const auto& segments = file->segments();
  for (const auto& s : segments)
    fmt::print("M\t{:x}\t{:x}\t{:x}\t{:x}\n", s.range.begin, s.range.end, s.file_offset, s.dumped);
  for (const auto& [place, structure] : reads.reads()) {
    const auto s = std::partition_point(segments.begin(), segments.end(),
                                        [&p = place](const auto& x) { return x.range.end <= p.address; });
    if (s == segments.end() || !s->range.contains(place.address)) continue;
    const std::uint64_t inside = place.address - s->range.begin;
    if (inside >= s->dumped || place.size > s->dumped - inside) continue;
    fmt::print("W\t{}\t{:x}\t{:x}\t{:x}\n", structure, place.address, s->file_offset + inside, place.size);
  }
  return 0;
}

}  // namespace
}  // namespace mixstack::stress

int main(int argc, char** argv) {
  if (argc == 2) return mixstack::stress::run(argv[1]);
  fmt::print(stderr, "usage: core_structures CORE\n");
  return 2;
}
