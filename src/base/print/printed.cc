#include "base/print/printed.h"

#include <locale.h>

#include <cstdarg>
#include <cstdio>

namespace gpuready {

std::string printed(const char* format, ...) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const locale_t before = uselocale(c_locale);
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, arguments)), 0);
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  uselocale(before);
  return text;
}

}  // namespace gpuready
