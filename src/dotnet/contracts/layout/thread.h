// Threads of the runtime (src/coreclr/vm/threads.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct ThreadLayout {
  Field id, os_id, state, preemptive_gc_disabled, frame, exception_tracker, gc_handle, last_thrown_object, link_next,
      runtime_thread_locals, thread_local_data;
  Field cached_stack_base, cached_stack_limit;  ///< highest and lowest address of the stack
  Field gc_frame;                               ///< newest GCFrame; from .NET 11 on
  Field alloc_context;                          ///< NativeAOT: its EEAllocContext, inside of it
  // In no descriptor yet, by supplement only: the return address that a suspension replaced, and its stack slot.
  Field hijacked_return_address, hijacked_return_address_slot;
  std::uint32_t extent = 0;  ///< bytes from the object's start that hold every field above

  template <class Names>
  void describe(Names& names) {
    names.type("Thread");
    names.field(id, "Id", Contract::thread);
    names.field(os_id, "OSId", Contract::thread);
    names.field(state, "State", Contract::thread);
    names.field(preemptive_gc_disabled, "PreemptiveGCDisabled", Contract::thread);
    names.field(frame, "Frame", Contract::thread);
    names.field(exception_tracker, "ExceptionTracker", Contract::exception);
    names.field(gc_handle, "GCHandle");
    names.field(gc_handle, "ExposedObject");
    names.field(last_thrown_object, "LastThrownObject");
    names.field(link_next, "LinkNext", Contract::thread);
    names.field(runtime_thread_locals, "RuntimeThreadLocals");
    names.field(thread_local_data, "ThreadLocalDataPtr");
    names.field(cached_stack_base, "CachedStackBase");
    names.field(cached_stack_limit, "CachedStackLimit");
    names.field(gc_frame, "GCFrame");
    names.field(alloc_context, "AllocContext");
  }
};

/// Thread statics of one thread (src/coreclr/vm/threadstatics.h).
struct ThreadLocalDataLayout {
  Field non_collectible_count, non_collectible_array;

  template <class Names>
  void describe(Names& names) {
    names.type("ThreadLocalData");
    names.field(non_collectible_count, "NonCollectibleTlsDataCount");
    names.field(non_collectible_array, "NonCollectibleTlsArrayData");
  }
};

/// A thread's own memory: RuntimeThreadLocals holds an EEAllocContext, which holds the GCAllocContext.
struct RuntimeThreadLocalsLayout {
  Field alloc_context;

  template <class Names>
  void describe(Names& names) {
    names.type("RuntimeThreadLocals");
    names.field(alloc_context, "AllocContext");
  }
};

struct EEAllocContextLayout {
  Field gc_allocation_context;

  template <class Names>
  void describe(Names& names) {
    names.type("EEAllocContext");
    names.field(gc_allocation_context, "GCAllocationContext");
  }
};

struct GCAllocContextLayout {
  Field pointer, limit;                ///< the part of it that is not used yet
  Field alloc_bytes, alloc_bytes_loh;  ///< from .NET 11 on

  template <class Names>
  void describe(Names& names) {
    names.type("GCAllocContext");
    names.field(pointer, "Pointer");
    names.field(limit, "Limit");
    names.field(alloc_bytes, "AllocBytes");
    names.field(alloc_bytes_loh, "AllocBytesLoh");
  }
};

struct ThreadStoreLayout {
  Field first_thread_link, thread_count, unstarted_count, background_count, pending_count, dead_count;

  template <class Names>
  void describe(Names& names) {
    names.type("ThreadStore");
    names.field(first_thread_link, "FirstThreadLink", Contract::thread);
    names.field(thread_count, "ThreadCount");
    names.field(unstarted_count, "UnstartedCount");
    names.field(background_count, "BackgroundCount");
    names.field(pending_count, "PendingCount");
    names.field(dead_count, "DeadCount");
  }
};

struct ExceptionInfoLayout {
  Field thrown_object, previous_nested_info;
  Field flags, stack_low_bound, stack_high_bound;  ///< from .NET 11 on

  template <class Names>
  void describe(Names& names) {
    names.type("ExceptionInfo");
    names.field(thrown_object, "ThrownObject", Contract::exception);
    names.field(previous_nested_info, "PreviousNestedInfo", Contract::exception);
    names.field(flags, "ExceptionFlags");
    names.field(stack_low_bound, "StackLowBound");
    names.field(stack_high_bound, "StackHighBound");
  }
};

/// References that native code of the runtime protects: a list on the stack, besides the explicit Frames.
struct GcFrameLayout {
  Field next, references, count, flags;

  template <class Names>
  void describe(Names& names) {
    names.type("GCFrame");
    names.field(next, "Next");
    names.field(references, "ObjRefs");
    names.field(count, "NumObjRefs");
    names.field(flags, "GCFlags");
  }
};

/// Upper bound of ThreadLayout::extent: more is a hostile descriptor.
inline constexpr std::uint32_t kMaxThreadExtent = 1u << 14;
/// Recomputes `extent` after a field was filled in.
void update_thread_extent(ThreadLayout& layout);

}  // namespace mixstack::dotnet
