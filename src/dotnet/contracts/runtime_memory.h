// Reading the runtime's structures: target memory, pointer size and layouts together.
#pragma once

#include <bit>

#include "dotnet/contracts/layouts.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// A value type that borrows a reader and the layouts. As thread-safe as the reader. A read of an absent field is
/// `field_unavailable`; nothing else is judged here: every value is foreign.
class RuntimeMemory {
 public:
  /// `constants`, if any, reads data that never changes after loading, wherever it lies (`Target::loaded_memory`).
  RuntimeMemory(const MemoryReader& reader, const Layouts& layouts, const MemoryReader* constants = nullptr)
      : reader_(&reader), layouts_(&layouts), constants_(constants) {}

  [[nodiscard]] const MemoryReader& reader() const { return *reader_; }
  [[nodiscard]] const Layouts& layouts() const { return *layouts_; }
  [[nodiscard]] unsigned pointer_size() const { return layouts_->pointer_size; }
  /// The same layouts over other bytes (a capture's overlay).
  [[nodiscard]] RuntimeMemory with(const MemoryReader& reader) const { return {reader, *layouts_, constants_}; }
  /// For tables of images that are never written. Some lie in data sections all the same, which cores may leave out.
  [[nodiscard]] RuntimeMemory constants() const { return constants_ == nullptr ? *this : with(*constants_); }

  template <class T>
  [[nodiscard]] Result<T> value(Address base, Field field) const {
    if (!field) return fail(ErrorCode::field_unavailable, base);
    return reader_->read<T>(base + field.offset);
  }
  [[nodiscard]] Result<Address> pointer(Address base, Field field) const {
    if (!field) return fail(ErrorCode::field_unavailable, base);
    return reader_->read_pointer(base + field.offset, layouts_->pointer_size);
  }
  [[nodiscard]] Result<Address> pointer_at(Address at) const {
    return reader_->read_pointer(at, layouts_->pointer_size);
  }
  /// The pointer that a global leads to: the global holds the pointer's address.
  [[nodiscard]] Result<Address> through(const Global& global) const {
    if (!global) return fail(ErrorCode::field_unavailable);
    return pointer_at(global.value);
  }
  /// The end mark of the runtime's Frame list: all bits set (FRAME_TOP in src/coreclr/vm/frames.h).
  [[nodiscard]] Address all_ones() const { return layouts_->pointer_size == 8 ? ~Address{0} : 0xffffffffu; }

 private:
  const MemoryReader* reader_;
  const Layouts* layouts_;
  const MemoryReader* constants_;
};

}  // namespace mixstack::dotnet
