// Async methods as objects: the box, the state machine inside it, what it awaits and what awaits it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dotnet/async/runtime_async.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/heap/delegates.h"
#include "mixstack/async.h"

namespace mixstack::dotnet::objects {

/// Reads the objects that compilers and the core library make of async methods, one step at a time. All of it is
/// foreign and may change while it is read: what it answers proves itself only where one object names another and is
/// named by it (`is_awaited_by`). For one reading of a process. Borrows everything; not thread-safe.
class StateMachines {
 public:
  static constexpr std::size_t kMostContinuations = 1 << 16;  ///< of one task
  static constexpr std::size_t kMostWords = 128;              ///< of one object, where no field's name is known

  StateMachines(ManagedObjects& objects, Delegates& delegates)
      : objects_(objects), delegates_(delegates), runtime_async_(objects, delegates) {}

  /// Where the box of an async method has its state machine.
  struct BoxLayout {
    std::uint32_t machine = 0;  ///< of the struct, or of the reference at an object: bytes from the object's begin
    Address machine_type = 0;
    bool is_struct = true;     ///< false: a debuggable method's, an object of its own; or an async iterator's
    bool is_pooled = false;    ///< a box that is used again, and no task
    bool is_iterator = false;  ///< the object is the state machine
  };
  /// The box layout of a type; nothing: its objects are no boxes.
  [[nodiscard]] const std::optional<BoxLayout>& box_layout(Address type);
  /// Cached layout of a state machine. Offsets are from the beginning of its fields.
  struct MachineLayout {
    std::optional<std::uint32_t> state;
    std::vector<std::uint32_t> awaiter_words;  ///< that may refer to what it awaits
    std::vector<std::uint32_t> builder_words;  ///< one of which refers to its box
    /// In a worker of Parallel.ForEachAsync: the state that the workers of one call share.
    std::optional<std::uint32_t> shared_by_workers;
    std::uint32_t size = 0;
    /// No compiler that we know named its fields: what it awaits is then what goes on with its box. All of its words
    /// may refer to that, and one of them to the box.
    bool is_by_proof = false;
  };
  [[nodiscard]] const MachineLayout& machine_layout(Address type);

  /// The fields of an async method's state machine: of its box, or of an async iterator, which is one itself.
  [[nodiscard]] std::optional<StructPlace> machine_of(Address box);
  /// `<>1__state`: the await that it is suspended at; -1: it runs; -2: it has ended.
  [[nodiscard]] std::optional<std::int32_t> state_of(const StructPlace& machine);
  /// C# name of the method.
  [[nodiscard]] const std::string& method_of(const StructPlace& machine);
  /// The task, or source of a value, that a suspended one awaits; 0: none is kept.
  [[nodiscard]] Address awaited_by(const StructPlace& machine, Address box);
  /// The same of the innermost method behind a task of `runtime_async`: that which goes on with the task, or else the
  /// only task that a method of the runtime's own keeps.
  [[nodiscard]] Address awaited_by(Address runtime_async_task);
  /// Methods that an object stands for, outermost first, are added: one of a box; of a task of `runtime_async` each
  /// that is suspended. False: there are more, or some that cannot be told.
  bool add_steps(Address object, std::vector<AsyncStep>& steps);
  /// A box, or a task of `runtime_async`: methods stand behind it.
  [[nodiscard]] bool is_async(Address object) { return machine_of(object) || runtime_async_.is_task(object); }
  /// The source of a value that a task stands for (ValueTask.AsTask), and does nothing but that; 0: of another one.
  [[nodiscard]] Address source_behind(Address task);
  /// Tasks, boxes and events that go on when the object has ended. Read once: many chains pass through one task.
  [[nodiscard]] const std::vector<Address>& continuations(Address object);
  /// Whether a task is that of a call of Parallel.ForEachAsync of which a worker has been asked for its continuations:
  /// it goes on with none of its workers, and ends with the last of them.
  [[nodiscard]] bool ends_with_workers(Address task) const { return tasks_of_workers_.contains(task); }
  /// Whether `box` is one of these.
  [[nodiscard]] bool is_awaited_by(Address object, Address box);

  [[nodiscard]] RuntimeAsync& runtime_async() { return runtime_async_; }
  [[nodiscard]] bool is_task(Address object) { return objects_.is_a(object, bcl::Task::kType); }
  /// A task that has ended, in whichever way.
  [[nodiscard]] bool is_completed(Address task);

 private:
  [[nodiscard]] bool is_iterator(Address type);
  [[nodiscard]] std::optional<BoxLayout> read_box_layout(Address type);
  [[nodiscard]] std::vector<Address> read_continuations(Address object);
  void find_without_names(Address of, MachineLayout& layout);
  [[nodiscard]] bool holds(const StructPlace& machine, Address box, Address object);
  [[nodiscard]] Address only_proved(const StructPlace& machine, Address box);
  [[nodiscard]] Address behind_awaiter(Address awaiter, Address box);
  [[nodiscard]] Address behind_delegate(Address delegate, unsigned depth);
  [[nodiscard]] Address resolve(Address continuation);
  [[nodiscard]] std::vector<Address> words_in(Address object);
  [[nodiscard]] Address shared_by_workers(Address object);
  [[nodiscard]] Address task_of_workers(Address box);

  ManagedObjects& objects_;
  Delegates& delegates_;
  RuntimeAsync runtime_async_;
  std::unordered_map<Address, std::vector<Address>> continuations_;
  std::unordered_map<Address, std::unordered_set<Address>> many_;  ///< the same, of those with very many
  std::unordered_map<Address, std::string> names_;                 ///< by MethodTable of the state machine
  std::unordered_map<Address, std::optional<BoxLayout>> boxes_;
  std::unordered_map<Address, MachineLayout> machines_;
  std::unordered_set<Address> tasks_of_workers_;
};

}  // namespace mixstack::dotnet::objects
