# Sorts sources into batches that compile as one file each: prints "<batch> <source>" a line.
# Usage: awk -v headers=1 -f unity.awk HEADER... >NAMES
#        awk -v size=12 -v public=NAMES -f unity.awk SOURCE...
#
# Two sources may share a batch if neither could see a private name of the other: what one declares in an
# unnamed namespace, with `static`, `using X =` or #define, the other neither declares so nor calls
# unqualified. A private type's name stands nowhere in the other. Both say `using namespace` of the same
# namespaces. One whose private type has a name that a header says in the same namespace stands alone. Then no
# name collides, and no call can find another function than it does alone. It reads what clang-format writes:
# declarations of namespaces begin in the first column. It errs on the safe side: a source that it cannot place
# stands alone.
BEGIN { if (public != "") while ((getline name < public) > 0) in_header[name] = 1 }
function is_type(name) { return name ~ /^[A-Z].*[a-z]/ }
function finish_source(   batch, name, fits) {
  for (name in private) if (is_type(name) && (space " " name) in in_header) leaks = 1
  for (batch = 1; batch <= batches; ++batch) {
    if (count[batch] >= size) continue
    fits = !leaks && uses == batch_uses[batch]
    for (name in private) if ((batch, name) in batch_private || (batch, name) in batch_calls) fits = 0
    for (name in calls) if ((batch, name) in batch_private) fits = 0
    for (name in private) if (is_type(name) && (batch, name) in batch_types) fits = 0
    for (name in types) if ((batch, name) in batch_private) fits = 0
    if (fits) break
  }
  if (leaks) batch = ++alone + 1000  # its names would reach into what follows
  else if (batch > batches) batches = batch
  ++count[batch]
  batch_uses[batch] = uses
  for (name in private) batch_private[batch, name] = 1
  for (name in calls) batch_calls[batch, name] = 1
  for (name in types) batch_types[batch, name] = 1
  print batch, source
  split("", private); split("", calls); split("", types); space = ""; leaks = unnamed = 0; uses = ""
}
function declared_type(line) {
  if (match(line, /^(typedef )?(struct|class|enum class|enum|union) +[A-Za-z_0-9]+ *(final)?( *[:{;]|$)/)) {
    line = substr(line, RSTART, RLENGTH)
    sub(/ *(final)? *[:{;]?$/, "", line); sub(/.* /, "", line)
    return line
  }
  if (match(line, /^using +[A-Za-z_0-9]+ *=/)) { sub(/^using +/, "", line); sub(/[ =].*/, "", line); return line }
  return ""
}
function declared(line) {  # the name that a line at namespace scope declares, if any
  if (line !~ /^[A-Za-z]/ || line ~ /^(template|namespace|extern|static_assert|public|private|using namespace)/) return ""
  if (match(line, /^[A-Z_]*TEST[A-Z_]*\([A-Za-z_0-9]+, *[A-Za-z_0-9]+/)) {  # of GoogleTest: a class of both names
    line = substr(line, RSTART, RLENGTH); sub(/.*\(/, "", line); sub(/, */, "_", line)
    return line
  }
  if (declared_type(line) != "") return declared_type(line)
  if (match(line, /[A-Za-z_0-9]+ *[(=;{[]/)) {
    line = substr(line, RSTART, RLENGTH); sub(/ *[(=;{[]$/, "", line)
    return line
  }
  return ""
}
function keep_types(line, kept, prefix,   name, before) {  # that are not another namespace's by their own words
  while (match(line, /[A-Za-z_][A-Za-z_0-9]*/)) {
    name = substr(line, RSTART, RLENGTH)
    before = RSTART > 2 ? substr(line, RSTART - 2, 2) : ""
    if (is_type(name) && before != "::") kept[prefix name] = 1
    line = substr(line, RSTART + RLENGTH)
  }
}
{
  line = $0
  gsub(/\\./, "", line); gsub(/"[^"]*"/, "\"\"", line); sub(/\/\/.*/, "", line)
}
FNR == 1 { depth = 0; within[0] = "" }
/^namespace [a-z_:]+ \{/ { ++depth; within[depth] = within[depth - 1] "::" $2 }
/^namespace \{/ { ++depth; within[depth] = within[depth - 1] }
/^\}  \/\/ namespace/ && depth > 0 { --depth }
headers { keep_types(line, printed, within[depth] " "); next }
FNR == 1 { if (source != "") finish_source(); source = FILENAME }
{
  keep_types(line, types, "")
  if (space == "") space = within[depth]
  if (line ~ /^#define /) { name = line; sub(/^#define +/, "", name); sub(/[^A-Za-z_0-9].*/, "", name); private[name] = 1 }
  if (line ~ /^using namespace/) uses = uses line
  if (line ~ /^namespace \{/) unnamed = 1
  else if (line ~ /^\}  *$/ && $0 ~ /^\}  \/\/ namespace$/) unnamed = 0
  else if (unnamed || line ~ /^(static|using [A-Za-z_0-9]+ *=|inline constexpr|constexpr)/) {
    name = declared(line)
    if (name != "") private[name] = 1
  }
  rest = line
  while (match(rest, /[A-Za-z_][A-Za-z_0-9]* *[({<]/)) {
    before = RSTART > 2 ? substr(rest, RSTART - 2, 2) : RSTART == 2 ? " " substr(rest, 1, 1) : "  "
    name = substr(rest, RSTART, RLENGTH - 1); sub(/ +$/, "", name)
    if (before !~ /(\.|->|::)$/ && !(name in private) && name !~ /^(if|for|while|switch|return|sizeof|catch|template|[A-Z_]*TEST[A-Z_]*)$/) calls[name] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}
END {
  if (headers) for (name in printed) print name
  else if (source != "") finish_source()
}
