#include "dotnet/contracts/layout/thread.h"

#include <algorithm>

namespace mixstack::dotnet {

void update_thread_extent(ThreadLayout& t) {
  for (const Field* f :
       {&t.id, &t.os_id, &t.state, &t.preemptive_gc_disabled, &t.frame, &t.exception_tracker, &t.gc_handle,
        &t.last_thrown_object, &t.link_next, &t.cached_stack_base, &t.cached_stack_limit, &t.hijacked_return_address,
        &t.hijacked_return_address_slot, &t.thread_local_data, &t.gc_frame})
    if (f->present() && f->offset < kMaxThreadExtent - 8) t.extent = std::max(t.extent, f->offset + 8);
}

}  // namespace mixstack::dotnet
