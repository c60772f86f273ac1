// Reads objects of async methods (boxes): state, awaited object, continuations.
// Input: addresses of objects. Output: StructPlaces, AsyncSteps, addresses; 0 or nothing without proof.
// Algorithm:
//   - A box is recognized by its type (AsyncStateMachineBox, a pooled one, an async iterator). The fields of its state
//     machine are known by compiler names (C#, VB); without these, by proof: all words may be what it awaits.
//   - Awaited object: the first awaiter that refers to an object, since awaiters are cleared when the method goes on.
//     By proof: the object whose continuations lead back to the box, else the only task that has not ended.
//   - Continuations: a task's list, else any box among an object's words that awaits it; wrappers are looked through.
// Bounds: kMostWrappers wrappers of kMostWrapperWords words, kMostAwaiterBytes of an awaiter, kMostWords words of an
// object, kMostContinuations of a task; above kMany of them a hash set answers. Layouts and answers are cached.
#include "dotnet/async/state_machines.h"

#include <algorithm>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::objects {
namespace {

// Names that C# compilers give (Roslyn's GeneratedNames: StateMachineStateField, AsyncBuilderField, AwaiterFields).
constexpr std::string_view kState = "<>1__state", kBuilder = "<>t__builder", kAwaiters = "<>u__";

/// The same of Visual Basic's (Roslyn's GeneratedNameConstants), and the state of F#'s resumable code (FSharp.Core).
constexpr std::string_view kStateOfVb = "$State", kBuilderOfVb = "$Builder", kAwaitersOfVb = "$A";
constexpr std::string_view kStateOfFSharp = "ResumptionPoint";

bool is_awaiter(std::string_view field) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return field.starts_with(kAwaiters) ||
         (field.size() > kAwaitersOfVb.size() && field.starts_with(kAwaitersOfVb) && is_digit(field[2]));
}

/// A wrapper of a continuation is a small object: the method of a closure, of an awaiter, with what it was given.
constexpr std::size_t kMostWrapperWords = 16;
constexpr unsigned kMostWrappers = 4;  // around each other
constexpr std::size_t kMany = 64;      // continuations that are no longer looked through one by one

/// An awaiter is a struct of a reference and little more; with a value inside it may be longer.
constexpr std::uint32_t kMostAwaiterBytes = 64;

/// TASK_STATE_FAULTED, _CANCELED, _RAN_TO_COMPLETION (src/System/Threading/Tasks/Task.cs).
constexpr std::uint32_t kEndedBits = 0x01600000;

/// The base size of every object includes the word before it and its MethodTable.
constexpr std::uint32_t kObjectOverhead = 16;

}  // namespace

bool StateMachines::is_iterator(Address type) {
  bool has_state = false, has_builder = false;
  for (const auto& f : objects_.types().own_fields(type)) {
    has_state |= f.name == kState && !f.place.is_static;
    has_builder |= f.name == kBuilder && !f.place.is_static;
  }
  return has_state && has_builder;
}

std::optional<StateMachines::BoxLayout> StateMachines::read_box_layout(Address type) {
  LoadedTypes& types = objects_.types();
  BoxLayout box;
  box.is_pooled = types.is_core(type, bcl::kPooledBox);
  if (!box.is_pooled && !types.is_core(type, bcl::Box::kType)) {
    if (!is_iterator(type)) return std::nullopt;
    return BoxLayout{objects_.memory().pointer_size(), type, false, false, true};
  }
  const auto arguments = types.arguments(type);
  const auto place = types.field(type, bcl::Box::kMachine);
  if (arguments.empty() || !place || place->is_static) return std::nullopt;
  box.machine = objects_.memory().pointer_size() + place->offset;
  box.machine_type = arguments.back();
  const TypeFacts* machine = types.at(box.machine_type);
  if (machine == nullptr) return std::nullopt;
  box.is_struct = machine->is_value;
  return box;
}

const std::optional<StateMachines::BoxLayout>& StateMachines::box_layout(Address type) {
  const auto known = boxes_.find(type);
  if (known != boxes_.end()) return known->second;
  return boxes_.emplace(type, read_box_layout(type)).first->second;
}

