// The wait of each thread of the runtime, and its owners.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dotnet/async/waiting_thread.h"
#include "dotnet/code/threads.h"
#include "dotnet/waits/blocking.h"
#include "dotnet/waits/wait_subsystem.h"
#include "mixstack/registers.h"
#include "mixstack/waits.h"

namespace mixstack::dotnet::objects {

/// Tells waits of the threads of one capture. Objects are found on the words of a thread's stack and believed where
/// they point back at the lock that the runtime recorded, or at what was believed before: words of earlier waits do
/// not. Not thread-safe. Borrows everything.
class ThreadWaits {
 public:
  static constexpr unsigned kManagedFrames = 16;      ///< whose words are looked at
  static constexpr std::size_t kMostWords = 1 << 13;  ///< of one thread
  static constexpr std::size_t kMostObjects = 512;    ///< found on them
  static constexpr std::size_t kMostMembers = 64;     ///< handles, readers of one object
  static constexpr std::size_t kMostTasks = 1 << 12;  ///< of one wait that are told

  /// `now` reads the process as it is, past every cache; null of a core. Where a thread has gone on since it was
  /// captured, what it waited for is only likely. `are_all`: no thread is missing in `threads`, so that who is not
  /// among them has ended. `finalizer`: the OS thread id of the thread that runs finalizers; 0: not known.
  ThreadWaits(ManagedObjects& objects, std::span<const ManagedThread> threads, bool are_all, const MemoryReader* now,
              std::uint64_t finalizer)
      : objects_(objects),
        records_(objects),
        subsystem_(objects),
        threads_(threads),
        are_all_(are_all),
        now_(now),
        finalizer_(finalizer) {}

  /// The thread's wait; kind `none`: the runtime's objects show none. `owners` are OS thread ids in the target's pid
  /// namespace.
  [[nodiscard]] ThreadWait of(const WaitingThread& at);
  /// Whether the records and objects of all threads are there: of a core without the heap no wait is told, and that
  /// none is told says nothing.
  [[nodiscard]] bool can_be_told();
  /// Whether a thread is in a call of .NET's that waits for an object: then that none is told says nothing, either.
  [[nodiscard]] static bool is_for_an_object(const WaitingThread& at);
  /// The OS thread id of the thread whose current task it is; 0: none.
  [[nodiscard]] std::uint64_t thread_that_runs(Address task);
  /// Current tasks of all threads, each with the OS thread id.
  [[nodiscard]] const std::unordered_map<Address, std::uint64_t>& running_tasks();

 private:
  /// An object that a word of the stack points at.
  struct Candidate {
    Address address = 0, type = 0;
  };
  using Candidates = std::vector<Candidate>;
  /// Handles that a thread waits for.
  struct Handles {
    std::unordered_set<Address> safe;     ///< SafeWaitHandles on the stack, where nothing is recorded
    std::optional<ManagedWait> recorded;  ///< .NET 11
  };
  [[nodiscard]] std::vector<Address> words_of(const WaitingThread& at) const;
  [[nodiscard]] Candidates candidates(const WaitingThread& at);
  [[nodiscard]] bool may_be_object(Address word, const WaitingThread& at) const;

