// LINK: mixstack_frontends_stackwalker
// LIMITS: -rss_limit_mb=1024 -max_len=65536
// The StackwalkerAPI's symbol reader on any file. Its ELF half is ours and is read here. Its debug information is read
// with libdw, which is not ours and has faults of its own with hostile DWARF: that half is read in a child of bounded
// time, one per input, and whoever's code is innermost when the child dies decides. Libdw's deaths are counted and told
// at the end (they are why the API's manual says whose files to ask); ours end the fuzzer, and so does a child that
// grows beyond a bound or whose time runs out in our own code.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/memory/buffer_memory.h"
#include "engine/dwarf/dwarf_file.h"
#include "engine/images/file_bytes.h"
#include "engine/images/symbol_table.h"
#include "stackwalker/SymReader.h"
#include "stackwalker/walker.h"

extern "C" void __asan_on_error();

namespace {

using namespace mixstack;

constexpr rlim_t kSeconds = 3;
constexpr long kMaxKilobytes = 700 << 10;  // AddressSanitizer's own included
enum Death { kInLibrary = 40, kInOurCode = 41, kTimeInLibrary = 42, kTimeInOurCode = 43 };

/// What of this program is mixstack's: the sanitizer's functions are in the same file.
struct OwnCode {
  std::shared_ptr<const images::SymbolTable> symbols;
  Address bias = 0;
  std::string_view file;
  OwnCode() {
    Dl_info self{};
    if (::dladdr(reinterpret_cast<void*>(&OwnCode::get), &self) == 0) std::abort();
    bias = reinterpret_cast<Address>(self.dli_fbase);
    file = self.dli_fname;
    auto bytes = images::open_file_bytes("/proc/self/exe");
    if (!bytes) std::abort();
    auto image = images::ElfImage::from_file(*bytes);
    if (!image) std::abort();
    symbols = images::SymbolTable::build({*image, nullptr, nullptr});
  }
  static OwnCode& get() {
    static OwnCode own;
    return own;
  }
  [[nodiscard]] bool has(Address pc) const {
    const auto symbol = symbols->find(pc - bias);
    return symbol && symbol->name.find("mixstack") != std::string_view::npos;
  }
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* result) {
  const auto pc = static_cast<Address>(_Unwind_GetIP(context)) - 1;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(pc), &info) == 0 || info.dli_fname == nullptr) return _URC_NO_REASON;
  const std::string_view file = info.dli_fname;
  const bool is_library = file.find("libdw") != std::string_view::npos || file.find("libelf") != std::string_view::npos;
  const bool is_ours = file == OwnCode::get().file && OwnCode::get().has(pc);
  if (!is_library && !is_ours) return _URC_NO_REASON;  // libc, the sanitizer, this handler
  *static_cast<bool*>(result) = is_library;
  return _URC_END_OF_STACK;
}

bool dies_in_library() {
  bool in_library = false;
  _Unwind_Backtrace(look, &in_library);
  return in_library;
}

pid_t g_child_of = 0;  // set in a child

void on_signal(int number) {
  const bool in_library = dies_in_library();
  if (number == SIGXCPU) ::_exit(in_library ? kTimeInLibrary : kTimeInOurCode);
  ::_exit(in_library ? kInLibrary : kInOurCode);
}

void bound_this_child() {
  g_child_of = ::getppid();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) std::signal(number, on_signal);
  const rlimit seconds{kSeconds, kSeconds + 2}, none{0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_CORE, &none);
}