// Awaiters are cleared when the method goes on: the one that holds something is the one it is suspended at.
const StateMachines::MachineLayout& StateMachines::machine_layout(Address of) {
  const auto [it, is_new] = machines_.try_emplace(of);
  MachineLayout& layout = it->second;
  if (!is_new) return layout;
  LoadedTypes& types = objects_.types();
  const TypeFacts* type = types.at(of);
  if (type == nullptr || type->base_size < kObjectOverhead) return layout;
  layout.size = type->base_size - kObjectOverhead;
  // Facts of a type are valid until the next question.
  const bool is_lambda = type->name.starts_with(bcl::ParallelLambda::kType);
  for (const std::string_view name : {kState, kStateOfVb})
    if (const auto state = types.field(of, name); state && !state->is_static) layout.state = state->offset;
  if (is_lambda)
    if (const auto shared = types.field(of, bcl::ParallelLambda::kShared); shared && !shared->is_static)
      layout.shared_by_workers = shared->offset;
  const auto& fields = types.own_fields(of);
  for (const auto& f : fields) {
    const bool is_builder = f.name == kBuilder || f.name == kBuilderOfVb;
    if (f.place.is_static || f.place.offset >= layout.size || (!is_builder && !is_awaiter(f.name))) continue;
    std::uint32_t end = std::min(layout.size, f.place.offset + kMostAwaiterBytes);
    for (const auto& other : fields)
      if (!other.place.is_static && other.place.offset > f.place.offset) end = std::min(end, other.place.offset);
    auto& words = is_builder ? layout.builder_words : layout.awaiter_words;
    for (std::uint32_t at = f.place.offset; at + 8 <= end; at += 8) words.push_back(at);
  }
  if (!layout.state || layout.builder_words.empty()) find_without_names(of, layout);
  return layout;
}

/// Compilers declare the state first, and a number it is in all of them.
void StateMachines::find_without_names(Address of, MachineLayout& layout) {
  layout.is_by_proof = true;
  layout.awaiter_words.clear();
  layout.builder_words.clear();
  layout.state.reset();
  for (const auto& f : objects_.types().own_fields(of)) {
    if (f.place.is_static || f.place.element != names::ElementType::i4 || f.place.offset + 4 > layout.size) continue;
    if (!layout.state || f.name == kStateOfFSharp) layout.state = f.place.offset;
  }
  for (std::uint32_t at = 0; at + 8 <= layout.size && at / 8 < kMostWords; at += 8) {
    layout.awaiter_words.push_back(at);
    layout.builder_words.push_back(at);
  }
}

std::optional<StructPlace> StateMachines::machine_of(Address box) {
  const Address type = objects_.type_of(box);
  if (type == 0) return std::nullopt;
  const auto& layout = box_layout(type);
  if (!layout) return std::nullopt;
  if (layout->is_iterator || layout->is_struct) return StructPlace{box + layout->machine, layout->machine_type};
  const Address object = objects_.read<std::uint64_t>(box + layout->machine).value_or(0);
  if (objects_.type_of(object) != layout->machine_type) return std::nullopt;
  return StructPlace{object + objects_.memory().pointer_size(), layout->machine_type};
}

std::optional<std::int32_t> StateMachines::state_of(const StructPlace& machine) {
  const auto& layout = machine_layout(machine.method_table);
  return layout.state ? objects_.read<std::int32_t>(machine.address + *layout.state) : std::nullopt;
}

const std::string& StateMachines::method_of(const StructPlace& machine) {
  const auto [it, is_new] = names_.try_emplace(machine.method_table);
  if (is_new) it->second = delegates_.method_of_type(machine.method_table, "MoveNext");
  if (is_new && it->second.empty()) it->second = objects_.types().csharp_name(machine.method_table);
  return it->second;
}

Address StateMachines::awaited_by(const StructPlace& machine, Address box) {
  if (machine_layout(machine.method_table).is_by_proof) return only_proved(machine, box);
  for (const std::uint32_t at : machine_layout(machine.method_table).awaiter_words) {
    const Address word = objects_.read<std::uint64_t>(machine.address + at).value_or(0);
    if (word == 0 || word == box || word % 8 != 0 || !objects_.header_is_clear(word)) continue;
    if (objects_.type_of(word) == 0) continue;
    const Address behind = behind_awaiter(word, box);
    return behind != 0 ? behind : word;
  }
  return 0;
}

/// The task inside an awaiter that is an object: it goes on with the box; 0: it is none, or has none.
Address StateMachines::behind_awaiter(Address awaiter, Address box) {
  if (is_async(awaiter) || is_task(awaiter)) return 0;
  const auto words = objects_.words_in(awaiter, kMostWrapperWords);
  const auto is_it = [&](Address word) {
    return word != 0 && word != box && word % 8 == 0 && objects_.header_is_clear(word) && is_task(word) &&
           is_awaited_by(word, box);
  };
  const auto at = std::find_if(words.begin(), words.end(), is_it);
  return at == words.end() ? 0 : *at;
}

