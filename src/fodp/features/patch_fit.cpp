// How the dictionary of patch_features.h is learnt: whitening and atoms of the first layer, its leading components, atoms of the second
// layers, and the whitening of each block, one after the other, each from drawn images alone.
#include <algorithm>
#include <atomic>
#include <mutex>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/tensor.h>

#include "fodp/base/check.h"
#include "fodp/features/patch_features.h"
#include "fodp/features/patch_operations.h"
#include "fodp/features/whitening.h"

namespace fodp {
namespace {

constexpr std::uint64_t kWhiteningPatches = 2, kFirstAtoms = 3, kSecondAtoms = 4;  // purposes of public random numbers
constexpr double kPatchDamping = .01, kDamping = .3;
constexpr std::int64_t kGroup = PatchEncoder::kGroup, kMostWorkers = 64;

// Where mirroring moves each value of a first patch, which is laid out channel, row, column.
std::vector<std::int64_t> patch_mirror(const PatchSizes& sizes) {
  std::vector<std::int64_t> mirror;
  for (std::int64_t i = 0; i < sizes.patch_values(); ++i) {
    const std::int64_t column = i % PatchSizes::kPatch;
    mirror.push_back(i - column + PatchSizes::kPatch - 1 - column);
  }
  return mirror;
}

// Rows and their mirror images below them, each of norm 1, as columns.
at::Tensor as_atoms(const at::Tensor& rows, const at::Tensor& mirrors) {
  const at::Tensor both = at::cat({rows, mirrors}, 0);
  return (both / both.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12)).t().contiguous();
}

at::Tensor rooted(const at::Tensor& first) {
  at::Tensor roots = first.clone();
  take_roots(roots.data_ptr<float>(), roots.numel());
  return roots;
}

class Fit {
 public:
  Fit(const PatchSizes& sizes, const ParallelFor& parallel, const WorkDone& done) : parallel_(parallel), done_(done) {
    check_input(sizes.drawn.second_images % kGroup == 0 && sizes.drawn.second_images > 0, "{} drawn images: must be a multiple of {}",
                sizes.drawn.second_images, kGroup);
    out_.sizes = sizes;
    groups_ = sizes.drawn.second_images / kGroup;
    all_ = sizes.drawn.first_images + sizes.drawn.second_images * (3 + sizes.blocks());
  }

  PatchDictionary dictionary() {
    const PatchSizes& sizes = out_.sizes;
    draw();
    learn_first_layer();
    const at::Tensor first = each_group(sizes.grid * sizes.grid, sizes.channels(),
                                        [&](PatchEncoder& encoder, std::int64_t group) { return encoder.first_layer(pixels_of(group)); });
    learn_components(first);
    const at::Tensor projected = each_group(sizes.grid * sizes.grid, sizes.components, [&](PatchEncoder& encoder, std::int64_t group) {
      return encoder.project(rows_of(first, group));
    });
    if (sizes.first_block) {
      out_.blocks.emplace_back();
      learn_whitening(each_group(kKept, sizes.channels(),
                                 [&](PatchEncoder& encoder, std::int64_t group) { return encoder.first_block(rows_of(first, group)); }));
    }
    for (const PatchSizes::Second& layer : sizes.second) learn_second(layer, projected);
    return out_;
  }

 private:
  static constexpr std::int64_t kKept = PatchSizes::kCells * PatchSizes::kCells / 2;

  void report(std::int64_t more) {
    const std::lock_guard lock(mutex_);
    finished_ += more;
    if (done_) done_(std::min(finished_, all_), all_);
  }

  // work(worker's own things, item) for each item, by workers that take items one by one.
  template <class Make, class Work>
  void share(std::int64_t items, const Make& make, const Work& work) {
    std::atomic<std::int64_t> next = 0;
    parallel_(std::min(items, kMostWorkers), [&](std::int64_t, std::int64_t) {
      auto own = make();
      for (std::int64_t item = next++; item < items; item = next++) work(own, item);
    });
  }

  void draw() {
    const SyntheticImages images(out_.sizes.image);
    const std::int64_t count = out_.sizes.drawn.first_images + out_.sizes.drawn.second_images, bytes = images.shape().bytes();
    drawn_.resize(static_cast<std::size_t>(count * bytes));
    share(
        count, [] { return 0; },
        [&](int, std::int64_t n) {
          std::ranges::copy(images.image(static_cast<std::uint64_t>(n)), drawn_.begin() + n * bytes);
          report(1);
        });
  }

  const std::uint8_t* image(std::int64_t n) const { return drawn_.data() + n * out_.sizes.image.bytes(); }

