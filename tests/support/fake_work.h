// Async methods of .NET's own and of a program, suspended as a release suspends them: .NET 10 with state machines,
// .NET 11 without.
#pragma once

#include <array>

#include "support/fake_runtime_async_11.h"

namespace mixstack::test {

class FakeWork : public FakeRuntimeAsync11 {
 public:
  enum Method : std::size_t {
    waits_for_callback,  ///< CancellationTokenSource.Registrations.WaitForCallbackToCompleteAsync
    for_each_worker,     ///< what each worker of Parallel.ForEachAsync runs
    send,                ///< HttpClient.SendAsync
    of_program,          ///< Shop.Other.Hold
    kCount
  };
  static constexpr std::uint32_t kExecuting = 8, kExecutingThread = 16, kSource = 24;  ///< of Registrations

  explicit FakeWork(const char* descriptor_name)
      : FakeRuntimeAsync11(load_descriptor(descriptor_name)),
        has_machines_(std::string_view(descriptor_name).find("-10.") != std::string_view::npos) {
    if (has_machines_) {
      layouts.algorithms.suspended_methods = dotnet::SuspendedMethods::resume_stubs;
      layouts.algorithms.method_sizes = dotnet::MethodSizes::table;
    }
    make_types();
  }

  [[nodiscard]] bool has_machines() const { return has_machines_; }

  /// A suspended method that awaits `awaited` (0: nothing that is known) and keeps an object and a number. Its task.
  Address suspended_work(Method of, Address awaited, Address held, std::uint64_t number = 0) {
    return has_machines_ ? box_of(of, awaited, held, number) : continuation_of(of, awaited, held, number);
  }
  /// What a source keeps of its callbacks, of which one runs.
  Address registrations(std::uint64_t executing, std::uint32_t managed_thread, Address of_source) {
    const Address at = object(registrations_, 24);
    memory.put_u64(at + kExecuting, executing);
    memory.put_u32(at + kExecutingThread, managed_thread);
    memory.put_u64(at + kSource, of_source);
    return at;
  }
  Address source() { return object(source_, 8); }
  Address request() { return object(request_, 8); }

 private:
  static constexpr std::uint32_t kHeld = 24, kId = 32, kMachineSize = 40;  // in state machines
  static constexpr std::array<std::uint32_t, kCount> kOwners{3, 6, 8, 11}, kMachines{4, 7, 9, 12}, kRows{1, 3, 5, 7};

  static std::vector<std::byte> library_of_work() {
    MetadataBuilder b = library("work.dll", "work");
    b.type_with_fields("System.Threading", "CancellationTokenSource", 1, 1);
    b.type_with_fields("", "Registrations", 1, 1);
    b.type_with_fields("", "<WaitForCallbackToCompleteAsync>d__9", 4, 2);
    b.type_with_fields("System.Threading.Tasks", "Parallel", 9, 3);
    b.type_with_fields("", "<>c__53", 9, 3);
    b.type_with_fields("", "<<ForEachAsync>b__53_0>d", 9, 4);
    b.type_with_fields("System.Net.Http", "HttpClient", 13, 5);
    b.type_with_fields("", "<SendAsync>d__1", 13, 6);
    b.type_with_fields("System.Net.Http", "HttpRequestMessage", 17, 7);
    b.type_with_fields("Shop", "Other", 17, 7);
    b.type_with_fields("", "<Hold>d__0", 17, 8);
    const auto blob = object_field();
    for (const char* field : {"ExecutingCallbackId", "ThreadIDExecutingCallbacks", "Source"}) b.field(field, blob);
    for (const char* held : {"<>4__this", "o", "request", "request"}) {
      for (const char* field : {"<>t__builder", "<>u__1", "<>1__state", held}) b.field(field, blob);
      if (held == std::string_view("<>4__this")) b.field("id", blob);
    }
    for (const char* method : {"WaitForCallbackToCompleteAsync", "<ForEachAsync>b__53_0", "SendAsync", "Hold"}) {
      b.method_def(method, bytes_of({0x00, 0, 0x01}));
      b.method_def("MoveNext", bytes_of({0x20, 0, 0x01}), 0x1e6);
    }
    for (const auto& [inner, outer] : {std::pair{3u, 2u}, {4u, 3u}, {6u, 5u}, {7u, 6u}, {9u, 8u}, {12u, 11u}})
      b.nested(inner, outer);
    return b.build();
  }

  void make_types() {
    constexpr std::uint32_t kValue = 0x40000;
    const Address work = module(library_of_work());
    source_ = type(work, 2, object_type, 24, 0, 0, {});
    registrations_ = type(work, 3, object_type, 16 + 24, 0, 3,
                          {{1, kExecuting - 8, 10}, {2, kExecutingThread - 8, 8}, {3, kSource - 8, 18}});
    owners_[waits_for_callback] = registrations_;
    for (const Method m : {for_each_worker, send, of_program})
      owners_[m] = type(work, kOwners[m], object_type, 24, 0, 0, {});
    request_ = type(work, 10, object_type, 24, 0, 0, {});
    std::uint32_t row = 4;
    for (std::size_t m = 0; m < kCount; m++) {
      std::vector<FieldAt> fields{
          {row, kBuilder, 17}, {row + 1, kAwaiter, 17}, {row + 2, kState, 8}, {row + 3, kHeld, 18}};
      if (m == waits_for_callback) fields.push_back({row + 4, kId, 10});
      row += static_cast<std::uint32_t>(fields.size());
      const Address machine = type(work, kMachines[m], object_type, 16 + kMachineSize, kValue,
                                   static_cast<std::uint32_t>(fields.size()), fields);
      boxes_[m] =
          type(core, 5, task, 8 + kMachine + kMachineSize, 0, 5, {{5, kMachine - 8, 17}}, {object_type, machine});
    }
  }

  Address box_of(Method of, Address awaited, Address held, std::uint64_t number) {
    const Address at = object(boxes_[of], kMachine + kMachineSize);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kMachine + kBuilder, at);
    memory.put_u32(at + kMachine + kState, 0);
    memory.put_u64(at + kMachine + kHeld, held);
    memory.put_u64(at + kMachine + kId, number);
    if (awaited != 0) await(at, awaited);
    return at;
  }
  Address continuation_of(Method of, Address awaited, Address held, std::uint64_t number) {
    const Address at = suspended_at(method(owners_[of], kRows[of]).code + 8, 0);
    memory.put_u64(at + kData, held);
    memory.put_u64(at + kData + 8, number);
    if (awaited == 0) return task_of(at);
    const Address head = awaits_task(awaited, at), of_it = task_of(head);
    memory.put_u64(head + kRuntimeAsyncTask, of_it);
    memory.put_u64(awaited + kContinuation, head);
    return of_it;
  }

  bool has_machines_;
  Address source_ = 0, registrations_ = 0, request_ = 0;
  std::array<Address, kCount> owners_{}, boxes_{};
};

}  // namespace mixstack::test