/// The object of a machine's fields that goes on with the box. Where none does (its continuation is not known), the
/// only task that has not ended.
Address StateMachines::only_proved(const StructPlace& machine, Address box) {
  Address only = 0;
  bool has_more = false;
  const std::vector<std::uint32_t> places = machine_layout(machine.method_table).awaiter_words;
  for (const std::uint32_t at : places) {
    const Address word = objects_.read<std::uint64_t>(machine.address + at).value_or(0);
    if (word == 0 || word == box || word % 8 != 0 || !objects_.header_is_clear(word)) continue;
    const Address type = objects_.type_of(word);
    if (type == 0 || delegates_.is_delegate(word)) continue;
    if (is_awaited_by(word, box)) return word;
    if (const Address behind = behind_awaiter(word, box); behind != 0) return behind;
    if (!is_task(word) || is_completed(word)) continue;
    has_more |= only != 0 && only != word;
    only = word;
  }
  return has_more ? 0 : only;
}

/// Whether a method that is suspended refers to an object that it may await.
bool StateMachines::holds(const StructPlace& machine, Address box, Address object) {
  if (!machine_layout(machine.method_table).is_by_proof) return awaited_by(machine, box) == object;
  const std::vector<std::uint32_t> places = machine_layout(machine.method_table).awaiter_words;
  return std::any_of(places.begin(), places.end(),
                     [&](std::uint32_t at) { return objects_.read<std::uint64_t>(machine.address + at) == object; });
}

Address StateMachines::awaited_by(Address runtime_async_task) {
  if (const Address awaited = runtime_async_.awaited_by(runtime_async_task); awaited != 0) return awaited;
  Address only = 0;
  bool has_more = false;
  for (const Address object : runtime_async_.held_by(runtime_async_task)) {
    if (is_awaited_by(object, runtime_async_task)) return object;
    if (!is_task(object)) continue;
    has_more |= only != 0 && only != object;
    only = object;
  }
  return !has_more && runtime_async_.only_awaits(runtime_async_task) ? only : 0;
}

bool StateMachines::add_steps(Address object, std::vector<AsyncStep>& steps) {
  if (const auto machine = machine_of(object)) {
    const auto state = state_of(*machine);
    if (state) steps.push_back({method_of(*machine), object, *state});
    return state.has_value();
  }
  if (!runtime_async_.is_task(object)) return true;
  const auto [methods, is_cut] = runtime_async_.methods_of(object);
  for (const SuspendedMethod& m : methods) steps.push_back({runtime_async_.method_of(m), object, m.state});
  return !is_cut;
}

Address StateMachines::source_behind(Address task) {
  const TypeFacts* type = objects_.types().at(objects_.type_of(task));
  if (type == nullptr || type->assembly != bcl::kCoreLib) return 0;
  if (type->name == bcl::SourceTask::kType) return objects_.reference(task, bcl::SourceTask::kSource).value_or(0);
  if (type->name != bcl::SourceTaskOfValue::kType) return 0;
  return objects_.reference(task, bcl::SourceTaskOfValue::kSource).value_or(0);
}

bool StateMachines::is_completed(Address task) {
  const auto flags = objects_.value<std::uint32_t>(task, bcl::Task::kFlags);
  return flags && (*flags & kEndedBits) != 0;
}

/// The box that a delegate leads to: it is its target, or the only one that other delegates lead to which the target
/// keeps (awaiters and tools put their own method around a continuation). 0: none, or several.
Address StateMachines::behind_delegate(Address delegate, unsigned depth) {
  const Address target = delegates_.target(delegate);
  if (is_async(target)) return target;
  if (depth == 0 || target == 0) return 0;
  Address only = 0;
  for (const Address word : objects_.words_in(target, kMostWrapperWords)) {
    if (word == 0 || word % 8 != 0 || word == delegate || !objects_.header_is_clear(word)) continue;
    const Address type = objects_.type_of(word);
    if (type == 0) continue;
    Address found = 0;
    if (delegates_.is_delegate(word))
      found = behind_delegate(word, depth - 1);
    else if (!is_task(word) && box_layout(type) && machine_of(word))
      found = word;
    if (found == 0 || found == only) continue;
    if (only != 0) return 0;
    only = found;
  }
  return only;
}

