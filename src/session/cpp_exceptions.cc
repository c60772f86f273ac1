// Input: stacks with names, memory. Output: for a thread in std::terminate, the exception that brought it there.
// Algorithm: the frames between std::terminate and __cxa_throw pass the exception on, so its address stands in their
// part of the stack. A word there counts if what it points at is an exception's header by its class and its type by its
// type_info, whose name lies in an image. Two different exceptions that qualify: nothing is said.
// The text is read where the vtable says that what() is libstdc++'s own, whose objects hold one pointer to the text.
// Bounds: bytes of stack, candidates, depth of base classes, length of texts.
#include "session/cpp_exceptions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/arch/cpu.h"
#include "engine/symbols/demangle.h"
#include "mixstack/subjects.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kMostStack = 64 << 10, kMostText = 1024, kMostName = 4096, kMostCandidates = 16;
constexpr unsigned kMostThreads = 64;

// __cxa_exception of libstdc++ (libsupc++/unwind-cxx.h, 64 bit), from its _Unwind_Exception, the last of its fields.
constexpr std::uint64_t kClass = 0x474e5543432b2b00;           // "GNUCC++\0", read as a number
constexpr Address kType = 0x50, kNext = 0x30, kObject = 0x20;  // before it, before it, behind it

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_terminate(std::string_view name) {
  return is_one_of(
      name, {"_ZSt9terminatev", "_ZN10__cxxabiv111__terminateEPFvvE", "_ZN9__gnu_cxx27__verbose_terminate_handlerEv"});
}

/// Whether a function stands between std::terminate and the code that threw.
bool is_machinery(std::string_view name) {
  return name.starts_with("_Unwind_") || is_one_of(name, {"__cxa_call_terminate", "__gxx_personality_v0"});
}

bool is_throw(std::string_view name) {
  return is_one_of(name,
                   {"__cxa_throw", "__cxa_rethrow", "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"});
}

/// An exception, by the address of its _Unwind_Exception.
struct Exception {
  Address header = 0, object = 0, type = 0, next = 0;
};

class Reader {
 public:
  Reader(const images::ModuleMap& modules, const MemoryReader& memory) : modules_(modules), memory_(memory) {}

  /// The only one that the words of the stack in `range` lead to.
  [[nodiscard]] std::optional<Exception> find(AddressRange range) const;
  /// Empty where it is not known.
  [[nodiscard]] std::string type_name(Address type) const;
  [[nodiscard]] std::string text(const Exception& exception) const;

 private:
  [[nodiscard]] std::optional<Exception> at(Address header) const;
  [[nodiscard]] std::string linker_name(Address type) const;
  [[nodiscard]] bool is_in_image(Address address) const { return modules_.find(address) != kNoModule; }
  [[nodiscard]] Address word(Address at) const { return memory_.read<std::uint64_t>(at).value_or(0); }
  [[nodiscard]] bool is_export(Address address, std::string_view symbol) const;
  [[nodiscard]] std::string cow_string(Address text) const;

  const images::ModuleMap& modules_;
  const MemoryReader& memory_;
};

std::optional<Exception> Reader::at(Address header) const {
  const auto kind = memory_.read<std::uint64_t>(header);
  if (!kind || *kind != kClass) return std::nullopt;  // one that an exception_ptr keeps has another class
  const Exception e{header, header + kObject, word(header - kType), word(header - kNext)};
  return !type_name(e.type).empty() ? std::optional(e) : std::nullopt;
}

std::optional<Exception> Reader::find(AddressRange range) const {
  if (range.end <= range.begin) return std::nullopt;
  std::vector<Address> words(std::min<std::size_t>(range.end - range.begin, kMostStack) / sizeof(Address));
  if (!memory_.read_exact(range.begin, std::as_writable_bytes(std::span(words)))) return std::nullopt;
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<Exception> found;
  for (const Address value : words) {
    if (value % 16 != 0 || value < 0x10000 || (range.begin <= value && value < range.end)) continue;
    for (const Address header : {value, value - kObject}) {
      const auto is_known = [&](const Exception& e) { return e.header == header; };
      if (found.size() >= kMostCandidates || std::ranges::any_of(found, is_known)) continue;
      if (const auto e = at(header)) found.push_back(*e);
    }
  }
  // One that was being handled when the other was thrown is not what ended the program.
  std::optional<Exception> only;
  for (const Exception& e : found) {
    const auto comes_before = [&](const Exception& other) { return other.next == e.header - kType; };
    if (std::ranges::any_of(found, comes_before)) continue;
    if (only) return std::nullopt;
    only = e;
  }
  return only;
}

