// Pictures for tests, and PNG and JPEG files of them.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "data/temporary_files.h"
#include "fodp/data/image_file.h"

namespace fodp::testing {

inline Picture random_picture(std::int64_t width, std::int64_t height, std::int64_t channels, unsigned seed) {
  return {width, height, channels, pattern(static_cast<std::size_t>(width * height * channels), seed)};
}

inline Bytes png_of(const Picture& picture) {
  const std::string bytes = png_bytes(picture);
  return {bytes.begin(), bytes.end()};
}

inline Bytes jpeg_of(const Picture& picture, bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = static_cast<int>(picture.channels);
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    auto* row = const_cast<std::uint8_t*>(picture.values.data() + y * picture.width * picture.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes bytes(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

}  // namespace fodp::testing
