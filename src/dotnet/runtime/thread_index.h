// The threads of one capture, by what the system calls them.
#pragma once

#include <unordered_map>
#include <utility>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

class ThreadIndex {
 public:
  void set(ThreadList list) {
    list_ = std::move(list);
    by_os_id_.clear();
    for (std::size_t i = 0; i < list_.threads.size(); i++) {
      const ManagedThread& t = list_.threads[i];
      if (t.os_id != 0 && !t.is_dead()) by_os_id_.emplace(t.os_id, i);
    }
  }
  [[nodiscard]] const ThreadList& list() const { return list_; }
  /// The one that runs on an OS thread, or null.
  [[nodiscard]] const ManagedThread* find(std::uint64_t os_id) const {
    const auto at = by_os_id_.find(os_id);
    return at == by_os_id_.end() ? nullptr : &list_.threads[at->second];
  }

 private:
  ThreadList list_;
  std::unordered_map<std::uint64_t, std::size_t> by_os_id_;
};

}  // namespace mixstack::dotnet
