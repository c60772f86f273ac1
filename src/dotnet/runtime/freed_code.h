// Code that the runtime frees while mixstack looks at it: dynamic methods, methods of unloadable assemblies.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "mixstack/dump.h"

namespace mixstack::dotnet {

/// A frame whose code may have been freed, and its place given to another method, between the stop and now: it may have
/// the wrong name, and its caller may have been found by another method's unwind codes.
struct FreedFrame {
  std::size_t thread = 0, frame = 0;  ///< of the dump
  std::string_view note;
};

/// A runtime's answers about its code.
struct FreeableCode {
  std::function<bool(const Frame&)> may_be_freed;  ///< collectible code, as the walk found it
  std::function<bool(const Frame&)> is_same;       ///< as it is now
  std::uint64_t finalizer_os_id = 0;               ///< 0: not known, hence not known to be idle
};

/// The frames of a live process whose code may have been freed, to be asked for when its managed frames have been
/// named.
///
/// As long as a method is on a stack it is not freed: each collection keeps the resolver or the LoaderAllocator of
/// every frame alive, also of frames that an exception has unwound but a handler still lies upon (GcStackCrawlCallBack
/// in gcenv.ee.common.cpp, StackFrameIterator::Filter in stackwalk.cpp). Freeing is the work of the finalizer thread
/// alone: the finalizers of DynamicResolver and LoaderAllocatorScout call LCGMethodResolver::Destroy and
/// LoaderAllocator::Destroy, and what they put off is done by DoExtraWorkForFinalizer (finalizerthread.cpp). Other
/// threads only give back whole heaps that hold no method any more (ExecutionManager::CleanupCodeHeaps, when a
/// collection begins) and put new code where old was freed.
/// So there is no doubt if the finalizer thread has not run since the stop, nor if a thread's stack from its innermost
/// frame to the one in question still equals the copy. `now` reads the target as it is, past every cache.
[[nodiscard]] std::vector<FreedFrame> find_freed_code(const ProcessDump& dump, const Capture& capture,
                                                      const FreeableCode& code, const MemoryReader& now);

/// To be called when all frames have names: these frames and their callers become `inferred`, and get their notes.
void mark_freed_code(ProcessDump& dump, std::span<const FreedFrame> freed);

}  // namespace mixstack::dotnet