/// The target of a continuation: a box, a task, an event that a thread waits for. 0: none that is known.
Address StateMachines::resolve(Address continuation) {
  if (delegates_.is_delegate(continuation)) return behind_delegate(continuation, kMostWrappers);
  if (is_task(continuation) || machine_of(continuation)) return continuation;
  if (const Address task = runtime_async_.task_of(continuation); is_async(task)) return task;
  if (objects_.is_a(continuation, bcl::kTaskContinuation)) {
    const Address task = objects_.reference(continuation, bcl::ContinueWith::kTask).value_or(0);
    if (is_task(task)) return task;
    const Address action = objects_.reference(continuation, bcl::AwaitContinuation::kAction).value_or(0);
    return delegates_.is_delegate(action) ? behind_delegate(action, kMostWrappers) : 0;
  }
  return objects_.is_a(continuation, bcl::ResetEventSlim::kType) ? continuation : 0;
}

std::vector<Address> StateMachines::words_in(Address object) {
  const TypeFacts* type = objects_.types().at(objects_.type_of(object));
  if (type == nullptr || type->base_size < kObjectOverhead || type->component_size != 0) return {};
  std::vector<Address> words(std::min<std::size_t>((type->base_size - kObjectOverhead) / 8, kMostWords));
  const auto n = objects_.memory().reader().read_some(object + 8, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  return words;
}

const std::vector<Address>& StateMachines::continuations(Address object) {
  const auto known = continuations_.find(object);
  if (known != continuations_.end()) return known->second;
  return continuations_.emplace(object, read_continuations(object)).first->second;
}

std::vector<Address> StateMachines::read_continuations(Address object) {
  std::vector<Address> found;
  std::unordered_set<Address> seen;
  const auto add = [&](Address a) {
    const Address to = a == 0 ? 0 : resolve(a);
    if (to != 0 && seen.insert(to).second) found.push_back(to);
  };
  if (is_task(object)) {
    const Address next = objects_.reference(object, bcl::Task::kContinuation).value_or(0);
    const auto items = objects_.items_of_list(next, kMostContinuations);
    if (items.empty()) add(next);
    for (const Address item : items) add(item);
    if (next == 0) add(task_of_workers(object));
    return found;
  }
  // Sources of values keep their continuation as they like: a box among their words that awaits them, or a task that
  // stands for them.
  for (const Address word : words_in(object)) {
    if (word == 0 || word % 8 != 0 || !objects_.header_is_clear(word)) continue;
    const Address type = objects_.type_of(word);
    if (type == 0) continue;
    const Address box = delegates_.is_delegate(word) ? delegates_.target(word) : word;
    if (box == object) continue;
    if (source_behind(box) == object) {
      add(box);
    } else if (const auto machine = machine_of(box)) {
      if (holds(*machine, box, object)) add(box);
    } else if (runtime_async_.is_task(box)) {
      const auto held = runtime_async_.held_by(box);
      if (std::find(held.begin(), held.end(), object) != held.end()) add(box);
    }
  }
  return found;
}

/// The state that all workers of a Parallel.ForEachAsync call share, from one worker. Since .NET 11 the runtime
/// suspends workers itself: then the state is among the objects that the continuation keeps, where no field has a name.
Address StateMachines::shared_by_workers(Address object) {
  if (const auto machine = machine_of(object)) {
    const auto& at = machine_layout(machine->method_table).shared_by_workers;
    return at ? objects_.read<std::uint64_t>(machine->address + *at).value_or(0) : 0;
  }
  if (!runtime_async_.is_task(object)) return 0;
  const auto methods = runtime_async_.methods_of(object).methods;
  if (methods.empty() || !bcl::is_of_parallel_worker(runtime_async_.method_of(methods.front()))) return 0;
  Continuations& continuations = runtime_async_.continuations();
  const auto outermost = continuations.at(methods.front().continuation);
  if (!outermost) return 0;
  for (const Address held : continuations.held_by(*outermost, RuntimeAsync::kMostHeld)) {
    const TypeFacts* type = objects_.types().at(objects_.type_of(held));
    if (type != nullptr && type->name.starts_with(bcl::kParallelState)) return held;
  }
  return 0;
}

/// The task that ends when a worker of Parallel.ForEachAsync and all others of its call have; 0: of another method.
Address StateMachines::task_of_workers(Address box) {
  const Address shared = shared_by_workers(box);
  if (shared == 0 || !objects_.is_a(shared, bcl::CompletionSource::kType)) return 0;
  const Address task = objects_.reference(shared, bcl::CompletionSource::kTask).value_or(0);
  if (task != 0) tasks_of_workers_.insert(task);
  return task;
}

bool StateMachines::is_awaited_by(Address object, Address box) {
  const auto& all = continuations(object);
  if (all.size() > kMany) {
    const auto [set, is_new] = many_.try_emplace(object);
    if (is_new) set->second.insert(all.begin(), all.end());
    return set->second.contains(box);
  }
  return std::find(all.begin(), all.end(), box) != all.end();
}

}  // namespace mixstack::dotnet::objects