/// All that the API asks of a file with debug information.
void read_debug_information(std::span<const std::byte> bytes) {
  auto file = symbols::DwarfFile::open(images::buffer_file_bytes({bytes.begin(), bytes.end()}));
  if (!file) return;
  Registers registers(Arch::x86_64);
  for (unsigned reg = 0; reg < 17; reg++) registers.set(reg, 0x1000 + reg * 8);
  memory::BufferMemory memory;
  memory.add(0x1000, bytes.first(std::min<std::size_t>(bytes.size(), 4096)));
  symbols::DwarfFrame frame;
  frame.registers = &registers;
  frame.memory = &memory;
  frame.cfa = 0x1100;
  VectorRegisters vectors;
  vectors.size = 16;
  vectors.values.resize(16);
  frame.vectors = &vectors;
  // Every address of the file may be where the caller stands; it is its own caller, too.
  symbols::DwarfFrame caller = frame;
  frame.caller = caller.caller = &caller;
  frame.caller_file = caller.caller_file = file->get();
  std::vector<std::byte> value;
  for (std::uint64_t address = 0; address < 0x200; address += 0x14) {
    frame.pc = address;
    caller.return_address = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[address % bytes.size()]);
    caller.pc = caller.return_address - 1;
    const auto variables = (*file)->variables(address);
    for (std::size_t i = 0; i < std::min<std::size_t>(variables.size(), 16); i++)
      (void)(*file)->value(variables[i].entry, frame, 8, value);
  }
}

void read_symbols(const std::uint8_t* data, std::size_t size) {
  using namespace Dyninst;
  SymbolReaderFactory* factory = Stackwalker::Walker::getSymbolReader();
  SymReader* reader = factory->openSymbolReader(reinterpret_cast<const char*>(data), size);
  if (reader == nullptr) return;
  (void)reader->getInterpreterName();
  (void)reader->getAddressWidth();
  (void)reader->getSymbolByName("main");
  for (Offset offset = 0; offset < 0x400; offset += 0x10) {
    const Symbol_t symbol = reader->getContainingSymbol(offset);
    (void)reader->getDemangledName(symbol);
    (void)reader->getSymbolSize(symbol);
  }
  factory->closeSymbolReader(reader);
}

struct Totals {
  std::uint64_t children = 0, died_in_library = 0, late_in_library = 0;
  long largest = 0;
  ~Totals() {
    if (children != 0 && g_child_of == 0)
      fmt::print(stderr, "symbol_reader: {} files, libdw died on {} and was late on {}, largest child {} MB\n",
                 children, died_in_library, late_in_library, largest >> 10);
  }
};
Totals& totals() {
  static Totals all;
  return all;
}

void judge(int status, const rusage& use) {
  Totals& all = totals();
  all.children++;
  all.largest = std::max(all.largest, use.ru_maxrss);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  all.died_in_library += code == kInLibrary ? 1 : 0;
  all.late_in_library += code == kTimeInLibrary ? 1 : 0;
  if ((code == 0 && use.ru_maxrss <= kMaxKilobytes) || code == kInLibrary || code == kTimeInLibrary) return;
  fmt::print(stderr, "the child ended with status {:#x} (41: a fault in our code, 43: time), {} MB\n", status,
             use.ru_maxrss >> 10);
  std::abort();
}

}  // namespace

/// AddressSanitizer calls this before it reports; what it reports of libdw is not ours.
extern "C" void __asan_on_error() {
  if (g_child_of != 0 && dies_in_library()) ::_exit(kInLibrary);
}

/// Mostly inside the sections with debug information: coverage in a child guides nobody.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto image = images::ElfImage::from_file(images::buffer_file_bytes({bytes.begin(), bytes.end()}));
  std::vector<images::Section> debug;
  if (image && seed % 8 != 0)
    for (const auto& s : (*image)->sections())
      if (s.name.starts_with(".debug") && s.size != 0 && s.offset < size && s.size <= size - s.offset)
        debug.push_back(s);
  if (debug.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const images::Section& chosen = debug[seed / 8 % debug.size()];
  const std::size_t run = std::min<std::size_t>(chosen.size, 1 + seed / 256 % 32);
  std::uint8_t* at = data + chosen.offset + seed / 8192 % (chosen.size - run + 1);
  for (unsigned n = 0; n <= seed % 3; n++) (void)LLVMFuzzerMutate(at, run, run);
  return size;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  (void)OwnCode::get();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_symbols(data, size);
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    bound_this_child();
    read_debug_information(std::as_bytes(std::span(data, size)));
    ::_exit(0);
  }
  int status = 0;
  rusage use{};
  while (::wait4(child, &status, 0, &use) != child)
    if (errno != EINTR) std::abort();  // libFuzzer has a timer
  judge(status, use);
  return 0;
}
