// Strings, arrays and lists of a heap, as text and JSON.
#pragma once

#include "mixstack/heap_elements.h"
#include "output/report/writer.h"

namespace mixstack::report {

void write_elements_text(Writer& out, const HeapElements& elements);
void write_elements_json(Writer& out, const HeapElements& elements);

}  // namespace mixstack::report
