// The part of COM that a DAC speaks on Unix: identifiers, results, IUnknown, UTF-16 text.
#pragma once

#include <cstdint>
#include <cstring>

namespace mixstack::helper {

using HResult = std::int32_t;
inline constexpr HResult kOk = 0;
inline constexpr HResult kFalse = 1;
inline constexpr HResult kNotImplemented = static_cast<HResult>(0x80004001u);
inline constexpr HResult kNoInterface = static_cast<HResult>(0x80004002u);
inline constexpr HResult kFail = static_cast<HResult>(0x80004005u);
inline constexpr HResult kInvalidArgument = static_cast<HResult>(0x80070057u);

/// Success includes S_FALSE.
[[nodiscard]] constexpr bool succeeded(HResult r) { return r >= 0; }

/// The layout in memory.
struct Guid {
  std::uint32_t a;
  std::uint16_t b, c;
  std::uint8_t d[8];
  friend bool operator==(const Guid& x, const Guid& y) { return std::memcmp(&x, &y, sizeof(Guid)) == 0; }
};
static_assert(sizeof(Guid) == 16);

// An interface is a class with only pure virtual functions, in the order of its definition: the Itanium C++ ABI lays
// out its vtable like COM's. No virtual destructor: it would take two entries.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

struct IUnknown {
  virtual HResult QueryInterface(const Guid& iid, void** out) = 0;
  virtual std::uint32_t AddRef() = 0;
  virtual std::uint32_t Release() = 0;
};
inline constexpr Guid kIidUnknown{0x00000000, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/// Owns one reference.
template <class T>
class ComPointer {
 public:
  ComPointer() = default;
  ComPointer(const ComPointer&) = delete;
  ComPointer& operator=(const ComPointer&) = delete;
  ComPointer(ComPointer&& other) noexcept : p_(other.p_) { other.p_ = nullptr; }
  ComPointer& operator=(ComPointer&& other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~ComPointer() {
    if (p_ != nullptr) p_->Release();
  }
  [[nodiscard]] T* get() const { return p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  /// Output parameter of a COM function; only for an empty pointer.
  [[nodiscard]] T** out() { return &p_; }
  [[nodiscard]] void** out_untyped() { return reinterpret_cast<void**>(&p_); }

 private:
  T* p_ = nullptr;
};

}  // namespace mixstack::helper
