# Keeps the vendors whose display controllers are met in servers; drops comments and subsystems
# (two tabs), and the class list at the end ("C 00 ...").
BEGIN {
  n = split("1002 1013 102b 106b 10de 1234 1414 15ad 1a03 1af4 1b36 1d0f 8086", list, " ")
  for (i = 1; i <= n; i++) wanted[list[i]] = 1
}
/^#/ || /^$/ || /^\t\t/ { next }
/^\t/ { if (keep) print; next }
{ keep = ($1 in wanted) && length($1) == 4; if (keep) print }
