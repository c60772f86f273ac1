// A runtime with a garbage-collected heap laid out by hand: assemblies, types of async methods, regions and objects, in
// the structures of .NET 10.0.12 x64 or those of another descriptor.
#pragma once

#include "dotnet/names/method_names.h"
#include "support/dotnet_memory.h"
#include "support/metadata_builder.h"

namespace mixstack::test {

/// Shop.Program has the async methods Get and Load. Objects are made one after the other in one region; whatever was
/// written can be overwritten afterwards.
class FakeHeap : public DotnetMemory {
 public:
  static constexpr Address kRegion = 0x7f1000001000, kRegionSize = 1 << 20;
  static constexpr Address kDacTable = 0x7f0000000000;
  static constexpr std::uint32_t kWaiting = 0x02000400, kRanToCompletion = 0x01000000;  // m_stateFlags
  // Offsets in objects: of a task, its box, and its state machine (builder, awaiter, state). Of a task of a class of
  // its own (a box, CancellationPromise) other fields lie where it has its scheduler.
  static constexpr std::uint32_t kAction = 8, kContinuation = 16, kFlags = 24, kScheduler = 32, kMachine = 32;
  static constexpr std::uint32_t kBuilder = 0, kAwaiter = 8, kState = 16;

  explicit FakeHeap(const nlohmann::json& descriptor_json = x64_descriptor()) : DotnetMemory(descriptor_json) {
    make_core_library();
    make_program();
    make_domain();
    make_collector();
  }

