#include "session/waits_outside.h"

#include "session/file_locks.h"
#include "session/native_waits.h"
#include "session/other_processes.h"
#include "session/process_stage.h"
#include "session/shared_locks.h"

namespace mixstack::session {

void read_waits_outside(bool wanted, ProcessDump& dump, const Capture& capture, const MemoryReader& memory,
                        const std::vector<Region>& regions, std::optional<OtherEnds>& ends) {
  find_stage(dump);
  if (!wanted) return;
  read_native_waits(dump, capture.frozen != nullptr ? *capture.frozen : memory);
  if (ends) ends->tell(dump);
  if (capture.frozen != nullptr) return;
  name_waited_objects(dump);
  name_shared_locks(dump, regions, memory);
  name_file_locks(dump);
  look_at_other_processes(dump, regions, memory);
}

}  // namespace mixstack::session
