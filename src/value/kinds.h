// Which kind of type a field has, for the visitors.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpuready::value {

template <class T>
inline constexpr bool kOptional = false;
template <class T>
inline constexpr bool kOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kList = false;
template <class T>
inline constexpr bool kList<std::vector<T>> = true;
template <class T>
inline constexpr bool kMap = false;
template <class Key, class T>
inline constexpr bool kMap<std::map<Key, T>> = true;

template <class T>
inline constexpr bool kPointer = false;  // of what a document tells and another object has
template <class T>
inline constexpr bool kPointer<const T*> = true;
template <class T>
inline constexpr bool kText = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;
// Always in a document: there is no value of it that means "not reported".
template <class T>
concept AlwaysThere = Scalar<T> && !std::floating_point<T>;

}  // namespace gpuready::value
