#include "mixstack/waits.h"

namespace mixstack {

std::string_view to_string(Proof proof) {
  switch (proof) {
    case Proof::recorded:
      return "recorded";
    case Proof::proved:
      return "proved";
    case Proof::likely:
      break;
  }
  return "likely";
}

}  // namespace mixstack
