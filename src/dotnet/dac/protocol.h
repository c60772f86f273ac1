// Messages between the library and mixstack-helper over a socket pair. Both sides bound and check everything: the
// helper runs foreign code (a DAC), the library serves foreign memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_cursor.h"
#include "mixstack/address.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::dotnet::dac {

/// Raised with every change of a message; both programs are of one build, so nothing else is accepted.
inline constexpr std::uint16_t kProtocolVersion = 1;
/// Bound of one message's payload, and of the memory asked for at once.
inline constexpr std::uint32_t kMaxPayload = 256u << 10;
inline constexpr std::uint32_t kMaxRead = 64u << 10;
/// Bound of one text: names of deeply generic methods are long.
inline constexpr std::uint16_t kMaxText = 16u << 10;
/// Frames in one `frames` message.
inline constexpr std::uint32_t kFramesPerMessage = 256;

/// The descriptors the helper is started with.
inline constexpr int kHelperSocket = 3;
inline constexpr int kHelperDac = 4;
/// The path by which the helper loads the DAC.
inline constexpr const char* kHelperDacPath = "/proc/self/fd/4";

enum class MessageType : std::uint16_t {
  none = 0,
  // The library asks.
  open = 1,         ///< Opening
  flush,            ///< forget everything read so far: a new capture
  threads,          ///< answered by thread_list
  walk,             ///< WalkRequest; answered by any number of `frames` and one `walk_end`
  describe,         ///< u64 code address; answered by description
  describe_method,  ///< u64 MethodDesc; answered by description
  // The helper asks while it is working on one of these.
  read_memory = 16,  ///< u64 address, u32 size; answered by memory
  thread_context,    ///< u32 thread, u32 flags, u32 size; answered by context
  metadata,          ///< MetadataRequest; answered by memory
  // The library answers.
  memory = 24,  ///< the bytes that could be read, from the address on; empty: none
  context,      ///< a CONTEXT; empty: no such thread
  // The helper answers.
  opened = 32,  ///< text: the DAC's description of itself
  flushed,
  thread_list,
  frames,
  walk_end,  ///< i32 HRESULT of the last step, u8 WalkEnd
  description,
  refused,  ///< DacRefusal
};

struct Opening {
  Arch arch = Arch::unknown;
  Address runtime_base = 0;
};

struct WalkRequest {
  std::uint32_t thread = 0;  ///< as the runtime numbers it: the id in the target's own pid namespace
  std::uint32_t max_frames = 0;
  bool from_context = false;    ///< start at `context` instead of the thread's own registers
  bool stop_at_native = false;  ///< end behind the first element that is no method
  bool is_interrupted = false;  ///< the context's pc is exact, not a return address
  std::vector<std::byte> context;
};

/// The kind of an element of a DAC walk.
enum class ElementKind : std::uint8_t {
  method = 1,      ///< managed code at the context's pc
  record = 2,      ///< an explicit Frame
  transition = 3,  ///< code that is no method and has no Frame, above managed code
};

/// One stop of the DAC's stack walk: registers *before* a record is applied, so after a method those of its caller.
struct Element {
  ElementKind kind = ElementKind::transition;
  Registers registers;
  Address record = 0;       ///< address of the explicit Frame
  Address record_type = 0;  ///< its first word: identifier (.NET 10) or vtable
  Address method = 0;       ///< MethodDesc of a record that has one
  std::string record_name;  ///< "InlinedCallFrame"
};

enum class WalkEnd : std::uint8_t { end_of_stack = 0, limit = 1, failed = 2, stopped_at_native = 3 };

/// A thread of the runtime's list (DacpThreadData).
struct ThreadRecord {
  Address address = 0;
  std::uint32_t managed_id = 0;
  std::uint32_t os_id = 0;
  std::uint32_t state = 0;
  bool cooperative = false;
  Address frame = 0;  ///< newest explicit Frame
  AddressRange stack;
  std::string exception_type;  ///< of the last thrown object; empty when none
};

enum class CodeClass : std::uint8_t { none = 0, method = 1, stub = 2 };

