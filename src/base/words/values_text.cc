#include "mixstack/requests.h"
#include "mixstack/values.h"

namespace mixstack {

std::string_view to_string(ValueState state) {
  switch (state) {
    case ValueState::told:
      return "told";
    case ValueState::not_kept:
      return "not_kept";
    case ValueState::moved:
      return "moved";
    case ValueState::unread:
      break;
  }
  return "unread";
}

std::string_view to_string(RequestKind kind) {
  switch (kind) {
    case RequestKind::incoming:
      return "incoming";
    case RequestKind::outgoing:
      return "outgoing";
    case RequestKind::database:
      break;
  }
  return "database";
}

}  // namespace mixstack
