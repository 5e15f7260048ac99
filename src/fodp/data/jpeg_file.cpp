// JPEG through libjpeg-turbo. Its errors jump (setjmp), so that what happens between the mark and a jump has no destructor: memory is taken
// and given back outside.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <csetjmp>

#include "fodp/base/check.h"
#include "fodp/data/image_file.h"

namespace fodp {
namespace {

struct JpegReading {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf back = {};
  char problem[JMSG_LENGTH_MAX] = "damaged";
  bool made = false;

  ~JpegReading() {
    if (made) jpeg_destroy_decompress(&info);
  }
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* reading = static_cast<JpegReading*>(info->client_data);
  info->err->format_message(info, reading->problem);
  std::longjmp(reading->back, 1);
}

// libjpeg warns of data that are cut off or wrong, and would go on with gray.
void on_message(j_common_ptr info, int level) {
  if (level < 0) on_error(info);
}

// A progressive file may ask for any number of passes over the whole picture.
void on_progress(j_common_ptr info) {
  constexpr int kMostPasses = 200;
  auto* reading = static_cast<JpegReading*>(info->client_data);
  if (reading->info.input_scan_number <= kMostPasses) return;
  std::snprintf(reading->problem, sizeof reading->problem, "more than %d passes over the picture", kMostPasses);
  std::longjmp(reading->back, 1);
}

bool read_header(JpegReading& reading, std::span<const std::uint8_t> bytes) {
  if (setjmp(reading.back)) return false;
  jpeg_create_decompress(&reading.info);
  reading.made = true;
  reading.info.progress = &reading.progress;
  jpeg_mem_src(&reading.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&reading.info, TRUE);
  return true;
}

bool start(JpegReading& reading) {
  if (setjmp(reading.back)) return false;
  jpeg_start_decompress(&reading.info);
  return true;
}

bool read_rows(JpegReading& reading, std::uint8_t* to, std::size_t row_size) {
  if (setjmp(reading.back)) return false;
  while (reading.info.output_scanline < reading.info.output_height) {
    JSAMPROW row = to + reading.info.output_scanline * row_size;
    jpeg_read_scanlines(&reading.info, &row, 1);
  }
  jpeg_finish_decompress(&reading.info);
  return true;
}

}  // namespace

Picture read_jpeg(std::span<const std::uint8_t> bytes, const std::string& where) {
  JpegReading reading;
  const auto check = [&](bool done) { check_input(done, "{}: the JPEG file is damaged: {}", where, reading.problem); };
  reading.info.err = jpeg_std_error(&reading.errors);
  reading.info.client_data = &reading;
  reading.errors.error_exit = on_error;
  reading.errors.emit_message = on_message;
  reading.progress.progress_monitor = on_progress;
  check(read_header(reading, bytes));
  check_picture_size(reading.info.image_width, reading.info.image_height, where);
  // Huffman codes spend a bit at least on each 8 x 8 pixels.
  constexpr std::uint64_t kMostForOneByte = 512;
  check_input(!reading.info.arith_code, "{}: the JPEG file is packed by arithmetic coding, which is not read: save it anew", where);
  check_input(std::uint64_t{reading.info.image_width} * reading.info.image_height / kMostForOneByte <= bytes.size(),
              "{}: the JPEG file is damaged: it states {} x {} pixels, more than its {} bytes can hold", where, reading.info.image_width,
              reading.info.image_height, bytes.size());
  const bool gray = reading.info.jpeg_color_space == JCS_GRAYSCALE;
  check_input(gray || reading.info.jpeg_color_space == JCS_YCbCr || reading.info.jpeg_color_space == JCS_RGB,
              "{}: the JPEG file is neither gray nor red, green and blue (CMYK, perhaps): convert it to RGB", where);
  reading.info.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  check(start(reading));
  const std::int64_t channels = gray ? 1 : 3;
  Picture picture{reading.info.output_width, reading.info.output_height, channels, {}};
  const auto row_size = static_cast<std::size_t>(picture.width * channels);
  picture.values.resize(row_size * static_cast<std::size_t>(picture.height));
  check(read_rows(reading, picture.values.data(), row_size));
  return picture;
}

}  // namespace fodp