/// A code address or a MethodDesc, described.
struct Description {
  CodeClass kind = CodeClass::none;
  Address method = 0;
  Address start = 0;       ///< of the native code
  std::uint64_t size = 0;  ///< of its hot part
  Address cold_start = 0;  ///< of a part that lies elsewhere
  std::uint32_t cold_size = 0;
  Address gc_info = 0;
  bool is_jitted = false;   ///< made by the JIT; else precompiled
  std::string name;         ///< the DAC's text: `Ns.Type.Method(System.String, Int32)`
  std::string module_path;  ///< the assembly's file as the target sees it, or a bare name
  std::uint64_t displacement = 0;
};

/// A piece of the metadata of an assembly's file, wanted where the target's memory does not hold it (cores).
struct MetadataRequest {
  std::uint32_t timestamp = 0;   ///< of the PE header; another file's is not wanted
  std::uint32_t image_size = 0;  ///< SizeOfImage
  std::uint32_t rva = 0;         ///< of the metadata; 0: as the file says
  std::uint32_t offset = 0;      ///< of the piece
  std::uint32_t size = 0;
  std::string path;
};

/// The stage at which the helper failed.
enum class Stage : std::uint8_t {
  request = 1,    ///< a message that makes no sense
  load = 2,       ///< dlopen
  start = 3,      ///< exports, DllMain
  create = 4,     ///< CLRDataCreateInstance
  interface = 5,  ///< an interface or structure the DAC lacks
  query = 6,      ///< a query it declined
};

struct DacRefusal {
  Stage stage = Stage::request;
  std::int32_t result = 0;  ///< HRESULT, 0 when none
  std::string text;
};

struct MessageHeader {
  std::uint32_t size = 0;  ///< of the payload
  MessageType type = MessageType::none;
  std::uint16_t version = kProtocolVersion;
};
static_assert(sizeof(MessageHeader) == 8);

struct DacMessage {
  MessageType type = MessageType::none;
  std::vector<std::byte> payload;
};

/// Appends values to a payload.
class Writer {
 public:
  template <class T>
  void value(T v) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(std::as_bytes(std::span<const T, 1>(&v, 1)));
  }
  /// Cut at kMaxText.
  void text(std::string_view s);
  void raw(std::span<const std::byte> b) {
    // Not insert(): GCC 12 at -O3 believes that it writes beyond the end (-Wstringop-overflow).
    const std::size_t end = bytes_.size();
    bytes_.resize(end + b.size());
    std::copy(b.begin(), b.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

/// A text as Writer::text wrote it, control characters escaped away as '?'.
[[nodiscard]] std::string read_text(base::ByteCursor& cursor);

[[nodiscard]] std::vector<std::byte> encode(const Opening& v);
[[nodiscard]] std::vector<std::byte> encode(const WalkRequest& v);
[[nodiscard]] std::vector<std::byte> encode(const MetadataRequest& v);
[[nodiscard]] std::vector<std::byte> encode(const Description& v);
[[nodiscard]] std::vector<std::byte> encode(const DacRefusal& v);
void encode(const Element& v, Writer& out);
void encode(const ThreadRecord& v, Writer& out);

// `malformed` when the bytes are not exactly one value.
[[nodiscard]] Result<Opening> decode_opening(std::span<const std::byte> payload);
[[nodiscard]] Result<WalkRequest> decode_walk_request(std::span<const std::byte> payload);
[[nodiscard]] Result<MetadataRequest> decode_metadata_request(std::span<const std::byte> payload);
[[nodiscard]] Result<Description> decode_description(std::span<const std::byte> payload);
[[nodiscard]] Result<DacRefusal> decode_refusal(std::span<const std::byte> payload);
/// Appends; the payload holds whole elements only.
[[nodiscard]] Result<void> decode_elements(std::span<const std::byte> payload, std::vector<Element>& out);
[[nodiscard]] Result<void> decode_threads(std::span<const std::byte> payload, std::vector<ThreadRecord>& out);

}  // namespace mixstack::dotnet::dac
