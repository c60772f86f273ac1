// Makes a pack: one file from which a dump can be made again, on another machine.
//
// Input: a pid or a core, PackOptions, a descriptor to write to. Output: the pack, and a summary of its contents.
// Algorithm: dump the target through a CopyingTarget, which records all that the dump reads; add the image headers and
// build ids that prove files on the other machine; for a core, drop recorded bytes that it does not hold itself and add
// the files they came from, and stacks. Read environment and command line from the target, which must still be the same
// program; then write manifest, core and files as one stream, with those secrets blanked wherever they occur. Dump the
// pack and compare. A small pack of a core that differs is made once more in full.
// Bounds: 256 MiB recorded (MemoryImage); kStackOfACore for each stack and kStacksOfACore together; kMostOfAFile bytes
// of proof for each assembly; kPage for each note. --full adds all private memory (all that a core holds), streamed.
#include "features/pack/packing.h"

#include <unistd.h>

#include "features/pack/packer.h"
#include "features/pack/recorded_pieces.h"
#include "process/core/core_file.h"
#include "process/core/core_notes.h"
#include "process/core/dumped_memory.h"
#include "process/kernel/elf_facts.h"
#include "process/live/live_target.h"
#include "process/pack/core_notes_writer.h"
#include "process/pack/core_pieces.h"
#include "process/pack/process_words.h"
#include "session/core_opening.h"
#include "session/process_session.h"
#include "session/symbol_sources.h"

namespace mixstack::packing {
namespace {

[[nodiscard]] Result<Dumped> dump_and_record(std::unique_ptr<Target> source, const PackOptions& options) {
  auto recorder = std::make_unique<pack::CopyingTarget>(std::move(source));
  Dumped out;
  out.recorder = recorder.get();
  auto session = session::ProcessSession::open(std::move(recorder));
  if (!session) return fail(session.error());
  (*session)->leave_out_perf_map();
  if (options.full) (*session)->read_types_of_heaps();
  out.session = std::move(*session);
  out.session->set_runtime_options(options.runtime);
  out.session->set_symbol_options(options.symbols);
  auto dump = out.session->dump(options.dump);
  if (!dump) return fail(dump.error());
  out.dump = std::move(*dump);
  for (const ThreadDump& t : out.dump.threads)  // a live target has the name only at its main thread
    if (t.tid == out.dump.target.pid && out.dump.target.comm.empty()) out.dump.target.comm = t.comm;
  out.recording = out.recorder->take();
  if (out.recording.regions.empty())
    if (auto regions = out.session->target().regions()) out.recording.regions = std::move(*regions);
  return out;
}

/// Reads the pack back as a machine would that has nothing else.
[[nodiscard]] std::vector<ThreadId> read_back(int fd, const PackOptions& options, const ProcessDump& dump) {
  CoreOptions pack;
  pack.path = "/proc/self/fd/" + std::to_string(fd);
  pack.use_own_files = false;
  auto session = Session::open_core(pack);
  if (!session) return {0};
  (*session)->set_runtime_options(options.runtime);
  const auto again = (*session)->dump(options.dump);
  if (!again) return {0};
  return different_threads(dump, *again);
}

Result<PackSummary> packed_process(std::uint32_t pid, const PackOptions& options, int fd) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  auto dumped = dump_and_record(std::move(*target), options);
  if (!dumped) return fail(dumped.error());
  const MemoryReader& memory = dumped->recorder->unrecorded();
  add_headers(memory, dumped->recording);
  const auto regions = dumped->recording.regions;
  auto words = pack::read_process_words(pid, memory, regions);
  // The program's addresses are random: if they differ, the pid was reused.
  TargetInfo now;
  process::parse_auxv(words.auxv, now);
  if (now.entry_point != dumped->dump.target.entry_point || now.vdso != dumped->dump.target.vdso)
    return fail(ErrorCode::process_changed, pid);
  Packer packer(std::move(*dumped), std::move(words), options, fd);
  pack::PresentMemory present;
  if (options.full) {
    present = pack::present_memory(pid, regions);
    packer.leave_out("order_of_events",
                     "the order of events: memory other than stacks was copied while the process ran on");
    if (present.swapped != 0) packer.leave_out("swapped", std::to_string(present.swapped) + " bytes of memory in swap");
    if (present.unknown != 0)
      packer.leave_out("perhaps_present", std::to_string(present.unknown) +
                                              " bytes of memory of which the kernel does not say whether it is there");
  }
  auto notes = pack::notes_of(packer.process_notes(), packer.dumped().recording);
  auto summary = packer.write(std::move(notes), present.ranges, memory);
  if (summary && options.read_back) summary->different = read_back(fd, options, packer.dumped().dump);
  return summary;
}

[[nodiscard]] Result<PackSummary> pack_core_once(const CoreOptions& core, const PackOptions& options, int fd) {
  auto opened =
      session::open_core_target(core, session::executable_fetcher(session::make_symbol_finder(options.symbols)));
  if (!opened) return fail(opened.error());
  const auto bytes = opened->bytes;
  auto dumped = dump_and_record(std::move(opened->target), options);
  if (!dumped) return fail(dumped.error());
  const auto file = process::CoreFile::read(bytes);
  if (!file) return fail(file.error());
  const process::DumpedMemory memory(*file);
  add_files_behind_memory(dumped->session->target(), memory, dumped->recording);
  keep_dumped(memory, dumped->recording);
  add_proofs(memory, dumped->recording);
  add_headers(memory, dumped->recording);
  add_stacks(memory, dumped->recording);
  const auto regions = dumped->recording.regions;
  const process::CoreNotes notes = process::read_core_notes(file->notes(), file->arch());
  Packer packer(std::move(*dumped), pack::find_process_words(notes.auxv, memory, regions), options, fd);
  auto written = pack::notes_of(packer.process_notes(), file->notes(), regions);
  auto summary =
      packer.write(std::move(written), options.full ? pack::dumped_ranges(*file) : std::vector<AddressRange>(), memory);
  if (summary && options.read_back) summary->different = read_back(fd, options, packer.dumped().dump);
  return summary;
}

Result<PackSummary> packed_core(const CoreOptions& core, const PackOptions& options, int fd) {
  auto summary = pack_core_once(core, options, fd);
  const bool suffices = !summary || summary->different.empty() || options.full || core.path == "-";
  if (suffices || ::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) return summary;
  PackOptions full = options;
  full.full = true;
  return pack_core_once(core, full, fd);
}

}  // namespace
}  // namespace mixstack::packing

namespace mixstack {

DumpOptions dump_for_packs() {
  DumpOptions options;
  options.walk.explicit_frames = true;
  options.waits = options.pending_work = options.arguments = true;
  return options;
}

Result<PackSummary> pack_process(std::uint32_t pid, const PackOptions& options, int fd) {
  return packing::packed_process(pid, options, fd);
}

Result<PackSummary> pack_core(const CoreOptions& core, const PackOptions& options, int fd) {
  return packing::packed_core(core, options, fd);
}

}  // namespace mixstack
