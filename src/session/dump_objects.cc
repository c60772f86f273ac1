// The stages of a dump that read the runtimes' objects, and waits outside the runtimes.
#include "session/async_work.h"
#include "session/cpp_exceptions.h"
#include "session/dump_in_progress.h"
#include "session/frame_arguments.h"
#include "session/heap_search.h"
#include "session/waits.h"
#include "session/waits_outside.h"

namespace mixstack::session {

void stages::objects(DumpInProgress& at) {
  const auto runtimes = at.runtimes();
  const DumpOptions& options = at.options;
  const bool with_work = options.waits && options.pending_work;
  take_facts(at, false);
  if (options.waits && !at.is_frozen())
    for (const auto& runtime : runtimes) at.worker().fetch(runtime->places_of_waits());
  const WaitFrames frames = options.waits ? wait_frames(at.dump, at.symbolizer->symbols()) : WaitFrames();
  take_facts(at, false);
  const MemoryReader& memory = at.is_frozen() ? *at.capture.frozen : at.from.target.memory();
  if (options.waits) read_waits(at.dump, at.capture, memory, runtimes, frames);
  take_facts(at, false);
  if (with_work) read_pending_work(at.dump, at.capture, runtimes, frames, options.data);
  if (with_work) read_heaps(at.dump, memory, at.is_frozen(), runtimes, options.heap, at.from.reads_types_of_heaps);
  at.callers.find(at.dump, at.capture, runtimes, frames, *at.symbolizer);
  if (options.arguments) read_arguments(at.dump, at.capture, runtimes, options.data);
}

void stages::native_waits(DumpInProgress& at) {
  tell_of_cpp_exceptions(at.worker().modules(), at.walk->memory(), at.dump);
  read_waits_outside(at.options.waits, at.dump, at.capture, at.from.target.memory(), at.regions(), at.ends);
}

}  // namespace mixstack::session
