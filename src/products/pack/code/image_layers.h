// Layers of container images: which files of them are not in the image, because a later layer
// deletes or replaces them.
// https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::pack {

// The layers of one image, the lowest first, by the names that their archives have.
using LayerStack = std::vector<std::string>;
inline constexpr std::size_t kMostImageDocument = 4u << 20;

// What a document of an image names: docker's "manifest.json", or an OCI manifest among
// "blobs/sha256/...". `name`: of the document, "image.tar!manifest.json". Nothing: it is none.
std::vector<LayerStack> layers_of_image(std::string_view name, std::string_view text);

// Of `names`, sorted, "LAYER!path/in/it", those that are in no image that has their layer.
std::set<std::string> hidden_in_images(const std::vector<LayerStack>& images,
                                       const std::vector<std::string>& names);

}  // namespace gpuready::pack
