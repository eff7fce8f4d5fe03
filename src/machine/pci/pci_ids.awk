# First file: newer_gpus.txt, whose lines are added; second: pci.ids.
# Keeps the vendors whose display controllers and accelerators are met in servers; drops comments and subsystems
# (two tabs), and the class list at the end ("C 00 ..."). A line a device, "10de2330 Name", in rising order,
# which is pci.ids' own. Of Intel's devices, what is a part of a processor or a chipset and never stands beside a GPU
# is left out: a quarter of all bytes.
BEGIN {
  n = split("1002 1013 102b 106b 10de 1234 1414 15ad 1a03 1af4 1b36 1d0f 1da3 8086", list, " ")
  for (i = 1; i <= n; i++) wanted[list[i]] = 1
}
/^#/ || /^$/ || /^\t\t/ { next }
FNR == NR { newer[++last_newer] = $0; next }
function add_newer(before) {
  for (; next_newer < last_newer && substr(newer[next_newer + 1], 1, 8) < before; next_newer++) print newer[next_newer + 1]
  if (next_newer < last_newer && substr(newer[next_newer + 1], 1, 8) == before) next_newer++
}
!/^\t/ { vendor = ($1 in wanted) && length($1) == 4 ? $1 : ""; next }
vendor == "8086" && /Registers|Memory Controller|Address Decoder|IIO|QPI|UPI|Ring to|Uncore|Performance|LPC|eSPI|SMBus|Broadcast|Power Control|Thermal|Home Agent|Caching Agent|Coherency|Semaphore|System Control|Crystal Beach|UART|I2C|SPI |GPIO|Serial IO|HECI|MEI |Watchdog|Scratchpad|IDE |Debug|Error Handling|Cache Box|PCU/ { next }
vendor != "" {
  line = vendor substr($0, 2, 4) substr($0, 7)
  if (line <= last) { print "pci.ids is not in order at: " $0 > "/dev/stderr"; exit 1 }
  add_newer(substr(line, 1, 8))
  print last = line
}
END { add_newer("g") }
