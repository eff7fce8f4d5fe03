// Text measured in the columns that a terminal gives it: width, cut, pad, wrap.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

// One line of text that is safe to show anywhere: control, direction-changing and invisible
// characters become '?', white space of any kind one blank each, invalid UTF-8 '?'.
std::string one_line(std::string_view text);
// Every character beyond ASCII becomes '?', once a character.
std::string to_ascii(std::string_view text);

// Columns that the text takes: 2 for East Asian wide characters and emoji, 0 for combining marks.
std::size_t display_width(std::string_view text);
// At most `columns` wide; what is cut is shown by "...".
std::string cut(std::string_view text, std::size_t columns);
enum class Align { left, right };
std::string pad(std::string_view text, std::size_t columns, Align align = Align::left);
// Breaks at blanks; a word that is longer than a line is broken after punctuation in the second
// half of the line, else anywhere. Never empty.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);
// Breaks a shell command between words by a backslash, so that it still can be copied as a whole.
// Inside quotes and comments, and within a word, it is never broken, however long the line gets.
std::vector<std::string> wrap_command(std::string_view command, std::size_t columns);

// 1 -> "1 error", 2 -> "2 errors"
std::string counted(std::size_t number, std::string_view noun);

}  // namespace gpuready
