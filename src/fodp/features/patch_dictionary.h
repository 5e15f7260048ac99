// The dictionary of patch features as a file, since learning it takes a minute or two. It is public: nothing in it comes from data.
#pragma once

#include "fodp/features/feature_recipe.h"
#include "fodp/features/patch_features.h"

namespace fodp {

// The dictionary that the cache has, or else one that is learnt now and put there. A file that is damaged is learnt anew; a folder that
// cannot be written costs the next user the time to learn it, and nothing else.
PatchDictionary find_or_fit_patches(const FeatureCache& cache, const PatchSizes& sizes, const ParallelFor& parallel,
                                    const WorkDone& done = {});

std::shared_ptr<const ImageEncoder> encoder_of(PatchDictionary dictionary);

}  // namespace fodp
