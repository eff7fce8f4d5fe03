// Whiteouts and replaced files, by the rules of the OCI image specification.
#include "pack/code/image_layers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gpuready::pack {
namespace {

using Names = std::vector<std::string>;

std::string hidden(const std::vector<LayerStack>& images, Names names) {
  std::ranges::sort(names);
  std::string text;
  for (const auto& name : hidden_in_images(images, names)) text += name + " ";
  return text;
}

TEST(ImageLayers, DocumentsNameTheirLayers) {
  EXPECT_EQ(layers_of_image("i.tar!manifest.json",
                            R"([{"Layers": ["a/layer.tar", "b/layer.tar"]}, {"Layers": ["c"]}])"),
            (std::vector<LayerStack>{{"i.tar!a/layer.tar", "i.tar!b/layer.tar"}, {"i.tar!c"}}));
  EXPECT_EQ(layers_of_image("in/oci/blobs/sha256/99",
                            R"({"layers": [{"digest": "sha256:01"}, {"digest": "sha256:02"}]})"),
            (std::vector<LayerStack>{{"in/oci/blobs/sha256/01", "in/oci/blobs/sha256/02"}}));
  for (const char* other : {"", "{}", "[]", "[1]", "[{\"Layers\": 1}]", "{\"layers\": [1]}",
                            "{\"layers\": [{\"digest\": \"x\"}]}"}) {
    EXPECT_TRUE(layers_of_image("i.tar!manifest.json", other).empty()) << other;
    EXPECT_TRUE(layers_of_image("i.tar!blobs/sha256/1", other).empty()) << other;
  }
  EXPECT_TRUE(layers_of_image("x.json", R"([{"Layers": ["a"]}])").empty());
}

TEST(ImageLayers, LaterLayersHideWhatTheyDeleteAndReplace) {
  const std::vector<LayerStack> one = {{"a", "b", "c"}};
  EXPECT_EQ(hidden(one, {"a!usr/x", "a!usr/y", "b!usr/.wh.x"}), "a!usr/x ");
  EXPECT_EQ(hidden(one, {"a!usr/x", "c!usr/x"}), "a!usr/x ");
  EXPECT_EQ(hidden(one, {"a!usr/x", "b!.wh.usr", "b!other"}), "a!usr/x ");  // a folder
  EXPECT_EQ(hidden(one, {"a!x/y", "a!x/z", "b!x/.wh..wh..opq", "b!x/z"}), "a!x/y a!x/z ");
  EXPECT_EQ(hidden(one, {"a!x/y", "b!.wh..wh..opq"}), "a!x/y ");  // of the root
  EXPECT_EQ(hidden(one, {"a!x/y", "b!x"}), "a!x/y ");             // a file over a folder
  EXPECT_EQ(hidden(one, {"a!x.whl!in/it", "b!.wh.x.whl"}), "a!x.whl!in/it ");
  // Put back, of another name, or deleted below where it is.
  EXPECT_EQ(hidden(one, {"a!x", "b!.wh.x", "c!x"}), "a!x ");
  EXPECT_EQ(hidden(one, {"a!usr/xy", "b!usr/.wh.x"}), "");
  EXPECT_EQ(hidden(one, {"c!x", "a!.wh.x"}), "");
  EXPECT_EQ(hidden(one, {"other!x", "b!.wh.x"}), "");
}

TEST(ImageLayers, WhatOneImageShowsIsThere) {
  EXPECT_EQ(hidden({{"a", "b"}, {"a"}}, {"a!x", "b!.wh.x"}), "");
  EXPECT_EQ(hidden({{"a", "b"}, {"c"}}, {"a!x", "b!.wh.x"}), "a!x ");
}

}  // namespace
}  // namespace gpuready::pack
