// PNG through libpng. Its errors jump (setjmp), so that what happens between the mark and a jump has no destructor: memory is taken and
// given back outside.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "fodp/base/check.h"
#include "fodp/data/image_file.h"
#include "fodp/data/inflater.h"

namespace fodp {
namespace {

struct PngReading {
  std::span<const std::uint8_t> rest;
  char problem[160] = "damaged";
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~PngReading() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* reading = static_cast<PngReading*>(png_get_error_ptr(png));
  std::strncpy(reading->problem, text, sizeof reading->problem - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

void on_warning(png_structp, png_const_charp) {}  // of texts and profiles, which are not used

void give_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* reading = static_cast<PngReading*>(png_get_io_ptr(png));
  if (count > reading->rest.size()) png_error(png, "the file ends early");
  std::memcpy(to, reading->rest.data(), count);
  reading->rest = reading->rest.subspan(count);
}

bool read_header(PngReading& reading) {
  if (setjmp(png_jmpbuf(reading.png))) return false;
  png_set_read_fn(reading.png, &reading, give_bytes);
  png_set_user_limits(reading.png, 1 << 26, 1 << 26);
  png_set_chunk_malloc_max(reading.png, 8 << 20);  // of texts and profiles
  png_read_info(reading.png, reading.info);
  return true;
}

// 8 bits a value, gray or red, green and blue, without transparency.
bool prepare(PngReading& reading, std::size_t& row_size) {
  if (setjmp(png_jmpbuf(reading.png))) return false;
  png_set_expand(reading.png);
  png_set_strip_16(reading.png);
  png_set_strip_alpha(reading.png);
  png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  row_size = png_get_rowbytes(reading.png, reading.info);
  return true;
}

bool read_rows(PngReading& reading, png_bytep* rows) {
  if (setjmp(png_jmpbuf(reading.png))) return false;
  png_read_image(reading.png, rows);
  png_read_end(reading.png, nullptr);
  return true;
}

}  // namespace

Picture read_png(std::span<const std::uint8_t> bytes, const std::string& where) {
  PngReading reading{.rest = bytes};
  const auto check = [&](bool done) { check_input(done, "{}: the PNG file is damaged: {}", where, reading.problem); };
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_error, on_warning);
  if (reading.png) reading.info = png_create_info_struct(reading.png);
  check_fault(reading.info != nullptr, "libpng cannot be started: no memory");
  check(read_header(reading));
  const std::uint64_t width = png_get_image_width(reading.png, reading.info), height = png_get_image_height(reading.png, reading.info);
  check_picture_size(width, height, where);
  const std::uint64_t bits = std::uint64_t{png_get_bit_depth(reading.png, reading.info)} * png_get_channels(reading.png, reading.info);
  check_input(width * bits / 8 * height / Inflater::most_for_one_byte <= bytes.size(),
              "{}: the PNG file is damaged: it states {} x {} pixels, more than its {} bytes can hold", where, width, height, bytes.size());
  std::size_t row_size = 0;
  check(prepare(reading, row_size));
  const auto channels = static_cast<std::int64_t>(png_get_channels(reading.png, reading.info));
  check_input((channels == 1 || channels == 3) && row_size == width * static_cast<std::uint64_t>(channels),
              "{}: the PNG file has pixels of a kind that is not read", where);
  Picture picture{static_cast<std::int64_t>(width), static_cast<std::int64_t>(height), channels, {}};
  picture.values.resize(row_size * height);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = picture.values.data() + y * row_size;
  check(read_rows(reading, rows.data()));
  return picture;
}

std::string png_bytes(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  const int written = png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.values.data(), 0, nullptr);
  check_fault(written != 0, "libpng cannot write a picture of {} x {} pixels: {}", picture.width, picture.height, image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace fodp
