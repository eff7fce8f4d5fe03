#include "pack/code/image_layers.h"

#include <algorithm>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kBlobs = "blobs/sha256/", kDigest = "sha256:";
constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq";

// What the layers above one leave of it.
class LayersAbove {
 public:
  bool hides(std::string_view path) const {
    if (covered_.contains(path)) return true;
    for (auto at = path.rfind('/'); at != path.npos; at = path.rfind('/', at - 1)) {
      const auto folder = path.substr(0, at);
      if (covered_.contains(folder) || opaque_.contains(folder)) return true;
      if (at == 0) break;
    }
    return opaque_.contains("");
  }
  void add(const std::vector<std::string_view>& paths) {
    for (const auto path : paths) {
      const auto name = base_name(path);
      const auto slash = path.rfind('/');
      const auto folder = slash == path.npos ? std::string_view() : path.substr(0, slash);
      if (name == kOpaque) {
        opaque_.emplace(folder);
      } else if (const auto gone = after_prefix(name, kWhiteout)) {
        covered_.insert(std::string(folder) + (folder.empty() ? "" : "/") + std::string(*gone));
      } else {
        covered_.emplace(path);
      }
    }
  }

 private:
  std::set<std::string, std::less<>> covered_;  // these paths, and all below them
  std::set<std::string, std::less<>> opaque_;   // all below these folders
};

}  // namespace

std::vector<LayerStack> layers_of_image(std::string_view name, std::string_view text) {
  const auto blobs = name.rfind(kBlobs);
  const auto file = name.substr(name.find_last_of("/!") + 1);  // npos + 1 is 0
  if ((blobs == name.npos && file != "manifest.json") || text.size() > kMostImageDocument)
    return {};
  const auto doc = parse_json(text, name, kMostImageDocument);
  if (!doc) return {};
  std::vector<LayerStack> images;
  if (file == "manifest.json" && doc->is_array()) {
    const std::string prefix(name.substr(0, name.size() - file.size()));
    for (const auto& image : *doc) {
      LayerStack stack;
      for (const auto& layer : member(image, "Layers"))
        if (layer.is_string()) stack.push_back(prefix + layer.get<std::string>());
      images.push_back(std::move(stack));
    }
  } else if (blobs != name.npos && doc->is_object()) {
    const std::string prefix(name.substr(0, blobs + kBlobs.size()));
    LayerStack stack;
    for (const auto& layer : member(*doc, "layers"))
      if (const auto digest = get_string(layer, "digest"))
        if (const auto hex = after_prefix(*digest, kDigest))
          stack.push_back(prefix + std::string(*hex));
    images.push_back(std::move(stack));
  }
  std::erase_if(images, [](const LayerStack& stack) { return stack.empty(); });
  return images;
}

std::set<std::string> hidden_in_images(const std::vector<LayerStack>& images,
                                       const std::vector<std::string>& names) {
  std::set<std::string> hidden, shown;
  for (const auto& stack : images) {
    LayersAbove above;
    for (auto layer = stack.rbegin(); layer != stack.rend(); ++layer) {
      const auto prefix = *layer + "!";
      std::vector<std::string_view> paths;
      for (auto at = std::ranges::lower_bound(names, prefix);
           at != names.end() && at->starts_with(prefix); ++at) {
        // What lies in an archive of the layer is there as long as the archive is.
        auto path = std::string_view(*at).substr(prefix.size());
        path = path.substr(0, path.find('!'));
        (above.hides(path) ? hidden : shown).insert(*at);
        paths.push_back(path);
      }
      above.add(paths);
    }
  }
  for (const auto& name : shown) hidden.erase(name);
  return hidden;
}

}  // namespace gpuready::pack
