// The same runtime as .NET 11 keeps its async methods without a state machine: tasks, continuations, what threads run.
#pragma once

#include <vector>

#include "dotnet/code/threads.h"
#include "support/fake_runtime_async.h"

namespace mixstack::test {

class FakeRuntimeAsync11 : public FakeRuntimeAsync {
 public:
  // Offsets in continuations.
  static constexpr std::uint32_t kNext11 = 8, kInfo = 16, kState11 = 28, kData = 32, kRuntimeAsyncTask = 40;
  static constexpr Address kStack = 0x7d0000000000, kThread = 0x7d1000000000, kThreadData = 0x7d1000010000;

  explicit FakeRuntimeAsync11(const nlohmann::json& descriptor_json = x64_descriptor())
      : FakeRuntimeAsync(descriptor_json) {
    auto& l = layouts;
    l.algorithms.suspended_methods = dotnet::SuspendedMethods::resume_info;
    l.algorithms.method_sizes = dotnet::MethodSizes::types;
    l.method_sizes.async_method_data = 24;
    l.async_method_data.flags.offset = 0;
    l.continuation_object.size = kData;
    l.continuation_object.next.offset = kNext11;
    l.continuation_object.resume_info.offset = kInfo;
    l.continuation_object.state.offset = kState11;
    l.async_resume_info.diagnostic_ip.offset = 8;
    const Address globals = place(0x10), shared = place(0x100);
    memory.put_u64(shared + l.ee_class.method_table.offset, object_type);
    memory.put_u64(globals, continuation);
    memory.put_u64(globals + 8, shared);
    l.globals.continuation_method_table = {globals, true};
    l.globals.continuation_ee_class = {globals + 8, true};
    made_ = place(0x100);
    memory.put_u32(made_ + l.method_table.base_size.offset, 16 + 48);
    memory.put_u64(made_ + l.method_table.parent.offset, continuation);
    memory.put_u64(made_ + l.method_table.module.offset, core);
    memory.put_u64(made_ + l.method_table.ee_class_or_canon.offset, shared);
    // The last of the program's instances is followed by one more.
    memory.put_u64(type_entries + 40, type_entries + 48);
    memory.put_u64(type_entries + 48, async_task);
    memory.put_u64(type_entries + 56, 1);
    make_thread();
  }

  /// Where a method goes on.
  Address read_row() { return ip_of(read_row_ip_, db, kReadRow); }
  Address get_order() { return ip_of(get_order_ip_, db, kGetOrderRow); }
  /// The same method as what the runtime puts between it and others.
  Address thunk_of_get_order() {
    const Address code = method(db, kGetOrderRow).code;
    const Address at = last_method_desc();
    memory.put_u16(at + layouts.method_desc.flags.offset, 0x40);
    memory.put_u32(at + layouts.method_desc.size, 0x12);
    return code + 8;
  }

  /// A suspended method; after it goes `next` on.
  Address suspended_at(Address ip, Address next, std::uint32_t state = 0) {
    const Address at = object(made_, 48), info = place(16);
    memory.put_u64(info + 8, ip);
    memory.put_u64(at + kNext11, next);
    memory.put_u64(at + kInfo, info);
    memory.put_u32(at + kState11, state);
    return at;
  }
  /// What stands for a task that is awaited, before the methods that await it.
  Address awaits_task(Address awaited, Address next) {
    const Address at = object(task_head, 48);
    memory.put_u64(at + kNext11, next);
    memory.put_u64(at + kData, awaited);
    return at;
  }
  Address awaits_source(Address source, Address next) {
    const Address at = object(source_head, 40);
    memory.put_u64(at + kNext11, next);
    memory.put_u64(at + kData, source);
    return at;
  }
  /// The task behind which they stand; 0: they run.
  Address task_of(Address innermost) {
    const Address at = object(async_task, kThunkSize);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kStateObject, innermost);
    const Address action = object(delegate, 8);
    memory.put_u64(action + kTarget, at);
    memory.put_u64(at + kAction, action);
    return at;
  }
  /// GetOrder > ReadRow, which awaits `awaited`.
  Address chain_of_11(Address awaited) {
    const Address head = awaits_task(awaited, suspended_at(read_row(), suspended_at(get_order(), 0, 2), 1));
    const Address at = task_of(head);
    memory.put_u64(head + kRuntimeAsyncTask, at);
    memory.put_u64(awaited + kContinuation, head);
    return at;
  }

  /// A thread that runs a task, whose running method `next` has called; `outer`: what stands on the stack further out.
  dotnet::ManagedThread thread_that_runs(Address running, Address next, Address info = kStack + 0x100,
                                         Address outer = 0) {
    memory.put_u64(info, outer);
    memory.put_u64(info + 8, next);
    memory.put_u64(info + 16, running);
    memory.put_u64(kThreadData + kDirect, info);
    dotnet::ManagedThread thread;
    thread.address = kThread;
    thread.os_id = 7;
    thread.stack = {kStack, kStack + 0x1000};
    return thread;
  }

 private:
  static constexpr std::uint32_t kDirect = 0x40;  ///< of thread statics in what a thread has of its own

  Address ip_of(Address& known, Address of, std::uint32_t row) {
    if (known == 0) known = method(of, row).code + 8;
    return known;
  }
  void make_thread() {
    auto& l = layouts;
    memory.map(kStack, 0x1000);
    memory.map(kThread, 0x1000);
    memory.map(kThreadData, 0x1000);
    memory.put_u64(kThread + l.thread.thread_local_data.offset, kThreadData);
    const Address ee_class =
        memory.read<std::uint64_t>(dispatcher + l.method_table.ee_class_or_canon.offset).value_or(0);
    memory.put_u16(ee_class + l.ee_class.num_static_fields.offset, 1);
    const Address auxiliary = place(0x100) + 0x80;
    memory.put_u64(dispatcher + l.method_table.auxiliary_data.offset, auxiliary);
    memory.put_u32(auxiliary - l.thread_statics_info.size + l.thread_statics_info.non_gc_tls_index.offset,
                   0x02000000 | kDirect);
  }

  Address made_ = 0, read_row_ip_ = 0, get_order_ip_ = 0;
};

}  // namespace mixstack::test
