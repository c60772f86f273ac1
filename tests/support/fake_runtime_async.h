// The same runtime with async methods that have no state machine: their code, the stubs that they go on through, and
// the objects that stand for them while they are suspended.
#pragma once

#include <string>

#include "support/fake_heap.h"

namespace mixstack::test {

class FakeRuntimeAsync : public FakeHeap {
 public:
  static constexpr Address kCode = 0x7f2000000000, kCodeSize = 0x40000;

  explicit FakeRuntimeAsync(const nlohmann::json& descriptor_json = x64_descriptor()) : FakeHeap(descriptor_json) {
    code_.add_heap(kCode, kCode + kCodeSize);
  }

  /// A method's code, and the word that says where it begins.
  struct Method {
    Address code = 0, slot = 0;
  };
  Method method(Address of, std::uint32_t row) {
    const Address code = place_code(), slot = place(8);
    code_.add_method(code, 0x40, method_desc(of, row, 0), {{0, 0x40, DotnetCode::push_rbp()}});
    memory.put_u64(slot, code);
    return {code, slot};
  }

  /// What is asked of a stub's MethodDesc.
  struct Stub {
    Address code = 0;  ///< where it is called
    Address method_desc = 0, resolver = 0, state = 0;
  };
  /// Of a method by its name, whose code is called through `slot`: not compiled, or compiled.
  Stub stub(const std::string& name, Address slot, bool is_compiled) {
    Stub s;
    const std::string text = "IL_STUB_AsyncResume_" + name + "_Tier0";
    const Address bytes = place(text.size() + 1), signature = place(16);
    memory.put_bytes(bytes, std::as_bytes(std::span(text)));
    memory.put_bytes(signature, bytes_of({0x00, 0, 0x01}));
    s.method_desc = method_desc(db, 1, 7);
    s.resolver = place(32);
    const Address at = s.method_desc;
    memory.put_u64(at + layouts.stored_sig_method_desc.sig.offset, signature);
    memory.put_u32(at + layouts.stored_sig_method_desc.c_sig.offset, 3);
    memory.put_u32(at + layouts.stored_sig_method_desc.extended_flags.offset, 0x8000);
    memory.put_u64(at + layouts.dynamic_method_desc.method_name.offset, bytes);
    memory.put_u64(at + layouts.dynamic_method_desc.method_name.offset + 8, s.resolver);
    memory.put_u64(s.resolver + 16, at);
    s.code = place_code();
    code_.add_method(s.code, 0x40, at, {{0, 0x40, DotnetCode::push_rbp()}});
    if (is_compiled) {
      memory.put_u64(at + layouts.dynamic_method_desc.size + 8, s.code);
      memory.put_bytes(s.code + 4, bytes_of({0x48, 0x8b, 0x05}));  // mov rax, [rip + ...]
      near_ = (s.code + 0x400) & ~Address{7};
      memory.put_u64(near_, memory.read<std::uint64_t>(slot).value_or(0));
      memory.put_u32(s.code + 7, static_cast<std::uint32_t>(near_ - (s.code + 11)));
      return s;
    }
    s.state = place(64);
    const Address il = place(64);
    memory.put_u64(s.resolver + 8, s.state);
    memory.put_u32(s.state + 4, 14);  // bytes of IL, behind which the locals begin
    memory.put_u64(s.state + 16, il);
    memory.put_u64(s.state + 24, il + 14);
    memory.put_bytes(il, bytes_of({0x02, 0x21}));
    memory.put_u64(il + 2, slot);
    memory.put_bytes(il + 10, bytes_of({0x4d, 0x29}));
    return s;
  }

  /// A suspended method that goes on through a stub, and after it `next`.
  Address suspended(Address resume, Address next, std::uint32_t state = 0) {
    const Address at = object(continuation, 32);
    memory.put_u64(at + kResume, resume);
    memory.put_u64(at + kNext, next);
    memory.put_u32(at + kNumber, state);
    return at;
  }
  /// What takes the result of the outermost.
  Address last() { return object(continuation, 32); }
  /// The innermost keeps these.
  void hold(Address suspended_method, const std::vector<Address>& objects) {
    const Address at = object(array, static_cast<std::uint32_t>(8 + 8 * objects.size()));
    memory.put_u32(at + 8, static_cast<std::uint32_t>(objects.size()));
    for (std::size_t i = 0; i < objects.size(); i++) memory.put_u64(at + 16 + 8 * i, objects[i]);
    memory.put_u64(suspended_method + kGcData, at);
  }
  /// The task behind which they stand; 0: they run.
  Address thunk(Address innermost) {
    const Address at = object(thunk_task, kThunkSize);
    memory.put_u32(at + kFlags, kWaiting);
    memory.put_u64(at + kStateObject, innermost);
    const Address action = object(delegate, 8);
    memory.put_u64(action + kTarget, at);
    memory.put_u64(at + kAction, action);
    return at;
  }
  /// The task goes on when `lower` has ended.
  void continue_with(Address lower, Address thunk_task_object) {
    memory.put_u64(lower + kContinuation, memory.read<std::uint64_t>(thunk_task_object + kAction).value_or(0));
  }

  /// GetOrder > ReadRow, which awaits `awaited` in a method of the runtime's own.
  Address chain(Address awaited) {
    const Address inner =
        suspended(await_stub(), suspended(read_row_stub(), suspended(get_order_stub(), last(), 2), 1));
    hold(inner, {0, awaited, awaited});
    const Address task_object = thunk(inner);
    continue_with(awaited, task_object);
    return task_object;
  }
  Address await_stub() { return kept(await_, "Await", helpers, kAwaitRow, false); }
  Address read_row_stub() { return kept(read_row_, "ReadRow", db, kReadRow, false); }
  Address get_order_stub() { return kept(get_order_, "GetOrder", db, kGetOrderRow, true); }
  Address wrapped_stub() { return kept(wrapped_, "Wrapped", db, kWrappedRow, true); }

 protected:
  /// The MethodDesc that was made last.
  [[nodiscard]] Address last_method_desc() const { return method_desc_; }

 private:
  Address kept(Address& stub_at, const std::string& name, Address of, std::uint32_t row, bool is_compiled) {
    if (stub_at == 0) stub_at = stub(name, method(of, row).slot, is_compiled).code;
    return stub_at;
  }
  Address method_desc(Address of, std::uint32_t row, unsigned kind) {
    const Address chunk = place(0x100), at = chunk + layouts.method_desc_chunk.size;
    method_desc_ = at;
    memory.put_u64(chunk + layouts.method_desc_chunk.method_table.offset, of);
    memory.put_u16(chunk + layouts.method_desc_chunk.flags_and_token_range.offset, 0);
    memory.put_u16(at + layouts.method_desc.flags3_and_token_remainder.offset, static_cast<std::uint16_t>(row));
    memory.put_u16(at + layouts.method_desc.flags.offset, static_cast<std::uint16_t>(kind));
    return at;
  }
  Address place_code() {
    next_code_ += 0x800;
    return next_code_;
  }

  DotnetCode code_{*this};
  Address next_code_ = kCode, near_ = 0, method_desc_ = 0;
  Address await_ = 0, read_row_ = 0, get_order_ = 0, wrapped_ = 0;
};

}  // namespace mixstack::test
