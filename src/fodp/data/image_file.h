// One picture out of the bytes of a PNG or JPEG file; libpng and libjpeg-turbo do the reading. The first bytes of the file tell which of
// the two it is, whatever its name.
//
//   PNG   16 bits a value: the upper 8 are kept. Palettes and 1, 2 or 4 bits become 8 bits. Transparency is left out, not composed with a
//         background.
//   JPEG  with libjpeg's usual settings (accurate integer DCT, smooth upsampling). CMYK and arithmetic coding are refused.
//   both  Gamma, colour profiles and the orientation in EXIF are left alone. That is what Pillow's Image.open(...).convert("RGB") gives.
//
// A file may be hostile: a picture of more than 2^26 pixels is refused before memory is taken for it, and so is one that has more pixels
// than its file can hold. What libpng calls an error, and libjpeg an error or a warning, is an InputError that begins with `where`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fodp/data/resize.h"

namespace fodp {

// In gray or in colour: 1 or 3 channels.
Picture read_picture(std::span<const std::uint8_t> bytes, std::int64_t channels, const std::string& where);

// As the file has it, gray or in colour. Each format's file defines one.
Picture read_png(std::span<const std::uint8_t> bytes, const std::string& where);
Picture read_jpeg(std::span<const std::uint8_t> bytes, const std::string& where);

std::string png_bytes(const Picture& picture);  // a file of it

// InputError if the header of a picture states a size that is not read.
void check_picture_size(std::uint64_t width, std::uint64_t height, const std::string& where);

}  // namespace fodp
