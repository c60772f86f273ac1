#include <algorithm>
#include <utility>

#include "t2_functions.h"

namespace t2 {
namespace {

template <std::size_t... N>
void fill(Function* out, std::index_sequence<N...>) {
  const std::array all{&function<4096 + N>...};
  std::copy(all.begin(), all.end(), out);
}

}  // namespace

void library_functions(Function* out) { fill(out, std::make_index_sequence<kFunctionsPerHalf>()); }

}  // namespace t2
