// Values with every field set, each number and text to one of its own, so that a field that a
// document lacks, or that two keys share, is found out.
#pragma once

#include <string>

#include "value/fields.h"
#include "value/kinds.h"
#include "value/names.h"

namespace gpuready::value {

class Filler {
 public:
  explicit Filler(int first = 1001) : next_(first) {}

  template <class T>
  void fill(T& value) {
    if constexpr (kOptional<T>) {
      fill(value.emplace());
    } else if constexpr (std::is_enum_v<T>) {
      value = kNames<T>[1].value;
    } else if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(next_++);
    } else if constexpr (std::floating_point<T>) {
      value = next_++ + 0.5;
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = "text " + std::to_string(next_++);
    } else if constexpr (std::is_same_v<T, PciAddress>) {
      value = {static_cast<std::uint32_t>(next_++), 0x17, 3, 1};
    } else if constexpr (kList<T>) {
      fill(value.emplace_back());
    } else if constexpr (kMap<T>) {
      typename T::key_type key;
      fill(key);
      fill(value[key]);
    } else {
      Fields<T> fields(*this, value);
      visit_fields(fields, Of<T>{});
    }
  }

 private:
  template <class T>
  struct Fields : FieldVisitor {
    Filler& filler;
    T& object;
    Fields(Filler& by, T& to) : filler(by), object(to) {}
    template <class Member>
    void operator()(std::string_view, Member T::* member, std::string_view,
                    const FieldStyle& = {}) {
      if constexpr (std::is_same_v<Member, std::vector<T>>) {
        if (filler.inside_) return;  // a finding within a finding within a finding
        filler.inside_ = true;
        filler.fill(object.*member);
        filler.inside_ = false;
      } else {
        filler.fill(object.*member);
      }
    }
    template <class Part>
    void merged(Part part) {
      if constexpr (kStored<Part, T>) filler.fill(std::invoke(part, object));
    }
  };

  int next_;
  bool inside_ = false;
};

template <class T>
T filled(int first = 1001) {
  T value;
  Filler(first).fill(value);
  return value;
}

}  // namespace gpuready::value
