// One PNG or JPEG file, read in gray and in colour and resized.
#include "fodp/data/image_file.h"

#include "target.h"

FODP_FUZZ_TARGET(image) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture = read_picture(bytes, channels, "FILE");
    require(picture.channels == channels && picture.values.size() == static_cast<std::size_t>(picture.width * picture.height * channels),
            "a picture has as many values as its size says");
    require(resized(picture, 8, 8).values.size() == static_cast<std::size_t>(64 * channels), "it has the size that was asked for");
  }
}
