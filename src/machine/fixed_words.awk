# Prints the fixed words of the sources that read a machine: every word of their string literals, one
# a line, digits and replacement fields as they stand. A literal that ends in a full stop is a
# sentence for people and no pattern.
# Usage: awk -f fixed_words.awk SOURCE...
function finish(   count, i, part, words) {
  if (literal != "" && literal !~ /[.]$/) {
    gsub(/\\[nt]/, " ", literal); gsub(/[{][^} ]*[}]/, "0", literal)
    count = split(literal, words, /[^A-Za-z0-9_.+-]+/)
    for (i = 1; i <= count; ++i) {
      part = words[i]; sub(/^[.+-]+/, "", part); sub(/[.+-]+$/, "", part)
      if (part ~ /[A-Za-z]/ && length(part) > 1 && !(part in seen)) { seen[part] = 1; print part }
    }
  }
  literal = ""
}
/^[ \t]*(\/\/|#)/ { next }
{
  rest = $0
  while (match(rest, /"([^"\\]|\\.)*"/)) {
    before = substr(rest, 1, RSTART - 1)
    if (before ~ /\/\//) break
    if (before ~ /[^ \t]/) finish()  # adjacent literals are one
    literal = literal substr(rest, RSTART + 1, RLENGTH - 2)
    rest = substr(rest, RSTART + RLENGTH)
  }
  if (rest ~ /[^ \t]/) finish()
}
