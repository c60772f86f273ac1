#include "agent/in_process/contract_descriptor.h"

#include <dlfcn.h>

#include <charconv>
#include <cstring>
#include <string>

namespace mixstack::agent {
namespace {

constexpr std::uint32_t kMostJson = 1 << 20;

/// Removes `begin` if the text begins with it.
void skip(std::string_view& text, std::string_view begin) {
  if (text.starts_with(begin)) text.remove_prefix(begin.size());
}

}  // namespace

std::string_view own_descriptor() {
  // ContractDescriptor: magic, flags, size of the JSON, JSON, ...
  struct Descriptor {
    std::uint64_t magic;
    std::uint32_t flags, size;
    const char* json;
  };
  constexpr std::uint64_t kMagic = 0x0043414443434e44;  // "DNCCDAC\0"
  void* runtime = ::dlopen("libcoreclr.so", RTLD_NOLOAD | RTLD_LAZY);
  const void* symbol = ::dlsym(runtime != nullptr ? runtime : RTLD_DEFAULT, "DotNetRuntimeContractDescriptor");
  std::string_view json;
  if (symbol != nullptr) {
    Descriptor d;
    std::memcpy(&d, symbol, sizeof(d));
    if (d.magic == kMagic && d.json != nullptr && d.size <= kMostJson) json = {d.json, d.size};
  }
  if (runtime != nullptr) (void)::dlclose(runtime);  // the runtime itself is never unloaded
  return json;
}

std::string_view type_in(std::string_view json, std::string_view type) {
  const std::string key = '"' + std::string(type) + "\":{";
  const std::size_t at = json.find(key);
  return at == json.npos ? std::string_view() : json.substr(at, json.find('}', at) - at);
}

std::optional<std::uint64_t> number_in(std::string_view json, std::string_view key) {
  const std::string quoted = '"' + std::string(key) + "\":";
  const std::size_t at = json.find(quoted);
  if (at == json.npos) return std::nullopt;
  std::string_view rest = json.substr(at + quoted.size());
  skip(rest, "[");
  const bool is_hexadecimal = rest.starts_with("\"0x");
  skip(rest, "\"0x");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, is_hexadecimal ? 16 : 10);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace mixstack::agent
