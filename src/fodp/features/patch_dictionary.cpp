#include "fodp/features/patch_dictionary.h"

#include <ATen/ops/empty.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/base/state_file.h"

namespace fodp {
namespace {

std::string dictionary_name(const PatchSizes& sizes) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", kPatchVersion, sizes.image.channels, sizes.image.side, sizes.stride,
                                sizes.grid, sizes.half_atoms, sizes.components, sizes.first_block, sizes.drawn.first_images,
                                sizes.drawn.second_images, sizes.drawn.atom_images, sizes.drawn.patches);
  for (const PatchSizes::Second& layer : sizes.second) key += fmt::format(", {} {} {}", layer.patch, layer.components, layer.half_atoms);
  return fmt::format("{}-{}-{}.dictionary", kPatchRecipe, kPatchVersion, sha256_text(key).substr(0, 24));
}

// With memory for everything that is learnt.
PatchDictionary empty_dictionary(const PatchSizes& sizes) {
  const auto space = [](std::initializer_list<std::int64_t> shape) { return at::empty(shape, at::kFloat); };
  PatchDictionary out;
  out.sizes = sizes;
  out.whitening = space({sizes.patch_values(), sizes.patch_values()});
  out.atoms = space({sizes.patch_values(), 2 * sizes.half_atoms});
  out.components = space({sizes.channels(), sizes.components});
  out.offset = space({sizes.components});
  out.signs.resize(static_cast<std::size_t>(sizes.components));
  const auto add_block = [&](std::int64_t channels) {
    out.blocks.push_back({.atoms = {}, .mean = space({channels}), .whitening = space({channels, channels})});
  };
  if (sizes.first_block) add_block(sizes.channels());
  for (const PatchSizes::Second& layer : sizes.second) {
    add_block(layer.channels());
    out.blocks.back().atoms = space({layer.values(), 2 * layer.half_atoms});
  }
  return out;
}

void visit_dictionary(StateVisitor& visit, PatchDictionary& dictionary) {
  const auto tensor = [&](const std::string& name, at::Tensor& values) {
    if (!values.defined()) return;
    values = values.contiguous();
    visit(name, std::span(values.data_ptr<float>(), static_cast<std::size_t>(values.numel())));
  };
  tensor("whitening", dictionary.whitening);
  tensor("atoms", dictionary.atoms);
  tensor("components", dictionary.components);
  tensor("offset", dictionary.offset);
  visit("signs", std::span(dictionary.signs));
  for (std::size_t i = 0; i < dictionary.blocks.size(); ++i) {
    PatchDictionary::Block& block = dictionary.blocks[i];
    tensor(fmt::format("block{}.atoms", i), block.atoms);
    tensor(fmt::format("block{}.mean", i), block.mean);
    tensor(fmt::format("block{}.whitening", i), block.whitening);
  }
}

std::optional<PatchDictionary> read_dictionary(const std::filesystem::path& file, const PatchSizes& sizes) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    const State state = read_state(file);
    PatchDictionary dictionary = empty_dictionary(sizes);
    StateVisitor visit = StateVisitor::loading(state, false);
    visit_dictionary(visit, dictionary);
    visit.check_all_taken();
    return dictionary;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

PatchDictionary find_or_fit_patches(const FeatureCache& cache, const PatchSizes& sizes, const ParallelFor& parallel, const WorkDone& done) {
  const std::filesystem::path file = cache.folder() / dictionary_name(sizes);
  if (std::optional<PatchDictionary> found = read_dictionary(file, sizes)) return std::move(*found);
  PatchDictionary dictionary = fit_patches(sizes, parallel, done);
  try {
    cache.make();
    State state;
    StateVisitor visit = StateVisitor::saving(state, false);
    visit_dictionary(visit, dictionary);
    write_state(state, file);
  } catch (const InputError&) {  // a folder that cannot be written
  } catch (const FaultError&) {  // a full disk
  }
  return dictionary;
}

}  // namespace fodp
