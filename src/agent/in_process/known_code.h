// All code that the runtime reported: ranges, unwind rules, names.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/in_process/clr.h"
#include "agent/in_process/code_header.h"
#include "agent/in_process/composite_image.h"
#include "agent/in_process/image_list.h"
#include "agent/in_process/jit_map.h"
#include "agent/in_process/managed_code.h"
#include "agent/in_process/method_numbers.h"
#include "base/memory/page_probe.h"
#include "base/memory/self_memory.h"
#include "base/words/profile.h"

namespace mixstack::agent {

/// Filled by the runtime's callbacks, from any thread of it; `rules` and `method_at` are signal-safe.
class KnownCode {
 public:
  struct Account {
    JitMap::Account map;
    std::size_t methods = 0, images = 0;
  };

  explicit KnownCode(clr::ProfilerInfo info);
  [[nodiscard]] bool is_usable() const { return jitted_.is_usable(); }

  // Callbacks of the runtime.
  void compiled(const clr::Function& function, bool is_dynamic);
  void freed(clr::Id function);
  /// Learns code that no callback reported: after an attach, the runtime does not report existing dynamic methods and
  /// stubs. They are named "[dynamic]", because their names may be freed while we ask. Not for signal handlers.
  void learn(Address lookup);
  void loaded(clr::Id module);
  /// The module is unloaded with all its code.
  void unloaded(clr::Id module);
  /// Adds the modules loaded and functions compiled before.
  void catch_up();

  /// `listener` is called after code was removed and before the runtime reuses its addresses; null: none.
  void tell_of_freed(std::function<void(AddressRange)> listener);

  [[nodiscard]] const ManagedCode& rules() const { return rules_; }
  [[nodiscard]] const JitMap& jitted() const { return jitted_; }
  /// Number of `learn`ed functions. Signal-safe. (Code that callbacks report is known before it runs, so no earlier
  /// stack contains it.)
  [[nodiscard]] std::uint64_t learned() const { return learned_.load(std::memory_order_relaxed); }
  /// The name of a frame. `method` is its number in `jitted`, 0: none. Asks the runtime; not for signal handlers.
  /// Unknown code is `learn`ed, for the next walk.
  [[nodiscard]] ProfileFrame frame_at(Address lookup, std::uint64_t method);
  [[nodiscard]] Account account() const { return {jitted_.account(), methods_.size(), images_.size()}; }

 private:
  void add(const JitCode& code);
  void add_versions(const clr::Function& function, std::uint64_t number, bool may_go);
  [[nodiscard]] bool was_freed(clr::Id function);
  void tell(AddressRange freed);
  [[nodiscard]] bool may_be_unloaded(clr::Id function);

  clr::ProfilerInfo info_;
  memory::SelfMemory memory_;
  memory::PageProbe probe_ = memory::PageProbe::find_way();
  std::optional<CodeHeaderLayout> layout_;
  MethodNumbers methods_;
  JitMap jitted_;  ///< its methods are numbers of `methods_`
  ImageList images_;
  ModuleCode module_code_;
  ManagedCode rules_;
  std::atomic<std::uint64_t> learned_{0};
  std::mutex mutex_;
  std::deque<clr::Id> freed_;  ///< the last ones
  std::mutex listener_mutex_;
  std::function<void(AddressRange)> listener_;
  std::unordered_map<clr::Id, std::vector<clr::Id>> collectible_;  ///< functions of modules that can be unloaded
};

}  // namespace mixstack::agent
