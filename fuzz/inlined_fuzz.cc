// LINK: mixstack_dotnet_names
// Any bytes as what a JIT recorded of inlined methods, and as the IL of a method.
#include <cstddef>
#include <cstdint>

#include "dotnet/code/inlining_table.h"
#include "dotnet/code/rich_debug_info.h"
#include "dotnet/names/il_body.h"

using namespace mixstack::dotnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const unsigned pointer_size : {4u, 8u})
    if (const auto info = decode_rich_debug_info(bytes, pointer_size))
      for (const std::uint32_t native : {0u, 20u, 4096u, ~0u}) (void)methods_at(*info, native);
  for (const bool has_modules : {false, true})
    if (const auto table = InliningTable::decode(bytes, has_modules)) (void)table->into(size & 0xff);
  if (const auto body = names::read_il_header(bytes))
    if (body->header_size <= bytes.size()) (void)names::read_il_calls(bytes.subspan(body->header_size));
  (void)names::read_il_calls(bytes);
  names::IlHandlers handlers;
  if (const auto section = names::read_il_section(bytes))
    names::add_il_handlers(*section, bytes.subspan(names::IlHandlers::kHeader), handlers);
  return 0;
}