/// The name in a type_info {vtable, name}. Names of types that are not the same everywhere begin with a star.
std::string Reader::linker_name(Address type) const {
  const Address name = word(type + 8);
  if (type == 0 || !is_in_image(name)) return {};
  auto text = memory_.read_cstring(name, kMostName);
  if (!text) return {};
  if (text->starts_with('*')) text->erase(0, 1);
  return *text;
}

std::string Reader::type_name(Address type) const {
  constexpr std::string_view kWords = "typeinfo for ";
  const std::string name = linker_name(type);
  if (name.empty()) return {};
  std::string text = symbols::demangle("_ZTI" + name);
  return text.starts_with(kWords) ? text.substr(kWords.size()) : std::string();
}

bool Reader::is_export(Address address, std::string_view symbol) const {
  const ModuleIndex index = modules_.find(address);
  if (index == kNoModule) return false;
  const auto image = modules_.image(index);
  const auto place = image ? (*image)->dynamic_symbol(symbol) : std::nullopt;
  return place && modules_.modules()[index].load_bias + *place == address;
}

/// std::string as libstdc++'s exceptions hold it whatever the program is compiled for: a pointer to the text, before
/// which length, capacity and number of users stand.
std::string Reader::cow_string(Address text) const {
  const auto length = memory_.read<std::uint64_t>(text - 24), capacity = memory_.read<std::uint64_t>(text - 16);
  if (text == 0 || !length || !capacity || *length > *capacity) return {};
  std::string words(std::min<std::size_t>(*length, kMostText), '\0');
  if (!memory_.read_exact(text, std::as_writable_bytes(std::span(words)))) return {};
  words.resize(std::min(words.size(), words.find('\0')));
  return words;
}

std::string Reader::text(const Exception& exception) const {
  const std::string name = linker_name(exception.type);
  if (is_one_of(name, {"PKc", "Pc"})) {
    const Address at = word(exception.object);
    return at == 0 ? std::string() : memory_.read_cstring(at, kMostText).value_or("");
  }
  // The vtable: two destructors, then what(). A class that overrides it says something else than its base's text.
  const Address vtable = word(exception.object);
  const Address what = vtable == 0 ? 0 : word(vtable + 16);
  const bool is_libstdcxx = is_export(what, "_ZNKSt13runtime_error4whatEv") ||
                            is_export(what, "_ZNKSt11logic_error4whatEv") ||
                            is_one_of(name, {"St13runtime_error", "St11logic_error"});
  return is_libstdcxx ? cow_string(word(exception.object + 8)) : std::string();
}

/// The part of the stack between std::terminate and the caller of the throw; nothing where no throw led there.
std::optional<AddressRange> range_of(const ProcessDump& dump, const ThreadDump& thread) {
  std::optional<AddressRange> range;
  Address below_abort = 0;  // registers of the machinery are saved by what it calls
  const std::size_t count = std::min(thread.trace.frames.size(), thread.symbols.size());
  for (std::size_t i = 0; i < count; i++) {
    const Frame& frame = thread.trace.frames[i];
    if (thread.symbols[i] >= dump.symbols.size()) break;
    const std::string& name = dump.symbols[own_function(dump.symbols, thread.symbols[i])].raw_name;
    if (!range) {
      if (name == "abort") below_abort = frame.cfa;
      // libstdc++ has no names for what its personality routine ends the program by.
      const bool is_end = is_terminate(name) || (below_abort != 0 && is_machinery(name));
      if (is_end) range = AddressRange{below_abort != 0 ? below_abort : frame.sp, frame.cfa};
    } else if (is_terminate(name) || is_machinery(name) || name.empty()) {
      range->end = std::max(range->end, frame.cfa);
    } else {
      if (!is_throw(name)) return std::nullopt;
      range->end = std::max(range->end, frame.cfa);
      return range;
    }
  }
  return std::nullopt;
}

}  // namespace

void tell_of_cpp_exceptions(const images::ModuleMap& modules, const MemoryReader& memory, ProcessDump& dump) {
  if (!arch::cpu(dump.target.arch).is_walked) return;  // 64-bit layouts
  const Reader reader(modules, memory);
  unsigned told = 0;
  for (const ThreadDump& thread : dump.threads) {
    const auto range = told < kMostThreads ? range_of(dump, thread) : std::nullopt;
    const auto exception = range ? reader.find(*range) : std::nullopt;
    if (!exception) continue;
    std::string text = "C++: terminate, for nothing catches " + reader.type_name(exception->type) + " on thread " +
                       std::to_string(thread.tid);
    if (const std::string words = reader.text(*exception); !words.empty()) text += ": " + words;
    dump.diagnoses.push_back({{}, std::string(kLastWordsSubject), std::move(text)});
    told++;
  }
}

}  // namespace mixstack::session