  // Patches at random places of the images of the first dictionary, [count, values].
  at::Tensor random_patches(std::uint64_t purpose, std::int64_t count) const {
    const PatchSizes& sizes = out_.sizes;
    at::Tensor patches = at::empty({count, sizes.patch_values()}, at::kFloat);
    PublicRandom random(purpose, 0);
    const std::int64_t places = sizes.image.side - PatchSizes::kPatch + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t from = random.below(sizes.drawn.first_images), y = random.below(places), x = random.below(places);
      normalised_patch(sizes, image(from), y, x, patches.data_ptr<float>() + i * sizes.patch_values());
    }
    return patches;
  }

  void learn_first_layer() {
    const PatchSizes& sizes = out_.sizes;
    const std::vector<std::int64_t> mirror = patch_mirror(sizes);
    const Moments moments = mirrored(moments_about_zero(random_patches(kWhiteningPatches, sizes.drawn.patches), parallel_), mirror);
    out_.whitening = whitener(moments.covariance, kPatchDamping);
    const at::Tensor rows = at::mm(random_patches(kFirstAtoms, sizes.half_atoms), out_.whitening);
    out_.atoms = as_atoms(rows, rows.index_select(1, at::tensor(mirror, at::kLong)));
  }

  void learn_components(const at::Tensor& first) {
    const std::vector<std::int64_t> mirror = channel_mirror(out_.sizes.half_atoms);
    const Moments moments = mirrored(moments_of(rooted(first), parallel_), mirror);
    Components found = mirror_components(moments.covariance, mirror, out_.sizes.components, kDamping);
    out_.components = found.matrix;
    out_.offset = at::mv(found.matrix.t(), moments.mean.to(at::kFloat)).neg_();
    out_.signs = std::move(found.signs);
  }

  void learn_second(const PatchSizes::Second& layer, const at::Tensor& projected) {
    const std::size_t block = out_.blocks.size();
    out_.blocks.emplace_back();
    out_.blocks.back().atoms = second_atoms(block, layer, projected);
    learn_whitening(each_group(kKept, layer.channels(), [&](PatchEncoder& encoder, std::int64_t group) {
      return encoder.second_block(block, rows_of(projected, group));
    }));
  }

  at::Tensor second_atoms(std::size_t block, const PatchSizes::Second& layer, const at::Tensor& projected) const {
    const PatchSizes& sizes = out_.sizes;
    at::Tensor rows = at::empty({layer.half_atoms, layer.values()}, at::kFloat);
    PublicRandom random(kSecondAtoms, block);
    const std::int64_t places = sizes.second_positions(layer), cells = sizes.grid * sizes.grid;
    for (std::int64_t i = 0; i < layer.half_atoms; ++i) {
      const std::int64_t from = random.below(sizes.drawn.atom_images), y = random.below(places), x = random.below(places);
      grid_patch(projected.data_ptr<float>() + from * cells * sizes.components, sizes.grid, sizes.components, layer, y, x,
                 rows.data_ptr<float>() + i * layer.values());
    }
    const at::Tensor signs = at::tensor(std::vector<float>(out_.signs.begin(), out_.signs.begin() + layer.components), at::kFloat);
    const at::Tensor patches = rows.view({layer.half_atoms, layer.patch, layer.patch, layer.components});
    return as_atoms(rows, (patches.flip({2}) * signs).reshape({layer.half_atoms, layer.values()}));
  }

  void learn_whitening(const at::Tensor& samples) {
    const Moments moments = moments_of(samples, parallel_);
    out_.blocks.back().mean = moments.mean.to(at::kFloat);
    out_.blocks.back().whitening = whitener(moments.covariance, kDamping);
  }

  // The drawn images after those of the first dictionary come in groups.
  std::span<const std::uint8_t> pixels_of(std::int64_t group) const {
    return {image(out_.sizes.drawn.first_images + group * kGroup), static_cast<std::size_t>(kGroup * out_.sizes.image.bytes())};
  }
  at::Tensor rows_of(const at::Tensor& all, std::int64_t group) const {
    const std::int64_t each = all.size(0) / groups_;
    return all.narrow(0, group * each, each);
  }

  // step(encoder, group) of every group, one below the other: [images x rows, width].
  template <class Step>
  at::Tensor each_group(std::int64_t rows, std::int64_t width, const Step& step) {
    at::Tensor out = at::empty({groups_ * kGroup * rows, width}, at::kFloat);
    share(
        groups_, [&] { return PatchEncoder(out_); },
        [&](PatchEncoder& encoder, std::int64_t group) {
          rows_of(out, group).copy_(step(encoder, group));
          report(kGroup);
        });
    return out;
  }

  PatchDictionary out_;
  const ParallelFor& parallel_;
  const WorkDone& done_;
  std::mutex mutex_;
  std::int64_t groups_ = 0, finished_ = 0, all_ = 0;
  std::vector<std::uint8_t> drawn_;
};

}  // namespace

PatchDictionary fit_patches(const PatchSizes& sizes, const ParallelFor& parallel, const WorkDone& done) {
  return Fit(sizes, parallel, done).dictionary();
}

}  // namespace fodp
