// Operation codes of DWARF expressions (DWARF 5 section 7.7.1, table 7.9).
#pragma once

#include <cstdint>

namespace mixstack::unwind::dw_op {

inline constexpr std::uint8_t kAddr = 0x03, kDeref = 0x06, kConst1u = 0x08, kConst1s = 0x09, kConst2u = 0x0a,
                              kConst2s = 0x0b, kConst4u = 0x0c, kConst4s = 0x0d, kConst8u = 0x0e, kConst8s = 0x0f,
                              kConstu = 0x10, kConsts = 0x11, kDup = 0x12, kDrop = 0x13, kOver = 0x14, kPick = 0x15,
                              kSwap = 0x16, kRot = 0x17, kXderef = 0x18, kAbs = 0x19, kAnd = 0x1a, kDiv = 0x1b,
                              kMinus = 0x1c, kMod = 0x1d, kMul = 0x1e, kNeg = 0x1f, kNot = 0x20, kOr = 0x21,
                              kPlus = 0x22, kPlusUconst = 0x23, kShl = 0x24, kShr = 0x25, kShra = 0x26, kXor = 0x27,
                              kBra = 0x28, kEq = 0x29, kGe = 0x2a, kGt = 0x2b, kLe = 0x2c, kLt = 0x2d, kNe = 0x2e,
                              kSkip = 0x2f, kLit0 = 0x30, kLit31 = 0x4f, kReg0 = 0x50, kReg31 = 0x6f, kBreg0 = 0x70,
                              kBreg31 = 0x8f, kRegx = 0x90, kFbreg = 0x91, kBregx = 0x92, kPiece = 0x93,
                              kDerefSize = 0x94, kXderefSize = 0x95, kNop = 0x96, kCallFrameCfa = 0x9c,
                              kImplicitValue = 0x9e, kStackValue = 0x9f, kConstType = 0xa4, kRegvalType = 0xa5,
                              kDerefType = 0xa6, kConvert = 0xa8, kReinterpret = 0xa9, kGnuEncodedAddr = 0xf1,
                              kGnuConvert = 0xf7, kGnuReinterpret = 0xf9;

}  // namespace mixstack::unwind::dw_op