  /// A suspended method: its box, at the first await, awaiting nothing yet.
  Address box(Address box_type) {
    const Address at = object(box_type, 56);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kMachine + kBuilder, at);
    memory.put_u32(at + kMachine + kState, 0);
    return at;
  }
  /// `upper` awaits `lower`, which knows it.
  void await(Address upper, Address lower) {
    memory.put_u64(upper + kMachine + kAwaiter, lower);
    memory.put_u64(lower + kContinuation, upper);
  }
  Address promise() {
    const Address at = object(task, 32);
    memory.put_u32(at + kFlags, kWaiting);
    return at;
  }
  Address object(Address type, std::uint32_t fields) {
    const Address at = next_ + 8;
    next_ = at + 8 + (fields + 7) / 8 * 8;
    memory.put_u64(at, type);
    set_end(next_);
    return at;
  }
  [[nodiscard]] AddressRange region() const { return {kRegion, next_}; }
  /// What is allocated ends here.
  void set_end(Address end) { memory.put_u64(kVariables + 0x900, end); }
  /// A task that ends when all have ended that go on with it.
  Address joining() {
    const Address at = object(unwrap, 32);
    memory.put_u32(at + kFlags, kWaiting);
    return at;
  }
  /// A task that stands for `source` (ValueTask.AsTask), which goes on with it.
  Address as_task(Address source) {
    const Address at = object(source_task, 32);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kSource, source);
    memory.put_u64(source + 8, at);
    return at;
  }
  /// A task that ends with `lower`, or by time (Task.WaitAsync).
  Address limited(Address lower) {
    const Address at = object(cancellation, 32);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kLimited, lower);
    memory.put_u64(lower + kContinuation, at);
    return at;
  }
  void set_suspended(Address by) { memory.put_u64(layouts.globals.gc_thread.value, by); }

  Address core = 0, program = 0;  ///< modules
  Address object_type = 0, task = 0, event = 0, get = 0, load = 0;
  Address unwrap = 0, cancellation = 0;           ///< tasks that stand for others
  Address pool_scheduler = 0, own_scheduler = 0;  ///< types of task schedulers
  Address timer = 0, for_each = 0;                ///< what workers of Parallel.ForEachAsync share
  static constexpr std::uint32_t kNotified = 8, kCallbacks = 16, kSourceTask = 8;
  Address source_task = 0, value_source = 0;  ///< ValueTask.AsTask's, and a source of values
  static constexpr std::uint32_t kLimited = 32, kSource = 32;
  Address get_box = 0, load_box = 0;                     ///< types of boxes
  Address imitation = 0;                                 ///< a box's name in another assembly
  Address type_entries = 0;                              ///< of the program's table of instances: entries of 16 bytes
  static constexpr Address kVariables = 0x7f0000010000;  ///< GcDacVars; variables from 0x800 on
  static constexpr Address kSegment = 0x7f0000020000;    ///< the region's heap_segment
  static constexpr Address kGenerations = 0x7f0000030000;

  // Of methods without a state machine (support/fake_runtime_async.h).
  Address delegate = 0, thunk_task = 0, continuation = 0, array = 0;
  Address db = 0, helpers = 0;                                             ///< types whose methods they are
  Address async_task = 0, task_head = 0, source_head = 0, dispatcher = 0;  ///< of .NET 11
  // Offsets in objects: of such a task, of a Continuation, of a delegate.
  static constexpr std::uint32_t kStateObject = 32, kThunkSize = 32;
  static constexpr std::uint32_t kNext = 8, kGcData = 16, kResume = 24, kNumber = 32, kTarget = 8;
  static constexpr std::uint32_t kAwaitRow = 1, kReadRow = 5, kGetOrderRow = 6, kWrappedRow = 7;  ///< methods

 protected:
  struct FieldAt {
    std::uint32_t row, offset;
    unsigned element;
  };

  Address place(std::size_t size) {
    const Address at = place_;
    place_ += (size + 0xff) / 0x100 * 0x100;
    memory.map(at, size);
    return at;
  }

  Address module(const std::vector<std::byte>& metadata) {
    const Address at = place(0x800), assembly = place(0x100), blob = place(metadata.size() + 16);
    memory.put_u32(blob + layouts.dynamic_metadata.size.offset, static_cast<std::uint32_t>(metadata.size()));
    memory.put_bytes(blob + layouts.dynamic_metadata.data.offset, metadata);
    memory.put_u64(at + layouts.module.assembly.offset, assembly);
    memory.put_u64(at + layouts.module.dynamic_metadata.offset, blob);
    memory.put_u64(assembly + layouts.assembly.module.offset, at);
    assemblies_.push_back(assembly);
    return at;
  }

  Address type(Address of, std::uint32_t rid, Address parent, std::uint32_t base_size, std::uint32_t flags,
               std::uint32_t fields_in_all, const std::vector<FieldAt>& own,
               const std::vector<Address>& arguments = {}) {
    const Address at = place(0x100), ee_class = place(0x100), list = place(16 * own.size() + 16);
    const auto& t = layouts.method_table;
    memory.put_u32(at + t.flags.offset, flags | (arguments.empty() ? 0u : 0x10u));
    memory.put_u32(at + t.base_size.offset, base_size);
    memory.put_u32(at + t.flags2.offset, rid << 8);
    memory.put_u64(at + t.parent.offset, parent);
    memory.put_u64(at + t.module.offset, of);
    memory.put_u64(at + t.ee_class_or_canon.offset, ee_class);
    memory.put_u64(ee_class + layouts.ee_class.method_table.offset, at);
    memory.put_u64(ee_class + layouts.ee_class.field_desc_list.offset, list);
    memory.put_u16(ee_class + layouts.ee_class.num_instance_fields.offset, static_cast<std::uint16_t>(fields_in_all));
    for (std::size_t i = 0; i < own.size(); i++) {
      memory.put_u64(list + 16 * i, at);
      memory.put_u32(list + 16 * i + 8, own[i].row);
      memory.put_u32(list + 16 * i + 12, own[i].offset | own[i].element << 27);
    }
    if (!arguments.empty()) {
      const Address info = place(0x20), handles = place(8 * arguments.size());
      memory.put_u16(info + layouts.generics_dict_info.num_dicts.offset, 1);
      memory.put_u16(info + layouts.generics_dict_info.num_type_args.offset,
                     static_cast<std::uint16_t>(arguments.size()));
      memory.put_u64(info + 8, handles);
      for (std::size_t i = 0; i < arguments.size(); i++) memory.put_u64(handles + 8 * i, arguments[i]);
      memory.put_u64(at + t.per_inst_info.offset, info + 8);
    }
    return at;
  }

  static MetadataBuilder library(const std::string& file, const std::string& name) {
    MetadataBuilder b;
    b.module(file);
    b.assembly(name);
    b.type_with_fields("", "<Module>", 1, 1);
    return b;
  }
  static std::vector<std::byte> object_field() { return bytes_of({0x06, 0x1c}); }

  static std::vector<std::byte> core_library() {
    MetadataBuilder b = library("System.Private.CoreLib.dll", "System.Private.CoreLib");
    const auto blob = object_field();
    b.type_with_fields("System", "Object", 1, 1);
    b.type_with_fields("System.Threading.Tasks", "Task", 1, 1);
    b.type_with_fields("System.Runtime.CompilerServices", "AsyncTaskMethodBuilder`1", 5, 1);
    b.type_with_fields("", "AsyncStateMachineBox`1", 5, 1);
    b.type_with_fields("System.Threading", "ManualResetEventSlim", 6, 1);
    b.type_with_fields("System.Runtime.CompilerServices", "AsyncHelpers", 6, 1);
    b.type_with_fields("", "ThunkTask", 6, 2);
    b.type_with_fields("System.Runtime.CompilerServices", "Continuation", 7, 2);
    b.type_with_fields("System", "MulticastDelegate", 11, 2);
    b.type_with_fields("System.Threading.Tasks", "UnwrapPromise`1", 12, 2);
    b.type_with_fields("", "CancellationPromise`1", 12, 2);
    b.type_with_fields("System.Threading.Tasks", "TaskScheduler", 13, 2);
    b.type_with_fields("System.Threading.Tasks", "ThreadPoolTaskScheduler", 13, 2);
    b.type_with_fields("Shop", "Grains", 13, 2);
    b.type_with_fields("System.Threading", "TimerQueueTimer", 13, 2);
    b.type_with_fields("System.Threading.Tasks", "TaskCompletionSource", 15, 2);
    b.type_with_fields("System.Threading.Tasks", "Parallel", 16, 2);
    b.type_with_fields("", "ForEachState", 16, 2);
    b.type_with_fields("", "RuntimeAsyncTask`1", 16, 2);
    b.type_with_fields("System.Runtime.CompilerServices", "RuntimeAsyncTaskContinuation", 16, 2);
    b.type_with_fields("", "ValueTaskSourceContinuation", 18, 2);
    b.type_with_fields("System.Runtime.CompilerServices", "AsyncDispatcherInfo", 19, 2);
    b.type_with_fields("System.Threading.Tasks", "ValueTask", 23, 2);
    b.type_with_fields("", "ValueTaskSourceAsTask", 23, 2);
    b.type_with_fields("Shop", "Source", 24, 2);
    for (const char* field : {"m_action",
                              "m_continuationObject",
                              "m_stateFlags",
                              "m_taskScheduler",
                              "StateMachine",
                              "m_stateObject",
                              "Next",
                              "GCData",
                              "Resume",
                              "State",
                              "_target",
                              "_task",
                              "_notifyWhenNoCallbacksRunning",
                              "_callbacksRunning",
                              "_task",
                              "Task",
                              "RuntimeAsyncTask",
                              "Source",
                              "Next",
                              "NextContinuation",
                              "CurrentTask",
                              "t_current",
                              "_source"})
      b.field(field, blob);
    b.method_def("Await", bytes_of({0x00, 0, 0x01}), 0x16, 1, 0x2000);
    b.nested(5, 4);
    b.nested(8, 7);
    b.nested(12, 3);
    b.nested(19, 18);
    b.nested(20, 7);
    b.nested(22, 7);
    b.nested(25, 24);
    return b.build();
  }

  void make_core_library() {
    core = module(core_library());
    object_type = type(core, 2, 0, 24, 0, 0, {});
    task = type(core, 3, object_type, 16 + 32, 0, 4, {{1, 0, 18}, {2, 8, 18}, {3, 16, 8}, {4, kScheduler - 8, 18}});
    event = type(core, 6, object_type, 24, 0, 0, {});
    helpers = type(core, 7, object_type, 24, 0, 0, {});
    thunk_task = type(core, 8, task, 16 + kThunkSize, 0, 5, {{6, kStateObject - 8, 18}});
    continuation = type(core, 9, object_type, 16 + 32, 0, 4,
                        {{7, kNext - 8, 18}, {8, kGcData - 8, 18}, {9, kResume - 8, 24}, {10, kNumber - 8, 9}});
    delegate = type(core, 10, object_type, 24, 0, 1, {{11, kTarget - 8, 18}});
    unwrap = type(core, 11, task, 16 + 32, 0, 4, {});
    cancellation = type(core, 12, task, 16 + 32, 0, 5, {{12, kLimited - 8, 18}});
    const Address scheduler = type(core, 13, object_type, 24, 0, 0, {});
    pool_scheduler = type(core, 14, scheduler, 24, 0, 0, {});
    own_scheduler = type(core, 15, scheduler, 24, 0, 0, {});
    timer = type(core, 16, object_type, 16 + 16, 0, 2, {{13, kNotified - 8, 18}, {14, kCallbacks - 8, 8}});
    const Address source = type(core, 17, object_type, 24, 0, 1, {{15, kSourceTask - 8, 18}});
    for_each = type(core, 19, source, 24, 0, 1, {});
    async_task = type(core, 20, thunk_task, 16 + kThunkSize, 0, 5, {}, {object_type});
    task_head = type(core, 21, continuation, 16 + 48, 0, 6, {{16, 32 - 8, 18}, {17, 40 - 8, 18}});
    source_head = type(core, 22, continuation, 16 + 40, 0, 5, {{18, 32 - 8, 18}});
    constexpr std::uint32_t kThreadStatic = 0x03000000, kValue = 0x40000;
    dispatcher = type(core, 23, object_type, 16 + 24, kValue, 3,
                      {{19, 0, 24}, {20, 8, 18}, {21, 16, 18}, {22 | kThreadStatic, 0, 24}});
    source_task = type(core, 25, task, 16 + 32, 0, 5, {{23, kSource - 8, 18}});
    value_source = type(core, 26, object_type, 16 + 16, 0, 0, {});
    array = type(core, 2, object_type, 24, 0x80080008, 0, {});
    const Address map = core + layouts.module.type_def_to_method_table_map.offset, table = place(0x100);
    memory.put_u32(map + layouts.module_lookup_map.count.offset, 24);
    memory.put_u64(map + layouts.module_lookup_map.table_data.offset, table);
    memory.put_u64(table + 8 * 3, task);
    memory.put_u64(table + 8 * 8, thunk_task);
    memory.put_u64(table + 8 * 23, dispatcher);
  }

  void make_program() {
    MetadataBuilder b = library("shop.dll", "shop");
    const auto blob = object_field();
    b.type_with_fields("Shop", "Program", 1, 1);
    b.type_with_fields("", "<Get>d__0", 1, 3);
    b.type_with_fields("", "<Load>d__1", 4, 4);
    b.type_with_fields("System.Runtime.CompilerServices", "AsyncTaskMethodBuilder`1", 7, 5);
    b.type_with_fields("", "AsyncStateMachineBox`1", 7, 5);
    b.type_with_fields("Shop", "Db", 8, 5);
    for (int i = 0; i < 2; i++)
      for (const char* field : {"<>t__builder", "<>u__1", "<>1__state"}) b.field(field, blob);
    b.field("StateMachine", blob);
    b.method_def("Get", bytes_of({0x00, 0, 0x01}));
    b.method_def("Load", bytes_of({0x00, 0, 0x01}));
    b.method_def("MoveNext", bytes_of({0x20, 0, 0x01}), 0x1e6);
    b.method_def("MoveNext", bytes_of({0x20, 0, 0x01}), 0x1e6);
    b.method_def("ReadRow", bytes_of({0x00, 0, 0x01}), 0x16, 1, 0x2000);
    b.method_def("GetOrder", bytes_of({0x00, 0, 0x01}), 0x16, 1, 0x2000);
    b.method_def("Wrapped", bytes_of({0x00, 0, 0x01}));  // of a task: the runtime has a wrapper for it
    b.nested(3, 2);
    b.nested(4, 2);
    b.nested(6, 5);
    program = module(b.build());
    constexpr std::uint32_t kValue = 0x40000;
    get = type(program, 3, object_type, 16 + 24, kValue, 3, {{1, kBuilder, 17}, {2, kAwaiter, 17}, {3, kState, 8}});
    load = type(program, 4, object_type, 16 + 24, kValue, 3, {{4, kBuilder, 17}, {5, kAwaiter, 17}, {6, kState, 8}});
    constexpr std::uint32_t kBoxSize = 8 + kMachine + 24;
    get_box = type(core, 5, task, kBoxSize, 0, 5, {{5, kMachine - 8, 17}}, {object_type, get});
    load_box = type(core, 5, task, kBoxSize, 0, 5, {{5, kMachine - 8, 17}}, {object_type, load});
    imitation = type(program, 6, task, kBoxSize, 0, 5, {{7, kMachine - 8, 17}}, {object_type, get});
    db = type(program, 7, object_type, 24, 0, 0, {});
    type_entries = place(0x100);
    const Address hash = place(0x100), buckets = place(0x100);
    memory.put_u64(program + layouts.module.available_type_params.offset, hash);
    memory.put_u64(hash + layouts.ee_type_hash_table.buckets.offset, buckets);
    memory.put_u64(buckets, 2);
    memory.put_u64(buckets + 24, type_entries);
    memory.put_u64(buckets + 32, 1);
    for (std::size_t i = 0; i < 3; i++) {
      memory.put_u64(type_entries + 16 * i, std::array{get_box, load_box, imitation}[i]);
      memory.put_u64(type_entries + 16 * i + 8, i == 2 ? 1 : type_entries + 16 * (i + 1));
    }
  }

  void make_domain() {
    const Address domain = place(0x800), list = domain + layouts.app_domain.domain_assembly_list.offset;
    memory.map(layouts.globals.app_domain.value, 8);
    memory.put_u64(layouts.globals.app_domain.value, domain);
    memory.put_u32(list + layouts.array_list_base.count.offset, static_cast<std::uint32_t>(assemblies_.size()));
    const Address block = list + layouts.array_list_base.first_block.offset;
    memory.put_u32(block + layouts.array_list_block.size.offset, static_cast<std::uint32_t>(assemblies_.size()));
    for (std::size_t i = 0; i < assemblies_.size(); i++) {
      const Address of = place(0x20);
      memory.put_u64(of, assemblies_[i]);
      memory.put_u64(block + layouts.array_list_block.array_start.offset + 8 * i, of);
    }
  }

  void make_collector() {
    auto& g = layouts.globals;
    if (!g.finalizer_thread) g.finalizer_thread = {kVariables + 0xf00, true};
    memory.map(kDacTable, 0x1000);
    memory.map(kVariables, 0x1000);
    memory.map(kSegment, 0x1000);
    memory.map(kGenerations, 0x1000);
    memory.map(kRegion - 0x1000, kRegionSize + 0x1000);
    memory.map(g.gc_thread.value, 8);
    const auto entry = [&](unsigned i, Address a) { memory.put_u64(kDacTable + 8 * i, a); };
    const auto variable = [&](unsigned i, Address a) { memory.put_u64(kVariables + 24 + 8 * i, a); };
    entry(15, g.thread_store.value);
    entry(16, g.finalizer_thread.value);
    entry(17, g.gc_thread.value);
    entry(18, kVariables + 0x800);
    entry(19, kVariables + 0x808);
    entry(20, g.app_domain.value);
    entry(37, kVariables + 0x810);
    entry(38, kVariables + 0x818);
    entry(42, g.object_method_table.value);
    memory.put_u32(kVariables + 0x800, 1);
    memory.put_u64(kVariables + 0x808, kVariables);
    memory.put_u64(kVariables + 0x810, kRegion - 0x1000);
    memory.put_u64(kVariables + 0x818, kRegion + (std::uint64_t{1} << 32));
    memory.put_u8(kVariables, 2);
    memory.put_u8(kVariables + 1, 4);
    memory.put_u64(kVariables + 8, 256);
    memory.put_u64(kVariables + 16, 5);
    variable(3, kGenerations);
    variable(6, kVariables + 0x820);
    memory.put_u32(kVariables + 0x820, 2);
    variable(7, kVariables + 0x828);
    memory.put_u64(kVariables + 0x828, kSegment);
    variable(12, kVariables + 0x900);
    variable(21, kVariables + 0x830);
    variable(28, kVariables + 0x840);
    memory.put_u32(kVariables + 0x844, 56);          // generation.start_segment
    memory.put_u32(kVariables + 0x848, 0xffffffff);  // allocation_start: there are regions
    memory.put_u64(kGenerations + 56, kSegment);
    memory.put_u64(kSegment, kRegion);                     // allocated
    memory.put_u64(kSegment + 8, kRegion + kRegionSize);   // committed
    memory.put_u64(kSegment + 16, kRegion + kRegionSize);  // reserved
    memory.put_u64(kSegment + 32, kRegion);                // mem
    set_end(kRegion);
  }

  Address place_ = 0x7e0000000000, next_ = kRegion;
  std::vector<Address> assemblies_;
};

}  // namespace mixstack::test
