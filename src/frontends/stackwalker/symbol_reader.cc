// The default factory of symbol readers, and users' factories.
#include <atomic>
#include <cstring>
#include <mutex>

#include "engine/images/file_bytes.h"
#include "engine/images/symbol_table.h"
#include "engine/symbols/demangle.h"
#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/reader_lookup.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::images::ElfImage;
using mixstack::images::SymbolTable;

constexpr std::uint32_t kInterpreter = 3;  // gABI: PT_INTERP

class ElfReader final : public SymReader {
 public:
  explicit ElfReader(std::shared_ptr<const ElfImage> image)
      : image_(image), table_(SymbolTable::build({image, nullptr, mixstack::images::open_mini_debug_info(*image)})) {}

  Symbol_t getSymbolByName(std::string symname) override {
    for (std::uint32_t i = 0; i < table_->size(); i++)
      if (table_->symbol(i).name == symname) return symbol_at(i);
    return {};
  }
  Symbol_t getContainingSymbol(Offset offset) override { return symbol_at(table_->find_index(offset)); }
  std::string getInterpreterName() override {
    for (const auto& s : image_->segments()) {
      if (s.type != kInterpreter) continue;
      const auto bytes = image_->bytes_at(s.vaddr, s.file_size);
      if (bytes.empty()) return {};
      const char* text = reinterpret_cast<const char*>(bytes.data());
      return {text, strnlen(text, bytes.size())};
    }
    return {};
  }
  unsigned getAddressWidth() override { return image_->is_64_bit() ? 8 : 4; }
  Architecture getArchitecture() const override { return public_arch(image_->arch()); }
  Offset getSymbolOffset(const Symbol_t& s) override { return isValidSymbol(s) ? symbol(s).address : 0; }
  std::string getSymbolName(const Symbol_t& s) override {
    return isValidSymbol(s) ? std::string(symbol(s).name) : std::string();
  }
  std::string getDemangledName(const Symbol_t& s) override {
    return isValidSymbol(s) ? mixstack::symbols::demangle(symbol(s).name) : std::string();
  }
  unsigned long getSymbolSize(const Symbol_t& s) override { return isValidSymbol(s) ? symbol(s).size : 0; }
  bool isValidSymbol(const Symbol_t& s) override {
    return s.v1 == this && s.i1 >= 0 && static_cast<std::size_t>(s.i1) < table_->size();
  }

 private:
  [[nodiscard]] Symbol_t symbol_at(std::uint32_t index) {
    Symbol_t s;
    if (index == SymbolTable::kNone) return s;
    s.v1 = this;
    s.i1 = static_cast<int>(index);
    return s;
  }
  [[nodiscard]] mixstack::images::Symbol symbol(const Symbol_t& s) const {
    return table_->symbol(static_cast<std::uint32_t>(s.i1));
  }
  std::shared_ptr<const ElfImage> image_;
  std::shared_ptr<const SymbolTable> table_;
};

/// Stateless.
class ElfReaderFactory final : public SymbolReaderFactory {
 public:
  SymReader* openSymbolReader(std::string pathname) override {
    clearLastError();
    auto file = mixstack::images::open_file_bytes(pathname);
    if (file) return open(std::move(*file));
    set_error(file.error(), "open the file");
    return nullptr;
  }
  SymReader* openSymbolReader(const char* buffer, unsigned long size) override {
    clearLastError();
    if (buffer == nullptr) {
      setLastError(err_badparam);
      return nullptr;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
    return open(mixstack::images::buffer_file_bytes({bytes, bytes + size}));
  }
  bool closeSymbolReader(SymReader* reader) override {
    delete reader;
    return true;
  }

 private:
  static SymReader* open(std::shared_ptr<const mixstack::FileBytes> file) {
    auto image = ElfImage::from_file(std::move(file));
    if (image) return new ElfReader(std::move(*image));
    setLastError(err_symtab);
    return nullptr;
  }
};

ElfReaderFactory& default_factory() {
  static ElfReaderFactory factory;
  return factory;
}

std::atomic<SymbolReaderFactory*>& users_factory() {
  static std::atomic<SymbolReaderFactory*> factory{nullptr};
  return factory;
}

}  // namespace

SymbolReaderFactory* Walker::getSymbolReader() {
  SymbolReaderFactory* users = users_factory();
  return users != nullptr ? users : &default_factory();
}

void Walker::setSymbolReader(SymbolReaderFactory* factory) {
  users_factory() = factory == &default_factory() ? nullptr : factory;
}

SymbolReaderFactory* users_symbol_reader() { return users_factory(); }

void ask_users_reader(SymbolReaderFactory* factory, Engine& engine, const mixstack::Frame& frame, std::string& name) {
  const auto modules = engine.modules().modules();
  if (factory == nullptr || frame.module == mixstack::kNoModule || frame.module >= modules.size()) return;
  try {
    SymReader* reader = factory->openSymbolReader(modules[frame.module].path);
    if (reader == nullptr) return;
    const Symbol_t symbol = reader->getContainingSymbol(frame.module_offset);
    if (reader->isValidSymbol(symbol)) name = reader->getDemangledName(symbol);
    (void)factory->closeSymbolReader(reader);
  } catch (...) {
    trace_line("[stackwalker] a symbol reader threw an exception\n");
  }
}

}  // namespace Dyninst::Stackwalker
