// Answers to system calls that name a file, for none of them is made any more.
#pragma once

namespace mixstack::helper {

/// Opens the few files that a DAC and its C library may ask for: descriptors behind kHelperDac. False when the table is
/// full or a descriptor is taken. What is not there is left out.
[[nodiscard]] bool open_answered_files();

/// From now on a call that the filter traps is answered in a signal handler: opening the DAC's name gives out the
/// descriptor that is held, opening one of the files above a copy of its descriptor; fstat by an empty path is made as
/// fstat; everything else is not there. Foreign code may put another handler in its place, which gains it nothing: the
/// call itself is not made.
[[nodiscard]] bool answer_file_calls();

}  // namespace mixstack::helper