  [[nodiscard]] ThreadWait any_wait(const WaitingThread& at);
  [[nodiscard]] bool is_still(const WaitingThread& at, const BlockingRecord& newest);
  [[nodiscard]] ThreadWait recorded_wait(const WaitingThread& at, std::span<const BlockingRecord> records);
  [[nodiscard]] ThreadWait wait_for_lock(const WaitingThread& at, const BlockingRecord& record);
  [[nodiscard]] Address lock_in(const WaitingThread& at, const BlockingRecord& record);
  [[nodiscard]] ThreadWait monitor_wait(Address lock, const BlockingRecord& record, const Candidates& found);
  [[nodiscard]] bool by_event(Address event, const Candidates& found, ThreadWait& wait);
  [[nodiscard]] bool by_semaphore(Address semaphore, const Candidates& found, ThreadWait& wait);
  [[nodiscard]] bool by_socket(Address event, const Candidates& found, ThreadWait& wait);
  [[nodiscard]] bool by_process(const Handles& handles, const Candidates& found, ThreadWait& wait);
  void describe_owner(const LockState& lock, ThreadWait& wait);
  void describe_managed_owner(std::uint32_t id, Address lock, std::string_view field, ThreadWait& wait);
  [[nodiscard]] static bool may_give_up(const WaitingThread& at);
  void describe_mutex(const WaitingThread& at, ThreadWait& wait);
  [[nodiscard]] Handles handles_of(const WaitingThread& at, const Candidates& found);
  [[nodiscard]] bool is_waited(const Handles& handles, Address handle);
  [[nodiscard]] bool several_handles(const WaitingThread& at, const Handles& handles, const Candidates& found,
                                     ThreadWait& wait);
  [[nodiscard]] bool are_members(const std::vector<WaitedObject>& members, const ManagedWait& recorded);
  [[nodiscard]] ThreadWait waitables(const WaitingThread& at, const ManagedWait& recorded, const Candidates& found);
  [[nodiscard]] ThreadWait recorded_join(const WaitingThread& at, const Candidates& found);
  [[nodiscard]] std::uint64_t os_id_of_object(Address thread_object);
  [[nodiscard]] ThreadWait one_of_two_handles(const WaitingThread& at, const Candidates& found);
  void describe_only_handle(const WaitingThread& at, ThreadWait& wait);
  [[nodiscard]] ThreadWait handle_wait(const WaitingThread& at, const Candidates& found);
  [[nodiscard]] ThreadWait handle_behind(const WaitingThread& at, const Handles& handles, const Candidates& found);
  [[nodiscard]] ThreadWait join(const WaitingThread& at, const Candidates& found);
  [[nodiscard]] ThreadWait class_constructor(const ManagedThread& thread);
  [[nodiscard]] ThreadWait finalizers() const;
  [[nodiscard]] ThreadWait callback(const WaitingThread& at);
  [[nodiscard]] ThreadWait spin_lock(const WaitingThread& at);
  /// A field that names a thread which holds the lock.
  struct OwnerField {
    std::uint64_t thread = 0;  ///< OS thread id; 0: there is none
    std::string name;
    bool is_ambiguous = false;  ///< fields name several
  };
  template <class Look>
  void for_each_field(Address type, const Look& look);
  [[nodiscard]] OwnerField owner_field(const Candidate& c, std::string_view type_name);
  [[nodiscard]] bool refers_to(const Candidate& c, Address object);
  bool older_reader_writer_lock(const WaitingThread& at, const Candidate& c, ThreadWait& wait);
  [[nodiscard]] ThreadWait lock_of_program(const WaitingThread& at, ThreadWait wait);
  [[nodiscard]] bool is_of_fsharp_result(Address handle, const Candidates& found);
  [[nodiscard]] ThreadWait semaphore_of_node(const ThreadWait& wait, const Candidates& found);
  [[nodiscard]] bool continues_with(Address task, Address object);
  [[nodiscard]] std::vector<Address> tasks_in(Address collection);
  void set_tasks(std::span<const Address> tasks, WaitKind kind, ThreadWait& wait);
  [[nodiscard]] bool all_of_event(Address event, const Candidates& found, ThreadWait& wait);
  [[nodiscard]] bool any_of_promise(Address promise, ThreadWait& wait);
  void describe_task(Address task, ThreadWait& wait);
  void describe_reader_writer_lock(const WaitingThread& at, Address lock, std::string_view event, ThreadWait& wait);
  void add_readers(Address lock, ThreadWait& wait);
  [[nodiscard]] WaitedObject object(Address address);
  [[nodiscard]] std::uint64_t os_id_of_managed(std::int32_t id) const;

  ManagedObjects& objects_;
  BlockingRecords records_;
  WaitSubsystem subsystem_;
  std::span<const ManagedThread> threads_;
  bool are_all_;
  const MemoryReader* now_;
  std::uint64_t finalizer_;
  std::unordered_map<Address, std::uint64_t> running_tasks_;  ///< Task to OS thread id
  bool has_running_tasks_ = false;
  std::optional<std::unordered_map<Address, const ManagedThread*>> by_end_;  ///< by what is signalled when they end
  std::optional<std::unordered_map<Address, bool>> still_;  ///< by thread: its newest record is what it was
};

}  // namespace mixstack::dotnet::objects
