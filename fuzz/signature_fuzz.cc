// LINK: mixstack_dotnet_names
// Any bytes as a method signature, a type and a list of method arguments; the second half as names the compiler made.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dotnet/names/bounded_text.h"
#include "dotnet/names/csharp_format.h"
#include "dotnet/names/generated_names.h"
#include "dotnet/names/raw_format.h"
#include "dotnet/names/signature.h"

using namespace mixstack::dotnet::names;

namespace {

/// Answers every variable and handle with an array of another variable, so that trees grow.
class Growing final : public TypeResolver {
 public:
  [[nodiscard]] TypeIndex class_argument(TypeTree& tree, std::uint32_t n) const override { return grow(tree, n); }
  [[nodiscard]] TypeIndex method_argument(TypeTree& tree, std::uint32_t n) const override { return grow(tree, n); }
  [[nodiscard]] TypeIndex handle(TypeTree& tree, std::uint64_t h) const override {
    return grow(tree, static_cast<std::uint32_t>(h));
  }

 private:
  static TypeIndex grow(TypeTree& tree, std::uint32_t n) {
    const TypeIndex t = tree.add(n % 2 == 0 ? TypeKind::sz_array : TypeKind::instance);
    for (std::uint32_t i = 0; i <= n % 5; i++) tree.append(t, tree.add(TypeKind::class_variable));
    return t;
  }
};

void print(const TypeTree& tree, TypeIndex type) {
  BoundedText out(1024);
  append_raw_parameter(out, tree, type);
  append_raw_type(out, tree, type);
  append_csharp_type(out, tree, type);
  (void)std::move(out).take();
}

void names(std::string_view text) {
  (void)parse_generated(text);
  (void)without_file_prefix(text);
  (void)split_arity(text);
  BoundedText out(1024);
  append_short_interface(out, split_explicit(text).interface_name);
  (void)printable(text, (text.size() & 1) != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const Growing resolver;
  for (const unsigned pointer_size : {4u, 8u}) {
    const SignatureContext context{nullptr, &resolver, pointer_size};
    TypeTree tree;
    if (const auto signature = read_method_signature(bytes, context, tree)) {
      print(tree, signature->return_type);
      BoundedText out(1024);
      append_raw_parameters(out, tree, *signature);
    }
    print(tree, read_type(bytes, context, tree));
    for (const TypeIndex t : read_method_arguments(bytes, context, tree)) print(tree, t);
  }
  names({reinterpret_cast<const char*>(data), size});
  return 0;
}
