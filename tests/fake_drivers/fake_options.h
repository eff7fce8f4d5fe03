/* Reads what an environment variable, FAKE_VARIABLE, tells a fake driver to do: a list such as
 * "devices=2,init=803". */
#ifndef FAKE_OPTIONS_H
#define FAKE_OPTIONS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the value of `key` and returns 1; 0 when the list has no such entry. */
static inline int option(const char* key, char* value, size_t size) {
  const char* list = getenv(FAKE_VARIABLE);
  const size_t length = strlen(key);
  while (list && *list) {
    const size_t entry = strcspn(list, ",");
    if (entry >= length && strncmp(list, key, length) == 0 &&
        (list[length] == '=' || entry == length)) {
      const size_t skip = entry == length ? length : length + 1;
      if (value) snprintf(value, size, "%.*s", (int)(entry - skip), list + skip);
      return 1;
    }
    list += entry + (list[entry] == ',');
  }
  return 0;
}

static inline uint64_t bytes_option(const char* key, uint64_t otherwise) {
  char text[64], *unit;
  if (!option(key, text, sizeof text)) return otherwise;
  const uint64_t number = strtoull(text, &unit, 0);
  if (strcmp(unit, "KiB") == 0) return number << 10;
  if (strcmp(unit, "MiB") == 0) return number << 20;
  return number;
}

#endif
