#include "session/waits_outside.h"

#include "process/peers/file_locks.h"
#include "process/peers/other_processes.h"
#include "process/peers/shared_locks.h"
#include "session/native_waits.h"
#include "session/process_stage.h"

namespace mixstack::session {

void read_waits_outside(bool wanted, ProcessDump& dump, const Capture& capture, const MemoryReader& memory,
                        const std::vector<Region>& regions, std::optional<peers::OtherEnds>& ends) {
  find_stage(dump);
  if (!wanted) return;
  read_native_waits(dump, capture.frozen != nullptr ? *capture.frozen : memory);
  if (ends) ends->tell(dump);
  if (capture.frozen != nullptr) return;
  peers::name_waited_objects(dump);
  peers::name_shared_locks(dump, regions, memory);
  peers::name_file_locks(dump);
  peers::look_at_other_processes(dump, regions, memory);
}

}  // namespace mixstack::session
