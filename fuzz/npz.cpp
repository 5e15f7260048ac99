// One .npz file with inputs and labels of 3 classes, taken as data to train on.
#include "fodp/data/labelled_arrays.h"
#include "target.h"

FODP_FUZZ_TARGET(npz) {
  LabelledArrays arrays(file_with("arrays.npz", bytes), std::nullopt, true, "labels");
  const Normalisation normalisation = normalisation_for(arrays.shape(), std::nullopt, std::nullopt, {{.5}, {.5}});
  Sha256 contents;
  const LabelledArrays::Loaded loaded = arrays.load(normalisation, {.classes = 3}, HoldOut(.5, 1), &contents);
  require(loaded.rows->count() == arrays.count() && loaded.held_out.size() == static_cast<std::size_t>(arrays.count()),
          "every row is read, and held out or not");
  const Batch batch = loaded.rows->gather(std::vector<std::int64_t>{arrays.count() - 1});
  const std::int64_t target = batch.targets.data_ptr<std::int64_t>()[0];
  require(target >= 0 && target < 3, "a label is a class");
}
