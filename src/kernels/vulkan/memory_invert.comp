// Moving inversions: verifies the pattern and writes its complement in place.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"
#include "memory_pass_vulkan.glsl"
const bool kInvert = true;
#include "memory_verify_vulkan.glsl"
